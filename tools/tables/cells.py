"""What the cells of a column are: numbers (of any country, with units), points or spans of time, or text.

Which sign is the decimal one is decided by all cells of a table together. What a column is for is `roles`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from ..patterns import bounded
from .raw import CELL, words_of
from .table import NO_ROWS
from .times import clocks, spans, times

What = Literal["number", "time", "clock", "span", "flag", "text", "empty"]
MISSING = frozenset((
    "", "-", "--", "---", "—", "–", "?", "/", ".", "na", "n/a", "nan", "null", "none", "nil", "[n/a]", "<na>", "<none>",
    "[none]", "#n/a", "[not supported]", "not supported", "[unknown error]", "unknown", "undefined", "missing", "无",
    "空", "缺失",
))  # fmt: skip
"""Cells, in lower case, that hold nothing."""
_NANS = frozenset(("nan", "-nan", "+nan"))
FLAGS = frozenset(("true", "false", "yes", "no", "y", "n", "on", "off", "是", "否"))
_ENDLESS = {"inf": np.inf, "+inf": np.inf, "infinity": np.inf, "-inf": -np.inf, "-infinity": -np.inf, "∞": np.inf}
_NUMBER = bounded(
    r"[~≈<>≤≥$¥€£*]?\s?(?P<sign>[-+−]?)(?P<body>\d[\d,.'’_\u00a0\u202f ]*\d|\d|\.\d+)\.?"
    r"(?P<exp>[eE][-+]?\d{1,3})?\s{0,2}(?P<unit>[^\d\s(±+/,;:=|<>][^\d\s(±;:=|<>]{0,14}(?:\s?/\s?[A-Za-z]{1,8})?)?"
    r"(?P<rest>\s?(?:±|\+/-|\+-|\(|\[|/)\s?.{0,60})?$"
)
_PLAIN = re.compile(r"-?\d{1,40}(?:\.\d{1,40})?(?:[eE][-+]?\d{1,3})?")
"""What most numbers look like: read without looking for units."""
_SCALED = {"k": 1e3, "m": 1e6, "g": 1e9, "b": 1e9, "bn": 1e9, "t": 1e12, "万": 1e4, "亿": 1e8, "千": 1e3, "百万": 1e6}
"""Letters that stand for a factor where nothing else follows the number."""
_MARKS = "*†‡^"
"""Signs of a footnote behind a number."""
SAMPLE = 20_000
"""Cells of a column by which its kind is guessed before all are read."""


@dataclass(frozen=True)
class Cells:
    """The cells of one column, understood."""

    what: What
    numbers: np.ndarray | None
    """(n,) float64 of numbers and times (seconds), NaN where empty."""
    texts: np.ndarray | None
    """(n,) object of anything else."""
    unit: str = ""
    """The unit behind the numbers themselves."""
    nans: np.ndarray = field(default_factory=lambda: NO_ROWS)
    """(m,) int64 rows where NaN was written."""


@dataclass(frozen=True)
class Marks:
    """How a table writes numbers."""

    comma: bool = False
    """Whether `1,5` is one and a half."""


def marks(samples: Iterable[Sequence[Any]], likely: bool = False) -> Marks:
    """How the numbers of these columns are written: what can only be a decimal comma is held against what cannot.

    `likely` where the separator is chosen so that a comma is free for it (`12;1,234`).
    """
    decimal = thousands = open_ = 0
    for cells in samples:
        for cell in cells[:500]:
            if not isinstance(cell, str) or "," not in cell or len(cell) > 40:
                continue
            body = cell.strip().split(" ")[0].strip("%-+").rstrip(_MARKS)
            if not re.fullmatch(r"[\d.,]+(?:[eE][-+]?\d+)?", body):
                continue
            whole, _, fraction = body.rpartition(",")
            digits = re.split("[eE]", fraction)[0]
            if "," in whole or "." in fraction:
                thousands += 1
            elif "." in whole or len(digits) != 3 or whole == "0":
                decimal += 1
            else:
                open_ += 1
    return Marks(decimal > thousands or (likely and not thousands and open_ > 0))


_TIMES: tuple[tuple[What, Callable[[Sequence[str]], np.ndarray | None]], ...] = (
    ("time", times),
    ("clock", clocks),
    ("span", spans),
)


def understand(cells: Sequence[Any], how: Marks) -> Cells:
    """What the cells of a column are."""
    found = _understand(cells, how)
    if found.numbers is None or not np.isnan(found.numbers).any():
        return found
    rows = [i for i in map(int, np.flatnonzero(np.isnan(found.numbers))) if str(cells[i]).strip().lower() in _NANS]
    return replace(found, nans=np.asarray(rows, np.int64))


def _understand(cells: Sequence[Any], how: Marks) -> Cells:
    quick = _quick(cells)
    if quick is not None:
        return quick
    texts = [_text(c) for c in cells]
    bare = ["" if t.lower() in MISSING else t for t in texts]
    filled = [t for t in bare if t]
    if not filled:
        return Cells("empty", np.full(len(cells), np.nan), None)
    if {t.lower() for t in filled[:SAMPLE]} <= FLAGS:
        return Cells("flag", None, _objects(texts))
    for what, read in _TIMES:
        if read(filled[:20]) is None:
            continue
        found = read(bare)
        if found is not None and (what != "clock" or _on_the_clock(filled)):
            return Cells(what, found, None, "s" if what != "time" else "")
    bounds = len(filled) > 1 and all(t[0] in "<>≤≥" for t in filled)  # what was asked for, and not what was measured
    return (None if bounds else _numbers(bare, how)) or Cells("text", None, _objects(texts))


def _on_the_clock(filled: Sequence[str]) -> bool:
    """`00:12:33` may be a clock or a span; a clock has two digits everywhere and does not begin at nought."""
    return all(re.match(r"\d\d:\d\d", t) for t in filled) and not filled[0].startswith("00:")


def _quick(cells: Sequence[Any]) -> Cells | None:
    """Numbers as they stand in most files."""
    if any(isinstance(c, bool) for c in cells):
        if all(c is None or isinstance(c, bool) for c in cells):
            return Cells("flag", None, _objects(["" if c is None else str(c).lower() for c in cells]))
        return None
    try:
        values = np.array([np.nan if c is None or c == "" else float(c) for c in cells], np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    if not any(isinstance(c, str) and "_" in c for c in cells):
        return Cells("number" if any(c is not None and c != "" for c in cells) else "empty", values, None)
    return None


def _numbers(texts: Sequence[str], how: Marks) -> Cells | None:
    """Numbers with signs and units, where nineteen of twenty are some."""
    found, units, wrong = np.full(len(texts), np.nan), {}, 0
    known: dict[str, tuple[float, str] | None] = {}
    for i, text in enumerate(texts):
        if not text:
            continue
        if text not in known:
            known[text] = number(text, how)
        hit = known[text]
        if hit is None:
            wrong += 1
            if wrong * 20 > len(texts):
                return None
            continue
        found[i] = hit[0]
        units[hit[1]] = units.get(hit[1], 0) + 1
    return _one_unit(found, texts, known, units) if units else None


def _one_unit(found: np.ndarray, texts: Sequence[str], known: dict, units: dict[str, int]) -> Cells | None:
    """Values in the commonest of their units; words behind numbers (`3 apples`, `12ab`) are no numbers."""
    named = [u for u in units if u]
    if len(named) > 6 or any(not is_unit(u) for u in named):
        return None
    unit = max(named, key=units.__getitem__, default="")
    base = SIZES.get(unit.lower())
    if base and len(named) > 1:
        for i, text in enumerate(texts):
            other = SIZES.get(known[text][1].lower()) if text and known[text] else None
            if other and other[0] == base[0]:
                found[i] *= other[1] / base[1]
    return Cells("number", found, None, unit)


def number(text: str, how: Marks = Marks()) -> tuple[float, str] | None:
    """The first number of a cell and the unit behind it; None where the cell does not begin with one.

    >>> number("12,345.6 MiB"), number("1.234,5", Marks(comma=True)), number("0.51 ± 0.02"), number("3/4")
    ((12345.6, 'MiB'), (1234.5, ''), (0.51, ''), None)
    """
    if not how.comma and _PLAIN.fullmatch(text):
        return float(text), ""
    low = text.lower()
    if low in _ENDLESS:
        return _ENDLESS[low], ""
    match = _NUMBER.match(text.rstrip(_MARKS)) if len(text) <= 120 else None
    if not match:
        return None
    rest, unit = (match["rest"] or "").strip(), (match["unit"] or "").strip()
    if rest.startswith("/") and not unit:
        return None
    value = _value(match["body"], how.comma)
    if value is None:
        return None
    value *= float(f"1{match['exp']}") if match["exp"] else 1.0
    factor = _SCALED.get(unit.lower() if unit not in ("m", "t") else "", 1.0)
    return (-value if match["sign"] in ("-", "−") else value) * factor, "" if factor != 1.0 else unit


def is_number(text: str) -> bool:
    """Whether a cell by itself is a number, with nothing but a unit behind it."""
    found = number(text)
    return found is not None and (not found[1] or is_unit(found[1]))


def _value(body: str, comma: bool) -> float | None:
    """Digits with the signs between them as one number; None where they are grouped as no number is."""
    plain = re.sub(r"['’_\u00a0\u202f]", "", body)
    if " " in plain and not re.fullmatch(r"\d{1,3}(?: \d{3})+(?:[.,]\d+)?", plain):
        return None
    plain = plain.replace(" ", "")
    point, group = (",", ".") if comma else (".", ",")
    whole, _, fraction = plain.partition(point) if plain.count(point) == 1 else (plain, "", "")
    if group in fraction or (point in whole and not re.fullmatch(rf"\d{{1,3}}(?:\{point}\d{{3}})+", whole)):
        return None
    if group in whole and not re.fullmatch(rf"\d{{1,3}}(?:\{group}\d{{2,3}})+", whole):
        # the other mark where it cannot be a group: 1,5 in a table of points
        return float(plain.replace(",", ".")) if plain.count(group) == 1 and point not in plain else None
    digits = whole.replace(group, "").replace(point, "")
    return float(f"{digits or 0}.{fraction or 0}")


SIZES: dict[str, tuple[str, float]] = {
    **{u: ("bytes", s) for us, s in (
        (("b", "byte", "bytes"), 1.0), (("kb", "kib", "ki"), 2.0**10), (("mb", "mib", "mi"), 2.0**20),
        (("gb", "gib", "gi"), 2.0**30), (("tb", "tib", "ti"), 2.0**40)) for u in us},
    **{u: ("seconds", s) for us, s in (
        (("ns",), 1e-9), (("us", "µs", "μs"), 1e-6), (("ms", "毫秒"), 1e-3),
        (("s", "sec", "secs", "seconds", "秒"), 1.0), (("min", "mins", "minutes", "分钟"), 60.0),
        (("h", "hr", "hrs", "hours", "小时"), 3600.0),
        (("d", "days", "天"), 86400.0)) for u in us},
    **{u: ("hertz", s) for u, s in (("hz", 1.0), ("khz", 1e3), ("mhz", 1e6), ("ghz", 1e9))},
}  # fmt: skip
"""Unit, in lower case -> what it measures and how much of it."""
_UNITS = words_of(
    "m % ％ ‰ pct w kw mw kwh j °c ℃ c °f k v mv a ma fps rpm pp pts bp x × it its img imgs req reqs tok toks token "
    "tokens sample samples step steps iter iters epoch epochs row rows gpu gpus nats bit bits bits/byte flops "
    "flop tflops gflops pflops tflop/s usd $ 步 轮 个 条 次 张 卡 瓦 度 元 词 字 分 倍 字节 样本 词元"
)


def is_unit(text: str) -> bool:
    """Whether this is a unit: one by itself, or one per another (`tokens/s`, `MiB/s`, `s/it`)."""
    low = text.lower().rstrip(".")
    if low in _UNITS or low in SIZES:
        return True
    parts = re.split(r"\s?/\s?|每", low)
    return 1 < len(parts) <= 3 and all(not p or p in _UNITS or p in SIZES or p in _PER for p in parts)


_PER = words_of("s sec second min step device gpu npu card iter it request req 秒 步 卡 user token sample epoch")


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    return cell.strip()[:CELL] if isinstance(cell, str) else str(cell)[:CELL]


def _objects(texts: Sequence[str]) -> np.ndarray:
    values = np.empty(len(texts), object)
    values[:] = texts
    return values
