"""What a run holds, as named tables of plain columns: what `tools.store.store` writes into the database.

Text is masked and cleaned here, before it can be taken apart by a query.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, Literal

import numpy as np

from ..code.fact import Fact
from ..documents.event import Claim, Event
from ..findings import Finding, clean
from ..scores import Score
from ..series import Series
from ..settings import Setting
from ..tables.table import Column, Table
from ..vocabulary import VOCABULARY

Type = Literal["VARCHAR", "DOUBLE", "BIGINT", "TIMESTAMP"]
ROWS = 5_000_000
"""Rows of one table of the store; a longer one is cut: what is asked of a run fits in it."""
TEXTS = 200_000
"""Different texts of one column that are kept; each is looked at for credentials."""
CELL = 2_000
"""Characters of one text."""
OWN: tuple[str, ...] = ("files", "series", "settings", "events", "claims", "scores", "findings", "code_facts")
"""Names of the tables that every store has."""


@dataclass(frozen=True)
class Repeated:
    """A text for each series, as often as the series has points: millions of points name a few files."""

    values: Sequence[str]
    times: Sequence[int]

    def __len__(self) -> int:
        return sum(self.times)

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)


@dataclass(frozen=True)
class Part:
    """One table of the store."""

    name: str
    file: str
    """The file it was read from; empty for what was gathered from all."""
    columns: Mapping[str, tuple[Type, Sequence[Any] | np.ndarray | Repeated]]
    roles: Mapping[str, str]
    """Column -> its role and kind: `axis step`, `measure loss (nats)`."""
    cut: str = ""
    """Why not all rows are there."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))[1]) if self.columns else 0


def files_part(rows: Iterable[tuple[str, str | None, str, int, int]]) -> Part:
    """Every file: name, read as, why not or how little, rows, points."""
    return _part("files", ("file", "read_as", "why", "rows", "points"), "VVVBB", rows)


def settings_part(settings: Iterable[Setting]) -> Part:
    rows = ((s.variable, str(s.value), s.key, s.file, s.line) for s in settings)
    return _part("settings", ("variable", "value", "key", "file", "line"), "VVVVB", rows)


def events_part(events: Iterable[Event]) -> Part:
    names = ("what", "text", "file", "line", "step", "at", "variable", "old", "new")
    rows = ((e.what, e.text, e.file, e.line, e.step, e.at, e.variable, e.old, e.new) for e in events)
    return _part("events", names, "VVVBBTVVV", rows)


def claims_part(claims: Iterable[Claim]) -> Part:
    rows = ((c.of, c.value, c.unit, c.text, c.file, c.line) for c in claims)
    return _part("claims", ("of", "value", "unit", "text", "file", "line"), "VDVVVB", rows)


def facts_part(facts: Iterable[Fact]) -> Part:
    """What the programs do, with how they say it: written out, read from elsewhere, or seen."""
    rows = ((f.of, f.value, f.number, f.how, f.file, f.line, f.text) for f in facts)
    return _part("code_facts", ("of", "value", "number", "how", "file", "line", "text"), "VVDVVBV", rows)


def scores_part(scores: Iterable[tuple[str, Score]]) -> Part:
    names = ("task", "metric", "value", "n", "stderr", "how", "file")
    rows = (
        (*name.rpartition("/")[::2], s.value, s.n, s.error, "; ".join(f"{k}={v}" for k, v in s.setup), s.file)
        for name, s in scores
    )
    return _part("scores", names, "VVDBDVV", rows)


def findings_part(findings: Iterable[Finding]) -> Part:
    names = ("id", "code", "severity", "message", "file", "line", "step", "rank", "metric", "value")
    rows = []
    for i, f in enumerate(findings, 1):
        for e in f.evidence or (None,):
            place = (e.file, e.line, e.step, e.rank, e.metric, None if e.value is None else str(e.value)) if e else ()
            rows.append((f"F{i}", f.code, str(f.severity), f.message, *(place or (None,) * 6)))
    return _part("findings", names, "VVVVVBBBVV", rows)


def series_part(series: Iterable[Series]) -> Part:
    """Every point, known metric or not; beyond `ROWS` points the unknown ones are left out first."""
    every = sorted(series, key=lambda s: s.metric not in VOCABULARY)
    ends = np.cumsum([len(s) for s in every])
    kept = [s for s, end in zip(every, ends, strict=True) if end <= ROWS]
    lengths = [len(s) for s in kept]

    def each(values: Iterable[str]) -> Repeated:
        return Repeated([*values], lengths)

    def joined(values: Iterable[np.ndarray], empty: type) -> np.ndarray:
        return np.concatenate([*values, np.array([], dtype=empty)])

    ranks = np.repeat(np.array([-1 if s.rank is None else s.rank for s in kept], dtype=np.int64), lengths)

    columns: dict[str, tuple[Type, Any]] = {
        "metric": ("VARCHAR", each(clean(s.metric) for s in kept)),
        "key": ("VARCHAR", each(clean(s.key) for s in kept)),
        "unit": ("VARCHAR", each(_unit(s) for s in kept)),
        "axis": ("VARCHAR", each(s.axis if s.axis != "step" else s.step_is for s in kept)),
        "at": ("BIGINT", joined((s.steps for s in kept), np.int64)),
        "value": ("DOUBLE", joined((s.values for s in kept), np.float64)),
        "group": ("VARCHAR", each(clean(s.group) for s in kept)),
        "file": ("VARCHAR", each(s.file for s in kept)),
        "line": ("BIGINT", joined((s.lines for s in kept), np.int64)),
        "attempt": ("VARCHAR", each(s.attempt for s in kept)),
        "rank": ("BIGINT", np.ma.masked_less(ranks, 0)),
    }
    return Part("series", "", columns, {}, f"over the limit of {ROWS} points" if len(kept) < len(every) else "")


def _unit(s: Series) -> str:
    return VOCABULARY[s.metric].unit if s.metric in VOCABULARY else ""


def table_parts(tables: Iterable[Table]) -> list[Part]:
    """Every table as it stands, under a name made of its file and part."""
    taken: set[str] = set(OWN)
    return [_table(table, _name(table, taken)) for table in tables]


def _name(table: Table, taken: set[str]) -> str:
    """A name that needs no quotes in a query."""
    plain = (
        re.sub(r"\W+", "_", f"{table.file} {table.part}".strip(), flags=re.ASCII).strip("_").lower()[-60:].strip("_")
    )
    plain = plain if plain and not plain[0].isdigit() else f"t_{plain}".rstrip("_")
    return _fresh(plain, taken)


def _fresh(name: str, taken: set[str]) -> str:
    """The name, or it with the first number that makes it another than those that are taken, whatever their case."""
    every = chain((name,), (f"{name}_{i}" for i in count(2)))
    found = next(n for n in every if n.lower() not in taken)
    taken.add(found.lower())
    return found


def _table(table: Table, name: str) -> Part:
    columns: dict[str, tuple[Type, Any]] = {}
    roles: dict[str, str] = {}
    taken: set[str] = set()
    for column in table.columns:
        said = _fresh(clean(column.name, 100) or "column", taken)
        columns[said], roles[said] = _values(column), role(column)
    line = "line" if "line" not in taken else "_line"
    columns[line] = ("BIGINT", table.lines[:ROWS])
    cut = table.cut or (f"over the limit of {ROWS} rows" if len(table) > ROWS else "")
    return Part(name, table.file, columns, roles, cut)


def role(column: Column) -> str:
    """What a column is for, in words."""
    kind = f" {clean(column.of, 60)}" if column.of and column.of != column.name else ""
    return f"{column.role}{kind}" + (f" ({clean(column.unit, 20)})" if column.unit else "")


def _values(column: Column) -> tuple[Type, Any]:
    values = column.values[:ROWS]
    if values.dtype.kind != "f":
        return "VARCHAR", texts(values)
    given = np.isin(np.arange(len(values)), column.nans)
    missing = np.ma.array(values, mask=np.isnan(values) & ~given)
    return ("TIMESTAMP" if column.role == "axis" and column.of == "time" else "DOUBLE"), missing


def texts(values: Iterable[Any]) -> list[str | None]:
    """Texts made safe to show; beyond `TEXTS` different ones they are left out."""
    known: dict[str, str | None] = {}

    def shown(value: Any) -> str | None:
        if value is None:
            return None
        text = str(value)
        if text not in known:
            known[text] = clean(text, CELL) if len(known) < TEXTS else None
        return known[text]

    return [shown(v) for v in values]


_TYPES: dict[str, Type] = {"V": "VARCHAR", "D": "DOUBLE", "B": "BIGINT", "T": "TIMESTAMP"}


def _part(name: str, names: Sequence[str], types: str, rows: Iterable[Sequence[Any]]) -> Part:
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    typed: dict[str, tuple[Type, Any]] = {
        n: (_TYPES[t], texts(c) if t == "V" else list(c)) for n, t, c in zip(names, types, columns, strict=True)
    }
    return Part(name, "", typed, {})
