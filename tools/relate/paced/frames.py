"""Every numeric column of a file side by side, whether it was read as a table or as series of a log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...findings import Evidence
from ...series import SeriesTable
from ...tables.table import Table

LEAST, MOST = 30, 200
"""Rows of a frame at least, and frames that are looked at."""


@dataclass(frozen=True)
class Frame:
    """Rows of one file: numbers by the name of their column."""

    file: str
    columns: dict[str, np.ndarray]
    """(n,) float64 each."""
    lines: np.ndarray
    """(n,) int64, 0 where the format has no lines."""

    def __len__(self) -> int:
        return len(self.lines)

    def evidence(self, name: str, i: int) -> Evidence:
        return Evidence(self.file, int(self.lines[i]) or None, metric=name, value=float(self.columns[name][i]))


def frames_of(series: SeriesTable, tables: Sequence[Table]) -> list[Frame]:
    """The frames of a run, tables first; of a file that was read both ways the one with more columns."""
    found = [_of_table(t) for t in tables if len(t) >= LEAST]
    by_place: dict[tuple[str, str, str, int], list] = defaultdict(list)
    for s in series:
        if len(s) >= LEAST:
            by_place[s.file, s.attempt, s.group or str(s.rank), len(s)].append(s)
    for (file, *_), some in by_place.items():
        first = some[0]
        alike = [s for s in some if np.array_equal(s.steps, first.steps)]
        columns = {s.key: np.asarray(s.values, float) for s in alike}
        if first.axis == "step" and first.step_is == "step":
            columns.setdefault("step", np.asarray(first.steps, float))
        found.append(Frame(file, columns, np.asarray(first.lines, np.int64)))
    best: dict[tuple[str, int], Frame] = {}
    for frame in found:
        key = (frame.file, len(frame))
        if key not in best or len(frame.columns) > len(best[key].columns):
            best[key] = frame
    return [*best.values()][:MOST]


def _of_table(table: Table) -> Frame:
    numbers = {c.name: c.values for c in table.columns if c.values.dtype.kind == "f"}
    return Frame(table.file, numbers, table.lines)
