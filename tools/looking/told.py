"""A measure in one line of words: its ends and extremes, and where it changes for good."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..findings import clean
from ..relate.moves import Move, described
from ..series import Series


def moved(move: Move, every: bool, most: int) -> Iterator[str]:
    """The lasting changes of a measure; of one that has none, its two ends."""
    for change in sorted(move.lasting, key=lambda c: -c.strength)[: most if every else 1]:
        low, high = move.span(change)
        yield (f"{described(move, change)[0]} at {move.line.where(change.i)} (between {low:.10g} and {high:.10g}; "
               f"{clean(move.line.file, 80)}:{int(move.line.at[change.i])})")  # fmt: skip
    if every and not move.lasting:
        yield f"{clean(move.line.said, 60)}: no lasting change, {move.ends[0]:.4g} first, {move.ends[1]:.4g} last"


def measured(s: Series) -> str:
    """Points, ends and extremes of a series."""
    finite = s.values[np.isfinite(s.values)]
    if not len(finite):
        return f"{len(s)} points, none finite"
    lost = f", {len(s) - len(finite)} not finite" if len(finite) < len(s) else ""
    return (f"{len(s)} points, {s.axis} {int(s.steps[0])} to {int(s.steps[-1])}, first {s.values[0]:.4g}, last "
            f"{s.values[-1]:.4g}, lowest {finite.min():.4g}, highest {finite.max():.4g}{lost}")  # fmt: skip
