# ruff: noqa: E501  (patterns are read as rows)
"""Whose a number is: one that stands beside the name of a measure or setting is held against the rows of that name.

A number in a clause that names nothing, or two things, is not judged here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from ...tools.looking.amounts import Number
from ...tools.patterns import bounded
from .ledger import Ledger, Row
from .ordered import PART
from .whose import words

_KEY = re.compile(r"^([\w./@-]{3,60})(?: rank \d{1,4})?: \d{1,9} points\b")
_AGAINST = bounded(r"(?i)\b(?:than|against|versus|vs|while|where|loss|but)\b|[比而]")
"""Between a name and a number that is of something else."""
_EXACT = bounded(r"(?i)\b(?:batch(?: size)?|seed|rank|world size|accumulation|workers|shots)(?: of| is| was|=)?\s?$")
"""Before a number that nobody rounds."""
_LINE = re.compile(r":\d{1,9}$")
_PLACED = bounded(r"(?:[\w/@+-]+\.)+\w{1,12}:(\d{1,9})|(?:\bline |第 ?)(\d{1,9})(?: ?行)?(?!\d)")
_OF = bounded(r"^\s?of (?:the |all |its |their )?([a-z]{3,20})")
_SEGMENT = re.compile(r"[;,；，]\s")
_TALLY = bounded(
    r"(?i)\b(three|four|five|six|seven|eight|nine|ten)(?= (?:of the (?:\w{1,20} )?|logged |last |first |other |dead |failed )?"
    r"(?:runs|ranks|nodes|jobs|seeds|losses|steps|evaluations|workers|requests|points|epochs|restarts|attempts)\b)|(?:(?<!第)(?<!第 )[三四五六七八九十](?=[遍次轮]))"
)
_COUNT = dict(zip("两三四五六七八九十", range(2, 11), strict=True)) | dict(
    zip(("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), range(2, 11), strict=True)
)


@lru_cache(64)
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w/.-]){re.escape(name)}(?![\w/-])")


def measures(ledger: Ledger) -> list[str]:
    """The names of the run's measures, as its rows tell them: those that are no words."""
    found = (m[1] for row in ledger.rows.values() if (m := _KEY.match(row.text)))
    return list(dict.fromkeys(name for name in found if not name.isalpha()))


def unrounded(text: str, n: Number) -> bool:
    """Whether the number is one that nobody rounds: a seed, a size of a batch."""
    return n.values[0].is_integer() and n.digit >= 1 and bool(_EXACT.search(text[: n.start]))


def others(clause: str, at: int, names: Sequence[str], rows: Sequence[Row]) -> list[Row]:
    """The cited measures other than the one that is named last before a number; none where none is named.

    Args:
        clause: the words around the number.
        at: where the number stands in them.
        names: names of measures.
        rows: the rows that the statement rests on.
    """
    named = [(m.start(), name) for name in names for m in _pattern(name).finditer(clause, 0, at)]
    if not named or _AGAINST.search(clause[max(named)[0] : at]):
        return []
    pattern = _pattern(max(named)[1])
    own = [row for row in rows if pattern.search(row.text)]
    return [row for row in rows if row not in own and row.id[0] == "M"] if own else []


def displaced(text: str, rows: Sequence[Row]) -> Iterator[tuple[int, int, str]]:
    """Places (`file:line`, `line 7`) whose row tells of nothing that the words beside them tell of; another row does.

    Yields:
        Where the place stands, and the row that it is of.
    """
    placed = [row for row in rows if _LINE.search(row.place)]
    for start, end in pairwise([0, *(m.end() for m in PART.finditer(text)), len(text)]):
        part, found = text[start:end], [*_PLACED.finditer(text, start, end)]
        if len(found) != 1 or len(placed) < 2:
            continue
        line, told = found[0][1] or found[0][2], words(_PLACED.sub(" ", part))
        theirs = [row for row in placed if row.place.endswith(f":{line}")]
        telling = [row for row in placed if len(told & words(row.text)) > (not part.isascii())]
        if theirs and telling and not any(told & words(row.text) for row in theirs):
            yield found[0].start(), found[0].end(), theirs[0].id


def of_another(text: str, n: Number, rows: Sequence[Row], read: Callable[[str], Sequence[Number]]) -> bool:
    """Whether a share is said of something that its row gives another share of: `61% of the answers`."""
    of = _OF.match(text[n.end :])
    if not of or not n.times:
        return False
    whole, mine, theirs = of[1].lower(), list[bool](), False
    for segment in (s for row in rows for s in _SEGMENT.split(row.text)):
        held = [m for m in read(segment) if m.times]
        named = re.search(rf"\b{re.escape(whole)}", segment.lower())
        if any(n.known([m]) for m in held):
            mine.append(bool(named))
        theirs |= bool(held and named and not any(n.known([m]) for m in held))
    return theirs and bool(mine) and not any(mine)


def tallies(text: str, rows: Sequence[Row], read: Callable[[str], Sequence[Number]]) -> Iterator[tuple[int, int]]:
    """Runs, steps and attempts that the text counts in words, where the rows hold no such number and are not as many."""
    held = {round(abs(n.values[0])) for row in rows for n in read(row.text) if abs(n.values[0]) < 1e9}
    for m in _TALLY.finditer(text):
        count = _COUNT[m[0].lower()]
        if len(rows) != count and not held & {count - 1, count, count + 1}:
            yield m.start(), m.end()
