"""A loss that falls while the share of tokens that are right stays: what is learnt is not what the answers say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Finding, Severity
from ...patterns import bounded
from ..line import Line, means

LEAST = 4
"""Points of both."""
FALLS, STAYS, FEW = 0.75, 0.02, 0.5
"""Share of the first loss that the last is at most; how far the share of right tokens goes at most, and its level below
which much was left to learn. Own judgement."""
RIGHT = bounded(r"(?:^|_)tok(?:en)?s?_acc(?:uracy)?(?:_|$)|token_?正确率|词元准确率")
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
        f"{loss.said} falls from {loss.values[0]:.4g} to {loss.values[end]:.4g} while {right.said} stays at {level:.3g}: "
        "what the loss learns is not which token comes next in the answers.",
        f"{loss.said} 从 {loss.values[0]:.4g} 降到 {loss.values[end]:.4g}，而 {right.said} 一直在 {level:.3g}："
        "loss 学到的不是回答里的下一个 token。",
        (loss.evidence(0), loss.evidence(end), right.evidence(0), right.evidence(len(right) - 1)),
        {"first": float(loss.values[0]), "last": float(loss.values[end]), "right": level},
    )  # fmt: skip
