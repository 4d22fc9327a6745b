"""Memory that a server keeps and does not grow: one level from the first row to the last, whatever the load beside it.

What is taken for good when a server starts looks like a leak to who sees the level alone. It is none where the level
does not move while the load goes up and down, nothing waits and nothing is put out of the cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..data.statistics import spearman
from ..findings import Finding, Severity
from ..patterns import bounded
from ..relate.line import Line, means
from ..settings import Settings

LEAST, FLAT, LIVELY = 24, 0.01, 2.0
"""Points; range of the level as a share of it; how far the load goes, as busiest over quietest tenth. Own judgement."""
STARTS, SELDOM = 0.1, 0.05
"""Most of the points that are of the start, before the memory is taken; share of them in which a queue may be seen."""
MEMORY = bounded(
    r"(?:^|_)(?:gpu_)?(?:mem(?:ory)?|vram|fb)_?(?:used|usage|allocated)|gpu_memory(?:_used)?|显存(?:占用|使用|已用)?"
    r"|(?:^|_)(?:gpu|card|device|hbm|vram)_?\d{0,3}_(?:used|usage|allocated|reserved)_(?:[mg]i?b|bytes)(?:_|$)"
)
TOTAL = bounded(r"(?:mem(?:ory)?|vram|fb|gpu|card|device|hbm)_?\d{0,3}_?total|显存总量")
LOAD = bounded(r"(?:^|_)(?:requests?|qps|rps|running|active|concurren\w*|users?|tokens?_per|throughput)(?:_|$)"
               r"|util(?:i[sz]ation)?|kv_?(?:cache)?_?usage|请求|并发|利用率")  # fmt: skip
QUEUE = bounded(r"(?:^|_)(?:waiting|queued?)(?:_|$)|排队")
TROUBLE = bounded(r"(?:^|_)(?:preempt\w*|evict\w*|oom\w*|errors?|failed)(?:_|$)|抢占|错误")


def kept(lines: Sequence[Line], settings: Settings) -> Iterator[Finding]:
    """The memory of the cards at one level while the load moves."""
    long = [x.finite() for x in lines if len(x) >= LEAST]
    used = [_taken(x) for x in long if means(MEMORY, x.key) and not means(TOTAL, x.key)]
    memory, moving = ([x for x in used if _flat(x.values) is flat] for flat in (True, False))
    load = max((x for x in long if means(LOAD, x.key) and not means(MEMORY, x.key)), key=_goes, default=None)
    harm = any(means(TROUBLE, x.key) and float(np.max(x.values)) > 0 for x in long)
    harm |= any(means(QUEUE, x.key) and float(np.mean(x.values > 0)) > SELDOM for x in long)
    if not memory or moving or load is None or _goes(load) < LIVELY or harm:
        return
    line = max(memory, key=lambda x: float(np.median(x.values)))
    level, span = float(np.median(line.values)), float(np.ptp(line.values))
    total = next((x for x in long if means(TOTAL, x.key) and x.group == line.group), None)
    said, said_zh = "", ""
    whole = float(np.median(total.values)) if total is not None else 0.0
    whole *= next((unit for unit in (1, 1024, 1024**2) if level <= whole * unit <= 50 * level), 0)
    if whole:
        said, said_zh = f", {level / whole:.1%} of {whole:.0f}", f"，占 {whole:.0f} 的 {level / whole:.1%}"
    share = settings.get("gpu_memory_utilization")
    places = [line.evidence(0), line.evidence(len(line) - 1), load.evidence(int(np.argmax(load.values)))]
    if share is not None:
        said += f"; {share.file}:{share.line} {share.key} {share.raw} reserves that share for the pool at the start"
        said_zh += f"；{share.file}:{share.line} 的 {share.key} {share.raw} 在启动时就预留这一比例"
        places.append(share.evidence())
    low, high = (float(np.quantile(load.values, q)) for q in (0.1, 0.9))
    yield Finding(
        "memory-flat-under-load", Severity.S3,
        f"{line.said} stays at {level:g} (within {span:g}) over {len(line)} points{said}, while {load.said} goes from "
        f"{low:.3g} to {high:.3g}: what is taken is kept, and does not grow.",
        f"{line.said} 在 {len(line)} 个点中保持 {level:g}（波动 {span:g}）{said_zh}，同期 {load.said} 从 {low:.3g} 到 "
        f"{high:.3g}：占用的显存一直保留，并不增长。",
        tuple(places), {"level": level, "range": span, "metric": "gpu_memory"},
    )  # fmt: skip


def _taken(line: Line) -> Line:
    """The level without the points before the server has taken its memory."""
    near = np.abs(line.values - float(np.median(line.values))) <= FLAT * abs(float(np.median(line.values)))
    first = int(np.argmax(near)) if near.any() else 0
    return line.only(np.arange(len(line)) >= first) if 0 < first <= STARTS * len(line) else line


def _flat(values: np.ndarray) -> bool:
    level = float(np.median(values))
    return level > 0 and float(np.ptp(values)) <= FLAT * level


def _goes(line: Line) -> float:
    """How many times the busy level of a load is the quiet one."""
    low, high = (float(np.quantile(line.values, q)) for q in (0.1, 0.9))
    return high / low if low > 0 else 2 * LIVELY if high > 0 else 0.0


LATENCY = bounded(r"(?:^|_)(?:latenc(?:y|ies)|ttft|tpot|itl|e2e\w*|response_time|ms_per_token|p(?:50|90|95|99))(?:_|$)"
                  r"|延迟|时延")  # fmt: skip
WORK = bounded(r"(?:^|_)(?:len(?:gth)?s?|tokens?|context|ctx|size|batch|concurrency|clients?|users?|rate|qps|rps|load"
               r"|parallel)(?:_|$)|长度|并发")  # fmt: skip
"""Ways along which more is asked of a server from row to row: that more takes longer is no course of time."""
ASKED = bounded(r"(?:^|_)(?:drafted|proposed|running|arriv\w{0,5}|offered)(?:_|$)|到达")
"""What a server, or a target behind its draft, is asked for, whatever comes of it."""
FEW, KEPT = 8, 0.8
"""Points from which on an amount is held against what is asked for, and share of its part of it that it keeps. Own
judgement."""
FOLLOWS = 0.7
"""Rank correlation with a load from which on a latency goes with it."""


def follows_load(line: Line, lines: Sequence[Line]) -> bool:
    """Whether a latency is its load's: its rows are of more and more, or one beside it grows as much."""
    if not means(LATENCY, line.key):
        return False
    return means(WORK, line.axis) is not None or load_of(line, lines) is not None


def less_asked(line: Line, lines: Sequence[Line]) -> bool:
    """Whether an amount falls with what is asked for beside it, and is no smaller part of it than before."""
    if means(ASKED, line.key):
        return False
    beside = (x for x in lines if x.file == line.file and x.axis == line.axis and means(ASKED, x.key))
    return any(_as_large_a_part(line.finite(), x.finite()) for x in beside)


def _as_large_a_part(own: Line, asked: Line) -> bool:
    _, i, j = np.intersect1d(own.x, asked.x, return_indices=True)
    some = asked.values[j] > 0
    mine, theirs = own.values[i][some], asked.values[j][some]
    if len(mine) < FEW or spearman(theirs, mine) < FOLLOWS:
        return False
    first, last = np.array_split(mine / theirs, 2)
    return bool(np.median(last) >= KEPT * np.median(first))


def load_of(line: Line, lines: Sequence[Line]) -> Line | None:
    """The load beside a measure with which it goes, and which grows at least as much."""
    own = line.finite()
    for x in lines if len(line) >= LEAST else ():
        if x.file == line.file and x is not line and x.axis == line.axis and means(LOAD, x.key):
            load = x.finite()
            _, here, there = np.intersect1d(own.x, load.x, return_indices=True)
            together = len(here) >= LEAST and spearman(load.values[there], own.values[here]) >= FOLLOWS
            if together and _goes(load) >= _goes(own):
                return x
    return None
