"""The level shift: the loss jumps once, clearly, and then goes on at its new distance, neither recovering nor growing.

What a jump means is not decided here; a spike that recovers and a drift without a jump are `spikes`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...findings import Finding
from ...series import Series
from .detector import S2, finding, noise, where, where_zh

NEAR = 10
"""Points on either side of a jump that give the two levels. Own judgement."""
CLEAR = 8.0
"""Height of a shift in noise of single points. Own judgement."""
RELATIVE = 0.05
"""Height of a shift relative to the level before it. Own judgement."""
KEPT = 0.25
"""Share of the height that is left at the lowest level later; below, the loss has recovered. Own judgement."""


@dataclass(frozen=True)
class Shift:
    """One jump to a new level."""

    start: int
    """Index of the first point at the new level."""
    before: float
    after: float
    spread: float
    """Noise of single points."""


def level_shift(values: np.ndarray) -> Shift | None:
    """The largest lasting jump up between two neighbouring points, None if there is none.

    At least `NEAR` points stand on either side; half of the height comes in one step.
    """
    if len(values) < 3 * NEAR:
        return None
    steps = np.diff(values)
    for i in np.argsort(steps)[::-1][:5] + 1:
        if i < NEAR or len(values) - i < NEAR:
            continue
        near = values[max(0, i - 5 * NEAR) : i + 5 * NEAR]
        before, after = float(np.median(values[i - NEAR : i])), float(np.median(values[i : i + NEAR]))
        height, spread = after - before, noise(near)
        if before <= 0 or height < max(CLEAR * spread, RELATIVE * before) or steps[i - 1] < 0.5 * height:
            continue
        blocks = np.array_split(values[i:], max(1, (len(values) - i) // NEAR))
        if min(np.median(block) for block in blocks) > before + KEPT * height:
            return Shift(int(i), before, after, spread)
    return None


def shifted(points: Series, shift: Shift) -> Finding:
    """The finding of a level shift, at its step."""
    i, height, last = shift.start, shift.after - shift.before, float(np.median(points.values[-5:]))
    return finding(
        "loss-level-shift",
        S2,
        [(points, i), (points, i - 1)],
        f"{points.key} jumps by {height:.3g} at {where(points, i)} (median {shift.before:.4g} before, "
        f"{shift.after:.4g} after, noise {shift.spread:.2g} a point) and neither comes back nor grows; it ends at "
        f"{last:.4g}. Did the run resume there with state lost, or does other data begin?",
        f"{points.key} 在{where_zh(points, i)}一次跳升 {height:.3g}（之前中位数 {shift.before:.4g}，之后 "
        f"{shift.after:.4g}；单点噪声 {shift.spread:.2g}），此后既不回落也不继续增长：结束时为 {last:.4g}。"
        "是否在此处恢复训练时丢失了状态，或换了数据？",
        last_good_step=int(points.steps[i - 1]),
        baseline=shift.before,
        value=shift.after,
        last=last,
        robust_sigma=shift.spread,
    )
