"""A part of a training that is the slowest on one machine and on the next: it is its work that is slow, and not the
machine.

Told from rows of times by place, part (rank, stage, expert group) and machine, where one part was moved to another
machine on the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Evidence, Finding, Severity, clean
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means, plain

PART = bounded(r"(?:^|_)(?:rank|stage|member|worker|replica|slot)(?:_|$)|分片|序号")
HOST = bounded(r"(?:^|_)(?:host|hostname|node|nodename|machine|server)(?:_|$)|主机|节点|机器|服务器")
TIMES = ("ms", "s", "us", "µs")
"""Units of what takes long on the slow part."""
WAITING = bounded(r"wait|idle|bubble|等待|空闲")
"""What the others do meanwhile."""
SLOW, BEFORE, AFTER, PARTS, ROWS = 1.3, 1, 2, 4, 4096
"""Times the median of the others that it takes, places on the old and on the new machine, parts, and rows of a table
that are looked at. Own judgement."""


def stays_slow(tables: Sequence[Table]) -> Iterator[Finding]:
    """The first part that stays the slowest when its machine was changed."""
    for table in tables:
        part = next((c for c in table.of("group") if c.of == "rank" or means(PART, c.name)), None)
        host = next((c for c in table.of("group", "text") if c.of == "host" or means(HOST, c.name)), None)
        way = next((c for c in table.of("axis") if c.values.dtype.kind == "f"), None)
        if part is None or host is None or way is None or part is host or len(table) > ROWS:
            continue
        for column in table.of("measure"):
            if _timed(column) and (found := _judged(table, way, part, host, column)) is not None:
                yield found
                return


def _timed(column: Column) -> bool:
    """Whether it is what something took, and not what others waited meanwhile."""
    timed = column.unit in TIMES or plain(column.name).rpartition("_")[2] in TIMES
    return timed and column.values.dtype.kind == "f" and not means(WAITING, column.name)


def _judged(table: Table, way: Column, part: Column, host: Column, column: Column) -> Finding | None:
    parts, hosts = texts(part), texts(host)
    names = dict.fromkeys(parts.tolist())
    moved = [name for name in names if len({*hosts[parts == name].tolist()}) == 2]
    if len(names) < PARTS or not 0 < len(moved) <= len(names) // 2:
        return None
    for name in moved:
        mine = np.flatnonzero(parts == name)
        mine = mine[np.argsort(way.values[mine], kind="stable")]
        on = hosts[mine]
        at = int(np.flatnonzero(on != on[0])[0])
        others = [np.nanmedian(column.values[(way.values == way.values[i]) & (parts != name)]) for i in mine]
        times = column.values[mine] / np.maximum(others, 1e-12)
        around = times[max(0, at - BEFORE) :]
        if at < BEFORE or len(mine) - at < AFTER or not (around >= SLOW).all() or (on[at:] != on[at]).any():
            continue
        return _told(table, way, part, name, on, column, mine, at, times)
    return None


def _told(
    table: Table, way: Column, part: Column, name: str, on: np.ndarray, column: Column, mine: np.ndarray, at: int,
    times: np.ndarray,
) -> Finding:  # fmt: skip
    old, new = clean(str(on[0]), 40), clean(str(on[at]), 40)
    who, place = f"{part.name} {clean(name, 20)}", f"{way.values[mine[at]]:.10g}"
    return Finding(
        "slow-on-either-machine", Severity.S2,
        f"{who} takes {times[at - 1]:.2g} times the {column.name} of the others on {old}, and {times[at]:.2g} times on "
        f"{new}, from {way.name} {place} on: it is slow on either machine, so it is what it has to do, not where.",
        f"{who} 的 {column.name} 在 {old} 上是其他的 {times[at - 1]:.2g} 倍，自 {way.name} {place} 换到 {new} 后仍是 "
        f"{times[at]:.2g} 倍：换了机器照样慢，原因在它承担的工作，而不在机器。",
        tuple(Evidence(table.file, int(table.lines[i]) or None, metric=column.name, value=float(column.values[i]),
                       text=f"{who} {host}") for i, host in ((mine[at - 1], old), (mine[at], new), (mine[-1], new))),
        {"part": who, "hosts": [old, new], "times": [float(times[at - 1]), float(times[at])], "metric": column.name},
    )  # fmt: skip
