"""The names of columns that a file without a header has in a file beside it: a list in JSON, a line of a README."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from ...patterns import bounded
from ...reading import head, is_binary, parse_json
from ..raw import Raw
from ..vocabulary import axis_of, known, metric_of

FILES, BYTES = 40, 64 << 10
"""Files of a folder that are looked at, and bytes of each."""
_TELLING = re.compile(r"\.(?:json|txt|md|rst|ya?ml|toml|cols|columns|names|header|hdr)$|^[^.]{1,40}$", re.IGNORECASE)
_CALLED = bounded(r"^[`*\"']{0,2}([^\W\d][\w./%@-]{0,40}(?:\s?[(\[][\w/%.]{1,12}[)\]])?)[`*\"'.;]{0,2}$")
_NTH = bounded(
    r"^[\s*#-]{0,8}(?:col(?:umn)?|field|spalte|列|第)?\s?\[?(\d{1,3})\]?\s?(?:列)?\s?[:=.)、：]?\s{0,8}(\S.{0,80})$",
    re.I,
)
_PARTED = re.compile(r"[,;|、，\t]|->")
_LISTING = bounded(r"(?i)[_\-. ]{0,2}(?:history|hist|log|list|values?|curve|record(?:s|ed)?|track|trace"
                   r"|per_(?:step|epoch|iter)|历史|记录|曲线)(?=[_\-. ]|$)")  # fmt: skip
"""What a file's name says beside what it lists."""
_NUMBER = re.compile(rb"\s{0,40}[-+]?(?:[\d.]{1,30}(?:[eE][-+]?\d{1,3})?|NaN|-?Infinity|null)\s{0,8},?\s{0,8}$")
LISTED = 16 << 20
"""Bytes of a list in which the line of each number is looked up."""
_LEAD = bounded(r"^[^:：=]{0,80}[:：=]\s{0,8}")


def named_beside(path: Path, raw: Raw) -> Raw:
    """The table, its columns called what a file beside it calls them; as it is where it has names or none are told."""
    width = len(raw.names)
    if raw.names == ["0"] and not raw.part:
        return _called_so(path, raw)
    if width < 2 or not all(name.isdecimal() for name in raw.names):
        return raw
    names = next(_told(path, width), None)
    if names:
        raw.names = list(names)
    return raw


def _called_so(path: Path, raw: Raw) -> Raw:
    """One nameless list of numbers, called what its file's name says: `loss_history.json`, `验证损失.json`."""
    name = path.name.partition(".")[0]
    told = next((t for t in (name, _LISTING.sub("", name)) if metric_of(t)), "")
    if not told:
        return raw
    raw.names = [told]
    if not any(raw.lines) and path.suffix.lower() == ".json":
        alone = [n for n, line in enumerate(head(path, LISTED).splitlines(), 1) if _NUMBER.match(line)]
        raw.lines = alone if len(alone) == len(raw.lines) else raw.lines
    return raw


def _told(path: Path, width: int) -> Iterator[list[str]]:
    """Lists of so many names in the files beside a file, the files of nearly its name first."""
    try:
        there = [
            p for p in islice(path.parent.iterdir(), 2000) if p != path and _TELLING.search(p.name) and p.is_file()
        ]
    except OSError:
        return
    stem = path.name.partition(".")[0]
    for other in sorted(there, key=lambda p: (not p.name.startswith(stem), p.name))[:FILES]:
        try:
            start = head(other, BYTES)
        except (OSError, ValueError):
            continue
        if start.strip() and not is_binary(start[:4096]):
            yield from (names for names in _lists(start, other.suffix.lower()) if _fit(names, width))


def _fit(names: list[str], width: int) -> bool:
    """Whether names are those of so many columns: no two alike, a good part known, something measured among them."""
    some = sum(map(known, names))
    told = any(metric_of(n) for n in names) or (some > 1 and any(axis_of(n) for n in names))
    return len(names) == width == len(set(names)) and some * 3 >= width and told


def _lists(start: bytes, suffix: str) -> Iterator[list[str]]:
    if suffix == ".json":
        try:
            yield from _of_json(parse_json(start))
        except ValueError:
            return
        return
    lines = start.decode("utf-8", "replace").splitlines()[:2000]
    counted: list[str] = []
    for line in lines:
        for part in dict.fromkeys((line, _LEAD.sub("", line))):
            cells = [cell.strip() for cell in _PARTED.split(part.strip().strip("|[](){}`").strip())]
            cells = cells if len(cells) > 1 else part.split()
            names = [m[1] for c in cells if (m := _CALLED.match(c.strip()))]
            if len(names) == len(cells):
                yield names
        match = _NTH.match(line)
        word = _CALLED.match(re.split(r"\s[-–(]|[,:：\t]| {2,}", match[2])[0].strip()) if match else None
        counted = [*counted, word[1]] if word else counted if not line.strip() else []
        if counted:
            yield counted


def _of_json(value: Any, depth: int = 3) -> Iterator[list[str]]:
    """Lists of names within a value, also as the keys' own numbers."""
    if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
        yield value
    elif isinstance(value, list) and value:
        found = [v.get("name") for v in value if isinstance(v, dict)]
        names = [name for name in found if isinstance(name, str)]
        if len(names) == len(value):
            yield names
    elif isinstance(value, dict) and depth:
        if value and all(isinstance(v, str) for v in value.values()) and all(k.isdecimal() for k in value):
            yield [value[k] for k in sorted(value, key=int)]
        elif value and all(isinstance(v, int) and not isinstance(v, bool) for v in value.values()):
            yield sorted(value, key=lambda k: value[k])
        for inner in list(value.values())[:50]:
            yield from _of_json(inner, depth - 1)
