"""Files that answer one list of questions: what several models gave, or several passes. Nobody trains on all of them.

Copies of one file answer alike too, and are duplicates: here the answers must differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, islice

from .records.blocks import blocks
from .records.record import Part
from .records.shapes import view

LEAST, SHARED, SAME = 10, 0.9, 0.95
"""Questions of a file, the share of them that the other file asks too, and the share of equal answers from which on the
second is a copy. Ours."""
FILES, RECORDS = 12, 5000
"""Files that are compared, and records of each."""


def answer_the_same(files: Sequence[tuple[str, Sequence[Part]]]) -> set[str]:
    """The names of those files that ask what another one asks and answer it otherwise."""
    if len(files) < 2:
        return set()
    asked = {name: found for name, parts in files[:FILES] if len(found := _answers(parts)) >= LEAST}
    out: set[str] = set()
    for (one, mine), (other, theirs) in combinations(asked.items(), 2):
        both = mine.keys() & theirs.keys()
        if len(both) < SHARED * max(len(mine), len(theirs)):
            continue
        if sum(mine[question] == theirs[question] for question in both) < SAME * len(both):
            out |= {one, other}
    return out


def _answers(parts: Sequence[Part]) -> dict[int, int]:
    """Hash of each question -> hash of its answer; empty where questions come back within the file."""
    records = (record for part in parts for block in blocks(part) for record in block.records)
    seen = [view(record.value) for record in islice(records, RECORDS)]
    if not all(one.prompt and one.response for one in seen):
        return {}
    out = {hash(one.prompt): hash(one.response) for one in seen}
    return out if len(out) >= SHARED * len(seen) else {}
