"""A score of the checkpoints that climbs until the training loss breaks, and is lower after it.

Either alone says little: noise of a small evaluation, a loss that jumps with other data. Own judgement in all numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Finding, Severity
from ..line import Line

POINTS, AFTER = 5, 3
"""Checkpoints that have a score, and those behind the break of which each must lie below the last two before it."""
WIDTH, HELD, JUMP, FAR = 12, 3, 1.3, 8.0
"""Points of the loss before a break, and behind it; how high it jumps, as a factor and in deviations."""
LOST = 0.05
"""Share of its level that the score loses."""
CLIMBED = 0.15
"""Share of its level by which it had climbed."""


def broken(lines: Sequence[Line]) -> Iterator[Finding]:
    """The score of a row of checkpoints that falls at the break of the loss which lies nearest before the fall."""
    losses = [x for line in lines if line.name == "loss" and not line.group and len(x := line.finite()) >= 4 * WIDTH]
    scores = [x for line in lines if line.better > 0 and not line.group and len(x := line.finite()) >= POINTS]
    for loss in losses[:1]:
        breaks = _breaks(loss)
        for score in scores:
            if score.axis == loss.axis and 3 * len(score) < len(loss):
                yield from (f for at in breaks if (f := _fall(score, loss, at)) is not None)
                return


def _breaks(loss: Line) -> list[int]:
    """Points from which the loss stands far above what it was before, each the first of its jump."""
    out: list[int] = []
    low = np.lib.stride_tricks.sliding_window_view(loss.values, HELD).min(axis=1)
    least = np.lib.stride_tricks.sliding_window_view(loss.values, WIDTH).min(axis=1)
    places = np.arange(2 * WIDTH, len(loss) - HELD)
    for i in places[low[places] > JUMP * least[places - WIDTH]].tolist():  # the median is no lower than the least
        before = loss.values[i - WIDTH : i]
        level = float(np.median(before))
        spread = float(np.median(np.abs(before - level))) * 1.4826
        if low[i] > max(JUMP * level, level + FAR * spread) and (not out or i - out[-1] > WIDTH):
            out.append(i)
    return out


def _fall(score: Line, loss: Line, at: int) -> Finding | None:
    where = float(loss.x[at])
    i = int(np.searchsorted(score.x, where))
    old, new = score.values[max(0, i - 2) : i], score.values[i : i + AFTER]
    if i < POINTS or len(new) < AFTER:
        return None
    before, after, begun = float(old.mean()), float(new.mean()), float(score.values[:2].mean())
    climbed = before - begun >= CLIMBED * abs(before)
    if not climbed or new.max() >= before or before - after < LOST * abs(before):
        return None
    low = float(np.median(loss.values[at - WIDTH : at]))
    return Finding(
        "score-falls-where-loss-breaks", Severity.S2,
        f"{score.said} climbs to {before:.4g} and is {after:.4g} at the {AFTER} checkpoints behind "
        f"{score.where(i - 1)}, each lower; there, at {loss.where(at)}, {loss.key} jumps from {low:.4g} to "
        f"{loss.values[at]:.4g}. The last checkpoint before both is that of {score.where(i - 1)}.",
        f"{score.said} 升到 {before:.4g} 后，在{score.where(i - 1)}之后的 {AFTER} 个检查点上为 {after:.4g}，个个更低；"
        f"正是在{loss.where(at)}，{loss.key} 从 {low:.4g} 跳到 {loss.values[at]:.4g}。两者之前的最后一个检查点在"
        f"{score.where(i - 1)}。",
        (loss.evidence(at), score.evidence(i), score.evidence(i - 1)),
        {"before": before, "after": after, "interval": [float(score.x[i - 1]), float(score.x[i])],
         "first_step": int(where)},
    )  # fmt: skip
