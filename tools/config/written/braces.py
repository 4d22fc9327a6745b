"""Objects in braces that are no strict JSON, as items: HOCON, JSON5, Jsonnet. Nothing is evaluated
but the name of a constant and a product of whole numbers.

Keys may be bare or dotted, `=` and `:` are one, commas may lack, a block may follow its key at once. What cannot be
read (a function, a condition) is passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from math import prod

from ...patterns import bounded
from ..syntax.source import MAX_DEPTH, MAX_ITEMS, Item, Refused, Source

_SPACE = re.compile(r"(?:\s++|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)|#[^\n]*+)++")
_TEXT = re.compile(r"\"\"\"(?s:.){0,20000}?\"\"\"|\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+'")
_KEY = bounded(r"""(?:"([^"\n]{1,120})"|'([^'\n]{1,120})'|([^\W\d][\w.-]{0,120}))\s{0,20}(?:\+?:{1,3}|\+?=|(?=\{))""")
_SCALAR = re.compile(r"[^,\n\]}{;]++")
_COMMENT = re.compile(r"\s{0,40}(?://|#|/\*).*$")
_LOCAL = bounded(r"(?m)^\s{0,20}local\s{1,8}([A-Za-z_]\w{0,60})\s{0,8}=\s{0,8}([^;\n{\[(]{1,200});")
_LOCALS = re.compile(r"\blocal\s[^;{]{0,400};")
_WHOLE = re.compile(r"\d+")
_INCLUDED = bounded(r"\$\{\??([\w.\-]{1,120})\}(\s{0,20}(?=\{))?")
"""What HOCON puts in from elsewhere, and whether a block goes on with it."""
_OWN = bounded(r"(?:\$|self)\.([\w.]{1,120})$")


@dataclass
class _Frame:
    """One open bracket: the key of its block, and in a list the index of the next element."""

    path: str
    index: int | None = None

    def child(self, key: str) -> str:
        own = str(self.index) if self.index is not None else key
        return f"{self.path}.{own}" if self.path and own else self.path or own


@dataclass
class _Reader:
    source: Source
    items: list[Item] = field(default_factory=list)
    frames: list[_Frame] = field(default_factory=lambda: [_Frame("")])
    key: str = ""

    def read(self, text: str) -> list[Item]:
        at = 0
        while at < len(text):
            space = _SPACE.match(text, at)
            at = space.end() if space else self.take(text, at)
            if len(self.items) > MAX_ITEMS:
                raise Refused(f"{self.source.name}: more than {MAX_ITEMS} values; not read")
        return self.items

    def take(self, text: str, at: int) -> int:
        """One bracket, mark, key or value; where the next begins."""
        top = self.frames[-1]
        if text[at] in "{[":
            self.opened(_Frame(top.child(self.key), 0 if text[at] == "[" else None))
        elif text[at] in "}]" and len(self.frames) > 1:
            self.frames.pop()
        elif text[at] == "," and top.index is not None:
            top.index += 1
        elif top.index is None and not self.key:
            found = _KEY.match(text, at)
            self.key = (found[1] or found[2] or found[3]) if found else ""
            return found.end() if found else at + 1
        elif text[at] not in ",;)":
            return self.value(text, at, top.child(self.key))
        return at + 1

    def opened(self, frame: _Frame) -> None:
        if len(self.frames) > MAX_DEPTH:
            raise Refused(f"{self.source.name}: nested deeper than {MAX_DEPTH} levels; not read")
        self.frames.append(frame)
        self.key = ""

    def value(self, text: str, at: int, key: str) -> int:
        """A text in quotes, or all up to the end of its place."""
        name, self.key = self.key, ""
        if found := _INCLUDED.match(text, at):
            self.items.append(Item(key, found[0], "json", at, found.end()))
            self.key = name if found[2] else ""
            return found.end()
        found = _TEXT.match(text, at)
        if found:
            shown = found[0].strip("\"'")
            self.items.append(Item(key, shown, "json", at, found.end(), quoted=True))
            return found.end()
        if not (found := _SCALAR.match(text, at)):
            return at + 1
        bare = _COMMENT.sub("", found[0]).strip()
        if bare:
            self.items.append(Item(key, None if bare == "null" else bare, "json", at, at + len(bare)))
        return found.end()


def read(source: Source) -> list[Item]:
    """All scalars under dotted keys, elements of lists by index.

    Raises:
        Refused: too deep, or too many values.
    """
    constants = {m[1]: m[2].strip().strip("\"'") for m in _LOCAL.finditer(source.text)}
    text = _LOCALS.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), source.text)
    constants = {name: _worked_out(value, constants) for name, value in constants.items()}
    items = _with_included(_Reader(source).read(text))
    known = {i.key: i.text for i in items}
    return [_named(item, constants, known) for item in items]


def _with_included(items: list[Item]) -> list[Item]:
    """HOCON's `a = ${b} { c = 1 }`: what stands below `b` stands below `a`, unless `a` says it itself."""
    out = []
    for item in items:
        found = _INCLUDED.match(item.text or "") if not item.quoted else None
        prefix = f"{found[1]}." if found else ""
        held = [i for i in items if prefix and i.key.startswith(prefix)]
        if not held:
            out.append(item)
        own = {i.key for i in items if i.key != item.key}
        inside = [replace(i, key=f"{item.key}.{i.key.removeprefix(prefix)}") for i in held]
        out += [i for i in inside if i.key not in own]
    return out


def _worked_out(text: str, constants: dict[str, str]) -> str:
    """A product of whole numbers and names of constants; any other text as it is."""
    parts = [constants.get(part, part) for part in re.split(r"\s{0,3}\*\s{0,3}", text)]
    whole = len(parts) > 1 and all(_WHOLE.fullmatch(part) and len(part) < 10 for part in parts)
    return str(prod(int(part) for part in parts)) if whole else text


def _named(item: Item, constants: dict[str, str], known: dict[str, str | None]) -> Item:
    """An item whose value is the name of a constant, or of another key, with what that holds; no place to edit."""
    if item.quoted or not item.text:
        return item
    if (worked := _worked_out(item.text, constants)) != item.text:
        return replace(item, text=worked, end=item.start)
    own = _OWN.match(item.text)
    meant = known.get(own[1]) if own else constants.get(item.text)
    return replace(item, text=meant, end=item.start, quoted=True) if meant is not None else item
