"""What `repr`, `pprint` and `json.dumps` wrote, as items: `Namespace(lr=0.1, ...)`, nested dictionaries, lists of them.

Nothing is evaluated: names of classes, paths and enumerations are text. What breaks off is kept as far as it goes.
"""

from __future__ import annotations

import re

from ...patterns import bounded
from ..syntax.source import MAX_ITEMS, PRINTED, Item

DEEPEST = 24
"""Nested brackets that are followed."""
CLOSED_BY = {"(": ")", "[": "]", "{": "}"}
_KEY = bounded(
    r"""(?:(?P<q>['"])(?P<quoted>[^'"\n]{1,80})(?P=q)\s*[:=]|(?P<bare>[A-Za-z_][\w.\-/]{0,80})\s*(?:=|:\s))\s*"""
)
_QUOTED = bounded(r"""[rub]?(?:'((?:[^'\\\n]|\\.){0,2000})'|"((?:[^"\\\n]|\\.){0,2000})")""")
_CALL = bounded(r"[A-Za-z_][\w.]{0,80}\(")
_ENUM = bounded(r"<[^<>\n]{0,200}>")
_BARE = bounded(r"[^,\s\[\](){}<>'\"]{1,400}(?:[ ][^,=:\s\[\](){}<>'\"]{1,80}){0,8}")
_BETWEEN = re.compile(r"[\s,]*+")
_SPACE = re.compile(r"\s*+")
_NOTHING = ("none", "null", "<unset>")


class _Broken(Exception):
    """The text is no literal from here on."""


def read(text: str, at: int, end: int) -> tuple[list[Item], int]:
    """The scalars of the bracketed value that opens at `at`, and where it closes; none where it is no such value.

    Args:
        text: whole text.
        at: offset of the opening bracket.
        end: offset up to which it may go on.
    """
    scan = _Scan(text, at, end)
    try:
        scan.inside("", CLOSED_BY[text[at]], 0)
    except _Broken:
        return [], at
    return scan.items, scan.at


class _Scan:
    def __init__(self, text: str, at: int, end: int):
        self.text, self.at, self.end = text, at + 1, end
        self.items: list[Item] = []

    def inside(self, prefix: str, close: str, depth: int) -> None:
        """What stands up to the closing bracket, each value under its key or number."""
        if depth > DEEPEST or len(self.items) > MAX_ITEMS:
            raise _Broken
        number = 0
        while True:
            self._skip(_BETWEEN)
            if self.at >= self.end:
                return
            if self.text[self.at] == close:
                self.at += 1
                return
            match = _KEY.match(self.text, self.at, self.end)
            name = (match["quoted"] or match["bare"]) if match else str(number)
            self.at = match.end() if match else self.at
            number += not match
            self._value(f"{prefix}.{name}" if prefix else name, close, depth)

    def _value(self, key: str, close: str, depth: int) -> None:
        text, start = self.text, self.at
        if start >= self.end or text[start] == ",":
            return
        if match := _QUOTED.match(text, start, self.end):
            self._add(key, match[1] if match[1] is not None else match[2], start, match.end(), True)
        elif match := _CALL.match(text, start, self.end):
            self._called(key, match.end(), depth)
        elif text[start] in CLOSED_BY:
            self._bracket(key, start, depth)
        elif match := _ENUM.match(text, start, self.end):
            named = _QUOTED.search(match[0])
            self._add(key, (named[1] or named[2]) if named else match[0], start, match.end())
        elif match := _BARE.match(text, start, self.end):
            word = match[0]
            self._add(key, None if word.lower() in _NOTHING else word, start, match.end())
        elif text[start] != close:
            raise _Broken
        self._skip(_SPACE)
        if self.at < self.end and text[self.at] not in ("," + close) and "\n" not in text[start : self.at]:
            raise _Broken

    def _called(self, key: str, opened: int, depth: int) -> None:
        """`Params(lr=0.1)` as its arguments; `PosixPath('/a')` as the one thing that it holds."""
        before, self.at = len(self.items), opened
        self.inside(key, ")", depth + 1)
        held = self.items[before:]
        if len(held) == 1 and held[0].key == f"{key}.0":
            one = held[0]
            self.items[before:] = [Item(key, one.text, one.style, one.start, one.end, one.quoted)]

    def _bracket(self, key: str, start: int, depth: int) -> None:
        """A nested value; a list of nothing but scalars is one value, with the text as it stands."""
        before, self.at = len(self.items), start + 1
        self.inside(key, CLOSED_BY[self.text[start]], depth + 1)
        held = self.items[before:]
        numbered = f"{key}."
        if self.text[start] != "{" and all(i.key.removeprefix(numbered).isdigit() for i in held):
            self.items[before:] = []
            self._add(key, self.text[start : self.at], start, self.at)

    def _add(self, key: str, text: str | None, start: int, end: int, quoted: bool = False) -> None:
        self.items.append(Item(key, text, PRINTED, start, end, quoted))
        self.at = end

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.at, self.end)
        self.at = match.end() if match else self.at
