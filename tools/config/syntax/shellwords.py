"""Shell scripts as words and operators: quotes, comments, continuations, here-documents.

Every character keeps its offset in the file through quoting and expansion. What words mean together is for
`shellsyntax`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

ARITHMETIC = 2_000
"""Longest `((...))` looked for, in characters."""
MAX_NESTING = 40
"""Deepest nesting of control structures and expansions."""


class Traced:
    """Text whose characters remember their offset in the file; -1 where a value was computed."""

    __slots__ = ("at", "text")

    def __init__(self, text: str, at: Sequence[int]):
        self.text = text
        self.at = at

    def __len__(self) -> int:
        return len(self.text)

    def __getitem__(self, part: slice) -> Traced:
        return Traced(self.text[part], self.at[part])

    def __add__(self, other: Traced) -> Traced:
        return Traced(self.text + other.text, [*self.at, *other.at])

    def strip(self) -> Traced:
        left = len(self.text) - len(self.text.lstrip())
        return self[left : len(self.text.rstrip())] if self.text.strip() else self[0:0]

    @property
    def start(self) -> int:
        """Offset of the first character that stands in the file, -1 if none does."""
        return next((a for a in self.at if a >= 0), -1)


@dataclass
class Token:
    kind: str
    """word, op, heredoc."""
    text: Traced
    quoted: bool = False
    """For a here-document: its delimiter is quoted, so nothing in it is expanded."""

    def op(self, *which: str) -> bool:
        return self.kind == "op" and self.text.text in which

    def word(self, *which: str) -> bool:
        return self.kind == "word" and self.text.text in which


OPERATORS = ("&&", "||", ";;&", ";&", ";;", "|&", "|", ";", "&", "(", ")")
REDIRECT = re.compile(r"\d*(?:>>|>&|>\||<&|<>|>|<)|&>>?")
ARRAY = re.compile(r"[A-Za-z_]\w*\+?=\Z")


class Lexer:
    """One pass over the text into tokens."""

    def __init__(self, text: Traced):
        self.s = text
        self.t = text.text
        self.i = 0
        self.tokens: list[Token] = []
        self.pending: list[tuple[str, bool, bool]] = []

    def run(self) -> list[Token]:
        while self.i < len(self.t):
            self._step()
        return self.tokens

    def _step(self) -> None:
        t, i = self.t, self.i
        c = t[i]
        if c == "\n":
            self._emit("op", i, i + 1)
            self._heredocs()
        elif c in " \t\r":
            self.i += 1
        elif c == "\\" and (skip := continuation(t, i)):
            self.i = skip
        elif c == "#":
            end = t.find("\n", i)
            self.i = len(t) if end < 0 else end
        elif t.startswith("<<<", i):
            self.i += 3
        elif t.startswith("<<", i):
            self._heredoc_start()
        elif t.startswith(("<(", ">("), i):
            self.i = closing(t, i + 1)
        elif match := REDIRECT.match(t, i):
            self.tokens.append(Token("op", Traced(">", [i])))
            self.i = match.end()
        elif t.startswith("((", i) and (end := t.find("))", i, i + ARITHMETIC)) > 0:
            self._emit("word", i, end + 2)
        elif op := next((o for o in OPERATORS if t.startswith(o, i)), None):
            self._emit("op", i, i + len(op))
        else:
            self._emit("word", i, self._word_end(i))

    def _emit(self, kind: str, start: int, end: int) -> None:
        self.tokens.append(Token(kind, self.s[start:end]))
        self.i = end

    def _word_end(self, i: int) -> int:
        """End of the word that starts at `i`, with quotes, expansions and an array literal inside it."""
        t, start = self.t, i
        while i < len(t):
            c = t[i]
            if c == "\\":
                skip = continuation(t, i)
                i = skip or i + 2
                if skip and (i >= len(t) or t[i] in " \t\r\n"):
                    break
            elif c == "(" and ARRAY.match(t[start:i]):
                return closing(t, i)
            elif c in " \t\r\n;&|()<>":
                break
            else:
                i = _piece_end(t, i)
        return min(max(i, start + 1), len(t))

    def _heredoc_start(self) -> None:
        match = re.compile(r"<<(-?)[ \t]*(\\?)(['\"]?)([\w.!-]+)\3").match(self.t, self.i)
        if not match:
            self.i += 2
            return
        self.pending.append((match[4], match[1] == "-", bool(match[2] or match[3])))
        self.i = match.end()

    def _heredocs(self) -> None:
        for delimiter, dashed, quoted in self.pending:
            indent = r"[ \t]*" if dashed else ""
            pattern = rf"^{indent}{re.escape(delimiter)}[ \t\r]*$"
            match = re.compile(pattern, re.MULTILINE).search(self.t, self.i)
            end = match.start() if match else len(self.t)
            self.tokens.append(Token("heredoc", self.s[self.i : end], quoted))
            self.i = match.end() if match else len(self.t)
        if self.pending:
            self.tokens.append(Token("op", Traced("\n", [self.i])))
        self.pending = []


def continuation(t: str, i: int) -> int:
    """Offset behind a backslash and line end at `i`, or 0."""
    if t.startswith("\\\n", i):
        return i + 2
    return i + 3 if t.startswith("\\\r\n", i) else 0


def _piece_end(t: str, i: int) -> int:
    """End of the quoted string, expansion or plain character at `i`."""
    c = t[i]
    if c == "\\":
        return i + 2
    if c == "'":
        end = t.find("'", i + 1)
        return len(t) if end < 0 else end + 1
    if c == '"':
        return _double_quote_end(t, i)
    if c == "`":
        end = t.find("`", i + 1)
        return len(t) if end < 0 else end + 1
    if c == "$" and t.startswith(("$(", "${"), i):
        return closing(t, i + 1)
    if c == "$" and t.startswith("$'", i):
        return _piece_end(t, i + 1)
    return i + 1


def _double_quote_end(t: str, i: int) -> int:
    i += 1
    while i < len(t):
        if t[i] == '"':
            return i + 1
        i = _piece_end(t, i) if t[i] in "\\$`" else i + 1
    return len(t)


def closing(t: str, i: int, depth: int = 0) -> int:
    """Offset behind the bracket that closes the one at `i`; quotes, comments and nested brackets are skipped."""
    close = {"(": ")", "{": "}"}[t[i]]
    opening, level = t[i], 0
    while i < len(t):
        c = t[i]
        if c == opening:
            level += 1
            i += 1
        elif c == close:
            level -= 1
            i += 1
            if level == 0:
                return i
        elif c == "#" and opening == "(" and t[i - 1] in " \t\n":
            end = t.find("\n", i)
            i = len(t) if end < 0 else end
        elif c == "$" and depth >= MAX_NESTING:
            i += 1
        elif c == "$" and t.startswith(("$(", "${"), i):
            i = closing(t, i + 1, depth + 1)
        elif c in "'\"`\\" and not (c == "'" and opening == "{"):
            i = _piece_end(t, i)
        else:
            i += 1
    return len(t)
