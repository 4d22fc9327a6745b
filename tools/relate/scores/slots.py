"""Verdicts that name a place (`A`, `left`, `2`), beside columns that say which model stood there."""

from __future__ import annotations

import numpy as np

from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import plain

PLACED = bounded(
    r"^(?:(?:slot|answer|ans|response|resp|reply|model|side|position|pos|candidate|cand|output|system|assistant|option)_?)?"
    r"(a|b|1|2|left|right|first|second)(?:_?(?:model|name|id|version|system))?$"
)
SAYS = bounded(
    r"^\W{0,3}(?:(?:slot|answer|response|reply|model|assistant|output|option)_?)?(a|b|1|2|left|right|first|second)\W{0,3}$"
)
FIRST = {"a": "b", "1": "2", "left": "right", "first": "second"}
"""A place and the one beside it."""
MOST_NAMES = 12


def slots(table: Table) -> tuple[Column, Column] | None:
    """The columns that say which model stood first, and which second."""
    placed = {m[1]: c for c in table.columns if c.values.dtype.kind == "O" and (m := PLACED.match(plain(c.name)))}
    for one, two in FIRST.items():
        if one in placed and two in placed:
            names = {*texts(placed[one]).tolist(), *texts(placed[two]).tolist()}
            if 2 <= len(names) <= MOST_NAMES and not any(SAYS.match(plain(n)) for n in names):
                return placed[one], placed[two]
    return None


def won_by(table: Table, winner: Column) -> np.ndarray | None:
    """(n,) the model that won in each row, the verdict itself where it names no place; None without such places."""
    pair = slots(table)
    said = texts(winner)
    places = [SAYS.match(plain(v)) for v in said.tolist()]
    if pair is None or not any(places):
        return None
    first, second = (texts(c) for c in pair)
    return np.array(
        [v if m is None else (first if m[1] in FIRST else second)[i]
         for i, (v, m) in enumerate(zip(said.tolist(), places, strict=True))], object,
    )  # fmt: skip
