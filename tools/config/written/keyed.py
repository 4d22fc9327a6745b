"""Tables of settings as items: two columns with a name and a value a row, or one row of values below many names."""

from __future__ import annotations

import re

from ...patterns import bounded
from ..syntax.source import Item, Source

_NAME = bounded(
    r"(?i)(?:hyper-?)?(?:key|name|param(?:eter)?s?|settings?|options?|variables?|field|config)(?:[_ ]name)?"
    r"|(?:超?参数|配置|项目|名称|设置)(?:名称?|项)?"
)
_VALUE = bounded(r"(?i)values?|val|settings?|取?值|数值|参数值|配置值")
_CELL = re.compile(r'"((?:[^"]|"")*+)"|([^,;\t"]*+)')
MOST = 400
"""Rows of a table of settings: more is data."""


def read(source: Source) -> list[Item]:
    """The pairs of the table; none where it is no table of settings."""
    lines = [(source.starts[n], line) for n, line in enumerate(source.text.split("\n")) if line.strip()]
    if not 2 <= len(lines) <= MOST:
        return []
    mark = max("\t,;", key=lines[0][1].count)
    rows = [_cells(at, line.rstrip("\r"), mark) for at, line in lines]
    head = [text for text, _, _ in rows[0]]
    if len(head) == 2 and _NAME.fullmatch(head[0].strip()) and _VALUE.fullmatch(head[1].strip()):
        return [_item(row[0][0], row[1]) for row in rows[1:] if len(row) == 2]
    if len(rows) == 2 and len(head) == len(rows[1]) > 3:
        return [_item(name, cell) for name, cell in zip(head, rows[1], strict=True)]
    return []


def _cells(at: int, line: str, mark: str) -> list[tuple[str, int, int]]:
    """Text, start and end of the cells of a line."""
    cells, here = [], 0
    while here <= len(line):
        found = _CELL.match(line, here) if line[here : here + 1] == '"' else None
        end = found.end() if found else line.find(mark, here) if mark in line[here:] else len(line)
        quoted = found is not None
        text = line[here + quoted : end - quoted]
        cells.append((text.strip(), at + here + quoted, at + end - quoted))
        here = end + 1
    return cells


def _item(name: str, cell: tuple[str, int, int]) -> Item:
    text = None if cell[0].lower() in ("null", "nan", "") else cell[0]
    return Item(name.strip(), text, "pair", cell[1], cell[2])
