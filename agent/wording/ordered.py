# ruff: noqa: E501  (patterns are read as rows)
"""Which of two numbers comes first, is less, or goes with which: what a sentence says against itself and its rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from ...tools.looking.amounts import Number
from ...tools.patterns import bounded

Read = Callable[[str], Sequence[Number]]
_IS = r"[\s,，(（]{0,3}(?:(?:which |that )?(?:is|was|are|were|lies|stays|remains|still|已|仍|是|为){1,2}\s?){0,2}(?:still |far |well |远)?"
_BELOW = bounded(rf"(?i)^{_IS}(?:below|less than|lower than|smaller than|低于|小于|少于|不到)[^.。;；\d]{{0,20}}$")
_ABOVE = bounded(
    rf"(?i)^{_IS}(?:above|more than|higher than|greater than|exceeds|高于|大于|超过|多于)[^.。;；\d]{{0,20}}$"
)
"""Between a number and the one it is held against; with a noun between them, something else is held."""
_FROM = bounded(r"(?i)(?:\bfrom|从|由)[^.。;；\d]{0,12}$")
_TO = bounded(r"(?i)(?:\bto|->|→|到|至|为|成)[^.。;；\d]{0,8}$")
_FALLS = bounded(
    r"(?i)\b(?:f[ae]ll(?:s|ing|en)?|drop\w{0,4}|decreas\w{0,3}|declin\w{1,3}|shr[aiu]nks?|sinks?|sank|down)\b[^.;,\d]{0,16}$|[降跌落减][^。；，\d]{0,6}$"
)
_RISES = bounded(
    r"(?i)\b(?:ris(?:es?|ing|en)|rose|gr[eo]ws?|climb\w{0,3}|increas\w{0,3}|jump\w{0,3}|up)\b[^.;,\d]{0,16}$|[升涨增][^。；，\d]{0,6}$"
)
_ROLES = {
    "first": bounded(r"(?i)\b(?:first|start\w{0,4}|initial\w{0,2}|begins?|began)\b[^.,;\d]{0,16}$|(?:最初|起初|开始|首次)[^。，；\d]{0,6}$"),
    "last": bounded(r"(?i)\b(?:last|final\w{0,2}|end(?:s|ed)?)\b[^.,;\d]{0,16}$|(?:最后|最终|末了|结束)[^。，；\d]{0,6}$"),
    "lowest": bounded(r"(?i)\b(?:lowest|minimum|min)\b[^.,;\d]{0,16}$|最[低小][^。，；\d]{0,6}$"),
    "highest": bounded(r"(?i)\b(?:highest|maximum|max|peak\w{0,2})\b[^.,;\d]{0,16}$|(?:最[高大]|峰值)[^。，；\d]{0,6}$"),
}  # fmt: skip
_TOLD = re.compile(r"\b(first|last|lowest|highest) (-?\d[\d.e+-]{0,20})", re.ASCII)
_SPAN = bounded(
    r"(?i)(?:\bfrom |从 ?|由 ?)(-?\d[\d.,e+-]{0,20})(?: at [a-z ]{4,20}\d{1,12})?[^.;；。\d]{0,20}(?:to|->|→|[到至为成]) ?(-?\d[\d.,e+-]{0,20})"
)
_ARROW = bounded(r"(?<![\w.])(-?\d[\d.,e+-]{0,20}) ?(?:->|→) ?(-?\d[\d.,e+-]{0,20})")
JOINED = bounded(r"(?<![\w.,])(\d[\d.eE-]{0,20}) ?(?:与|和|and|vs\.?|/) ?(\d[\d.eE-]{0,20})(?![\w.])")
_FIRST = bounded(r"(?i)\b(?:the first|attempt-?\s?1|run-?\s?1|before)\b|第一|之前|改前")
_SECOND = bounded(r"(?i)\b(?:the second|attempt-?\s?2|run-?\s?2|after)\b|第二|之后|改后")
PART = re.compile(r"[,，;；。]\s?(?!\d)|\.\s|\sand\s|\swhile\s")


def turned(
    text: str, found: Sequence[Number], places: Sequence[Number], rows: Sequence[str], read: Read
) -> Iterator[Number]:
    """Numbers that the text puts the wrong way round: below what is less, or from the end to the beginning."""
    for a, b in pairwise(found):
        between, alike = text[a.end : b.start], (a.family, a.times) == (b.family, b.times)
        less, more = _BELOW.search(between), _ABOVE.search(between)
        if alike and ((less and a.value > b.value) or (more and a.value < b.value)):
            yield from (a, b)
    values = [n for n in found if n not in places]
    for a in (n for n in values if _FROM.search(text[: n.start])):
        b = next((n for n in values if a.end < n.start < a.end + 60), None)
        if b and _TO.search(text[a.end : b.start]) and (_verb_against(text, a, b) or _rows_against(a, b, rows, read)):
            yield from (a, b)


def _verb_against(text: str, a: Number, b: Number) -> bool:
    """Whether the verb tells of a fall and the numbers of a rise, or the other way."""
    before = re.sub(r"(?i)(?:from|从|由)\s?\D{0,12}$", "", text[max(0, a.start - 60) : a.start])
    falls, rises = bool(_FALLS.search(before)), bool(_RISES.search(before))
    if falls == rises or a.family != b.family or "-" in text[a.start : b.end]:
        return False
    return a.value < b.value if falls else a.value > b.value


def _rows_against(a: Number, b: Number, rows: Sequence[str], read: Read) -> bool:
    """Whether rows tell of the same two numbers as beginning and end, and each of them the other way."""
    orders = list[bool]()
    if _goes_on(a, b, rows, read):
        return False
    for row in rows:
        spans = [(m[1], m[2]) for p in (_SPAN, _ARROW) for m in p.finditer(row)]
        roles = dict(_TOLD.findall(row))
        spans += [(roles["first"], roles["last"])] if {"first", "last"} <= roles.keys() else []
        for x, y in ((read(x), read(y)) for x, y in spans):
            if a.known(y) and b.known(x) and not a.known(x):
                orders.append(False)
            elif a.known(x) and b.known(y):
                orders.append(True)
    return bool(orders) and not any(orders)


def _goes_on(a: Number, b: Number, rows: Sequence[str], read: Read) -> bool:
    """Whether one measure ends with the first number and another begins with the second: a count that starts anew."""
    told = [dict(_TOLD.findall(row)) for row in rows]
    ends = [i for i, roles in enumerate(told) if "last" in roles and a.known(read(roles["last"]))]
    begins = [i for i, roles in enumerate(told) if "first" in roles and b.known(read(roles["first"]))]
    return any(i != j for i in ends for j in begins)


def misplaced(text: str, found: Sequence[Number], rows: Sequence[str], read: Read) -> Iterator[Number]:
    """Numbers that the text calls lowest, highest, first or last of a measure, and the rows call another of these."""
    told = [(role, read(value)) for row in rows for role, value in _TOLD.findall(row)]
    for n in found:
        before = text[max(0, n.start - 40) : n.start]
        roles = [role for role, pattern in _ROLES.items() if pattern.search(before)]
        theirs = {role for role, values in told if n.known(values)}
        if len(roles) == 1 and theirs and roles[0] not in theirs and n.digit < 1:
            yield n


def numbered(text: str, found: Sequence[Number], rows: Sequence[str], read: Read) -> Iterator[Number]:
    """Numbers that the text gives to the first and the second, and a row has the other way: `3.0e-4 / 1.5e-4`."""
    first, second = _FIRST.search(text), _SECOND.search(text)
    a = next((n for n in found if first and n.start >= first.end()), None)
    b = next((n for n in found if second and n.start >= second.end()), None)
    if first and second and a and b and a.end <= second.start() < b.start:
        pairs = [(read(m[1]), read(m[2])) for row in rows for m in (*JOINED.finditer(row), *_ARROW.finditer(row))]
        if any(a.known(y) and b.known(x) and not a.known(x) for x, y in pairs):
            yield from (a, b)
