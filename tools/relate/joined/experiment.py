"""Whether two files are of one experiment: asked before what one of them says is joined to what another does.

Their names tell it, and what both measure: two files that hold the same measures of the same steps, and other numbers,
are two trainings. Files of ranks, hosts and sides of a run are of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import PurePosixPath

import numpy as np

from ...patterns import bounded
from ..line import Line, plain

OF_ONE_RUN = bounded(r"rank|node|host|gpu|card|worker|proc|device|shard|stage|eval|before|after|base", re.IGNORECASE)
"""Folders whose files are parts or sides of one run."""
SIDE = bounded(
    r"(?:rank|node|host|gpu|card|worker|proc|device|shard|stage|eval|evaluation|val|valid|validation|test|dev|before"
    r"|after|base)\d{0,6}$"
)
"""Words of names that tell such files from each other."""
WORDS = re.compile(r"[^\W_]+")
POINTS, MEASURES = 3, 2
"""Steps that two files must share, and measures of which they must say otherwise."""
ROUNDING, AGREE = 5e-3, 0.5
"""Relative difference that rounding makes, and share of the steps that agree from which on a measure is one."""
MOST_FILES = 40
"""Files that are held against each other; more are a sweep, of which no two are joined by their measures."""


@dataclass(frozen=True)
class Experiments:
    """Which files of a run are of two experiments."""

    rivals: frozenset[tuple[str, str]] = frozenset()
    """Pairs of files that measure the same steps otherwise, both ways round."""

    def apart(self, mine: Iterable[str], theirs: Iterable[str]) -> bool:
        """Whether what is seen in the first files and what is seen in the others belongs to two experiments."""
        mine, theirs = {*mine}, {*theirs}
        if mine & theirs:
            return False
        return any((a, b) in self.rivals or _of_two_folders(a, b) for a in mine for b in theirs)


ALL_ONE = Experiments()
"""Nothing is known but names."""


def experiments(lines: Sequence[Line]) -> Experiments:
    """What the measures of a run tell of its files."""
    by: dict[str, dict[str, Line]] = {}
    for line in lines:
        if not line.group and line.rank is None and line.axis != "time" and line.name != "learning_rate":
            by.setdefault(line.file, {}).setdefault(f"{plain(line.key)} {line.axis}", line)
    if len(by) > MOST_FILES:
        return Experiments()
    pairs = [p for p in combinations(by, 2) if _rivals(by[p[0]], by[p[1]]) and not _sides(*p)]
    return Experiments(frozenset(q for a, b in pairs for q in ((a, b), (b, a))))


def _rivals(mine: dict[str, Line], theirs: dict[str, Line]) -> bool:
    """Whether all that two files measure of the same steps has other numbers."""
    shared = [s for key in mine.keys() & theirs.keys() if (s := _agree(mine[key], theirs[key])) is not None]
    return len(shared) >= MEASURES and max(shared) < AGREE


def _agree(one: Line, other: Line) -> float | None:
    """The share of the common steps at which two lines have one number; None where they have hardly any in common, or
    a number that does not move."""
    _, i, j = np.intersect1d(one.x, other.x, return_indices=True)
    still = len(i) and np.ptp(one.values[i]) == 0 == np.ptp(other.values[j])
    if still or len(i) < max(POINTS, min(len(one), len(other)) // 2):
        return None
    return float(np.isclose(one.values[i], other.values[j], rtol=ROUNDING, atol=1e-6, equal_nan=True).mean())


def _sides(mine: str, theirs: str) -> bool:
    """Whether the words that only one of two names has say that they are parts or sides of one run."""
    one, other = ({*WORDS.findall(name.lower())} for name in (mine, theirs))
    return any(SIDE.match(word) for word in one ^ other)


def _of_two_folders(mine: str, theirs: str) -> bool:
    """Whether files of one name lie in two folders, as those of two runs do; folders of ranks and hosts are of one."""
    one, other = PurePosixPath(mine), PurePosixPath(theirs)
    return one.name == other.name and not OF_ONE_RUN.search(f"{one.parent} {other.parent}")


def one_row(mine: str, theirs: str) -> bool:
    """Whether two files are of one row of files, each by its name: in one folder their names differ in one word or
    number, in folders beside each other they have one name."""
    one, other = PurePosixPath(mine), PurePosixPath(theirs)
    if one.parent == other.parent:
        a, b = (WORDS.findall(path.name.lower()) for path in (one, other))
        return len(a) == len(b) and sum(x != y for x, y in zip(a, b, strict=True)) == 1
    return one.name == other.name and one.parent.parent == other.parent.parent
