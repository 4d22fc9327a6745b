"""Seeds and repeats that come out the same to the last digit: one measurement written down several times.

Where answers are decoded greedily, or the seed never reaches the sampler, every run is the same run. Their spread is
zero, and says nothing of how far another sample of items would lie; the error of one measurement over its items does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from ...findings import Evidence, Finding, Severity, clean
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import plain
from .cells import SEED, Cell, Measured

LEAST, DIGITS, ROWS, MOST_ROWS = 3, 3, 20, 50_000
"""Seeds that come out the same, digits of a score that make it no chance, and rows of a file of answers."""
NUMBERED = bounded(r"(?i)(?:seed|run|rep(?:eat|licate)?|trial|sample_?run|种子|重复)[-_ ]?(\d{1,6})(?!\d)")
"""What a path calls one of several repeats."""
ASIDE = bounded(r"time|date|second|latency|duration|speed|host|node|path|file|耗时|时间")
"""Columns of a file of answers that are another in every run."""


@dataclass(frozen=True)
class Copies:
    """Files of answers of several repeats, with the same answers in each."""

    tables: tuple[Table, ...]

    @property
    def rows(self) -> int:
        return len(self.tables[0])


def alike(m: Measured, copies: Sequence[Copies] = ()) -> Iterator[Finding]:
    """The first version whose seeds all come out the same, while those of another version do not."""
    for version, of in m.cells.items():
        for cell in of.values():
            if one_of(cell):
                yield _told(m, version, cell, copies)
                return


def one_of(cell: Cell) -> bool:
    """Whether the values of a cell are one measurement, repeated."""
    same = len(cell.values) >= LEAST and len(set(cell.values)) == 1
    return same and len(f"{cell.values[0]:.10g}".replace(".", "").strip("0")) >= DIGITS


def copies(tables: Sequence[Table]) -> list[Copies]:
    """Files of repeats with the same answers row by row."""
    by: dict[tuple[str, ...], list[Table]] = {}
    for t in tables:
        if NUMBERED.search(t.file) and ROWS <= len(t) <= MOST_ROWS:
            by.setdefault((NUMBERED.sub("#", t.file), t.part, *(c.name for c in t.columns)), []).append(t)
    found = []
    for some in by.values():
        first = _answers(some[0])
        told = first and any(len(set(texts(c).tolist())) > 1 for c in first)
        if len(some) >= LEAST and told and all(_same(first, _answers(t)) for t in some[1:]):
            found.append(Copies(tuple(some)))
    return found


def _answers(table: Table) -> list[Column]:
    return [c for c in table.columns if not SEED.search(plain(c.name)) and not ASIDE.search(plain(c.name))]


def _same(a: Sequence[Column], b: Sequence[Column]) -> bool:
    return all(len(x.values) == len(y.values) and (texts(x) == texts(y)).all() for x, y in zip(a, b, strict=True))


def told_of(copies: Copies) -> Finding:
    """Files of answers that are one, where no table of their scores says so."""
    files, n = [t.file for t in copies.tables], copies.rows
    return Finding(
        "seeds-all-alike", Severity.S2,
        f"{len(files)} files of repeats ({clean(files[0], 60)} and so on) hold the same answers in all {n} rows: the "
        "seed changes nothing, and they are one measurement.",
        f"{len(files)} 份重复实验的文件（{clean(files[0], 60)} 等）{n} 行答案全部相同：种子没起作用，是同一次测量。",
        tuple(Evidence(f, 1) for f in files[:2]), {"repeats": len(files), "rows": n},
    )  # fmt: skip


def _told(m: Measured, version: str, cell: Cell, copies: Sequence[Copies]) -> Finding:
    times, value, share = len(cell.values), cell.values[0], m.share
    held = next((c for c in copies if len(c.tables) == times), None)
    n = cell.n or (held.rows if held else 0)
    error = share * sqrt(max(value / share * (1 - value / share), 0) / n) if share and n else 0.0
    en = f" with a standard error of {error:.2g} by its {n:.0f} items" if error else ""
    zh = f"（按 {n:.0f} 条样本，标准误 {error:.2g}）" if error else ""
    more, more_zh = "", ""
    if held:
        more = f"; the answers, too, are the same in all {times} files ({clean(held.tables[0].file, 60)} and so on)"
        more_zh = f"；{times} 个文件的答案也逐行相同（{clean(held.tables[0].file, 60)} 等）"
    name, who, seed = clean(m.measure, 40), clean(version, 40), clean(m.seeds, 20) or "row"
    others = [float(np.std(c.values, ddof=1)) for v, of in m.cells.items() if v != version for c in of.values()
              if len(c.values) >= LEAST and not one_of(c)]  # fmt: skip
    beside = f"; those of the others scatter by {max(others):.2g}" if others else ""
    beside_zh = f"；其他版本的散布为 {max(others):.2g}" if others else ""
    return Finding(
        "seeds-all-alike", Severity.S2,
        f"All {times} {seed}s of {who} give {name} {value:.6g}: one measurement{en}, and no spread of several"
        f"{more}{beside}.",
        f"{who} 的 {times} 个 {seed} 得到的 {name} 都是 {value:.6g}：这是同一次测量{zh}，不能当作多次的散布"
        f"{more_zh}{beside_zh}。",
        (*cell.places[:2], *((Evidence(held.tables[0].file, 1),) if held else ())),
        {"measure": m.measure, "version": version, "repeats": times, "value": value, "error": error},
    )  # fmt: skip
