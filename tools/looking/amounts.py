# ruff: noqa: E501  (patterns are read as rows)
"""Numbers in people's sentences: in digits with units, in English words, in Chinese numerals; and whether two are one.

What a number is about is not told here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from math import isfinite

from ..patterns import bounded
from .calc import BYTES, COUNTS, SECONDS

NEAR, ROUNDED = 0.05, 0.12
"""Shares by which a number after "about", and one that is rounded, may lie off."""
COUNTED = 10
"""Up to which a number in words counts things, and measures nothing."""
_HAN_SECONDS = {
    "毫秒": 1e-3,
    "秒": 1.0,
    "秒钟": 1.0,
    "分钟": 60.0,
    "小时": 3600.0,
    "个小时": 3600.0,
    "天": 86400.0,
}
_HAN_COUNTS = {"千": 1e3, "百万": 1e6, "千万": 1e7, "十亿": 1e9, "千亿": 1e11, "万亿": 1e12}
_COUNTS, _SECONDS = (
    COUNTS | _HAN_COUNTS,
    SECONDS | _HAN_SECONDS | {"msec": 1e-3, "millisecond": 1e-3, "microsecond": 1e-6},
)
_BYTES = BYTES | {"kilobyte": 1e3, "megabyte": 1e6, "gigabyte": 1e9, "terabyte": 1e12, "字节": 1.0}
_UNIT = "|".join(sorted(map(re.escape, {*_COUNTS, *_SECONDS, *_BYTES}), key=len, reverse=True))
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
_TIMES = bounded(r"(?i)^\s?(?:(?:x\b|×)(?!\s?\d)|times|fold|-fold|倍|%|percent)")
_FACTOR = bounded(r"(?i)\bfactor (?:of )?(?:about |some |nearly |over |almost )?$|[倍因][数子]\D{0,3}$")
_FEW = {"a": 1, "half": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fifth": 5, "fifths": 5} | {
    w: n for w, n in _WORD.items() if n <= COUNTED
} | _HAN | {"百": 100}  # fmt: skip
_PART = re.compile(
    r"(?i)\b(one|two|three|four|five|six|seven|eight|nine)[ -](?:thirds?|quarters?|fifths?|tenths?|in (?:two|three|four|five|six|seven|eight|nine|ten))\b"
    r"|([百一二三四五六七八九十])分之([一二三四五六七八九百])|([一二两三四五六七八九])成"
)
FOLD = bounded(
    r"(?i)\b(?:(doubl|halv)(?:ed|ing|es)|(tripl|quadrupl|quintupl)(?:ed|ing|es))\b|翻了?[一两]?[倍番]|减半|腰斩"
)
_FOLDS = {"doubl": 2.0, "halv": 0.5, "tripl": 3.0, "quadrupl": 4.0, "quintupl": 5.0, "减半": 0.5, "腰斩": 0.5}
"""Verbs that tell a ratio."""
_FEWER = "|".join(w for w, n in _WORD.items() if n <= COUNTED)
_SMALL = bounded(
    rf"(?i)\b({_FEWER})\s?(times|fold|-fold|percent|seconds|minutes|hours|days)\b"
    r"|([一二两三四五六七八九十])(?:个)?(倍|分钟|小时|秒|天)(?!之)"
)
"""Few in words: where they measure time or tell a ratio, they do not count."""
_AMONG = bounded(
    rf"(?i)\b({_FEWER})(?= (?:out )?of (?:(?:the|these|those|its|all) )?(?:{_FEWER}|\d+)\b)|(?<=of )({_FEWER})\b|(?<=of the )({_FEWER})\b"
)
"""Few in words: a part, and the whole of which it is one."""
_MONTHS = {
    name: n
    for n, name in enumerate(("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1)
}
_MONTH = rf"({'|'.join(_MONTHS)})[a-z]{{0,6}}"
_DATE = re.compile(
    r"(?<![\d.])20\d\d[-/.](\d{1,2})[-/.](\d{1,2})(?![\d.])|(?:20\d\d\s?年\s?)?(?<!\d)(\d{1,2})\s?月\s?(\d{1,2})\s?[日号]"
    r"|(?<!\d)20[12]\d([01]\d)([0-3]\d)(?!\d)|(?<![A-Za-z])[EIWF]([01]\d)([0-3]\d)(?=\s\d\d:)"
    r"|(?<![\d-])([01]\d)-([0-3]\d)(?=\s\d\d:\d\d)"
)
_DATED = re.compile(
    rf"\b{_MONTH}\s(\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? 20\d\d)?|\b(\d{{1,2}})(?:st|nd|rd|th)?\s{_MONTH}(?:,? 20\d\d)?(?![A-Za-z])"
)
_LASTS = re.compile(
    r"(?i)(?<![A-Za-z0-9_.])(\d{1,3}|[两一二三四五六七八九十]{1,3})\s?(d(?:ays?)?|天|h(?:ours?|rs?)?|个?小时|m(?:in(?:utes?)?)?|分钟?)\s?(?:and |零)?(\d{1,2}|[两一二三四五六七八九十]{1,3})\s?(h(?:ours?|rs?)?|个?小时|m(?:in(?:utes?)?)?|分钟?|s(?:ec(?:onds?)?)?|秒)(?![A-Za-z])"
)
"""A duration in two parts."""
_POWER = re.compile(r"(?<![\w.])(2|10)\s?\^\s?(\d{1,2})(?![\w.])", re.ASCII)
_CLOCK = re.compile(
    r"(?<![\d:.])(\d\d):(\d\d)(?::(\d\d))?(?![\d:])|(?<=20[12]\d[01]\d[0-3]\d[_T-])([012]\d)([0-5]\d)([0-5]\d)(?!\d)"
)
"""A clock, also in the name of what a program wrote: `run-20250613_210710`."""

_CLOCK_HAN = re.compile(
    r"(凌晨|清晨|早上|上午|中午|下午|傍晚|晚上)?\s?(?<!\d)(\d{1,2})\s?[点时]\s?(?:(\d{1,2})\s?分|(半))(?!钟)"
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
        scaled = len(self.values) > 1 and not self.family and not self.times
        return product(self.values[scaled:], other.values)

    def _is(self, v: float, o: float, near: bool, rounded: bool) -> bool:
        gap = abs(abs(v) - abs(o))
        size = self.digit * abs(v / self.values[0]) if self.values[0] else self.digit
        fits = rounded and gap <= 0.501 * size and gap <= ROUNDED * max(abs(o), 1e-300)
        return fits or gap <= 1e-6 * abs(o) or (near and gap <= self._near() * abs(o))

    def _near(self) -> float:
        """Share by which it may lie off after "about": the less, the more digits it shows."""
        digits = len(f"{abs(self.values[0]):.6e}".partition("e")[0].replace(".", "").rstrip("0"))
        return NEAR if digits < 2 else 0.8 * NEAR if digits == 2 else 0.3 * NEAR


def numbers(text: str) -> Iterator[Number]:
    """The numbers of a text, in digits, English words and Chinese numerals; a date, a clock and a duration are one."""
    whole = [*dated(text)]
    taken = [(n.start, n.end) for n in whole]
    yield from whole
    for n in (*_digits(text), *_words(text), *_shares(text)):
        if not any(a < n.end and n.start < b for a, b in taken):
            yield n


def dated(text: str) -> Iterator[Number]:
    """Dates as month and day, clocks as seconds of a day, durations of two parts as seconds."""
    days = [(m, int(m[i]), int(m[i + 1])) for m in _DATE.finditer(text) for i in range(1, 11, 2) if m[i]]
    days += [(m, _MONTHS[(m[1] or m[4])[:3]], int(m[2] or m[3])) for m in _DATED.finditer(text)]
    for m, month, day in days:
        if 1 <= month <= 12 and 1 <= day <= 31:
            yield Number(m.start(), m.end(), (100.0 * month + day,) * 2, 0.001, family="date")
    for m in _CLOCK.finditer(text):
        hours, minutes, seconds = (m[i] or m[i + 3] for i in (1, 2, 3))
        size = float(int(hours) * 3600 + int(minutes) * 60 + int(seconds or 0))
        yield Number(m.start(), m.end(), (size,) * 2, 1.0 if seconds else 119.0, family="clock")
    for m in _CLOCK_HAN.finditer(text):
        later = 12 * (m[1] in ("下午", "傍晚", "晚上") and int(m[2]) < 12)
        minutes = (int(m[2]) + later) * 60 + (30 if m[4] else int(m[3]))
        yield Number(m.start(2), m.end(), (60.0 * minutes,) * 2, 119.0, family="clock")
    for m in _POWER.finditer(text):
        yield Number(m.start(), m.end(), (float(m[1]) ** int(m[2]),), 1.0)
    for m in _LASTS.finditer(text):
        last = _second(m[4])
        whole, part = (int(m[i]) if m[i].isdigit() else _han(m[i]) for i in (1, 3))
        yield Number(m.start(), m.end(), (whole * _second(m[2]) + part * last,) * 2, last * 1.9, family="time")


def _second(unit: str) -> float:
    return _SECONDS.get(unit) or {"分": 60.0, "d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}[unit[0].lower()]


def _digits(text: str) -> Iterator[Number]:
    for m in _NUMBER.finditer(text):
        if (parts := _PARTS.match(m[0])) and isfinite(float(parts[2].replace(",", ""))):
            factor = bool(_FACTOR.search(text[max(0, m.start() - 24) : m.start()]))
            yield _number(m.start(), m.end(), parts, text[m.end() :], factor)


def _words(text: str) -> Iterator[Number]:
    for m in _WORDS.finditer(text):
        value = float(_worded(m[0].lower()))
        if value > COUNTED and m[0].lower() not in _SIZE and not _NUMBER.match(text[: m.start()].rstrip()[-1:]):
            yield Number(m.start(), m.end(), (value,), 1.0, bool(_TIMES.search(text[m.end() :])))
    for m in _HANS.finditer(text):
        value = float(_han(m[0]))
        if value > COUNTED and any(c in _HAN_SIZE for c in m[0]) and any(c in _HAN for c in m[0]):
            digit = float(_HAN_SIZE.get(m[0][-1], 1)) / (1 if text[m.end() : m.end() + 1] in "多余几" else 10)
            yield Number(m.start(), m.end(), (value,), max(1.0, digit), bool(re.match("[多余几]?倍", text[m.end() :])))


def _shares(text: str) -> Iterator[Number]:
    """Parts of a whole, ratios told by a verb, and few in words where they measure."""
    for m in _PART.finditer(text):
        above, below = _parts(m)
        yield Number(m.start(), m.end(), (above / below, 100 * above / below), 0.1, True)
    for m in FOLD.finditer(text):
        told = _FOLDS.get((m[1] or m[2] or m[0]).lower(), 2.0)
        yield Number(m.start(), m.end(), (told,), 1.0, True)
    for m in _SMALL.finditer(text):
        count, unit = float(_FEW[(m[1] or m[3]).lower()]) if (m[1] or m[3]) != "十" else 10.0, (m[2] or m[4]).lower()
        size = _SECONDS.get(unit.removesuffix("s")) or _SECONDS.get(unit)
        end = m.end() if size else m.end() - len(unit)
        scale = size or (0.01 if unit == "percent" else 0)
        yield Number(
            m.start(), end, (count, count * scale) if scale else (count,), 1.0, not size, "time" if size else ""
        )
    if re.search(rf"(?i)\b(?:{_FEWER}) (?:out )?of ", text):
        for m in _AMONG.finditer(text):
            yield Number(m.start(), m.end(), (float(_WORD[m[0].lower()]),), 1.0)


def _parts(m: re.Match[str]) -> tuple[float, float]:
    if m[4]:
        return _FEW[m[4]], 10
    if m[3]:
        return _FEW[m[3]], 10 if m[2] == "十" else _FEW[m[2]]
    below = re.split(r"[ -]", m[0].lower())[-1]
    return _FEW[m[1].lower()], 10 if below.startswith(("tenth", "ten")) else _FEW[below]


def _number(start: int, end: int, parts: re.Match[str], behind: str, factor: bool) -> Number:
    sign, digits, unit = parts.groups()
    value = float(digits.replace(",", "")) * (-1 if sign in ("-", "−") else 1)
    mantissa, _, power = digits.lower().partition("e")
    digit = 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
    one = unit[:-1] if len(unit) > 2 and unit.endswith("s") else unit
    families = [
        (f, t[u]) for f, t in (("", _COUNTS), ("time", _SECONDS), ("bytes", _BYTES)) for u in {unit, one} if u in t
    ]
    if unit == "B":
        families = [("", 1e9)]  # tokens and parameters; bytes are never counted one by one
    if size := re.match(r"\s?(thousand|million|billion)\b", behind, re.IGNORECASE):
        families = [("", float(_SIZE[size[1].lower()]))]
    scales = [s for _, s in families]
    if len(unit) == 2 and f"{unit[0]}iB" in BYTES:
        scales.append(BYTES[f"{unit[0]}iB"])
    family = families[0][0] if families else ""
    times = factor or unit == "%" or bool(_TIMES.search(behind))
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
