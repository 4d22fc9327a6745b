# ruff: noqa: E501  (patterns are read as rows)
"""What a sentence says of two numbers that it gives itself: their ratio, their difference, and which is the greater.

Only what both numbers give is held against the words; of a third number nothing is told here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise

from ...tools.findings import TriageError
from ...tools.looking.amounts import Number
from ...tools.looking.calc import calc
from ...tools.looking.shares import Share, shares
from ...tools.patterns import bounded
from .derived import Held

_BY = bounded(r"(?i)\bby\s?$")
_POINTS = bounded(r"(?i)^\s?percentage points?\b|^\s?个百分点")
_BREAK = re.compile(r"[,;，；。：](?!\s?(?:from|从|由))|\. ")
_SENTENCE = re.compile(r"[。！？]|[.!?](?=\s|$)|\n")
_PAIR = bounded(
    r"(?i)^[^,;，；]{0,80}(?:\b(?:to|of|over|becom\w{1,4}|on|divided by|times)\b|->|→|/|(?<!不)到|至|成|为|占|比|变|里有|中有)[^.,，。;；\d]{0,24}$"
    r"|(?:\b(?:versus|vs|against|than|where)\b)[^.。;；\d]{0,24}$|^\s?对\s?$"
)
"""Before the second of two numbers that a ratio is said of."""
_WITH = bounded(r"(?i)^[^,;，；]{0,60}(?:\band\b[^.,;\d]{0,40}|[与和][^.，。；\d]{0,16})$")
"""The same, where the sentence gives no third number."""
_WHOLE = bounded(
    r"(?i)^\s?(?:of |in |(?=the |its |what ))(?:the |its |his |their |our |all |every |each |an? )?([a-z]\w{2,30})|^(?:倍|多|以上|左右){0,2}的([\u4e00-\u9fff]{2})"
)
_LARGER = r"more|higher|larger|greater|longer|bigger"
_SMALLER = r"less|fewer|lower|smaller|shorter"
_THAN = bounded(
    rf"(?i)^\s?(?:as )?(?:times |倍 ?|fold )?(?:(?P<more>{_LARGER})|(?P<less>{_SMALLER}))(?: \w{{1,20}})? than\b[^.;\d]{{0,24}}$"
)
_BETTER = bounded(r"(?:比|较)\s?$")
_DOWN = bounded(
    r"(?i)(?:(?<!不)[低少降跌掉]了?|\b(?:lower by|down by|down|fell by|fell|less by|drops? by|dropped by|lost))\s?(?:约|about)?\s?$"
)
_UP = bounded(
    r"(?i)(?:[高多升涨]了?|\b(?:higher by|up by|up|rose by|rose|more by|gains?|gained|grew by))\s?(?:约|about)?\s?$"
)
_AFTER_DOWN = bounded(r"(?i)^\s?(?:points? |个点|percentage points? )?(?:lower|less|fewer|worse|below|down)\b")
_AFTER_UP = bounded(r"(?i)^\s?(?:points? |个点|percentage points? )?(?:higher|more|better|above|up)\b")
_CHANGE = (
    (True, bounded(r"(?i)(?:\b(?:ris(?:e|es|en|ing)|rose|increas\w{0,3}|gr[eo]w\w{0,3}|growth|jump\w{0,3}|climb\w{0,3}|gain\w{0,3}|up)\b|(?<!不)[高多升涨增]|增加)")),
    (False, bounded(r"(?i)(?:\b(?:f[ae]ll(?:s|en|ing)?|drop\w{0,4}|decreas\w{0,3}|declin\w{1,3}|los[st]\w{0,3} of|shr[aiu]nks?|sank|down)\b|(?<!不)[低少降跌减])")),
)  # fmt: skip
"""Words of a change, and whether it is upwards."""
_TO_SHARE = bounded(
    r"(?i)^[^.;,，；。\d]{0,10}(?:\b(?:of|by|is)\b|[了幅约为达过]|%)?[^.;,，；。\d]{0,8}$|^[^;。；]{0,80}(?:,? (?:by|which is|that is|a change of))(?: about| nearly| some)? ?$"
)
"""Between a word of a change and the ratio that tells it."""
_PARTS = bounded(r"\d of (?:the )?\d")
"""A part and its whole, in numbers."""
_PERCENT, _PART_OF = bounded(r"%|percent"), bounded(r"(?i)^\s?(?:of|as|的)")
_OF_IT = bounded(r"(?i)^\s?%?\s?of (?:it|them|that|those|the (?:whole|total))\b|^\s?%?\s?的?(?:总量|总时间|整体)")
"""Behind a ratio that is told as a part of a whole."""
_REACHED = bounded(r"(?i)(?:\bto|[到至]) ?(?:about |约)?$")
_SIGNED = re.compile(r"(?<![\w.])([+−-])(\d{1,9}(?:\.\d{1,6})?)(?![\w.])", re.ASCII)
_EQUATION = re.compile(
    r"((?<![\w.,-])\d[\d.,]{0,20}+(?:[eE]-?\d{1,2})?+\s?(?:[a-zA-Z%]{0,6}\s?[-+*/x×÷−]\s?\d[\d.,]{0,20}+(?:[eE]-?\d{1,2})?){1,6}[ a-zA-Z%]{0,8})\s?(?:=|≈|is|gives|makes|为|是|得)",
    re.ASCII,
)
_BEHIND = bounded(r"(?i)^\s?(?:about |roughly |some |just |~|约)?$")
_EACH = bounded(r"(?i)^[^.。;；\d]{0,16}(?:\b(?:of|times|with|each)\b|每)[^.。;；\d]{0,16}$")
_MAKE = bounded(
    r"(?i)^[^.。;；\d]{0,24}(?:\b(?:makes?|gives?|in all|total\w{0,3}|comes? to|that is)\b|[合共即]|=)[^.。;；\d]{0,12}$"
)
_PROGRESS = bounded(
    r"(?i)\b(?:planned|plan|schedule|progress|of the (?:run|way|steps)|through)\b|计划|全程|路程|进度|走了|完成"
)
MOST = 4
"""Numbers of a sentence among which a ratio is looked for."""


def differs(text: str, n: Number, values: Sequence[Number], cited: Sequence[Number]) -> bool:
    """Whether the sentence gives the two numbers that a difference in points is of, and they give another one."""
    if not (_BY.search(text[: n.start]) or _POINTS.match(text[n.end :])):
        return False
    if n.known(c for c in cited if c.times or abs(c.value) < 1):
        return False
    plain = [m for m in values if m is not n]
    pairs = [(a, b) for a, b in pairwise(plain) if _PAIR.search(text[a.end : b.start]) and a.family == b.family]
    if len(pairs) != 1 or len(plain) > 3 or n.known(pairs[0], True):
        return False
    [(a, b)] = pairs
    if n.end <= a.start and _BREAK.search(text[n.end : a.start]):
        return False
    gap = a.values[0] - b.values[0]
    made = [gap, *_ratios(a, b)] if a.value and b.value else [gap]
    return not n.known([Number(0, 0, (v, 100 * v)) for v in made[1:]] + [Number(0, 0, (gap,))], near=True)


def judged(
    text: str, found: Sequence[Number], own: Held, cited: Sequence[Number]
) -> Iterator[tuple[Share, Sequence[Number], bool]]:
    """Each ratio of the text whose two numbers stand in its sentence, with them, and whether they give it."""
    for share in shares(text, found):
        a, z = _sentence(text, share)
        mine = [m for m in own.values if a <= m.start < z and not m.times and m.value and not _over(m, share)]
        steps = [m for m in own.places if a <= m.start < z and m.value]
        if (
            not mine
            and len(steps) == 2
            and _PROGRESS.search(text[a:z])
            and not any(map(share.fits, _ratios(steps[0], steps[1])))
        ):
            yield share, steps, False
            continue
        pairs, up = [*_linked(text, share, mine)], _upwards(text, share, a)
        part = bool(_OF_IT.match(text[share.end :])) and len(pairs) == 1
        giving = [
            (x, y)
            for x in mine[:MOST]
            for y in mine[:MOST]
            if x is not y and x.family == y.family
            if any(share.fits(r) for r in (_parts(x, y) if part else _ratios(x, y, up)))
        ]
        if giving:
            yield share, giving[0], not any(_against(text, share, x, y) for x, y in pairs)
        elif up is not None and (based := _misbased(share, mine)):
            yield share, based, False
        elif len(pairs) == 1 and len(mine) <= MOST and not _other_whole(text, share, a, z) and not _cited(share, cited):
            yield share, pairs[0], False


def _misbased(share: Share, mine: Sequence[Number]) -> Sequence[Number]:
    """The two numbers of the sentence that give a ratio, but not the change that it is told as."""
    alone = len(mine) == 2 and mine[0].family == mine[1].family
    return mine if alone and any(share.fits(r) for r in _ratios(mine[0], mine[1])) else ()


def _upwards(text: str, share: Share, start: int) -> bool | None:
    """Whether a ratio in percent is told as a rise, or as a fall: it is then of the number that the change begins with."""
    percent = _PERCENT.search(text[share.start : share.end + 9])
    behind = text[share.start + percent.end() :] if percent else ""
    if not percent or _PART_OF.match(behind) or _REACHED.search(text[: share.start]):
        return None
    if _AFTER_UP.match(behind) or _AFTER_DOWN.match(behind):
        return bool(_AFTER_UP.match(behind))
    told = [(m.end(), up) for up, p in _CHANGE for m in p.finditer(text, start, share.start)]
    last, up = max(told, default=(0, None))
    return up if up is not None and _TO_SHARE.match(text[last : share.start]) else None


def _sentence(text: str, share: Share) -> tuple[int, int]:
    ends = [m.end() for m in _SENTENCE.finditer(text)]
    return max((e for e in ends if e <= share.start), default=0), min(
        (e for e in ends if e >= share.end), default=len(text)
    )


def _over(n: Number, share: Share) -> bool:
    return n.start < share.end and share.start < n.end


def _linked(text: str, share: Share, mine: Sequence[Number]) -> Iterator[tuple[Number, Number]]:
    """Pairs of neighbours that the words compare; a ratio before both stands in their clause."""
    for a, b in pairwise(mine):
        between = text[a.end : b.start]
        told = _PAIR.search(between) or (len(mine) == 2 and _WITH.search(between))
        if told and a.family == b.family and not (share.end + 4 < a.start and _BREAK.search(text[share.end : a.start])):
            yield a, b


def _against(text: str, share: Share, a: Number, b: Number) -> bool:
    """Whether the words between two numbers make the less of them the greater."""
    than = _THAN.match(text[share.end : b.start]) if a.end <= share.start else None
    return bool(than) and (a.value < b.value if than and than["more"] else a.value > b.value)


def _other_whole(text: str, share: Share, start: int, end: int) -> bool:
    """Whether the ratio is of something that the sentence names nowhere else, and gives no number of."""
    m = _WHOLE.match(text[share.end : end].lstrip().removeprefix("times "))
    if not m:
        return False
    name = (m[1] or m[2]).lower()
    if _PARTS.search(text[start:end]):
        return False
    numbered = re.match(r"[^.,;，。]{0,24}?\d", text[share.end + m.end() : end])
    return (
        name not in ("them", "that", "this", "these", "what")
        and text[start:end].lower().count(name) < 2
        and not numbered
    )


def _cited(share: Share, cited: Iterable[Number]) -> bool:
    return any(
        share.shows(c.value) or (c.times and abs(abs(c.value) - share.value) <= 0.05 * share.value)
        for c in cited
        if c.times or abs(c.value) < 1
    )


def _parts(a: Number, b: Number) -> Iterator[float]:
    """What two numbers give as a part and its whole."""
    for x, y in {(a.value, b.value), (a.values[0], b.values[0])}:
        if x and y:
            yield min(abs(x), abs(y)) / max(abs(x), abs(y))


def _ratios(a: Number, b: Number, up: bool | None = None) -> Iterator[float]:
    """What two numbers give; of a change in percent only what it is of its beginning."""
    for x, y in {(a.value, b.value), (a.values[0], b.values[0])}:
        if x and y and up is not None:
            low, high = sorted((abs(x), abs(y)))
            yield (high - low) / (low if up else high)
        elif x and y:
            yield from (x / y, y / x)
            yield from ((x - y) / y, (y - x) / x) if 0.02 < abs(x / y) < 50 else ()


def signed(text: str, found: Sequence[Number], rows: Sequence[str]) -> Iterator[Number]:
    """Differences that the text tells as lower, or as higher, and a cited row gives with the other sign alone."""
    for n in found:
        before, behind = text[max(0, n.start - 14) : n.start], text[n.end :]
        down = _DOWN.search(before) or _AFTER_DOWN.match(behind)
        up = _UP.search(before) or _AFTER_UP.match(behind)
        if bool(down) == bool(up):
            continue
        signs = {m[1] == "+" for row in rows for m in _SIGNED.finditer(row) if float(m[2]) == abs(n.values[0])}
        if signs == {bool(down)}:
            yield n


def equations(text: str) -> list[Number]:
    """What the sums in a text come to, whatever is written behind them."""
    out = list[Number]()
    for m in _EQUATION.finditer(text):
        with suppress(TriageError):
            out.append(Number(m.start(), m.end(), (calc(m[1].replace("x", "*").replace("−", "-")).value,)))
    return out


def unequal(text: str, found: Sequence[Number]) -> Iterator[Number]:
    """Numbers that are told as what a sum or a product of others comes to, and are not."""
    for made in equations(text):
        told = next((n for n in found if n.start >= made.end and _BEHIND.match(text[made.end : n.start])), None)
        if told and " - " not in text[made.start : made.end] and not told.known([made], near=True):
            yield told
    for a, b, c in zip(found, found[1:], found[2:], strict=False):
        told = _EACH.match(text[a.end : b.start]) and _MAKE.match(text[b.end : c.start])
        whole = all(m.values[0].is_integer() and not m.times and m.value for m in (a, b, c))
        if (
            told
            and whole
            and not c.known([Number(0, 0, (a.value * b.value,))], near=True)
            and c.value > max(a.value, b.value)
        ):
            yield b
