"""What a server exposes for Prometheus: a table for each set of labels, with the metrics as columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ..patterns import bounded
from ..reading import Line
from .raw import CELLS, Raw, Records

_SAMPLE = bounded(
    r"^([a-zA-Z_:][\w:.]{0,180})(?:\{([^\n]{0,4000})\})?\s+([-+]?(?:\d[\d.]*(?:[eE][-+]?\d+)?|\.\d+|NaN|Inf))(?:\s+([-\d.]{1,25}))?\s*(?:#.{0,400})?$",
    re.IGNORECASE,
)
_LABEL = re.compile(r'(?<![\w.])([a-zA-Z_][\w.]{0,100}+)="((?:[^"\\]|\\.)*+)"')
_STAMP = bounded(r"(?<!\d)(1[4-9]\d{8}(?:\d{3})?(?:\.\d{1,9})?)(?!\d)")
"""Seconds or milliseconds since 1970 in a comment above what was scraped then."""
TIME, SCRAPE = "timestamp", "step"
"""Columns of when a sample was taken, or else the how manieth of its kind it is."""


def is_prometheus(texts: list[str]) -> bool:
    """Whether the lines are of this format: told by its comments, or by labels."""
    told = any(re.match(r"# (?:TYPE|HELP) ", t) for t in texts)
    data = [t for t in texts if t.strip() and not t.startswith("#")]
    good = [m for t in data if (m := _SAMPLE.match(t))]
    return bool(good) and len(good) * 10 >= len(data) * 9 and (told or all(m[2] for m in good))


def read_prometheus(lines: Iterable[Line]) -> Iterator[Raw]:
    """The tables, by the labels that their samples have; every histogram is one of its own."""
    rows: dict[tuple[str, ...], list[tuple[dict[str, Any], int]]] = {}
    current: dict[tuple[object, ...], dict[str, Any]] = {}
    left, stamp = CELLS, ""
    for line in lines:
        stamp = said[1] if line.text.startswith("#") and (said := _STAMP.search(line.text)) else stamp
        match = None if line.text.startswith("#") else _SAMPLE.match(line.text)
        if not match:
            continue
        labels = dict(_LABEL.findall(match[2] or ""))
        kind = (match[1].removesuffix("_bucket"), *labels) if "le" in labels else tuple(labels)
        key = (kind, *labels.items(), match[4])
        row = current.get(key)
        if row is None or match[1] in row:
            nth, at = row[SCRAPE] + 1 if row else 0, match[4] or stamp
            row = current[key] = {**labels, **({TIME: float(at)} if at else {}), SCRAPE: nth}
            rows.setdefault(kind, []).append((row, line.number))
        row[match[1]] = float(match[3])
        left -= 1
        if left < 0:
            break
    for kind, found in rows.items():
        table = Records(", ".join(kind))
        table.raw.labels = frozenset(kind)
        once = all(row[SCRAPE] == 0 for row, _ in found)
        for row, number in found:
            if once or TIME in row:
                del row[SCRAPE]
            if not table.add(row, number):
                break
        if left < 0:
            table.raw.cut = f"over the limit of {CELLS:,} cells"
        yield table.raw
