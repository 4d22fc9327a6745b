"""Requests of a server that are the same ones again: clients that give up too soon and send anew multiply its load.

Read from a table with a row for each request and the number of its attempt, or from counts of retries beside those of
requests along a way. A server at its limit answers late, its clients give up and ask again, and what was offered grows
by the attempts, not by users: more of them at once, or more cards, are filled as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...findings import Evidence, Finding, Severity, declare
from ...patterns import bounded
from ...relate.distributions import texts
from ...relate.line import means, place
from ...tables.table import Column, Table
from .worsening import of_time

CHECK = "requests of a server"
CODES = declare(
    "requests", ("retries-multiply-load", CHECK, "a large part of what a server is asked are retries of requests")
)
ATTEMPT = bounded(
    r"^(?:x_)?(?:attempts?|tries|try|retry|retries|retry_?count|n_?retries|num_?retries)(?:_(?:no|num|number|idx|index|count|n|seq))?$"
    r"|^(?:重试次数|第几次|尝试次数|尝试)$"
)
"""Which attempt at a request a row is."""
RETRIES = bounded(
    r"^(?:n_|num_|total_)?(?:retries|retried|retry)(?:_(?:reqs?|requests|count|total|n|s|per_s|per_min|rps))?$"
    r"|^重试数?$"
)
REQUESTS = bounded(
    r"^(?:n_|num_|total_)?(?:req(?:uest)?s?|calls|received|offered|arrivals)"
    r"(?:_(?:in|total|count|n|s|per_s|per_min|in_s|rps))*$|^(?:rps|qps)$|^请求数?$"
)
"""Counts along a way: of them the retries."""
STATUS = bounded(r"^(?:http_)?(?:status|code|result|outcome)(?:_code)?$|状态码?|结果")
GAVE_UP = bounded(r"(?i)\b(?:499|408|504)\b|client.?clos|cancel|abort|time.?out|deadline|disconnect|超时|取消|断开")
"""What says of a request that its client did not wait for it."""
ROWS, PARTS, MOST, DAY = 200, 24, 50, 172_800
"""Requests of a table at least, parts of its way in which they are counted, attempts at one at most, seconds up to
which a time is a clock."""
MANY, FEW, WIDE, EVEN = 0.25, 0.1, 3, 0.95
"""Share of retries that multiplies the load, the share before, parts that are over it at the end, and how many second
attempts there are for each first one where all are made by plan. Own judgement."""


class Counted(NamedTuple):
    """Requests and retries in each part of a way."""

    table: Table
    axis: Column | None
    requests: np.ndarray
    retries: np.ndarray
    starts: np.ndarray
    """(parts,) first row of each."""
    gave_up: np.ndarray
    """(parts,) share of the requests whose client did not wait; NaN where nothing says so."""
    span: np.ndarray
    """(parts,) what of the way each takes."""
    name: str


def retried(tables: Sequence[Table]) -> Iterator[Finding]:
    """The first table in which a large part of the requests are retries, to the end of its way."""
    for table in tables:
        for counted in (_by_row(table), _by_count(table)):
            if counted is not None and (found := _judged(counted)) is not None:
                yield found
                return


def _by_row(table: Table) -> Counted | None:
    """A row for each request."""
    numbers = [c for c in table.columns if c.values.dtype.kind == "f" and np.isfinite(c.values).all()]
    column = next((c for c in numbers if means(ATTEMPT, c.name)), None)
    if column is None or len(table) < ROWS:
        return None
    tries, first = column.values, float(column.values.min())
    whole = (tries == np.floor(tries)).all() and first in (0.0, 1.0) and tries.max() <= first + MOST
    if not whole or (np.diff(tries) >= 0).all() or not any(of_time(c.name) for c in table.columns):
        return None  # a counter, or nothing that a server answers
    each = np.unique(tries, return_counts=True)[1]
    if len(each) > 1 and each[1] > EVEN * each[0]:
        return None  # several answers to each question
    axis, cuts = _axis(table), np.linspace(0, len(table), PARTS + 1).astype(int)
    parts = list(pairwise(cuts.tolist()))
    counts = np.array([float(b - a) for a, b in parts])
    again = np.array([float((tries[a:b] > first).sum()) for a, b in parts])
    span = counts if axis is None else np.array([float(axis.values[b - 1] - axis.values[a]) for a, b in parts])
    return Counted(table, axis, counts, again, cuts[:-1], _gave_up(table, parts), span, column.name)


def _gave_up(table: Table, parts: Sequence[tuple[int, int]]) -> np.ndarray:
    status = next((c for c in table.columns if c.values.dtype.kind == "O" and means(STATUS, c.name)), None)
    if status is None:
        return np.full(len(parts), np.nan)
    gone = np.array([GAVE_UP.search(str(v)) is not None for v in texts(status).tolist()])
    return np.array([float(gone[a:b].mean()) for a, b in parts])


def _by_count(table: Table) -> Counted | None:
    """A row for each stretch of the way, with counts."""
    numbers = [c for c in table.columns if c.values.dtype.kind == "f"]
    retries = next((c for c in numbers if means(RETRIES, c.name)), None)
    asked = next((c for c in numbers if means(REQUESTS, c.name) and c is not retries), None)
    axis = _axis(table)
    if retries is None or asked is None or axis is None or len(table) < 2 * WIDE:
        return None
    a, b = asked.values, retries.values
    if not (np.isfinite(a).all() and np.isfinite(b).all() and (b <= a).all() and (a > 0).all() and (b >= 0).all()):
        return None
    if (np.diff(b) >= 0).all() and (np.diff(a) >= 0).all():
        return None  # totals since the start
    n = len(table)
    return Counted(table, axis, a, b, np.arange(n), np.full(n, np.nan), np.ones(n), retries.name)


def _axis(table: Table) -> Column | None:
    some = (c for c in table.of("axis") if c.values.dtype.kind == "f" and np.isfinite(c.values).all())
    return next((c for c in some if (np.diff(c.values) >= 0).all()), None)


def _judged(c: Counted) -> Finding | None:
    share = c.retries / c.requests
    over = share >= MANY / 2
    begin = len(over) - int(np.argmin(over[::-1])) if not over.all() else 0
    if len(over) - begin < WIDE or not over[-1]:
        return None
    late, early = slice(begin, None), slice(0, begin)
    after = float(c.retries[late].sum() / c.requests[late].sum())
    before = float(c.retries[early].sum() / c.requests[early].sum()) if begin else None
    if after < MANY or (before is not None and before > FEW):
        return None
    if before is None and not float(np.nan_to_num(c.gave_up).mean()) >= FEW:
        return None  # nothing says that anybody waited in vain
    return _told(c, begin, before, after)


def _told(c: Counted, begin: int, before: float | None, after: float) -> Finding:
    late, early = slice(begin, None), slice(0, begin)
    row = int(c.starts[begin])
    at = _clock(c.axis, row) if c.axis is not None else f"row {row + 1}"
    times = 1 / (1 - after)
    en, zh = f"From {at} on" if begin else "Throughout", f"从 {at} 起" if begin else "自始至终"
    was, was_zh = (f" ({before:.0%} before)", f"（此前 {before:.0%}）") if before is not None else ("", "")
    rates = [c.requests[p].sum() / max(float(c.span[p].sum()), 1e-9) for p in (early, late)] if begin and c.axis else []
    users = [r * (1 - s) for r, s in zip(rates, (before or 0.0, after), strict=False)]
    if rates and users[0] > 0:
        grown, new = rates[1] / rates[0], users[1] / users[0]
        en_rate = f"; all together {grown:.2g} times as many come in, first attempts {new:.2g} times"
        zh_rate = f"；请求总量为此前的 {grown:.2g} 倍，首次请求为 {new:.2g} 倍"
    else:
        en_rate = f": the load is {times:.2g} times that of the users"
        zh_rate = f"：负载是用户请求的 {times:.2g} 倍"
    gone = float(np.nanmean(c.gave_up[late])) if np.isfinite(c.gave_up[late]).any() else 0.0
    if gone >= FEW:
        en_rate += f"; {gone:.0%} end with their client gone"
        zh_rate += f"；其中 {gone:.0%} 客户端已断开或超时"
    return Finding(
        "retries-multiply-load", Severity.S1,
        f"{en} {after:.0%} of the requests are retries{was} ({c.name}){en_rate}.",
        f"{zh}，{after:.0%} 的请求是重试{was_zh}（{c.name}）{zh_rate}。",
        (Evidence(c.table.file, int(c.table.lines[row]) or None, metric=c.name, value=after),),
        {"share": after, "before": before, "times": times, "gave_up": gone},
    )  # fmt: skip


def _clock(axis: Column, row: int) -> str:
    value = float(axis.values[row])
    if axis.of == "time" and 0 <= value < DAY:
        return f"{int(value // 3600) % 24:02d}:{int(value // 60) % 60:02d}:{int(value) % 60:02d}"
    return re.sub(r"^time ", "", place(axis.of or axis.name, value))
