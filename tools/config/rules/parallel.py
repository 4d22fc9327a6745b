"""Rules on sizes that split a model or a machine: one must divide the other, or excludes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...settings import Settings
from ..keys import normal
from .rule import Fault, rule
from .training import severity_together, unnamed, whole


@dataclass(frozen=True)
class Pair:
    """Two sizes, what relates them, and where that holds."""

    large: str
    small: str
    why: str
    zh: str
    unless: str = ""
    """Keys that change the relation, as a pattern; one of them written makes the pair silent."""
    only: str = ""
    """The framework in which it holds, as far as its flags show (S2 then); empty for everywhere."""


MULTIPLES = (
    Pair("hidden_size", "num_heads", "all heads share the width", "每个头平分宽度", "latent|head_size|d_kv"),
    Pair("num_heads", "num_kv_heads", "every key/value head serves as many heads", "每个 KV 头服务相同数量的头"),
    Pair("num_heads", "tensor_parallel", "every device gets as many heads", "每张卡的头数相同"),
    Pair("num_heads", "engine_tensor_parallel", "every device gets as many heads", "每张卡的头数相同"),
    Pair(
        "num_layers", "pipeline_parallel", "every stage gets as many layers", "每个流水段的层数相同",
        r"(first|last)_pipeline|pipeline_(model_parallel_)?(layout|split)|account_for|virtual|deepspeed", "megatron",
    ),
    Pair("num_experts", "expert_parallel", "every device gets as many experts", "每张卡的专家数相同"),
    Pair("sequence_length", "context_parallel", "devices share the sequence", "各卡平分序列", only="megatron"),
    Pair("world_size", "engine_tensor_parallel", "engines share the devices", "推理引擎平分这些卡", only="verl"),
)  # fmt: skip
"""The large one must be a multiple of the small one: argument checks of Megatron-LM, vLLM, Transformers and verl."""


@rule("sizes-not-divisible", "S1")
def sizes_not_divisible(settings: Settings) -> Iterator[Fault]:
    """A size of the model or machine is no multiple of the one that splits it.

    Why: the program refuses to start, minutes after the job got its devices.
    Bad: `torchrun pretrain_gpt.py --micro-batch-size 1 --num-attention-heads 30 --tensor-model-parallel-size 8`;
        `torchrun pretrain_gpt.py --micro-batch-size 1 --num-layers 30 --pipeline-model-parallel-size 4` (S2);
        `{"model_type": "qwen3", "hidden_size": 4096, "num_attention_heads": 30}` in `config.json`.
    Good: heads a multiple of tensor parallel, layers of pipeline stages, `torchrun pretrain_gpt.py
        --num-attention-heads 32 --tensor-model-parallel-size 8 --num-layers 32 --pipeline-model-parallel-size 4`; width
        of heads, `{"model_type": "qwen3", "hidden_size": 4096, "num_attention_heads": 32}` in `config.json`.
    Known gaps: sizes from different files may belong to different runs, then it is S2; uneven pipeline layouts and
        an own head width are recognised by their keys.
    Source: the argument checks of Megatron-LM, vLLM, Transformers and verl.
    """
    for pair in MULTIPLES:
        large, small = whole(settings, pair.large) or settings.value(pair.large), whole(settings, pair.small)
        if not isinstance(large, int) or not small or large % small == 0 or not _holds(pair, settings):
            continue
        yield Fault(
            pair.small,
            f"{pair.large} {large} is no multiple of {pair.small} {small}; {pair.why}",
            f"{pair.large} {large} 不是 {pair.small} {small} 的整数倍；{pair.zh}",
            "S2" if pair.only else severity_together(settings, pair.large, pair.small),
            beside=(pair.large,),
        )


def _holds(pair: Pair, settings: Settings) -> bool:
    changed = pair.unless and any(re.search(pair.unless, normal(key)) for key in settings.others)
    widths = "head_dim" in settings or any("head_dim" in normal(key) for key in settings.others)
    own_width = pair.large == "hidden_size" and widths
    return not changed and not own_width and (not pair.only or settings.framework == pair.only)


ZERO_PIPELINE = ("gpt-neox", "megatron", "deepspeed")
"""Frameworks whose pipelines run in DeepSpeed's engine when a ZeRO stage is written."""


@rule("zero-contradicts", "S1", needs=("zero_stage",))
def zero_contradicts(settings: Settings) -> Iterator[Fault]:
    """The ZeRO stage excludes another setting.

    Why: DeepSpeed's pipeline engine refuses stages 2 and 3; parameters are offloaded at stage 3 only, below it
        the section has no effect.
    Bad: `pipe-parallel-size: 2` with `zero_optimization: {stage: 2}` in `neox.yaml`;
        `{"zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}}}` in `ds.json` (S2).
    Good: stage 1 with pipelines, `pipe-parallel-size: 2` and `zero_optimization: {stage: 1}` in `neox.yaml`; stage 3
        with `{"zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}}` in `ds.json`; or the optimizer
        alone is offloaded.
    Known gaps: a pipeline outside DeepSpeed's engine is not judged.
    Source: DeepSpeed's PipelineEngine and its configuration reference; runbook entry `deepspeed-zero-misconfig`.
    """
    stage = settings.value("zero_stage")
    stages = whole(settings, "pipeline_parallel") or 1
    switched_off = unnamed(settings, r"^no_pipeline_parallel$")
    if stage >= 2 and stages > 1 and settings.framework in ZERO_PIPELINE and not switched_off:
        yield Fault(
            "zero_stage",
            f"ZeRO stage {stage} with {stages} pipeline stages: DeepSpeed's pipeline engine takes stage 0 or 1 only",
            f"ZeRO {stage} 与流水并行 {stages} 段不兼容：DeepSpeed 流水引擎只支持 stage 0/1",
            severity_together(settings, "zero_stage", "pipeline_parallel"),
            "1",
            ("pipeline_parallel",),
        )
    offload = settings.get("offload_params")
    if stage in (1, 2) and offload and offload.value is True and offload.framework in ("deepspeed", "gpt-neox"):
        yield Fault(
            "offload_params",
            f"parameter offload has no effect at ZeRO stage {stage}; it needs stage 3",
            f"ZeRO {stage} 下参数 offload 不生效，需要 stage 3",
            "S2",
            beside=("zero_stage",),
        )


PIPELINES = ("megatron", "gpt-neox", "nemo", "megatron-bridge", "mindformers")
"""Frameworks in which the micro-batches of a step are the global batch over micro-batch and replicas."""
IDLE = 0.4
"""Share of a step in which a stage waits, from which on it is told. Own judgement."""


@rule("pipeline-mostly-waits", "S2", needs=("pipeline_parallel", "global_batch_size", "micro_batch_size"))
def pipeline_mostly_waits(settings: Settings) -> Iterator[Fault]:
    """Too few micro-batches for the stages of the pipeline: every stage waits for a large part of each step.

    Why: with p stages and m micro-batches a stage waits (p-1) of every m+p-1 slots, whatever the network does.
    Bad: `torchrun --nnodes 4 --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --pipeline-model-parallel-size 8
        --micro-batch-size 1 --global-batch-size 16`; `torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py
        --num-layers 32 --tensor-model-parallel-size 4 --pipeline-model-parallel-size 4 --micro-batch-size 2
        --global-batch-size 4`.
    Good: `torchrun --nnodes 4 --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --pipeline-model-parallel-size 8
        --micro-batch-size 1 --global-batch-size 256`; fewer stages; or interleaved ones, `torchrun --nnodes 4
        --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --pipeline-model-parallel-size 8 --micro-batch-size 1
        --global-batch-size 16 --num-layers-per-virtual-pipeline-stage 1`.
    Known gaps: interleaved stages and schedules without a bubble are recognised by their keys and not judged.
    Source: Narayanan et al. 2021 (arXiv 2104.04473), section 2.2.
    """
    stages, replicas = whole(settings, "pipeline_parallel") or 1, settings.value("data_parallel")
    batch, micro = settings.value("global_batch_size"), settings.value("micro_batch_size")
    other = any(re.search(r"virtual|interleav|bubble|dualpipe|rampup", normal(key)) for key in settings.others)
    if settings.framework not in PIPELINES or stages < 2 or not replicas or other or "batch_rampup" in settings:
        return
    count = batch / (micro * replicas)
    idle = (stages - 1) / (count + stages - 1)
    if count >= 1 and idle >= IDLE:
        yield Fault(
            "pipeline_parallel",
            f"{stages} pipeline stages share {count:g} micro-batches a step (global batch {batch} / micro-batch "
            f"{micro} / {replicas:g} replicas): every stage waits for {idle:.0%} of it",
            f"{stages} 个流水段每步只有 {count:g} 个微批次（全局 batch {batch} / 微批次 {micro} / {replicas:g} "
            f"个副本）：每一段有 {idle:.0%} 的时间在等待",
            beside=("global_batch_size", "micro_batch_size"),
        )
