"""XML as items: elements and attributes under dotted keys, without the outermost element. No entity is expanded.

`<property><name>lr</name><value>1e-4</value></property>`, `<param name="lr" value="1e-4"/>` and
`<entry key="lr">1e-4</entry>` are pairs of their own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import unescape

from ..syntax.source import MAX_DEPTH, MAX_ITEMS, Item, Refused, Source

_PIECE = re.compile(
    r"<!--(?s:.){0,200000}?-->|<\?(?s:.){0,4000}?\?>|<!\[CDATA\[((?s:.){0,20000}?)\]\]>|<!(?s:[^>]){0,4000}>"
    r"|<(/?)([^\s<>/=!?\"']{1,200})((?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+)>"
)
_ATTRIBUTE = re.compile(r"([^\s=/\"'<>]{1,200})\s{0,20}=\s{0,20}(?:\"([^\"]{0,4000})\"|'([^']{0,4000})')")
_NAMED = ("name", "key", "id")
_VALUED = ("value", "val", "default")


@dataclass
class _Element:
    name: str
    given: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    """Attributes and children that hold a text: the text, where it begins and ends."""
    text: tuple[str, int, int] | None = None


def read(source: Source) -> list[Item]:
    """Texts and attributes in the order in which their elements end.

    Raises:
        Refused: too deep, or too many values.
    """
    items: list[Item] = []
    open_: list[_Element] = []
    behind = 0
    for piece in _PIECE.finditer(source.text):
        if open_ and (text := source.text[behind : piece.start()]).strip():
            start = behind + len(text) - len(text.lstrip())
            open_[-1].text = (text.strip(), start, start + len(text.strip()))
        behind = piece.end()
        if not piece[3]:
            continue
        if not piece[2]:
            open_.append(_Element(piece[3].rpartition(":")[2], _attributes(piece)))
        if (piece[2] or piece[4].rstrip().endswith("/")) and open_:
            items += _closed(open_.pop(), open_)
        if len(open_) > MAX_DEPTH or len(items) > MAX_ITEMS:
            raise Refused(f"{source.name}: nested deeper than {MAX_DEPTH} levels or too many values; not read")
    return items


def _attributes(piece: re.Match[str]) -> dict[str, tuple[str, int, int]]:
    base = piece.start(4)
    found = {}
    for m in _ATTRIBUTE.finditer(piece[4]):
        group = 2 if m[2] is not None else 3
        found[m[1].rpartition(":")[2]] = (m[group], base + m.start(group), base + m.end(group))
    return found


def _closed(element: _Element, outer: list[_Element]) -> list[Item]:
    """What an element says at its end; a pair of name and value stands under the name."""
    path = [e.name for e in outer[1:]]
    name = next((element.given[k][0] for k in _NAMED if k in element.given), "")
    value = element.text or next((element.given[k] for k in _VALUED if k in element.given), None)
    if name and value and outer and len(element.given) <= 3:
        return [_item([*path, name], value)]
    if element.text and not element.given and outer and element.name in (*_NAMED, *_VALUED):
        outer[-1].given[element.name] = element.text
        return []
    inside = [*path, element.name] if outer else []
    items = [_item([*inside, key], given) for key, given in element.given.items()]
    return [*items, *([_item(inside, element.text)] if element.text and inside else [])]


def _item(path: list[str], value: tuple[str, int, int]) -> Item:
    return Item(".".join(path), unescape(value[0]), "json", value[1], value[2], quoted=True)
