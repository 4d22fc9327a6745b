"""Tables as they are read by people, put as columns of one measure each: metrics in rows, one column for each rank."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ...patterns import bounded
from ..cells import number
from ..raw import CELLS, Raw
from ..vocabulary import axis_of, group_of, known, metric_of
from .labels import numbered_header
from .measured import measured
from .parted import parted

MEMBERS = 4
"""Columns of one word and a number from which on they are the members of a group."""
LEAST_ROWS = 2
LEAST_PLACES = 3
"""Rows of a table, and places along its header, that make it one of metrics in rows."""
ALIKE = frozenset(("rank", "host", "gpu", "shard", "expert"))
"""Kinds of group that have a column for each of their members."""
_MEMBER = bounded(
    r"^([^\W\d_]{2,12})[ _.:#-]{0,2}(\d{1,5})(?:[ _./:-]{1,2}(\w{1,30}))?(?:\s?[(\[]([^()\[\]]{1,12})[)\]])?$"
)
_ELSE = frozenset(("", "metric", "metrics", "name", "measure", "quantity", "item", "指标", "指标名", "名称", "项目"))
"""What stands above the names of metrics, where anything does."""


def shaped(raw: Raw) -> Iterator[Raw]:
    """The table, with its rows as columns where those are the measures, and members of a group as rows of their own."""
    if (turned := _turned(raw)) is None:
        for one in measured(parted(raw)):
            yield from _apart(one)
    else:
        yield from _apart(turned)


def _apart(raw: Raw) -> Iterator[Raw]:
    taken, molten = _molten(raw)
    if taken and len(taken) < len(raw.names) - 1:
        rest = [i for i in range(len(raw.names)) if i not in taken]
        raw.names, raw.columns = [raw.names[i] for i in rest], [raw.columns[i] for i in rest]
        raw.units = [raw.units[i] for i in rest if i < len(raw.units)]
        yield raw
    elif not taken:
        yield raw
    yield from molten


def _turned(raw: Raw) -> Raw | None:
    """The table with rows and columns exchanged, where its header goes along the way and its first column names."""
    if not LEAST_ROWS <= len(raw) <= 200 or len(raw.names) <= LEAST_PLACES or raw.labels:
        return None
    labels = ["" if c is None else str(c).strip() for c in raw.columns[0]]
    if not all(labels) or len(set(labels)) < len(labels) or any(number(label) for label in labels):
        return None
    found = numbered_header(raw.names[1:])
    measures = sum(metric_of(label) is not None for label in labels)
    said = axis_of(raw.names[0])
    if found is None or not (measures * 2 >= len(labels) or (measures and (found[0] or said or _vague(raw.names[0])))):
        return None
    kind, places = found
    rows = [[raw.columns[j + 1][i] for i in range(len(labels))] for j in range(len(places))]
    cells = [[p, *row] for p, row in zip(places, rows, strict=True)]
    made = Raw.of_rows(raw.part, [kind or said or "step", *labels], cells, [0] * len(cells))
    made.cut, made.comma, made.loose = raw.cut, raw.comma, raw.loose
    return made


def _vague(name: str) -> bool:
    return name.strip().lower() in _ELSE or not known(name)


def _molten(raw: Raw) -> tuple[set[int], list[Raw]]:
    """A table in long form for each word with a number that names several columns (`rank00 rank01 rank02`), and which
    columns those are."""
    families: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for i, name in enumerate(raw.names):
        match = _MEMBER.match(name.strip())
        if match and group_of(match[1]) in ALIKE and not metric_of(name):
            families.setdefault((match[1].lower(), match[3] or match[4] or ""), []).append((i, match[2]))
    families = {k: f for k, f in families.items() if len(f) >= MEMBERS and len(raw) * len(f) <= CELLS // 4}
    taken = {i for found in families.values() for i, _ in found}
    beside = [i for i, name in enumerate(raw.names) if i not in taken and axis_of(name)]
    return taken, [_long(raw, word, measure, found, beside) for (word, measure), found in families.items()]


def _long(raw: Raw, word: str, measure: str, members: Sequence[tuple[int, str]], beside: Sequence[int]) -> Raw:
    names = [*(raw.names[i] for i in beside), word, measure or _measure_of(raw.part, raw.note)]
    rows, lines = [], []
    for row, line in enumerate(raw.lines):
        above = [raw.columns[i][row] for i in beside]
        rows += [[*above, str(int(member)), raw.columns[i][row]] for i, member in members]
        lines += [line] * len(members)
    return Raw.of_rows(f"{raw.part} by {word}".strip(), names, rows, lines)


def _measure_of(*said: str) -> str:
    """What a title or a comment says was measured."""
    words = re.findall(r"[\w./%]{2,40}", " ".join(said)[:400])
    two = [f"{a}_{b}" for a, b in pairwise(words)]
    return next((w for w in (*words, *two) if _measured(w)), "value")


def _measured(word: str) -> bool:
    return metric_of(word) is not None or re.search(r"_(?:ms|s|sec|us|gib|mib|gb|mb)$", word.lower()) is not None
