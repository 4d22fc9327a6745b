"""From the text of a value to the canonical type. "auto", "none" and an empty value mean "not set here"."""

from __future__ import annotations

import re
from typing import Any

from ..settings import CONTEXT, VARIABLES

UNSET = object()
"""The key is present and says nothing: `auto`, null, or text of the wrong type."""
NUMBER = re.compile(r"[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)([eE][-+]?\d+)?")
TRUE = {"true", "yes", "on", "1", "y", "enable", "enabled"}
FALSE = {"false", "no", "off", "0", "n", "disable", "disabled", "none"}
PRECISIONS = {
    "bf16": "bf16",
    "bfloat16": "bf16",
    "bf16_mixed": "bf16",
    "bf16_true": "bf16",
    "torch.bfloat16": "bf16",
    "fp16": "fp16",
    "float16": "fp16",
    "half": "fp16",
    "16": "fp16",
    "16_mixed": "fp16",
    "16_true": "fp16",
    "torch.float16": "fp16",
    "fp32": "fp32",
    "float32": "fp32",
    "float": "fp32",
    "32": "fp32",
    "32_true": "fp32",
    "no": "fp32",
    "torch.float32": "fp32",
    "fp8": "fp8",
    "fp8_e4m3": "fp8",
    "e4m3": "fp8",
    "hybrid": "fp8",
}
STAGES = {
    "pt": "pretrain",
    "pretrain": "pretrain",
    "sft": "sft",
    "rm": "rm",
    "reward": "rm",
    "ppo": "ppo",
    "dpo": "dpo",
    "ipo": "dpo",
    "kto": "kto",
    "orpo": "orpo",
    "simpo": "dpo",
    "grpo": "grpo",
    "gdpo": "grpo",
    "rloo": "rl",
    "gae": "ppo",
    "group_norm": "grpo",
    "dr_grpo": "grpo",
    "reinforce": "rl",
    "reinforce_baseline": "rl",
    "reinforce_plus_plus": "rl",
    "reinforce_plus_plus_baseline": "rl",
    "remax": "rl",
    "gspo": "grpo",
    "dapo": "grpo",
    "gmpo": "grpo",
    "rl": "rl",
    "online_dpo": "rl",
    "distill": "distill",
    "kd": "distill",
    "gkd": "distill",
}
SWITCH_WORDS = {
    "activation_checkpointing": {
        "unsloth": True,
        "full": True,
        "selective": True,
        "uniform": True,
        "offload": True,
        "block": True,
    },
    "flash_attention": {
        "flash_attention_2": True,
        "flash_attention_3": True,
        "fa2": True,
        "fa3": True,
        "flash": True,
        "sdpa": False,
        "eager": False,
        "xformers": False,
    },
    "offload_optimizer": {"cpu": True, "nvme": True},
    "offload_params": {"cpu": True, "nvme": True},
    "colocate": {"colocate": True, "server": False},
    "fp8": {"hybrid": True, "e4m3": True},
}
"""Words that count as yes or no for one variable."""


MEANS_UNSET = ("max_steps", "epochs", "steps_per_epoch", "train_samples", "train_tokens", "warmup_steps")
"""Variables for which frameworks write -1 (or 0) to say "not set"."""


def number(text: str) -> float | None:
    """`2e-5`, `200_000_000`, `.01`, `0.`, `inf`; None for anything else."""
    text = text.strip().rstrip(",")
    if NUMBER.fullmatch(text):
        return float(text.replace("_", ""))
    return float(text) if text.lower() in ("inf", "-inf", "nan") else None


def boolean(text: str) -> bool | None:
    word = text.strip().lower()
    return True if word in TRUE else (False if word in FALSE else None)


def convert(variable: str, text: str | None, key: str, switch: bool = False) -> Any:
    """The typed value, or `UNSET`.

    Args:
        variable: canonical or context variable.
        text: the scalar as written, None for null.
        key: normalised key, where its spelling changes the unit.
        switch: a flag without a value, which means yes.
    """
    kind = (VARIABLES.get(variable) or CONTEXT[variable]).type
    if text is None and not switch:
        return None if variable == "grad_clip" else UNSET
    text = (text or "").strip()
    if text.lower() in ("auto", "", "null", "~", "default") and not switch:
        return UNSET
    if variable == "grad_clip" and text.lower() == "none":
        return None
    if kind == "bool":
        return _boolean(variable, text, switch)
    if switch:
        return _switch(variable)
    if kind in ("int", "float"):
        return _number(variable, text, kind, key)
    return _string(variable, text, key)


def _boolean(variable: str, text: str, switch: bool) -> Any:
    if switch:
        return True
    word = text.lower().split()[0] if text else ""
    if word in (words := SWITCH_WORDS.get(variable, {})):
        return words[word]
    value = boolean(word)
    return UNSET if value is None else value


def _switch(variable: str) -> Any:
    """A flag without a value for a variable that is not a yes or no."""
    return {"adapter": "lora", "freeze": "yes", "deepspeed": "yes", "zero_stage": UNSET}.get(variable, UNSET)


def _number(variable: str, text: str, kind: str, key: str) -> Any:
    value = number(text.split()[0])
    if value is None or (kind == "int" and value != value):
        return UNSET
    if variable in MEANS_UNSET and value <= 0 and not (variable == "warmup_steps" and value == 0):
        return UNSET
    if "minutes" in key:
        value *= 60
    if kind == "int":
        return int(value) if value == value and abs(value) < 1e18 and value == int(value) else UNSET
    return value


def _string(variable: str, text: str, key: str) -> Any:
    lower = text.lower()
    if variable == "precision" or variable == "model_dtype":
        return PRECISIONS.get(lower.replace("-", "_"), UNSET)
    if variable == "stage":
        return STAGES.get(lower, UNSET)
    if variable == "adapter":
        flag = boolean(text)
        return ("lora" if flag else "full") if flag is not None and lower != "none" else lower
    if variable in ("pad_token_id", "eos_token_id"):
        return int(text) if re.fullmatch(r"-?\d{1,9}", text) else text
    if variable in ("freeze", "deepspeed") and boolean(text) is False:
        return UNSET
    if variable == "rope_scaling_type" and lower in ("none", "default"):
        return UNSET
    return text
