"""A score counted again from its rows: answers and right answers in two files, paired by their key and by their place.

Files that list the same items in other orders (`q1, q10, q100` beside `q1, q2, q3`) are paired rightly by the key
alone. Where somebody reports the number that the places give, it is no score of the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...documents.stated import Stated
from ...findings import Evidence, Finding, Severity
from ...tables.table import Column, Table
from ..distributions import OUTPUT, texts
from ..line import plain
from ..summed.answered import GIVEN, GOLD

LEAST, SHARED = 20, 0.9
"""Rows, and share of the keys that both files have. Ours."""
APART = 0.2
"""By how much the share of right answers differs between the two pairings. Ours."""
FILES = 12


class Counted(NamedTuple):
    """The right answers of one file: paired by the key, and row by row."""

    answers: Table
    gold: Table
    key: str
    by_key: float
    by_place: float
    rows: int
    moved: int
    """A row of the answers whose key stands elsewhere in the other file."""


def recounted(tables: Sequence[Table], stated: Sequence[Stated]) -> list[Finding]:
    """Reported scores that are those of wrongly paired rows, the one with the largest difference."""
    found = [(c, told) for c in _counts(tables) if (told := _reported(c, stated)) is not None]
    return [_told(*max(found, key=lambda f: f[0].by_key - f[0].by_place))] if found else []


def _counts(tables: Sequence[Table]) -> Iterator[Counted]:
    long = [t for t in tables if len(t) >= LEAST]
    right = [(t, g) for t in long if (g := _one(t, GOLD, None)) is not None]
    for table in [t for t in long if _one(t, GOLD, None) is None][:FILES]:
        given = _one(table, OUTPUT, GOLD) or _one(table, GIVEN, GOLD)
        for gold_table, gold in right[:FILES] if given is not None else ():
            if (counted := _paired(table, given, gold_table, gold)) is not None:
                yield counted


def _one(table: Table, what: re.Pattern[str], other: re.Pattern[str] | None) -> Column | None:
    """The one column so called, and not as the other."""
    names = [(c, plain(c.name)) for c in table.columns]
    found = [c for c, name in names if what.search(name) and not (other and other.search(name))]
    return found[0] if len(found) == 1 else None


def _paired(table: Table, given: Column | None, gold_table: Table, gold: Column) -> Counted | None:
    keys = _keys(table, gold_table)
    if given is None or keys is None or len(table) != len(gold_table):
        return None
    mine, theirs = (_plain(c) for c in keys)
    at = {key: i for i, key in enumerate(theirs)}
    there = np.array([at.get(key, -1) for key in mine])
    answers, rights = np.array(_plain(given)), np.array(_plain(gold))
    known, moved = there >= 0, np.flatnonzero(there != np.arange(len(there)))
    if not len(moved):
        return None
    by_key = float((answers == rights[there])[known].mean())
    by_place = float((answers == rights).mean())
    if by_key - by_place < APART:
        return None
    return Counted(table, gold_table, keys[0].name, by_key, by_place, len(table), int(moved[0]))


def _keys(one: Table, other: Table) -> tuple[Column, Column] | None:
    """Columns of the same name that name each row once, and the same rows in both."""
    there = {plain(c.name): c for c in other.columns}
    for column in one.columns:
        twin = there.get(plain(column.name))
        if twin is None:
            continue
        mine, theirs = set(_plain(column)), set(_plain(twin))
        if len(mine) == len(one) and len(theirs) == len(other) and len(mine & theirs) >= SHARED * len(mine):
            return column, twin
    return None


def _plain(column: Column) -> list[str]:
    if column.values.dtype.kind == "f":
        return [f"{v:g}" for v in column.values]
    return [t.strip().lower() for t in texts(column)]


def _reported(counted: Counted, stated: Sequence[Stated]) -> Stated | None:
    """Who reports the share that the wrong pairing gives, as it is or in percent."""
    for said in stated:
        value, digits = said.number, len(said.value.partition(".")[2])
        if not value or digits < 2:
            continue
        if any(abs(value - counted.by_place * unit) <= 0.51 * 10**-digits for unit in (1, 100)):
            return said
    return None


def _told(counted: Counted, said: Stated) -> Finding:
    a, g = counted.answers, counted.gold
    return Finding(
        "rows-paired-by-place", Severity.S1,
        f"{said.key} {said.value} is what {a.file} scores where row n is held against row n of {g.file} "
        f"({counted.by_place:.1%} of {counted.rows}); the files are in different orders, and paired by "
        f"`{counted.key}` {counted.by_key:.1%} are right: the pairing is wrong, not the model.",
        f"{said.key} {said.value} 是把 {a.file} 的第 n 行与 {g.file} 的第 n 行相比得到的（{counted.rows} 行中 "
        f"{counted.by_place:.1%}）；两个文件顺序不同，按 `{counted.key}` 对齐则有 {counted.by_key:.1%} 正确："
        "错的是配对，不是模型。",
        (said.evidence(), Evidence(a.file, int(a.lines[counted.moved]) or None, metric=counted.key),
         Evidence(g.file, int(g.lines[counted.moved]) or None, metric=counted.key)),
        {"by_key": counted.by_key, "by_place": counted.by_place, "rows": counted.rows},
    )  # fmt: skip
