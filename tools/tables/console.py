"""Tables in text: Markdown and box drawing, columns under each other, blocks of `key value`.

As programs print them and people paste them (`nvidia-smi`, `sacct`, `kubectl get`, `wrk`, lighteval). Prose has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..patterns import bounded
from ..reading import Line
from .cells import MISSING, number
from .header import has_header, unit_row
from .nvidia import read_smi
from .raw import CELLS, TABLES, Raw, Records, short
from .vocabulary import known

LINE = 20_000
"""Characters of a line looked at."""
BLOCK = 200_000
"""Lines of one block."""
_BARS = "|│┃║"
_FRAMED = re.compile(rf"\s*[{_BARS}+┌┏╔╭╒├┣╠┝┡╞└┗╚╰╘].*[{_BARS}+┐┓╗╮╕┤┫╣┥┩╡┘┛╝╯╛]\s*$")
_RULE = re.compile(r"[\s|+:│┃║├┼┤╞╪╡╘╧╛╒╤╕╭╮╰╯└┴┘┌┬┐┏┳┓┡╇┩┗┻┛━─═┝┿┥╔╦╗╠╬╣╚╩╝╂┠┨=-]*$")
_RULED = re.compile(r"[-=─━═]{2,}")
_TITLE = bounded(
    r"^\s{0,3}(?:#{1,6}\s+(.{1,120}?)\s*#*|\*\*(.{1,120}?)\*\*:?|=+\s*([^=]{1,120}?)\s*=+|-{3,}\s*([^-]{1,100}?)\s*-{3,})$"
)
_PAIR = bounded(
    r"^[\s*•|>-]{0,12}([^\s:=：#|][^:=：|]{0,60}?)(?:\s{0,40}[:=：]\s{0,40}|\s{2,60}|\t\s{0,20}|\.{3,60}\s{0,4})(\S.{0,200}?)\s*$"
)
_WIDE = re.compile(r"\s{2,}+|\t")
_BLANKS = re.compile(r"\s++")
_COLUMN_CHARS = 400


class Text(NamedTuple):
    """Lines that belong together, and the heading above them."""

    title: str
    lines: list[Line]


def read_text(lines: Iterable[Line]) -> Iterator[Raw]:
    """The tables of the lines, at most `TABLES`; rows of one table that is printed again and again are one table."""
    found: dict[tuple[str, ...], Raw] = {}
    cells = CELLS
    for block in _blocks(lines):
        for raw in _of_block(block):
            cells -= len(raw) * len(raw.names)
            same = found.get((*raw.names, raw.part))
            if same is not None:
                for into, more in zip(same.columns, raw.columns, strict=True):
                    into.extend(more)
                same.lines.extend(raw.lines)
            elif len(found) < TABLES:
                found[(*raw.names, raw.part)] = raw
        if cells < 0:
            for raw in found.values():
                raw.cut = f"over the limit of {CELLS:,} cells"
            break
    yield from found.values()


def _blocks(lines: Iterable[Line]) -> Iterator[Text]:
    """Lines up to the next empty one or heading."""
    title, held = "", []
    for line in lines:
        text = line.text[:LINE].rstrip()
        heading = _TITLE.match(text) if len(text) < 200 and not _RULE.match(text) and not _aligned_words(text) else None
        if text and not heading and not text.startswith("```") and len(held) < BLOCK:
            held.append(Line(line.number, text.expandtabs(8) if "\t" in text and "  " in text else text))
            continue
        if held:
            yield Text(title, held)
            held = []
        if heading:
            title = next((g for g in heading.groups() if g), "").strip()
    if held:
        yield Text(title, held)


def _aligned_words(text: str) -> bool:
    """Whether words stand apart as those of a head of columns do (`# gpu   pwr  gtemp`)."""
    return len(_WIDE.split(text.strip("#=-* \t"))) > 2


def _of_block(block: Text) -> Iterator[Raw]:
    smi, rest = read_smi(block.lines)
    yield from smi
    framed: list[Line] = []
    loose: list[Line] = []
    for line in rest:
        if _FRAMED.match(line.text) or (framed and _barred(line.text, framed)) or _markdown_like(line.text):
            framed.append(line)
            if len(framed) > 1 or not loose:
                continue
            continue
        if framed:
            yield from _framed(block.title, framed)
            framed = []
        loose.append(line)
    yield from _framed(block.title, framed)
    yield from _loose(block.title, loose)


def _barred(text: str, above: Sequence[Line]) -> bool:
    return bool(_RULE.match(text)) or (text.count("|") == above[-1].text.count("|") > 0)


def _markdown_like(text: str) -> bool:
    return sum(text.count(b) for b in _BARS) > 1


def _framed(title: str, lines: list[Line]) -> Iterator[Raw]:
    """A table with bars between its cells; a cell that goes over several lines is joined where a frame shows it."""
    rows: list[tuple[list[str], int]] = []
    rules: list[int] = []
    for line in lines:
        if _RULE.match(line.text):
            rules.append(len(rows))
            continue
        text = line.text.strip().replace("\\|", "\0")
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
    if (not heads and len(rows) < 2) or any("%|" in line.text for line in lines[:3]):
        return  # a bar of progress
    names, body = _head_of(rows, heads, width)
    body = [(c, n) for c, n in body if len(c) <= width and any(c)]
    if width < 2 or not body:
        return
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
        if any(number(c) is not None for c in filled):
            continue
        last = ""
        for i, cell in enumerate(column):
            last = cell or last
            column[i] = last


def _loose(title: str, lines: list[Line]) -> Iterator[Raw]:
    """Tables without bars, one after another, and pairs."""
    if len(lines) < 2:
        return
    at = 0
    pairs: list[Line] = []
    while at < len(lines):
        size, raw = _aligned(title, lines[at:])
        if raw is not None:
            yield raw
            at += size
        else:
            pairs.append(lines[at])
            at += 1
    yield from _paired(title, pairs)


def _aligned(title: str, lines: list[Line]) -> tuple[int, Raw | None]:
    """A header and the rows below it that have their cells under its words; how many lines that took."""
    ruled = len(lines) > 2 and bool(_RULE.match(lines[1].text)) and "-" in lines[1].text + "=─━"
    head = lines[0].text.lstrip("# ") if lines[0].text.startswith("#") else lines[0].text
    words = _BLANKS.split(head.strip())
    if len(words) < 2 or len(head) > 2000 or _RULE.match(head):
        return 0, None
    if ruled and len(_RULED.findall(lines[1].text)) > 1:
        return _spanned(title, lines)
    body = [line for line in lines[1 + ruled :] if not _RULE.match(line.text)]
    for split in (_WIDE, _BLANKS):
        names = split.split(head.strip())
        raw = _even(title, names, body, split) if len(names) > 1 else None
        if raw is not None:
            return _taken(lines, raw), raw
    return _gapped(title, lines, head, body)


def _taken(lines: list[Line], raw: Raw) -> int:
    last = raw.lines[-1]
    return next((i for i, line in enumerate(lines) if line.number > last), len(lines))


def _even(title: str, names: list[str], body: list[Line], split: re.Pattern[str]) -> Raw | None:
    """Rows with exactly as many words as the header, as long as they come."""
    rows, at, again = [], [], 0
    for line in body:
        text = line.text.strip()
        if text.startswith("#"):
            again += 1
            text = text.lstrip("# ")
        cells = split.split(text)
        if (
            len(cells) == len(names) + 1
            and not rows
            and number(cells[0]) is None
            and split is _WIDE
            and number(cells[1]) is not None
        ):
            names = ["0", *names]
        if cells == names:
            continue
        if len(cells) != len(names):
            break
        rows.append(cells)
        at.append(line.number)
    if not rows or (not has_header([names, *rows[:50]]) and not (len(rows) > 1 and _headed(names))):
        return None
    if names[0].startswith("-") or sum(_same_words(a, b) for a, b in zip(names, rows[0], strict=True)) * 3 > len(names):
        return None
    if len(rows) == 1 and not _headed(names):
        return None
    units = unit_row(names, rows[:3]) if len(rows) > 1 else []
    start = bool(units)
    if not _tabular(rows[start:]):
        return None
    raw = Raw.of_rows(title, names, [list(map(short, r)) for r in rows[start:]], at[start:])
    raw.units = units
    return raw


def _same_words(head: str, cell: str) -> bool:
    """Whether a head is a pair like those below it: `loss 6.71` over `loss 5.29`."""
    words, below = head.split(), cell.split()
    return len(words) > 1 and words[0] == below[0] and any(map(str.isdigit, head))


def _headed(names: Sequence[str]) -> bool:
    """Whether words are like the head of a console table: known names, or capitals."""
    good = sum(known(n) or n.isupper() for n in names)
    return good * 2 >= len(names) and not any(number(n) is not None for n in names)


def _tabular(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the rows hold values, and not the words of sentences."""
    columns = list(zip(*rows, strict=True))
    numeric = sum(all(number(c) is not None or c.lower() in MISSING for c in column) for column in columns)
    constant = sum(len(rows) > 2 and len(set(c)) == 1 and c[0].strip(":=").isalpha() for c in columns)
    return numeric > 0 and (constant <= numeric or numeric * 2 >= len(columns) - 1)


def _spanned(title: str, lines: list[Line]) -> tuple[int, Raw | None]:
    """Columns as wide as the dashes under the header say (`sacct`)."""
    spans = [m.span() for m in _RULED.finditer(lines[1].text)]
    ends = [b for _, b in spans[:-1]] + [LINE]
    begins = [0, *[b for _, b in spans[:-1]]]
    rows, at = [], []
    for line in lines[2:]:
        if _RULE.match(line.text):
            continue
        text = _broad(line.text)
        rows.append([short(text[a:b].replace("\0", "").strip()) for a, b in zip(begins, ends, strict=True)])
        at.append(line.number)
    head = _broad(lines[0].text)
    names = [head[a:b].replace("\0", "").strip() for a, b in zip(begins, ends, strict=True)]
    if not rows or not all(names):
        return 0, None
    return len(lines), Raw.of_rows(title, names, rows, at)


def _gapped(title: str, lines: list[Line], head: str, body: list[Line]) -> tuple[int, Raw | None]:
    """Columns where the same places are blank in every line: a cell may be empty, or of several words."""
    words = _WIDE.split(head.strip())
    if not body or len(words) < 2 or not _headed(words) or len(lines) > 5000:
        return 0, None
    texts = [_broad(lines[0].text), *(_broad(line.text) for line in body)]
    wide = min(max(map(len, texts)), _COLUMN_CHARS * 5)
    blank = [all(i >= len(t) or t[i] == " " for t in texts) for i in range(wide)]
    spans, start = [], None
    for i in range(wide + 1):
        if i < wide and not blank[i]:
            start = i if start is None else start
        elif start is not None:
            spans.append((start, i))
            start = None
    merged: list[tuple[int, int]] = []
    for a, b in spans:
        if merged and not texts[0][a:b].strip():
            merged[-1] = (merged[-1][0], b)
        else:
            merged.append((a, b))
    if len(merged) < 2 or len(merged) < len(words):
        return 0, None
    names, *rows = [[t[a:b].replace("\0", "").strip() for a, b in merged] for t in texts]
    if not _tabular(rows) and not all(n.isupper() for n in names):
        return 0, None
    return len(lines), Raw.of_rows(title, names, rows, [line.number for line in body])


def _broad(text: str) -> str:
    """The text with a filler behind each letter that is two places wide."""
    if text.isascii():
        return text
    import unicodedata

    return "".join(c + "\0" if unicodedata.east_asian_width(c) in "WF" else c for c in text)


def _paired(title: str, lines: list[Line]) -> Iterator[Raw]:
    """Blocks of `key value`: one row for a block, a further one where the first key comes again."""
    table, row, at, pairs = Records(title), {}, 0, 0
    for line in lines:
        match = _PAIR.match(line.text) if len(line.text) < 400 else None
        if not match or match[1].startswith("-"):
            continue
        pairs += 1
        key, value = match[1].strip(), match[2].strip()
        if key in row:
            table.add(row, at)
            row = {}
        at = at if row else line.number
        row[key] = short(value)
    if row:
        table.add(row, at)
    told = sum(number(str(c[0])) is not None for c in table.raw.columns if c)
    table.raw.loose = True
    if pairs > 1 and pairs * 3 >= len(lines) * 2 and told * 2 >= len(table.raw.names) and told > 1:
        yield table.raw
