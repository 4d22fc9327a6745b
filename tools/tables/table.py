"""A table of any file: columns with what each is for, and the line of every row.

How a file is read into tables is `tools.tables.read`, what a column is for `tools.tables.roles`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

Role = Literal["axis", "group", "measure", "identifier", "text"]
"""What a column is for: where on the way a row stands (step, time, length), what it is about (rank, source, task),
what was measured, which one it is, or anything else."""


ALONG = ("step", "epoch", "checkpoint")
"""Kinds of way along which a table may be written down again and again."""
COUNTER = re.compile(r"(?:^|_)(?:total|bucket|count|sum|created)$", re.IGNORECASE)
"""Ends of names of what a server counts from its start on: how much work there was, no rate and no score."""
NO_ROWS = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Column:
    """One column."""

    name: str
    """As the header says it; without a header its place, from `0`."""
    role: Role
    of: str
    """Of an axis and a group its kind (`step`, `time`, `rank`, `host`), of a measure its canonical metric; its own
    name where none is known."""
    unit: str
    """Unit of the values; empty where they have none or it is not known."""
    values: np.ndarray
    """(n,) float64 of a measure and of a numeric axis, missing ones NaN, times in seconds since the epoch; else (n,)
    object, text."""
    nans: np.ndarray = field(default_factory=lambda: NO_ROWS)
    """(m,) int64 rows of a number where the file itself says NaN; where only this column has NaN, nothing stood."""

    @cached_property
    def texts(self) -> np.ndarray:
        """(n,) object, its cells as text; not to be written to."""
        said = np.array([str(v) for v in self.values.tolist()], object)
        said.setflags(write=False)
        return said


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of one file, or of one part of it."""

    file: str
    """Name of the artifact."""
    part: str
    """Which part: key path, heading, name of the table; empty for the only one."""
    columns: tuple[Column, ...]
    lines: np.ndarray
    """(n,) int64, one-based line of each row, 0 where the format has no lines."""
    cut: str = ""
    """Why not all rows were read; empty where they were."""

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def cumulative(self) -> bool:
        """Whether its rows are the buckets of histograms, each of which counts what is in those before it, too."""
        return any(c.name == "le" for c in self.columns)

    def of(self, *roles: Role) -> tuple[Column, ...]:
        """Its columns of these roles."""
        return tuple(c for c in self.columns if c.role in roles)

    def get(self, of: str) -> Column | None:
        """Its first column of this kind or metric."""
        return next((c for c in self.columns if c.of == of), None)

    def only(self, rows: np.ndarray) -> Table:
        """Some of its rows, given as booleans."""
        number = np.cumsum(rows) - 1
        columns = tuple(replace(c, values=c.values[rows], nans=number[c.nans[rows[c.nans]]]) for c in self.columns)
        return replace(self, columns=columns, lines=self.lines[rows])

    def at_end(self) -> Table | None:
        """Its rows at the last place of its way, where several rows stand at each place; None where it has no way."""
        axis = next((c for c in self.of("axis") if c.of in ALONG and c.values.dtype.kind == "f"), None)
        if axis is None or not np.isfinite(axis.values).all() or not len(self):
            return None
        places = len(np.unique(axis.values))
        rows = axis.values == axis.values.max()
        return self.only(rows) if 1 < places <= len(self) / 2 and rows.sum() > 1 else None
