"""The same items judged in two files, and the same tasks scored for two models.

Of one file that holds both orders, `..rows` tells; here the passes lie in files of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means
from .slots import slots, won_by

WINNER = bounded(
    r"^(?:winner|verdict|preferred|preference|choice|won|winning_model|judg(?:e)?ment|better|胜者|判定|结论)$"
)
ITEM = bounded(r"^(?:id|uid|item|question|prompt|pair|example|sample|题号|编号)(?:_?id)?$")
SWAPPED = bounded(
    r"(?:^|[_\-./])(?:swap(?:ped)?|revers(?:e|ed)|rev|flip(?:ped)?|order_?\w?|ab|ba|bc|cb|pass_?\d|first|second|pos(?:ition)?\d?"
    r"|交换|换序|反序|反向)(?:[_\-./]|$)"
)
"""What in the name of a file says that the answers stand in another order there."""
LEAST, FLIPS, APART, CLEAR = 30, 0.1, 0.08, 3.0
"""Items that both have; share of them whose winner changes, by how much the share of wins does, and standard errors."""
MOST = 40
TASK = bounded(r"^(?:task|benchmark|dataset|subset|suite|eval|任务|评测集?|数据集)(?:_?name)?$")
SIZE = bounded(r"^(?:n|count|size|num_?(?:samples|items|examples|questions)|题数|样本数)$")
WHY = {
    True: ("the winner goes with the order in which the answers are shown", "胜者随回答的先后位置而变"),
    False: ("the verdict goes with the pass, not with the answers", "判定随评测批次而变，而不是随回答而变"),
}
WITHIN = 2.0
"""Standard errors within which two scores are one."""


@dataclass(frozen=True)
class Pass:
    """One file of verdicts."""

    table: Table
    winner: Column
    by: dict[str, str]
    """Item -> its winner."""
    first: dict[str, str]
    """Item -> the model that stood first, where columns say so."""


def _pass(table: Table) -> Pass | None:
    winner = next((c for c in table.columns if means(WINNER, c.name) and c.values.dtype.kind == "O"), None)
    item = next((c for c in table.columns if means(ITEM, c.name) and c.values.dtype.kind == "O"), None)
    if winner is None or item is None or len(table) < LEAST:
        return None
    won, pair = won_by(table, winner), slots(table)
    items = texts(item).tolist()
    by = dict(zip(items, (texts(winner) if won is None else won).tolist(), strict=True))
    first = dict(zip(items, texts(pair[0]).tolist(), strict=True)) if pair and won is not None else {}
    return Pass(table, winner, by, first) if len(by) == len(table) else None


def passes(tables: Sequence[Table]) -> Iterator[Finding]:
    """Two files that judge the same items, and winners that go to the other side in one of them."""
    found = [p for t in tables if (p := _pass(t)) is not None][:MOST]
    for one, other in combinations(found, 2):
        if one.table.file != other.table.file and (told := _told(one, other)) is not None:
            yield told
            return


def _told(one: Pass, other: Pass) -> Finding | None:
    shared = [i for i in one.by if i in other.by]
    sides = sorted({one.by[i] for i in shared} & {other.by[i] for i in shared})
    if len(shared) < LEAST or not 2 <= len(sides) <= 3:
        return None
    changed = [i for i in shared if one.by[i] != other.by[i]]
    side = max(sides, key=lambda s: abs(sum(one.by[i] == s for i in shared) - sum(other.by[i] == s for i in shared)))
    gone, come = (sum(p.by[i] == side != q.by[i] for i in shared) for p, q in ((one, other), (other, one)))
    a, b = (sum(p.by[i] == side for i in shared) / len(shared) for p in (one, other))
    if len(changed) < FLIPS * len(shared) or abs(a - b) < APART or abs(gone - come) < CLEAR * sqrt(gone + come):
        return None
    names = [p.table.file.rpartition("/")[2] for p in (one, other)]
    swapped = any(SWAPPED.search(n.rpartition(".")[0].lower()) for n in names) or _turned(one, other, shared)
    code = "verdicts-follow-order" if swapped else "verdicts-change-between-passes"
    why, zh = WHY[swapped]
    every = [sum(w == side for w in p.by.values()) / len(p.by) for p in (one, other)]
    return Finding(
        code, Severity.S2,
        f"On {len(shared)} items that {names[0]} and {names[1]} both judge, {side} wins {a:.1%} in the first and "
        f"{b:.1%} in the second; {len(changed)} change their winner ({len(changed) / len(shared):.1%}), "
        f"{max(gone, come)} of them one way: {why}. Over all items {side} wins {every[0]:.1%} and {every[1]:.1%}.",
        f"{names[0]} 与 {names[1]} 都评判的 {len(shared)} 题中，{side} 在前者胜率 {a:.1%}，在后者 {b:.1%}；"
        f"{len(changed)} 题换了胜者（{len(changed) / len(shared):.1%}），其中 {max(gone, come)} 题方向相同：{zh}。"
        f"各自全部题目上 {side} 胜率为 {every[0]:.1%} 和 {every[1]:.1%}。",
        tuple(_place(p, changed[0]) for p in (one, other)),
        {"shared": len(shared), "shares": [a, b], "flips": len(changed), "flip_share": len(changed) / len(shared),
         "gap": abs(a - b), "one_way": max(gone, come), "side": side},
    )  # fmt: skip


def _turned(one: Pass, other: Pass, shared: Sequence[str]) -> bool:
    """Whether the columns say that another model stood first in the other file."""
    other_first = [i for i in shared if i in one.first and i in other.first and one.first[i] != other.first[i]]
    return len(other_first) > 0.9 * len(shared)


def _place(one: Pass, item: str) -> Evidence:
    i = list(one.by).index(item)
    return Evidence(one.table.file, int(one.table.lines[i]) or None, metric=one.winner.name, text=one.by[item])


def tasks_alike(table: Table) -> Iterator[Finding]:
    """Two models that score the same on every task, by the size of each."""
    task = next((c for c in table.columns if means(TASK, c.name)), None)
    size = next((c for c in table.columns if means(SIZE, c.name) and c.values.dtype.kind == "f"), None)
    scores = [c for c in table.columns if c is not size and c.role == "measure" and c.values.dtype.kind == "f"
              and np.isfinite(c.values).all() and (c.values >= 0).all() and (c.values <= 100).all()]  # fmt: skip
    if task is None or size is None or len(scores) != 2 or not 2 <= len(table) <= 60 or not (size.values >= 20).all():
        return
    scale = 100.0 if max(float(c.values.max()) for c in scores) > 1 else 1.0
    p, q = (c.values / scale for c in scores)
    error = np.sqrt((p * (1 - p) + q * (1 - q)) / size.values)
    if not (np.abs(p - q) < WITHIN * np.maximum(error, 1e-9)).all():
        return
    a, b = (c.name for c in scores)
    most = float(np.abs(p - q).max() * scale)
    yield Finding(
        "tasks-score-alike", Severity.S3,
        f"{a} and {b} score the same on all {len(table)} tasks of {table.file}, at most {most:.2g} apart, which is "
        "within the noise of their sizes.",
        f"{a} 与 {b} 在 {table.file} 的 {len(table)} 个任务上得分持平，最多相差 {most:.2g}，在题数的噪声之内。",
        tuple(Evidence(table.file, int(table.lines[i]) or None, metric=c.name, value=float(c.values[i]))
              for i, c in enumerate(scores)),
        {"tasks": len(table), "most": most},
    )  # fmt: skip
