# ruff: noqa: E501  (patterns are read as rows)
"""Numbers in people's sentences: in digits with units, in English words, in Chinese numerals; and whether two are one.

What a number is about is not told here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from ..patterns import bounded
from .calc import BYTES, COUNTS, SECONDS

NEAR, ROUNDED = 0.05, 0.1
"""Shares by which a number after "about", and one that is rounded, may lie off."""
COUNTED = 10
"""Up to which a number in words counts things, and measures nothing."""
_UNIT = "|".join(sorted(map(re.escape, {*COUNTS, *SECONDS, *BYTES}), key=len, reverse=True))
_NUMBER = bounded(
    rf"(?<![\w.])(?:[+−-](?=\d))?(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d+)?(?:\s?(?:{_UNIT})s?(?![A-Za-z]))?",
    re.ASCII,
)
_PARTS = re.compile(r"([+−-]?)([\d,]+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s?(.*)", re.ASCII)
_WORD = {w: n for n, w in enumerate(["eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"], 11)} | {
    w: 10 * n for n, w in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)
} | {w: n for n, w in enumerate(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], 1)}  # fmt: skip
_SIZE = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_WORDS = bounded(
    rf"(?i)\b(?:{'|'.join([*_WORD, *_SIZE])})(?:(?:[\s-]|\sand\s)(?:{'|'.join([*_WORD, *_SIZE])})\b){{0,6}}"
)
_HAN = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_HAN_SIZE = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "亿": 10**8}
_HANS = bounded("[零一二两三四五六七八九十百千万亿〇]{2,12}")
_TIMES = bounded(r"(?i)^\s?(?:x\b|×|times|fold|-fold|倍|%|percent)")
_FEW = {"a": 1, "half": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fifth": 5, "fifths": 5} | {
    w: n for w, n in _WORD.items() if n <= COUNTED
} | _HAN | {"百": 100}  # fmt: skip
_PART = re.compile(
    r"(?i)\b(two|three|four|five|six|seven|eight|nine)[ -](thirds|quarters|fifths)\b|([百一二三四五六七八九])分之([一二三四五六七八九百])"
)


@dataclass(frozen=True)
class Number:
    """A number in a text, in every size that its unit may mean."""

    start: int
    end: int
    values: tuple[float, ...]
    """As it is written, then with its unit."""
    digit: float = 0.0
    """What the last digit is worth."""
    times: bool = False
    """Whether it is a ratio."""
    family: str = ""
    """`time` or `bytes`, where its unit says so."""

    @property
    def value(self) -> float:
        return self.values[-1]

    def known(self, others: Iterable[Number], near: bool = False, rounded: bool = True) -> bool:
        """Whether it is one of the others, perhaps rounded to the digits that it shows."""
        return any(self._is(v, o, near, rounded) for other in others for v, o in self._pairs(other))

    def _pairs(self, other: Number) -> Iterator[tuple[float, float]]:
        """What of both is compared: where both have a unit, the sizes with it."""
        if self.family and other.family:
            same = self.family == other.family
            return product(self.values[1:] if same else (), other.values[1:])
        return product(self.values, other.values)

    def _is(self, v: float, o: float, near: bool, rounded: bool) -> bool:
        gap = abs(abs(v) - abs(o))
        size = self.digit * abs(v / self.values[0]) if self.values[0] else self.digit
        fits = rounded and gap <= 0.501 * size and gap <= ROUNDED * max(abs(o), 1e-300)
        return fits or gap <= 1e-6 * abs(o) or (near and gap <= NEAR * abs(o))


def numbers(text: str) -> Iterator[Number]:
    """The numbers of a text, in digits, English words and Chinese numerals."""
    for m in _NUMBER.finditer(text):
        if parts := _PARTS.match(m[0]):
            yield _number(m.start(), m.end(), parts, text[m.end() :])
    for m in _WORDS.finditer(text):
        value = float(_worded(m[0].lower()))
        if value > COUNTED and m[0].lower() not in _SIZE and not _NUMBER.match(text[: m.start()].rstrip()[-1:]):
            yield Number(m.start(), m.end(), (value,), 1.0, bool(_TIMES.search(text[m.end() :])))
    for m in _HANS.finditer(text):
        value = float(_han(m[0]))
        if value > COUNTED and any(c in _HAN_SIZE for c in m[0]) and any(c in _HAN for c in m[0]):
            yield Number(m.start(), m.end(), (value,), 1.0, text[m.end() : m.end() + 1] == "倍")
    for m in _PART.finditer(text):
        above, below = (m[1], m[2]) if m[1] else (m[4], m[3])
        if above.lower() in _FEW and below.lower() in _FEW:
            share = _FEW[above.lower()] / _FEW[below.lower()]
            yield Number(m.start(), m.end(), (share, 100 * share), 0.01, True)


def _number(start: int, end: int, parts: re.Match[str], behind: str) -> Number:
    sign, digits, unit = parts.groups()
    value = float(digits.replace(",", "")) * (-1 if sign in ("-", "−") else 1)
    mantissa, _, power = digits.lower().partition("e")
    digit = 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
    one = unit[:-1] if len(unit) > 2 and unit.endswith("s") else unit
    families = [
        (f, t[u]) for f, t in (("", COUNTS), ("time", SECONDS), ("bytes", BYTES)) for u in {unit, one} if u in t
    ]
    if unit == "B":
        families = [("", 1e9)]  # tokens and parameters; bytes are never counted one by one
    if size := re.match(r"\s?(thousand|million|billion)\b", behind, re.IGNORECASE):
        families = [("", float(_SIZE[size[1].lower()]))]
    scales = [s for _, s in families]
    if len(unit) == 2 and f"{unit[0]}iB" in BYTES:
        scales.append(BYTES[f"{unit[0]}iB"])
    family = families[0][0] if families else ""
    times = unit == "%" or bool(_TIMES.search(behind))
    return Number(start, end, (value, *(value * s for s in scales)), digit, times, family)


def _worded(words: str) -> int:
    total, part = 0, 0
    for word in re.split(r"[\s-]+", words):
        if word in _SIZE:
            part = max(part, 1) * _SIZE[word]
            if _SIZE[word] > 100:
                total, part = total + part, 0
        else:
            part += _WORD.get(word, 0)
    return total + part


def _han(text: str) -> int:
    total, part, digit = 0, 0, 0
    for c in text:
        if c in _HAN:
            digit = _HAN[c]
        elif _HAN_SIZE[c] >= 10**4:
            total, part, digit = (total + part + digit) * _HAN_SIZE[c], 0, 0
        else:
            part, digit = part + max(digit, 1) * _HAN_SIZE[c], 0
    return total + part + digit
