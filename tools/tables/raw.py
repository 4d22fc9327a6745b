"""Cells of a table as a format's reader hands them on, before anybody asks what a column is for; and the limits.

A cell is text, a number, a truth value or None. What the numbers in text mean is `tools.tables.cells`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

CELLS = 3_000_000
"""Cells kept of one file, filled ones and holes: some 300 MB of Python objects."""
COLUMNS = 20_000
"""Columns of one table; one that has more is no table of a training run."""
TABLES = 300
"""Tables of one file."""
LETTERS = 50
"""Characters that count as one cell of the limit, so that text too is bounded: some 150 MB."""
UNDER = "under"
"""The column of what stands above rows: a heading, a caption, the head of a column that was turned."""
CELL = 2000
"""Characters kept of a cell."""


@dataclass
class Raw:
    """One table as it stands."""

    part: str = ""
    names: list[str] = field(default_factory=list)
    columns: list[list[Any]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    units: list[str] = field(default_factory=list)
    """Of each column, where a line under the header gives them."""
    cut: str = ""
    comma: bool = False
    """Whether a comma in a number is likely its decimal mark."""
    loose: bool = False
    """Whether the format asks for no table (text in columns), so that it must show by its cells that it is one."""

    note: str = ""
    """What a comment above the header says."""
    labels: frozenset[str] = frozenset()
    """Columns of which the format itself says that they tell what a row is about."""

    def __len__(self) -> int:
        return len(self.lines)

    @classmethod
    def of_rows(cls, part: str, names: Sequence[str], rows: Sequence[Sequence[Any]], lines: Iterable[int]) -> Raw:
        """A table of rows that are as long as the header, or shorter, or longer."""
        wide = min(max(len(names), max(map(len, rows), default=0)), COLUMNS)
        names = [*names, *(str(i) for i in range(len(names), wide))][:wide]
        columns = [[row[i] if i < len(row) else None for row in rows] for i in range(wide)]
        return cls(part, list(names), columns, list(lines))


class Records:
    """A table that grows by records of whatever keys; a key that comes late has holes above it."""

    def __init__(self, part: str = "", cells: int = CELLS) -> None:
        self.raw = Raw(part)
        self._at: dict[str, int] = {}
        self._left = cells

    def add(self, record: Mapping[str, Any], line: int = 0) -> bool:
        """Take a row; False where the limits let no more in."""
        letters = sum(len(c) for c in record.values() if isinstance(c, str))
        self._left -= (len(self.raw.names) or len(record)) + letters // LETTERS
        if self._left < 0:
            self.raw.cut = f"over the limit of {CELLS:,} cells from row {len(self.raw) + 1:,} on"
            return False
        for key in record:
            if key not in self._at and not self._column(key):
                break
        for name, column in zip(self.raw.names, self.raw.columns, strict=True):
            column.append(record.get(name))
        self.raw.lines.append(line)
        return True

    def _column(self, key: str) -> bool:
        if len(self._at) >= COLUMNS or self._left < len(self.raw):
            self.raw.cut = f"over the limit of {COLUMNS:,} columns or {CELLS:,} cells from row {len(self.raw) + 1:,} on"
            return False
        self._at[key] = len(self._at)
        self._left -= len(self.raw)
        self.raw.names.append(key)
        self.raw.columns.append([None] * len(self.raw))
        return True


def words_of(text: str) -> frozenset[str]:
    """The words of a list that is written as one text."""
    return frozenset(text.split())


def short(cell: Any) -> Any:
    """The cell, of bounded length."""
    return cell[:CELL] if isinstance(cell, str) and len(cell) > CELL else cell
