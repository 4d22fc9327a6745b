"""Profiles as the profiler of PyTorch prints them: a row for each operation, times with their units in the cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ...patterns import bounded
from ...reading import Line
from ..raw import Raw, Records

HEAD = re.compile(r"^[ ]{0,200}Name\s\s[^\n]{0,400}(?:CPU|CUDA)")
CELLS = re.compile(r"\s{2,}")
TIME = bounded(r"^(\d{1,12}(?:\.\d{1,9})?)(ns|us|μs|ms|s)$")
SECONDS = {"ns": 1e-9, "us": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0}
PREFERRED = ("self_cuda", "self_cpu", "cuda_total", "cpu_total")
"""Columns of which the first that has any time is what was spent."""


def read_profiled(lines: Iterable[Line]) -> Iterator[Raw]:
    """One table for each profile, with what each operation took itself, in seconds."""
    names: list[str] = []
    rows: list[tuple[int, dict[str, str]]] = []
    for line in lines:
        text = line.text[:1000].strip()
        cells = CELLS.split(text)
        if HEAD.match(line.text[:1000]):
            names = [re.sub(r"\W+", "_", c.strip().lower()).strip("_") if "%" not in c else "" for c in cells]
        elif names and 2 < len(cells) <= len(names):  # the last cells of a row may be empty
            rows.append((line.number, dict(zip(names, cells, strict=False))))
    spent = next((c for c in PREFERRED if any(_seconds(row.get(c, "")) for _, row in rows)), None)
    table = Records()
    for number, row in rows if spent else ():
        took = _seconds(row.get(spent or "", ""))
        if took is not None:
            table.add({"name": row["name"], "self_time_s": took}, number)
    if len(table.raw) > 1:
        yield table.raw


def _seconds(cell: str) -> float | None:
    match = TIME.match(cell.strip())
    return float(match[1]) * SECONDS[match[2]] if match else None
