"""Faults of machines and of reading, told by tables of times, clocks, links and memory."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar

from ..fault import Family, Fault

if TYPE_CHECKING:
    from ..desk import Desk
    from ..parts import Parts


class Machine(Fault):
    family: ClassVar[Family] = "system"
    recipe = "distributed"


def cards(desk: Desk, hot_from: int | None) -> None:
    """Per rank and step: time, clock and heat; from a step on the second card is hot and its clock is low."""
    every, rng, rows = desk.rng.choice((5, 10, 20)), desk.rng, []
    base = rng.choice((1410.0, 1755.0, 1980.0))
    for i in range(0, len(desk.trace.times[0]), every):
        for rank, times in enumerate(desk.trace.times):
            low = hot_from is not None and rank == 1 and i >= hot_from
            clock = base * (0.42 + 0.02 * rng.random() if low else 1.0) - 15 * rng.randint(0, 1)
            heat = (88 if low else 61 + 3 * rank) + rng.uniform(-2, 2)
            rows.append((i + 1, rank, times[i][1], times[i][2], clock, heat))
    desk.table(("step", "rank", "compute_time", "sync_time", "clock", "heat"), rows)


class SecondCardSlow(Machine):
    """From a step on one rank computes slowly; the other waits for it in every step."""

    name = "second-card-slow"
    severities = (150, 220)
    right = ("gpu-throttling-straggler",)
    near = ("gpu-load-imbalance", "low-throughput")
    repairs = ("environment",)
    asks = ("throughput dropped in the middle of the run, why?", "跑到一半吞吐掉了，为什么？")

    def code(self, parts: Parts, severity: Any) -> None:
        def slow(rank: int, step: int) -> bool:
            if rank == 1 and step >= severity:
                time.sleep(0.03)
            return False

        parts.skip = slow

    def left(self, desk: Desk, severity: Any) -> None:
        cards(desk, None if desk.fixed else severity)


def links(desk: Desk, narrow: bool) -> None:
    """A link report per card, and the times of computing and averaging per step."""
    rng, good = desk.rng, desk.rng.choice((24.1, 21.6, 46.8))
    rows = []
    for host in range(2):
        for card in range(4):
            bad = narrow and host == 1
            rows.append(
                (f"gpu-{host + 11}", card, 4 if bad else 16, good * (0.21 if bad else 1) + rng.uniform(-0.4, 0.4))
            )
    desk.table(("host", "rank", "width", "bandwidth"), rows)
    steps = range(0, len(desk.trace.times[0]), 10)
    timed = [(i + 1, r, t[i][1], t[i][2]) for i in steps for r, t in enumerate(desk.trace.times)]
    desk.table(("step", "rank", "compute_time", "sync_time"), timed)


class NarrowLink(Machine):
    """Averaging the gradients takes long in every step, on both ranks alike."""

    name = "narrow-link"
    severities = (0.04, 0.03)
    right = ("degraded-link",)
    near = ("comm-bottleneck", "network-fault", "low-throughput")
    repairs = ("environment",)
    asks = ("slower than the same job on the other rack", "比另一个机架上同样的任务慢")

    def code(self, parts: Parts, severity: Any) -> None:
        parts.slow_sync = severity

    def left(self, desk: Desk, severity: Any) -> None:
        links(desk, not desk.fixed)


def reading(desk: Desk) -> None:
    """Measured times of waiting for the batch and of computing, every few steps."""
    every = desk.rng.choice((5, 10, 25))
    rows = [(i + 1, t[0], t[1], t[0] + t[1]) for i, t in enumerate(desk.trace.times[0]) if i % every == 0]
    desk.table(("step", "data_time", "compute_time", "step_time"), rows)


class EveryBatchWaits(Machine):
    """Every batch takes longer to read than to train on, evenly, and nothing reads ahead."""

    name, recipe = "every-batch-waits", "mixed"
    severities = (0.03, 0.025)
    right = ("dataloader-bottleneck",)
    near = ("low-throughput", "h2d-transfer-bottleneck")
    repairs = ("num_workers",)
    asks = ("the card is idle most of the time", "显卡大部分时间闲着")
    changes = "dataloader_num_workers=0 max_steps=600"
    own_best = True  # shorter than the healthy run, and as good as its length allows

    def code(self, parts: Parts, severity: Any) -> None:
        parts.slow_read = lambda step: severity

    def left(self, desk: Desk, severity: Any) -> None:
        reading(desk)


def resident(grown: dict[int, float], desk: Desk) -> None:
    rng, card = desk.rng, desk.rng.uniform(9000, 20000)
    desk.table(("step", "memory", "heat"), [(s, card + m, 60 + rng.uniform(-2, 2)) for s, m in sorted(grown.items())])


class KeepsEveryStep(Machine):
    """The program keeps something of every step; what the process holds grows without end."""

    name, recipe = "keeps-every-step", "pretrain"
    severities = (40_000, 60_000)
    right = ("memory-leak",)
    near = ("host-memory-exhausted", "train-oom")
    repairs = ("code",)
    asks = ("will this job survive the night?", "这个任务能撑过今晚吗？")
    kept: ClassVar[list[Any]] = []

    def code(self, parts: Parts, severity: Any) -> None:
        import torch

        parts.end = lambda step: self.kept.append(torch.ones(severity)) if step > 0 else None

    def left(self, desk: Desk, severity: Any) -> None:
        steps = range(0, len(desk.trace.losses) + 1, desk.rng.choice((10, 20)))
        each = 0.0 if desk.fixed else self.kept[0].nbytes * 16 / 2**20
        resident({s: s * each + desk.rng.uniform(-3, 3) for s in steps}, desk)
