"""Jobs that gave way to others: one was ended by a signal on a machine on which, a moment later, another began that had
been handed in while the first still ran.

Read from a scheduler's account with a row for each job: its machines, when it was handed in, began and ended (seconds
since the epoch), and how it ended. A batch queue that lends idle machines does this by rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..findings import Evidence, Finding, Severity
from ..patterns import bounded
from ..relate.distributions import texts
from ..relate.line import means
from ..tables.table import Column, Table
from .jobs import JOB, MOST_JOBS, NODES, STATE, expanded

QUEUE = bounded(r"^(?:queue|partition|qos|priority_?class|tier|pool|队列|分区|优先级|资源池)(?:_?name)?$")
OWNER = bounded(r"^(?:user|owner|account|who|submitter|用户|提交人|账号)(?:_?name)?$")
ENDED = bounded(r"^(?:exit|exit_?(?:code|status)|rc|returncode|退出|退出码|返回码)$")
SUBMITTED = bounded(r"^(?:submit(?:ted)?|queued|enqueued|created|提交|排队|入队)(?:_?(?:at|time|时间))?$")
BEGAN = bounded(r"^(?:start(?:ed)?|begin|began|launched|开始|启动)(?:_?(?:at|time|时间))?$")
STOPPED = bounded(r"^(?:end(?:ed)?|finish(?:ed)?|stop(?:ped)?|结束|停止|终止)(?:_?(?:at|time|时间))?$")
SIGNALLED = bounded(
    r"(?i)^(?:143|137|130|129|-15|-9|0:15|0:9|15:0|143:0)(?:\.0)?$|preempt|evict|suspend|revoked|requeue|sigterm|terminated|抢占|驱逐"
)
GRACE, NEXT = 600.0, 120.0
"""Seconds before the end within which the other job was handed in, and after it within which that began. Ours."""
LEAST = 2
"""Times that it happened, from which on it is no coincidence; once is enough where the rule itself is written down."""


class Ran(NamedTuple):
    """One job of the account, times in seconds since the epoch."""

    row: int
    name: str
    queue: str
    owner: str
    nodes: frozenset[str]
    handed_in: float
    began: float
    ended: float
    signalled: bool


def gave_way(tables: Sequence[Table]) -> Iterator[Finding]:
    """The jobs of an account that were ended for another one, where that happened again or is the rule."""
    for table in tables:
        pairs = [*_pairs(_jobs(table))]
        if not pairs:
            continue
        rule = next((r for t in tables if t is not table for r in _rules(t, *pairs[0])), None)
        if len(pairs) >= LEAST or rule is not None:
            yield _told(table, pairs, rule)
            return


def _jobs(table: Table) -> list[Ran]:
    """The rows of an account; none where a column is missing."""
    if not 2 <= len(table) <= MOST_JOBS:
        return []
    nodes, end, start, handed = (_named(table, p) for p in (NODES, STOPPED, BEGAN, SUBMITTED))
    told = [texts(c) for p in (ENDED, STATE) if (c := _named(table, p)) is not None]
    times = [c.values for c in (handed, start, end) if c is not None and c.values.dtype.kind == "f"]
    if nodes is None or len(times) < 3 or not told:
        return []
    asked, began, ended = times
    job, queue, owner = (_cells(table, p) for p in (JOB, QUEUE, OWNER))
    where = texts(nodes)
    return [
        Ran(i, job[i], queue[i], owner[i], frozenset(expanded(str(where[i]))), float(asked[i]), float(began[i]),
            float(ended[i]), any(SIGNALLED.search(str(said[i]).strip()) for said in told))
        for i in range(len(table))
    ]  # fmt: skip


def _named(table: Table, pattern: re.Pattern[str]) -> Column | None:
    return next((c for c in table.columns if means(pattern, c.name) or pattern.search(c.name.strip().lower())), None)


def _cells(table: Table, pattern: re.Pattern[str]) -> list[str]:
    column = _named(table, pattern)
    return [""] * len(table) if column is None else [str(v) for v in texts(column)]


def _pairs(jobs: Sequence[Ran]) -> Iterator[tuple[Ran, Ran]]:
    """(job that was ended, job that came in its place)."""
    for one in jobs:
        for other in jobs if one.signalled and one.nodes else ():
            moments = one.began < other.handed_in <= one.ended and one.ended - other.handed_in <= GRACE
            follows = -1.0 <= other.began - one.ended <= NEXT
            apart = (one.queue, one.owner) != (other.queue, other.owner)
            if moments and follows and apart and one.nodes & other.nodes and np.isfinite(other.began):
                yield one, other
                break


def _rules(table: Table, one: Ran, other: Ran) -> Iterator[tuple[Table, int, str]]:
    """Rows of a list of queues in which the first job's queue names the other one's."""
    if not one.queue or not other.queue or len(table) > 200:
        return
    for i in range(len(table)):
        cells = [str(c.values[i]).strip() for c in table.columns if c.values.dtype.kind == "O"]
        others = re.compile(rf"(?<![\w-]){re.escape(other.queue)}(?![\w-])")
        if one.queue in cells and any(others.search(cell) for cell in cells if cell != one.queue):
            said = ", ".join(f"{c.name} {c.values[i]}" for c in table.columns[:8])
            yield table, i, said[:160]


def _told(table: Table, pairs: Sequence[tuple[Ran, Ran]], rule: tuple[Table, int, str] | None) -> Finding:
    one, other = pairs[-1]
    before, after = one.ended - other.handed_in, max(0.0, other.began - one.ended)
    node = min(one.nodes & other.nodes)
    queues = f" (queue {one.queue} / {other.queue})" if one.queue != other.queue else ""
    by = f"; {rule[0].file}:{int(rule[0].lines[rule[1]])} has it as a rule: {rule[2]}" if rule else ""
    by_zh = f"；{rule[0].file}:{int(rule[0].lines[rule[1]])} 写明了规则：{rule[2]}" if rule else ""
    places = [Evidence(table.file, int(table.lines[j.row]) or None, text=f"{j.name} {j.queue} {min(j.nodes)}"[:200])
              for pair in pairs[-2:] for j in pair]  # fmt: skip
    if rule:
        places.append(Evidence(rule[0].file, int(rule[0].lines[rule[1]]) or None, text=rule[2]))
    return Finding(
        "job-gave-way", Severity.S2,
        f"{one.name} was ended by a signal on {node}, where {other.name} had been handed in {before:.0f} s before and "
        f"began {after:.0f} s later{queues}; so it was {len(pairs)} times: the machine was taken back for another job, "
        f"the run itself did not fail{by}.",
        f"{one.name} 在 {node} 上被信号终止：{other.name} 在此前 {before:.0f} 秒提交、其后 {after:.0f} 秒在同一节点启动"
        f"{queues}，共发生 {len(pairs)} 次：机器被另一个作业抢占收回，训练本身没有出错{by_zh}。",
        tuple(places),
        {"times": len(pairs), "queue": one.queue, "for": other.queue, "node": node, "rule": rule[2] if rule else ""},
    )  # fmt: skip
