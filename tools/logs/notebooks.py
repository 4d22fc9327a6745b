"""The error that a notebook ends in, as the text of a log: what the last cell that failed printed and raised.

Notebooks are full of errors that somebody mended in the next cell. Only the last one counts, only where no later cell
trained, and only where the error is one of the machine (memory, GPU, engine), not of a name that was typed wrongly.
What outputs hold of tables and curves is read elsewhere (`tools.tables`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..patterns import bounded
from ..reading import Chunk, head, parse_json
from ..run import Artifact, Run
from .signatures.causes import Timeline
from .signatures.gpu import ROWS as OF_THE_MACHINE
from .signatures.match import TABLE, Hit, Hits, Matcher
from .texts import Text

SUFFIX = ".ipynb"
LIMIT = 20 << 20
"""Bytes of a notebook that is read; pictures make them longer."""
PRINTED = 200_000
"""Characters that a failed cell printed which are looked at, from its end."""
WORKS = bounded(
    r"\.(?:train|fit|learn|generate|evaluate)\(|\bfor (?:epoch|step)\b|\bLLM\(|accelerate launch|torchrun|\bmain\("
)
"""A cell that trains or runs a model."""
_ERROR = re.compile(rb'"ename"\s{0,8}:')


def notebooks(run: Run) -> dict[str, Text]:
    """What the notebooks of the run end in, by name; nothing of those that end in no error of the machine."""
    named = [a for a in run.artifacts if a.path.suffix.lower() == SUFFIX and a.path.is_file()]
    return {a.name: text for a in named if (text := _text(a)) is not None}


def _text(artifact: Artifact) -> Text | None:
    raw = head(artifact.path, LIMIT + 1)
    if len(raw) > LIMIT or not _ERROR.search(raw):
        return None
    try:
        cells = parse_json(raw)["cells"]
        failed = [*_failed([c for c in cells if isinstance(c, dict) and c.get("cell_type") == "code"])]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None
    if not failed or not failed[-1]:
        return None
    places = [raw.count(b"\n", 0, m.start()) + 1 for m in _ERROR.finditer(raw)]
    return _read(failed[-1], places[len(failed) - 1] if len(places) >= len(failed) else 1)


def _failed(cells: list[dict[str, Any]]) -> Iterator[str]:
    """What each cell that failed printed and raised; empty where a later cell trains and does not fail."""
    worked = [WORKS.search(_joined(c.get("source"))) and c.get("outputs") and not _raised(c) for c in cells]
    for i, cell in enumerate(cells):
        for raised in _raised(cell):
            told = "".join(_joined(o.get("text")) for o in cell["outputs"] if o.get("output_type") == "stream")
            error = f"{raised.get('ename')}: {raised.get('evalue')}"
            yield "" if any(worked[i + 1 :]) else f"{told[-PRINTED:]}\n{error}\n"


def _raised(cell: dict[str, Any]) -> list[dict[str, Any]]:
    return [o for o in cell.get("outputs") or () if o.get("output_type") == "error"]


def _joined(value: Any) -> str:
    return "".join(v for v in value if isinstance(v, str)) if isinstance(value, list) else str(value or "")


def _read(said: str, line: int) -> Text | None:
    """The hits of what was said, all at the line of the file where the error stands."""
    matcher = Matcher(len(said))
    matcher.look(Chunk(said.encode("utf-8", "replace"), 1))
    found = {row: hits for row, hits in matcher.hits().items() if TABLE[row] in OF_THE_MACHINE}
    if not found:
        return None
    return Text({row: _placed(hits, line) for row, hits in found.items()}, Timeline((), {}), lines=said.count("\n"))


def _placed(hits: Hits, line: int) -> Hits:
    def at(hit: Hit) -> Hit:
        return replace(hit, line=line)

    last = at(hits.last) if hits.last is not None else None
    return replace(hits, first=[at(h) for h in hits.first[:1]], last=last, above=None)
