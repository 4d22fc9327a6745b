"""Verdicts of one table, one row an item or a judgement: whether they go by the order, by the judge, or by the length.

Both orders may stand in two columns, several judges in rows under each other, and lengths beside each verdict; of
tables that name which answer stood first, `..rows` and `..summed.items` tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import combinations
from math import sqrt

import numpy as np

from ...data.statistics import spearman, wilson
from ...findings import Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import ENOUGH, shown, texts
from ..line import means, plain
from ..summed.words import apart, kind_of
from .slots import SAYS

VERDICT = bounded(
    r"(?:^|_)(?:winner|verdict|won|preferred|preference|choice|judge?ment|decision|better)(?:_|$)|胜者|胜方|判定|裁决|结论|选择"
)
TURNED = bounded(r"first|second|swap|revers|flip|order|ab|ba|orig|pass|round|正序|反序|换序|交换|先|后|顺序")
"""What in the names of two columns of verdicts says that they differ in the order."""
OPENING = frozenset(("a", "1", "left", "first"))
SIZE = bounded(r"(?:^|_)(?:len|length|tokens?|chars?|words)(?:_|$)|长度|字数")
CLEAR, GAP, FOLLOWS = 3.0, 0.1, 0.3
"""Standard errors, least difference of shares, and rank correlation from which on it is told. Own judgement, but for
the correlation (000)."""
MOST = 8


def _words(table: Table, pattern: re.Pattern[str]) -> list[Column]:
    return [c for c in table.columns if c.values.dtype.kind == "O" and means(pattern, c.name)]


def two_orders(table: Table) -> Iterator[Finding]:
    """Verdicts on the same items in both orders, in two columns that name the place."""
    if len(table) < ENOUGH:
        return
    for one, two in combinations([c for c in _words(table, VERDICT) if TURNED.search(plain(c.name))][:MOST], 2):
        said = [[SAYS.match(plain(v)) for v in texts(c).tolist()] for c in (one, two)]
        places = [[m[1] if m else "" for m in some] for some in said]
        if any(sum(map(bool, some)) < 0.8 * len(some) for some in places):
            continue
        first = [[p in OPENING for p in some if p] for some in places]
        k, n = sum(map(sum, first)), sum(map(len, first))
        both = [(a in OPENING, b in OPENING) for a, b in zip(*places, strict=True) if a and b]
        share, stayed = k / n, sum(a == b for a, b in both)
        if abs(share - 0.5) < max(CLEAR * sqrt(0.25 / n), GAP):
            continue
        low, high = wilson(k, n)
        yield Finding(
            "verdicts-follow-order", Severity.S2,
            f"Of {n} verdicts in both orders ({one.name}, {two.name}) {share:.0%} (95%: {low:.0%} to "
            f"{high:.0%}) go to the "
            f"same place; in {stayed} of {len(both)} pairs the other answer wins after the swap.",
            f"两种顺序共 {n} 个评判（{one.name}、{two.name}）中有 {share:.0%}（95% 区间 {low:.0%} 到 "
            f"{high:.0%}）判给同一位"
            f"置；{len(both)} 对中有 {stayed} 对换序后胜者改变。",
            shown(table, [0, 1], one.name),
            {"share": share, "interval": [low, high], "flips": stayed, "pairs": len(both)},
        )  # fmt: skip
        return


def by_judge(table: Table) -> Iterator[Finding]:
    """Two sides of which one judge prefers the first and another the second."""
    verdicts, judges = _words(table, VERDICT), [c for c in table.columns if c.values.dtype.kind == "O"]
    judge = next((c for c in judges if c not in verdicts and (kind_of(c) == "judge" or c.of == "annotator")), None)
    if judge is None or not verdicts or len(table) < 2 * ENOUGH:
        return
    won, who = texts(verdicts[0]), texts(judge)
    sides = sorted(set(won.tolist()) - {"tie", "draw", "", "平局"})
    if (
        len(sides) != 2
        or not 2 <= len(names := sorted(set(who.tolist()))) <= MOST
        or any(SAYS.match(plain(s)) for s in sides)
    ):
        return
    kept = np.isin(won.astype(str), sides)
    of = {
        name: (int((won[kept & (who == name)] == sides[0]).sum()), int((kept & (who == name)).sum())) for name in names
    }
    of = {name: kn for name, kn in of.items() if kn[1] >= ENOUGH}
    yes = [n for n, (k, m) in of.items() if wilson(k, m)[0] > 0.5]
    no = [n for n, (k, m) in of.items() if wilson(k, m)[1] < 0.5]
    if not yes or not no or apart(*of[yes[0]], *of[no[0]]) < CLEAR:
        return
    each = ", ".join(f"{n} {k / m:.1%} of {m}" for n, (k, m) in of.items())
    yield Finding(
        "ranking-follows-judge", Severity.S2,
        f"Who wins depends on {judge.name}: {sides[0]} against {sides[1]} wins {each}.",
        f"胜负取决于 {judge.name}：{sides[0]} 对 {sides[1]} 的胜率为 {each}。",
        shown(table, [int(np.flatnonzero(who == n)[0]) for n in (yes[0], no[0])], verdicts[0].name),
        {"wins": {n: k / m for n, (k, m) in of.items()}, "of": sides[0]},
    )  # fmt: skip


def by_length(table: Table) -> Iterator[Finding]:
    """Verdicts that name a place, and go to the longer of two answers that nothing else in the table tells apart."""
    if len(table) < 2 * ENOUGH:
        return
    sized = [c for c in table.columns if c.values.dtype.kind == "f" and means(SIZE, c.name)]
    for verdict in _words(table, VERDICT):
        places = [SAYS.match(plain(v)) for v in texts(verdict).tolist()]
        by = {
            m[1]: c
            for c in sized
            if (m := re.search(r"(?:^|_)(a|b|1|2|left|right|first|second)(?:_|$)", plain(c.name)))
        }
        pair = next(((by[x], by[y]) for x, y in (("a", "b"), ("1", "2"), ("left", "right"), ("first", "second"))
                     if x in by and y in by), None)  # fmt: skip
        if pair is None or sum(map(bool, places)) < 2 * ENOUGH:
            continue
        keep = np.array([bool(m) for m in places]) & np.isfinite(pair[0].values) & np.isfinite(pair[1].values)
        won = np.array([1.0 if m and m[1] in OPENING else -1.0 for m in places])[keep]
        rho = spearman((pair[0].values - pair[1].values)[keep], won)
        if rho < FOLLOWS or rho < CLEAR / sqrt(len(won)):
            continue
        longer = float(np.mean(np.sign((pair[0].values - pair[1].values)[keep]) == won))
        yield Finding(
            "verdicts-follow-length", Severity.S2,
            f"{verdict.name} goes to the longer of two answers in {longer:.0%} of {len(won)} pairs (rank "
            "correlation of "
            f"the difference in length and the verdict {rho:.2f}, runbook: below {FOLLOWS}).",
            f"{len(won)} 对中 {verdict.name} 有 {longer:.0%} 判给更长的回答（长度差与判定的秩相关 {rho:.2f}，"
            "Runbook：应低于 "
            f"{FOLLOWS}）。",
            shown(table, [0, 1], verdict.name), {"rho": rho, "longer": longer, "pairs": len(won)},
        )  # fmt: skip
        return


LOOKS: tuple[Callable[[Table], Iterator[Finding]], ...] = (two_orders, by_judge, by_length)
