"""An inventory of cards in which one alone counts errors that its memory could not correct.

Errors that were corrected are usual; one that was not has ended whatever ran on the card. Counters of many cards say
something of the counting, and are left alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table

UNCORRECTED = bounded(
    r"(?i)(?:^|[_.\s-])(?:uncorr\w*|un_?correct\w*|ue|dbe|double[ _-]?bit\w*)(?:[_.\s-]|$)|不可纠正|双比特"
)
RATE = bounded(r"(?i)rate|threshold|limit|阈值")
ALIKE = 4
"""Cards of an inventory from which on one can differ from the others."""
FEW = 8
"""One in so many may have errors."""


def faulty(tables: Sequence[Table]) -> list[Finding]:
    """The card whose errors the memory could not correct, where the others have none."""
    for table in tables:
        columns = [c for c in table.columns if UNCORRECTED.search(c.name) and not RATE.search(c.name)]
        for column in columns if ALIKE <= len(table) <= 5000 else ():
            if column.values.dtype.kind == "f" and (found := _judged(table, column)) is not None:
                return [found]
    return []


def _judged(table: Table, column: Column) -> Finding | None:
    counts = np.nan_to_num(column.values)
    bad = np.flatnonzero(counts > 0)
    if not 0 < len(bad) <= max(1, len(table) // FEW) or (counts < 0).any():
        return None
    names = [" ".join(f"{c.name} {_plain(c, i)}" for c in _labels(table, column)[:2]) for i in bad.tolist()]
    said = ", ".join(f"{name}: {counts[i]:g}" for name, i in zip(names, bad.tolist(), strict=True))
    return Finding(
        "card-with-faults", Severity.S1,
        f"{column.name} in {table.file} is above 0 on {len(bad)} of {len(table)} rows alone ({said}): errors that the "
        "memory of that card could not correct.",
        f"{table.file} 的 {column.name} 只有 {len(table)} 行中的 {len(bad)} 行大于 0（{said}）："
        "该卡显存出现了不可纠正的错误。",
        tuple(Evidence(table.file, int(table.lines[i]) or None, metric=column.name, value=float(counts[i]))
              for i in bad.tolist()[:3]),
        {"cards": len(table), "bad": len(bad), "names": names},
    )  # fmt: skip


def _labels(table: Table, column: Column) -> list[Column]:
    return [c for c in table.columns if c is not column and c.role in ("group", "identifier", "axis")]


def _plain(column: Column, i: int) -> str:
    value = column.values[i]
    return f"{value:g}" if isinstance(value, float) else str(value)
