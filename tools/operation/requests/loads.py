"""Load tests of a server: whether the requests that run at once are served at once.

A server that answers each request as fast as a lone one, and yet only a small part of what so many at once could be,
does not run them together: they are put in a row, or lost. What its own metrics say is `serving`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...relate.line import means
from ...tables.table import Column, Table

ALL = bounded(r"(?:^|_)(?:total|num|n|sent|all)_?(?:requests|queries|calls)$|(?:^|_)requests_(?:total|sent)$")
LOST = bounded(r"(?:^|_)(?:failed|failures|errors?|timeouts?|timed_out)_?(?:requests|queries|calls|count|total)?$")
FAILURES = bounded(r"(?:^|_)(?:failed|failures|total_errors)_?(?:requests|queries|calls|count|total)?$")
"""One count of all that failed, whatever the reason."""
GOOD = bounded(r"(?:^|_)(?:successful|success|succeeded|completed|ok)_?(?:requests|queries|calls)?$")
AT_ONCE = bounded(
    r"(?:^|_)(?:concurrency|conc|concurrent_(?:users|requests|clients)|num_(?:users|clients|workers)|max_concurrency)$"
)
TIME = bounded(r"(?:^|_)(?:total_)?(?:duration|wall_time|elapsed|total_time|benchmark_duration)(?:_s|_sec|_seconds)?$")
LATENCY = bounded(
    r"(?:^|_)(?:avg|mean|average)_?latency(?:_s|_sec|_seconds)?$|(?:^|_)latency_?(?:avg|mean|average)(?:_s)?$"
)
FEW, SHARE = 10, 0.2
"""Requests of a test, and the share of them that fails, from which on it says something. Own judgement."""
FAILED, FAILS = 20, 0.03
"""Failed requests of a test, and their share of all, from which on a server fails at them. Own judgement."""
TOGETHER = 0.25
"""Share of what so many requests at once could reach, below which they are not run together. Own judgement."""


class Tried(NamedTuple):
    """Requests of a load test, in a row of a table."""

    table: Table
    row: int
    sent: float
    failed: float
    of: Column

    @property
    def share(self) -> float:
        return self.failed / self.sent


class Load(NamedTuple):
    """One load test."""

    table: Table
    row: int
    of: Column
    load: float
    done: float | None
    """Requests, or tokens of all, that were answered in a second; None where nothing tells."""
    by: str = ""
    """What says so."""

    def value(self, column: str) -> float:
        found = (c for c in self.table.columns if c.name == column and c.values.dtype.kind == "f")
        return next((float(c.values[self.row]) for c in found), np.nan)

    def place(self, column: str) -> Evidence:
        value = self.value(column)
        line = int(self.table.lines[self.row]) or None
        return Evidence(self.table.file, line, metric=column, value=value, text=f"{self.of.name} {self.load:g}")


def unserved(tables: Sequence[Table]) -> Iterator[Finding]:
    """The worst load test: many of its requests fail, or a good part does."""
    found = [t for table in tables if len(table) <= 50 for row in range(len(table)) if (t := _test(table, row))]
    worst = max(found, key=lambda t: t.share, default=None)
    if worst is None:
        return
    base = min(t.share for t in found) if len(found) > 1 else 0.0  # what fails whatever the load
    if worst.share - base >= SHARE:
        yield _told(worst)
    elif part := [t for t in found if t.failed >= FAILED and t.share >= FAILS]:
        yield _part(max(part, key=lambda t: t.share), part, len(found))


def _test(table: Table, row: int) -> Tried | None:
    """What a row says of its requests: failures of several kinds are added up."""
    sent, good = _number(table, row, ALL), _number(table, row, GOOD)
    lost = [] if sent is None else [*_numbers(table, row, LOST)]
    if sent is None or (not lost and good is None) or sent[1] < FEW:
        return None
    whole = next((one for one in lost if means(FAILURES, one[0].name)), None)
    failed = whole[1] if whole else sum(v for _, v in lost) if lost else sent[1] - good[1] if good else 0.0
    most = max(lost, key=lambda one: one[1]) if lost else good or sent
    return Tried(table, row, sent[1], failed, (whole or most)[0]) if 0 <= failed <= sent[1] else None


def _place(test: Tried) -> Evidence:
    value = float(test.of.values[test.row])
    return Evidence(test.table.file, int(test.table.lines[test.row]) or None, metric=test.of.name, value=value)


def _told(test: Tried) -> Finding:
    en, zh = _pace(test.table, test.row, test.sent - test.failed)
    return Finding(
        "load-not-served", Severity.S1,
        f"{test.failed:g} of {test.sent:g} requests of a load test failed ({test.share:.0%}){en}.",
        f"压测的 {test.sent:g} 个请求中有 {test.failed:g} 个失败（{test.share:.0%}）{zh}。",
        (_place(test),), {"failed": test.failed, "of": test.sent, "share": test.share},
    )  # fmt: skip


def _part(worst: Tried, part: Sequence[Tried], tests: int) -> Finding:
    """A good part of the requests fails; the same part in every test is one of the requests, not of the load."""
    low, high = min(t.share for t in part), worst.share
    near = low + max(2 * (high * (1 - high) / worst.sent) ** 0.5, 0.01)
    same = sum(t.share <= near for t in part) if len(part) == tests > 1 else 0
    beside = beside_zh = ""
    if same == tests:
        beside = f"; in each of {tests} tests it is {low:.0%} to {high:.0%}, whatever the load"
        beside_zh = f"；{tests} 次压测都在 {low:.0%} 到 {high:.0%} 之间，与负载无关"
    elif 2 * same > tests:
        beside = f"; in {same} of {tests} tests it is {low:.0%} to {near:.0%}, whatever the load"
        beside_zh = f"；{tests} 次压测中有 {same} 次在 {low:.0%} 到 {near:.0%} 之间，与负载无关"
    shown = [worst, *(t for t in sorted(part, key=lambda t: -t.sent) if t is not worst)][:4]
    return Finding(
        "requests-failed", Severity.S1,
        f"{worst.failed:g} of {worst.sent:g} requests of a load test failed ({worst.share:.1%}){beside}.",
        f"压测的 {worst.sent:g} 个请求中有 {worst.failed:g} 个失败（{worst.share:.1%}）{beside_zh}。",
        tuple(_place(t) for t in shown), {"failed": worst.failed, "of": worst.sent, "share": worst.share,
                                          "tests": len(part)},
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
    return next(_numbers(table, row, what), None)


def _numbers(table: Table, row: int, what: re.Pattern[str]) -> Iterator[tuple[Column, float]]:
    for column in table.columns:
        if column.values.dtype.kind == "f" and means(what, column.name) and np.isfinite(column.values[row]):
            yield column, float(column.values[row])
