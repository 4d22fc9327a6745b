"""Rules on what the optimizer does beside the step: clipping of gradients and decay of weights."""

from __future__ import annotations

from collections.abc import Iterator

from ...settings import Settings
from .rule import Fault, rule
from .training import adam_like, has_adapter

DEFAULT_NO_CLIP = ("torchtune", "litgpt", "fairseq")
"""Frameworks whose shipped recipes leave clipping off."""


@rule("grad-clip-off", "S2")
def grad_clip_off(settings: Settings) -> Iterator[Fault]:
    """Gradient clipping is switched off.

    Why: one bad batch then moves the weights without bound; the loss spikes or turns NaN.
    Bad: `max_grad_norm: 0`; `clip_grad_norm: null`; `gradient_clipping: 0`; `max_grad_norm: 1000` (S3).
    Good: `max_grad_norm: 1.0`; 0.5 in RL.
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
    Bad: `weight_decay: 10`; `weight_decay: 0.5` (S3); `weight_decay: -0.1` (S1).
    Good: `weight_decay: 0.1`; 0 to 0.1 with AdamW.
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
