"""What a server exposes for Prometheus: a table for each set of labels, with the metrics as columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..patterns import bounded
from ..reading import Line
from .raw import CELLS, Raw, Records

_SAMPLE = bounded(
    r"^([a-zA-Z_:][\w:.]{0,180})(?:\{([^\n]{0,4000})\})?\s+([-+]?(?:\d[\d.]*(?:[eE][-+]?\d+)?|\.\d+|NaN|Inf))(?:\s+([-\d.]{1,25}))?\s*(?:#.{0,400})?$",
    re.IGNORECASE,
)
_LABEL = re.compile(r'(?<![\w.])([a-zA-Z_][\w.]{0,100}+)="((?:[^"\\]|\\.)*+)"')
TIME = "timestamp"


def is_prometheus(texts: list[str]) -> bool:
    """Whether the lines are of this format: told by its comments, or by labels."""
    told = any(re.match(r"# (?:TYPE|HELP) ", t) for t in texts)
    data = [t for t in texts if t.strip() and not t.startswith("#")]
    good = [m for t in data if (m := _SAMPLE.match(t))]
    return bool(good) and len(good) * 10 >= len(data) * 9 and (told or all(m[2] for m in good))


def read_prometheus(lines: Iterable[Line]) -> Iterator[Raw]:
    """The tables, by the labels that their samples have; every histogram is one of its own."""
    rows: dict[tuple[str, ...], list[tuple[dict[str, object], int]]] = {}
    current: dict[tuple[object, ...], dict[str, object]] = {}
    left = CELLS
    for line in lines:
        match = None if line.text.startswith("#") else _SAMPLE.match(line.text)
        if not match:
            continue
        labels = dict(_LABEL.findall(match[2] or ""))
        kind = (match[1].removesuffix("_bucket"), *labels) if "le" in labels else tuple(labels)
        key = (kind, *labels.items(), match[4])
        row = current.get(key)
        if row is None or match[1] in row:
            row = current[key] = {**labels, **({TIME: float(match[4])} if match[4] else {})}
            rows.setdefault(kind, []).append((row, line.number))
        row[match[1]] = float(match[3])
        left -= 1
        if left < 0:
            break
    for kind, found in rows.items():
        table = Records(", ".join(kind))
        for row, number in found:
            if not table.add(row, number):
                break
        if left < 0:
            table.raw.cut = f"over the limit of {CELLS:,} cells"
        yield table.raw
