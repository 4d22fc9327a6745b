"""Markdown of any shape into passages: a table row, or a stretch of a section, each with its headings and line.

A line scanner, not a full parser: what it does not know stays text. It reads whatever it is given in linear time and
treats all of it as data to quote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

LONGEST = 1000
"""Characters of one passage; a longer stretch is split at a block, a longer block at a line, a longer line anywhere."""

LONG_LINE = 2000
"""Characters; a longer line is neither heading nor table rule, which keeps the scan linear."""

_HEADING = re.compile(r"\s{0,3}(#{1,6})\s(.*)$")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_RULE = re.compile(r"\s*+\|?\s*+:?-++:?\s*+(?:\|\s*+:?-++:?\s*+)*+\|?\s*+$")
_UNDERLINE = re.compile(r"\s{0,3}(=+|-{3,})\s*$")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


@dataclass(frozen=True)
class Piece:
    """One passage of a document."""

    headings: tuple[str, ...]
    """From the document's title down."""
    line: int
    """Where it begins, counted from 1."""
    text: str
    """As it stands; a table row as `header: cell` lines."""


@dataclass
class _Reader:
    """The state of the scan: open headings, and the blocks of the current section not yet given out."""

    lines: list[str]
    headings: list[tuple[int, str]] = field(default_factory=list)
    blocks: list[tuple[int, str]] = field(default_factory=list)

    def path(self) -> tuple[str, ...]:
        return tuple(title for _, title in self.headings)

    def flush(self) -> Iterator[Piece]:
        """The collected blocks, joined up to `LONGEST`."""
        group: list[tuple[int, str]] = []
        for line, block in self.blocks:
            if group and sum(len(b) + 1 for _, b in group) + len(block) > LONGEST:
                yield Piece(self.path(), group[0][0], "\n\n".join(b for _, b in group))
                group = []
            group.append((line, block))
        if group:
            yield Piece(self.path(), group[0][0], "\n\n".join(b for _, b in group))
        self.blocks = []

    def add(self, start: int, end: int) -> None:
        """Lines `start` to `end` (from 0, exclusive) as a block, or several when it is long."""
        begin, size = start, 0
        for i in range(start, end):
            if size and size + len(self.lines[i]) > LONGEST:
                self.blocks.append((begin + 1, "\n".join(self.lines[begin:i])))
                begin, size = i, 0
            size += len(self.lines[i]) + 1
        text = "\n".join(self.lines[begin:end])
        for at in range(0, len(text), LONGEST):
            if part := text[at : at + LONGEST].strip("\n"):
                self.blocks.append((begin + 1, part))


def pieces(text: str) -> Iterator[Piece]:
    """Passages in the order of the document."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    reader, i = _Reader(lines), _after_front_matter(lines)
    while i < len(lines):
        if not lines[i].strip():
            i += 1
        elif fence := _FENCE.match(lines[i]):
            i = _fenced(reader, i, fence[1])
        elif heading := _heading(lines, i):
            yield from reader.flush()
            level, title, used = heading
            reader.headings = [h for h in reader.headings if h[0] < level] + [(level, _plain(title)[:200])]
            i += used
        elif _is_table(lines, i):
            yield from reader.flush()
            i, rows = _table(lines, i)
            for row_line, row in rows:
                yield from (
                    Piece(reader.path(), row_line, row[at : at + LONGEST]) for at in range(0, len(row), LONGEST)
                )
        else:
            i = _paragraph(reader, i)
    yield from reader.flush()


def _after_front_matter(lines: list[str]) -> int:
    if lines and lines[0].strip() == "---":
        for i in range(1, min(len(lines), 200)):
            if lines[i].strip() == "---":
                return i + 1
    return 0


def _heading(lines: list[str], i: int) -> tuple[int, str, int] | None:
    """(level, title, lines used) of a heading in either style."""
    if len(lines[i]) > LONG_LINE:
        return None
    if match := _HEADING.match(lines[i]):
        return len(match[1]), match[2].strip().rstrip("#").rstrip(), 1
    if i + 1 < len(lines) and (under := _UNDERLINE.match(lines[i + 1][:LONG_LINE])) and "|" not in lines[i]:
        return (1 if under[1][0] == "=" else 2), lines[i].strip(), 2
    return None


def _fenced(reader: _Reader, i: int, fence: str) -> int:
    """A code block or diagram up to its closing fence; an unclosed one ends at the next heading."""
    end = i + 1
    while end < len(reader.lines) and not reader.lines[end].strip().startswith(fence[0] * len(fence)):
        end += 1
    if end == len(reader.lines):
        reader.add(i, i + 1)
        return i + 1
    reader.add(i, end + 1)
    return end + 1


def _paragraph(reader: _Reader, i: int) -> int:
    """Lines up to a blank one or the start of something else."""
    end = i + 1
    lines = reader.lines
    while end < len(lines) and lines[end].strip() and not (
        _FENCE.match(lines[end]) or _heading(lines, end) or _is_table(lines, end)
    ):  # fmt: skip
        end += 1
    reader.add(i, end)
    return end


def _is_table(lines: list[str], i: int) -> bool:
    if "|" not in lines[i] or i + 1 == len(lines) or "|" not in lines[i + 1] or len(lines[i + 1]) > LONG_LINE:
        return False
    return bool(_RULE.match(lines[i + 1]))


def _table(lines: list[str], i: int) -> tuple[int, list[tuple[int, str]]]:
    """(line after the table, rows as `header: cell` lines with their line numbers)."""
    header = _cells(lines[i])
    rows: list[tuple[int, str]] = []
    end = i + 2
    while end < len(lines) and "|" in lines[end]:
        cells = _cells(lines[end])
        named = [
            f"{header[n]}: {cell}" if n < len(header) and header[n] else cell for n, cell in enumerate(cells) if cell
        ]
        if named:
            rows.append((end + 1, "\n".join(named)))
        end += 1
    return end, rows


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    cells, cell, code, at, last = [], "", False, 0, inner.rfind("`")
    while at < len(inner):
        character = inner[at]
        if character == "\\" and inner[at + 1 : at + 2] == "|":
            cell, at = cell + "|", at + 1
        elif character == "|" and not (code and at < last):
            cells.append(cell)
            cell, code = "", False
        else:
            code ^= character == "`"
            cell += character
        at += 1
    return [_BREAK.sub("\n", c).strip() for c in [*cells, cell]]


def _plain(title: str) -> str:
    """A heading without emphasis, links and code marks."""
    return re.sub(r"\[([^\[\]]*+)\]\([^)\[]*+\)", r"\1", title).replace("*", "").replace("`", "").strip()
