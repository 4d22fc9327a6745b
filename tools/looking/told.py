"""A measure in one line of words: its ends and extremes, and where it changes for good."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..findings import clean
from ..relate.moves import Move, described, level
from ..series import Series


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


def measured(s: Series) -> str:
    """Points, ends and extremes of a series."""
    finite = s.values[np.isfinite(s.values)]
    if not len(finite):
        return f"{len(s)} points, none finite"
    lost = f", {len(s) - len(finite)} not finite" if len(finite) < len(s) else ""
    return (f"{len(s)} points, {s.axis} {int(s.steps[0])} to {int(s.steps[-1])}, first {level(s.values[0])}, last "
            f"{level(s.values[-1])}, lowest {level(finite.min())}, highest {level(finite.max())}{lost}")  # fmt: skip
