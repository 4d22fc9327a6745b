"""Edits of a program's text that keep its layout: the rest of the file stays as it is, byte for byte.

What is inserted takes the indentation of the statement it stands beside. Nothing here writes a file.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable
from typing import NamedTuple

from .source import Refused, parse


class Edit(NamedTuple):
    """One piece of the text, one-based rows and columns in UTF-8 bytes, and what stands there instead."""

    row: int
    column: int
    end_row: int
    end_column: int
    new: str
    beside: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Rows and columns of the statement that a new line stands beside, whose indentation it takes; zeros for none."""


def instead(node: ast.AST, new: str) -> Edit:
    """The node written otherwise."""
    return Edit(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset, new)  # type: ignore[attr-defined]


def after(statement: ast.stmt, line: str) -> Edit:
    """A line more behind a statement."""
    row = statement.end_lineno or statement.lineno
    return Edit(row + 1, 0, row + 1, 0, f"{line}\n", _place(statement))


def before(statement: ast.stmt, line: str) -> Edit:
    """A line more before a statement."""
    decorated = getattr(statement, "decorator_list", [])
    row = min([statement.lineno, *(d.lineno for d in decorated)])
    return Edit(row, 0, row, 0, f"{line}\n", _place(statement))


def _place(statement: ast.stmt) -> tuple[int, int, int, int]:
    row, column = statement.lineno, statement.col_offset
    return row, column, statement.end_lineno or row, statement.end_col_offset or column


def _indentation(beside: tuple[int, int, int, int], lines: list[bytes]) -> bytes:
    """What stands before a statement that has its lines for itself.

    Raises:
        Refused: it shares a line with another, so that no line can be added beside it.
    """
    row, column, end_row, end_column = beside
    if not row:
        return b""
    indent, rest = lines[row - 1][:column], lines[end_row - 1][end_column:].strip()
    above = lines[row - 2].rstrip() if row > 1 else b""
    if indent.strip() or (rest and not rest.startswith(b"#")) or above.endswith(b"\\"):
        raise Refused(f"line {row} holds another statement too: no line can be added beside it")
    return indent


def first_in(statement: ast.For | ast.While | ast.With, line: str) -> Edit:
    """A line more at the beginning of a block."""
    return before(statement.body[0], line)


def without(statement: ast.stmt) -> Edit:
    """The whole lines of a statement taken out."""
    return Edit(statement.lineno, 0, (statement.end_lineno or statement.lineno) + 1, 0, "")


def alone(statement: ast.stmt, body: list[ast.stmt]) -> bool:
    """Whether a statement is the only one of its block or shares its line, so that it cannot be taken out."""
    return len(body) < 2 or any(
        s is not statement and s.lineno <= (statement.end_lineno or 0) and (s.end_lineno or 0) >= statement.lineno
        for s in body
    )


def applied(text: str, edits: Iterable[Edit], name: str = "") -> str:
    """The text with all edits made.

    Raises:
        Refused: two edits overlap, or the result does not parse.
    """
    raw = text.encode("utf-8")
    ending = b"\r\n" if b"\r\n" in raw else b"\n"
    lines, starts = raw.split(b"\n"), [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    end = len(raw)

    def at(row: int, column: int) -> int:
        return min(starts[min(row, len(starts)) - 1] + column, end)

    made = ((e, _indentation(e.beside, lines) + e.new.encode("utf-8")) for e in edits)
    spans = sorted({(at(e.row, e.column), at(e.end_row, e.end_column), new) for e, new in made}, reverse=True)
    for (low, _, _), (_, high, _) in itertools.pairwise(spans):
        if low < high:
            raise Refused(f"{name}: two changes touch the same place; make one and look again")
    for low, high, new in spans:
        piece = new.replace(b"\n", ending)
        if low == end and piece.endswith(ending) and raw and not raw.endswith(b"\n"):
            piece = ending + piece
        raw = raw[:low] + piece + raw[high:]
    changed = raw.decode("utf-8")
    if problem := parse(changed, name or "the changed program").problem:
        raise Refused(problem)
    return changed
