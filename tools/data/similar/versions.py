"""Files that are versions of one set: a part or an excerpt of a larger one, or what was split into train and test.

What stands in a part and in the whole is no duplicate of a training, which reads one of them; and that the whole holds
the items of the test as well as those of the training is how a split begins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice, permutations
from typing import Any

from ...patterns import bounded
from ..records.blocks import blocks
from ..records.record import Part

NEARLY, SMALLER = 0.9, 0.9
"""Share of a file's records that stand in another, and of that one's size, below which it is a part of it. Ours."""
FILES, RECORDS, LETTERS = 12, 5000, 300
"""Files that are compared, records of each, and letters of a record's longest text by which it is known again."""
SHARDED = bounded(r"(?i)part|shard|chunk|worker|rank|-of-|分片")
_DIGITS = re.compile(r"\d+")

Named = tuple[str, Sequence[Part]]


def parts_of_others(files: Sequence[Named]) -> set[str]:
    """The names of those that are a part of a larger one; shards are none: what they share is read twice."""
    said = _said(files)
    return {a for a, b in permutations(said, 2)
            if not _shards(a, b) and len(said[a]) < SMALLER * len(said[b]) and _inside(said[a], said[b])}  # fmt: skip


def origins(train: Sequence[Named], held: Sequence[Named], trained: Callable[[str], object]) -> set[str]:
    """Of several files to train on those that hold another one of them and the held-out items alike, and do not call
    themselves the training's: the set before it was split."""
    known, out = _said([*train, *held]), set[str]()
    names, tests = ([n for n, _ in some if n in known] for some in (train, held))
    for whole in (n for n in names if not trained(n)):
        parts = [n for n in names if n != whole and len(known[n]) < len(known[whole])]
        if all(any(_inside(known[n], known[whole]) for n in some) for some in (parts, tests)):
            out.add(whole)
    return out


def _said(files: Sequence[Named]) -> dict[str, frozenset[int]]:
    found = {name: frozenset(_records(parts)) for name, parts in files[:FILES]} if len(files) > 1 else {}
    return {name: some for name, some in found.items() if some}


def _records(parts: Sequence[Part]) -> list[int]:
    records = (record.value for part in parts for block in blocks(part) for record in block.records)
    return [hash(text) for value in islice(records, RECORDS) if (text := _longest(value)[:LETTERS].strip())]


def _longest(value: Any) -> str:
    if isinstance(value, str):
        return value
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return max((_longest(one) for one in islice(inner, 40)), key=len, default="")


def _inside(part: frozenset[int], whole: frozenset[int]) -> bool:
    return len(part & whole) >= NEARLY * len(part)


def _shards(a: str, b: str) -> bool:
    """Whether two names are those of shards: alike but for their numbers, or called so."""
    return _DIGITS.sub("", a) == _DIGITS.sub("", b) or bool(SHARDED.search(a) and SHARDED.search(b))
