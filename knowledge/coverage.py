"""Is every row of the source inventory in some entry, and every acceptance criterion placed?

`inventory.json` holds ids only: the rows of the five source documents and their acceptance criteria (the metric's name,
with `-<threshold>` where one metric has two). It says nothing about whether an entry treats a row well; people do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .entry import Entry

INVENTORY = Path(__file__).parent / "inventory.json"


@dataclass(frozen=True)
class Coverage:
    """What the entries cover of the inventory."""

    rows: int
    criteria: int
    rows_missing: tuple[str, ...]
    """Inventory rows in no entry's `covers`, in the inventory's order."""
    criteria_missing: tuple[str, ...]
    """Criteria in no entry's `acceptance`."""
    unknown: tuple[str, ...]
    """`entry: id` for rows and criteria that entries name and the inventory does not have."""

    @property
    def complete(self) -> bool:
        return not (self.rows_missing or self.criteria_missing or self.unknown)

    def __str__(self) -> str:
        rows, criteria = self.rows - len(self.rows_missing), self.criteria - len(self.criteria_missing)
        return f"{rows}/{self.rows} rows, {criteria}/{self.criteria} criteria"


def coverage(entries: Iterable[Entry], inventory: Path = INVENTORY) -> Coverage:
    """Compare the entries with the inventory."""
    wanted = json.loads(inventory.read_text(encoding="utf-8"))
    rows, criteria = wanted["rows"], wanted["criteria"]
    covered: dict[str, str] = {}
    placed: dict[str, str] = {}
    for entry in entries:
        covered |= dict.fromkeys(entry.covers, entry.id)
        placed |= dict.fromkeys((c.criterion for c in entry.acceptance if c.criterion), entry.id)
    unknown = [f"{entry}: {id}" for ids, known in ((covered, rows), (placed, criteria)) for id, entry in ids.items()
               if id not in known]  # fmt: skip
    return Coverage(
        len(rows),
        len(criteria),
        tuple(id for id in rows if id not in covered),
        tuple(id for id in criteria if id not in placed),
        tuple(unknown),
    )
