"""Counters of machines, cards and ports: whose grew while those of all others stood still.

Read from two snapshots of the same counters. A few errors that a memory corrected by itself are wear, and no fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from ..findings import Evidence, Finding, Severity
from ..patterns import bounded
from ..relate.distributions import texts
from ..relate.line import means, place
from ..tables.table import Column, Table

LINKS = bounded(
    r"(?:link|infiniband|(?:^|_)ib_|roce|rdma|symbol|port_(?:rcv|xmit|receive|transmit)|pcie|nvlink|retrans|crc)"
)
TAKEN = bounded(r"^(?:when|snapshot|sample|phase|before_after|taken|时刻|时间|采样|快照)$")
"""Columns that say when a row was read."""
FAULTS = bounded(r"(?:ecc|xid|retired|remapped|row_remap|throttl|thermal)")
CORRECTED = bounded(
    r"(?<!un)(?<!un_)correct(?:ed|able|ions?)|(?:^|_)(?:corr|ce|sbe)(?:_|$)|single_?bit|(?<!不)可纠正|已纠正|单比特"
)
MANY_CORRECTED = 1000
"""Errors that the memory corrected by itself up to which they are usual wear. Own judgement."""
COUNTS_UP = bounded(
    r"(?:_total|_count|errors?(?:_\w{1,10})?|discards|_downed|recover(?:y|ies)|events|volatile.{0,20}|aggregate.{0,20})$"
)
LEAST_KEYS, FEW, FAR_MORE = 4, 0.1, 5.0
"""Ports or cards from which on one is told from the others, the share of them that is one of few, and times that its
counter grew more than theirs."""


def counted(tables: Sequence[Table]) -> Iterator[Finding]:
    """Counters that grow from one snapshot to another on one port, card or machine alone."""
    told: set[str] = set()
    parts = [part for table in tables[:60] if LEAST_KEYS <= len(table) <= 20_000 for part in _snapshots(table)]
    for one, other in combinations(parts[:60], 2):
        same = (one.file, one.part) != (other.file, other.part) and [c.name for c in one.columns] == [
            c.name for c in other.columns
        ]
        for code, pattern in (("link-counters-grow", LINKS), ("fault-counters-grow", FAULTS)):
            if same and code not in told and (found := _grown(code, pattern, one, other)) is not None:
                told.add(code)
                yield found


def _snapshots(table: Table) -> list[Table]:
    """The first and the last rows of a table in which every port or card stands once at each of a few times."""
    when = next((c for c in table.columns if c.of == "time" or means(TAKEN, c.name)), None)
    if when is None:
        return [table]
    said = texts(when)
    times = list(dict.fromkeys(said.tolist()))
    ends = [said == times[0], said == times[-1]]
    if len(times) < 2 or ends[0].sum() != ends[1].sum() or ends[0].sum() < LEAST_KEYS:
        return [table]
    bare = replace(table, columns=tuple(c for c in table.columns if c is not when))
    told = [place("time", float(at)) if when.values.dtype.kind == "f" else at for at in (times[0], times[-1])]
    return [replace(bare.only(rows), part=f"{table.part} {at}".strip()) for rows, at in zip(ends, told, strict=True)]


def _said(table: Table) -> str:
    return f"{table.file} {table.part}".strip()


def _labels(table: Table) -> list[Column]:
    return [c for c in table.columns if not means(COUNTS_UP, c.name) and c.role != "axis"]


def _keys(table: Table) -> list[tuple[str, ...]]:
    labels = _labels(table)
    return list(zip(*(map(str, c.values.tolist()) for c in labels), strict=True)) if labels else []


def _named(table: Table, key: Sequence[str]) -> str:
    """What tells a row from the others, bare numbers behind the name of their column."""
    told = [(c.name, k) for c, k in zip(_labels(table), key, strict=True) if len({*map(str, c.values.tolist())}) > 1]
    return ", ".join(f"{name} {k}" if k.isdecimal() else k for name, k in told[:4]) or ", ".join(key[:4])


def _grown(code: str, pattern: re.Pattern[str], one: Table, other: Table) -> Finding | None:
    """The few rows whose counters differ while all others are as they were."""
    mine, theirs = ({k: i for i, k in enumerate(_keys(t))} for t in (one, other))
    both = [k for k in mine if k in theirs]
    if len(both) < LEAST_KEYS or len(mine) != len(one) or len(theirs) != len(other):
        return None
    moved: dict[tuple[str, ...], list[tuple[str, float, float]]] = {}
    for a, b in zip(one.columns, other.columns, strict=True):
        if a.values.dtype.kind == "f" and means(COUNTS_UP, a.name) and means(pattern, a.name):
            was, now = a.values[[mine[k] for k in both]], b.values[[theirs[k] for k in both]]
            for i in _far(now - was):
                moved.setdefault(both[i], []).append((a.name, float(was[i]), float(now[i])))
    if not moved or len(moved) > max(1, FEW * len(both)):
        return None
    if all(now < was for rows in moved.values() for _, was, now in rows):
        return _grown(code, pattern, other, one)
    key, rows = max(moved.items(), key=lambda found: (not _worn(found[1]), len(found[1])))
    named, said = _named(one, key), "; ".join(f"{name} {was:g} -> {now:g}" for name, was, now in rows[:4])
    places, rest = ((other, theirs[key], 2), (one, mine[key], 1)), len(both) - len(moved)
    worn = code == "fault-counters-grow" and _worn(rows)
    en, zh = (
        ("A few errors, all of them corrected, as wear has, of ", "少量且均已纠正、属正常损耗的错误：")
        if worn
        else ("", "")
    )
    return Finding(
        "corrected-errors-few" if worn else code, Severity.S3 if worn else Severity.S2,
        f"{en}{named}: {said} (from {_said(one)} to {_said(other)}), while the other {rest} hardly move.",
        f"{zh}{named}：{said}（{_said(one)} → {_said(other)}），其余 {rest} 个几乎没有变化。",
        tuple(Evidence(t.file, int(t.lines[i]) or None, metric=rows[0][0], value=rows[0][side],
                       text=f"{named} {said}"[:300]) for t, i, side in places),
        {"key": list(key), "grown": {name: [was, now] for name, was, now in rows}, "names": named},
    )  # fmt: skip


def _worn(rows: Sequence[tuple[str, float, float]]) -> bool:
    """Whether all that grew are errors that were corrected, and few of them."""
    return all(means(CORRECTED, name) and abs(now - was) <= MANY_CORRECTED for name, was, now in rows)


def _far(grown: np.ndarray) -> list[int]:
    """The few rows that grew far more than any of the others."""
    grown = np.nan_to_num(np.abs(grown) if (grown <= 0).all() else grown)
    usual = float(np.quantile(grown, 1 - FEW, method="lower"))
    return np.flatnonzero(grown > max(1, FAR_MORE * usual)).tolist()
