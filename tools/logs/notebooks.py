"""The error that a notebook ends in, as the text of a log: what the last cell that failed printed and raised.

Notebooks are full of errors that somebody mended in the next cell. Only the last one counts, only where no later cell
trained, and only where it is one of the machine (memory, GPU, engine), or ended a cell that runs a model, or the
notebook. What outputs hold of tables and curves is read elsewhere (`tools.tables`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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
LAST_WORDS = 8_000
"""Characters from the last traceback of a program to the end of what it printed, from which on it went on after it."""
_CALLED = r"(?<!def )(?<![\w.])"
WORKS = bounded(
    r"\.(?:train|fit|learn|generate|evaluate)\(|\bfor (?:epoch|step)\b|\bLLM\(|accelerate launch|torchrun"
    rf"|{_CALLED}main\(|{_CALLED}(?:\w{{1,40}}_)?(?:train|fit|fine_?tune|training)"
    r"(?:_(?!test_split|data|set|load|arg)\w{1,40})?\((?!\s*\))"
    r"|(?m:^\s{0,16}[!%]\s?(?:python[\d.]{0,4}|run|deepspeed|bash|sh)\s"
    r"(?!-m pip|-c\s|.{0,200}\s--?(?:help|version)\b))"
)
"""A cell that trains or runs a model, or a program."""
SHELL = bounded(r"(?m)^\s{0,16}[!%]\w|^%%(?:bash|sh)\b")
"""A cell that starts programs: what they print of their end is no error of the cell."""
BY_HAND = "KeyboardInterrupt"
TRACEBACK = "Traceback (most recent call last)"
_ERROR = re.compile(rb'"ename"\s{0,8}:\s{0,8}"\w')


@dataclass(frozen=True)
class _End:
    """How a cell failed."""

    cell: int
    printed: str
    error: str
    """What it raised, or the last traceback of the program that it started."""
    raised: bool


def notebooks(run: Run) -> dict[str, Text]:
    """What the notebooks of the run end in, by name; nothing of those that end in no error that counts."""
    named = [a for a in run.artifacts if a.path.suffix.lower() == SUFFIX and a.path.is_file()]
    return {a.name: text for a in named if (text := _text(a)) is not None}


def _text(artifact: Artifact) -> Text | None:
    raw = head(artifact.path, LIMIT + 1)
    if len(raw) > LIMIT or not (_ERROR.search(raw) or TRACEBACK.encode() in raw):
        return None
    try:
        cells = [c for c in parse_json(raw)["cells"] if isinstance(c, dict) and c.get("cell_type") == "code"]
        ends = [end for i, cell in enumerate(cells) for end in _ends(i, cell)]
        if not ends or _overcome(cells, ends[-1]):
            return None
        return _read(ends[-1], _stopped(cells, ends[-1]), _line(raw, ends))
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None


def _ends(number: int, cell: dict[str, Any]) -> Iterator[_End]:
    outputs = cell.get("outputs") or ()
    told = "".join(_joined(o.get("text")) for o in outputs if o.get("output_type") == "stream")[-PRINTED:]
    raised = [o for o in outputs if o.get("output_type") == "error" and o.get("ename")]
    for error in raised:
        yield _End(number, told, f"{error['ename']}: {error.get('evalue') or ''}", True)
    at = told.rfind(TRACEBACK)
    if not raised and at >= 0 and len(told) - at < LAST_WORDS and SHELL.search(_joined(cell.get("source"))):
        yield _End(number, told[:at], told[at:], False)


def _worked(cell: dict[str, Any]) -> bool:
    """Whether the cell ran a model or a program to its end."""
    return bool(WORKS.search(_joined(cell.get("source"))) and cell.get("outputs")) and not any(_ends(0, cell))


def _overcome(cells: Sequence[dict[str, Any]], end: _End) -> bool:
    """Whether a later cell did its work; who stops a cell by hand and runs others after it has what he wanted."""
    by_hand = end.error.startswith(BY_HAND) and _went_on(cells, end)
    return by_hand or any(_worked(cell) for cell in cells[end.cell + 1 :])


def _stopped(cells: Sequence[dict[str, Any]], end: _End) -> bool:
    """Whether the error, whatever it is, ended what the notebook is for: a cell that runs a model or a program, or the
    last cell that ran, before any of those had."""
    if WORKS.search(_joined(cells[end.cell].get("source"))):
        return True
    return not _went_on(cells, end) and not any(_worked(cell) for cell in cells[: end.cell])


def _went_on(cells: Sequence[dict[str, Any]], end: _End) -> bool:
    return any(c.get("outputs") or c.get("execution_count") for c in cells[end.cell + 1 :])


def _line(raw: bytes, ends: Sequence[_End]) -> int:
    """The line of the file at which the last end stands; 1 where it is not found."""
    if ends[-1].raised:
        places = [m.start() for m in _ERROR.finditer(raw)]
        count = sum(end.raised for end in ends)
        return raw.count(b"\n", 0, places[count - 1]) + 1 if len(places) >= count else 1
    last = ends[-1].error.rstrip().rpartition("\n")[2]
    found = (
        raw.rfind(json.dumps(last, ensure_ascii=plain)[1:-1].encode("utf-8", "replace")) for plain in (False, True)
    )
    return 1 + raw.count(b"\n", 0, max(*found, 0))


def _joined(value: Any) -> str:
    return "".join(v for v in value if isinstance(v, str)) if isinstance(value, list) else str(value or "")


def _read(end: _End, stopped: bool, line: int) -> Text | None:
    """The hits of what was said, all at the line of the file where the error stands.

    In what was printed before, the rows of the machine count alone: warnings stand there, too, and what was caught.
    """
    said = f"{end.printed.rstrip()}\n{end.error}\n"
    matcher, begins = Matcher(len(said)), said.count("\n", 0, len(end.printed.rstrip()) + 1) + 1
    matcher.look(Chunk(said.encode("utf-8", "replace"), 1))
    found = {
        row: kept
        for row, hits in matcher.hits().items()
        if (kept := _placed(hits, line, 0 if TABLE[row] in OF_THE_MACHINE else begins if stopped else None))
    }
    return Text(found, Timeline((), {}), lines=said.count("\n")) if found else None


def _placed(hits: Hits, line: int, begins: int | None) -> Hits | None:
    """The hits from a line of what was said on, nothing for None."""
    every = [*hits.first, *([hits.last] if hits.last is not None else [])]
    kept: list[Hit] = [replace(h, line=line) for h in every if begins is not None and h.line >= begins]
    return replace(hits, first=kept[:1], last=kept[-1], above=None) if kept else None
