"""Healthy runs: one plain run of every recipe, and runs that look ugly and are fine."""

from __future__ import annotations

from typing import ClassVar

from .fault import Family, Fault


class Healthy(Fault):
    family: ClassVar[Family] = "healthy"
    asks = ("is this run healthy?", "这个训练正常吗？")


class HealthyPretrain(Healthy):
    name, recipe = "healthy-pretrain", "pretrain"


class HealthySft(Healthy):
    name, recipe = "healthy-sft", "sft"


class HealthyDpo(Healthy):
    name, recipe = "healthy-dpo", "dpo"


class HealthyGrpo(Healthy):
    name, recipe = "healthy-grpo", "grpo"


class HealthyDistributed(Healthy):
    name, recipe = "healthy-distributed", "distributed"


class HealthyMixed(Healthy):
    name, recipe = "healthy-mixed", "mixed"


class HealthyMomentum(Healthy):
    name, recipe = "healthy-momentum", "momentum"


class HealthyChat(Healthy):
    name, recipe = "healthy-chat", "chat"
