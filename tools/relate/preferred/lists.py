"""Cells that list numbers: the rewards of a group of answers, the scores of a prompt's candidates."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from ...patterns import bounded
from ...tables.table import Column, Table

MOST = 512
"""Numbers in one cell."""
SPACED = bounded(r"^[(\[]?-?\d[\d.]*(?:\s?[,;| ]\s?-?\d[\d.e-]*)+[)\]]?$")
NUMBERS = bounded(r"-?\d[\d.]*(?:e-?\d+)?")
WHOLE = 0.9
"""Share of the rows whose cells have to list as many numbers as most do."""


def numbers_in(cell: object) -> tuple[float, ...]:
    """The two or more numbers that a cell lists, as JSON or side by side; nothing where it lists anything else."""
    text = str(cell).strip()
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = [float(x) for x in NUMBERS.findall(text)] if len(text) < 4096 and SPACED.match(text) else None
    if not isinstance(found, list) or not 2 <= len(found) <= MOST:
        return ()
    return tuple(map(float, found)) if all(isinstance(x, (int, float)) for x in found) else ()


def listed(table: Table) -> Iterator[tuple[Column, np.ndarray, np.ndarray]]:
    """Columns of lists of one length, with the rows that have them: (m,) and (m, k) finite numbers."""
    for column in table.columns:
        if column.values.dtype.kind != "O" or not numbers_in(column.values[0]):
            continue
        cells = [numbers_in(v) for v in column.values.tolist()]
        lengths, times = np.unique([len(c) for c in cells], return_counts=True)
        size = int(lengths[times.argmax()])
        rows = np.array([i for i, c in enumerate(cells) if len(c) == size])
        numbers = np.array([cells[i] for i in rows], float)
        if len(rows) >= WHOLE * len(cells) and np.isfinite(numbers).all():
            yield column, rows, numbers
