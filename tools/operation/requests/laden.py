"""Load tests of one server at several loads: from which load on its latency explodes.

A server that keeps up answers as fast under more load, or a little slower. Beyond what it can do the requests pile up:
the latency grows far more than the load, and what is answered in a second no longer grows with what is sent. The loads
are rows of one table or of one file each; of one model, with requests of one kind. A sweep over clients that wait for
their answers, or over several rates, ends in such a knee by its nature: that is a note.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from ...documents.stated import Stated
from ...findings import Finding, Severity
from ...patterns import bounded
from ...relate.line import Line, means, plain
from ...relate.reported.read import reported
from ...relate.reported.sides import held_against
from ...tables.table import Table
from .counted import SENT, column
from .loads import ALL, AT_ONCE, Load, unserved
from .tested import QUANTILE, sound
from .worsening import of_time

RATE = bounded(
    r"(?:^|_)(?:request_rate|req_rate|(?:target|offered|sent|arrival|send|input)_(?:rate|qps|rps|load)|arrivals?"
    r"|(?:qps|rps)_target)(?:_(?:rps|qps|req_s|s))?$|^(?:rate|qps|rps)$|请求速率|发送速率"
)
"""Requests that are sent in a second."""
DONE = bounded(
    r"(?:^|_)(?:request_throughput|req_throughput|(?:achieved|actual|measured|served|completed)_(?:rate|qps|rps)"
    r"|(?:requests?|reqs?)_(?:per_)?s(?:ec(?:ond)?)?)(?:_(?:rps|qps|req_s|reqs?_s))?$|请求吞吐"
)
"""Requests that are answered in a second."""
TOKENS = bounded(
    r"^(?:(?:total|output|out|gen(?:eration)?|decode|agg(?:regate)?|system|overall)_)?(?:tokens?_|tok_)?throughput(?:_mean|_avg)?"
    r"(?:_(?:tok(?:en)?s?_?(?:per_)?s(?:ec(?:ond)?)?|tps))?$|^(?:total_|agg(?:regate)?_|system_|output_)(?:tok(?:en)?s?_(?:per_)?s(?:ec(?:ond)?)?"
    r"|tps)$|^总?吞吐量?$"
)
"""Tokens of all requests in a second; a bare `tokens_per_second` may be that of one of them."""
LENGTHS = bounded(r"^(?:random_|mean_|avg_)?(?:input|output|prompt)_(?:len(?:gth)?|tokens)$")
SUMS = bounded(r"^total_(?:input|output|prompt|generated)_tokens$")
"""Tokens of all requests of a test."""
EXPLODES, BEYOND = 5.0, 2.0
"""Factor by which the latency grows from one load to the next, and by which it grows more than the load."""
ALONE = 10.0
"""The factor where nothing says how many requests were answered. Own judgement, as the two before."""
BEHIND = 0.75
"""Part of the load's growth that what is answered follows at most, in a server that no longer keeps up."""
SWEPT = 3
"""Loads from which on a row of them is a sweep, which is driven until the server can do no more."""
COLLAPSED = 0.8
"""Part of what was answered under less load, below which more load makes a server slower: no knee. Own judgement."""
TURNED, MOST = 1.2, 24
"""Factor between two loads that were chosen, and how many of them there are at most: more are what traffic brought."""
WHY = {
    "less": ("more requests at once make it slower than fewer", "同时的请求越多，总吞吐反而越低"),
    "knee": ("the knee of the sweep, beyond it requests pile up", "这是压测的拐点，再往上请求开始堆积"),
    "behind": ("the server no longer keeps up, and requests pile up", "服务已跟不上，请求开始堆积"),
}


def of_load_tests(tables: Sequence[Table], lines: Sequence[Line], stated: Sequence[Stated] = ()) -> list[Finding]:
    """What load tests say: those that fail or explode, and where none does, that they are sound."""
    over = [*unserved(tables), *overrun(tables)]
    if any(f.severity < Severity.S3 for f in over):
        return over
    kept = sum(1 for one in held_against(reported(tables, stated)) if not one.missed)
    return [*over, *sound(tables, lines, _groups(tables), kept)]


def _groups(tables: Sequence[Table]) -> list[list[Load]]:
    """The loads of each test that are compared."""
    kinds: dict[tuple[object, ...], list[Load]] = {}
    for table in tables:
        for row in range(len(table)) if len(table) <= MOST and not _of_time(table) else ():
            if (load := _load(table, row)) is not None:
                kinds.setdefault(_kind(load), []).append(load)
    return [group for loads in kinds.values() for group in _apart(loads)]


def overrun(tables: Sequence[Table]) -> Iterator[Finding]:
    """The latency of the slowest, or the one that grows most, between two loads where the server falls behind."""
    groups = _groups(tables)
    found = [step for loads in groups for step in _steps(loads)]
    if found:
        step = max(found, key=lambda step: (_collapsed(*step[:2]), _quantile(step[2]), step[3]))
        tried = next(loads for loads in groups if step[1] in loads)
        last = step[1].load == max(load.load for load in tried)
        knee = not means(RATE, step[1].of.name) or (last and len(tried) >= SWEPT)
        yield _told(*step, knee=knee and not _collapsed(*step[:2]))


def _apart(loads: list[Load]) -> list[list[Load]]:
    """The loads of one test each, where the same were tried in several tables."""
    if len({load.load for load in loads}) == len(loads):
        return [loads]
    tables: dict[int, list[Load]] = {}
    for load in loads:
        tables.setdefault(id(load.table), []).append(load)
    return [some for some in tables.values() if len(some) > 1]


def _collapsed(before: Load, after: Load) -> bool:
    """Whether less is answered under more load than before."""
    return before.done is not None and after.done is not None and after.done < COLLAPSED * before.done


def _quantile(name: str) -> int:
    """99 of a `p99`, 0 of a mean or a median: what the slowest wait is what people see."""
    return max((int(q) for q in QUANTILE.findall(plain(name))), default=0)


def _of_time(table: Table) -> bool:
    """Whether its rows are what a server measured of its traffic, one after the other."""
    way = (c for c in table.of("axis") if c.of in ("time", "step"))
    return len(table) > 1 and not all(means(RATE, c.name) or means(AT_ONCE, c.name) for c in way)


def _load(table: Table, row: int) -> Load | None:
    numbers = [c for c in table.columns if c.values.dtype.kind == "f" and np.isfinite(c.values[row])]
    done = next((c for p in (DONE, TOKENS) for c in numbers if means(p, c.name)), None)
    sent = next((c for p in (RATE, AT_ONCE) for c in numbers if means(p, c.name) and c is not done), None)
    if sent is None or sent.values[row] <= 0 or not any(of_time(c.name) for c in numbers):
        return None
    if done is None:
        return Load(table, row, sent, float(sent.values[row]), None)
    return Load(table, row, sent, float(sent.values[row]), float(done.values[row]), done.name)


def _kind(load: Load) -> tuple[object, ...]:
    """What must be the same in tests that are compared: the model, what else is named, and the requests' lengths."""
    said: list[object] = [plain(load.of.name)]
    for c in load.table.columns:
        if c.role == "group" or (c.values.dtype.kind == "f" and means(LENGTHS, c.name)):
            value = c.values[load.row]
            said.append((plain(c.name), str(value) if c.values.dtype.kind == "O" else f"{value:.2g}"))
    sent = column(load.table, SENT, ALL)
    for c in load.table.columns:
        if sent is not None and sent.values[load.row] > 0 and c.values.dtype.kind == "f" and means(SUMS, c.name):
            said.append((plain(c.name), f"{c.values[load.row] / sent.values[load.row]:.1g}"))
    return tuple(said)


def _steps(loads: Sequence[Load]) -> Iterator[tuple[Load, Load, str, float]]:
    """(load before, load at which it explodes, latency, its factor) of each latency that explodes."""
    order = sorted({load.load: load for load in loads}.values(), key=lambda load: load.load)
    if len(order) < len(loads):
        return  # one load was tried more than once: something else was turned
    for before, after in pairwise(order):
        for name in (c.name for c in after.table.columns):
            old, new = before.value(name), after.value(name)
            if of_time(name) and old > 0 and _over(before, after, new / old):
                yield before, after, name, new / old


def _over(before: Load, after: Load, factor: float) -> bool:
    grown = after.load / before.load
    if grown < TURNED:
        return False
    if before.done is None or after.done is None or before.done <= 0:
        return factor >= max(ALONE, BEYOND * grown)
    kept = (after.done / before.done - 1) <= BEHIND * (grown - 1)
    return kept and factor >= max(EXPLODES, BEYOND * grown)


def _told(before: Load, after: Load, name: str, factor: float, knee: bool) -> Finding:
    old, new = before.value(name), after.value(name)
    what = after.of.name
    known = before.done is not None and after.done is not None
    done = f", while {before.by} is {before.done:.4g} and then {after.done:.4g}" if known else ""
    done_zh = f"，而 {before.by} 为 {before.done:.4g}，随后 {after.done:.4g}" if known else ""
    why, zh = WHY["less" if _collapsed(before, after) else "knee" if knee else "behind"]
    return Finding(
        "latency-explodes-with-load", Severity.S3 if knee else Severity.S2,
        f"{name} is {old:.6g} at {what} {before.load:g} and {new:.6g} at {after.load:g} ({factor:.0f} times){done}: "
        f"{why}.",
        f"{what} 为 {before.load:g} 时 {name} 为 {old:.6g}，为 {after.load:g} 时为 {new:.6g}（{factor:.0f} 倍）"
        f"{done_zh}：{zh}。",
        (after.place(name), before.place(name)),
        {"metric": name, "before": old, "after": new, "load": [before.load, after.load],
         "done": [before.done, after.done]},
    )  # fmt: skip
