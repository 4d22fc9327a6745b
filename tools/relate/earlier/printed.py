"""What two logs print of themselves at their beginning, and differently: choices by name, versions of packages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice

from ...findings import Evidence, TriageError
from ...logs.texts import Text
from ...patterns import bounded
from ...reading import head
from ...run import Run

Head = Sequence[tuple[str, int, str]]
"""(file, line, text)"""
PAIR = bounded(r"(?<![\w.])([A-Za-z][A-Za-z_.-]{3,40})\s?(==?|[:：])\s?['\"]?([A-Za-z0-9][\w.+/-]{0,40})(?![\w(=:])")
"""A name and its value."""
TIMES = bounded(
    r"(?i)time|date|host|node|pid|seed|port|uuid|(?:^|_)(?:id|dir|path|file|name|log|addr)(?:$|_)|loss|epoch|step"
)
"""Names of what is another in every run."""
VERSION = bounded(r"\d+(?:\.\d+){1,3}\S{0,20}")
LISTS = bounded(r"(?i)(?:^|[/_.-])(?:pip|requirements|freeze|conda|packages?)[\w-]{0,20}\.(?:txt|lock|ya?ml)$")
"""Names of lists of packages."""
BYTES, FEW = 64 << 10, 4
"""Bytes of such a list, and how many are read."""
WORD = bounded(r"[A-Za-z][\w-]*")


def heads(run: Run, texts: Mapping[str, Text]) -> list[tuple[str, int, str]]:
    """The first lines of the logs of a run, and its lists of packages."""
    names = {a.name for a in run.artifacts}
    found = [(name, n, line) for name, text in texts.items() if name in names for n, line in text.head]
    for a in islice((a for a in run.artifacts if LISTS.search(a.name)), FEW):
        with suppress(TriageError, OSError):
            lines = head(a.path, BYTES).decode("utf-8", "replace").splitlines()
            found += [(a.name, n, line[:200]) for n, line in enumerate(lines, 1)]
    return found


def printed_apart(mine: Head, theirs: Head) -> Iterator[tuple[str, str, str, Evidence]]:
    """(name, there, here, where) of names that both print with one value each, and the values are not the same."""
    here, there = _said(mine), _said(theirs)
    for key, (value, file, line) in here.items():
        other = there.get(key)
        if value and other is not None and other[0] and other[0] != value:
            yield key, other[0], value, Evidence(file, line, text=f"{key}={value}")


def _said(lines: Head) -> dict[str, tuple[str, str, int]]:
    """Name -> its value and place; an empty value where it is printed with several."""
    found: dict[str, tuple[str, str, int]] = {}
    for file, line, text in lines:
        for m in PAIR.finditer(text):
            key, value = m[1], m[3].rstrip(".,;")
            if TIMES.search(key) or not (WORD.fullmatch(value) or (m[2] == "==" and VERSION.fullmatch(value))):
                continue
            known = found.get(key)
            found[key] = (value, file, line) if known is None or known[0] == value else ("", file, line)
    return found
