"""Rows that carry an error of the program in a field for it: a record of attempts, requests or trials, many of which
failed and the program went on.

What kind of error it is follows from its words; here it is only told how many rows there are and what most of them say.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ...findings import Evidence, Finding, Severity, clean
from ...patterns import bounded
from ...tables.table import Column, Table
from ..line import means

FIELD = bounded(
    r"(?:^|_)(?:error|exception|traceback|err)(?:_?(?:message|msg|text|info|detail|type))?$|^(?:错误|报错|异常|失败原因)"
)
SAID = bounded(
    r"(?i)tim(?:e|ed)[ _-]?out|exception|error|traceback|fail|refused|denied|killed|crash|abort"
    r"|out of memory|unavailable|\bhttp[ /:]{0,2}[45]\d\d\b|超时|失败|异常|错误|拒绝"
)
"""What a program says of what went wrong, unlike a kind of mistake in an answer."""
VERDICT = bounded(r"(?i)false[ _-](?:positive|negative)|misclassif|wrong (?:answer|label|class)|误报|漏报|误判|答错")
"""What is said of an answer that was given, whatever it is called."""
LEAST, SHARE = 3, 0.1
VARIES = re.compile(r"\d+|0x[0-9a-f]+|[A-Za-z]:\\\S+|/\S+", re.IGNORECASE)
"""What differs between two errors of one kind."""
SHOWN = 120


def failed_rows(table: Table) -> Iterator[Finding]:
    """A good part of the rows carries an error."""
    column = next((c for c in table.columns if c.values.dtype.kind == "O" and means(FIELD, c.name)), None)
    if column is not None and (found := _judged(table, column)) is not None:
        yield found


def _judged(table: Table, column: Column) -> Finding | None:
    cells = [(i, v) for i, v in enumerate(column.values.tolist()) if isinstance(v, str)]
    said = [(i, v) for i, v in cells if SAID.search(v[:400]) and not VERDICT.search(v[:400])]
    if len(said) < LEAST or len(said) < SHARE * len(table):
        return None
    kinds = Counter(VARIES.sub("#", v[:400]) for _, v in said)
    (kind, often), *_ = kinds.most_common(1)
    first, text = next((i, v) for i, v in said if VARIES.sub("#", v[:400]) == kind)
    shown = clean(text[:SHOWN])
    return Finding(
        "rows-carry-errors", Severity.S2,
        f"{len(said)} of {len(table)} rows of {table.file} carry an error in {column.name}; {often} of them like "
        f"\"{shown}\".",
        f"{table.file} 的 {len(table)} 行中有 {len(said)} 行的 {column.name} 带有错误；其中 {often} 行类似“{shown}”。",
        tuple(_at(table, i, v) for i, v in ((first, text), said[-1])),
        {"rows": len(table), "failed": len(said), "alike": often, "share": len(said) / len(table)},
    )  # fmt: skip


def _at(table: Table, i: int, text: str) -> Evidence:
    return Evidence(table.file, int(table.lines[i]) or None, text=clean(text[:200]))
