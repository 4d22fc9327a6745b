"""Which failures make a metric look better than it was, so that a repaired run is no worse for losing it."""

from __future__ import annotations

FLATTERED: dict[str, tuple[str, ...]] = {
    "eval-leakage": ("eval_loss", "eval_accuracy"),
    "eval-loss-rising": ("loss", "accuracy"),
    "exact-duplicates": ("loss", "accuracy"),
    "near-duplicates": ("loss", "accuracy"),
    "repeated-text": ("loss", "eval_loss", "accuracy", "eval_accuracy"),
    "repetition-loop": ("loss", "eval_loss", "accuracy", "eval_accuracy"),
    "empty-records": ("loss", "accuracy"),
    "loss-hidden-nan": ("loss",),
    "loss-zero": ("loss",),
    "label-mask-misaligned": ("loss", "eval_loss", "accuracy", "eval_accuracy"),
    "eos-not-trained": ("loss", "eval_loss", "accuracy", "eval_accuracy"),
    "reward-up-quality-down": ("reward", "eval_reward"),
    "entropy-collapse": ("reward",),
    "chosen-reward-falling": ("loss", "eval_loss"),
    **dict.fromkeys(("zero-advantage-groups", "learning-rate-zero", "no-trainable-parameters"), ("kl", "entropy")),
    **dict.fromkeys(("score-follows-length", "reward-pays-for-fault"), ("reward", "eval_reward", "entropy")),
}
"""Finding of the baseline -> metrics that it makes look better than they were: they are no neighbours then."""
