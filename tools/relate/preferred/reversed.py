"""Preference pairs of one group that were labelled the wrong way round: a scorer ranks them as it ranks all others, and
is wrong there as often as it is right elsewhere.

A group that is only harder is ranked as by guessing, or a little below; one that is turned round is a mirror of the
rest. Where no single column sets it apart, two together may: a source, and some of its deliveries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt

import numpy as np

from ...findings import Evidence, Finding, Severity, clean
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means
from .places import CHOICES, SCORE, SIZE, pairs_of, spelled

LEAST, MOST_LEVELS, MOST_COLUMNS = 20, 40, 6
"""Pairs of a group, values of a column that groups them, and such columns."""
LOW, HIGH, MIRROR, CLEAR = 0.35, 0.65, 0.15, 4.0
"""Share right in the group at most and elsewhere at least, how far the group may be from the mirror of the rest, and
standard errors that it lies below chance. Own judgement."""
RIGHT = bounded(r"^(?:(?:is_?)?correct|right|hit|agree\w*|match\w*|ranked_?right|正确|判对|一致)$")
MARGIN = bounded(r"margin|(?:score|reward)_?(?:gap|diff)|chosen_(?:minus|over)_rejected|分差")
SHAPE = bounded(r"longer|shorter|length|bucket|长|短")
"""What sets pairs apart by their form, which is a bias of the scorer and no label."""


@dataclass(frozen=True)
class Turned:
    """Rows of a table that are ranked the wrong way round."""

    columns: tuple[Column, ...]
    said: tuple[tuple[str, ...], ...]
    """The values of each column."""
    rows: np.ndarray
    """(n,) bool."""
    low: float
    high: float


def turned_round(table: Table) -> Iterator[Finding]:
    """The group of pairs that is a mirror of the rest."""
    right = _right(table) if len(table) >= 3 * LEAST else None
    if right is None:
        return
    ok, known, shown = right
    labels = [c for c in table.columns if _groups(c)][:MOST_COLUMNS]
    found = [t for c in labels if (t := _turned((c,), ok, known))]
    found = found or [t for pair in combinations(labels, 2) if (t := _turned(pair, ok, known))]
    if found:
        yield _told(table, max(found, key=lambda t: t.high - t.low), shown)


def _right(table: Table) -> tuple[np.ndarray, np.ndarray, Column] | None:
    """(whether a pair is ranked right, whether that is known, the column that shows it)."""
    for rest, chosen, rejected in pairs_of(table, "f", CHOICES):
        if not SIZE.search(rest) and (SCORE.search(spelled(chosen.name)) or rest in ("|", "s|", "r|")):
            known = np.isfinite(chosen.values) & np.isfinite(rejected.values) & (chosen.values != rejected.values)
            return chosen.values > rejected.values, known, rejected
    for column in table.columns:
        own, values = spelled(column.name), column.values
        if values.dtype.kind != "f":
            continue
        if means(MARGIN, column.name) and (values < 0).any() and (values > 0).any():
            return values > 0, np.isfinite(values) & (values != 0), column
        if RIGHT.search(own) and {*np.unique(values[np.isfinite(values)]).tolist()} == {0.0, 1.0}:
            return values > 0.5, np.isfinite(values), column
    return None


def _groups(column: Column) -> bool:
    if column.role in ("text", "identifier") or SHAPE.search(spelled(column.name)):
        return False
    values = texts(column) if column.values.dtype.kind == "O" else column.values
    return 2 <= len({*values.tolist()}) <= MOST_LEVELS and (column.values.dtype.kind == "O" or column.role == "group")


def _turned(columns: Sequence[Column], ok: np.ndarray, known: np.ndarray) -> Turned | None:
    """The values, or pairs of values, whose rows are ranked wrongly as often as the others are ranked rightly."""
    keys = np.array(["\x1f".join(map(str, row)) for row in zip(*(texts(c).tolist() for c in columns), strict=True)])
    rows = np.zeros(len(keys), bool)
    for key in np.unique(keys):
        own = (keys == key) & known
        if own.sum() >= LEAST and ok[own].mean() <= LOW:
            rows |= own
    rest = known & ~rows
    if not rows.any() or rest.sum() < LEAST:
        return None
    low, high = float(ok[rows].mean()), float(ok[rest].mean())
    below = (0.5 - low) * 2 * sqrt(float(rows.sum()))
    if high < HIGH or abs(1 - low - high) > MIRROR or below < CLEAR or rows.sum() > rest.sum():
        return None
    said = tuple(tuple(dict.fromkeys(map(str, texts(c)[rows].tolist()))) for c in columns)
    for column, values in zip(columns, said, strict=True):
        beside = np.isin(texts(column).astype(str), values) & rest
        if len(columns) > 1 and (beside.sum() < LEAST or ok[beside].mean() < HIGH):
            return None  # the one column is hard by itself, and chance chose among its parts
    return Turned(tuple(columns), said, rows, low, high)


def _told(table: Table, found: Turned, shown: Column) -> Finding:
    groups = " with ".join(
        f"{clean(c.name, 30)} {clean(', '.join(sorted(v)[:6]), 60)}"
        for c, v in zip(found.columns, found.said, strict=True)
    )
    groups_zh = "且".join(
        f"{clean(c.name, 30)} 为 {clean('、'.join(sorted(v)[:6]), 60)}"
        for c, v in zip(found.columns, found.said, strict=True)
    )
    n, first = int(found.rows.sum()), int(np.flatnonzero(found.rows)[0])
    return Finding(
        "pairs-turned-round", Severity.S1,
        f"Of the {n} pairs of {groups} {found.low:.1%} are ranked as labelled, of all others {found.high:.1%}: a "
        "mirror, as where chosen and rejected were exchanged there.",
        f"{groups_zh} 的 {n} 对里只有 {found.low:.1%} 的打分与标注一致，其余为 {found.high:.1%}：正好相反，"
        "像是那里的 chosen 与 rejected 颠倒了。",
        (Evidence(table.file, int(table.lines[first]) or None, metric=shown.name, value=float(shown.values[first])),),
        {"groups": [list(v) for v in found.said], "columns": [c.name for c in found.columns], "pairs": n,
         "low": found.low, "high": found.high},
    )  # fmt: skip
