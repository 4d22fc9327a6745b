"""A loss that follows that of another run, smoothed, step by step: what looks restless is on its way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...findings import Finding, Severity
from ..line import Line
from .clipped import is_rl
from .read import Course, noise

LEAST, POINTS, PARTS = 200, 10, 5
"""Points of a loss that is judged, of the other run's over the later half of the common way, and parts of that half."""
SAME = 0.01
"""Share of the level by which the two lie apart at most in every part; own judgement."""
FALLS = 0.01
"""Share of its level that the loss gains over that half at least."""


@dataclass(frozen=True)
class Followed:
    """Two courses over the later half of what they have in common."""

    own: np.ndarray
    other: np.ndarray
    apart: float
    end: int


def followed(found: Sequence[Course]) -> Iterator[Finding]:
    """The longest loss that goes on falling as another run's did, which is smoother or of fewer points."""
    some = [c for c in found if c.loss is not None and c.loss.axis == "step" and not is_rl(c)]
    for one in some:
        for other in some:
            mine, theirs = one.loss, other.loss
            if mine is None or theirs is None or one.file == other.file or len(mine) < max(LEAST, 2 * len(theirs)):
                continue
            if (both := _same(mine, theirs)) is not None:
                yield _told(mine, theirs, both)
                return


def _same(mine: Line, theirs: Line) -> Followed | None:
    begin, end = max(mine.x[0], theirs.x[0]), min(mine.x[-1], theirs.x[-1])
    if end < 0.8 * mine.x[-1]:
        return None
    other = theirs.only((theirs.x >= begin + 0.5 * (end - begin)) & (theirs.x <= end))
    if len(other) < POINTS:
        return None
    width = float(np.median(np.diff(other.x)))
    parts = [mine.values[(mine.x > x - width) & (mine.x <= x)] for x in other.x.tolist()]
    if min(map(len, parts)) < 3:
        return None
    own = np.array([float(np.mean(p)) for p in parts])
    means = [[float(np.mean(p)) for p in np.array_split(v, PARTS)] for v in (own, other.values)]
    apart = np.abs(np.subtract(means[0], means[1])) / np.maximum(np.abs(means[1]), 1e-9)
    gained = float(np.mean(own[: max(len(own) // 5, 2)]) - np.mean(own[-max(len(own) // 5, 2) :]))
    if apart.max() > SAME or gained < FALLS * abs(own[-1]) or own[-1] <= 0:
        return None
    return Followed(own, other.values, float(np.median(apart)), int(other.x[-1]))


def _told(mine: Line, theirs: Line, both: Followed) -> Finding:
    first, last, other = float(both.own[0]), float(both.own[-1]), float(both.other[-1])
    swing = noise(mine.values[len(mine) // 2 :])
    return Finding(
        "loss-follows-other-run", Severity.S3,
        f"Smoothed, the loss of {mine.file} falls from {first:.4g} to {last:.4g} over the later half and lies within "
        f"{both.apart:.1%} of that of {theirs.file} ({other:.4g} at step {both.end}); a single point is "
        f"{swing:.2g} off.",
        f"平滑之后 {mine.file} 的 loss 在后半程从 {first:.4g} 降到 {last:.4g}，与 {theirs.file} 相差 {both.apart:.1%}"
        f"（第 {both.end} 步为 {other:.4g}）；单点波动为 {swing:.2g}。",
        (mine.evidence(-1), theirs.evidence(int(np.searchsorted(theirs.x, both.end))), mine.evidence(len(mine) // 2)),
        {"value": last, "other": other, "apart": both.apart},
    )  # fmt: skip
