"""What a table counts of its requests: how many were sent, and how many of them were not answered."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from ...patterns import bounded
from ...relate.line import means, plain
from ...tables.table import COUNTER, Column, Table
from .loads import ALL, AT_ONCE, FAILURES, GOOD, LOST

SENT = bounded(
    r"^(?:num_prompts|n?_?attempt(?:s|ed)|n_requests|reqs?|requests?(?:_count)?|prompts_sent)$|^(?:总)?请求(?:总)?数$"
)
DONE = bounded(r"^(?:done|responses)$")
"""What came back, whether it was an answer or an error."""
ANSWERED = bounded(r"^(?:answered|n_success(?:es)?|(?:status|http|code)_?(?:200|2xx)|2xx)$|^成功(?:请求)?数?$")
REFUSED = bounded(
    r"(?:^|_)(?:status|http|code)_?[45](?:\d\d|xx)$|^[45](?:\d\d|xx)$|^(?:rejected|dropped|rate_limited|n_fail\w{0,5})"
    r"(?:_requests)?$|^failures?(?:_count)?$|^失败(?:请求)?数?$|^错误数$"
)


PARTS = bounded(r"^\s{0,4}(\d{1,9})\s{0,4}/\s{0,4}(\d{1,9})(?!\d)")
SPEED = bounded(
    r"^(?:(?:avg|mean|output|gen\w*|decode|total|agg\w*|system|overall)_)?(?:tokens?_?(?:per|/)_?s(?:ec(?:ond)?)?|tps|tok_s"
    r"|toks_per_s)(?:ec)?$|(?:output|token|generation)_throughput|每秒token"
)
EACH = bounded(
    r"^(?:(?:mean|avg|median|p50)_)?(?:tpot|itl|inter_token_latency|time_per_output_token)(?:_(?:p50|mean|avg|median))?"
    r"(?:_(?:ms|s))?$"
)
RUNS = 0.5
"""Share of the requests that may run at once, from which on they do. Own judgement."""


class Counted(NamedTuple):
    """The requests of each row of a table."""

    table: Table
    sent: np.ndarray
    """(n,) requests."""
    lost: np.ndarray
    """(n,) of them not answered."""
    of: str
    """The column that counts them."""
    agrees: bool
    """Whether its counts add up."""
    seen: bool = True
    """Whether failures are counted, and not only excluded by how many ran at once."""


def column(table: Table, *what: re.Pattern[str]) -> Column | None:
    """The first column of numbers of such a name, none of them missing."""
    return next(iter(_columns(table, *what)), None)


def _columns(table: Table, *what: re.Pattern[str]) -> list[Column]:
    numbers = [c for c in table.columns if c.values.dtype.kind == "f" and any(means(w, c.name) for w in what)]
    return [c for c in numbers if np.isfinite(c.values).all()]


def counted(table: Table) -> Counted | None:
    """None where nothing counts what was sent, or nothing what was lost: that no failure is written shows none; nor of
    counters that go on from row to row."""
    every, done, good, lost = (_columns(table, *w) for w in ((ALL, SENT), (DONE,), (GOOD, ANSWERED), (LOST, REFUSED)))
    good = [c for c in good if c not in every]
    of = next(iter((*every, *done, *good)), None)
    if (parts := _parts(table)) is not None:
        return parts
    if of is None or (len(table) > 1 and COUNTER.search(of.name)):
        return None
    if not (lost or (every and good)):
        busy = of in every and _busy(table, of)
        return Counted(table, of.values, np.zeros(len(table)), of.name, agrees=True, seen=False) if busy else None
    lost = [c for c in lost if means(FAILURES, c.name)][:1] or lost
    failed = np.sum([c.values for c in lost], axis=0) if lost else of.values - good[0].values
    sent = of.values + failed if of in good else of.values
    agrees = all(np.array_equal(c.values, sent - failed) for c in good) and not (failed < 0).any()
    agrees &= all(np.array_equal(c.values, sent) or np.array_equal(c.values, sent - failed) for c in done)
    return Counted(table, sent, failed, of.name, bool(agrees))


def _parts(table: Table) -> Counted | None:
    """Failures that are written as parts of what was sent: `6/190`, `49/402 (12%)`."""
    for c in table.columns if len(table) else ():
        if c.values.dtype.kind == "O" and (means(LOST, c.name) or means(REFUSED, c.name)):
            found = [m for v in c.values.tolist() if (m := PARTS.search(str(v)))]
            if len(found) == len(table):
                lost, sent = (np.array([float(m[i]) for m in found]) for i in (1, 2))
                return Counted(table, sent, lost, c.name, bool((lost <= sent).all()))
    return None


def _busy(table: Table, sent: Column) -> bool:
    """Whether as many requests ran at once as were let: tokens in a second, times the time of each, are the requests
    that get tokens. A server that loses requests has fewer."""
    speed, load, each = (column(table, what) for what in (SPEED, AT_ONCE, EACH))
    if speed is None or load is None or each is None:
        return False
    unit = 1e-3 if each.unit == "ms" or plain(each.name).endswith("_ms") else 1.0
    share = speed.values * each.values * unit / np.minimum(load.values, sent.values)
    return bool(((share >= RUNS) & (share <= 1 / RUNS)).all())
