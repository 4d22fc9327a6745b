"""An accuracy on held-out data that stays where it is while a loss says that the model learns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...findings import Finding
from ...series import Series
from .detector import S2, Track, detector, finding
from .robust import finite, head_tail, mann_kendall

FEW, STILL, FALLEN = 5, 0.02, 0.9
"""Accuracies that are told apart at least, the share within which they stay where they are, and the share that is left
of a training loss that falls meanwhile. Own judgement."""
HELD_FALLEN = 0.95
"""Share that is left of a held-out loss that falls: it is measured on the very items, and has less noise."""
LEAST_ITEMS, MOST_ITEMS, TURNED = 50, 5000, 3
"""Items of an evaluation that its figures tell apart, and how many of them change their verdict where nothing moves."""
BELOW = 0.5
"""What an accuracy that stays does not exceed: the one of choosing between two."""


@detector("eval-score-flat", "the held-out accuracy hardly moves while a loss falls", ("eval_accuracy",), FEW)
def eval_score_flat(track: Track) -> Iterator[Finding]:
    """Five accuracies or more, below half of what is possible, that stay where they are as a loss falls after the first
    of them: what is learned does not show there, or the accuracy counts something else.

    They stay within 2% of each other beside a training loss that falls by a tenth, or within three of the items that
    are evaluated beside a held-out loss that falls by a twentieth without turning back. A high one may be as good as it
    gets; an exactly equal one is `eval-score-constant`. Own judgement.
    """
    points = track.points("eval_accuracy", FEW)
    if points is None or track.is_rl:
        return
    values, n = points.values, len(points)
    low, high = float(values.min()), float(values.max())
    fallen = _fallen(track, points) if high - low > 0 and high <= (100 * BELOW if high > 1 else BELOW) else None
    if fallen is None:
        return
    loss, first, last = fallen
    items = items_of(values)
    turned = round((high - low) * items / (100 if high > 1 else 1)) if items else 0
    some, some_zh = (f" ({turned} of {items} items)", f"（{items} 条中的 {turned} 条）") if items else ("", "")
    en = (
        f"{points.key} stays between {low:.4g} and {high:.4g}{some} in {n} evaluations, while {loss.key} falls from "
        f"{first:.4g} to {last:.4g}: does it count what it should (padding, the format of answers, what the loss "
        "compares with)?"
    )
    zh = (
        f"{points.key} 在 {n} 次评测中一直在 {low:.4g} 到 {high:.4g} 之间{some_zh}，而 {loss.key} 从 {first:.4g} 降到 "
        f"{last:.4g}：它统计的是该统计的吗（padding、答案格式、loss 所对比的参考）？"
    )
    shown = [(points, n - 1), (points, 0), (loss, -1)]
    yield finding("eval-score-flat", S2, shown, en, zh, points=n, baseline=low, value=float(values[-1]))


def _fallen(track: Track, points: Series) -> tuple[Series, float, float] | None:
    """The loss that falls while the accuracies stay, what it was and what it is."""
    values, train, held = points.values, track.get("loss"), track.like("eval_loss", points)
    low, spread = float(values.min()), float(np.ptp(values))
    later = finite(train).values[finite(train).lines > points.lines[0]] if train is not None else np.array([])
    if train is not None and len(later) >= FEW and spread < STILL * low:
        first, last = head_tail(later, 0.1)
        if last <= FALLEN * first:
            return train, float(first), float(last)
    items = items_of(values)
    if held is None or len(held) < FEW or not items or spread * items > TURNED * (100 if values.max() > 1 else 1) + 0.5:
        return None
    kept, first, last = finite(held).values, float(held.values[0]), float(held.values[-1])
    falls = len(kept) == len(held) and last <= HELD_FALLEN * first and mann_kendall(kept)[1] <= -2
    return (held, first, last) if falls and first > 0 else None


def items_of(values: np.ndarray) -> int:
    """Of how many items accuracies are shares, as their figures tell it; 0 where they tell of none or of few."""
    shares = np.unique(values / (100 if values.max() > 1 else 1))
    for items in range(1, MOST_ITEMS + 1):
        if np.abs(shares * items - np.round(shares * items)).max() < 1e-6 * items:
            return items if items >= LEAST_ITEMS else 0
    return 0
