"""Patterns for text of strangers: what may be repeated for ever is counted, so no search takes a square of its time.

`bounded` is `re.compile` for patterns that are searched for, and so begin again at every letter. A pattern that has to
read on to the end, however long that is, does without: possessively (`*+`), or with string methods.
`tests/security/test_patterns.py` attacks every pattern of the package.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import AnyStr

BLANKS, DIGITS, GROUPS, LETTERS = 16, 40, 30, 200
"""Most repetitions of blanks, digits, groups and other letters: more than a line of a program or trainer holds."""
_MOST = {r"\s": BLANKS, " ": BLANKS, "[ ]": BLANKS, r"[ \t]": BLANKS, r"\d": DIGITS, "[0-9]": DIGITS, ")": GROUPS}
_PIECE = re.compile(r"\[\^?\]?(?:\\.|[^\\\]]){0,500}+\]|\\.|\{\d+,\}|.", re.DOTALL)
"""A class, an escaped character, a count without an end, or a character."""


def finite(pattern: str) -> str:
    """The pattern with `*`, `+` and `{n,}` as counts that end; what is lazy or possessive stays so."""
    out, repeated = [], ""
    for match in _PIECE.finditer(pattern):
        piece = match[0]
        least = {"*": "0", "+": "1"}.get(piece, piece[1:-2] if piece.endswith(",}") else "")
        if repeated and least:
            out.append(f"{{{least},{max(_MOST.get(repeated, LETTERS), int(least))}}}")
            repeated = ""
        else:
            out.append(piece)
            repeated = piece
    return "".join(out)


@lru_cache(4096)
def bounded(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """The pattern, made finite and compiled."""
    if isinstance(pattern, str):
        return re.compile(finite(pattern), flags)
    return re.compile(finite(pattern.decode("latin-1")).encode("latin-1"), flags)
