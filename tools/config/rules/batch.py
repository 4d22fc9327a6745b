"""Rules on batch sizes: the parts against the whole."""

from __future__ import annotations

from collections.abc import Iterator

from ...patterns import bounded
from ...settings import Settings
from .rule import Fault, rule
from .training import whole

STRICT = ("megatron", "deepspeed", "gpt-neox")
"""Trainers that refuse to start when the sizes do not fit."""


ASKED = bounded(r"environ|getenv|\$\{?\w{1,60}:-")
"""A value that the environment may give."""


@rule("global-batch-mismatch", "S1", needs=("global_batch_size", "micro_batch_size"))
def global_batch_mismatch(settings: Settings) -> Iterator[Fault]:
    """The global batch that is written is not the one that the parts make.

    Why: learning rate and schedule were chosen for the written batch; DeepSpeed refuses to start.
    Bad: `{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4}` in `ds.json`
        and `deepspeed --num_gpus 8 train.py` in `launch.sh`, which make 128.
    Good: global = micro x accumulation x data-parallel size,
        `{"train_batch_size": 128, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4}` in `ds.json`
        and `deepspeed --num_gpus 8 train.py` in `launch.sh`.
    Known gaps: where the number of devices is not visible only divisibility is checked; sizes set by the
        scheduler at launch are not visible.
    Source: runbook entry `gbs-miscalculation`.
    """
    total, micro = whole(settings, "global_batch_size"), whole(settings, "micro_batch_size")
    steps = whole(settings, "grad_accumulation")
    if not total or not micro or not steps:
        return
    world = settings.get("world_size")
    asked = world is not None and ASKED.search(world.raw)  # of the launch; what is written is for a run without one
    replicas = None if asked else settings.value("data_parallel")
    if replicas and micro * steps * replicas != total:
        made = micro * steps * replicas
        yield Fault(
            "global_batch_size",
            f"global batch {total} is written, but {micro} x {steps} x {replicas} devices make {made}",
            f"配置的全局 batch 为 {total}，但 {micro} x {steps} x {replicas} = {made}",
            "S1",
            str(made),
            ("micro_batch_size", "grad_accumulation", "world_size"),
        )
    elif not replicas and total % (micro * steps):
        yield Fault(
            "global_batch_size",
            f"global batch {total} is no multiple of micro-batch {micro} x accumulation "
            f"{steps}, whatever the number of devices",
            f"全局 batch {total} 不是 micro {micro} x 累积 {steps} 的整数倍，任何卡数都无法满足",
            "S1",
            beside=("micro_batch_size", "grad_accumulation"),
        )


@rule("batch-not-divisible", "S1")
def batch_not_divisible(settings: Settings) -> Iterator[Fault]:
    """Sizes that must divide each other do not.

    Why: the trainer refuses to start, or silently rounds the batch down.
    Bad: `torchrun --nproc_per_node 8 pretrain_gpt.py --micro-batch-size 4 --global-batch-size 100`; `python -m
        verl.trainer.main_ppo data.train_batch_size=64 actor_rollout_ref.actor.ppo_mini_batch_size=128`, a mini-batch
        above the train batch.
    Good: `torchrun --nproc_per_node 8 pretrain_gpt.py --micro-batch-size 4 --global-batch-size 128`: a multiple of
        micro-batch x replicas, and the world a multiple of tensor x pipeline.
    Known gaps: placeholders in published scripts (`NNODES=1 # change`) look like real sizes, so a world that is too
        small is S2.
    Source: runbook entry `gbs-miscalculation`.
    """
    yield from _world(settings)
    if settings.framework in ("verl", "skyrl"):
        yield from _prompts(settings)
    elif settings.framework in ("openrlhf", "lightrft"):
        yield from _rollout_framework(settings)
    elif settings.framework in ("prime-rl", "slime"):
        yield from _samples(settings)
    else:
        yield from _global(settings)
        yield from _groups(settings)


def _world(settings: Settings) -> Iterator[Fault]:
    world, model = settings.value("world_size"), 1
    for variable in ("tensor_parallel", "pipeline_parallel", "context_parallel"):
        model *= max(1, int(settings.value(variable) or 1))
    if world and model > 1 and world % model:
        yield Fault(
            "world_size",
            f"{world} devices cannot be divided into groups of {model} (tensor x pipeline x context parallel)",
            f"{world} 张卡无法按 {model}（TP x PP x CP）分组",
            "S2",
            beside=("tensor_parallel", "pipeline_parallel", "nodes", "gpus_per_node"),
        )


def _global(settings: Settings) -> Iterator[Fault]:
    total, micro = whole(settings, "global_batch_size"), whole(settings, "micro_batch_size")
    replicas = settings.value("data_parallel")
    if total and micro and replicas and "grad_accumulation" not in settings and total % (micro * replicas):
        yield Fault(
            "global_batch_size",
            f"global batch {total} is no multiple of micro-batch {micro} x {replicas} replicas",
            f"全局 batch {total} 不是 micro {micro} x {replicas} 副本的整数倍",
            "S1" if settings.framework in STRICT else "S2",
            str(total // (micro * replicas) * micro * replicas or micro * replicas),
            ("micro_batch_size", "nodes", "gpus_per_node", "world_size"),
        )


def _groups(settings: Settings) -> Iterator[Fault]:
    """TRL counts completions: one optimizer step must hold whole groups."""
    group, micro = whole(settings, "num_generations"), whole(settings, "micro_batch_size")
    replicas = settings.value("data_parallel")
    if settings.framework not in ("trl", "hf") or not group or not micro or not replicas:
        return
    step = micro * replicas * (whole(settings, "grad_accumulation") or 1)
    if step % group:
        yield Fault(
            "num_generations",
            f"{step} completions per optimizer step are no multiple of the group size {group}",
            f"每步 {step} 个回复不是组大小 {group} 的整数倍",
            "S2",
            beside=("micro_batch_size", "grad_accumulation", "world_size"),
        )


def _prompts(settings: Settings) -> Iterator[Fault]:
    """verl and SkyRL assert train batch >= mini-batch; both count prompts."""
    train, mini = whole(settings, "train_batch_size"), whole(settings, "mini_batch_size")
    if train and mini and train < mini:
        yield Fault(
            "mini_batch_size",
            f"mini-batch of {mini} prompts is larger than the train batch of {train}",
            f"mini-batch（{mini} 个 prompt）大于 train batch（{train}）",
            "S1",
            str(train),
            ("train_batch_size",),
        )
    elif train and mini and train % mini:
        yield Fault(
            "mini_batch_size",
            f"train batch {train} is no multiple of mini-batch {mini}: the last update is smaller",
            f"train batch {train} 不是 mini-batch {mini} 的整数倍",
            "S3",
            "",
            ("train_batch_size",),
        )


def _samples(settings: Settings) -> Iterator[Fault]:
    """prime-rl asserts batch = groups x group size, slime that the samples of a rollout fill whole batches."""
    group, prompts = whole(settings, "num_generations") or 1, whole(settings, "rollout_batch_size")
    batch, total = whole(settings, "train_batch_size"), whole(settings, "global_batch_size")
    if settings.framework == "prime-rl" and batch and batch % group:
        yield Fault(
            "train_batch_size",
            f"batch of {batch} rollouts is no multiple of the group size {group}",
            f"batch {batch} 不是组大小 {group} 的整数倍",
            "S1",
            str(max(1, batch // group) * group),
            ("num_generations",),
        )
    elif settings.framework == "slime" and prompts and total and prompts * group % total:
        yield Fault(
            "global_batch_size",
            f"{prompts} prompts x {group} samples of one rollout are no multiple of the global batch {total}",
            f"一次 rollout 的 {prompts} x {group} 个样本不是全局 batch {total} 的整数倍",
            "S1",
            str(prompts * group),
            ("rollout_batch_size", "num_generations"),
        )


def _rollout_framework(settings: Settings) -> Iterator[Fault]:
    """Accumulation is train_batch_size // micro // world there, rounded down."""
    train, micro = whole(settings, "train_batch_size"), whole(settings, "micro_batch_size")
    replicas = settings.value("data_parallel")
    if not train or not micro or not replicas:
        return
    group = micro * replicas
    if train < group:
        yield Fault(
            "train_batch_size",
            f"train batch {train} is below micro-batch {micro} x {replicas} devices: the accumulation becomes 0",
            f"train batch {train} 小于 micro {micro} x {replicas} 卡：梯度累积变为 0",
            "S1",
            str(group),
            ("micro_batch_size",),
        )
    elif train % group:
        yield Fault(
            "train_batch_size",
            f"train batch {train} is no multiple of micro-batch {micro} x {replicas} "
            f"devices; the trainer rounds down to {train // group * group}",
            f"train batch {train} 不是 micro {micro} x {replicas} 卡的整数倍，会被向下取整",
            "S2",
            "",
            ("micro_batch_size",),
        )
