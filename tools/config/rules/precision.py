"""Rules on number formats, and on epsilons that vanish in them."""

from __future__ import annotations

from collections.abc import Iterator

from ...settings import Settings
from .rule import Fault, rule
from .training import has_adapter


@rule("fp16-without-scaling", "S1", needs=("precision",))
def fp16_without_scaling(settings: Settings) -> Iterator[Fault]:
    """fp16 training with a loss scale that cannot protect small gradients.

    Why: gradients below 6e-8 vanish in fp16; a scale of 1 is no scale, a fixed one cannot follow the run.
    Bad: `{"fp16": {"enabled": true, "loss_scale": 1}}` in `ds.json`; the HF Trainer with
        `per_device_train_batch_size: 8`, `fp16: true` and `torch_dtype: float16`, which stops at "Attempting to unscale
        FP16 gradients" (S2).
    Good: no loss-scale keys at all, `{"fp16": {"enabled": true}, "gradient_clipping": 1}` in `ds.json`; or a scale of
        0, `{"fp16": {"enabled": true, "loss_scale": 0}}` in `ds.json`: both mean dynamic scaling.
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
    Bad: `bf16: true` and `fp16: true` in one file; or in two files of one run, `bf16: true` in `train.yaml` and
        `python train.py --fp16` in `launch.sh` (S2).
    Good: one of them, `bf16: true` with `fp16: false`.
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
    Bad: `bf16: true` and `deepspeed: ds.json` in `train.yaml`, but `{"fp16": {"enabled": true}}` in `ds.json`.
    Good: `bf16: true` and `deepspeed: ds.json` in `train.yaml` with `{"fp16": {"enabled": "auto"}}` in `ds.json`.
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
    Bad: `fp16: true` in `train.yaml` for a model with
        `{"model_type": "qwen3", "hidden_size": 4096, "torch_dtype": "bfloat16"}` in `config.json`.
    Good: where the GPU has it, `bf16: true` in `train.yaml` with
        `{"model_type": "qwen3", "hidden_size": 4096, "torch_dtype": "bfloat16"}` in `config.json`.
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


NO_EPSILON = 1e-20
"""Norm epsilon that is as good as none in every format. Own judgement; the smallest in use is BERT's 1e-12."""


@rule("norm-epsilon-small", "S2")
def norm_epsilon_small(settings: Settings) -> Iterator[Fault]:
    """An epsilon is too small for the number format.

    Why: below 6e-8 an epsilon is zero in fp16, and a division by a vanishing variance gives inf or NaN. One below
        1e-20 protects in no format: its inverse root, above 1e10, is squared in the gradient.
    Bad: `fp16: true` in `train.yaml` for `{"model_type": "qwen3", "hidden_size": 4096, "rms_norm_eps": 1e-8}` in
        `config.json`; in every format `{"model_type": "qwen3", "hidden_size": 4096, "rms_norm_eps": 1e-30}` in
        `config.json`; `adam_epsilon: 0`.
    Good: 1e-5 or 1e-6 for norms, `{"model_type": "qwen3", "hidden_size": 4096, "rms_norm_eps": 1e-6}` in `config.json`;
        `adam_epsilon: 1.0e-8`.
    Known gaps: kernels that compute the norm in fp32 are safe with any epsilon; BERT's 1e-12 is usual in fp32.
    Source: smallest positive fp16 number is 2^-24, 5.96e-8.
    """
    norm, adam = settings.get("norm_epsilon"), settings.get("adam_epsilon")
    precision = settings.value("precision")
    if norm is not None and (norm.value < NO_EPSILON or (norm.value < 5.96e-8 and precision == "fp16")):
        yield Fault(
            "norm_epsilon",
            f"norm epsilon {norm.value:g} vanishes in {precision or 'this format'}",
            f"归一化 epsilon {norm.value:g} 在 {precision or '该精度'} 下为 0",
            "S2",
            "1e-6",
            ("precision",),
        )
    if adam is not None and adam.value <= 0:
        yield Fault(
            "adam_epsilon",
            "Adam's epsilon is zero: an unused weight divides by zero",
            "Adam 的 epsilon 为 0：未更新的权重会除以零",
            "S2",
            "1e-8",
        )
