"""Load tests of a server: whether the requests that run at once are served at once.

A server that answers each request as fast as a lone one, and yet only a small part of what so many at once could be,
does not run them together: they are put in a row, or lost. What its own metrics say is `serving`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...relate.line import means
from ...tables.table import Column, Table

ALL = bounded(r"(?:^|_)(?:total|num|n|sent|all)_?(?:requests|queries|calls)$|(?:^|_)requests_(?:total|sent)$")
LOST = bounded(r"(?:^|_)(?:failed|failures|errors?|timeouts?|timed_out)_?(?:requests|queries|calls|count|total)?$")
GOOD = bounded(r"(?:^|_)(?:successful|success|succeeded|completed|ok)_?(?:requests|queries|calls)?$")
AT_ONCE = bounded(
    r"(?:^|_)(?:concurrency|concurrent_(?:users|requests|clients)|num_(?:users|clients|workers)|max_concurrency)$"
)
TIME = bounded(r"(?:^|_)(?:total_)?(?:duration|wall_time|elapsed|total_time|benchmark_duration)(?:_s|_sec|_seconds)?$")
LATENCY = bounded(
    r"(?:^|_)(?:avg|mean|average)_?latency(?:_s|_sec|_seconds)?$|(?:^|_)latency_?(?:avg|mean|average)(?:_s)?$"
)
FEW, SHARE = 10, 0.2
"""Requests of a test, and the share of them that fails, from which on it says something. Own judgement."""
TOGETHER = 0.25
"""Share of what so many requests at once could reach, below which they are not run together. Own judgement."""


def unserved(tables: Sequence[Table]) -> Iterator[Finding]:
    """The worst load test: many of its requests fail."""
    found = [f for table in tables if len(table) <= 50 for row in range(len(table)) if (f := _test(table, row))]
    yield from sorted(found, key=lambda f: -f.data["share"])[:1]


def _test(table: Table, row: int) -> Finding | None:
    sent, lost, good = (_number(table, row, what) for what in (ALL, LOST, GOOD))
    if sent is None or (lost is None and good is None) or sent[1] < FEW:
        return None
    failed = lost[1] if lost is not None else sent[1] - good[1] if good is not None else 0.0
    if not SHARE * sent[1] <= failed <= sent[1]:
        return None
    en, zh = _pace(table, row, sent[1] - failed)
    column = lost or good or sent
    place = Evidence(table.file, int(table.lines[row]) or None, metric=column[0].name, value=column[1])
    return Finding(
        "load-not-served", Severity.S1,
        f"{failed:g} of {sent[1]:g} requests of a load test failed ({failed / sent[1]:.0%}){en}.",
        f"压测的 {sent[1]:g} 个请求中有 {failed:g} 个失败（{failed / sent[1]:.0%}）{zh}。",
        (place,), {"failed": failed, "of": sent[1], "share": failed / sent[1]},
    )  # fmt: skip


def _pace(table: Table, row: int, answered: float) -> tuple[str, str]:
    """What is answered in a second against what so many requests at once could be, in both languages."""
    users, time, each = (_number(table, row, what) for what in (AT_ONCE, TIME, LATENCY))
    if users is None or time is None or each is None or min(users[1], time[1], each[1]) <= 0:
        return "", ""
    rate, could = answered / time[1], users[1] / each[1]
    if rate > TOGETHER * could:
        return "", ""
    said = f"{answered:g} / {time[1]:.4g} s = {rate:.2g}/s, {users[1]:g} / {each[1]:.3g} s = {could:.2g}/s"
    return (
        f"; those that were answered took {each[1]:.3g} s each, so {users[1]:g} at once could be {could:.2g} a second, "
        f"and {rate:.2g} a second came ({said}): they are not run together",
        f"；成功的请求每个用 {each[1]:.3g} 秒，并发 {users[1]:g} 本可达到每秒 {could:.2g} 个，实际每秒 {rate:.2g} 个"
        f"（{said}）：请求没有被一起执行",
    )


def _number(table: Table, row: int, what: re.Pattern[str]) -> tuple[Column, float] | None:
    """The first column of that name with a number in the row."""
    for column in table.columns:
        if column.values.dtype.kind == "f" and means(what, column.name) and np.isfinite(column.values[row]):
            return column, float(column.values[row])
    return None
