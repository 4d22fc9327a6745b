"""Rules on the inference engine: its memory, its devices, its token budget."""

from __future__ import annotations

from collections.abc import Iterator

from ...settings import Settings
from ..frameworks import named
from .rule import Fault, rule
from .training import in_rl, unnamed, whole


@rule("gpu-memory-share-high", "S2", needs=("gpu_memory_utilization",))
def gpu_memory_share_high(settings: Settings) -> Iterator[Fault]:
    """The inference engine takes nearly all device memory.

    Why: what is left for CUDA graphs, NCCL buffers or a trainer on the same device is too little; it fails at
        start, at wake-up or under load.
    Bad: `vllm serve m --gpu-memory-utilization 0.99`; in RL with trainer and engine on the same devices
        `python -m verl.trainer.main_ppo actor_rollout_ref.rollout.gpu_memory_utilization=0.95`; a share that is none,
        `vllm serve m --gpu-memory-utilization 90` (S1).
    Good: `vllm serve m --gpu-memory-utilization 0.9`; 0.3 to 0.7 in RL,
        `python -m verl.trainer.main_ppo actor_rollout_ref.rollout.gpu_memory_utilization=0.5`.
    Known gaps: what else runs on the device is not visible. "No available memory for the cache blocks" asks for
        more, not less.
    Source: runbook entry `kv-cache-oom`.
    """
    share = settings.value("gpu_memory_utilization")
    asleep = settings.value("engine_sleep") is True or named(settings.framework).own_devices
    shared = in_rl(settings) and not asleep and settings.value("colocate") is not False
    if share > 1 or share <= 0:
        yield Fault(
            "gpu_memory_utilization",
            f"the engine's memory share is {share:g}; it must lie between 0 and 1",
            f"推理引擎显存占比 {share:g} 必须在 0 与 1 之间",
            "S1",
            "0.9",
        )
    elif share > 0.95 or (share > 0.85 and shared):
        yield Fault(
            "gpu_memory_utilization",
            f"the engine takes {share:.0%} of device memory" + (" beside a trainer" if shared else ""),
            f"推理引擎占用 {share:.0%} 显存" + ("，且与训练共用" if shared else ""),
            "S2",
            "0.6" if shared else "0.9",
        )
    elif share >= 0.95:
        yield Fault(
            "gpu_memory_utilization",
            f"the engine takes {share:.0%} of device memory; little is left",
            f"推理引擎占用 {share:.0%} 显存，余量很少",
            "S3",
            "0.9",
        )


@rule("engine-devices-too-few", "S1")
def engine_devices_too_few(settings: Settings) -> Iterator[Fault]:
    """The inference engine needs more devices than it can see.

    Why: it fails at start, or waits for workers that never come.
    Bad: `CUDA_VISIBLE_DEVICES=0,1 vllm serve m --tensor-parallel-size 4`.
    Good: `CUDA_VISIBLE_DEVICES=0,1 vllm serve m --tensor-parallel-size 2`: tensor x pipeline x data parallel size
        equals the number of visible devices.
    Known gaps: devices given by the scheduler are not visible; engines over several machines are not judged.
    Source: runbook entry `vllm-engine-init-failure`.
    """
    visible, tensor = settings.get("visible_devices"), settings.get("engine_tensor_parallel")
    if visible is None or tensor is None or (settings.value("nodes") or 1) > 1:
        return
    ids = [d for d in str(visible.value).split(",") if d.strip()]
    need = tensor.value
    if settings.framework in ("vllm", "sglang"):
        need *= settings.value("engine_pipeline_parallel") or 1
    one_machine = "engine_pipeline_parallel" not in settings and "engine_data_parallel" not in settings
    if ids and need > len(ids) and (settings.framework in ("vllm", "sglang") and tensor.file == visible.file):
        yield Fault(
            "engine_tensor_parallel",
            f"the engine needs {need} devices but CUDA_VISIBLE_DEVICES names {len(ids)}",
            f"推理引擎需要 {need} 张卡，但 CUDA_VISIBLE_DEVICES 只有 {len(ids)} 张",
            "S1" if one_machine else "S2",
            str(len(ids)),
            ("visible_devices",),
        )


@rule("batched-tokens-too-few", "S1")
def batched_tokens_too_few(settings: Settings) -> Iterator[Fault]:
    """The engine's token budget of one step is below what its other limits ask for.

    Why: vLLM refuses to start: a step must hold one token of every sequence, and without chunked prefill a whole
        prompt.
    Bad: `vllm serve m --max-num-batched-tokens 128 --max-num-seqs 256`; `max_num_batched_tokens: 4096` with
        `enable_chunked_prefill: false` and `max_model_len: 8192`.
    Good: a budget of 2048 to 8192 with chunked prefill,
        `vllm serve m --max-num-batched-tokens 4096 --max-model-len 8192 --max-num-seqs 256`; without it at least
        max_model_len, `vllm serve m --max-num-batched-tokens 8192 --no-enable-chunked-prefill --max-model-len 8192`.
    Known gaps: without chunked prefill written as off only the number of sequences is compared.
    Source: vLLM's SchedulerConfig; runbook entry `vllm-engine-init-failure`.
    """
    budget = unnamed(settings, r"(^|\.)max_num_batched_tokens$")
    if budget is None or not str(budget.value).isdigit():
        return
    tokens = int(budget.value)
    chunked = unnamed(settings, r"(^|\.)enable_chunked_prefill$")
    off = unnamed(settings, r"^no_enable_chunked_prefill$") or (chunked and str(chunked.value).lower() == "false")
    for variable in ("max_num_seqs", "max_model_len") if off else ("max_num_seqs",):
        need = whole(settings, variable)
        if need and tokens < need:
            yield Fault(
                variable,
                f"max_num_batched_tokens {tokens} is below {variable} {need}",
                f"max_num_batched_tokens {tokens} 小于 {variable} {need}",
                "S1" if settings.values[variable].file == budget.file else "S2",
            )
