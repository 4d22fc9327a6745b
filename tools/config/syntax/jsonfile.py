"""JSON as items with the place of every value; comments and trailing commas are let pass.

Written by hand because no parser in reach tells where a value stands. Iterative, so depth cannot break it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from .source import MAX_DEPTH, MAX_ITEMS, Item, Refused, Source

TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*+(")?|[{}\[\],:]|[^\s{}\[\],:"]+')
"""A text without its second quote is taken to the end of the line, and handed on as a quote alone."""
SPACE = re.compile(r"(?:\s++|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)|#[^\n]*+)++")


def read(source: Source) -> list[Item]:
    """All scalars of the document under dotted keys, array elements by index.

    Raises:
        Refused: not JSON (with the line), too deep, or too many values.
    """
    reader = _Reader(source)
    for token, start in _tokens(source.text):
        reader.take(token, start)
    reader.finish()
    return reader.items


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    at = 0
    while at < len(text):
        if space := SPACE.match(text, at):
            at = space.end()
            continue
        match = TOKEN.match(text, at)
        if not match:
            return
        yield ('"' if match[0].startswith('"') and not match[1] else match[0]), at
        at = match.end()


class _Reader:
    """A push-down reader: `stack` holds one [key or index] per open container."""

    def __init__(self, source: Source):
        self.source = source
        self.items: list[Item] = []
        self.stack: list[str | int] = []
        self.expect = "value"
        self.done = False

    def fail(self, start: int, problem: str) -> Refused:
        return Refused(f"{self.source.name}: line {self.source.line(start)}: not JSON: {problem}")

    def take(self, token: str, start: int) -> None:
        if self.done:
            raise self.fail(start, "text behind the end of the document")
        if token == '"':
            raise self.fail(start, "a string without its closing quote")
        if self.expect == "key":
            self._key(token, start)
        elif self.expect == "colon":
            if token != ":":
                raise self.fail(start, f"expected ':' but found {token[:20]!r}")
            self.expect = "value"
        elif self.expect == "comma":
            self._comma(token, start)
        else:
            self._value(token, start)

    def _key(self, token: str, start: int) -> None:
        if token == "}":
            return self._close()
        if not token.startswith('"'):
            raise self.fail(start, f"expected a key in quotes but found {token[:20]!r}")
        self.stack[-1] = _unquote(token)
        self.expect = "colon"

    def _comma(self, token: str, start: int) -> None:
        in_object = isinstance(self.stack[-1], str)
        if token == ("}" if in_object else "]"):
            return self._close()
        if token != ",":
            raise self.fail(start, f"expected ',' but found {token[:20]!r}")
        if in_object:
            self.expect = "key"
        else:
            self.stack[-1] = int(self.stack[-1]) + 1
            self.expect = "value"

    def _value(self, token: str, start: int) -> None:
        if token in "{[":
            if len(self.stack) >= MAX_DEPTH:
                raise Refused(f"{self.source.name}: nested deeper than {MAX_DEPTH} levels; not read")
            self.stack.append("" if token == "{" else 0)
            self.expect = "key" if token == "{" else "value"
            return
        if token == "]" and self.stack and isinstance(self.stack[-1], int):
            return self._close()
        if token in "}],:":
            raise self.fail(start, f"expected a value but found {token!r}")
        if len(self.items) >= MAX_ITEMS:
            raise Refused(f"{self.source.name}: more than {MAX_ITEMS} values; not read")
        quoted = token.startswith('"')
        text = _unquote(token) if quoted else (None if token == "null" else token)
        key = ".".join(str(part) for part in self.stack)
        self.items.append(Item(key, text, "json", start, start + len(token), quoted))
        self._after_value()

    def _close(self) -> None:
        self.stack.pop()
        self._after_value()

    def _after_value(self) -> None:
        self.expect = "comma"
        self.done = not self.stack

    def finish(self) -> None:
        if not self.done:
            raise self.fail(len(self.source.text), "the document ends too early")


def _unquote(token: str) -> str:
    try:
        return json.loads(token, strict=False)
    except ValueError:
        return token[1:-1]
