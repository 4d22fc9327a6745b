"""One member whose own work takes longer while the others wait for it by as much: the waiting is the echo.

In a synchronous training each step ends together, so what one rank or machine needs more for its own part comes back
as waiting (all-reduce, barrier) in all others, and in none of its own. A network that became slow would show in the
waiting of all, and in the work of none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...findings import Finding, Severity
from ...patterns import bounded
from ..line import plain
from ..moves import Move

WAITS = bounded(r"(?:^|_)(?:wait\w*|stall\w*|idle|barrier|sync|comm\w*|nccl|collectives?|all_?reduce|all_?gather"
                r"|reduce_?scatter|exposed)(?:_|$)|等待|通信|同步")  # fmt: skip
WORKS = bounded(r"(?:^|_)(?:compute|comp|forward|backward|fwd|bwd|fwdbwd|kernels?|gemm|matmul|work|busy|model)(?:_|$)"
                r"|计算|前向|反向|前后向")  # fmt: skip
CLOCKS = bounded(r"(?:^|_)(?:sm_?clock|gpu_?clock|clocks?|mhz|freq\w*)(?:_|$)|频率|主频")
NO_TIME = bounded(r"bytes|gb_?s|bandwidth|tflops|flops|util|percent|pct|ratio|share|count|loss|带宽|占比")
LEAST, SHARE = 3, 0.6
"""Members that there are at least, and the part of the others that must wait."""
ALIKE, CLEAR = (0.5, 1.6), 0.1
"""Their wait over what the one needs more, and the share of its own work that this is at least. Own judgement."""
Key = tuple[str, str]


def awaited(moves: Sequence[Move]) -> Iterator[Finding]:
    """The member for which the others wait; the clearest of a run."""
    sets = _sets(moves)
    found = [
        (grown, one, some, key)
        for key, works in sets.items()
        if _is(works, WORKS)
        for waits_key, waits in sets.items()
        if waits_key[0] == key[0] and _is(waits, WAITS)
        if (one := _alone(works)) and (grown := one.ends[1] - one.ends[0]) and (some := _waiting(one, waits, grown))
    ]
    if found:
        grown, one, some, key = max(found, key=lambda f: f[0])
        clocks = next(
            (m for k, s in sets.items() if k[0] == key[0] and _is(s, CLOCKS) and (m := _slowed(s, one))), None
        )
        yield _told(one, some, grown, len(sets[key]), clocks)


def _sets(moves: Sequence[Move]) -> Mapping[Key, Mapping[str, Move]]:
    """(where, what is measured) -> member -> its move; the logs of several ranks are one place."""
    out: dict[Key, dict[str, Move]] = {}
    for move in moves:
        line = move.line
        if line.group:
            place = "" if line.rank is not None else f"{line.file} {line.attempt}"
            out.setdefault((place, f"{line.name} {plain(line.key)}"), {}).setdefault(line.group, move)
    return {key: members for key, members in out.items() if len(members) >= LEAST}


def _is(members: Mapping[str, Move], what: re.Pattern[str]) -> bool:
    """Whether the measure is of a kind; what waits for others' work is no work."""
    line = next(iter(members.values())).line
    names = (line.name, plain(line.key))
    if what is not CLOCKS and any(NO_TIME.search(n) for n in names):
        return False
    if what is WORKS and any(WAITS.search(n) for n in names):
        return False
    return any(what.search(n) for n in names)


def _alone(works: Mapping[str, Move]) -> Move | None:
    """The one member whose work takes clearly longer at the end than at the beginning."""
    more = [m for m in works.values() if m.way == "rises" and m.ends[1] - m.ends[0] >= CLEAR * abs(m.ends[0])]
    others = [m for m in works.values() if m.way in ("flat", "unclear", "falls")]
    return more[0] if len(more) == 1 and len(others) == len(works) - 1 else None


def _waiting(one: Move, waits: Mapping[str, Move], grown: float) -> list[Move]:
    """The others that wait by about as much; empty where they are few, or the member waits too."""
    own = waits.get(one.line.group)
    if own is not None and own.way == "rises":
        return []
    others = [m for group, m in waits.items() if group != one.line.group]
    some = [m for m in others if m.way == "rises" and ALIKE[0] * grown <= m.ends[1] - m.ends[0] <= ALIKE[1] * grown]
    together = [m for m in some if _near(one, m)]
    return together if others and len(together) >= SHARE * len(others) else []


def _near(one: Move, other: Move) -> bool:
    """Whether both began at one place, where both have one."""
    if not one.lasting or not other.lasting:
        return True
    a, b = (float(m.line.x[m.lasting[0].i]) for m in (one, other))
    gap = float(np.median(np.diff(one.line.x))) if len(one.line) > 1 else 0.0
    return abs(a - b) <= max(5 * gap, 0.05 * float(one.line.x[-1] - one.line.x[0]))


def _slowed(clocks: Mapping[str, Move], one: Move) -> Move | None:
    """Its clock, where it falls and no other does."""
    mine = clocks.get(one.line.group)
    others = [m for group, m in clocks.items() if group != one.line.group]
    return mine if mine is not None and mine.way == "falls" and not any(m.way == "falls" for m in others) else None


def _told(one: Move, some: Sequence[Move], grown: float, members: int, clock: Move | None) -> Finding:
    i = one.lasting[0].i if one.lasting else 0
    first, last = one.ends
    wait = float(np.median([m.ends[1] - m.ends[0] for m in some]))
    slow = f", and its {clock.line.key} falls from {clock.ends[0]:.4g} to {clock.ends[1]:.4g}" if clock else ""
    slow_zh = f"，其 {clock.line.key} 从 {clock.ends[0]:.4g} 降到 {clock.ends[1]:.4g}" if clock else ""
    return Finding(
        "others-wait-for-one", Severity.S2,
        f"{one.line.key} of {one.line.group} alone rises from {first:.4g} to {last:.4g} from {one.line.where(i)} on"
        f"{slow}; {len(some)} of the {members - 1} others wait longer by about as much ({some[0].line.key} "
        f"+{wait:.3g}, against +{grown:.3g}): they wait for it.",
        f"只有 {one.line.group} 的 {one.line.key} 自{one.line.where(i)}起从 {first:.4g} 升到 {last:.4g}{slow_zh}；其余 "
        f"{members - 1} 个中有 {len(some)} 个的 {some[0].line.key} 多出约 {wait:.3g}（它多用 {grown:.3g}）：都在等它。",
        (one.line.evidence(i), some[0].line.evidence(len(some[0].line) - 1),
         *((clock.line.evidence(len(clock.line) - 1),) if clock else ())),
        {"group": one.line.group, "names": one.line.group, "before": first, "after": last, "wait": wait,
         "at": float(one.line.x[i]), "clock": clock is not None},
    )  # fmt: skip
