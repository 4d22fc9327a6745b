"""The pieces of shell expansion that need no state: fields, replacement, trimming, arithmetic."""

from __future__ import annotations

import ast
import fnmatch
import operator
import re
from collections.abc import Callable

from .shellwords import Traced
from .source import Refused

UNKNOWN = "\ufffc"
"""Stands for text that only the machine knows."""
MAX_TEXT = 200_000
"""Longest expansion, in characters."""


MAX_WORK = 3_000_000
"""Characters that all expansions of a script may read, compare and write: the largest script that is read, three times.
It bounds memory, and time to a few seconds."""


class Budget:
    """What the expansions of one script may still do."""

    def __init__(self) -> None:
        self.left = MAX_WORK

    def spend(self, characters: int) -> None:
        self.left -= characters
        if self.left < 0:
            raise Refused(f"shell expansions take more than {MAX_WORK} characters in all; script not read")

    def fits(self, text: str, pattern: str) -> bool:
        """Whether a text has the form of a glob pattern."""
        self.spend(len(text) * (1 + pattern.count("*")) + 20 * len(pattern))
        return fnmatch.fnmatchcase(text, pattern)


class Fields:
    """Collects the fields of one word."""

    def __init__(self, split: bool, budget: Budget):
        self.split = split
        self.budget = budget
        self.fields: list[Traced] = []
        self.text: list[str] = []
        self.at: list[int] = []
        self.present = False
        self.size = 0

    def add(self, piece: Traced, quoted: bool = False) -> None:
        self.size += len(piece)
        self.budget.spend(len(piece))
        if self.size > MAX_TEXT:
            raise Refused(f"shell expansion grows beyond {MAX_TEXT} characters; script not read")
        if not self.split or quoted:
            self.text.append(piece.text)
            self.at.extend(piece.at)
            self.present = self.present or bool(piece.text) or quoted
            return
        last = 0
        for match in re.finditer(r"\s+", piece.text):
            self.add(piece[last : match.start()], quoted=match.start() > last)
            self.flush()
            last = match.end()
        if last < len(piece.text):
            self.add(piece[last:], quoted=True)

    def add_all(self, values: list[Traced]) -> None:
        for i, value in enumerate(values):
            if i:
                if self.split:
                    self.flush()
                else:
                    self.add(Traced(" ", [-1]))
            self.add(value, quoted=True)

    def flush(self) -> None:
        if self.present:
            self.fields.append(Traced("".join(self.text), self.at))
        self.text, self.at, self.present = [], [], False

    def done(self) -> list[Traced]:
        self.flush()
        return self.fields

    def joined(self) -> Traced:
        return Traced("".join(self.text), self.at)


def unknown() -> Traced:
    return Traced(UNKNOWN, [-1])


def replaced(value: Traced, pattern: str, replacement: str, everywhere: bool) -> Traced:
    if not pattern:
        return value
    text, places, last = [], [], 0
    while (at := value.text.find(pattern, last)) >= 0:
        text += [value.text[last:at], replacement]
        places += [*value.at[last:at], *[-1] * len(replacement)]
        last = at + len(pattern)
        if not everywhere:
            break
        if len(places) > MAX_TEXT:
            raise Refused(f"shell expansion grows beyond {MAX_TEXT} characters; script not read")
    return Traced("".join((*text, value.text[last:])), [*places, *value.at[last:]])


def trimmed(value: Traced, op: str, pattern: str, budget: Budget) -> Traced:
    """`#`, `##`, `%`, `%%` with glob patterns, for texts short enough to try every cut."""
    n = len(value.text)
    if n > 2_000:
        return value
    cuts = range(n + 1) if op in ("#", "%%") else range(n, -1, -1)
    for cut in cuts:
        part = value.text[:cut] if op[0] == "#" else value.text[cut:]
        if budget.fits(part, pattern):
            return value[cut:] if op[0] == "#" else value[:cut]
    return value


OPERATIONS: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
}


def calculate(expression: str) -> int | None:
    """An integer expression of + - * / % ** and brackets; None if it is anything else."""
    if len(expression) > 300 or "UNKNOWN" in expression:
        return None
    try:
        tree = ast.parse(expression.strip(), mode="eval")
        return _evaluate(tree.body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return None


def _evaluate(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluate(node.operand)
    if isinstance(node, ast.BinOp):
        left, right = _evaluate(node.left), _evaluate(node.right)
        if isinstance(node.op, ast.Pow) and 0 <= right <= 64 and abs(left) <= 1024:
            return left**right
        if (operation := OPERATIONS.get(type(node.op))) and abs(left) < 10**18 and abs(right) < 10**18:
            return operation(left, right)
    raise ValueError("not an integer expression")
