"""Whether a program can have written the logs beside it: the fixed words of what it prints, looked for in them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ...patterns import bounded
from ..program import Program, last

PRINTS = frozenset(("print", "info", "warning", "error", "write", "log", "echo"))
"""Calls whose words stand in a log."""
PLACES = bounded(r"%[-+ #\d.]*[a-zA-Z%]|\{[^{}]*\}")
"""Where a text takes a value."""
HOLE = "\0"
LETTERS = 5
"""Letters of a line that would not stand in any log by chance."""
MOST = 2_000
"""Lines of a log that are held against one format."""


def printed(program: Program, nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ...]]:
    """The lines that these calls print, as the fixed pieces between their values."""
    for call in nodes:
        if isinstance(call, ast.Call) and last(program.path(call.func)) in PRINTS:
            for line in HOLE.join(map(_text, call.args)).splitlines():
                pieces = tuple(p.strip() for p in f" {line} ".split(HOLE))
                if sum(map(str.isalpha, line)) >= LETTERS:
                    yield pieces


def stands(pieces: tuple[str, ...], shown: str) -> bool:
    """Whether a line of a log has these pieces one behind the other."""
    longest, at = max(pieces, key=len), -1
    for _ in range(MOST):
        if (at := shown.find(longest, at + 1)) < 0:
            return False
        begin = shown.rfind("\n", 0, at) + 1
        line, place = shown[begin : shown.find("\n", at) % (len(shown) + 1)], 0
        for piece in pieces:
            place = line.find(piece, place) + len(piece) if line.find(piece, place) >= 0 else -1
            if place < 0:
                break
        else:
            return True
    return False


def foreign(program: Program, shown: str) -> bool:
    """Whether a program prints values while it loops, and no line that it prints stands in a log."""
    every = list(program.find(*PRINTS))
    courses = any(len(p) > 1 for p in printed(program, (c for c in every if program.loops(c))))
    return bool(shown) and courses and not any(stands(p, shown) for p in printed(program, every))


def _text(expr: ast.expr) -> str:
    """A text that is printed, with a hole for each value."""
    if isinstance(expr, ast.Constant):
        return PLACES.sub(HOLE, expr.value) if isinstance(expr.value, str) else HOLE
    if isinstance(expr, ast.JoinedStr):
        return "".join(v.value if isinstance(v, ast.Constant) and isinstance(v.value, str) else HOLE
                       for v in expr.values)  # fmt: skip
    if isinstance(expr, ast.BinOp):
        return _text(expr.left) + (_text(expr.right) if isinstance(expr.op, ast.Add) else "")
    if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr == "format":
        return _text(expr.func.value)
    return HOLE
