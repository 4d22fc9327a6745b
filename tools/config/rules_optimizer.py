"""Rules on learning rate, schedule, clipping, weight decay and number formats."""

from __future__ import annotations

from collections.abc import Iterator

from ..settings import Settings
from .rule import Fault, rule
from .values import RL

PREFERENCE = ("dpo", "kto", "orpo")
NOT_ADAM = ("muon", "lion", "sgd", "adafactor", "prodigy", "dadapt", "shampoo", "soap", "lomo", "schedule", "apollo")
"""Optimizers whose step is scaled differently, so that Adam's ranges say nothing."""
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


UNKNOWN = ("generic", "lightning", "")
"""Programs of any kind, for which only absurd values can be told."""


def kind_of(settings: Settings) -> str:
    """pretrain, sft, preference, rl, or empty."""
    stage = settings.value("stage", "")
    if stage in PREFERENCE:
        return "preference"
    if stage in RL:
        return "rl"
    return "sft" if stage in ("sft", "rm", "distill") else ("pretrain" if stage == "pretrain" else "")


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


@rule("lr-outside-range", "S1", needs=("learning_rate",))
def learning_rate_outside_range(settings: Settings) -> Iterator[Fault]:
    """The learning rate is far from what this kind of training uses.

    Why: too high and the loss spikes or diverges, zero and nothing is learned.
    Bad: `learning_rate: 0.3` with AdamW; `learning_rate: 1e-3` for full DPO of a 7B model.
    Good: 1e-5 for full SFT, 1e-4 for LoRA, 5e-7 for full DPO, 1e-6 for GRPO, 1e-4 to 6e-4 for pre-training.
    Known gaps: the right value depends on model size and batch, which are often not visible; only absurd values
        are S1, unusual ones are notes. Optimizers on another scale (Muon, Lion, SGD) are not judged.
    Source: runbook entry `loss-nan-high-lr`.
    """
    rate = settings.value("learning_rate")
    if rate <= 0:
        yield Fault(
            "learning_rate",
            f"learning_rate is {rate:g}: nothing will be learned",
            f"学习率为 {rate:g}，模型不会学到任何东西",
        )
        return
    if not adam_like(settings) or (settings.framework in UNKNOWN and rate < 1):
        return
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


@rule("warmup-too-short", "S2", needs=("learning_rate",))
def warmup_too_short(settings: Settings) -> Iterator[Fault]:
    """There is no warm-up, or hardly any, at a learning rate that needs one.

    Why: Adam's second moment is unreliable in the first steps; a high rate then throws the model out. Whatever the
        optimizer, a schedule named after a warm-up that has no steps starts at the peak, which nobody meant.
    Bad: `warmup_steps: 0` with `learning_rate: 6e-4` and thousands of steps; `lr_scheduler_type: constant_with_warmup`
        with `warmup_steps: 0`.
    Good: 1 to 10 percent of the steps, at least 75 to 125 steps in pre-training.
    Known gaps: a warm-up that the program sets is not visible; low rates of Adam, adapters and RL are not judged.
    Source: runbook entry `warmup-too-short`.
    """
    steps, ratio = settings.value("warmup_steps"), settings.value("warmup_ratio")
    written = "warmup_steps" in settings or "warmup_ratio" in settings
    if not written or has_adapter(settings) or "warmup_samples" in settings or (ratio and steps == 0):
        return
    total, rate = settings.value("max_steps") or 0, settings.value("learning_rate")
    none = (steps == 0 and not ratio) or (steps is None and ratio == 0)
    few = steps is not None and 0 < steps < 10 and total >= 1000
    variable = "warmup_steps" if "warmup_steps" in settings else "warmup_ratio"
    if (none or few) and adam_like(settings) and rate >= 5e-5:
        yield Fault(
            variable,
            f"warm-up is {steps or 0} steps at learning_rate {rate:g}; a full-parameter run at this rate needs one",
            f"学习率 {rate:g} 下 warmup 只有 {steps or 0} 步；全参训练在该学习率下需要 warmup",
            "S2" if rate >= 1e-4 and settings.framework not in UNKNOWN else "S3",
            beside=("learning_rate",),
        )
    elif none and not adam_like(settings) and kind_of(settings) in ("", "pretrain", "sft") and _promises(settings):
        named = settings.value("lr_schedule")
        yield Fault(
            variable,
            f"the schedule is {named}, but the warm-up has 0 steps: training starts at the peak rate {rate:g}",
            f"学习率调度为 {named}，但 warmup 为 0 步：训练一开始就是峰值学习率 {rate:g}",
            beside=("lr_schedule", "learning_rate"),
        )


def _promises(settings: Settings) -> bool:
    """Whether the schedule is named after a warm-up."""
    return "warmup" in str(settings.value("lr_schedule", "")).lower().replace("-", "").replace("_", "")


@rule("warmup-exceeds-training", "S1")
def warmup_exceeds_training(settings: Settings) -> Iterator[Fault]:
    """Warm-up lasts as long as the whole run.

    Why: the learning rate never reaches its peak, so the model barely trains.
    Bad: `warmup_steps: 2000` with `max_steps: 1000`.
    Good: a warm-up of 1 to 10 percent of the steps.
    Known gaps: without a visible number of steps it cannot be told; LitGPT cuts the warm-up to the run, so there
        it is S2.
    Source: runbook entry `warmup-too-short`.
    """
    ratio = settings.get("warmup_ratio")
    if ratio is not None and ratio.value >= 1:
        yield Fault(
            "warmup_ratio",
            f"warmup_ratio is {ratio.value:g}: the whole run is warm-up",
            f"warmup_ratio 为 {ratio.value:g}：整个训练都处于 warmup",
        )
        return
    steps, total = settings.value("warmup_steps"), settings.value("max_steps")
    if not steps or not total or "warmup_steps" not in settings:
        return
    if steps >= total:
        yield Fault(
            "warmup_steps",
            f"warm-up of {steps} steps is not below the {total} steps of the run",
            f"warmup {steps} 步不小于总步数 {total} 步，学习率到不了峰值",
            "S2" if settings.framework == "litgpt" else "S1",
            str(max(1, total // 20)),
            ("max_steps",),
        )
    elif steps > total / 2:
        yield Fault(
            "warmup_steps",
            f"warm-up takes {steps} of {total} steps, more than half of the run",
            f"warmup 占 {steps}/{total} 步，超过一半",
            "S2",
            str(max(1, total // 20)),
            ("max_steps",),
        )


@rule("schedule-shorter-than-training", "S2")
def schedule_shorter_than_training(settings: Settings) -> Iterator[Fault]:
    """The learning rate reaches its floor long before the run ends.

    Why: the rest of the run trains at the floor and looks like a plateau.
    Bad: `lr_decay_iters: 10000` with `train_iters: 100000`.
    Good: a decay over (nearly) the whole run.
    Known gaps: a long tail at the floor is a choice in some published pre-training runs, hence a note above a
        quarter of the run; schedules inside the program are not visible.
    Source: runbook entry `lr-schedule-misconfig`.
    """
    if "decay_samples" in settings and "train_samples" in settings:
        end, total, unit = settings.value("decay_samples"), settings.value("train_samples"), "samples"
        variable, length = "decay_samples", "train_samples"
    else:
        end, total, unit = settings.value("decay_steps"), settings.value("max_steps"), "steps"
        variable, length = "decay_steps", "max_steps"
        if end and settings.framework == "nanotron":
            end += settings.value("warmup_steps") or 0
    if not end or not total or str(settings.value("lr_schedule", "")).lower() in ("constant", "wsd"):
        return
    share = end / total
    if share < 0.9:
        yield Fault(
            variable,
            f"the schedule ends after {end} of {total} {unit}; the rest runs at the floor",
            f"学习率调度在 {end}/{total} {unit} 处结束，其余训练停留在最低学习率",
            "S2" if share < 0.25 else "S3",
            str(total),
            (length,),
        )
    elif share > 2:
        yield Fault(
            variable,
            f"the schedule is laid out for {end} {unit} but the run has {total}; the rate hardly decays",
            f"学习率调度长度 {end} 远大于训练长度 {total}，学习率几乎不会下降",
            "S3",
            "",
            (length,),
        )


DEFAULT_NO_CLIP = ("torchtune", "litgpt", "fairseq")
"""Frameworks whose shipped recipes leave clipping off."""


@rule("grad-clip-off", "S2")
def gradients_not_clipped(settings: Settings) -> Iterator[Fault]:
    """Gradient clipping is switched off.

    Why: one bad batch then moves the weights without bound; the loss spikes or turns NaN.
    Bad: `max_grad_norm: 0`, `clip_grad_norm: null`, `gradient_clipping: 0`.
    Good: 1.0; 0.5 in RL.
    Known gaps: where no key is written the framework's default counts (1.0 in most); a DeepSpeed file with its own
        optimizer and no `gradient_clipping` is off, but the trainer may pass it. Some recipes train without
        clipping on purpose.
    Source: runbook entry `grad-explosion`.
    """
    setting = settings.get("grad_clip")
    if setting is None:
        if settings.framework == "deepspeed" and "learning_rate" in settings and len(settings.files) == 1:
            yield Fault(
                "grad_clip",
                "no gradient_clipping in this DeepSpeed file: clipping is off unless the trainer passes it",
                "该 DeepSpeed 配置没有 gradient_clipping：除非训练器传入，否则不裁剪",
                "S3",
                "1.0",
            )
        return
    if setting.value is None or setting.value <= 0:
        shipped = settings.framework in DEFAULT_NO_CLIP or has_adapter(settings)
        yield Fault(
            "grad_clip",
            f"gradient clipping is off ({setting.key}: {setting.raw or 'empty'})",
            f"梯度裁剪已关闭（{setting.key}: {setting.raw or '空'}）",
            "S3" if shipped else "S2",
            "1.0",
        )
    elif setting.value > 100:
        yield Fault(
            "grad_clip",
            f"gradients are clipped at {setting.value:g}, which is as good as never",
            f"梯度裁剪阈值 {setting.value:g} 过大，等于没有裁剪",
            "S3",
            "1.0",
        )


@rule("weight-decay-high", "S2", needs=("weight_decay",))
def weight_decay_high(settings: Settings) -> Iterator[Fault]:
    """Weight decay is much stronger than usual.

    Why: the weights are pulled to zero faster than the gradient can move them; the loss stalls.
    Bad: `weight_decay: 10`.
    Good: 0 to 0.1 with AdamW.
    Known gaps: Lion and Muon take larger values.
    Source: runbook entry `weight-decay-misconfig`.
    """
    decay = settings.value("weight_decay")
    if decay < 0:
        yield Fault(
            "weight_decay",
            f"weight_decay is negative ({decay:g}): weights grow without bound",
            f"weight_decay 为负数（{decay:g}），权重会不断变大",
            "S1",
            "0.1",
        )
    elif decay > (5 if not adam_like(settings) else 1):
        yield Fault(
            "weight_decay",
            f"weight_decay {decay:g} is far above the usual 0 to 0.1",
            f"weight_decay {decay:g} 远高于常用的 0～0.1",
            "S2",
            "0.1",
        )
    elif decay > 0.3 and adam_like(settings):
        yield Fault(
            "weight_decay",
            f"weight_decay {decay:g} is above the usual 0 to 0.1",
            f"weight_decay {decay:g} 高于常用的 0～0.1",
            "S3",
        )


@rule("fp16-without-scaling", "S1", needs=("precision",))
def fp16_without_scaling(settings: Settings) -> Iterator[Fault]:
    """fp16 training with a loss scale that cannot protect small gradients.

    Why: gradients below 6e-8 vanish in fp16; a scale of 1 is no scale, a fixed one cannot follow the run.
    Bad: `fp16: {enabled: true, loss_scale: 1}`; the HF Trainer with `fp16: true` and `torch_dtype: float16`, which
        stops at "Attempting to unscale FP16 gradients".
    Good: no loss-scale keys at all, or `loss_scale: 0`: both mean dynamic scaling.
    Known gaps: bf16 needs no scaling and is not judged; a scaler made in the program is not visible.
    Source: runbook entry `loss-scale-collapse`.
    """
    setting, scale = settings.get("precision"), settings.get("loss_scale")
    if setting is None or setting.value != "fp16":
        return
    if scale is not None and scale.value == 1:
        yield Fault(
            "loss_scale",
            "fp16 with a fixed loss scale of 1: small gradients vanish",
            "fp16 使用固定 loss scale 1：小梯度会下溢为 0",
            "S1",
            "0",
            ("precision",),
        )
    elif scale is not None and scale.value > 1:
        yield Fault(
            "loss_scale",
            f"fp16 with a fixed loss scale of {scale.value:g}; 0 makes it dynamic",
            f"fp16 使用固定 loss scale {scale.value:g}；设为 0 才是动态缩放",
            "S2",
            "0",
            ("precision",),
        )
    elif _half_weights(settings):
        yield Fault(
            "model_dtype",
            "fp16 mixed precision over weights loaded in fp16: the scaler refuses fp16 gradients",
            "fp16 混合精度要求权重为 fp32，这里以 fp16 加载：梯度缩放器会报错",
            "S2",
            "float32",
            ("precision",),
        )
    elif setting.raw.endswith("16-true"):
        yield Fault(
            "precision",
            "weights and gradients in pure fp16: there is no loss scaling",
            "纯 fp16（16-true）没有 loss scaling",
            "S2",
            "bf16",
        )


def _half_weights(settings: Settings) -> bool:
    """The HF Trainer's own fp16 switch, full training, weights loaded in fp16, no DeepSpeed that keeps fp32 copies."""
    dtype = settings.get("model_dtype")
    return (
        settings.framework in ("hf", "trl")
        and settings.value("fp16") is True
        and dtype is not None
        and dtype.value == "fp16"
        and dtype.framework in ("hf", "trl")
        and not has_adapter(settings)
        and not any(v in settings for v in ("deepspeed", "zero_stage"))
    )


@rule("precision-conflict", "S1")
def precision_conflict(settings: Settings) -> Iterator[Fault]:
    """Two number formats are asked for at once.

    Why: the trainer refuses to start, or trains in another format than the log suggests.
    Bad: `bf16: true` and `fp16: true` in one file (S1), or in two files of one run (S2).
    Good: one of them.
    Known gaps: a format chosen by hardware ("auto") is not visible; DeepSpeed's file is the matter of
        `deepspeed-precision-differs`.
    Source: runbook entry `both-precisions-on`.
    """
    if _both_on(settings) and not _one_is_deepspeed(settings):
        yield _two_formats(settings)


@rule("deepspeed-precision-differs", "S1")
def deepspeed_precision_differs(settings: Settings) -> Iterator[Fault]:
    """The trainer's arguments and DeepSpeed's file ask for different number formats.

    Why: transformers refuses values of the two that differ; other launchers train in the file's format.
    Bad: `bf16: true` in the trainer's arguments and `"fp16": {"enabled": true}` in DeepSpeed's file.
    Good: `"auto"` in DeepSpeed's file.
    Known gaps: a format chosen by hardware ("auto") is not visible.
    Source: huggingface/transformers#12021; runbook entry `deepspeed-zero-misconfig`.
    """
    if _both_on(settings) and _one_is_deepspeed(settings):
        yield _two_formats(settings)


def _both_on(settings: Settings) -> bool:
    return settings.value("bf16") is True and settings.value("fp16") is True


def _one_is_deepspeed(settings: Settings) -> bool:
    return [settings.values[name].framework for name in ("bf16", "fp16")].count("deepspeed") == 1


def _two_formats(settings: Settings) -> Fault:
    ours, theirs = settings.values["bf16"], settings.values["fp16"]
    return Fault(
        "precision",
        f"bf16 ({ours.file}:{ours.line}) and fp16 ({theirs.file}:{theirs.line}) are both on",
        f"bf16（{ours.file}:{ours.line}）与 fp16（{theirs.file}:{theirs.line}）同时开启",
        "S1" if ours.file == theirs.file or _one_is_deepspeed(settings) else "S2",
        beside=("bf16", "fp16"),
    )


@rule("fp16-for-bf16-model", "S2", needs=("model_dtype",))
def fp16_for_bf16_model(settings: Settings) -> Iterator[Fault]:
    """fp16 training of a model whose own format is bf16.

    Why: weights and activations of a model trained in bf16 may pass 65504, the largest number of fp16.
    Bad: `fp16: true` for a model whose `config.json` says `"torch_dtype": "bfloat16"`.
    Good: bf16, where the GPU has it.
    Known gaps: the model's file must be among those that were read.
    Source: runbook entry `precision-overflow`.
    """
    dtype = settings.get("model_dtype")
    native = dtype is not None and dtype.framework == "model" and dtype.value == "bf16"
    if native and settings.value("precision") == "fp16" and not _both_on(settings):
        yield Fault(
            "precision",
            "fp16 training of a model whose own format is bf16: activations may overflow",
            "用 fp16 训练原生 bf16 的模型：激活可能溢出",
            "S2",
            "bf16",
            ("model_dtype",),
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
