"""Results said one a line, `name: value`, below what they are of: a row for each name above them.

`Accuracy: 0.81 (81.0%)` says one number twice, `Blocked: 9 (20.5%)` a count and its share, `Exact match: 82.2%
(4108/5000)` a share and of how many, `39 correct` a count before its name. A further row begins where the first key
comes again, or at a line that names what follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ...patterns import bounded
from ...reading import Line
from ..cells import is_number, number
from ..raw import Raw, Records, short
from ..vocabulary import is_result
from ..written.headings import caption

PAIRS = 5000
"""Lines of a block of pairs; what goes on for longer is a log."""
_PAIR = bounded(
    r"^[\s*•▪●◦|>✓✅-]{0,12}([^\s:=：#|][^:=：|]{0,100}?)(?:\s{0,40}[:=：]\s{0,40}|\s{2,60}|\t\s{0,20}|\.{3,60}\s{0,4})(\S.{0,200}?)\s*$"
)
_BRACKETED = bounded(r"^[\s*•>-]{0,12}([^\W\d_].{2,120}?[\])])\s{0,8}=\s{0,8}(-?\d{1,12}(?:\.\d{1,12})?%?)\s*$")
"""A measure whose name has its setting in brackets, with signs of its own: `AP @[ IoU=0.50 | area=all ] = 0.32`."""
_BEFORE = bounded(r"^\s{0,12}(\d{1,9}(?:\.\d{1,6})?%?)\s{1,4}([^\W\d_][^\W\d_]{2,30}(?: [^\W\d_]{1,20})?)\s*$")
_SHARE = bounded(r"^\(\s?([-+]?\d{1,3}(?:\.\d{1,6})?)\s?[%％]\s?\)$")
_COUNT = bounded(r"^[(\[]?\s?(\d{1,9})\s?(?:/|of|out of)\s?(\d{1,9})\s?[)\]]?$")
_RATED = bounded(r"^(\d{1,9})\s?/\s?(\d{1,9})\s{0,2}[=(:]\s{0,2}(\d{1,3}(?:\.\d{1,6})?\s?%)\s?\)?$")
_FIRST = bounded(r"^(-?\d{1,9}\.\d{1,9}%?),\s.{1,160}$")
"""A number, and what it is made of behind it: `24.31, 55.2/30.1/18.2/11.5 (BP=0.98)`."""
_CUT = re.compile(r"\s?[|;｜；]\s?|,\s|，\s?")
_SHORT = bounded(r"^([^\W\d_][^:=：]{0,40}?)\s?[:=：]\s?(\S.{0,60})$")
_SPLIT = bounded(r"^(\S{1,40}(?:\s[^\W\d_]\w{0,12})?)\s{1,8}([(\[].{1,60}[)\]])$")
_END = bounded(
    r"^\W{0,6}((?:final|best|overall|test|average|mean|最终|最佳|总体|测试|平均)\s?[^\W\d_][\w @()-]{1,40}?)"
    r"\s{0,4}[:=：]\s{0,4}(-?\d{1,9}(?:\.\d{1,18})?(?:e-?\d{1,3})?\s?%?)\W{0,3}$", re.IGNORECASE
)  # fmt: skip
ENDS = 20
"""Names that a log says of the whole; more are none."""
_MATRIX = re.compile(r"[\s\[\](),.\d+-]+$")


def told(lines: Sequence[Line], title: str = "", above: str = "") -> Iterator[tuple[str, Raw]]:
    """(what stands above them, the rows) of a block of lines; nothing where most of them are no pairs."""
    if len(lines) > PAIRS:
        return
    held: list[tuple[str, dict[str, str], int]] = []
    under, row, at, pairs, others = above, dict[str, str](), 0, 0, 0
    for line in lines:
        name = caption(line.text) if _names(line.text) else ""
        if name:
            held, under, row, at = [*held, (under, row, at)], name, {}, line.number
            continue
        if several := _several(line.text):
            held, row, at = [*held, (under, row, at), (under, several, line.number)], {}, 0
            pairs += 1
            continue
        found = _pair(line.text)
        if found is None:
            opens = caption(line.text) if not row else ""
            under = opens or under
            others += not (opens or _MATRIX.match(line.text))
            continue
        pairs += 1
        key, value = found
        if key in row:
            held, row, at = [*held, (under, row, at)], {}, 0
        at = at or line.number
        row |= _values(key, value, row)
    held = [h for h in (*held, (under, row, at)) if h[1]]
    if pairs and pairs * 3 >= (pairs + others) * 2:
        yield from _tables(held, title, above)


def read_ends(lines: Iterable[Line]) -> Iterator[Raw]:
    """What single lines of a log say of the whole, each name by its last line: `Final training loss: 0.41`."""
    row, at = dict[str, str](), 0
    for line in lines:
        match = _END.match(line.text[:200])
        if match is not None and is_result(match[1]) and is_number(match[2]):
            row[match[1].strip()], at = match[2], line.number
    if row and len(row) <= ENDS:
        table = Records("ends")
        table.add(row, at)
        yield table.raw


def opens(lines: Sequence[str]) -> bool:
    """Whether the first line of a block says what the names and values below it are of."""
    return len(lines) > 1 and _pair(lines[0]) is None and all(_pair(text) is not None for text in lines[1:3])


def _names(text: str) -> bool:
    """Whether a line is written as one above what it is of: `Test set:`, `{'C': 0.1}`."""
    said = text.strip()
    return said.rstrip("*").endswith((":", "：")) or (said[:1] == "{" and said[-1:] == "}")


def _pair(text: str) -> tuple[str, str] | None:
    if len(text) >= 400:
        return None
    if (match := _BRACKETED.match(text)) is not None:
        return re.sub(r"\s+", " ", match[1]).strip(), match[2]
    if (match := _BEFORE.match(text)) is not None:
        return match[2].strip(), match[1]
    match = _PAIR.match(text)
    if match is None or match[1].startswith("-"):
        return None
    return match[1].strip("*` \t"), match[2].strip("*` \t")


def _several(text: str) -> dict[str, str]:
    """The pairs of a line that holds several, `Model: a | Accuracy: 0.85 | N: 200`; none of any other line."""
    parts = [p.strip() for p in _CUT.split(text.strip(" |*-\t"))] if len(text) < 400 else []
    if not 2 <= len(parts) <= 12:
        return {}
    found = [match for p in parts if (match := _SHORT.match(p)) is not None]
    numbers = sum(is_number(match[2]) for match in found)
    if len(found) < len(parts) or numbers < 2 or len({match[1] for match in found}) < len(parts):
        return {}
    return {match[1].strip("*` "): match[2].strip("*` ") for match in found}


def _values(key: str, value: str, row: dict[str, str]) -> dict[str, str]:
    """The cells of a pair: the value, and the share or the count behind it under names of their own."""
    if (rated := _RATED.match(value)) is not None:
        same = row.get("n", rated[2]) == rated[2]
        return {key: rated[3], **({"n": rated[2]} if same else {f"{key} of": rated[2]})}
    if (leading := _FIRST.match(value)) is not None:
        return {key: leading[1]}
    split = _SPLIT.match(value)
    first = number(split[1]) if split else None
    count, share = (_COUNT.match(split[2]), _SHARE.match(split[2])) if split else (None, None)
    if split is None or first is None or not (count or share):
        if (part := _COUNT.match(value)) is not None and int(part[1]) <= int(part[2]):
            return {key: part[1], f"{key} of": part[2]}
        return {key: short(value)}
    if count is not None:
        same = row.get("n", count[2]) == count[2]
        return {key: split[1], **({"n": count[2]} if same else {f"{key} of": count[2]})}
    points = share[1] if share else ""
    twice = any(abs(first[0] * scale - float(points)) <= 0.06 for scale in (1, 100))
    return {key: split[1]} if twice else {key: split[1], f"{key} (%)": f"{points}%"}


def _tables(held: list[tuple[str, dict[str, str], int]], title: str, above: str) -> Iterator[tuple[str, Raw]]:
    """The rows of one thing each; the same keys below several names are one table."""
    groups: dict[tuple[str, tuple[str, ...]], list[tuple[dict[str, str], int]]] = {}
    for under, row, at in held:
        alike = next((k for k in groups if k[0] == under and _one_kind(row, k[1])), None)
        groups.setdefault(alike or (under, tuple(row)), []).append((row, at))
    for (under, _), rows in groups.items():
        table = Records(title)
        for row, at in rows:
            table.add(row, at)
        raw = table.raw
        raw.loose = True
        first = [next((str(v) for v in c if v is not None), "") for c in raw.columns]
        numbers = [n for n, v in zip(raw.names, first, strict=True) if is_number(v)]
        single = len(raw.names) == 1 and numbers and is_result(raw.names[0])
        if (len(numbers) > 1 and len(numbers) * 2 >= len(raw.names)) or single:
            yield under, raw


def _one_kind(row: dict[str, str], keys: Sequence[str]) -> bool:
    """Whether a row shares half of its keys with the first of its kind, or has its first key."""
    return next(iter(row)) == keys[0] or 2 * len(row.keys() & {*keys}) >= len(row)
