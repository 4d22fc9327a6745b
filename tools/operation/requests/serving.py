"""An inference server by its own numbers: what runs, what waits, how full its cache is, how long a token takes.

Read from its log lines and from snapshots of its metrics, of vLLM, SGLang, TGI or any table with such columns. Requests
that wait while the cache is nearly empty wait for a limit, not for memory; where the first token takes longer and each
further one does not, the time is spent in the queue, not on the card. What to do about it, the runbook says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...documents.event import Event
from ...findings import PROPOSES, Evidence, Finding, Severity
from ...patterns import bounded
from ...relate.line import Line, means, plain
from ...settings import Settings
from ...tables.table import Column, Table
from ..rollouts import of_training

PARTS = {
    "running": bounded(r"(?:requests?_running|running_req(?:uest)?s?|num_running|batch_current_size"
                       r"|^running)(?:_reqs?)?$"),
    "waiting": bounded(r"(?:requests?_waiting|waiting_req(?:uest)?s?|queue_req(?:uest)?s?|num_waiting|num_queued?"
                       r"|queue_size|queue_length|queue_depth|^waiting|^pending|^queued?)(?:_reqs?|_requests?)?$"),
    "cache": bounded(r"^(?!.{0,60}(?:cpu|hit|prefix|(?:^|_)[gm]i?b(?:_|$)|bytes|blocks)).{0,60}"
                     r"(?:cache_(?:usage|used|util)|kv_(?:usage|used|util)|token_usage)"),
    "preempted": bounded(r"(?:preemptions?|preempted|retracted)(?:_req(?:uest)?s?|_total)*$"),
}  # fmt: skip
"""What a server reports -> its names, as engines and their dashboards write them."""
LATENCIES = {
    "first token": bounded(r"(?:time_to_first_token|ttft|first_token)"),
    "each token": bounded(r"(?:time_per_output_token|inter_token|tpot|time_between_tokens|per_token_latency)"),
}
LIMIT = "max_num_seqs"
EMPTY, FULL = 0.5, 0.9
"""Share of the cache up to which it has room for as many requests again, and from which on it is full."""
AT_LIMIT = 0.95
"""Share of the limit from which on it is reached: requests end and begin between two looks."""
LEAST_WAITING, WAITING_SHARE = 4, 0.25
"""Requests that wait, and their share of those that run, from which on a queue is one. Own judgement."""
HELD = 0.8
"""Share of the later half of a log in which requests wait."""
SLOWER, SAME = 2.0, 1.25
"""Factor by which the first token takes longer, and within which each further one takes as long. Own judgement."""
MOST_RAISED = 16
"""Factor by which a limit is raised at most in one step."""


@dataclass(frozen=True)
class Level:
    """One number of a server as one file gives it."""

    value: float
    steady: float
    """Share of the later half in which it is above zero."""
    evidence: Evidence


@dataclass(frozen=True)
class Server:
    """What one file says of a server."""

    file: str
    levels: dict[str, Level] = field(default_factory=dict)

    def value(self, part: str) -> float | None:
        return self.levels[part].value if part in self.levels else None

    def evidence(self) -> tuple[Evidence, ...]:
        return tuple(level.evidence for level in self.levels.values())


@dataclass(frozen=True)
class Latency:
    """The median and the 95th percentile of a histogram."""

    p50: float
    p95: float
    evidence: Evidence


def served(
    tables: Sequence[Table], lines: Sequence[Line], settings: Settings, events: Sequence[Event]
) -> list[Finding]:
    """What the numbers of a server say."""
    servers = _servers(tables, lines)
    found = [f for f in (_queued(s, settings, events, servers) for s in servers) if f][:1]
    found = [of_training(f, lines, settings) for f in found]
    found += [f for f in (_full(s, settings, events) for s in servers) if f][:1]
    return [*found, *_longer(tables)]


def _servers(tables: Sequence[Table], lines: Sequence[Line]) -> list[Server]:
    """The files in which requests are counted, the longest queue first."""
    found: dict[str, Server] = {}
    for line in lines:
        if (part := part_of(line.key)) and len(finite := line.finite()):
            level = _level(finite.values, finite.evidence(len(finite) - 1), part)
            found.setdefault(line.file, Server(line.file)).levels.setdefault(part, level)
    for table in tables:
        for column in table.of("measure"):
            part = part_of(column.name)
            keep = np.isfinite(column.values) if part and column.values.dtype.kind == "f" else np.zeros(0, bool)
            if part and keep.any():
                at = int(np.flatnonzero(keep)[-1])
                value = float(column.values[at])
                said = Evidence(table.file, int(table.lines[at]) or None, metric=column.name, value=value,
                                text=f"{column.name} {value:g}")  # fmt: skip
                level = _level(column.values[keep], said, part)
                found.setdefault(table.file, Server(table.file)).levels.setdefault(part, level)
    return sorted(found.values(), key=lambda s: -(s.value("waiting") or 0.0))


def part_of(name: str) -> str | None:
    """Which number of a server a name stands for."""
    said = plain(name)
    return next((part for part, pattern in PARTS.items() if pattern.search(said)), None)


def _level(values: np.ndarray, evidence: Evidence, part: str) -> Level:
    later = values[len(values) // 2 :]
    value = float(values[-1] - values[0] if part == "preempted" and len(values) > 1 else np.median(later))
    if part == "cache" and value > 1:
        value /= 100
    return Level(value, float((later > 0).mean()), evidence)


def _limit(settings: Settings, events: Sequence[Event]) -> tuple[float | None, float | None, tuple[Evidence, ...]]:
    """(limit, what it was before, where) of the requests that run at once, as settings and changes tell it."""
    change = next((e for e in reversed(events) if e.variable == LIMIT and _number(e.new) is not None), None)
    evidence = settings.sources(LIMIT)
    if change is not None:
        evidence = (Evidence(change.file, change.line, metric=LIMIT, value=change.new, text=change.text), *evidence)
    now = _number(settings.value(LIMIT))
    if now is None and change is not None:
        now = _number(change.new)
    before = _number(change.old) if change is not None and _number(change.new) == now else None
    return now, before, evidence


def _number(value: object) -> float | None:
    try:
        return None if isinstance(value, bool) else float(value)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        return None


def _queued(server: Server, settings: Settings, events: Sequence[Event], all_: Sequence[Server]) -> Finding | None:
    """Requests wait for a limit: the cache has room, nothing is thrown out of it."""
    waiting, running, cache = (server.value(part) for part in ("waiting", "running", "cache"))
    if waiting is None or cache is None or cache > EMPTY or (server.value("preempted") or 0) > 0:
        return None
    limit, before, where = _limit(settings, events)
    at_once = running if running is not None else limit
    long = waiting >= max(LEAST_WAITING, WAITING_SHARE * (at_once or 0)) and server.levels["waiting"].steady >= HELD
    if not long or (limit and running is not None and running < AT_LIMIT * limit):
        return None
    new = _raised(limit or at_once, before, waiting, cache)
    calm = next((s for s in reversed(all_) if s is not server and _calm(s, at_once)), None)
    said, said_zh = _as_before(before, limit), f"，此前为 {before:g}" if before else ""
    runs = f"{at_once:g} requests run" if at_once else "requests run"
    beside = f"; in {calm.file} {calm.value('running'):g} ran and none waited" if calm else ""
    beside_zh = f"；而 {calm.file} 中有 {calm.value('running'):g} 个在运行、无等待" if calm else ""
    return Finding(
        "requests-wait-at-limit", Severity.S1,
        f"{runs}{f', the limit {LIMIT} {limit:g}' if limit else ''}{said}, while {waiting:.0f} wait and the KV cache "
        f"is {cache:.0%} full with no preemption ({server.file}): the limit holds them back, not memory{beside}.",
        f"{f'{at_once:g} 个请求在运行' if at_once else '请求在运行'}{f'，上限 {LIMIT} 为 {limit:g}' if limit else ''}"
        f"{said_zh}，同时有 {waiting:.0f} 个在等待，而 KV 缓存只占 {cache:.0%} 且无抢占（{server.file}）："
        f"限制来自该上限，不是显存{beside_zh}。",
        (*server.evidence(), *where, *(calm.evidence()[:2] if calm else ())),
        {"waiting": waiting, "running": at_once, "limit": limit, "before": before, "cache": cache,
         **({PROPOSES: {"variable": LIMIT, "new": new, **_place(events, limit)}} if new else {})},
    )  # fmt: skip


def _as_before(before: float | None, limit: float | None) -> str:
    return f" (it was {before:g} before)" if before and before != limit else ""


def _calm(server: Server, at_once: float | None) -> bool:
    """Whether more requests ran there at once and none waited."""
    return server.value("waiting") == 0 and (server.value("running") or 0) > (at_once or 0)


def _raised(limit: float | None, before: float | None, waiting: float, cache: float) -> int | None:
    """The old limit where a larger one is known; else what the cache has room for and the queue needs."""
    if not limit or limit <= 0:
        return None
    if before and before > limit:
        return int(before)
    room = limit * min(FULL / max(cache, 0.01), MOST_RAISED)
    wanted = 2.0 ** math.ceil(math.log2(limit + waiting))
    new = 2 ** int(math.log2(min(room, wanted)))
    return new if new > limit else None


def _place(events: Sequence[Event], limit: float | None) -> dict[str, object]:
    """Where the value stands that is in force, as a change of it tells."""
    told = next((e for e in reversed(events) if e.variable == LIMIT and _number(e.new) == limit), None)
    return {"file": told.file, "line": told.line, "old": told.new} if told is not None else {}


def _full(server: Server, settings: Settings, events: Sequence[Event]) -> Finding | None:
    """The cache is full: requests wait for memory, or are thrown out and computed again."""
    waiting, cache, lost = (server.value(part) for part in ("waiting", "cache", "preempted"))
    if cache is None or cache < FULL or not ((lost or 0) > 0 or (waiting or 0) >= LEAST_WAITING):
        return None
    en = f"{waiting:.0f} requests wait" if waiting else "requests run"
    limit, _, where = _limit(settings, events)
    running = server.value("running")
    room = limit is not None and running is not None and running < AT_LIMIT * limit
    beside = f" ({running:.0f} run of {LIMIT} {limit:g})" if room else ""
    return Finding(
        "cache-full-requests-wait", Severity.S1,
        f"The KV cache is {cache:.0%} full, {en}{f', {lost:.0f} were preempted' if lost else ''} ({server.file}): "
        f"the cache holds them back{', not the limit' if room else ''}{beside}.",
        f"KV 缓存已用 {cache:.0%}，{f'{waiting:.0f} 个请求在等待' if waiting else '请求在运行'}"
        f"{f'，{lost:.0f} 个被抢占' if lost else ''}（{server.file}）：受限于缓存"
        f"{f'，而不是上限：运行中 {running:.0f} 个，{LIMIT} 为 {limit:g}' if room else ''}。",
        (*server.evidence(), *(where if room else ())),
        {"cache": cache, "waiting": waiting, "preempted": lost, "running": running, "limit": limit},
    )  # fmt: skip


def _longer(tables: Sequence[Table]) -> Iterator[Finding]:
    """The first token takes longer in one snapshot than in another, each further one does or does not."""
    by = {file: found for file, found in _histograms(tables).items() if len(found) == len(LATENCIES)}
    if len(by) < 2:
        return
    order = sorted(by, key=lambda file: by[file]["first token"].p95)
    fast, slow = by[order[0]], by[order[-1]]
    first, each = ((fast[name], slow[name]) for name in LATENCIES)
    grown, per_token = first[1].p95 / max(first[0].p95, 1e-9), each[1].p50 / max(each[0].p50, 1e-9)
    if grown < SLOWER or per_token > SAME:
        return
    yield Finding(
        "queue-before-first-token", Severity.S2,
        f"Time to first token: p50 {first[0].p50:.3g} s, p95 {first[0].p95:.3g} s in {order[0]}; p50 "
        f"{first[1].p50:.3g} s, p95 {first[1].p95:.3g} s in {order[-1]}. Time per output token: p50 "
        f"{each[0].p50:.3g} s then {each[1].p50:.3g} s, p95 {each[0].p95:.3g} s then {each[1].p95:.3g} s: "
        "decoding is as fast, requests wait before it.",
        f"首 token 耗时：{order[0]} 中 p50 {first[0].p50:.3g} s、p95 {first[0].p95:.3g} s，{order[-1]} 中 p50 "
        f"{first[1].p50:.3g} s、p95 {first[1].p95:.3g} s；每 token 耗时 p50 {each[0].p50:.3g} → "
        f"{each[1].p50:.3g} s、p95 {each[0].p95:.3g} → {each[1].p95:.3g} s：解码没有变慢，时间花在排队上。",
        (first[1].evidence, each[1].evidence, first[0].evidence, each[0].evidence),
        {"first_p95": [first[0].p95, first[1].p95], "each_p50": [each[0].p50, each[1].p50]},
    )  # fmt: skip


def _histograms(tables: Sequence[Table]) -> dict[str, dict[str, Latency]]:
    """File -> what is timed -> its percentiles."""
    out: dict[str, dict[str, Latency]] = {}
    for table in tables:
        bounds = next((c for c in table.columns if c.name == "le"), None)
        for column in table.of("measure") if bounds is not None else ():
            name = next((n for n, p in LATENCIES.items() if means(p, column.name)), None)
            if name and bounds is not None and column.name.endswith("_bucket"):
                latency = _percentiles(table, bounds, column)
                if latency is not None:
                    out.setdefault(table.file, {}).setdefault(name, latency)
    return out


def _percentiles(table: Table, bounds: Column, column: Column) -> Latency | None:
    """By the counts up to each bound, between bounds in proportion."""
    upto = np.array([_number(str(v).replace("+", "")) or np.nan for v in bounds.values.tolist()])
    keep = np.isfinite(column.values) & ~np.isnan(upto)
    order = np.argsort(upto[keep], kind="stable")
    x, counts = upto[keep][order], column.values[keep][order]
    if len(x) < 3 or counts[-1] < 20 or (np.diff(counts) < 0).any():
        return None
    finite = np.isfinite(x)
    if not finite.any():
        return None
    whole, x, within = float(counts[-1]), np.append(0.0, x[finite]), np.append(0.0, counts[finite])
    p50, p95 = (float(np.interp(share * whole, within, x)) for share in (0.5, 0.95))
    i = int(np.flatnonzero(keep)[order][0])
    said = Evidence(table.file, int(table.lines[i]) or None, metric=column.name.removesuffix("_bucket"), value=p95,
                    text=f"{column.name.removesuffix('_bucket')} p50 {p50:.3g} s, p95 {p95:.3g} s")  # fmt: skip
    return Latency(p50, p95, said)
