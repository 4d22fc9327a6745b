"""Of how many items the results of one table are: one row that has far fewer or more than all others, and results over
no item at all, by their own count or by the rows of the same file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import isfinite

import numpy as np

from ....findings import Evidence, Finding, Severity, clean
from ....patterns import bounded
from ....tables.table import Column, Table
from ...line import plain
from ...summed.words import TOTAL
from ..read import Row, count_of

ALIKE, SHARE, PART = 4, 0.6, 0.5
"""Rows of the same number of items, their share of the table, and the part of that number below which a row is of
another set. Own judgement."""
LEAST, FEW, NEAR, BOTH = 20, 5, 0.01, 2
SCORED = bounded(r"^(?:n_|num_|total_)?(?:scored|evaluated|judged|graded|rated|measured)(?:_\w{1,20})?$"
                 r"|^(?:已评|已评测|评分)(?:数|条数|数量|样本数)$")  # fmt: skip
"""How many items were scored at all."""


OF_CLASSES = bounded(r"(?:^|_)support$|支持数")
"""How many items a class has in a report: classes are of different sizes."""


def of_how_many(rows: Sequence[Row]) -> list[Finding]:
    """The row that is furthest from the others."""
    groups: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        if row.n and row.names and len(row.values) > 1 and not OF_CLASSES.search(plain(count_of(row.values) or "")):
            groups.setdefault((row.file, row.part, len(row.names)), []).append(row)
    found = [f for group in groups.values() for f in _apart(group)]
    return sorted(found, key=lambda f: (f.severity, f.data["n"] / f.data["usual"]))[:1]


def scored_nothing(rows: Sequence[Row]) -> list[Finding]:
    """A file of results that counts items, and none of them as scored."""
    files: dict[str, list[tuple[Row, str, float]]] = {}
    for row in rows:
        for name, value in row.values.items():
            if SCORED.search(plain(name)) and isfinite(value):
                files.setdefault(row.file, []).append((row, name, value))
    none = [some[0] for some in files.values() if not any(v for *_, v in some) and (some[0][0].n or 0) >= FEW]
    return [_nothing(*none[0][:2])] if none else []


def summed_to_nothing(tables: Sequence[Table]) -> list[Finding]:
    """A summary that counts the rows of its own file, and is 0 where they hold counts of the same names that are not:
    no sum, mean or maximum of theirs is 0. The names that it reads are not those that the rows have."""
    for whole in (t for t in tables if len(t) == 1):
        for rows in (t for t in tables if t.file == whole.file and len(t) >= FEW):
            counts = _counts(rows)
            said: dict[str, dict[str, Column]] = {}
            for column in whole.columns:
                if column.values.dtype.kind == "f" and np.isfinite(column.values[0]):
                    part, _, name = column.name.rpartition(".")
                    said.setdefault(part, {})[name] = column
            for part in (p for p in said.values() if any(c.values[0] == len(rows) for c in p.values())):
                zero = [(part[n], c) for n, c in counts.items() if n in part and part[n].values[0] == 0]
                if len(zero) >= BOTH:
                    return [_summed(whole, rows, zero)]
    return []


def _counts(rows: Table) -> dict[str, Column]:
    """The columns of whole numbers, none below 0, some above it, by the last part of their names."""
    numbers = [c for c in rows.columns if c.values.dtype.kind == "f"]
    return {
        c.name.rpartition(".")[2]: c
        for c in numbers
        if np.isfinite(c.values).all()
        and (c.values == np.round(c.values)).all()
        and c.values.min() >= 0 < c.values.sum()
    }


def _summed(whole: Table, rows: Table, zero: Sequence[tuple[Column, Column]]) -> Finding:
    each = ", ".join(f"{c.name} {c.values.sum():.0f}" for _, c in zero[:3])
    names, part = ", ".join(c.name for c, _ in zero[:3]), rows.part or "its rows"
    places = [Evidence(t.file, int(t.lines[0]) or None, metric=c.name, value=float(c.values.sum()))
              for pair in zero[:2] for t, c in zip((whole, rows), pair, strict=True)]  # fmt: skip
    return Finding(
        "scored-nothing", Severity.S1,
        f"{names} of the summary are 0 in {whole.file}, and its own {len(rows)} rows ({part}) hold {each} in all: the "
        "summary was not made from them, and says nothing of the model. It reads other names than the rows have?",
        f"{whole.file} 的汇总中 {names} 为 0，而同一文件的 {len(rows)} 行（{part}）合计 {each}：汇总不是由它们得出，"
        "不能说明模型好坏。是不是读取的字段名与行里的不同？",
        tuple(places), {"scored": 0, "of": len(rows)},
    )  # fmt: skip


def _nothing(row: Row, name: str) -> Finding:
    return Finding(
        "scored-nothing", Severity.S1,
        f"{name} is 0 of {row.n} in {clean(row.said, 90)}: nothing was scored, and its rates are over no item.",
        f"{clean(row.said, 90)} 的 {row.n} 条中 {name} 为 0：什么都没有评，其中的比率没有意义。",
        (row.evidence(name),), {"scored": 0, "of": row.n},
    )  # fmt: skip


def _sums_up(row: Row, whole: int) -> bool:
    """Whether a row is over the items of all others together, by its number or by its name."""
    rest = whole - (row.n or 0)
    return abs((row.n or 0) - rest) <= NEAR * rest or any(TOTAL.search(name) for name in row.names)


def _apart(group: Sequence[Row]) -> Iterator[Finding]:
    usual, often = Counter(row.n for row in group).most_common(1)[0]
    names = {row.names for row in group}
    if not usual or usual < LEAST or often < max(ALIKE, SHARE * len(group)) or len(names) < len(group):
        return
    whole = sum(row.n or 0 for row in group)
    away = [r for r in group if r.n and not PART <= r.n / usual < 1 / PART and not _sums_up(r, whole)]
    if not away or len(away) > len(group) - often:
        return
    row = min(away, key=lambda r: r.n or 0)
    less = (row.n or 0) < usual
    count = count_of(row.values)
    en = "what it scores is no comparison with theirs" if less else "some items count twice, or they are another set"
    zh = "它的分数不能与其他行比较" if less else "有的条目被算了多次，或不是同一份题"
    yield Finding(
        "answers-short-of-items", Severity.S2 if less else Severity.S3,
        f"{clean(row.said, 90)} is over {row.n} items, and {often} of {len(group)} rows of its table over {usual} "
        f"each: {en}.",
        f"{clean(row.said, 90)} 只有 {row.n} 条，而同表 {len(group)} 行中有 {often} 行各为 {usual} 条：{zh}。",
        (row.evidence(count), *(r.evidence(count_of(r.values)) for r in group if r.n == usual))[:2],
        {"n": row.n, "usual": usual, "rows": len(group)},
    )  # fmt: skip
