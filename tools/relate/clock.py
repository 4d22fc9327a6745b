"""Steps and clock times of one run, joined through its own lines: rows and events that give both.

A measure over time (a monitor's CSV) so becomes one over steps. Clocks of different hosts are not set right: a place
on another clock is as good as that clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..documents.event import Event
from ..tables.table import Table
from .line import Line

LEAST = 3
"""Pairs of step and time from which on the two are joined."""


class Clock:
    """Times of steps; empty where the run never gives both."""

    def __init__(self, pairs: Iterable[tuple[float, float]]):
        """Pairs of (step, seconds since the epoch)."""
        found = sorted({(t, s) for s, t in pairs if np.isfinite(s) and np.isfinite(t)})
        times = np.array([t for t, _ in found])
        steps = np.array([s for _, s in found])
        rising = np.maximum.accumulate(steps) <= steps if len(steps) else np.zeros(0, bool)
        self.times, self.steps = times[rising], steps[rising]

    def __bool__(self) -> bool:
        return len(self.times) >= LEAST

    def step(self, time: float) -> float | None:
        """The step at a time inside what is known."""
        if not self or not self.times[0] <= time <= self.times[-1]:
            return None
        return float(np.interp(time, self.times, self.steps))

    def on_steps(self, line: Line) -> Line:
        """A line over time as one over steps, as far as the two are known together; any other as it is."""
        if line.axis != "time" or not self:
            return line
        keep = (line.x >= self.times[0]) & (line.x <= self.times[-1])
        if keep.sum() < LEAST:
            return line
        inside = line.only(keep)
        return replace(inside, x=np.interp(inside.x, self.times, self.steps), axis="step")


def clock_of(tables: Sequence[Table], events: Sequence[Event]) -> Clock:
    """The clock of a run."""
    pairs = [(float(e.step), e.at) for e in events if e.step is not None and e.at is not None]
    for table in tables:
        step, time = (next((c for c in table.of("axis") if c.of == of), None) for of in ("step", "time"))
        if step is not None and time is not None and step.values.dtype.kind == time.values.dtype.kind == "f":
            pairs += zip(step.values.tolist(), time.values.tolist(), strict=True)
    return Clock(pairs)
