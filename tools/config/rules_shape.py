"""Rules on numbers that a program compares before it starts: one must divide the other, or not exceed it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..settings import Setting, Settings
from .keys import normal
from .rule import Fault, rule
from .rules_batch import whole


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
    Bad: 30 attention heads with tensor parallel 8; 30 layers in 4 pipeline stages; `hidden_size: 4096` with 30 heads.
    Good: heads a multiple of tensor parallel, layers of pipeline stages, width of heads.
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
            "S2" if pair.only else _severity(settings, pair.large, pair.small),
            beside=(pair.large,),
        )


def _holds(pair: Pair, settings: Settings) -> bool:
    changed = pair.unless and any(re.search(pair.unless, normal(key)) for key in settings.others)
    own_width = pair.large == "hidden_size" and "head_dim" in settings
    return not changed and not own_width and (not pair.only or settings.framework == pair.only)


def _severity(settings: Settings, *variables: str) -> str:
    """S1 where one file writes both: files side by side may belong to different runs, a derived size may be a
    placeholder's."""
    files = [s.file for v in variables if (s := settings.get(v))]
    return "S1" if len(files) == len(variables) and len(set(files)) == 1 else "S2"


@rule("min-lr-above-lr", "S1", needs=("learning_rate", "min_learning_rate"))
def floor_above_peak(settings: Settings) -> Iterator[Fault]:
    """The floor of the learning-rate schedule lies above its peak.

    Why: the rate grows while it should decay; Megatron-LM refuses to start.
    Bad: `--lr 3e-4 --min-lr 3e-3`.
    Good: a floor of a tenth of the peak, or 0.
    Known gaps: a floor given as a share of the peak is not judged.
    Source: argument checks of Megatron-LM; runbook entry `lr-schedule-misconfig`.
    """
    peak, floor = settings.value("learning_rate"), settings.value("min_learning_rate")
    if 0 < peak < floor:
        yield Fault(
            "min_learning_rate",
            f"the floor of the schedule, {floor:g}, is above the peak learning rate {peak:g}",
            f"学习率下限 {floor:g} 高于峰值 {peak:g}",
            _severity(settings, "min_learning_rate", "learning_rate"),
            f"{peak / 10:g}",
            ("learning_rate",),
        )


@rule("group-of-one", "S1", needs=("num_generations",))
def group_of_one(settings: Settings) -> Iterator[Fault]:
    """GRPO with a single response per prompt.

    Why: the advantage is a response's distance from its group's mean; a group of one has none. TRL refuses to start,
        verl trains on raw rewards without a baseline.
    Bad: `num_generations: 1`; verl's `rollout.n=1` with `adv_estimator=grpo`.
    Good: 4 to 16 responses per prompt.
    Known gaps: an estimator that the program sets is not visible.
    Source: TRL's GRPOConfig; runbook entry `zero-advantage-groups`.
    """
    stage = settings.get("stage")
    grouped = settings.framework in ("trl", "hf") or (stage and re.search(r"grpo|group|rloo", stage.raw.lower()))
    if grouped and settings.value("num_generations") == 1:
        yield Fault(
            "num_generations",
            "GRPO with one response per prompt: there is no group to compare it with",
            "GRPO 每个 prompt 只采样 1 条：没有组内比较",
            "S2" if settings.framework == "verl" else "S1",
            "8",
        )


@rule("completion-exceeds-context", "S1", needs=("max_model_len", "max_response_length"))
def completion_exceeds_context(settings: Settings) -> Iterator[Fault]:
    """Prompt and response together do not fit the engine's context.

    Why: the engine refuses the request or cuts the response, which then counts as wrong.
    Bad: `max_model_len: 4096` with prompts up to 1024 and responses up to 8192.
    Good: max_model_len at least the sum of both.
    Known gaps: a context that the engine takes from the model's config is not judged.
    Source: verl's rollout checks; runbook entry `completions-truncated`.
    """
    room, response = whole(settings, "max_model_len"), whole(settings, "max_response_length")
    prompt = whole(settings, "max_prompt_length") or 0
    if room and response and room < prompt + response:
        yield Fault(
            "max_model_len",
            f"the engine's context of {room} tokens cannot hold prompt {prompt} + response {response} "
            f"({prompt + response})",
            f"引擎上下文 {room} 放不下 {prompt + response}（prompt {prompt} + response {response}）",
            _severity(settings, "max_model_len", "max_response_length"),
            str(prompt + response),
            ("max_prompt_length", "max_response_length"),
        )


@rule("batched-tokens-too-few", "S1")
def batched_tokens_too_few(settings: Settings) -> Iterator[Fault]:
    """The engine's token budget of one step is below what its other limits ask for.

    Why: vLLM refuses to start: a step must hold one token of every sequence, and without chunked prefill a whole
        prompt.
    Bad: `--max-num-batched-tokens 128 --max-num-seqs 256`; `max_num_batched_tokens: 4096` with
        `enable_chunked_prefill: false` and `max_model_len: 8192`.
    Good: a budget of 2048 to 8192 with chunked prefill; without it, at least max_model_len.
    Known gaps: without chunked prefill written as off only the number of sequences is compared.
    Source: vLLM's SchedulerConfig; runbook entry `vllm-engine-init-failure`.
    """
    budget = _other(settings, r"(^|\.)max_num_batched_tokens$")
    if budget is None or not str(budget.value).isdigit():
        return
    tokens = int(budget.value)
    chunked = _other(settings, r"(^|\.)enable_chunked_prefill$")
    off = _other(settings, r"^no_enable_chunked_prefill$") or (chunked and str(chunked.value).lower() == "false")
    for variable in ("max_num_seqs", "max_model_len") if off else ("max_num_seqs",):
        need = whole(settings, variable)
        if need and tokens < need:
            yield Fault(
                variable,
                f"max_num_batched_tokens {tokens} is below {variable} {need}",
                f"max_num_batched_tokens {tokens} 小于 {variable} {need}",
                "S1" if settings.values[variable].file == budget.file else "S2",
            )


def _other(settings: Settings, pattern: str) -> Setting | None:
    """The setting without a canonical name whose key matches."""
    return next((s for key, s in settings.others.items() if re.search(pattern, normal(key))), None)


ZERO_PIPELINE = ("gpt-neox", "megatron", "deepspeed")
"""Frameworks whose pipelines run in DeepSpeed's engine when a ZeRO stage is written."""


@rule("zero-contradicts", "S1", needs=("zero_stage",))
def zero_contradicts(settings: Settings) -> Iterator[Fault]:
    """The ZeRO stage excludes another setting.

    Why: DeepSpeed's pipeline engine refuses stages 2 and 3; parameters are offloaded at stage 3 only, below it
        the section has no effect.
    Bad: `pipe-parallel-size: 2` with ZeRO stage 2; `offload_param: {device: cpu}` with `stage: 2`.
    Good: stage 1 with pipelines; stage 3 with `offload_param`, or `offload_optimizer` alone.
    Known gaps: a pipeline outside DeepSpeed's engine is not judged.
    Source: DeepSpeed's PipelineEngine and its configuration reference; runbook entry `deepspeed-zero-misconfig`.
    """
    stage = settings.value("zero_stage")
    stages = whole(settings, "pipeline_parallel") or 1
    switched_off = _other(settings, r"^no_pipeline_parallel$")
    if stage >= 2 and stages > 1 and settings.framework in ZERO_PIPELINE and not switched_off:
        yield Fault(
            "zero_stage",
            f"ZeRO stage {stage} with {stages} pipeline stages: DeepSpeed's pipeline engine takes stage 0 or 1 only",
            f"ZeRO {stage} 与流水并行 {stages} 段不兼容：DeepSpeed 流水引擎只支持 stage 0/1",
            _severity(settings, "zero_stage", "pipeline_parallel"),
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
