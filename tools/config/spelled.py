"""Keys that nobody reads because they are spelled nearly like one that a program reads.

A word with one letter more, less, other or exchanged (two in a long word) counts as the same word: that covers slips of
typing, the plural and the British spelling. Digits are never a slip: `adam_beta1` and `adam_beta2` are two settings.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

from .frameworks import named
from .keys import normal, table

SHORTEST, LONG = 5, 9
"""Letters of a word that may be a slip, and from which on it may hold two. Shorter ones are too often other words
(min, max, eval, save)."""
DIGITS = re.compile(r"\d")


def near(word: str, known: str) -> bool:
    """Whether a part of a key is another spelling of a known one: the same words but for one, or joined otherwise."""
    if word == known:
        return False
    if word.replace("_", "") == known.replace("_", ""):
        return len(known) >= SHORTEST
    mine, theirs = word.split("_"), known.split("_")
    apart = [(a, b) for a, b in zip(mine, theirs, strict=False) if a != b]
    return len(mine) == len(theirs) and len(apart) == 1 and _slipped(*apart[0])


def _slipped(a: str, b: str) -> bool:
    short, long = sorted((a, b), key=len)
    if long == f"{short}s":
        return len(short) >= SHORTEST - 1
    if len(short) < SHORTEST or a[0] != b[0] or DIGITS.findall(a) != DIGITS.findall(b):
        return False
    return _distance(a, b) <= (2 if len(short) >= LONG else 1)


def _distance(a: str, b: str) -> int:
    """Letters to add, drop, change or exchange with the next (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, last, row = row, before, [i]
        for j, y in enumerate(b, 1):
            best = min(before[j] + 1, row[-1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                best = min(best, last[j - 2] + 1)
            row.append(best)
    return row[-1]


@cache
def levels(framework: str) -> dict[str, frozenset[str]]:
    """Block of the framework's keys, empty for the outermost -> the names in it that it reads."""
    out: dict[str, set[str]] = {}
    for key in (*table(framework), *named(framework).also.split()):
        parts = key.split(".")
        for i, part in enumerate(parts):
            out.setdefault(".".join(parts[:i]), set()).add(part)
    return {block: frozenset(names) for block, names in out.items()}


def misspelt(framework: str, key: str, others: Collection[str]) -> tuple[str, str] | None:
    """(what is written, what the framework reads) of a key that is spelled nearly as one of the framework's.

    Args:
        framework: whose file it is.
        key: the dotted key as it is written.
        others: the normalised dotted keys of the same file: one that is there in its right spelling was meant.
    """
    known, block = levels(framework), ""
    parts = normal(key).split(".")
    for i, part in enumerate(parts):
        here = known.get(block, frozenset())
        if part not in here:
            right = next((n for n in sorted(here) if near(part, n) and not _present(block, n, others)), None)
            return (".".join(key.split(".")[: i + 1]), ".".join(filter(None, (block, right)))) if right else None
        block = ".".join(filter(None, (block, part)))
    return None


def _present(block: str, name: str, keys: Collection[str]) -> bool:
    whole = ".".join(filter(None, (block, name)))
    return any(key == whole or key.startswith(whole + ".") for key in keys)
