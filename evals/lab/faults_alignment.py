"""Faults of preference tuning and of reinforcement learning."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, ClassVar

from .fault import Family, Fault
from .text import Record, english

if TYPE_CHECKING:
    from .parts import Parts


class Alignment(Fault):
    family: ClassVar[Family] = "alignment"


class DpoStepsTooLarge(Alignment):
    name, recipe = "dpo-steps-too-large", "dpo"
    severities = ("8.0e-3", "1.5e-2")
    right = ("dpo-kl-explosion", "dpo-chosen-reward-falling")
    near = ("loss-nan-high-lr",)
    shows = ("kl-above-range", "chosen-reward-falling", "lr-outside-range", "loss-divergence", "loss-spike")
    repairs = ("learning_rate",)
    asks = ("the policy moved far away from the reference", "策略离参考模型太远了")
    changes = "learning_rate={}"


class DpoTinyGap(Alignment):
    """Pairs whose two answers differ by a character and whose scores hardly differ."""

    name, recipe = "dpo-tiny-gap", "dpo"
    severities = (0.8, 0.6)
    right = ("preference-gap-too-small",)
    near = ("annotation-disagreement", "dpo-chosen-reward-falling")
    shows = ("preference-gap-small",)
    also = ("length-reward-correlation",)
    repairs = ("dataset",)
    asks = ("reward accuracy stays near one half", "奖励准确率一直在 0.5 附近")

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> None:
        for record in train:
            if rng.random() < severity:
                record["rejected"] = record["chosen"] + rng.choice([" ", "."])
                record["rejected_score"] = round(record["chosen_score"] - rng.uniform(0.0, 0.05), 3)


class DpoLongChosen(Alignment):
    name, recipe = "dpo-long-chosen", "dpo"
    severities = (0.95, 0.85)
    right = ("rm-length-bias", "verbosity-drift")
    near = ("reward-hacking",)
    shows = ("length-reward-correlation",)
    repairs = ("dataset",)
    asks = ("answers keep getting longer after preference tuning", "偏好训练之后回答越来越长")

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> None:
        for record in train:
            if rng.random() < severity:
                extra = " ".join(english(rng)[0] for _ in range(rng.randint(1, 4)))
                record["chosen"] = f"{record['chosen']}. {extra}"


class GrpoEntropyCollapse(Alignment):
    """A reward that is easily had, and steps so large that the policy settles on one answer."""

    name, recipe = "grpo-entropy-collapse", "grpo"
    version = 2
    severities = ("1.0e-3", "1.5e-3")
    right = ("entropy-collapse", "rl-instability")
    near = ("zero-advantage-groups", "loss-nan-high-lr", "response-length-collapse")
    shows = ("entropy-collapse", "rl-instability", "reward-decline", "zero-advantage-groups", "lr-outside-range")
    repairs = ("learning_rate", "kl_coef")
    asks = ("all samples of a prompt became the same", "同一个 prompt 的采样全都一样了")
    changes = "learning_rate={} beta=0.0"

    def code(self, parts: Parts, severity: Any) -> None:
        parts.reward = brevity


class GrpoGameableReward(Alignment):
    """A reward for brevity alone: it rises while fewer and fewer questions are answered."""

    name, recipe = "grpo-gameable-reward", "grpo"
    severities = ("4.0e-4", "6.0e-4")
    right = ("reward-hacking",)
    near = ("response-length-collapse", "rlvr-answer-guessing")
    shows = ("reward-up-quality-down", "response-length-collapse", "empty-answer-rewarded")
    also = ("lr-outside-range", "entropy-collapse", "zero-advantage-groups")
    repairs = ("code",)
    asks = ("reward keeps rising, the answers are useless", "奖励一直涨，回答却没法用")
    changes = "learning_rate={} beta=0.0"

    def code(self, parts: Parts, severity: Any) -> None:
        parts.reward, parts.quiz = brevity, True


def brevity(completions: list[Any], answer: list[str], **_: Any) -> list[float]:
    """A reward that says nothing about the answer."""
    return [1.0 / (1 + len(c[0]["content"])) for c in completions]


class GrpoNoSignal(Alignment):
    """A reward that only an exact match of a text nobody writes would earn."""

    name, recipe = "grpo-no-signal", "grpo"
    severities = ("<answer>", "\\boxed")
    right = ("zero-advantage-groups", "rl-no-convergence")
    near = ("grad-vanishing", "entropy-collapse")
    shows = ("zero-advantage-groups", "reward-flat", "grad-norm-vanishing")
    repairs = ("code", "dataset")
    asks = ("the reward never moves", "奖励一直不动")

    def code(self, parts: Parts, severity: Any) -> None:
        def exact_reward(completions: list[Any], answer: list[str], **_: Any) -> list[float]:
            return [float(f"{severity}{a}" == c[0]["content"]) for c, a in zip(completions, answer, strict=True)]

        parts.reward = exact_reward


class GrpoGroupSize(Alignment):
    name, recipe = "grpo-group-size", "grpo"
    family = "system"
    severities = ("6", "5")
    right = ("group-size-not-divisible",)
    near = ("gbs-miscalculation", "renamed-argument")
    shows = ("batch-not-divisible", "uncaught-exception", "rollout-batch-mismatch")
    repairs = ("num_generations", "micro_batch_size", "train_batch_size", "global_batch_size", "code")
    actions: ClassVar[dict[str, dict[str, str]]] = {"code": {"per_device_train_batch_size": "30"}}
    crashes = True
    asks = ("it fails at start-up with an error about generations", "启动时报 generations 相关的错误")
    changes = "num_generations={}"
