"""What a file of nobody's framework says in names and values of its author's, beside what the tables of keys know."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..collect import Reading, as_setting
from ..keys import normal, table
from ..syntax.source import Item, Source
from ..values import UNSET, convert
from .names import meant
from .values import machines, spelled

SECOND = re.compile(r"(?:^|[._])betas\.1$")
PRIVATE = re.compile(r"(?:^|[._-])(?:API|SECRET|TOKEN|PASSWORD|PASSWD|KEY|CREDENTIALS?)(?:$|[._-])")
"""Variables of a shell that nobody is shown."""


def fill(reading: Reading, items: Iterable[Item], source: Source) -> None:
    """Add what no table of keys knew, or knew and could not read; nothing that was read is changed.

    Args:
        reading: the file as the tables of keys have it.
        items: its items.
        source: its text.
    """
    items = _unwrapped(list(items))
    for item in items:
        for variable, text in _said(item):
            if variable in reading.values or not text:
                continue
            value = convert(variable, text, normal(item.key))
            if value is not UNSET:
                own = text == (item.text or "")
                place = item if own else replace(item, text=item.text, end=item.end)
                reading.values[variable] = as_setting(variable, value, place, source, reading.framework)
                reading.others.pop(item.key, None)
    for key in [k for k in reading.others if k.isupper() and PRIVATE.search(k)]:
        del reading.others[key]


def _unwrapped(items: list[Item]) -> list[Item]:
    """The items without the name of a block that is around all of them."""
    first = {item.key.partition(".")[0] for item in items}
    if len(first) != 1 or not all("." in item.key for item in items):
        return items
    return [replace(item, key=item.key.partition(".")[2]) for item in items]


def _said(item: Item) -> Iterator[tuple[str, str]]:
    """(variable, value) of an item."""
    variable = _variable(item.key)
    if not item.text or variable in ("", "temperature"):
        return
    if variable in ("hardware", "world_size", "nodes") and not item.text.strip().isdigit():
        yield from machines(item.text)
    elif variable != "hardware":
        yield spelled(variable, item.text)


def _variable(key: str) -> str:
    """The variable of a key: as the tables know it, else what its words mean."""
    plain = normal(key)
    if SECOND.search(plain):
        return "adam_beta2"
    for name in ("generic", "env"):
        if hit := table(name).get(plain):
            return hit[0]
    return meant(key)
