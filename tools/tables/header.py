"""Whether the first row of a table is its header, and whether units stand under it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from .cells import MISSING, is_number, is_unit, number
from .times import span, times
from .vocabulary import known

_PAIR = re.compile(r"(?<![<>])[:=：]\s?[-+]?\.?\d")
_ASIDE = re.compile(r"[\w)]\s?[(\[（][^()\[\]（）]{0,24}[)\]）]$")
"""What stands in brackets behind a name: `batches(bs=4)`."""
_BOUND = frozenset("<>≤≥")
_NO_UNIT = ("idx", "none", "id", "str", "#")
_PLACE = re.compile(r"[YMDHSymdhs]{2,8}(?:[:/-][YMDHSymdhs]{2,8})*+$")
"""How a date is to be written (`YYYYMMDD`, `HH:MM:SS`), where a unit would stand."""
_UNIT_CELL = re.compile(r"[(\[（]?([^()\[\]（）]{0,24})[)\]）]?$")


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns: words above numbers, or words that are names of columns.

    Numbers may be names too (a column for each of the steps 1000, 2000, 3000), where the first one is a word and the
    values below are none of a row of such numbers.
    """
    first, below = rows[0], rows[1:]
    if not any(first) or holds_pairs(first) or (below and like_pairs(first, below[0])):
        return False
    if not below:
        return not any(_valued(c) for c in first)
    votes = against = 0
    for i, cell in enumerate(first):
        cells = [r[i] for r in below if i < len(r) and r[i].lower() not in MISSING]
        if not cells:
            continue
        valued = sum(map(_valued, cells)) / len(cells) > 0.6
        if valued and not _valued(cell):
            votes += bool(cell) and cell.lower() not in MISSING
        elif valued and cell.endswith("%") and not any(c.endswith("%") for c in cells):
            votes += 1  # percentiles name columns
        elif valued and cell[0] in _BOUND and not any(_BOUND & set(c) for c in cells):
            votes += 1  # so do buckets
        elif valued:
            against += 1
    if votes > against:
        return True
    if against:
        return _counted(first, below)
    return _named(first, below)


def two_heads(names: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    """The names of columns whose head is in two rows, `MMLU | | GSM8K |` above `acc | n | acc | n`; none of one head.

    A blank of the first belongs to what stands before it; the second has no number where all rows below it have.
    """
    if len(body) < 2 or len(body[0]) != len(names) or "" not in names[1:]:
        return []
    second = body[0]
    numeric = [
        i for i in range(len(names)) if all(i < len(r) and _valued(r[i]) for r in body[1:] if i < len(r) and r[i])
    ]
    if len(numeric) < 2 or any(_valued(second[i]) or not second[i] for i in numeric):
        return []
    first = [""] * len(names)
    for i, name in enumerate(names):
        first[i] = name or (first[i - 1] if i and i in numeric else "")
    return [" ".join(dict.fromkeys(filter(None, pair))) for pair in zip(first, second, strict=True)]


def holds_pairs(names: Sequence[str]) -> bool:
    """Whether there are keys with their values among the names (`Data path:`, `lr: 3e-4`)."""
    return any(n.endswith((":", "：")) or _PAIR.search(_ASIDE.sub("", n)) for n in names)


def like_pairs(first: Sequence[str], below: Sequence[str]) -> bool:
    """Whether cells are pairs like those below them (`loss 6.71` over `loss 5.29`): lines of a log."""
    alike = 0
    for head, cell in zip(first, below, strict=False):
        words, others = re.split(r"[\s:=]", head), re.split(r"[\s:=]", cell)
        alike += len(words) > 1 and words[0] == others[0] and any(map(str.isdigit, head))
    return alike * 3 > len(first)


def _valued(cell: str) -> bool:
    return is_number(cell) or span(cell) is not None or times([cell]) is not None


def _counted(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether the row is a word and then rising whole numbers, with broken ones below."""
    counts = [c for c in first[1:] if c]
    if len(counts) < 2 or _valued(first[0]) or not all(re.fullmatch(r"\d{1,9}[kKmM]?", c) for c in counts):
        return False
    values = [number(c) for c in counts]
    rising = all(a[0] < b[0] for a, b in pairwise(values) if a and b)
    cells = [c for r in below for c in r[1:] if c]
    return rising and sum("." in c or "%" in c for c in cells) > len(cells) / 2


def _named(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Of nothing but words: whether the first are names, which do not come again below."""
    words = [c for c in first if c]
    if len(set(words)) < len(words) or any(len(w) > 60 for w in words):
        return False
    if sum(known(w) for w in words) * 2 >= len(words):
        return True
    return not any(cell and cell in (r[i] for r in below if i < len(r)) for i, cell in enumerate(first)) and all(
        re.fullmatch(r"[\w .\-/()%\[\]]{1,40}", w) for w in words
    ) and len(below) > 1  # fmt: skip


def unit_row(names: Sequence[str], below: Sequence[Sequence[str]]) -> list[str]:
    """The units that stand under the header, one for each column; none where the next row holds values."""
    if not below or len(below) < 2:
        return []
    cells = [(_UNIT_CELL.match(c) or [c, c])[1].strip() for c in below[0]]
    told = [c for c in cells if c and c not in ("-", "--")]
    if not told or not all(is_unit(c) or c.lower() in _NO_UNIT or _PLACE.match(c) for c in told):
        return []
    if any(is_number(c) for c in below[0]) or len(below[0]) > len(names):
        return []
    return ["" if c.lower() in (*_NO_UNIT, "-", "--") or _PLACE.match(c) else c for c in cells]
