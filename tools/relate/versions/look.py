"""Everything that is said of versions of one model against each other: findings and their codes."""

from __future__ import annotations

from collections.abc import Sequence

from ...documents.stated import Stated
from ...findings import Finding, declare
from ...tables.table import Table
from .apart import WORSE, compared
from .cells import measured
from .fed import fed

VERSIONS = "versions of one model against each other"
CODES = declare(
    "versions",
    ("version-worse", VERSIONS, "a later version measures worse than the one before, beyond its seeds or its items"),
    ("checkpoint-worse", VERSIONS, "a later checkpoint measures worse than the one before, beyond its seeds or items"),
    ("versions-differ", VERSIONS, "two versions measure otherwise beyond chance, not known to be worse"),
    ("versions-within-noise", VERSIONS, "two versions measure no more apart than seeds or items make by chance"),
    ("fed-otherwise-and-worse", VERSIONS, "a part of the data has another share where a version gets worse"),
)


def of_versions(tables: Sequence[Table], stated: Sequence[Stated]) -> list[Finding]:
    """What each table measures of two versions, the worst measure of each, and what the versions were fed."""
    found: list[Finding] = []
    for table in tables:
        told = [f for m in measured([table]) for f in compared(m)]
        grave = sorted(told, key=lambda f: f.severity)
        found += [f for f in grave if f.code != "versions-within-noise"][:2] or grave[:1]
    worse = [f for f in found if f.code in WORSE.values()]
    return [*found, *fed(worse, stated)]
