"""Results in which every item stands more than once, where files beside them have the same items once.

What was appended to an old file, or gathered twice, is counted twice: the scores over it are those of two runs. Several
answers to one item are drawn in all files alike; here another file of the same shape has each item once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ....findings import Evidence, Finding, Severity
from ....patterns import bounded
from ....tables.table import Table
from ...distributions import texts
from ...line import means

ITEM = bounded(
    r"^(?:id|uid|uuid|key|hash)$|^(?:题号|编号|样本编号)$"
    r"|(?:^|_)(?:item|question|prompt|example|sample|task|problem|unique|row|case|doc)_?(?:id|uid|key|hash|no|number)$"
)
SAMPLED = bounded(
    r"(?:^|_)(?:sample|trial|repeat|seed|run|attempt|turn|round|epoch|step|judge|annotator|rater|model|order|pass|task"
    r"|benchmark|split)(?:_?(?:id|idx|index|no|name))?$|轮次|次序|种子|模型"
)
"""What tells rows of one item apart on purpose."""
LEAST, MOST, COMMON = 20, 50_000, 0.8
"""Items, rows, and the share of items that another file has in common."""


class Items(NamedTuple):
    """A table by its items."""

    table: Table
    column: str
    times: Counter[str]

    @property
    def often(self) -> int:
        """How often each item stands there, 0 where it is not the same for all."""
        counts = set(self.times.values())
        return counts.pop() if len(counts) == 1 else 0


def counted_twice(tables: Sequence[Table]) -> Iterator[Finding]:
    """The first file that has every item several times and another once."""
    found = [i for t in tables if LEAST <= len(t) <= MOST and (i := _items(t)) is not None][:100]
    for one in (i for i in found if i.often > 1):
        for other in (i for i in found if i.often == 1):
            alike = one.table.file != other.table.file and one.table.part == other.table.part and _same(one, other)
            if alike and len(one.times.keys() & other.times.keys()) >= COMMON * len(one.times):
                yield _told(one, other)
                return


def _items(table: Table) -> Items | None:
    columns = [c for c in table.columns if means(ITEM, c.name)]
    if not columns or any(means(SAMPLED, c.name) for c in table.columns if c is not columns[0]):
        return None
    times = Counter(texts(columns[0]).astype(str).tolist())
    return Items(table, columns[0].name, times) if len(times) >= LEAST else None


def _same(one: Items, other: Items) -> bool:
    return {c.name for c in one.table.columns} == {c.name for c in other.table.columns}


def _told(one: Items, other: Items) -> Finding:
    said = texts(next(c for c in one.table.columns if c.name == one.column)).astype(str)
    again = np.flatnonzero(said == said[0])[:2].tolist()
    rows, n = len(one.table), len(one.times)
    places = [(int(one.table.lines[i]) or None, str(said[i])[:60]) for i in again]
    return Finding(
        "items-counted-twice", Severity.S2,
        f"{one.table.file} has {rows} rows of {n} items: each {one.column} stands there {one.often} times, and once in "
        f"{other.table.file}. Scores over it are those of {one.often} runs, or of rows that were appended again.",
        f"{one.table.file} 有 {rows} 行，却只有 {n} 个条目：每个 {one.column} 出现 {one.often} 次，而在 "
        f"{other.table.file} 中只出现一次。在它上面算的分数混了 {one.often} 次运行，或是重复追加的行。",
        tuple(Evidence(one.table.file, line, metric=one.column, text=text) for line, text in places),
        {"rows": rows, "items": n, "times": one.often},
    )  # fmt: skip
