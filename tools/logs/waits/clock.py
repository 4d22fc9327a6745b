"""The time of day in a line of a log."""

from __future__ import annotations

import re

CLOCK = re.compile(r"(?<![\d:.])([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?![\d:])")
DAY = 24 * 3600


def seconds(clock: re.Match[str]) -> int:
    """Seconds since midnight of what `CLOCK` found."""
    hours, minutes, seconds_ = map(int, clock.groups())
    return 3600 * hours + 60 * minutes + seconds_
