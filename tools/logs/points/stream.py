"""What one writer of a log has said so far: its points, compact and without repeats, and where its steps fell."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

import numpy as np

SAMPLED = 100_000
"""About as many values tell the level and the spread by which a point is far out."""


@dataclass
class Points:
    """One key of one stream."""

    steps: array = field(default_factory=lambda: array("q"))
    values: array = field(default_factory=lambda: array("d"))
    lines: array = field(default_factory=lambda: array("q"))

    def add(self, step: int, value: float, line: int) -> bool:
        """Keep the point unless it repeats the last one (redrawn bars, pollers, several ranks)."""
        if self.steps and self.steps[-1] == step:
            last = self.values[-1]
            if last == value or (last != last and value != value):
                return False
        self.steps.append(step)
        self.values.append(value)
        self.lines.append(line)
        return True

    def add_many(self, steps: np.ndarray, values: np.ndarray, lines: np.ndarray) -> int:
        """As `add`, one after the other; how many are kept."""
        if not len(steps):
            return 0
        last = (self.steps[-1], self.values[-1]) if self.steps else (None, 0.0)
        before = np.concatenate(([last[1]], values[:-1]))
        again = (values == before) | (np.isnan(values) & np.isnan(before))
        again[1:] &= steps[1:] == steps[:-1]
        again[0] &= last[0] == steps[0]
        kept = ~again
        self.steps.frombytes(steps[kept].astype(np.int64, copy=False).view(np.uint8).data)
        self.values.frombytes(values[kept].view(np.uint8).data)
        self.lines.frombytes(lines[kept].astype(np.int64, copy=False).view(np.uint8).data)
        return int(kept.sum())

    def __len__(self) -> int:
        return len(self.steps)

    def thin(self) -> None:
        """Drop every second point, but none that is non-finite, far out, or beside a change to non-finite."""
        values = np.frombuffer(self.values)
        finite = np.isfinite(values)
        keep = np.zeros(len(values), bool)
        keep[::2] = True
        keep[-1] = True
        edges = np.flatnonzero(finite[1:] != finite[:-1])[:10_000]
        for shift in range(-3, 5):
            keep[np.clip(edges + shift, 0, len(values) - 1)] = True
        if finite.any():
            some = values[finite][:: max(1, len(values) // SAMPLED)]
            middle = np.median(some)
            spread = np.median(np.abs(some - middle)) or np.inf
            far = np.flatnonzero(finite & (np.abs(values - middle) > 20 * spread))
            keep[far[: len(values) // 10]] = True
        for name in ("steps", "values", "lines"):
            column: array = getattr(self, name)
            kept = np.frombuffer(column, column.typecode)[keep]
            fresh = array(column.typecode)
            fresh.frombytes(kept.view(np.uint8).data)
            setattr(self, name, fresh)


@dataclass(frozen=True)
class Keyed:
    """The values of one key in many records."""

    key: str
    where: np.ndarray
    """Which records have it, in order."""
    values: np.ndarray


@dataclass
class Stream:
    """The state of one writer."""

    step_is: str = "step"
    by_line: bool = False
    """Whether the order of the lines is all that numbers its records."""
    borrowed: bool = False
    """Whether its steps are those of other lines, which may begin anew where its own do not show it."""
    last_step: int | None = None
    records: int = 0
    falls: list[int] = field(default_factory=list)
    """Lines at which the step fell."""
    last_epoch: float | None = None
    offset: int = 0
    starts: list[int] = field(default_factory=lambda: [0])
    """Of a stream without steps: records before each attempt."""
    stepless: bool = False
    """Whether its records are counted, for want of steps of their own."""
    before: array = field(default_factory=lambda: array("q"))
    after: array = field(default_factory=lambda: array("q"))
    """Of a stepless one: which record, and what the progress bar before it said, or the first one behind it."""
    summed: dict[str, float] = field(default_factory=dict)
    """Of a stepless one: what the training under way was summed up to, nothing before that."""
    sums: list[int] = field(default_factory=list)
    """Of a stepless one: lines at which another training is summed up."""
    trained: bool = False
    """Of a stepless one: whether a record of training was among them."""
    previous: tuple[tuple[str, float], ...] = ()
    points: dict[str, Points] = field(default_factory=dict)
