"""Preference pairs in training: never told apart, or told apart so early that nothing is left to learn from them."""

# ruff: noqa: E501  one sentence on one line

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Finding, Severity
from ...settings import Settings
from ..kinds.names import demand
from ..line import Line

PREFERS = ("dpo", "ipo", "cpo", "simpo", "orpo", "kto", "rm")
GUESSED, KNOWN, NOTHING, EQUAL = 0.06, 0.995, 0.02, float(np.log(2))
"""How far from one half the accuracy of guessing lies, accuracy and loss from which on no pair is in doubt any more, and
the loss of a policy that is its reference."""
LEAST, OFF = 4, 1.1
"""Points of a curve, and times `EQUAL` at which a training begins that does not begin at its reference. Ours."""


def preferring(lines: Sequence[Line], settings: Settings) -> Iterator[Finding]:
    """What loss and accuracy say of the pairs; an accuracy that is not named as one of pairs counts where the settings
    say that preferences are trained."""
    kind = str(settings.value("stage") or "").lower()
    right = _longest(lines, "reward_accuracy") or (_longest(lines, "accuracy") if kind in PREFERS else None)
    loss = _longest(lines, "loss") if right is not None or kind in PREFERS else None
    if right is not None and _near_half(right.values):
        yield _told(
            "pairs-never-told-apart", right, len(right) - 1,
            ("the chosen answer is preferred in {v:.0%} of the pairs at the end, {f:.0%} at the start: guessing all along",
             "结束时排对 {v:.0%} 的偏好对，开始时为 {f:.0%}：始终与随机猜测无异"), ("at-least", 0.65),
        )  # fmt: skip
    if loss is None:
        return
    first, last = float(loss.values[0]), loss.values[-(len(loss) // 3) :]
    sure = right is None or float(np.min(right.values[-(len(right) // 3) :])) >= KNOWN
    if sure and first >= EQUAL / 2 and float(np.max(last)) <= NOTHING:
        yield _told(
            "pairs-told-apart-at-once", loss, int(np.argmax(loss.values <= NOTHING)),
            ("{v:.2g} here, from {f:.3g}, and next to nothing to the end: no pair is in doubt any more; they differ in "
             "something simple or were learned by heart, and the rest of the training teaches nothing",
             "由 {f:.3g} 降到 {v:.2g}，此后一直几乎为零：所有偏好对都已毫无悬念，要么差别过于简单，要么被背了下来，其后学不到东西"),
            ("at-least", 0.05),
        )  # fmt: skip
    usual = kind == "dpo" and settings.value("loss_type") in (None, "sigmoid")
    if usual and first > OFF * EQUAL and right is not None and _near_half(right.values):
        yield _told(
            "starts-off-its-reference", loss, 0,
            ("begins at {v:.3g}, where a policy that is its own reference has ln 2 = 0.693: the reference is another model "
             "than the one that the training begins with",
             "开始为 {v:.3g}，而与参考模型相同的策略应为 ln 2 = 0.693：参考模型不是训练起点的模型"), ("at-most", 0.75),
        )  # fmt: skip


def _longest(lines: Sequence[Line], name: str) -> Line | None:
    own = (line.finite() for line in lines if line.name == name and not line.group)
    return max((line for line in own if len(line) >= LEAST), key=len, default=None)


def _near_half(values: np.ndarray) -> bool:
    return all(abs(float(np.mean(part)) - 0.5) <= GUESSED for part in np.array_split(values, 3))


def _told(code: str, line: Line, at: int, said: tuple[str, str], asks: tuple[str, float]) -> Finding:
    en, zh = (text.format(v=float(line.values[at]), f=float(line.values[0])) for text in said)
    return Finding(
        code, Severity.S2, f"{line.said} ({line.file}): {en}.", f"{line.said}（{line.file}）：{zh}。",
        (line.evidence(at), line.evidence(0)),
        {"metric": line.name, "value": float(line.values[at]), "asks": [demand(line.name, *asks, en, zh)]},
    )  # fmt: skip
