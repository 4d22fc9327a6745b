"""What changed for good with nothing written down beside it that could explain it: a jump of the one number that a log
holds, a training that slows down.

A loss that leaves its level at once and stays where it went has a cause: the rate, the gradient, the data of those
steps. Where a log prints that number alone, none of them was written down, and no reading of the log will find it.
A step that takes longer waits for its data, for other ranks, for a card that is throttled, or computes more; where only
the whole step was timed, nothing tells which.
"""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..findings import Finding, Severity
from ..patterns import bounded
from ..relate.kinds.names import demand
from ..relate.line import Line, means

LEAST, AROUND = 20, 8
"""Points of the log, and on either side of the jump that give its levels."""
FAR, SPREADS, KEPT = 0.3, 12.0, 0.6
"""Share of the level before that it jumps by at least, spreads of a point, and share of the jump that is still there at
the end. Ours."""
WITNESSES = ("learning_rate", "grad_norm", "loss_scale")
SPEEDS = ("step_time", "tokens_per_second", "samples_per_second", "mfu")
SLOWER, STEADY, AS_FAST = 1.25, 0.15, 0.95
"""How many times as long a step takes afterwards, how far from its level it may be at the end, and the share of a
throughput that is still the same. Ours."""
PARTS = bounded(
    r"(?:^|_)(?:data|load(?:er|ing)?|fetch|wait|stall|input|comms?|nccl|all_?reduce|all_?gather|sync|fwd|forward|bwd|"
    r"backward|optim(?:izer)?|opt|ckpt|save|eval|gen(?:eration)?|rollout)_?(?:time|ms|s|sec|seconds|share|frac)?(?:_|$)|"
    r"util|clock|throttl|sm_|power|temp|watt|pcie|nvlink|ib_|nic|rx|tx|bandwidth|swap|cpu|iowait|disk|read_|fan|"
    r"seq_?len|tokens_per_(?:sample|batch|step)|length|数据|等待|通信|利用率|频率|温度|功耗|前向|反向"
)
"""Names of what tells where the time of a step goes, or that there is more to do in it."""


def unwitnessed(lines: Sequence[Line]) -> Iterator[Finding]:
    """The jump of a lone loss, known as such or by having no name at all."""
    steps = [x for x in lines if x.axis == "step" and len(x) >= LEAST and not x.group]
    if not steps or any(x.name in WITNESSES for x in lines):
        return
    lone = [x for x in steps if not any(y is not x and y.file == x.file for y in steps)]
    for line in (x.finite() for x in lone if x.name == "loss" or (not x.known and x.name.startswith("column"))):
        at = _jump(line.values)
        if at is not None:
            yield _told(line, at)
            return


def slowed(lines: Sequence[Line]) -> Iterator[Finding]:
    """A training that takes longer from some place on, of which only the whole step or the throughput was kept."""
    speeds = [x.finite() for x in lines if x.name in SPEEDS and x.axis in ("step", "time")]
    if any(x.group for x in speeds):
        return
    for line in speeds:
        at = _slower(line.values if line.name == "step_time" else 1 / np.where(line.values > 0, line.values, np.nan))
        if at is None:
            continue
        if (same := next((x for x in speeds if _as_fast(line, x, at)), None)) is not None:
            yield _more(line, same, at)
            return
        if not any(_tells(x, line, at) for x in lines):
            yield _slow(line, at)
            return


def _slower(seconds: np.ndarray) -> int | None:
    """The first point from which on a step takes longer, to the end, at a level of its own."""
    if len(seconds) < LEAST or not np.isfinite(seconds).all():
        return None
    total = np.cumsum(np.clip(seconds, *np.percentile(seconds, (5, 95))))
    n = np.arange(1, len(seconds))
    means_apart = (total[-1] - total[:-1]) / (len(seconds) - n) - total[:-1] / n
    at = int(np.argmax(n * (len(seconds) - n) * means_apart * np.abs(means_apart))) + 1
    if not 5 <= at <= len(seconds) - 5:
        return None
    before, after = seconds[:at], seconds[at:]
    low, high = float(np.median(before)), float(np.median(after))
    apart = np.percentile(before, 90) < low + 0.5 * (high - low) < np.percentile(after, 10)
    at_once = np.median(after[:AROUND]) - np.median(before[-AROUND:]) > KEPT * (high - low)
    stays = abs(float(np.median(after[-5:])) - high) < STEADY * high
    return at if high > SLOWER * low and apart and at_once and stays else None


def _as_fast(line: Line, other: Line, at: int) -> bool:
    """Whether a throughput beside the time of a step has not fallen from there on: each step does more."""
    if line.name != "step_time" or other.name == "step_time" or other.file != line.file:
        return False
    before, after = other.values[other.x < line.x[at]], other.values[other.x >= line.x[at]]
    return min(len(before), len(after)) >= 5 and bool(np.median(after) >= AS_FAST * np.median(before) > 0)


def _more(line: Line, other: Line, at: int) -> Finding:
    was, now = float(np.median(line.values[:at])), float(np.median(line.values[at:]))
    return Finding(
        "steps-do-more", Severity.S3,
        f"{line.said} goes from {was:.4g} to {now:.4g} from {line.where(at)} on, and {other.said} does not fall "
        f"({np.median(other.values[other.x >= line.x[at]]):.4g} from there on): each step does more, none is slower.",
        f"{line.said} 自 {line.where(at)} 起由 {was:.4g} 变为 {now:.4g}，而 {other.said} 没有下降（此后为 "
        f"{np.median(other.values[other.x >= line.x[at]]):.4g}）：是每步做得更多，而不是变慢。",
        (line.evidence(at), line.evidence(at - 1)),
        {"before": was, "after": now},
    )  # fmt: skip


def _tells(x: Line, line: Line, at: int) -> bool:
    """Whether a measure says where the time of a step went, there or later."""
    if x is line or x.name in SPEEDS or not len(x):
        return False
    over = x.axis != line.axis or x.x[-1] >= line.x[at]
    return over and bool(x.group or x.name in ("data_time", "gpu_utilization") or means(PARTS, x.key))


def _slow(line: Line, at: int) -> Finding:
    was, now = float(np.median(line.values[:at])), float(np.median(line.values[at:]))
    return Finding(
        "slowdown-unwitnessed", Severity.S2,
        f"{line.file}: {line.said} goes from {was:.4g} to {now:.4g} between {line.where(at - 1)} and {line.where(at)} and "
        "stays there; neither the wait for data, nor communication, nor the use or clock of the GPUs, nor the single "
        "ranks were written down from there on, so what the time of a step goes to is not on record.",
        f"{line.file}：{line.said} 在 {line.where(at - 1)} 与 {line.where(at)} 之间由 {was:.4g} 变为 {now:.4g}，此后没有"
        "恢复；从那时起没有记录等待数据、通信、GPU 利用率或频率，也没有各 rank 的耗时，每步的时间花在哪里无从得知。",
        (line.evidence(at), line.evidence(at - 1)),
        {"before": was, "after": now, "from": float(line.x[at - 1]), "to": float(line.x[at]),
         "asks": [demand("step_parts_logged", "at-least", 1, "data time, communication time and step time of every rank "
                         "at every logged step, and the utilisation and clock of every GPU", "每个日志步每个 rank 的数据耗时、"
                         "通信耗时和步耗时，以及每张 GPU 的利用率和频率")]},
    )  # fmt: skip


def _jump(values: np.ndarray) -> int | None:
    """The first point behind a rise at once that is still there at the end; none where it fell before."""
    if len(values) < LEAST or not (values > 0).all():
        return None
    at = int(np.argmax(np.diff(values))) + 1
    before, after = values[max(0, at - AROUND) : at], values[at : at + AROUND]
    if min(len(before), len(after)) < 3:
        return None
    low, high = float(np.median(before)), float(np.median(after))
    spread = 1.4826 * float(np.median(np.abs(before - low))) or 1e-9
    rise = values[at] - values[at - 1]
    far = high - low > FAR * low and high - low > SPREADS * spread and rise > 0.8 * (high - low)
    stays = float(np.median(values[-3:])) - low > KEPT * (high - low)
    return at if far and stays and values[0] > low else None


def _told(line: Line, at: int) -> Finding:
    was, now, every = line.values[at - 1], line.values[at], float(np.median(np.diff(line.x)))
    what = line.said if line.known else "the one number that it prints"
    what_zh = line.said if line.known else "日志里唯一的数值"
    return Finding(
        "jump-unwitnessed", Severity.S3,
        f"{line.file}: {what} is {was:.4g} at {line.where(at - 1)} and {now:.4g} at {line.where(at)}, one line later, "
        f"and stays there; the log has a line every {every:g} steps and neither learning rate nor gradient norm nor the "
        "data of a step, so what happened between those two lines is not on record.",
        f"{line.file}：{what_zh}在 {line.where(at - 1)} 为 {was:.4g}，下一行 {line.where(at)} 就是 {now:.4g}，此后没有"
        f"回来；日志每 {every:g} 步一行，没有学习率、梯度范数，也没有每步的数据，这两行之间发生了什么没有记录。",
        (line.evidence(at), line.evidence(at - 1)),
        {"before": float(was), "after": float(now), "from": float(line.x[at - 1]), "to": float(line.x[at]),
         "asks": [demand("grad_norm_logged", "at-least", 1, "learning rate and gradient norm at every logged step, and "
                         "the ids of its samples", "每个日志步的学习率、梯度范数和样本 id")]},
    )  # fmt: skip
