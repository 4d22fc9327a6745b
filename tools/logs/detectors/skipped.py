"""Updates that are not applied: the gradients overflow in every step, and the weights stay as they are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...findings import Finding
from .detector import S1, Track, detector, finding
from .nonfinite import bad_span
from .robust import mann_kendall

STILL = 20
"""Points of a loss that stands still from which on updates are skipped. Own judgement."""
ZEROS = 0.5
"""Share of a loss that is logged as exactly 0 from which on it is no measure."""


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
