"""Rules on how devices talk to each other."""

from __future__ import annotations

from collections.abc import Iterator

from ...patterns import bounded
from ...settings import Settings
from .rule import Fault, rule


@rule("nccl-ib-disabled", "S2", needs=("nccl_ib_disable",))
def nccl_ib_disabled(settings: Settings) -> Iterator[Fault]:
    """NCCL may not use InfiniBand or RoCE.

    Why: collectives between machines fall back to TCP and are many times slower; left over from an experiment, it
        is the cause of slow multi-node runs and of time-outs.
    Bad: `export NCCL_IB_DISABLE=1` in a multi-node launch, `torchrun --nnodes 4 --nproc_per_node 8 train.py`; on one
        machine `NCCL_IB_DISABLE=1 torchrun --nnodes 1 --nproc_per_node 8 train.py` (S3).
    Good: not set, or `export NCCL_IB_DISABLE=0` before `torchrun --nnodes 4 --nproc_per_node 8 train.py`; set for one
        run only, to localise a fault.
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


@rule("nccl-p2p-disabled", "S3", needs=("nccl_p2p_disable",))
def nccl_p2p_disabled(settings: Settings) -> Iterator[Fault]:
    """GPUs of one machine may not talk to each other directly.

    Why: every collective goes through host memory.
    Bad: `NCCL_P2P_DISABLE=1 torchrun --nproc_per_node 8 train.py` on a machine with NVLink.
    Good: not set, or `NCCL_P2P_DISABLE=0 torchrun --nproc_per_node 8 train.py`; needed on consumer cards without
        peer-to-peer and in some virtual machines.
    Known gaps: the kind of GPU is not visible, so it is a note: whether it costs time is for a measured speed to say.
    Source: runbook entry `gpu-p2p-hang`.
    """
    if settings.value("nccl_p2p_disable"):
        yield Fault(
            "nccl_p2p_disable",
            "NCCL_P2P_DISABLE=1 is set: GPUs talk through host memory, as cards without peer-to-peer need it",
            "设置了 NCCL_P2P_DISABLE=1：GPU 间通信绕经主机内存（不支持 P2P 的卡需要如此）",
            "S3",
            "0",
        )


LOOPBACK = bounded(r"(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)(?::\d{1,5})?")
"""A machine's name for itself."""
LAUNCHES = ("launcher", "accelerate", "deepspeed", "env", "slurm")
"""Whose number of machines is that of the processes that meet at the address; Ray and others have their own."""


@rule("master-address-loopback", "S1", needs=("master_address", "nodes"))
def master_address_loopback(settings: Settings) -> Iterator[Fault]:
    """Several machines are told to meet at an address that each of them takes for itself.

    Why: the processes of the second machine look for the first one on their own machine and wait until the time limit.
    Bad: `torchrun --nnodes 2 --node_rank 1 --nproc_per_node 8 --master_addr 127.0.0.1 train.py`;
        `torchrun --nnodes=4 --nproc_per_node=8 --rdzv_endpoint=localhost:29500 train.py`.
    Good: `torchrun --nnodes 2 --nproc_per_node 8 --master_addr 10.0.0.4 train.py`, or on one machine
        `torchrun --nnodes 1 --nproc_per_node 8 --master_addr 127.0.0.1 train.py`.
    Known gaps: an address that a program or the scheduler sets later is not visible.
    Source: runbook entry `multinode-failure`.
    """
    address, nodes = settings.get("master_address"), settings.get("nodes")
    if nodes is None or nodes.framework not in LAUNCHES or not isinstance(nodes.value, int) or nodes.value < 2:
        return
    if address is not None and LOOPBACK.fullmatch(str(address.value).strip().lower()):
        yield Fault(
            "master_address",
            f"{nodes.value} machines are to meet at {address.raw}, which each of them takes for itself",
            f"{nodes.value} 台机器要在 {address.raw} 会合，而每台机器都会把它当成自己",
            beside=("nodes",),
        )
