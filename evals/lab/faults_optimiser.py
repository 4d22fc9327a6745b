"""Faults of the optimiser, its schedule and the numbers: what a setting or the model's configuration does wrong."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, ClassVar

from .fault import Family, Fault, Split
from .text import Record

if TYPE_CHECKING:
    from .parts import Parts

NONFINITE = (
    "loss-nonfinite", "loss-hidden-nan", "grad-norm-nonfinite", "grad-norm-climb-before-nan", "eval-loss-nonfinite",
    "nonfinite-from-start", "nonfinite-without-precursor", "onset-near-peak-lr", "checkpoint-nonfinite",
    "checkpoint-tensor-constant",
)  # fmt: skip
DIVERGES = (*NONFINITE, "loss-divergence", "loss-spike", "loss-oscillation", "grad-norm-spike")
STAGNATES = ("loss-plateau", "loss-slow")


class Optimiser(Fault):
    family: ClassVar[Family] = "optimiser"
    recipe = "pretrain"


class LearningRateTooHigh(Optimiser):
    name = "lr-too-high"
    severities = ("6.0e-2", "4.0e-2")
    right = ("loss-nan-high-lr", "grad-clip-saturation", "loss-oscillation")
    near = ("warmup-too-short", "lr-batch-mismatch")
    shows = (*DIVERGES, "lr-outside-range", "clip-rate-high")
    repairs = ("learning_rate",)
    asks = ("loss is stuck way above the last run, what happened?", "loss 比上一个实验高很多而且下不去，怎么回事？")
    changes = "learning_rate={}"


class LearningRateExplodes(Optimiser):
    """Momentum at a rate that the model bears until warm-up brings it to the peak."""

    name, recipe = "lr-explodes", "momentum"
    severities = ("0.9", "0.7")
    right = ("loss-nan-high-lr",)
    near = ("grad-explosion", "loss-nan", "warmup-too-short")
    shows = DIVERGES
    also = ("loss-plateau", "loss-slow", "clip-rate-high")
    repairs = ("learning_rate", "grad_clip")
    onset = "rise"
    asks = ("loss went up and never came back, why?", "loss 升上去以后再也没下来")
    changes = "learning_rate={}"


class LearningRateTooLow(Optimiser):
    name = "lr-too-low"
    severities = ("2.0e-6", "1.0e-6")
    right = ("loss-stagnation",)
    near = ("lr-batch-mismatch", "lr-schedule-misconfig")
    shows = STAGNATES
    repairs = ("learning_rate",)
    asks = ("the loss barely moves", "loss 几乎不下降")
    changes = "learning_rate={}"


class WarmupMissing(Optimiser):
    """A rate that is the best one after 200 steps of warm-up; without, the loss ends half as high again."""

    name = "warmup-missing"
    severities = ("0", "3")
    right = ("warmup-too-short",)
    near = ("loss-nan-high-lr", "lr-schedule-misconfig")
    shows = (*DIVERGES, "warmup-too-short")
    repairs = ("warmup_steps", "warmup_ratio", "learning_rate")
    asks = ("worse than the same run last week, from the very start", "从一开始就比上周同样的实验差")
    changes = "learning_rate=1.2e-2 warmup_steps={}"


class WarmupMissingMomentum(Optimiser):
    """A rate that momentum bears after 300 steps of warm-up: without them the loss turns half-way and rises."""

    name, recipe = "warmup-missing-momentum", "momentum"
    severities = ("0.5", "0.45")
    right = ("warmup-too-short",)
    near = ("loss-nan-high-lr", "lr-schedule-misconfig", "grad-clip-saturation")
    shows = (*DIVERGES, "warmup-too-short")
    also = ("clip-rate-high",)
    repairs = ("warmup_steps", "warmup_ratio", "learning_rate")
    asks = ("worse than the same run last week, from the very start", "从一开始就比上周同样的实验差")
    changes = "learning_rate={} warmup_steps=0"


class ClippingOff(Optimiser):
    """The same rate as in a run that clipping keeps stable, without the clipping."""

    name, recipe = "clipping-off", "momentum"
    severities = ("0.45", "0.4")
    right = ("grad-explosion",)
    near = ("loss-nan-high-lr", "loss-nan")
    shows = (*DIVERGES, "grad-clip-off")
    repairs = ("grad_clip", "learning_rate")
    onset = "nonfinite"
    asks = ("gradients exploded in the middle of the run", "训练中途梯度炸了")
    changes = "max_grad_norm=0.0 learning_rate={}"


class WeightDecayTooHigh(Optimiser):
    name = "weight-decay-too-high"
    severities = ("50.0", "30.0")
    right = ("weight-decay-misconfig",)
    near = ("loss-stagnation",)
    shows = (*STAGNATES, "weight-decay-high")
    repairs = ("weight_decay",)
    asks = ("the model does not learn much", "模型基本学不到东西")
    changes = "weight_decay={}"


class ScheduleTooShort(Optimiser):
    """The program decays over its own number of steps, far fewer than the run has."""

    name = "schedule-too-short"
    version = 2
    severities = (150, 200)
    right = ("lr-schedule-misconfig",)
    near = ("loss-stagnation",)
    shows = ("lr-at-floor", "schedule-shorter-than-training", *STAGNATES)
    repairs = ("code",)
    asks = ("training loss stops improving early", "训练 loss 很早就不再下降")

    def code(self, parts: Parts, severity: Any) -> None:
        parts.decay_steps = severity


class WarmupTooLong(Optimiser):
    name = "warmup-too-long"
    severities = ("40000", "20000")
    right = ("lr-schedule-misconfig", "warmup-too-short")
    near = ("loss-stagnation",)
    shows = ("warmup-exceeds-training", *STAGNATES)
    repairs = ("warmup_steps",)
    asks = ("why does it learn so slowly?", "为什么学得这么慢？")
    changes = "warmup_steps={}"


class FrozenParameters(Optimiser):
    name = "frozen-parameters"
    severities = ("true",)
    right = ("frozen-no-trainable-params",)
    near = ("grad-vanishing", "loss-stagnation")
    shows = (*STAGNATES, "no-trainable-parameters", "params-frozen", "grad-norm-vanishing", "learning-rate-zero")
    repairs = ("freeze",)
    asks = ("loss does not go down at all", "loss 完全不降")
    changes = "freeze_base_model={}"


class BadInitialisation(Optimiser):
    name = "bad-initialisation"
    severities = (2.0, 1.2)
    right = ("bad-init",)
    near = ("grad-accum-loss-scaling", "loss-stagnation")
    shows = ("loss-abnormal-at-start", "grad-norm-spike", "loss-plateau")
    repairs = ("init_std",)
    onset = 5
    asks = ("the first loss is huge", "第一步 loss 就特别大")

    def model(self, severity: Any) -> dict[str, Any]:
        return {"initializer_range": severity}


class Overfitting(Optimiser):
    name = "overfitting"
    severities = (40, 60)
    right = ("overfitting",)
    near = ("duplicate-surge",)
    shows = ("eval-loss-rising",)
    repairs = ("epochs",)
    own_best = True
    asks = ("train loss is great but validation gets worse", "训练 loss 很好，验证集越来越差")

    def settings(self, severity: Any) -> dict[str, str]:
        return {"max_steps": "", "num_train_epochs": str(14_000 // (severity * 5))}

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> Split:
        return train[:severity], held


class TinyNormEpsilon(Optimiser):
    """Padding embeds to zero; dividing by its norm with no epsilon to speak of blows the gradient up."""

    name = "tiny-norm-epsilon"
    family = "numerics"
    recipe = "chat"
    severities = (1e-38, 1e-30)
    right = ("unstable-op",)
    near = ("loss-nan", "attention-kernel-nan", "precision-overflow")
    shows = (*NONFINITE, "norm-epsilon-small", "nonfinite-without-precursor")
    also = ("generation-not-stopping", "repetition-loop")
    repairs = ("norm_epsilon",)
    onset = "nonfinite"
    asks = ("nan in the first steps", "前几步就出现 nan")

    def model(self, severity: Any) -> dict[str, Any]:
        return {"rms_norm_eps": severity}


class LossScaleCollapse(Optimiser):
    """One block's activations outgrow fp16 from a step on: every gradient overflows and the scale falls."""

    name = "loss-scale-collapse"
    family = "numerics"
    recipe = "mixed"
    severities = (500, 400)
    right = ("loss-scale-collapse", "precision-overflow")
    near = ("loss-nan", "fp16-inference-overflow")
    shows = ("loss-scale-collapse", "loss-nonfinite", "grad-norm-nonfinite", "steps-skipped")
    repairs = ("precision", "code")
    onset = "nonfinite"
    asks = ("overflow messages keep coming", "一直打印 overflow")

    def code(self, parts: Parts, severity: Any) -> None:
        mlp = parts.model.transformer.h[0].mlp
        seen = {"step": 0}

        def outgrow(module: Any, inputs: Any, output: Any) -> Any:
            return output * 3e4 / 3e4 if seen["step"] < severity else output * 1e6 / 1e6

        def count(step: int) -> None:
            seen["step"] = step

        mlp.c_fc.register_forward_hook(outgrow)
        parts.end = count
