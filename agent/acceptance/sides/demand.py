"""Whether a server was asked for less, so that what it puts out is no less capacity: demand is no supply.

A rate of tokens follows the requests that come in as long as none of them waits. Of a training nothing here is true:
it has no requests.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ....tools.operation.requests.serving import part_of
from ....tools.patterns import bounded
from ....tools.relate.line import Line, lines_of, means
from ...evidence import Look

PUT_OUT = frozenset(("tokens_per_second", "samples_per_second"))
"""Neighbours that a server has only as much of as it is asked for."""
COMES_IN = bounded(
    r"(?:^|_)(?:arrivals?|arriving|incoming|inbound|ingress|offered)(?:_|$)|(?:^|_)(?:req(?:uest)?s?|rps|qps)_in(?:_|$)"
    r"|(?:^|_)in_(?:rps|qps)(?:_|$)|^request_rate$|到达|入口|进入请求"
)
"""Names of the requests that come in; a rate of requests without such a word may be of those that are done."""
LESS = 0.9
"""Factor by which what is asked for falls at least."""
WAITS = 0.1
"""Waiting requests, as a share of those that run, up to which nobody waits for capacity."""
LATE = 0.25
"""Share of a course, at its end, whose level counts. Own judgement."""


def asked_less(before: Look, after: Look, put_out: float) -> bool:
    """Whether the next run was asked for less, by as much as explains a rate that is `put_out` of what it was."""
    old, new = (_levels(lines_of(look.table, look.tables)) for look in (before, after))
    came = [
        new[key] / old[key] for key in old.keys() & new.keys() if key not in ("running", "waiting") and old[key] > 0
    ]
    if came:
        return min(came) < LESS and put_out >= LESS * min(came)
    if not {"running", "waiting"} <= old.keys() & new.keys():
        return False
    return new["waiting"] <= WAITS * new["running"] and 0 < new["running"] < LESS * old["running"]


def _levels(lines: Iterable[Line]) -> dict[str, float]:
    """What comes in, runs and waits -> its median at the end; of several files the first, which is the longest."""
    found: dict[str, float] = {}
    for line in (x.finite() for x in lines):
        name = part_of(line.key) or (line.key if means(COMES_IN, line.key) else None)
        if name and not line.group and len(line):
            found.setdefault(name, float(np.median(line.values[-max(1, round(LATE * len(line))) :])))
    return {name: value for name, value in found.items() if name in ("running", "waiting") or means(COMES_IN, name)}
