"""From the text of a value to the canonical type. "auto", "none" and an empty value mean "not set here"."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

from ..patterns import bounded
from ..settings import CONTEXT, VARIABLES

UNSET = object()
"""The key is present and says nothing: `auto`, null, or text of the wrong type."""
NUMBER = bounded(r"[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)([eE][-+]?\d+)?")
TRUE = {"true", "yes", "on", "1", "y", "enable", "enabled"}
FALSE = {"false", "no", "off", "0", "n", "disable", "disabled", "none"}
PRECISIONS = {
    word: precision
    for precision, words in {
        "bf16": "bf16 bfloat16 bf16_mixed bf16_true amp_bf16 amp_bfloat16 torch.bfloat16",
        "fp16": "fp16 float16 half 16 16_mixed 16_true amp_fp16 torch.float16",
        "fp32": "fp32 float32 float 32 32_true no torch.float32",
        "fp8": "fp8 fp8_e4m3 e4m3 hybrid amp_fp8",
    }.items()
    for word in words.split()
}
STAGES = {
    word: stage
    for stage, words in {
        "pretrain": "pt pretrain",
        "sft": "sft",
        "rm": "rm rw reward",
        "ppo": "ppo gae",
        "dpo": "dpo ipo simpo",
        "kto": "kto",
        "orpo": "orpo",
        "grpo": "grpo gdpo group_norm dr_grpo gspo dapo gmpo",
        "rl": "rl rloo reinforce reinforce_baseline reinforce_plus_plus reinforce_plus_plus_baseline remax online_dpo",
        "distill": "distill kd gkd",
    }.items()
    for word in words.split()
}
RL = ("grpo", "ppo", "rl")
"""Stages in which the model is trained on what it samples."""
SWITCH_WORDS = {
    variable: dict.fromkeys(yes.split(), True) | dict.fromkeys(no.split(), False)
    for variable, yes, no in (
        ("activation_checkpointing", "unsloth full selective uniform offload block", ""),
        ("flash_attention", "flash_attention_2 flash_attention_3 fa2 fa3 flash", "sdpa eager xformers"),
        ("offload_optimizer", "cpu nvme", ""),
        ("offload_params", "cpu nvme", ""),
        ("colocate", "colocate", "server"),
        ("fp8", "hybrid e4m3", ""),
    )
}
"""Words that count as yes or no for one variable."""
HELPERS = {"bf16", "fp16", "fp8", "beta", "kl_loss_coef", "kl_reward_coef", "min_lr_ratio", "stage"}
"""Variables that only decide another one, which is compared instead."""
MEANS_UNSET = ("max_steps", "epochs", "steps_per_epoch", "train_samples", "train_tokens", "warmup_steps",
               "micro_batch_size", "decay_steps", "rope_scaling_factor")  # fmt: skip
"""Variables for which frameworks write -1 (or 0) to say "not set"."""
COUNTED = ("log_steps", "save_steps", "eval_steps", "epochs")
"""Variables of which `inf` says never or without end: accelerate writes `steps_per_print: inf` for DeepSpeed."""
MOST_STEPS = 10_000_000
"""A longer warm-up or run counts tokens or samples under a name that says steps."""
DURATION = re.compile(r"([\d._]+(?:[eE][-+]?\d+)?)\s*(ba|ep|tok|T|sp|dur)")
UNITS = {
    ("max_steps", "ba"): "max_steps",
    ("max_steps", "ep"): "epochs",
    ("max_steps", "tok"): "train_tokens",
    ("max_steps", "T"): "train_tokens",
    ("max_steps", "sp"): "train_samples",
    ("warmup_steps", "ba"): "warmup_steps",
    ("warmup_steps", "dur"): "warmup_ratio",
    ("warmup_steps", "sp"): "warmup_samples",
    ("save_steps", "ba"): "save_steps",
    ("save_steps", "dur"): "save_steps",
    ("eval_steps", "ba"): "eval_steps",
}
"""(variable, unit of Composer's and OLMo's durations) -> the variable that counts in this unit."""


def number(text: str) -> float | None:
    """`2e-5`, `200_000_000`, `.01`, `0.`, `inf`; None for anything else."""
    text = text.strip().rstrip(",")
    if NUMBER.fullmatch(text):
        return float(text.replace("_", ""))
    return float(text) if text.lower() in ("inf", "-inf", "nan") else None


def boolean(text: str) -> bool | None:
    word = text.strip().lower()
    return True if word in TRUE else (False if word in FALSE else None)


SCALED = bounded(r"([-+]?\d+(?:\.\d+)?)\s?([kKMB]|[%％])")
"""A number with its power or per cent behind it: `1.5k`, `64k`, `100B`, `91%`."""
POWERS = {"k": 1e3, "M": 1e6, "B": 1e9}
LENGTHS = frozenset(("sequence_length", "max_model_len", "max_prompt_length", "max_response_length", "vocab_size",
                     "max_position_embeddings", "rope_original_positions"))  # fmt: skip
"""What is counted in powers of two: of these `2k` is 2048."""


def scaled(variable: str, text: str) -> str:
    """The plain number of `1.5k` and `91%`; any other text, and what the variable does not count so, as it is."""
    kind = VARIABLES.get(variable) or CONTEXT.get(variable)
    found = SCALED.fullmatch(text.strip())
    if not found or kind is None or kind.type not in ("int", "float"):
        return text
    mark = found[2].replace("K", "k")
    if mark in "%％":
        return f"{float(found[1]) / 100:.10g}" if "share" in kind.unit else text
    if kind.unit not in ("steps", "tokens", "sequences"):
        return text
    return f"{float(found[1]) * (1024 if mark == 'k' and variable in LENGTHS else POWERS[mark]):.15g}"


def measured(variable: str, text: str | None) -> tuple[str, str | None]:
    """The variable that a value is about once its unit is known, with the number alone.

    `100ba`, `1ep` and `0.02dur` name their unit; a number of warm-up steps below 1 is a share. The variable is empty
    where none counts in that unit.
    """
    if match := DURATION.fullmatch((text or "").strip()):
        return UNITS.get((variable, match[2]), ""), match[1]
    if variable == "warmup_steps" and 0 < (number(text or "") or 0) < 1:
        return "warmup_ratio", text
    if variable == "warmup_steps" and (text or "").strip().endswith(("%", "％")):
        return "warmup_ratio", text
    return variable, text


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
        value = _boolean(variable, text, switch)
        return not value if value is not UNSET and DENIED.match(key.rpartition(".")[2]) else value
    if switch:
        return _switch(variable)
    if kind in ("int", "float"):
        return _number(variable, text, kind, key)
    return _string(variable, text, key)


DENIED = re.compile(r"(?:no|disable|without|untied?|greedy)(?:_|$)")
"""Names that say the contrary of what they switch: `--untie-embeddings`, `no_packing`, `greedy`."""


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
    if variable == "adam_beta2" and (pair := PAIR.fullmatch(text)):
        text = pair[1]
    if variable == "zero_stage" and (stage := ZERO.match(text)):
        text = stage[1]
    if alone := ALONE.fullmatch(text):
        text = alone[1]
    first, *rest = scaled(variable, text).split()
    value = None if rest and rest[0][0] in OPERATORS else number(first)
    if value is None or (kind == "int" and value != value) or (variable in COUNTED and not isfinite(value)):
        return UNSET
    if variable in MEANS_UNSET and value <= 0 and not (variable == "warmup_steps" and value == 0):
        return UNSET
    if variable in ("max_steps", "warmup_steps", "decay_steps") and value > MOST_STEPS:
        return UNSET
    if variable == "max_steps" and key.endswith("num_iterations") and value <= MOST_PASSES:
        return UNSET
    if "minutes" in key:
        value *= 60
    if kind == "int":
        return int(value) if value == value and abs(value) < 1e18 and float(value).is_integer() else UNSET
    return value


OPERATORS = frozenset("*/+x×")
"""What makes a number the first of a sum or product, of which it is not the value."""
MOST_PASSES = 16
"""Up to here `num_iterations` is how often GRPO uses a batch, and no length of a run (own judgement)."""
PAIR = bounded(r"[(\[]?\s*[\d.eE-]+\s*[, ]\s*([\d.eE-]+)\s*[)\]]?")
"""Both betas of Adam in one value: `(0.9, 0.98)`, `0.9 0.95`."""
ALONE = bounded(r"\[\s*([^,\s\[\]]{1,40})\s*\]")
"""A list of one value."""
ZERO = re.compile(r"(?:zero|stage)_?([0-3])(?![0-9])")
"""ZeRO stages by name: `stage2`, `zero3`."""


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
