"""Tables in text: Markdown and box drawing, columns under each other, blocks of `key value`.

As programs print them and people paste them (`nvidia-smi`, `sacct`, `kubectl get`, `wrk`, lighteval). Prose has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..patterns import bounded
from ..reading import Line
from .cells import MISSING, is_number
from .header import has_header, holds_pairs, like_pairs, two_heads, unit_row
from .lined.classes import BLANKS, is_report, is_row, report
from .lined.told import opens, told
from .nvidia import read_smi
from .raw import CELLS, TABLES, UNDER, Raw, short
from .vocabulary import known
from .written.headings import CAPTION, Headings, caption, heading, is_bar, titles, with_next

LINE = 20_000
"""Characters of a line looked at."""
BLOCK = 200_000
"""Lines of one block."""
_BARS = "|│┃║"
_FRAMED = re.compile(rf"\s*[{_BARS}+┌┏╔╭╒├┣╠┝┡╞└┗╚╰╘].*[{_BARS}+┐┓╗╮╕┤┫╣┥┩╡┘┛╝╯╛]\s*$")
_TOKEN = bounded(r"<\|(\w{1,40})\|>")
"""A special token of a template, whose bars are none of a table."""
_RULE = re.compile(r"[\s|+:│┃║├┼┤╞╪╡╘╧╛╒╤╕╭╮╰╯└┴┘┌┬┐┏┳┓┡╇┩┗┻┛━─═┝┿┥╔╦╗╠╬╣╚╩╝╂┠┨=-]*$")
_RULED = re.compile(r"[-=─━═]{2,}")
_NO_HEAD = re.compile(r"\d\d:\d\d|\d/\d|[=;'\"]|\s(?:and|to|the|of|for|be|not|with|from)\s")
"""What stands in lines of logs, programs and prose, and in no head of columns."""
_CLOCKED = re.compile(r"\s{0,4}\d\d:\d\d:\d\d(?:[ ][AP]M)?(?=\s)\s")
"""The time at which a tool printed (`sar`), which stands in its head as in its rows."""
_WIDE = re.compile(r"\s{2,}+|\t")
_BLANKS = re.compile(r"\s++")
_WIDEST = 2000
"""Characters of a line in which columns are looked for."""
GAPPED = 300
"""Lines of a block in which columns are looked for by what is blank in all of them."""
FIRST = 20
"""Rows by which it is judged whether lines are a table."""


class Text(NamedTuple):
    """Lines that belong together, the headings above them, and what stands between those and the lines."""

    title: str
    above: str
    lines: list[Line]


Found = tuple[str, Raw]
"""What stands directly above a table, and the table."""


def read_text(lines: Iterable[Line]) -> Iterator[Raw]:
    """The tables of the lines, at most `TABLES`; rows of one table that is printed again and again are one table."""
    found: dict[tuple[str, ...], list[Found]] = {}
    cells = CELLS
    for block in _blocks(lines):
        for above, raw in _of_block(block):
            cells -= len(raw) * len(raw.names)
            if (*raw.names, raw.part) in found or len(found) < TABLES:
                found.setdefault((*raw.names, raw.part), []).append((above, raw))
        if cells < 0:
            for _, raw in (one for some in found.values() for one in some):
                raw.cut = f"over the limit of {CELLS:,} cells"
            break
    yield from map(_together, found.values())


def _together(some: Sequence[Found]) -> Raw:
    """Tables of one head as one; where different things stand above them, that is a column."""
    above, first = some[0]
    labels = [a for a, raw in some for _ in raw.lines]
    for _, more in some[1:]:
        for into, column in zip(first.columns, more.columns, strict=True):
            into.extend(column)
        first.lines.extend(more.lines)
    if len(set(labels)) > 1:
        first.names, first.columns = [UNDER, *first.names], [labels, *first.columns]
        first.units = ["", *first.units] if first.units else []
        first.labels |= {UNDER}
    else:
        first.part = " / ".join(filter(None, (first.part, above)))
    return first


def _blocks(lines: Iterable[Line]) -> Iterator[Text]:
    """Lines up to the next empty one, heading or report."""
    open_, held, blanks = Headings(), list[Line](), 0
    for line, after in with_next(lines):
        text = line.text[:LINE].rstrip()
        if held and is_report(held[0].text):
            blanks = 0 if text else blanks + 1
            if is_row(text) or (not text and blanks <= BLANKS):
                held += [line] * bool(text)
                continue
            yield Text(open_.said, open_.caption, held)
            held = []
        titled = heading(text)
        if not titled and held and is_bar(text) and titles(held[-1].text, after):
            titled = CAPTION - 1, caption(held.pop().text)
        if text and not titled and not text.startswith("```") and not is_report(text) and len(held) < BLOCK:
            held.append(Line(line.number, text.expandtabs(8) if "\t" in text and "  " in text else text))
            continue
        open_.stand_alone([one.text for one in held], opens)
        if held:
            yield Text(open_.said, open_.caption, held)
        held = [line] if is_report(text) else []
        if titled:
            open_.enter(*titled)
    if held:
        yield Text(open_.said, open_.caption, held)


def _of_block(block: Text) -> Iterator[Found]:
    if is_report(block.lines[0].text):
        raw = report(block.lines)
        if raw is not None:
            raw.part = block.title
            yield block.above, raw
        return
    smi, rest = read_smi(block.lines)
    yield from (("", raw) for raw in smi)
    framed: list[Line] = []
    loose: list[Line] = []
    for line in rest:
        if _FRAMED.match(line.text) or (framed and _barred(line.text, framed)) or _markdown_like(line.text):
            framed.append(line)
            continue
        yield from _bars(block, framed, loose)
        framed = []
        loose.append(line)
    yield from _bars(block, framed, loose)
    yield from _loose(block, loose)


def _bars(block: Text, framed: list[Line], loose: list[Line]) -> Iterator[Found]:
    """The table of lines with bars; where they are none, they are told with the others."""
    found = [*_framed(block.title, framed)] if framed else []
    yield from ((block.above or _last(loose), raw) for raw in found)
    if not found:
        loose.extend(framed)


def _last(loose: Sequence[Line]) -> str:
    """What the line directly above says a table is of."""
    return caption(loose[-1].text) if loose else ""


def _unbarred(text: str) -> str:
    return _TOKEN.sub("<\0\\1\0>", text) if "<|" in text else text


def _barred(text: str, above: Sequence[Line]) -> bool:
    return bool(_RULE.match(text)) or (text.count("|") == above[-1].text.count("|") > 0)


def _markdown_like(text: str) -> bool:
    text = _unbarred(text)
    return sum(text.count(b) for b in _BARS) > 1


def _framed(title: str, lines: list[Line]) -> Iterator[Raw]:
    """A table with bars between its cells; a cell that goes over several lines is joined where a frame shows it."""
    rows: list[tuple[list[str], int]] = []
    rules: list[int] = []
    for line in lines:
        if _RULE.match(line.text):
            rules.append(len(rows))
            continue
        text = _unbarred(line.text.strip().replace("\\|", "\0"))
        cells = [c.strip().strip("*`").strip().replace("\0", "|") for c in re.split(rf"[{_BARS}]", text)]
        if text[0] in _BARS:
            cells = cells[1:]
        if text[-1] in _BARS:
            cells = cells[:-1]
        rows.append((cells, line.number))
    if not rows:
        return
    width = max({len(c) for c, _ in rows}, key=lambda n: sum(len(c) == n for c, _ in rows))
    heads = next((r for r in rules if r), 0)
    if heads and len(rows[0][0]) == 1 < width:
        title, rows, heads = rows[0][0][0] or title, rows[1:], max(0, next((r for r in rules if r > 1), 1) - 1)
    if (not heads and (len(rows) < 2 or lines[0].text.lstrip()[0] not in _BARS)) or any(
        "%|" in t for _, *t in lines[:3]
    ):
        return  # a line of a log, or a bar of progress
    names, body = _head_of(rows, heads, width)
    if holds_pairs(names) or (not names and len(body) > 1 and like_pairs(body[0][0], body[1][0])):
        return
    body = [(c, n) for c, n in body if len(c) <= width and any(c)]
    if width < 2 or not body:
        return
    both = two_heads(names, [c for c, _ in body])
    names, body = (both, body[1:]) if both else (names, body)
    units = unit_row(names, [c for c, _ in body])
    body = body[1:] if units else body
    raw = Raw.of_rows(
        title, [n or str(i) for i, n in enumerate(names)], [list(map(short, c)) for c, _ in body], [n for _, n in body]
    )
    raw.units = units
    _fill_down(raw)
    yield raw


def _head_of(
    rows: list[tuple[list[str], int]], heads: int, width: int
) -> tuple[list[str], list[tuple[list[str], int]]]:
    """The names, from the lines above the first rule inside the frame, and the rows below."""
    if not heads and has_header([c for c, _ in rows]):
        heads = 1
    if not heads or heads > 4 or heads >= len(rows):
        return [], rows
    stacked = [c + [""] * (width - len(c)) for c, _ in rows[:heads]]
    return [" ".join(part for part in column if part) for column in zip(*stacked, strict=True)][:width], rows[heads:]


def _fill_down(raw: Raw) -> None:
    """A label that stands for the rows below it too (lighteval, lm-eval) is written in each of them."""
    for column in raw.columns[:2]:
        filled = [c for c in column if c]
        if not column or not column[0] or len(filled) == len(column) or len(filled) * 8 < len(column):
            continue
        if any(is_number(c) for c in filled):
            continue
        last = ""
        for i, cell in enumerate(column):
            last = cell or last
            column[i] = last


def _loose(block: Text, lines: list[Line]) -> Iterator[Found]:
    """Tables without bars, one after another, and pairs."""
    at = 0
    pairs: list[Line] = []
    while at < len(lines):
        size, raw = _aligned(block.title, lines, at) if at + 1 < len(lines) else (0, None)
        if raw is not None:
            yield _last(pairs[-1:]) or block.above, raw
            at += size
        else:
            pairs.append(lines[at])
            at += 1
    yield from told(pairs, block.title, block.above)


def _aligned(title: str, lines: list[Line], at: int) -> tuple[int, Raw | None]:
    """A header and the rows below it that have their cells under its words; how many lines that took."""
    head = lines[at].text.lstrip("# ") if lines[at].text.startswith("#") else lines[at].text
    head = _CLOCKED.sub("time ", head) if at + 1 < len(lines) and _CLOCKED.match(lines[at + 1].text) else head
    if _NO_HEAD.search(head):
        return 0, None
    words = head.split()
    if len(words) < 2 or len(head) > 2000 or _RULE.match(head):
        return 0, None
    if sum(any(map(str.isdigit, w)) for w in words) * 3 > len(words):
        return 0, None
    if len(_RULED.findall(lines[at + 1].text)) > 1 and _RULE.match(lines[at + 1].text):
        return _spanned(title, lines[at:])
    found = [_even(title, split.split(head.strip()), lines, at + 1, split) for split in (_WIDE, _BLANKS)]
    size, raw = max(found, key=lambda f: (len(f[1]), len(f[1].names)) if f[1] else (0, 0))
    if raw is None or (len(raw) + 1 < len(lines) - at <= GAPPED):
        wide, whole = _gapped(title, lines[at:], head) if len(lines) - at <= GAPPED else (0, None)
        if whole is not None:
            return wide, whole
    return (size, raw) if raw is not None else (0, None)


def _even(title: str, names: list[str], lines: list[Line], at: int, split: re.Pattern[str]) -> tuple[int, Raw | None]:
    """Rows with exactly as many words as the header, as long as they come; the first ones say whether it is a table."""
    rows, places, end, judged = [], [], at, len(names) < 2
    if judged:
        return 0, None
    for i in range(at, len(lines)):
        text = lines[i].text.strip()
        end = i
        if _RULE.match(text) or (
            text.startswith("#") and not rows and len(split.split(text.lstrip("# "))) != len(names)
        ):
            continue
        cells = split.split(text.lstrip("# ") if text.startswith("#") else text)
        if not rows and split is _WIDE and len(cells) == len(names) + 1 and _labelled(cells):
            names = ["0", *names]
        if cells == names:
            continue
        if len(cells) != len(names):
            break
        end = i + 1
        rows.append(cells)
        places.append(lines[i].number)
        if len(rows) == FIRST:
            judged = True
            if not _is_table(names, rows[bool(unit_row(names, rows[:3])) :]):
                return 0, None
    units = unit_row(names, rows[:3]) if len(rows) > 1 else []
    if not rows or not (judged or _is_table(names, rows[bool(units) :])):
        return 0, None
    start = bool(units)
    raw = Raw.of_rows(title, names, [list(map(short, r)) for r in rows[start:]], places[start:])
    raw.units = units
    return end - at + 1, raw


def _labelled(cells: Sequence[str]) -> bool:
    """Whether a row begins with a label for which the header has no word."""
    return not is_number(cells[0]) and is_number(cells[1])


def _is_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether these are the head and rows of a table, and not lines that happen to have equally many words."""
    if not rows or names[0].startswith("-") or holds_pairs(names) or like_pairs(names, rows[0]):
        return False
    headed = _headed(names)
    capitals = all(n == n.upper() for n in names)
    return _tabular(rows, capitals) and (headed or (len(rows) > 1 and has_header([names, *rows])))


def _headed(names: Sequence[str]) -> bool:
    """Whether words are like the head of a console table: known names, or capitals."""
    good = sum(known(n) or n.isupper() for n in names)
    return good * 2 >= len(names) and not any(is_number(n) for n in names)


def _tabular(rows: Sequence[Sequence[str]], capitals: bool = False) -> bool:
    """Whether the rows hold values, and not the words of sentences."""
    columns = list(zip(*rows, strict=True))
    numeric = sum(all(is_number(c) or c.lower() in MISSING for c in column) for column in columns)
    constant = sum(len(rows) > 2 and len(set(c)) == 1 and c[0].strip(":=").isalpha() for c in columns)
    return numeric > 0 and (capitals or constant * 2 <= numeric)


def _spanned(title: str, lines: list[Line]) -> tuple[int, Raw | None]:
    """Columns as wide as the dashes under the header say (`sacct`)."""
    spans = [m.span() for m in _RULED.finditer(lines[1].text)]
    edges = [0, *(b for _, b in spans[:-1]), LINE]
    body = [line for line in lines[2:] if not _RULE.match(line.text)]
    names, *rows = [_cut(line.text, list(pairwise(edges))) for line in (lines[0], *body)]
    if not rows or not all(names):
        return 0, None
    return len(lines), Raw.of_rows(title, names, rows, [line.number for line in body])


def _cut(text: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """The cells of a line between places of the screen."""
    broad = _broad(text)
    return [short(broad[a:b].replace("\0", "").strip()) for a, b in spans]


def _gapped(title: str, lines: list[Line], head: str) -> tuple[int, Raw | None]:
    """Columns where the same places are blank in every line: a cell may be empty, or of several words."""
    words = _WIDE.split(head.strip())
    body = [line for line in lines[1:] if not _RULE.match(line.text)]
    if not body or len(words) < 2 or not _headed(words) or holds_pairs(words):
        return 0, None
    spans = _between([_broad(line.text) for line in (lines[0], *body)])
    if len(spans) < max(2, len(words)):
        return 0, None
    names, *rows = [_cut(line.text, spans) for line in (lines[0], *body)]
    if not _tabular(rows) and not all(n.isupper() for n in names):
        return 0, None
    return len(lines), Raw.of_rows(title, names, rows, [line.number for line in body])


def _between(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Where the columns are: between places blank in every text; what has no word in the first belongs to the left."""
    wide = min(max(map(len, texts)), _WIDEST)
    blank = [all(i >= len(t) or t[i] == " " for t in texts) for i in range(wide)] + [True]
    spans: list[tuple[int, int]] = []
    start = 0
    for i, gap in enumerate(blank):
        if gap and i > start:
            if spans and not texts[0][start:i].strip():
                spans[-1] = (spans[-1][0], i)
            else:
                spans.append((start, i))
        start = i + 1 if gap else start
    return spans


def _broad(text: str) -> str:
    """The text with a filler behind each letter that is two places wide."""
    if text.isascii():
        return text
    import unicodedata

    return "".join(c + "\0" if unicodedata.east_asian_width(c) in "WF" else c for c in text)
