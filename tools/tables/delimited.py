"""Tables whose cells are parted by a sign: CSV, TSV, semicolons, bars, blanks, whatever is the same in most lines.

Where the table begins, whether it has a header, units under it, the header once more where two files were joined:
all of it is told by the lines themselves. Console tables with columns under each other are `console`.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from ..reading import Line
from .cells import MISSING, is_number, is_unit
from .header import has_header, like_pairs, unit_row
from .raw import CELL, CELLS, COLUMNS, LETTERS, Raw, short

SEPARATORS = (",", "\t", ";", "|", "||", "::", "\x01", "^", "~", "¦", "§", "，", "；")
SAMPLE_LINES = 300
"""Lines by which the separator and the header are told."""
PREAMBLE = 60
"""Lines that may stand above the header."""
_COMMENT = re.compile(r"\s*+(?:#|//|%|--|!)")
_BLANKS = re.compile(r"\s++")
csv.field_size_limit(1 << 20)


@dataclass(frozen=True)
class Shape:
    """How the lines of a file are cut."""

    separator: str
    """Empty for blanks."""
    width: int
    """Cells of most lines."""
    quoted: bool = True
    """Whether quotes hold cells together; not where one is never closed."""


def read_delimited(lines: Iterable[Line], strict: bool = True) -> Iterator[Raw]:
    """The tables of the lines; `strict` where nothing but the lines says that there are any."""
    lines = iter(lines)
    sample = list(islice(lines, SAMPLE_LINES))
    shape = shape_of([line.text for line in sample], strict)
    if not shape:
        return
    yield from _Reader(shape, strict).tables(chain(sample, lines))


def shape_of(texts: Sequence[str], strict: bool) -> Shape | None:
    """The separator by which most lines have equally many cells, at least two."""
    data = [t for t in texts if t.strip() and not _COMMENT.match(t)] or [t for t in texts if t.strip()]
    if len(data) < 2:
        return _only_header(data, strict)
    if (over := _over_lines(texts)) is not None:
        return over
    found = []
    quoted = len(list(cut(data, ","))) * 4 > len(data)
    for order, separator in enumerate((*SEPARATORS, "") if strict else (*SEPARATORS, ":", "")):
        if separator == ":" and any(part >= 0.8 for part, *_ in found):
            continue  # of a clock in a cell
        if separator == "" and any(part >= 0.95 and _quotes(data, shape.separator) for part, *_, shape in found):
            continue  # of words in a quoted cell
        counts = Counter(len(cells) for cells in cut(data, separator, quoted))
        width, often = max(counts.items(), key=lambda c: (c[1] * (c[0] > 1), c[0]))
        share = often / len(data)
        if width > 1 and share >= (0.8 if strict else 0.4):
            clean = share * _clean(data, separator, width)
            found.append((share, clean, -order, Shape(separator, width, quoted)))
    best = max(found, default=None, key=lambda f: f[1:3])
    if not best or best[1] < (0.5 if strict else 0.2):
        return _one_column(data, strict)
    return best[3]


def _over_lines(texts: Sequence[str]) -> Shape | None:
    """Records with quoted cells over many lines, as answers of a model are kept: cut at one sign with regard to quotes,
    every record but the last of the sample, which may go on, is as wide as the header."""
    for separator in ",\t;":
        records = list(cut((f"{t}\n" for t in texts), separator))[:-1]
        width = len(records[0]) if records else 0
        if len(records) >= 3 and width > 2 and 2 * len(records) < len(texts):
            whole = [r for r in records if r]
            if all(len(r) == width for r in whole) and not any("\n" in c or not c.strip() for c in whole[0]):
                return Shape(separator, width)
    return None


def _only_header(data: list[str], strict: bool) -> Shape | None:
    width = data[0].count(",") + 1 if data else 0
    return Shape(",", width) if width > 1 and not strict else None


def _one_column(data: list[str], strict: bool) -> Shape | None:
    """A file of numbers, one in each line, perhaps under a header."""
    numbers = sum(is_number(t.strip()) for t in data)
    return Shape("\0", 1) if numbers >= len(data) - 1 and (numbers > 2 or not strict) and numbers else None


def _quotes(data: list[str], separator: str) -> bool:
    """Whether most lines have a cell in quotes behind this separator."""
    return 2 * sum(f'{separator}"' in text for text in data) > len(data)


def _clean(data: list[str], separator: str, width: int) -> float:
    """How much the cells look like cells: numbers, or words without another separator in them."""
    good = total = 0.0
    for cells in cut(data[-100:], separator):
        if len(cells) != width:
            continue
        for cell in cells:
            text = cell.strip()
            total += 1
            fine = text.lower() in MISSING or is_number(text)
            good += 1.0 if fine else 0.0 if any(s in text for s in "\t;|") else 0.8 if len(text) < 40 else 0.5
    return good / total if total else 0.0


def cut(texts: Iterable[str], separator: str, quoted: bool = True) -> Iterator[list[str]]:
    """The lines as cells."""
    if separator == "":
        yield from (_BLANKS.split(t.strip()) for t in texts)
    elif len(separator) > 1 or separator == "\0":
        yield from (t.split(separator) for t in texts)
    else:
        try:
            quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
            yield from csv.reader(texts, delimiter=separator, skipinitialspace=True, quoting=quoting)
        except csv.Error:
            return


def _like_lines(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a word stands in the same place of every row: the lines of a log, and no table."""
    first = rows[0] if rows else []
    return (len(rows) > 1 and like_pairs(first, rows[1])) or any(
        any(map(str.isalpha, cell))
        and not is_number(cell)
        and all(len(r) > i and r[i] == cell for r in rows[:SAMPLE_LINES])
        for i, cell in enumerate(first)
    )


class _Reader:
    """Rows, and the places where a new table begins."""

    def __init__(self, shape: Shape, strict: bool) -> None:
        self.shape = shape
        self.strict = strict
        self.left = CELLS
        self.cut = ""

    def tables(self, lines: Iterable[Line]) -> Iterator[Raw]:
        rows, at, title, note, above, before = [], [], "", "", "", ""
        for place, cells, text in self._rows(lines):
            if cells is None:  # a comment, a title or a gap
                before, note = (note, text.strip()) if text.strip() else (before, note)
                above = above or note
                continue
            if rows and self._another(rows, cells, note):
                yield from self._table(rows, at, title)
                rows, at, title = [], [], "" if _COMMENT.match(note) else note
            elif not rows and note:
                rows, at, title = self._noted(note, place, cells, before)
            note = before = ""
            rows.append(cells)
            at.append(place)
        for raw in self._table(rows, at, title):
            raw.note = above
            yield raw

    def _noted(
        self, note: str, line: int, cells: list[str], before: str = ""
    ) -> tuple[list[list[str]], list[int], str]:
        """The header where it is a comment (`# step loss lr`), with units below it or not; or the table's title."""
        if before and unit_row(cells, [note.lstrip("#/%-! \t").split()] * 2) and _COMMENT.match(before):
            rows, at, title = self._noted(before, line - 1, cells)
            if rows:
                return [*rows, note.lstrip("#/-! \t").split()], [*at, line - 1], title
        if _COMMENT.match(note) and any(is_number(c) for c in cells):
            bare = note.lstrip("#/%-! \t")
            for separator in (self.shape.separator, "", ","):
                names = next(cut([bare], separator), [])
                if len(names) == len(cells) and not any(is_number(n) for n in names):
                    return [[n.strip() for n in names]], [line - 1], ""
        return [], [], ""

    def _another(self, rows: list[list[str]], cells: list[str], note: str) -> bool:
        """Whether these cells are the header of a further table: words, under a title or of another number."""
        if len(rows) < 2 or len(cells) < 2 or cells == rows[0] or not (note or len(cells) != len(rows[-1])):
            return False
        words = [c for c in cells if c.strip()]
        numeric_before = any(is_number(c) for c in rows[-1])
        return numeric_before and len(words) == len(cells) and not any(is_number(c) for c in words)

    def _rows(self, lines: Iterable[Line]) -> Iterator[tuple[int, list[str] | None, str]]:
        """(line, cells, text) of every line; no cells for one that is no row."""
        wide = self.shape.width
        for first, text, cells in self._records(lines):
            if len(cells) != wide or not cells[0] or text[0] in "#/%-!":
                cells = self._row(cells, text)
            if cells is None:
                yield first, None, text
                continue
            self.left -= len(cells) + min(len(text), CELL * len(cells)) // LETTERS
            if self.left < 0:
                self.cut = f"over the limit of {CELLS:,} cells from line {first:,} on"
                return
            yield first, [c.strip() if len(c) < CELL else short(c.strip()) for c in cells[:COLUMNS]], text

    def _row(self, cells: list[str], text: str) -> list[str] | None:
        """The cells, None where the line is a comment, a title or empty."""
        filled = sum(1 for c in cells if c.strip()) if cells else 0
        if not filled or (_COMMENT.match(text) and not is_number(cells[0])):
            return None
        alone = filled == 1 and len(cells) * 2 < self.shape.width
        return None if (len(cells) == 1 < self.shape.width or alone) and not is_number(cells[0].strip()) else cells

    def _records(self, lines: Iterable[Line]) -> Iterator[tuple[int, str, list[str]]]:
        """(first line, its text, cells); a quoted cell may go over several lines."""
        seen: list[Line] = []

        def told() -> Iterator[str]:
            for line in lines:
                seen.append(line)
                yield line.text + "\n" if len(self.shape.separator) == 1 else line.text

        rows = cut(told(), self.shape.separator, self.shape.quoted)
        while True:
            cells = next(rows, None)
            if cells is None:
                return
            if seen:
                yield seen[0].number, seen[0].text, cells
                seen.clear()

    def _table(self, rows: list[list[str]], at: list[int], title: str) -> Iterator[Raw]:
        """The rows as a table: what stands above the header is left out, what is under it told."""
        if len(rows) < 1:
            return
        begin = self._begin(rows)
        rows, at = rows[begin:], at[begin:]
        width = Counter(map(len, rows[:SAMPLE_LINES])).most_common(1)[0][0]
        rows = [r[:-1] if len(r) == width + 1 and not r[-1] else r for r in rows]
        headed = has_header(rows[:SAMPLE_LINES])
        names = rows[0] if headed else [str(i) for i in range(width)]
        units = unit_row(names, rows[1:12]) if headed else []
        start = headed + bool(units)
        body = [(r, n) for r, n in zip(rows[start:], at[start:], strict=True) if not headed or r != names]
        if (not body and not headed) or (self.strict and not headed and _like_lines([r for r, _ in body])):
            return
        if self.strict and len(body) < (1 if headed else 3):
            return
        if len(names) + 1 == width and headed:
            names = ["0", *names]  # the rows have labels and the header none for them
        names = [n if n else str(i) for i, n in enumerate(names)]
        raw = Raw.of_rows(title, names, [r for r, _ in body], [n for _, n in body])
        raw.units, raw.cut = units, self.cut
        raw.loose, raw.comma = self.strict, self.shape.separator == ";"
        yield raw

    def _begin(self, rows: list[list[str]]) -> int:
        """The first row of the table itself, where others stand above it: as wide as the most."""
        width = Counter(map(len, rows[-SAMPLE_LINES:])).most_common(1)[0][0]
        near = (width, width - 1) if width > 2 else (width,)
        for i, row in enumerate(rows[:PREAMBLE]):
            if len(row) in near and all(is_unit(c) or c for c in row[1:2]):
                return i
        return 0
