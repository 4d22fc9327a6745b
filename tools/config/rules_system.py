"""Rules on communication, devices and the inference engine."""

from __future__ import annotations

from collections.abc import Iterator

from ..settings import Settings
from .frameworks import named
from .rule import Fault, rule
from .rules_alignment import in_rl


@rule("nccl-ib-disabled", "S2", needs=("nccl_ib_disable",))
def infiniband_disabled(settings: Settings) -> Iterator[Fault]:
    """NCCL may not use InfiniBand or RoCE.

    Why: collectives between machines fall back to TCP and are many times slower; left over from an experiment, it
        is the cause of slow multi-node runs and of time-outs.
    Bad: `export NCCL_IB_DISABLE=1` in a multi-node launch.
    Good: not set; set for one run only, to localise a fault.
    Known gaps: on one machine, or without such a network, it changes nothing: a note.
    Source: runbook entry `network-fault`.
    """
    if settings.value("nccl_ib_disable"):
        nodes = settings.value("nodes") or 0
        yield Fault(
            "nccl_ib_disable",
            "NCCL_IB_DISABLE=1 is left on: traffic between machines goes over TCP",
            "NCCL_IB_DISABLE=1 未关闭：机器间通信退回 TCP",
            "S2" if nodes > 1 else "S3",
            "0",
            ("nodes",),
        )


@rule("nccl-p2p-disabled", "S2", needs=("nccl_p2p_disable",))
def peer_to_peer_disabled(settings: Settings) -> Iterator[Fault]:
    """GPUs of one machine may not talk to each other directly.

    Why: every collective goes through host memory.
    Bad: `export NCCL_P2P_DISABLE=1` on a machine with NVLink.
    Good: not set; needed on consumer cards without peer-to-peer and in some virtual machines.
    Known gaps: the kind of GPU is not visible.
    Source: runbook entry `gpu-p2p-hang`.
    """
    if settings.value("nccl_p2p_disable"):
        alone = settings.value("world_size") == 1
        yield Fault(
            "nccl_p2p_disable",
            "NCCL_P2P_DISABLE=1 is left on: GPUs talk through host memory",
            "NCCL_P2P_DISABLE=1 未关闭：GPU 间通信绕经主机内存",
            "S3" if alone else "S2",
            "0",
        )


@rule("gpu-memory-share-high", "S2", needs=("gpu_memory_utilization",))
def gpu_memory_share_high(settings: Settings) -> Iterator[Fault]:
    """The inference engine takes nearly all device memory.

    Why: what is left for CUDA graphs, NCCL buffers or a trainer on the same device is too little; it fails at
        start, at wake-up or under load.
    Bad: `--gpu-memory-utilization 0.99`; 0.95 in RL with trainer and engine on the same devices.
    Good: 0.9 for serving, 0.3 to 0.7 in RL.
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
def engine_devices_conflict(settings: Settings) -> Iterator[Fault]:
    """The inference engine needs more devices than it can see.

    Why: it fails at start, or waits for workers that never come.
    Bad: `CUDA_VISIBLE_DEVICES=0,1 vllm serve --tensor-parallel-size 4`.
    Good: tensor x pipeline x data parallel size equals the number of visible devices.
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


@rule("continuation-broken", "S2")
def continuation_broken(settings: Settings) -> Iterator[Fault]:
    """Flags stand at the start of a command: the line above does not continue.

    Why: the shell ends the command there; the flags below it are not in force and bash reports "command not found".
    Bad: a commented line, or a blank behind the backslash, in the middle of a long command.
    Good: every line but the last ends in a backslash with nothing behind it.
    Known gaps: none.
    Source: bash manual, "Escape Character".
    """
    for flag in settings.broken:
        yield Fault(
            flag.variable,
            f"{flag.file}:{flag.line}: {flag.raw} stands at the start of a command; the line "
            "above does not continue, so this and the following flags are not in force",
            f"{flag.file}:{flag.line}：{flag.raw} 处于命令开头，上一行没有续行，此后的参数不会生效",
        )
