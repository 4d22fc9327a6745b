"""A measure in one line of words: its ends and extremes, and where it changes for good."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..findings import clean
from ..relate.moves import Move, described, level
from ..series import Series

WHOLE = 1e15
"""Up to which a whole number is written in all of its digits."""


def moved(move: Move, every: bool, most: int) -> Iterator[str]:
    """The lasting changes of a measure; of one that has none, which way it goes from one end to the other."""
    for change in sorted(move.lasting, key=lambda c: -c.strength)[: most if every else 1]:
        low, high = move.span(change)
        yield (f"{described(move, change)[0]} at {move.line.where(change.i)} (between {low:.10g} and {high:.10g}; "
               f"{clean(move.line.file, 80)}:{int(move.line.at[change.i])})")  # fmt: skip
    if not move.lasting and (every or move.way in ("rises", "falls")):
        way = {"rises": ", rises all along", "falls": ", falls all along"}.get(move.way, "")
        first, last = map(level, move.ends)
        yield f"{clean(move.line.said, 60)}: no lasting change{way}, {first} first, {last} last"


def exact(value: float) -> str:
    """A value to eight digits; a whole number in all of its digits."""
    return f"{value:.0f}" if value.is_integer() and abs(value) < WHOLE else f"{value:.8g}"


def apart(s: Series) -> str:
    """Which of several curves of a measure this is: its group or its rank; empty for the only one."""
    return clean(s.group, 60) or (f"rank {s.rank}" if s.rank is not None else "")


def together(found: Sequence[Series]) -> str:
    """A measure over groups or ranks in one line: its extremes, and between which groups its last values lie."""
    finite = np.concatenate([s.values[np.isfinite(s.values)] for s in found])
    points = f"{sum(map(len, found))} points in {len(found)} groups ({apart(found[0])} to {apart(found[-1])})"
    if not len(finite):
        return f"{points}, none finite"
    last = sorted((s for s in found if np.isfinite(s.values[-1])), key=lambda s: s.values[-1])
    ends = [f"{level(s.values[-1])} ({apart(s)})" for s in (last[0], last[-1])] if last else ["none finite"] * 2
    lost = sum(map(len, found)) - len(finite)
    return (f"{points}, lowest {level(finite.min())}, highest {level(finite.max())}, at the end from {ends[0]} to "
            f"{ends[1]}" + (f", {lost} not finite" if lost else ""))  # fmt: skip


def measured(s: Series) -> str:
    """Points, ends and extremes of a series."""
    finite = s.values[np.isfinite(s.values)]
    if not len(finite):
        return f"{len(s)} points, none finite"
    lost = f", {len(s) - len(finite)} not finite" if len(finite) < len(s) else ""
    return (f"{len(s)} points, {s.axis} {int(s.steps[0])} to {int(s.steps[-1])}, first {level(s.values[0])}, last "
            f"{level(s.values[-1])}, lowest {level(finite.min())}, highest {level(finite.max())}{lost}")  # fmt: skip
