"""Tables of lines that each say the same keys (`shard=0 docs=53078 ok`), and of blocks of `key: value` under headings,
one after another, as tools of the machine print them; a name before every line (`gn201: Rate: 400`) is a column.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from ...patterns import bounded
from ...reading import Line
from ..raw import Raw, Records

LEAST, SHARE, MOST = 4, 0.6, 50_000
"""Rows of a table, the share of the lines that it takes up, and lines that are looked at."""
PAIR = bounded(r"(?<![\w.-])([A-Za-z_][\w.-]{0,48})=(\"[^\"]{0,200}\"|[^\s,;]{1,200})")
NAME = re.compile(r"([\w.-]{2,64}):\s")
"""What stands before every line where many machines answer at once."""
KEYED = bounded(r"^(\s*)([^\W\d_][\w ./()%-]{0,48}?)\s?:\s{1,20}(\S.{0,160}?)\s*$")
HEADING = bounded(r"^(\s*)([A-Za-z][\w-]{0,30})\s'?([\w.-]{1,40}(?::[\w.-]{1,20})*)'?:?\s*$")


def read_lined(lines: Iterable[Line]) -> Iterator[Raw]:
    """The table of the lines; nothing where they are no lines of one kind."""
    some = [line for line in lines if line.text.strip()][:MOST]
    if len(some) >= LEAST:
        yield from _equals(some) or _blocks(some)


def _equals(some: list[Line]) -> list[Raw]:
    """Lines of `key=value`, all with the same keys."""
    found = [(line, PAIR.findall(line.text)) for line in some]
    usual = Counter(tuple(k for k, _ in pairs) for _, pairs in found if len(pairs) > 1).most_common(1)
    if not usual or usual[0][1] < max(LEAST, SHARE * len(some)):
        return []
    table = Records()
    for line, pairs in found:
        if tuple(k for k, _ in pairs) == usual[0][0]:
            lead = line.text.split()[0]
            named = {} if "=" in lead or lead[:1].isdigit() or lead[:1] in "[(" else {"name": lead}
            table.add({**named, **{k: v.strip('"') for k, v in pairs}}, line.number)
    return [table.raw]


def _blocks(some: list[Line]) -> list[Raw]:
    """Records of `key: value`, each under its headings."""
    named = [NAME.match(line.text) for line in some]
    before = all(named) and len({m[1] for m in named if m}) > 1
    table = Records()
    record: dict[str, str] = {}
    held: list[tuple[int, str, str]] = []
    who, at = "", 0

    def close() -> None:
        nonlocal record
        if len(record) > 1:
            table.add({**({"host": who} if before else {}), **{k: v for _, k, v in held}, **record}, at)
        record = {}

    for line, match in zip(some, named, strict=True):
        text = line.text[match.end() :] if before and match else line.text
        if before and match and match[1] != who:
            close()
            who, held = match[1], []
        heading, pair = HEADING.match(text), KEYED.match(text)
        if pair is not None:
            if pair[2] in record:
                close()
            record[pair[2]], at = pair[3], line.number
        elif heading is not None:
            close()
            held = [*(h for h in held if h[0] < len(heading[1])), (len(heading[1]), heading[2], heading[3])]
    close()
    return [table.raw] if _is_table(table.raw, len(some)) else []


def _is_table(raw: Raw, lines: int) -> bool:
    """Whether the records are many, of the same keys, and most of the lines."""
    if len(raw) < LEAST or len(raw.names) < 3:
        return False
    filled: Mapping[str, int] = {n: sum(v is not None for v in c) for n, c in zip(raw.names, raw.columns, strict=True)}
    alike = [n for n, k in filled.items() if k >= 0.9 * len(raw)]
    return len(alike) >= 3 and sum(filled.values()) >= SHARE * lines
