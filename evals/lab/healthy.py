"""Healthy runs: one plain run of every recipe, and runs that look ugly and are fine."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, ClassVar

from .fault import Family, Fault
from .recipes import RECIPES
from .text import Record

if TYPE_CHECKING:
    from .parts import Parts


class Healthy(Fault):
    family: ClassVar[Family] = "healthy"
    asks = ("is this run healthy?", "这个训练正常吗？")


for _recipe in RECIPES:
    type(f"Healthy{_recipe.title()}", (Healthy,), {"name": f"healthy-{_recipe}", "recipe": _recipe})


class UglyJitter(Healthy):
    """One sequence a batch: the loss jumps about and falls."""

    name, recipe = "ugly-jitter", "pretrain"
    asks = ("the loss is very noisy, is this normal?", "loss 抖动很大，正常吗？")
    changes = "per_device_train_batch_size=1"


class UglySpike(Healthy):
    """A few odd documents in a row: the loss jumps and is back at once."""

    name, recipe = "ugly-spike", "pretrain"
    asks = ("one spike in the loss, should I worry?", "loss 有一个尖峰，要紧吗？")
    changes = "train_sampling_strategy=sequential"

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> None:
        for i in range(400, 402):
            train[i] = {"text": "".join(chr(rng.randint(0x3400, 0x9FFF)) for _ in range(40))}


class UglyWarnings(Healthy):
    """Libraries that warn, retry and give up politely."""

    name, recipe = "ugly-warnings", "chat"
    asks = ("many warnings in the log, is something wrong?", "日志里好多警告，有问题吗？")

    def environment(self, severity: Any) -> None:
        for line in (
            "UserWarning: The given NumPy array is not writable (Triggered internally at tensor_numpy.cpp:209.)",
            "WARNING: autotuner: configuration BLOCK_M=256 failed with OutOfMemoryError, trying the next one",
            "W1121 11:02:13 socket.cpp:460] [c10d] The IPv6 network addresses of (node-1, 29500) cannot be retrieved",
            "INFO: logging_nan_inf_filter=True, torch.isnan( checks are on",
            "Error: wandb could not reach its server, continuing offline (retrying in background)",
            "FutureWarning: `torch.cuda.amp.GradScaler(args...)` is deprecated.",
        ):
            print(line, flush=True)


class UglyRestart(Healthy):
    """Preempted half-way and continued from the checkpoint."""

    name, recipe = "ugly-restart", "pretrain"
    asks = ("the job was preempted and resumed, did it survive?", "任务被抢占后续训了，有没有问题？")

    def code(self, parts: Parts, severity: Any) -> None:
        parts.restart_at = 500


class UglyDropout(Healthy):
    """Dropout makes the training loss higher than the validation loss."""

    name, recipe = "ugly-dropout", "pretrain"
    asks = ("validation loss is lower than training loss, leak?", "验证 loss 比训练 loss 低，是泄漏吗？")

    def model(self, severity: Any) -> dict[str, Any]:
        return {"resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1}


class UglyGrpo(Healthy):
    """No KL term: the printed loss is about zero and no KL is logged."""

    name, recipe = "ugly-grpo", "grpo"
    asks = ("the loss is about zero, is that normal in GRPO?", "GRPO 的 loss 一直接近 0，正常吗？")
    changes = "beta=0.0"
