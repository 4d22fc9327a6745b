"""Tables with a row for each rank: which collective it entered last, of what kind and size."""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Evidence, Finding
from ...operation.collectives import MOST_RANKS, Place, compared
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means

NUMBER = bounded(r"(?i)(?:^|_)(?:coll\w{0,8}_)?seq(?:_?(?:num|no|id|uence))?\w{0,6}(?:_|$)|enqueued|(?:^|_)(?:last_)?(?:work|coll\w{0,8})_(?:id|no|num)"
                 r"|序号|第几次")  # fmt: skip
WHAT = bounded(r"(?i)(?:^|_)(?:op|op_?type|collective|coll|kind|operation|call)(?:_|$)|操作|算子|类型")
SIZE = bounded(r"(?i)numel|(?:^|_)(?:n_)?(?:elem\w{0,5}|size|bytes|count|shape)(?:_|$)|元素|大小|字节")
GROUP = bounded(r"(?i)^(?:pg|process_group|group|comm|communicator)(?:_|$)|进程组|通信组")


def entered(tables: Sequence[Table]) -> Iterator[Finding]:
    """What the tables say of the collectives of their ranks."""
    for table in tables:
        rank = table.get("rank")
        number = _named(table, NUMBER)
        if rank is None or number is None or number.values.dtype.kind != "f" or len(table) > MOST_RANKS:
            continue
        yield from compared([*_places(table, texts(rank), number)])


def _named(table: Table, pattern) -> Column | None:
    return next((c for c in table.columns if means(pattern, c.name)), None)


def _places(table: Table, ranks: np.ndarray, number: Column) -> Iterator[Place]:
    what, size, group = (_named(table, p) for p in (WHAT, SIZE, GROUP))
    cells = [np.full(len(table), "") if c is None or c is number else texts(c) for c in (what, size, group)]
    for i, said in enumerate(ranks.tolist()):
        if str(said).isdecimal() and np.isfinite(number.values[i]):
            text = f"rank {said} {number.name} {number.values[i]:.0f} {cells[0][i]} {cells[1][i]}".strip()
            yield Place(int(said), str(cells[2][i]), int(number.values[i]), str(cells[0][i]),
                        str(cells[1][i]).removesuffix(".0"),
                        Evidence(table.file, int(table.lines[i]) or None, rank=int(said), text=text))  # fmt: skip
