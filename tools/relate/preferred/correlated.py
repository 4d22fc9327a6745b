"""Reported correlations of a score: a high one with length beside none with what people say of the answers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from .lengths import GRADE, NOT, STRONG
from .places import PEOPLE, SCORE, SIZE, spelled

CORRELATED = bounded(r"corr|spearman|pearson|kendall|(?:^|_)(?:rho|tau|r)(?:_|$)|相关")


def correlated(table: Table) -> Iterator[Finding]:
    """One object that gives both correlations under names that say of what they are."""
    if len(table) != 1:
        return
    some = [(c, spelled(c.name)) for c in table.columns if c.values.dtype.kind == "f" and abs(c.values[0]) <= 1]
    some = [(c, name) for c, name in some if CORRELATED.search(name) and SCORE.search(name)]
    graded = [c for c, name in some if (PEOPLE.search(name) or GRADE.search(name)) and not SIZE.search(name)]
    length = next(
        (c for c, name in some if SIZE.search(name) and not PEOPLE.search(name) and not GRADE.search(name)), None
    )
    if length is None or not graded:
        return
    best = max(graded, key=lambda c: float(c.values[0]))
    if not (length.values[0] >= STRONG and best.values[0] <= NOT and np.isfinite(best.values[0])):
        return
    yield Finding(
        "score-follows-length", Severity.S1,
        f"{length.name} is {length.values[0]:.2f} and {best.name} {best.values[0]:.2f}: the score goes by length and "
        "not by what people say.",
        f"{length.name} 为 {length.values[0]:.2f}，而 {best.name} 只有 {best.values[0]:.2f}：打分跟着长度走，而不是跟着"
        "人的评价。",
        (_place(table, length), _place(table, best)),
        {"rho": float(length.values[0]), "rho_grade": float(best.values[0])},
    )  # fmt: skip


def _place(table: Table, column: Column) -> Evidence:
    return Evidence(table.file, int(table.lines[0]) or None, metric=column.name, value=float(column.values[0]))
