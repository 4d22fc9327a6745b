"""One Python file or notebook as a syntax tree, bounded in bytes, depth, nodes and time; nothing of it is run.

What cannot be parsed gives what can: a top-level block that is broken is left out, and the reason says which line.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from ..config.syntax import notebook
from ..config.syntax.pytree import LEAVES as LEAVES
from ..config.syntax.pytree import children as children
from ..config.syntax.pytree import walk as walk
from ..config.syntax.source import Refused, load

MAX_DEPTH = 150
"""Deepest nesting that is followed: people nest 30 deep at most, and a long `elif` chain counts as nested."""
MAX_NODES = 300_000
"""Most nodes of a tree: a file of 1 MB by hand has about 250,000."""
MAX_BROKEN = 5
"""Top-level blocks that may be left out of a file that does not parse."""
MAX_LINE = 20_000
"""Longest line that is parsed: beyond it the file is data."""
SUFFIXES = (".py", ".ipynb")
WORD = re.compile(r"\w+")
COMMENT = re.compile(r"(?m)#[^'\"\n]*$")
"""A comment; with a quotation mark in it, it may as well be text in a string."""
_TOP = re.compile(r"[^\s#)\]}]")
_PRINT = re.compile(r"(?m)^\s{0,40}(?:print\s+[\"'\w]|exec\s+[\"'\w]|raise\s+\w{1,40},\s)")


@dataclass(frozen=True)
class Parsed:
    """A file that was read as code."""

    name: str
    text: str
    """The program: of a notebook, its code cells without magic lines."""
    tree: ast.Module
    problem: str = ""
    """What of it could not be parsed."""
    rows: tuple[int, ...] = ()
    """Of a notebook: the line in the file of every line of the program."""
    lines: tuple[str, ...] = field(default=())
    docs: tuple[tuple[int, int], ...] = ()
    """First and last lines of its docstrings."""

    @cached_property
    def code(self) -> str:
        """The text without docstrings and comments."""
        rows = list(self.lines)
        for first, end in self.docs:
            rows[first - 1 : end] = [""] * (end - first + 1)
        return COMMENT.sub("", "\n".join(rows))

    @cached_property
    def names(self) -> frozenset[str]:
        """Each word of the code."""
        return frozenset(WORD.findall(self.code))

    @cached_property
    def words(self) -> str:
        """Each word of the code once, a line each: a tenth of the text."""
        return "\n".join(self.names)

    def holds(self, word: str) -> bool:
        """Whether a word, or a part of one, or `word(`, stands anywhere in the code."""
        return longest(word) in self.words and (word.isidentifier() or word in self.code)

    def line(self, row: int) -> int:
        """The line in the file of a line of the program."""
        return self.rows[min(row, len(self.rows)) - 1] if self.rows else row


@cache
def longest(word: str) -> str:
    """The longest name in a word: `masked_fill` of `masked_fill(`."""
    return max(WORD.findall(word), key=len, default="")


def read(path: Path, name: str = "") -> Parsed:
    """The file as code.

    Raises:
        Refused: it is no Python 3 that can be read, with the reason.
    """
    name = name or path.name
    if path.suffix.lower() == ".ipynb":
        return _notebook(path, name)
    return parse(load(path, name, "python").text, name)


def _notebook(path: Path, name: str) -> Parsed:
    raw = load(path, name, "notebook")
    code: list[str] = []
    rows: list[int] = []
    fresh = True
    for piece, at in notebook.code_lines(raw):
        code.append(notebook.without_magic(piece))
        rows += [raw.line(at)] * (piece.count("\n") + fresh - piece.endswith("\n"))
        fresh = piece.endswith("\n")
    return parse("".join(code), name, tuple(rows))


def parse(text: str, name: str, rows: tuple[int, ...] = ()) -> Parsed:
    """The text as code.

    Raises:
        Refused: as `read`.
    """
    if "\0" in text:
        raise Refused(f"{name}: holds null bytes; not read as code")
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", " ")
    if any(len(line) > MAX_LINE for line in text.split("\n")):
        raise Refused(f"{name}: a line over the limit of {MAX_LINE} characters; not read as code")
    problem = ""
    code = text
    for _ in range(MAX_BROKEN + 1):
        tree, error = _tree(code, name)
        if tree is not None:
            docs = _bounded(tree, name)
            return Parsed(name, text, tree, problem, rows, tuple(text.split("\n")), docs)
        row = (error.lineno if error else None) or 1
        problem = problem or _reason(name, text, row)
        if (shorter := _without_block(code, row)) == code:
            break
        code = shorter
    raise Refused(problem)


def _tree(code: str, name: str) -> tuple[ast.Module | None, SyntaxError | None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code), None
    except SyntaxError as error:
        return None, error
    except (ValueError, RecursionError, MemoryError) as error:
        raise Refused(f"{name}: cannot be parsed: {type(error).__name__}; nested too deeply or no text") from None


def _reason(name: str, text: str, row: int) -> str:
    if _PRINT.search(text):
        return f"{name}:{row}: Python 2; only Python 3 is read as code"
    return f"{name}:{row}: a syntax error; the block around it was not read"


def _without_block(code: str, row: int) -> str:
    """The code with the top-level block around a line left empty."""
    lines = code.split("\n")
    row = min(max(row, 1), len(lines))
    first = next((i for i in range(row - 1, -1, -1) if _TOP.match(lines[i])), 0)
    last = next((i for i in range(max(row, first + 1), len(lines)) if _TOP.match(lines[i])), len(lines))
    while first > 0 and lines[first - 1].startswith("@"):
        first -= 1
    return "\n".join([*lines[:first], *[""] * (last - first), *lines[last:]])


def _bounded(tree: ast.Module, name: str) -> tuple[tuple[int, int], ...]:
    """Count nodes and depth without recursion, and note which lines are docstrings."""
    level: list[ast.AST] = [tree]
    docs: list[tuple[int, int]] = []
    count = depth = 0
    while level:
        count += len(level)
        depth += 1
        if depth > MAX_DEPTH:
            raise Refused(f"{name}: nested deeper than the limit of {MAX_DEPTH}; not read as code")
        if count > MAX_NODES:
            raise Refused(f"{name}: over the limit of {MAX_NODES} nodes; not read as code")
        below = []
        for node in level:
            if type(node) not in LEAVES:
                node.below = found = children(node)  # type: ignore[attr-defined]  # for the walk that follows
                below += found
                if type(node) is ast.Expr and type(node.value) is ast.Constant:
                    docs.append((node.lineno, node.end_lineno or node.lineno))
        level = below
    return tuple(docs)
