"""What rules of several topics ask of the settings: the kind of training, the optimizer, sizes and where they stand.

It judges nothing.
"""

from __future__ import annotations

import re

from ...settings import Setting, Settings
from ..keys import normal
from ..values import RL

PREFERENCE = ("dpo", "kto", "orpo")
UNKNOWN = ("generic", "lightning", "")
"""Programs of any kind, for which only absurd values can be told."""
NOT_ADAM = ("muon", "lion", "sgd", "adafactor", "prodigy", "dadapt", "shampoo", "soap", "lomo", "schedule", "apollo")
"""Optimizers whose step is scaled differently, so that Adam's ranges say nothing."""


def kind_of(settings: Settings) -> str:
    """pretrain, sft, preference, rl, or empty."""
    stage = settings.value("stage", "")
    if stage in PREFERENCE:
        return "preference"
    if stage in RL:
        return "rl"
    return "sft" if stage in ("sft", "rm", "distill") else ("pretrain" if stage == "pretrain" else "")


def in_rl(settings: Settings) -> bool:
    return settings.value("stage") in RL


def has_adapter(settings: Settings) -> bool:
    adapter = settings.value("adapter")
    if adapter is not None:
        return adapter not in ("full", "freeze", "none")
    return bool(settings.value("lora_rank"))


def adam_like(settings: Settings) -> bool:
    """The optimizer is not one whose learning rates live on another scale."""
    name = str(settings.value("optimizer", "")).lower()
    muon = any("muon" in key and s.value not in (False, "false", "False") for key, s in settings.others.items())
    return not muon and not any(word in name for word in NOT_ADAM)


def whole(settings: Settings, variable: str) -> int | None:
    """A positive whole number that is written down, or None."""
    setting = settings.get(variable)
    if setting is None or isinstance(setting.value, bool) or not isinstance(setting.value, int):
        return None
    return setting.value if setting.value > 0 else None


def severity_together(settings: Settings, *variables: str) -> str:
    """S1 where one file writes both: files side by side may belong to different runs, a derived size may be a
    placeholder's."""
    files = [s.file for v in variables if (s := settings.get(v))]
    return "S1" if len(files) == len(variables) and len(set(files)) == 1 else "S2"


def unnamed(settings: Settings, pattern: str) -> Setting | None:
    """The setting without a canonical name whose key matches."""
    return next((s for key, s in settings.others.items() if re.search(pattern, normal(key))), None)
