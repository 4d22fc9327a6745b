"""Numbers that small tables and reports give under a name of their own, each with what it stands beside.

A report of one object, a row for each group, a name and its value in two columns: they are read alike. What a number
of some name means is judged beside this file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np

from ...documents.stated import Stated
from ...findings import Evidence
from ...patterns import bounded
from ...tables.table import Table
from ...tables.vocabulary import VALUES
from ..distributions import texts
from ..line import plain

MOST_ROWS, MOST_FILES = 60, 200
NAMING, WORDS = 40, 5
"""Bytes and words up to which a cell names what its row is about; a longer one is a text that was counted or scored."""
BOUND = bounded(
    r"(?i)^\s{0,4}(?:<=?|≤|>=?|≥|under|below|above|at (?:most|least)|no more than|max\.?|min\.?|小于|低于|大于|高于"
    r"|不超过|不低于|至多|至少)\s{0,4}(?P<number>\d[\d,]{0,12}(?:\.\d{1,6})?)\s{0,4}(?P<unit>[^\W\d][\w/]{0,11}|%)?\s{0,4}$"
)
"""A cell that is a bound and nothing else."""
RESULTS = (".json", ".yaml", ".yml", ".toml", ".txt", ".md")


@dataclass(frozen=True)
class Said:
    """One number of a report."""

    name: str
    """As the file writes it."""
    value: float
    beside: dict[str, float]
    """Other numbers of the same row or object, by name."""
    about: str
    """File and labels of the row, as words."""
    label: str
    place: Evidence
    row: str = ""
    """The words of the short labels of its row, with which `about` ends."""
    names: str = ""
    """The names of what stands beside it, as words."""


def reported(tables: Sequence[Table], stated: Sequence[Stated]) -> list[Said]:
    """The numbers of all small tables, and of what no table was made of."""
    read = {t.file for t in tables}
    return [*(s for t in tables if 1 <= len(t) <= MOST_ROWS for s in _of(t)), *objects(stated, read)]


def _of(table: Table) -> Iterator[Said]:
    numbers = [c for c in table.columns if c.values.dtype.kind == "f" and c.role in ("measure", "axis")]
    words = [c for c in table.columns if c.values.dtype.kind == "O"]
    named = next((c for c in words if c.of == "metric"), None)
    stem = plain(str(PurePosixPath(table.file).with_suffix("")))
    for i in range(len(table)):
        cells = [str(c.values[i]) for c in words]
        label = " ".join(cells)[:200]
        about = plain(" ".join(c for c in cells if len(c.encode()) <= NAMING and c.count(" ") < WORDS)[:200])
        beside = {c.name: float(c.values[i]) for c in numbers if np.isfinite(c.values[i])}
        names, line = " ".join(map(plain, beside)), int(table.lines[i]) or None
        for name, value in (*_bounds(cells), *beside.items()):
            said = texts(named)[i] if named is not None and plain(name) in VALUES else name
            yield Said(said, value, beside, f"{stem} {plain(table.part)} {about}", label,
                       Evidence(table.file, line, metric=said, value=value, text=label), about, names)  # fmt: skip


def _bounds(cells: list[str]) -> Iterator[tuple[str, float]]:
    """(name, number) of a cell that says below or above which number what the row is about must lie: `< 800 ms`."""
    about = next((cell for cell in cells if not BOUND.search(cell)), "")
    for cell in cells:
        if about and (m := BOUND.search(cell)):
            yield f"target {about} {m['unit'] or ''}".strip(), float(m["number"].replace(",", ""))


def objects(stated: Sequence[Stated], read: set[str]) -> Iterator[Said]:
    """What configurations and reports say in `key: number`, each file an object."""
    by_file: dict[str, list[Stated]] = {}
    for one in stated:
        if one.how == "said" and one.number is not None and one.file not in read and one.file.endswith(RESULTS):
            by_file.setdefault(one.file, []).append(one)
    for file, some in [*by_file.items()][:MOST_FILES]:
        beside: dict[str, float] = {}
        for s in some:
            beside.setdefault(s.key, s.number or 0.0)
        stem, names = plain(str(PurePosixPath(file).with_suffix(""))), " ".join(map(plain, beside))
        for s in some:
            yield Said(s.key, s.number or 0.0, beside, stem, "", s.evidence(), names=names)
