"""An accuracy that stands at one value in training and on what is held out: every example is answered alike."""

from __future__ import annotations

import numpy as np

from ...findings import Finding
from ...series import Series
from ..detectors.detector import S2, Track, finding

STEADY, NEAR = 0.01, 0.25
"""Share of its level within which the accuracy in training stands still, and by which it may lie apart from the one on
held-out data, whose classes are not as common there. Own judgement."""
LEARNED = 0.9
"""Accuracy from which on both stand still because nothing is left to learn."""


def stands_in_training(track: Track, held: Series) -> Series | None:
    """The accuracy on what is trained on, where it stands still beside a constant one on held-out data."""
    if held.metric != "eval_accuracy":
        return None
    own = track.like("accuracy", held)
    value = float(held.values[0])
    if own is None or len(own) < 3 or value >= LEARNED * (100 if value > 1.5 else 1):
        return None
    level = float(np.median(own.values))
    steady = np.ptp(own.values) <= STEADY * level and abs(level - value) <= NEAR * max(level, value)
    return own if steady else None


def answers_alike(held: Series, own: Series, loss: Series) -> Finding:
    """That the measure works and the model says one thing."""
    n, first, last = len(held), loss.values[0], loss.values[-1]
    en = (
        f"{own.key} stands at {own.values[-1]:.4g} and {held.key} at {held.values[-1]:.4g} in all {n} epochs, while "
        f"{loss.key} moves from {first:.4g} to {last:.4g}: the accuracy on the training data, measured in the same "
        "way, stands still too, so every example gets the same answer, and what the loss gains decides none."
    )
    zh = (
        f"全部 {n} 个 epoch 中 {own.key} 停在 {own.values[-1]:.4g}、{held.key} 停在 {held.values[-1]:.4g}，"
        f"而 {loss.key} 从 {first:.4g} 变到 {last:.4g}：同样算法得出的训练准确率也不动，"
        "说明所有样本得到同一个答案，loss 的下降没有改变任何一个判断。"
    )
    shown = [(held, n - 1), (own, len(own) - 1)]
    return finding("same-answer-everywhere", S2, shown, en, zh, value=float(held.values[0]), points=n)
