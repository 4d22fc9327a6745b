"""What the cells of a notebook printed while they trained, read as lines of a log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..heads import NOTEBOOK
from ..logs.points.lines import read_chunks
from ..logs.points.mined import SPEEDS, Mine
from ..logs.points.points import Store
from ..reading import Chunk, head, parse_json
from ..run import Artifact
from ..series import Series
from ..vocabulary import COUNTS, VOCABULARY

SUFFIX = ".ipynb"
LEAST = 5
"""Points of a curve from which on a cell has trained."""
LETTERS = 4 << 20
"""Characters of one cell's output that are read."""


def printed(artifact: Artifact) -> Iterator[Series]:
    """The curves of known metrics that the cells printed; each cell that trained is an attempt of its own."""
    raw = head(artifact.path, NOTEBOOK + 1)
    if artifact.path.suffix.lower() != SUFFIX or len(raw) > NOTEBOOK:
        return
    try:
        cells = parse_json(raw).get("cells")
    except (ValueError, AttributeError, RecursionError):
        return
    places, trained = _Places(raw), 0
    for cell in cells if isinstance(cells, list) else ():
        lines = _said(cell)[:LETTERS].splitlines() if isinstance(cell, dict) else []
        found = [*_curves(artifact, lines)]
        if not any(one.metric not in SPEEDS for one in found):
            continue
        trained += 1
        attempt = artifact.attempt + (f"#{trained}" if trained > 1 else "")
        at = np.array([places.of(line) for line in lines], np.int64)
        for one in found:
            yield replace(one, attempt=attempt, lines=at[np.clip(one.lines - 1, 0, len(at) - 1)])


def _curves(artifact: Artifact, lines: Sequence[str]) -> Iterator[Series]:
    if len(lines) < LEAST:
        return
    store = Store()
    shapes = read_chunks([Chunk("\n".join(lines).encode("utf-8", "replace") + b"\n", 1)], store)
    found = list(store.series(artifact.name, artifact.attempt, artifact.rank))
    found += Mine(shapes).series(artifact, found, ())
    yield from (s for s in found if s.metric in VOCABULARY and s.metric not in COUNTS and len(s) >= LEAST)


def _said(cell: Mapping[str, Any]) -> str:
    """All that a cell wrote as text, what was redrawn as lines of its own."""
    outputs = cell.get("outputs")
    parts = [_text(o.get("text")) for o in outputs or () if isinstance(o, dict) and o.get("output_type") == "stream"]
    return "".join(parts).replace("\r", "\n")


def _text(value: Any) -> str:
    return "".join(v for v in value if isinstance(v, str)) if isinstance(value, list) else str(value or "")


class _Places:
    """Where the texts of a notebook stand in its file, asked for one after the other."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.at, self.line = raw, 0, 1

    def of(self, text: str) -> int:
        """The line of the file in which the text stands; of one that is not found, that of the one before."""
        for ascii_only in (False, True):
            said = json.dumps(text, ensure_ascii=ascii_only)[1:-1].encode("utf-8", "replace")
            at = self.raw.find(said, self.at) if text.strip() else -1
            if at >= 0:
                self.line += self.raw.count(b"\n", self.at, at)
                self.at = at
                break
        return self.line
