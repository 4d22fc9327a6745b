"""TOML as items. `tomllib` says whether the file is sound, the lines say where each value stands."""

from __future__ import annotations

import re
import tomllib

from .source import MAX_DEPTH, MAX_ITEMS, Item, Refused, Source

SECTION = re.compile(r"\s*+\[\[?\s*+([^\[\]]*[^\[\]\s])\s*+\]\]?\s*+(#.*)?$")
PAIR = re.compile(r"""\s*+([\w.\-"']++)\s*+=\s*+("(?:[^"\\]|\\.)*+"|'[^']*+'|[^#\s](?:[^#\n]*[^#\s])?)\s*+(#.*)?$""")

DEEP = re.compile(rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{MAX_DEPTH}}}""")
"""A key of too many parts: `tomllib` takes a square of their number."""


def read(source: Source) -> list[Item]:
    """Values that stand on one line, under dotted keys; values over several lines are left out.

    Raises:
        Refused: not TOML, or too many values.
    """
    if deep := DEEP.search(source.text):
        line = source.line(deep.start())
        raise Refused(f"{source.name}: line {line}: nested deeper than {MAX_DEPTH} levels; not read")
    try:
        tomllib.loads(source.text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Refused(f"{source.name}: not TOML: {str(error)[:200]}") from None
    items: list[Item] = []
    section = ""
    offset = 0
    for line in source.text.splitlines(keepends=True):
        if match := SECTION.match(line):
            section = match[1].replace('"', "") + "."
        elif (match := PAIR.match(line)) and not match[2].startswith(("[", "{", '"""', "'''")):
            quoted = match[2][0] in "'\""
            text = match[2][1:-1] if quoted else match[2]
            key = section + match[1].strip("\"'")
            items.append(Item(key, text, "toml", offset + match.start(2), offset + match.end(2), quoted))
            if len(items) > MAX_ITEMS:
                raise Refused(f"{source.name}: more than {MAX_ITEMS} values; not read")
        offset += len(line)
    return items
