"""Everything that is said of versions of one model against each other: findings and their codes."""

from __future__ import annotations

from collections.abc import Sequence

from ...documents.counted import Counted
from ...documents.stated import Stated
from ...findings import Finding, declare
from ...tables.table import Table
from ..line import Line
from .apart import WORSE, compared
from .cells import Measured, measured
from .fed import fed
from .mixed import by_mix
from .repeats import alike, copies, told_of
from .sound import sound

VERSIONS = "versions of one model against each other"
CODES = declare(
    "versions",
    ("version-worse", VERSIONS, "a later version measures worse than the one before, beyond its seeds or its items"),
    ("checkpoint-worse", VERSIONS, "a later checkpoint measures worse than the one before, beyond its seeds or items"),
    ("versions-differ", VERSIONS, "two versions measure otherwise beyond chance, not known to be worse"),
    ("versions-within-noise", VERSIONS, "two versions measure no more apart than seeds or items make by chance"),
    ("seeds-all-alike", VERSIONS, "repeats with several seeds come out the same to the last digit: one measurement"),
    ("total-moved-by-mix", VERSIONS, "a score over all moves against all its slices: the items are others"),
    ("fed-otherwise-and-worse", VERSIONS, "a part of the data has another share where a version gets worse"),
    ("run-healthy", VERSIONS, "models scored alike on the same items differ by no more than chance, above guessing"),
)


def of_versions(
    tables: Sequence[Table], stated: Sequence[Stated], lines: Sequence[Line] = (), counts: Sequence[Counted] = ()
) -> list[Finding]:
    """What each table measures of two versions, the worst measure of each, what the versions were fed, and that an
    evaluation is sound."""
    found: list[Finding] = []
    same, once, every = copies(tables), list[Finding](), list[Measured]()
    for table in tables:
        several = [*measured([table])]
        told = [f for m in several for f in compared(m)]
        every += several
        once += [f for m in several for f in alike(m, same)][:1]
        grave = sorted(told, key=lambda f: f.severity)
        found += [f for f in grave if f.code != "versions-within-noise"][:2] or grave[:1]
    worse = [f for f in found if f.code in WORSE.values()]
    return [
        *found,
        *fed(worse, stated),
        *(once or map(told_of, same[:1])),
        *by_mix(tables, every),
        *sound(tables, lines, counts),
    ]
