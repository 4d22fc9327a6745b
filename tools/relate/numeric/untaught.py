"""A training that teaches nothing: the share of right tokens stays while the loss falls, or no weight can have moved.

An optimizer like Adam moves a weight by about the learning rate a step, so the sum of the rates is the most that any
weight has moved. A usual weight is about 0.02, and bf16 tells 0.02 from 0.0201.
"""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Finding, Severity
from ...patterns import bounded
from ...settings import Settings
from ..line import Line, means

LEAST = 4
"""Points of both."""
FALLS, STAYS, FEW = 0.75, 0.02, 0.5
"""Share of the first loss that the last is at most; how far the share of right tokens goes at most, and its level below
which much was left to learn. Own judgement."""
RIGHT = bounded(r"(?:^|_)tok(?:en)?s?_acc(?:uracy)?(?:_|$)|token_?正确率|词元准确率")
MOVED, SAME = 2e-6, 0.04
"""Sum of the rates up to which nothing is learnt, and share of the loss by which it has not moved. Own judgement."""
OTHERS = bounded(r"(?i)sgd|muon|lion|adafactor")
"""Optimizers that move by something else than the rate."""
LOSSES = ("eval_loss", "loss")


def untaught(lines: Sequence[Line]) -> Iterator[Finding]:
    """The share of right tokens that stays beside the loss of the same rows; that of held-out data first."""
    whole = [x.finite() for x in lines if x.axis == "step"]
    for name in LOSSES:
        for loss in (x for x in whole if x.name == name and len(x) >= LEAST):
            for right in whole:
                held = right.name.startswith("eval_") == name.startswith("eval_")
                beside = right.file == loss.file and right.attempt == loss.attempt and held
                if beside and len(right) >= LEAST and means(RIGHT, right.key) and _apart(loss, right):
                    yield _told(loss, right)
                    return


def _apart(loss: Line, right: Line) -> bool:
    first, last = float(loss.values[0]), float(loss.values[-1])
    return (
        0 < last <= FALLS * first
        and float(np.ptp(right.values)) <= STAYS
        and float(right.values.max()) < FEW
        and right.x[0] <= loss.x[-1]
        and right.x[-1] >= loss.x[len(loss) // 2]
    )


def _told(loss: Line, right: Line) -> Finding:
    level, end = float(np.median(right.values)), len(loss) - 1
    return Finding(
        "right-tokens-stay", Severity.S2,
        f"{loss.said} falls from {loss.values[0]:.4g} to {loss.values[end]:.4g}, and {right.said} stays at {level:.3g}: "
        "what the loss learns is not which token comes next in the answers.",
        f"{loss.said} 从 {loss.values[0]:.4g} 降到 {loss.values[end]:.4g}，而 {right.said} 一直在 {level:.3g}："
        "loss 学到的不是回答里的下一个 token。",
        (loss.evidence(0), loss.evidence(end), right.evidence(0), right.evidence(len(right) - 1)),
        {"first": float(loss.values[0]), "last": float(loss.values[end]), "right": level},
    )  # fmt: skip


def unmoved(lines: Sequence[Line], settings: Settings) -> Iterator[Finding]:
    """Rates so small, over so few steps, that no weight can have moved, and a loss that has not."""
    if OTHERS.search(str(settings.value("optimizer") or "")):
        return
    rates = [x.finite() for x in lines if x.name == "learning_rate" and x.axis == "step" and len(x) >= LEAST]
    for rate in rates:
        loss = next((x.finite() for x in lines if x.name == "loss" and x.file == rate.file and len(x) >= LEAST), None)
        widths = np.diff(rate.x, prepend=0.0)
        most = float(np.maximum(rate.values, 0) @ np.maximum(widths, 0))
        if loss is None or not 0 < most <= MOVED or not float(rate.values.max()):
            continue
        early, late = (float(np.median(loss.values[part])) for part in (slice(0, 3), slice(-3, None)))
        if abs(late - early) <= SAME * abs(early):
            yield Finding(
                "weights-cannot-move", Severity.S2,
                f"the learning rates of all {rate.x[-1]:.0f} steps add up to {most:.2g} ({rate.said} at most "
                f"{rate.values.max():.2g}): no weight can have moved by more, and the loss is {late:.4g} after {early:.4g}.",
                f"全部 {rate.x[-1]:.0f} 步的学习率之和只有 {most:.2g}（{rate.said} 最高 {rate.values.max():.2g}）：任何权重的"
                f"变化都不会超过它，loss 也只从 {early:.4g} 到 {late:.4g}。",
                (rate.evidence(int(rate.values.argmax())), loss.evidence(0), loss.evidence(len(loss) - 1)),
                {"sum": most, "peak": float(rate.values.max()), "steps": float(rate.x[-1])},
            )  # fmt: skip
            return
