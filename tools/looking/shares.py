# ruff: noqa: E501  (patterns are read as rows)
"""Ratios in people's sentences with how they are hedged: "under a tenth", "25%", "more than twice", 七成以上.

Of which numbers they are is not told here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..patterns import bounded
from .amounts import FOLD, Number

WORDED, HEDGED, BEYOND = 0.15, 0.05, 1.5
"""Shares by which a ratio in words, and one in digits, may lie off; and times what "more than" it may be."""
_PARTS = {
    "half": 2,
    "third": 3,
    "quarter": 4,
    "fifth": 5,
    "sixth": 6,
    "seventh": 7,
    "eighth": 8,
    "ninth": 9,
    "tenth": 10,
}
_SPOKEN = bounded(
    rf"(?i)\b(?:an? (?P<part>{'|'.join(_PARTS)})(?=\s(?:of|as|that|the|less|more|lower|higher|below|above|fewer|longer|shorter)\b|[,;.]|$)"
    r"|(?<!the )(?<!first )(?<!second )(?<!other )(?<!last )(?<!latter )(?<!a )(?<!and )(?P<half>half)(?=\s(?:of|as|that|less|more|lower)\b|[,;.]|$)"
    r"|(?P<twice>twice)|(?P<thrice>thrice))\b|(?P<han>一半|半数)"
)
_OVER = bounded(
    r"(?i)(?:\b(?:over|above|more than|greater than|at least|well over|beyond|exceed\w{0,3})|超过|多于|高于|至少|不止|>)\s?(?:了|于)?\s?$"
)
_UNDER = bounded(
    r"(?i)(?:\b(?:under|below|less than|fewer than|at most|up to|not even)|不到|不足|低于|少于|至多|<)\s?$"
)
_NEARLY = bounded(r"(?i)(?:\b(?:nearly|almost|close to|just under|not quite)|近|接近|将近|快)\s?$")
_ROUGHLY = bounded(r"(?i)(?:\b(?:about|around|roughly|approximately|some)|~|≈|约|大约|大概)\s?$")
_PLUS = bounded(r"(?i)^\s?(?:多|以上|还多|有余|出头|or (?:more|so)|plus\b|\+)")
_LESS = bounded(r"(?i)^\s?(?:以下|不到|or less)")


@dataclass(frozen=True)
class Share:
    """A ratio in a text and what it may be for what is said of it."""

    start: int
    end: int
    value: float
    low: float
    high: float
    size: float = 0.0
    """What its last digit is worth; 0 in words."""

    def shows(self, ratio: float) -> bool:
        """Whether it is the ratio as it would be written."""
        return abs(abs(ratio) - self.value) <= 0.501 * self.size

    def fits(self, ratio: float) -> bool:
        """Whether the ratio is what the text says."""
        return self.low <= abs(ratio) <= self.high


def shares(text: str, found: Sequence[Number]) -> Iterator[Share]:
    """The ratios of a text: those among its numbers, and those in words that are no numbers."""
    for n in found:
        if n.times and n.value and not text[n.end :].lstrip().lower().startswith(("percentage", "个百分", "百分点")):
            percent = not n.values[1:] and re.match(r"(?i)\s?percent", text[n.end :])
            worded = text[n.start] not in "+-−0123456789"
            value = abs(n.values[0]) if worded else abs(n.value) / (100 if percent else 1)
            size = n.digit * value / abs(n.values[0]) if not worded else 0.0
            yield _share(text, n.start, n.end, value, size, worded)
    taken = [(n.start, n.end) for n in found]
    for m in _SPOKEN.finditer(text):
        if not any(a < m.end() and m.start() < b for a, b in taken):
            part = m["part"] or ("half" if m["half"] or m["han"] else "")
            yield _share(text, m.start(), m.end(), 1 / _PARTS[part.lower()] if part else 3.0 if m["thrice"] else 2.0, 0.0, True)  # fmt: skip


def _share(text: str, start: int, end: int, value: float, size: float, worded: bool) -> Share:
    before, behind = text[max(0, start - 16) : start], text[end:].removeprefix("倍")
    spread = max(value * (WORDED if worded else HEDGED), 0.501 * size)
    if FOLD.match(text[start:end]):
        spread = 0.25 * value
    small = max(0.02 * value, 0.501 * size)
    low, high = value - spread, value + spread
    if _OVER.search(before) or _PLUS.match(behind) or "不止" in text[start:end]:
        low, high = value - small, min(value * BEYOND, value + 0.6 * (1 - value) if value < 1 else value * BEYOND)
    elif _UNDER.search(before) or _LESS.match(behind):
        low, high = 0.6 * value, value + small
    elif _NEARLY.search(before):
        low, high = (1 - WORDED) * value, value + small
    elif _ROUGHLY.search(before):
        low, high = min(low, (1 - WORDED / 2) * value), max(high, (1 + WORDED / 2) * value)
    return Share(start, end, value, low, high, size)
