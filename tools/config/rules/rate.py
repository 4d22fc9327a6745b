"""Rules on the learning rate: its size, its floor, and how it is spelled."""

from __future__ import annotations

from collections.abc import Iterator

from ...patterns import bounded
from ...settings import Settings
from ..values import number
from .rule import Fault, rule
from .training import UNKNOWN, adam_like, has_adapter, kind_of, severity_together

RATES: dict[tuple[str, bool], tuple[float, float, float]] = {
    ("pretrain", False): (3e-3, 1e-2, 5e-2),
    ("pretrain", True): (1e-3, 5e-3, 5e-2),
    ("sft", False): (1e-4, 2e-3, 1e-2),
    ("sft", True): (1e-3, 5e-3, 5e-2),
    ("preference", False): (5e-6, 1e-5, 1e-3),
    ("preference", True): (5e-5, 1.5e-4, 5e-3),
    ("rl", False): (1e-5, 1e-4, 1e-3),
    ("rl", True): (1e-4, 1e-3, 1e-2),
    ("", False): (3e-3, 1e-2, 5e-2),
    ("", True): (1e-3, 5e-3, 5e-2),
}
"""(kind of training, adapter) -> highest usual, odd from, absurd from. The absolute values of the runbooks are
1e-5 for SFT, 2e-6 for DPO and 1e-6 for GRPO with full training; adapters take about ten times those. The
upper bounds leave room for published recipes of tiny models (1e-3 for 135M to 360M parameters)."""


def _only_a_default(settings: Settings) -> bool:
    """Whether the rate is what a program falls back to, and a file that it may be given says another."""
    chosen = settings.get("learning_rate")
    return (
        chosen is not None
        and chosen.style == "default"
        and any(
            s.variable == "learning_rate" and s.style != "default" and s.value != chosen.value
            for s in settings.shadowed
        )
    )


@rule("lr-outside-range", "S1", needs=("learning_rate",))
def lr_outside_range(settings: Settings) -> Iterator[Fault]:
    """The learning rate is far from what this kind of training uses.

    Why: too high and the loss spikes or diverges, far too low and the weights do not move.
    Bad: `learning_rate: 0.3` with `per_device_train_batch_size: 8` and AdamW; full DPO of a 7B
        model with `learning_rate: 1.0e-3`, `beta: 0.1` and `max_prompt_length: 512` in `dpo.yaml`.
    Good: `learning_rate: 1.0e-5` with `per_device_train_batch_size: 8` for full SFT; `learning_rate: 1.0e-4`,
        `use_peft: true`, `per_device_train_batch_size: 8` for LoRA; `learning_rate: 5.0e-7`, `beta: 0.1`,
        `max_prompt_length: 512` in `dpo.yaml` for full DPO; 1e-6 for GRPO, 1e-4 to 6e-4 for pre-training.
    Known gaps: the right value depends on model size and batch, which are often not visible; only absurd values
        are S1, unusual ones are notes. Optimizers on another scale (Muon, Lion, SGD) are not judged.
    Source: runbook entry `loss-nan-high-lr`.
    """
    rate = settings.value("learning_rate")
    if _only_a_default(settings):
        return
    if rate <= 0 or not adam_like(settings) or (settings.framework in UNKNOWN and rate < 1):
        return  # none at all is no rate that is too high: `rate-set-to-zero`
    kind, adapter = kind_of(settings), has_adapter(settings)
    usual, odd, absurd = RATES[kind, adapter]
    what = f"{kind or 'this'} training with an adapter" if adapter else f"full {kind} training".replace("  ", " ")
    severity = "S1" if rate >= absurd else ("S2" if rate > odd else "S3")
    if rate > usual * 1.0001:
        yield Fault(
            "learning_rate",
            f"learning_rate {rate:g} is above what {what} usually takes (up to {usual:g})",
            f"学习率 {rate:g} 高于该类训练（{what}）的常用上限 {usual:g}",
            severity,
            f"{usual:g}" if severity == "S1" else "",
        )
    elif rate < 1e-9:
        yield Fault(
            "learning_rate",
            f"learning_rate {rate:g} is too small to move the weights",
            f"学习率 {rate:g} 太小，权重几乎不会变化",
            "S2",
        )


@rule("rate-set-to-zero", "S1", needs=("learning_rate",))
def rate_set_to_zero(settings: Settings) -> Iterator[Fault]:
    """The learning rate is set to 0.

    Why: nothing is learned, unless something else sets the rate: then the value is a placeholder, and nothing is said.
    Bad: `learning_rate: 0.0` with `per_device_train_batch_size: 8`.
    Good: `{"optimizer": {"lr": 0, "name": "adamw"}, "scheduler": {"start_lr": 7.0e-4}, "batch_size": 8}` in `exp.json`,
        where the schedule sets the rate of every step; `learning_rate: 1.0e-5` with `per_device_train_batch_size: 8`.
    Known gaps: a program may set the rate by itself.
    Source: own judgement.
    """
    if settings.value("learning_rate") <= 0 and not _only_a_default(settings) and not _set_elsewhere(settings):
        rate = settings.value("learning_rate")
        yield Fault(
            "learning_rate",
            f"learning_rate is {rate:g}: nothing will be learned",
            f"学习率为 {rate:g}，模型不会学到任何东西",
        )


_RATE = bounded(r"(?i)(?:^|[._])(?:lrs?|learning_?rates?|学习率)(?=[._]|$)")
_END = bounded(r"(?i)(?:^|[._])(?:min|end|final|eta_?min|decay|mult|factor|ratio|scale|gamma)")
"""In the name of a rate that a schedule ends with, or of what changes one."""


def _set_elsewhere(settings: Settings) -> bool:
    """Whether another key gives a rate above 0, as the start of a schedule or the rate of one part of the model."""
    keys = ((s.key, s.raw) for s in (*settings.others.values(), *settings.shadowed))
    return any(
        _RATE.search(key) and not _END.search(key) and (amount := number(raw)) is not None and 0 < amount < 1
        for key, raw in keys
    )


@rule("min-lr-above-lr", "S1", needs=("learning_rate", "min_learning_rate"))
def min_lr_above_lr(settings: Settings) -> Iterator[Fault]:
    """The floor of the learning-rate schedule lies above its peak.

    Why: the rate grows while it should decay; Megatron-LM refuses to start.
    Bad: `torchrun pretrain_gpt.py --micro-batch-size 1 --lr 3e-4 --min-lr 3e-3`.
    Good: a floor of a tenth of the peak, `torchrun pretrain_gpt.py --micro-batch-size 1 --lr 3e-4 --min-lr 3e-5`, or 0.
    Known gaps: a floor given as a share of the peak is not judged.
    Source: argument checks of Megatron-LM; runbook entry `lr-schedule-misconfig`.
    """
    peak, floor = settings.value("learning_rate"), settings.value("min_learning_rate")
    if 0 < peak < floor:
        yield Fault(
            "min_learning_rate",
            f"the floor of the schedule, {floor:g}, is above the peak learning rate {peak:g}",
            f"学习率下限 {floor:g} 高于峰值 {peak:g}",
            severity_together(settings, "min_learning_rate", "learning_rate"),
            f"{peak / 10:g}",
            ("learning_rate",),
        )


@rule("number-read-as-string", "S3", needs=("learning_rate",))
def number_read_as_string(settings: Settings) -> Iterator[Fault]:
    """A number that PyYAML reads as text.

    Why: PyYAML takes `2e-5` for a string (YAML 1.1 wants `2.0e-5`); a trainer that does not convert it fails or
        compares text with numbers.
    Bad: `learning_rate: 2e-5` in a file that the trainer loads with PyYAML.
    Good: `learning_rate: 2.0e-5`.
    Known gaps: most trainers convert the value; which loader is used is not visible.
    Source: YAML 1.1 float grammar as PyYAML implements it.
    """
    setting = settings.get("learning_rate")
    if setting is None or setting.style != "yaml" or settings.framework not in ("hf", "trl", "generic"):
        return
    mantissa = setting.raw.lower().partition("e")[0]
    if "e" in setting.raw.lower() and "." not in mantissa:
        fixed = setting.raw.lower().replace("e", ".0e")
        yield Fault(
            "learning_rate",
            f"`{setting.raw}` is a string for PyYAML; write `{fixed}`",
            f"PyYAML 会把 `{setting.raw}` 读成字符串；请写成 `{fixed}`",
            fix=fixed,
        )
