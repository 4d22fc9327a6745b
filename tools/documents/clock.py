"""At which step the run was at a clock time, and when it was at a step: through the run's own lines that tell both.

A clock is one file's. Where the files of several hosts disagree about when a step was, nobody knows whose clock a note
was written by, and there is no answer; a shift by half hours is one of zones. A time without a zone is taken as it
stands, in notes and logs alike.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from calendar import timegm
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..patterns import bounded
from ..reading import Chunk, iter_chunks
from ..vocabulary import COUNTERS

PLACES, AHEAD = 64, 40
"""Places looked at in a chunk of 4 MB, and lines read on from each until one tells time and step."""
WHOLE = 256 << 10
"""A chunk up to this many bytes is read line by line."""
BACKWARDS = 0.02
"""Share of points whose time may go back: beyond it several clocks are mixed in one file."""
APART = 120.0
"""Seconds that two hosts may differ at the same step: log lines are written a little late."""
LINE = 2000

_TIME = bounded(
    rb"(?<!\d)(?P<year>20\d\d)[-/](?P<month>[01]\d)[-/](?P<day>[0-3]\d)[T ,](?P<hour>[012]\d):(?P<minute>[0-5]\d):"
    rb"(?P<second>[0-6]\d)(?:[.,]\d{1,9})?(?P<zone>Z|[+-]\d\d:?\d\d\b)?"
    rb"|(?<!\d)(?P<month2>[01]\d)/(?P<day2>[0-3]\d)/(?P<year2>20\d\d) (?P<hour2>[012]\d):(?P<minute2>[0-5]\d):"
    rb"(?P<second2>[0-6]\d)"
    rb"|\"_?(?:timestamp|time|ts|wall_time|created_at)\":\s?(?P<epoch>1[0-9]{9}(?:\.\d{1,9})?)(?P<milli>\d{3})?(?![\d.])"
)
_STEP = bounded(
    rb"(?<![\w/])(?:global[_ ]|train[_/ ]|trainer/global_|current_|_)?(?:"
    + "|".join(COUNTERS).encode()
    + rb")['\"]?\s{0,2}(?:[:=\[/]|\xef\xbc\x9a)?\s{0,4}(?P<step>\d{1,12})(?![\d.]*\d?\s?(?:%|s\b|ms\b|it/s))",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Clock:
    """Times and steps of one file, in order of time."""

    file: str
    times: tuple[float, ...]
    """Seconds since the epoch, never falling."""
    steps: tuple[int, ...]
    """Rising but where the run was started again."""
    zoned: bool
    """The file tells its zone, so that its times are true ones."""

    def step(self, at: float) -> int | None:
        """The last step begun at that time, None before the first line and after the last."""
        if not self.times or not self.times[0] <= at <= self.times[-1]:
            return None
        i = bisect_right(self.times, at) - 1
        if i + 1 >= len(self.times) or self.steps[i + 1] <= self.steps[i]:
            return self.steps[i]
        share = (at - self.times[i]) / max(self.times[i + 1] - self.times[i], 1e-9)
        return self.steps[i] + int(share * (self.steps[i + 1] - self.steps[i]))

    def time(self, step: int) -> float | None:
        """When the step was last reached, None for one that the file does not hold."""
        for i in range(len(self.steps) - 1, 0, -1):
            before, after = self.steps[i - 1], self.steps[i]
            if after == step:
                return self.times[i]
            if before <= step < after:
                share = (step - before) / (after - before)
                return self.times[i - 1] + share * (self.times[i] - self.times[i - 1])
        return self.times[0] if self.steps and self.steps[0] == step else None


def read_clock(path: Path, name: str) -> Clock | None:
    """The clock of a log, None where its lines do not tell time and step together, or tell several clocks' times.

    Raises:
        TriageError: the file cannot be opened.
    """
    points: list[tuple[float, int, bool]] = []
    for chunk in iter_chunks(path):
        points += _points(chunk)
    return _clock(points, name)


def step_at(clocks: Sequence[Clock], at: float) -> int | None:
    """The step of the run at a time, None where its hosts disagree or none of them covers it."""
    if not agree(clocks):
        return None
    return next((step for clock in clocks if (step := clock.step(at)) is not None), None)


def time_of(clocks: Sequence[Clock], step: int) -> float | None:
    """The time of a step, None where the run's hosts disagree or none of them has it."""
    if not agree(clocks):
        return None
    return next((at for clock in clocks if (at := clock.time(step)) is not None), None)


def agree(clocks: Sequence[Clock]) -> bool:
    """Whether no two clocks put the same step at times that are too far apart; logs of different attempts may."""
    return all(_agree(a, b) for i, a in enumerate(clocks) for b in clocks[:i])


def _agree(one: Clock, other: Clock) -> bool:
    shared = [s for s in one.steps[:: max(1, len(one.steps) // 20)] if other.time(s) is not None]
    apart = sorted(abs((one.time(s) or 0.0) - (other.time(s) or 0.0)) for s in shared)
    if not apart or apart[len(apart) // 2] <= APART:
        return True
    half_hours = apart[-1] - apart[0] < APART and (apart[0] + APART) % 1800 < 2 * APART
    together = one.times[0] <= other.times[-1] and other.times[0] <= one.times[-1]
    return not (together or half_hours)


def _points(chunk: Chunk) -> Iterator[tuple[float, int, bool]]:
    """Time, step and whether a zone is told, of the lines that tell both; of a large chunk in places evenly spread."""
    data = chunk.data
    if len(data) <= WHOLE:
        for line in data.split(b"\n"):
            if point := _point(line):
                yield point
        return
    for k in range(PLACES):
        at = data.find(b"\n", len(data) * k // PLACES) + 1
        for line in data[at : at + AHEAD * LINE].split(b"\n", AHEAD)[:AHEAD]:
            if point := _point(line):
                yield point
                break


def _point(line: bytes) -> tuple[float, int, bool] | None:
    when = _TIME.search(line[:LINE])
    step = _STEP.search(line[:LINE], 0) if when else None
    if not when or not step:
        return None
    at = _seconds(when)
    return None if at is None else (at, int(step["step"]), bool(when["zone"] or when["epoch"]))


def _seconds(when: re.Match[bytes]) -> float | None:
    if when["epoch"]:
        return float(when["epoch"])
    tail = "" if when["year"] else "2"
    names = ("year", "month", "day", "hour", "minute", "second")
    year, month, day, hour, minute, second = (int(when[f"{name}{tail}"]) for name in names)
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    zone = (when["zone"] or b"").decode().replace(":", "")
    shift = int(zone[:3]) * 3600 + int(zone[0] + zone[3:5]) * 60 if zone[:1] in ("+", "-") and len(zone) >= 5 else 0
    return float(timegm((year, month, day, hour, minute, second)) - shift)


def _clock(points: Sequence[tuple[float, int, bool]], name: str) -> Clock | None:
    """The points in order, without those whose time goes back; None where that is more than a few."""
    kept: list[tuple[float, int]] = []
    lost = 0
    for at, step, _ in points:
        if kept and at < kept[-1][0]:
            lost += 1
        elif not kept or step != kept[-1][1]:
            kept.append((at, step))
    if len(kept) < 2 or lost > max(1, BACKWARDS * len(points)):
        return None
    times, steps = zip(*kept, strict=True)
    return Clock(name, times, steps, all(zoned for _, _, zoned in points))
