"""Updates that are not applied, as gradients overflow in every step; those that teach nothing, as no label is left."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...findings import Finding
from ...series import Series
from .detector import S1, Track, detector, finding, where, where_zh
from .levels import PREFERENCE
from .nonfinite import bad_span
from .robust import mann_kendall

STILL = 20
"""Points of a loss that stands still from which on updates are skipped. Own judgement."""
ZEROS = 0.5
"""Share of a loss that is logged as exactly 0 from which on it is no measure."""
EMPTY, EMPTY_SHARE = 5, 0.04
"""Points of exactly 0 between others, and their share of all points, from which on they are told. Own judgement."""
APART, LEAST = 0.1, 0.005
"""No other point lies below this share of the level around it, and that level is nowhere below this: a loss that nears
0, or that of single easy examples, also takes the values between. Own judgement."""


@detector("updates-skipped", "infinite gradients to the end, and a finite loss that stands still", ["grad_norm"])
def updates_skipped(track: Track) -> Iterator[Finding]:
    """The gradient norm is not finite to the end, and the loss stays finite without a trend: a loss scaler skips a
    step whose gradients overflow, and an update with them would break the weights, and so the loss. Own judgement."""
    loss = track.get("loss")
    for norm in track.series if loss is not None else ():
        span = bad_span(norm) if norm.metric == "grad_norm" else None
        if span is None or span.kind != "persistent" or loss is None:
            continue
        later = loss.values[loss.steps >= norm.steps[span.first]]
        if np.mean(later == 0) > ZEROS:
            continue  # what a trainer writes in place of a loss that is no number
        if len(later) < STILL or not np.isfinite(later).all() or abs(mann_kendall(later)[1]) >= 2:
            continue
        last = float(later[-1])
        en = f"{loss.key} stays finite ({last:.4g} at the end) and goes nowhere under infinite {norm.key}: the "
        en += "updates are skipped, as a loss scaler does at an overflow; an update would break the weights."
        zh = f"{norm.key} 非有限期间 {loss.key} 仍为有限值（最后 {last:.4g}）且不再变化：更新都被跳过了，"
        zh += "正如 loss scaler 遇到溢出时所做；真更新了权重就会坏掉。"
        yield finding("updates-skipped", S1, [(norm, span.first), (loss, -1)], en, zh, last=last)


@detector("loss-zero-at-times", "the loss is exactly 0.0 at some points, and far from it at all others", ["loss"], 10)
def loss_zero_at_times(track: Track) -> Iterator[Finding]:
    """Exact zeros among points none of which is near zero: batches in which no label is trained on.

    Silent in reinforcement and preference learning, whose losses do vanish, and where the gradient's norm is above 0
    at those points: then the 0 is the log's. Own judgement.
    """
    loss, norm = track.get("loss"), track.get("grad_norm")
    if loss is None or track.is_rl or any(track.get(name) for name in PREFERENCE):
        return
    places = _empty(loss)
    if not len(places) or (norm is not None and norm.values[np.isin(norm.steps, loss.steps[places])].any()):
        return
    k, n, least = len(places), len(loss.values), float(np.nanmin(loss.values[loss.values > 0]))
    en = f"{loss.key} is exactly 0.0 at {k} of {n} points, first at {where(loss, int(places[0]))}, and never below "
    en += f"{least:.3g} at the others: in those batches no label is trained."
    zh = f"{loss.key} 的 {n} 个点中有 {k} 个恰好为 0.0（最早在{where_zh(loss, int(places[0]))}），其余从不低于 "
    zh += f"{least:.3g}：这些 batch 里没有任何标签参与训练。"
    yield finding(
        "loss-zero-at-times", S1, [(loss, int(places[0])), (loss, int(places[-1]))], en, zh, zeros=k, points=n
    )


def _empty(loss: Series) -> np.ndarray:
    """Where a loss is exactly 0 among points that are far from it, none where the zeros are few or not apart."""
    zero, none = loss.values == 0.0, np.empty(0, np.intp)
    others, rest = np.flatnonzero(~zero), loss.values[~zero]
    if zero.sum() < max(EMPTY, EMPTY_SHARE * len(zero)) or len(rest) < EMPTY or not (rest > 0).all():
        return none
    if len(zero) - 1 - others[-1] >= EMPTY or (np.diff(loss.steps) <= 0).any():
        return none  # 0 to the end is told elsewhere
    level = np.array([np.median(rest[max(0, i - EMPTY) : i + EMPTY + 1]) for i in range(len(rest))])
    apart = level.min() >= LEAST and (rest >= APART * level).all()
    return np.flatnonzero(zero) if apart else none
