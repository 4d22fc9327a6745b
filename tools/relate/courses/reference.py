"""A loss beside that of another run: one that follows it, smoothed, step by step, is on its way however restless it is;
one that begins far above it was handed other weights, other data or other ids, for no update has acted yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from ...findings import Finding, Severity
from ..line import Line, plain
from .clipped import is_rl
from .read import Course, noise

LEAST, POINTS, PARTS = 200, 10, 5
"""Points of a loss that is judged, of the other run's over the later half of the common way, and parts of that half."""
SAME = 0.01
"""Share of the level by which the two lie apart at most in every part; own judgement."""
ROUNDED = 1e-3
"""Share of a value by which one course differs where two files print it. Own judgement."""
BEGUN, FIRST, EARLY, ABOVE, LEAST_NATS, TRAINED = 10, 3, 10, 1.5, 0.7, 6.0
"""Points of two losses whose beginnings are compared, those of a beginning, the step up to which they may begin, times
and nats by which one lies above the other, and the loss (nats) from which on weights are untrained. Own judgement."""
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


def begins_above(found: Sequence[Course]) -> Iterator[Finding]:
    """The loss that begins farthest above that of another run of trained weights, at the same step and rate."""
    some = [c for c in found if c.loss is not None and c.loss.axis == "step" and len(c.loss) >= BEGUN and not is_rl(c)]
    best: tuple[float, Line, Line] | None = None
    for one, other in permutations(some, 2):
        mine, theirs = one.loss, other.loss
        if mine is None or theirs is None or one.file == other.file or plain(mine.key) != plain(theirs.key):
            continue
        high, low = (float(np.median(x.values[:FIRST])) for x in (mine, theirs))
        alike = mine.x[0] == theirs.x[0] <= EARLY and len({c.rate is None for c in (one, other)}) == 1
        rates = [float(c.rate.values[0]) for c in (one, other) if c.rate is not None]
        if alike and (not rates or abs(rates[0] - rates[1]) <= 0.01 * rates[1]) and 0 < low < TRAINED and (
                high >= max(ABOVE * low, low + LEAST_NATS)) and (best is None or high / low > best[0]):  # fmt: skip
            best = high / low, mine, theirs
    if best is not None:
        times, mine, theirs = best
        high, low = float(mine.values[0]), float(theirs.values[0])
        yield Finding(
            "starts-above-other", Severity.S3,
            f"{mine.key} of {mine.file} begins at {high:.4g}, where that of {theirs.file} began at {low:.4g} at the "
            f"same {mine.where(0)}: {times:.2g} times as high before any update has acted.",
            f"{mine.file} 的 {mine.key} 从 {high:.4g} 开始，而 {theirs.file} 在同一步（{mine.where(0)}）为 {low:.4g}："
            f"还没有更新起作用就已是 {times:.2g} 倍。",
            (mine.evidence(0), theirs.evidence(0)), {"value": high, "other": low, "metric": "loss"},
        )  # fmt: skip


def _printed_twice(mine: Line, theirs: Line) -> bool:
    """Whether two files hold one course: at the steps of both their values are equal, but for rounding."""
    _, i, j = np.intersect1d(mine.x, theirs.x, return_indices=True)
    apart = np.abs(mine.values[i] - theirs.values[j]) / np.maximum(np.abs(theirs.values[j]), 1e-9)
    return len(i) >= POINTS and float(np.median(apart)) <= ROUNDED


def _same(mine: Line, theirs: Line) -> Followed | None:
    begin, end = max(mine.x[0], theirs.x[0]), min(mine.x[-1], theirs.x[-1])
    if end < 0.8 * mine.x[-1] or _printed_twice(mine, theirs):
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
