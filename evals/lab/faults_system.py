"""Faults around the training: memory, processes, packages, saved files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from .fault import Family, Fault
from .faults_optimiser import NONFINITE

if TYPE_CHECKING:
    from .parts import Parts


class System(Fault):
    family: ClassVar[Family] = "system"


class HostMemoryLimit(System):
    """The process may take only a little more memory than it has at the start; caching the data goes past it."""

    name, recipe = "host-memory-limit", "chat"
    severities = (300, 200)
    right = ("host-memory-exhausted",)
    near = ("memory-leak",)
    shows = ("host-oom", "uncaught-exception")
    repairs = ("environment",)
    crashes = True
    asks = ("the job died while preparing data", "准备数据时任务挂了")

    def environment(self, severity: Any) -> None:
        import resource
        from pathlib import Path

        import torch

        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        limit = now + (severity << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        cache = [torch.zeros(8 << 20) for _ in range(64)]
        del cache


class SlowLoader(System):
    """Some batches lie on slow storage, and the loop reads a batch only when it wants it."""

    name, recipe = "slow-loader", "mixed"
    severities = (0.5, 0.8)
    right = ("dataloader-bottleneck", "low-throughput")
    near = ("h2d-transfer-bottleneck", "gpu-throttling-straggler")
    shows = ("step-time-jitter", "throughput-drop", "throughput-low")
    repairs = ("num_workers",)
    asks = ("some steps take ten times as long as the others", "有些步要慢好几倍，GPU 利用率上不去")
    changes = "dataloader_num_workers=0"

    def code(self, parts: Parts, severity: Any) -> None:
        parts.slow_read = lambda step: severity if step % 20 == 3 else 0.0


class SkippedCollective(System):
    """From a step on one rank waits at a barrier that the other never reaches, instead of averaging gradients."""

    name = "skipped-collective"
    version = 2
    recipe = "distributed"
    severities = (120, 200)
    right = ("nccl-hang", "collective-mismatch")
    near = ("dist-init-hang", "timeout-hides-error", "network-fault")
    shows = ("hang-no-progress", "rank-missing", "collective-mismatch", "nccl-timeout", "network-error", "peer-closed")
    repairs = ("code",)
    crashes = True
    asks = ("training stands still, no new log lines", "训练卡住，没有新日志")

    def code(self, parts: Parts, severity: Any) -> None:
        parts.skip = lambda rank, step: rank == 1 and step >= severity


class WrongGlobalBatch(System):
    """Accumulation left over from a run on fewer devices: four or eight times the batch that the plan names."""

    name = "wrong-global-batch"
    family = "optimiser"
    recipe = "distributed"
    severities = ("4", "8")
    right = ("gbs-miscalculation",)
    near = ("lr-batch-mismatch", "lr-schedule-misconfig")
    shows = ("global-batch-mismatch",)
    repairs = ("code", "grad_accumulation", "global_batch_size")
    actions: ClassVar[dict[str, dict[str, str]]] = {"code": {"gradient_accumulation_steps": "1"}}
    asks = ("a step takes far longer than on the old cluster", "同样的配置，每一步比旧集群慢好几倍")
    changes = "gradient_accumulation_steps={}"


class MissingPackage(System):
    name, recipe = "missing-package", "chat"
    severities = ("flash_attn", "liger_kernel")
    right = ("package-import-error",)
    near = ("dependency-conflict", "cuda-version-mismatch")
    shows = ("import-error",)
    repairs = ("environment",)
    crashes = True
    asks = ("the script stops immediately", "脚本一运行就停")

    def environment(self, severity: Any) -> None:
        import importlib

        importlib.import_module(severity)


class OldArgument(System):
    """A script written for an older trainer passes an argument that this version no longer takes."""

    name, recipe = "old-argument", "chat"
    severities = ("evaluation_strategy", "no_cuda")
    right = ("renamed-argument",)
    near = ("dependency-conflict",)
    shows = ("argument-error",)
    repairs = ("code", "environment")
    crashes = True
    asks = ("worked last month, now it fails at start", "上个月还能跑，现在启动就失败")

    def code(self, parts: Parts, severity: Any) -> None:
        from transformers import TrainingArguments

        TrainingArguments(output_dir=str(parts.folder), **{severity: "no"})


class BadCheckpoint(System):
    """The run starts from the weights that an earlier job left."""

    family: ClassVar[Family] = "checkpoint"
    recipe = "chat"
    repairs = ("checkpoint",)
    changes = "resume_from_checkpoint=checkpoint-500"


class TruncatedCheckpoint(BadCheckpoint):
    """The weights were cut off while they were copied."""

    name = "truncated-checkpoint"
    severities = (0.6, 0.9)
    right = ("truncated-safetensors", "checkpoint-load-failure")
    near = ("crash-recovery", "empty-weights-saved", "checkpoint-save-failure")
    shows = ("checkpoint-unreadable", "checkpoint-load-error", "checkpoint-incomplete")
    crashes = True
    asks = ("resuming fails", "断点续训失败")

    def code(self, parts: Parts, severity: Any) -> None:
        file = parts.folder / "checkpoint-500" / "model.safetensors"
        whole = file.read_bytes()
        file.write_bytes(whole[: int(len(whole) * severity)])


class NonfiniteCheckpoint(BadCheckpoint):
    """Some weights of the checkpoint are NaN, and so is everything that follows."""

    name = "nonfinite-checkpoint"
    severities = (40, 400)
    right = ("checkpoint-regression", "loss-nan")
    near = ("loss-nan-bad-data", "checkpoint-load-failure")
    shows = NONFINITE
    also = ("generation-not-stopping", "repetition-loop")
    onset = "nonfinite"
    asks = ("nan right after resuming", "续训后立刻 nan")

    def code(self, parts: Parts, severity: Any) -> None:
        import torch

        with torch.no_grad():
            parts.model.model.layers[1].mlp.down_proj.weight.view(-1)[:severity] = float("nan")
        parts.model.save_pretrained(str(parts.folder / "checkpoint-500"))
