"""Files that are versions of one set: a part or an excerpt of a larger one, the same in another form, or what was split
into train and test.

What stands in a part and in the whole is no duplicate of a training, which reads one of them; and that the whole holds
the items of the test as well as those of the training is how a split begins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import combinations, islice, permutations
from pathlib import Path, PurePosixPath
from typing import Any

from ...patterns import bounded
from ..records.blocks import blocks
from ..records.record import Part

NEARLY, SMALLER = 0.9, 0.9
"""Share of a file's records that stand in another, and of that one's size, below which it is a part of it. Ours."""
FILES, RECORDS, LETTERS = 12, 20_000, 300
"""Files that are compared, records of each, and letters of a record's longest text by which it is known again."""
SHARDED = bounded(r"(?i)part|shard|chunk|worker|rank|-of-|分片")
FORMS = bounded(
    r"(?i)(?:^|[^a-z])(?:raw|orig(?:inal)?|source|clean(?:ed)?|convert(?:ed)?|process(?:ed)?|preprocessed|format(?:ted)?"
    r"|reformatted|normali[sz]ed|alpaca|sharegpt|chatml|llama_?factory|jsonl?|csv|parquet|hf)(?:[^a-z]|$)"
    r"|原始|清洗|转换|处理后|格式化"
)
"""Words in the names of two forms of one set: as it was, and as a training reads it."""
_DIGITS = re.compile(r"\d+")

Named = tuple[str, Sequence[Part]]


def parts_of_others(files: Sequence[Named]) -> set[str]:
    """The names of those that are a part of a larger one, and one of two forms of one set (as it came, and converted);
    shards are none: what they share is read twice."""
    said = _said(files)
    parts = {a for a, b in permutations(said, 2)
             if not _shards(a, b) and len(said[a]) < SMALLER * len(said[b]) and _inside(said[a], said[b])}  # fmt: skip
    fields = {name: _fields(some) for name, some in files[:FILES]}
    left = [name for name in said if name not in parts]
    size = {name: _sizes(some) for name, some in files[:FILES]}
    for a, b in combinations(left, 2):
        if {a, b} & parts or _shards(a, b) or not (_inside(said[a], said[b]) and _inside(said[b], said[a])):
            continue
        small, large = sorted((a, b), key=lambda name: size[name][1])
        begun = size[large][0] < size[large][1] and size[small][1] < SMALLER * size[large][1]
        if begun or fields[a] != fields[b] or _two_forms(a, b):  # the beginnings are one, and the larger goes on
            parts.add(small if begun else a)
    return parts


def _sizes(parts: Sequence[Part]) -> tuple[int, int]:
    """Bytes of a file that are read, and that it has."""
    read = sum(part.size for part in parts)
    with suppress(OSError):
        return read, max(read, sum(Path(path).stat().st_size for path in {part.path for part in parts}))
    return read, read


def _fields(parts: Sequence[Part]) -> frozenset[str]:
    """The names of the first record's fields."""
    first = next((record.value for part in parts for block in blocks(part) for record in block.records), None)
    return frozenset(map(str, first)) if isinstance(first, Mapping) else frozenset()


def _two_forms(a: str, b: str) -> bool:
    """Whether two names are of one set in two forms: one says so, goes on from the other's with words of its own
    (`rows.shuffled`), or they differ in their ending alone."""
    short, long = sorted((PurePosixPath(n).with_suffix("").as_posix() for n in (a, b)), key=len)
    more = long.removeprefix(short)
    made = more != long and more[:1] in (".", "_", "-") and any(map(str.isalpha, more))
    return short == long or made or any(FORMS.search(PurePosixPath(n).stem) for n in (a, b))


def _adds_up(train: int, tests: Sequence[int], whole: int) -> bool:
    """Whether bytes of a training and of one held-out file, or of all of them, make those of the whole."""
    return any(abs(train + rest - whole) <= 0.02 * whole for rest in (*tests, sum(tests)))


def origins(train: Sequence[Named], held: Sequence[Named], trained: Callable[[str], object]) -> set[str]:
    """Of several files to train on those that hold another one of them and the held-out items alike, and do not call
    themselves the training's: the set before it was split."""
    known, out = _said([*train, *held]), set[str]()
    names, tests = ([n for n, _ in some if n in known] for some in (train, held))
    size = {name: _sizes(some) for name, some in (*train, *held)}
    for whole in (n for n in names if not trained(n)):
        read, bytes_ = size[whole]
        parts = [n for n in names if n != whole and size[n][1] < bytes_]
        inside = [n for n in parts if _inside(known[n], known[whole])]
        rest = any(_inside(known[n], known[whole]) for n in tests) or (
            read < bytes_
            and any(trained(n) and _adds_up(size[n][1], [size[t][1] for t in tests], bytes_) for n in inside)
        )
        if inside and rest:
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
