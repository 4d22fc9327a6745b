"""The time of day in a line of a log."""

from __future__ import annotations

import re
from datetime import date

CLOCK = re.compile(r"(?<![\d:.])([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?![\d:])")
DAY = 24 * 3600


def seconds(clock: re.Match[str]) -> int:
    """Seconds since midnight of what `CLOCK` found."""
    hours, minutes, seconds_ = map(int, clock.groups())
    return 3600 * hours + 60 * minutes + seconds_


DATE = re.compile(r"(?<!\d)(\d{4})[-/](\d\d)[-/](\d\d)[T ]$")


def day(text: str, clock: re.Match[str]) -> int | None:
    """The day of a clock in days, where the date stands before it; None where none does."""
    found = DATE.search(text[: clock.start()])
    try:
        return date(*map(int, found.groups())).toordinal() if found else None
    except ValueError:
        return None


def between(before: tuple[int | None, int], then: tuple[int | None, int]) -> int:
    """Seconds from one (day, second of the day) to another; without both dates less than a day.

    Negative where the dates say that the later line is of an earlier time: two clocks, of which nothing follows.
    """
    if before[0] is None or then[0] is None:
        return (then[1] - before[1]) % DAY
    return DAY * (then[0] - before[0]) + then[1] - before[1]
