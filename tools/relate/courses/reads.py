"""A record of what was read at each step that begins again in the middle: the same places in the same order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..line import plain
from .read import Course
from .resumed import joints

PLACE = bounded(
    r"(?:^|_)(?:file|shard|part|path|row|offset|doc|document|sample|samples|idx|index|ids?|cursor|pos|position|line|bin|chunk"
    r"|hash|digest|md5|sha1?|first|last)(?:_|$|\d)|文件|分片|行号?|样本|偏移|文档|游标|首条"
)
LEAST, SAME = 5, 0.9
"""Rows that repeat at least, and the share of the rows behind the restart that do."""


def reread(tables: Sequence[Table], found: Sequence[Course]) -> Iterator[Finding]:
    """Tables of reads along the steps of which the later rows are the first ones again, from a restart on."""
    for table in tables:
        axis = next((c for c in table.of("axis") if c.of == "step" and c.values.dtype.kind == "f"), None)
        if axis is None or not 2 * LEAST <= len(table) <= 100_000 or not (np.diff(axis.values) > 0).all():
            continue
        places = [c for c in table.columns if c is not axis and PLACE.search(plain(c.name)) and _many(c)]
        if not places:
            continue
        rows = list(zip(*(c.values.tolist() for c in places), strict=True))
        again = next((i for i in range(LEAST, len(rows) - LEAST + 1) if rows[i] == rows[0] and _same(rows, i)), None)
        if again is not None and _restart(table, axis, again, found):
            yield _told(table, axis, places, again)
            return


def _many(column: Column) -> bool:
    return len(set(column.values.tolist())) > 2


def _same(rows: Sequence[tuple[object, ...]], i: int) -> bool:
    n = min(i, len(rows) - i)
    return (
        len(set(rows[:n])) >= LEAST
        and float(np.mean([a == b for a, b in zip(rows[i : i + n], rows[:n], strict=True)])) >= SAME
    )


def _restart(table: Table, axis: Column, i: int, found: Sequence[Course]) -> bool:
    """Whether the run was begun again there: the table says another attempt, or a log goes on there."""
    for c in table.of("group", "identifier", "text"):
        values = c.values.tolist()
        if len(set(values[:i])) == 1 and values[i] != values[i - 1] and len(set(values[i:])) == 1:
            return True
    before, here = float(axis.values[i - 1]), float(axis.values[i])
    near = max(2 * (here - before), 1.0)
    return any(abs(joint.step - here) <= near for joint in joints(found))


def _told(table: Table, axis: Column, places: Sequence[Column], i: int) -> Finding:
    first, here = float(axis.values[0]), float(axis.values[i])
    what = ", ".join(f"{c.name} {c.values[i]}" for c in places)
    return Finding(
        "data-read-again-since-restart", Severity.S2,
        f"From step {here:.0f} on the run reads what it read from step {first:.0f} on, in the same order ({what}): the "
        f"place in the data was not restored where it went on.",
        f"从第 {here:.0f} 步起，读到的数据与从第 {first:.0f} 步起的相同且顺序一致（{what}）：续跑时没有恢复数据位置。",
        tuple(Evidence(table.file, int(table.lines[k]) or None, int(axis.values[k]), text=what) for k in (i, 0)),
        {"step": here, "first": first, "rows": len(table) - i},
    )  # fmt: skip
