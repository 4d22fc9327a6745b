"""The cheap first pass over a log: which lines may hold a metric at all.

What such a line holds is what the declared formats and the blocks say of themselves (`Format.hint`, `blocks.HINTS`),
made of the vocabulary; no word stands here. A line too many costs a parse, a line too few loses a point.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from ...heads import names_metric
from ...patterns import finite
from . import blocks
from .formats import FORMATS

SMALL = 256 << 10
"""Bytes up to which compiling the hyperscan database costs more than plain `re` (50 ns a byte)."""
HINTS = tuple(dict.fromkeys((*(form.hint for form in FORMATS if not form.keyed), *blocks.HINTS)))
QUOTED_KEY = r"""['"][ \t]*:"""

Ends = tuple[list[int], list[int]]
"""Where the lines with a hint and those with a quoted key end, behind the line feed; one may stand several times."""


def candidates(data: bytes) -> list[int]:
    """Offsets of the lines of a chunk that may hold a metric, in order."""
    data = data if data.endswith(b"\n") else data + b"\n"
    hinted, keyed = (
        {data.rfind(b"\n", 0, end - 1) + 1: end for end in ends} for ends in _finder(len(data) <= SMALL)(data)
    )
    named = (start for start in keyed.keys() - hinted.keys() if names_metric(data[start : keyed[start]]))
    return sorted({*hinted, *named})


@cache
def _finder(small: bool) -> Callable[[bytes], Ends]:
    if not small:
        try:
            return _hyperscan([f"(?:{pattern})[^\n]*\n".encode() for pattern in ("|".join(HINTS), QUOTED_KEY)])
        except ImportError:
            pass
    hinted, keyed = (
        re.compile(rf"(?:{finite(pattern)})[^\n]*+(?:\n|\Z)".encode()) for pattern in ("|".join(HINTS), QUOTED_KEY)
    )

    def find(data: bytes) -> Ends:
        low = data.lower()
        return [m.end() for m in hinted.finditer(low)], [m.end() for m in keyed.finditer(low)]

    return find


def _hyperscan(lines: list[bytes]) -> Callable[[bytes], Ends]:
    import hyperscan

    database = hyperscan.Database()
    database.compile(expressions=lines, ids=[0, 1], flags=hyperscan.HS_FLAG_CASELESS)

    def find(data: bytes) -> Ends:
        ends: Ends = [], []
        scratch = hyperscan.Scratch(database)  # its own: one database in several threads needs one each
        database.scan(data, match_event_handler=lambda row, _, end, *rest: ends[row].append(end), scratch=scratch)
        return ends

    return find
