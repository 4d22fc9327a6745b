"""Proposed clean copies of a data set: new files, whole or not at all; the data itself is never edited.

A removed record says which rule removed it and which partner stays. Personal data is masked, not copied.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from ..findings import TriageError
from ..keeping import whole
from .pii import find, mask_value, record_text
from .records.blocks import blocks
from .records.record import Lines, Part
from .similar.corpus import ID_SHIFT
from .similar.dedup import Matches
from .similar.leakage import Leaks


@dataclass(frozen=True)
class Removal:
    """Why one record goes."""

    rule: str
    partner: Mapping[str, Any] | None = None
    """File and line of the record that stays, or of the evaluation item."""


@contextmanager
def whole_files(inputs: Sequence[Path | Part], *outputs: Path) -> Iterator[list[TextIO]]:
    """Open new files that appear under their names only when the block ends well.

    Raises:
        TriageError: an output is one of the inputs, or its folder does not exist.
    """
    sources = {Path(p.path if isinstance(p, Part) else p).resolve() for p in inputs}
    for path in outputs:
        if path.resolve() in sources or any(path.resolve().is_relative_to(s) for s in sources if s.is_dir()):
            raise TriageError(f"{path} is inside the data itself: name a file elsewhere, data is never edited in place")
        if not path.parent.is_dir():
            raise TriageError(f"no folder {path.parent} to write {path.name} in")
    if len({p.resolve() for p in outputs}) < len(outputs):
        raise TriageError("the clean file and the removed file must have different names")
    with whole(*outputs) as drafts, ExitStack() as files:
        opened: list[TextIO] = [
            files.enter_context(d.open("w", encoding="utf-8", errors="surrogatepass")) for d in drafts
        ]
        yield opened


def duplicate_removals(matches: Matches) -> dict[int, Removal]:
    """Document id -> why it goes: all but the first of each group."""
    out = {}
    for id, (leader, rule) in matches.removable().items():
        file, line, _ = matches.corpus.place(leader)
        out[id] = Removal(rule, {"file": file, "line": line})
    return out


def leak_removals(leaks: Leaks) -> dict[tuple[str, int], Removal]:
    """(training file, line) -> the evaluation item it holds."""
    out = {}
    for file, line, leak in leaks.counted():
        item = leaks.index.items[leak.item]
        out.setdefault((file, line), Removal(f"eval-leakage ({leak.kind})", {"file": item.file, "line": item.line}))
    return out


def _records(parts: Sequence[Part], removed: TextIO, counts: Counter[str]) -> Iterator[tuple[Part, int, int, Any]]:
    """(part, place in it, line, value) of every record; broken ones are listed in `removed` and counted."""
    lines = Lines()
    for part in parts:
        lines.add(part, 0)
        place = consumed = 0
        for block in blocks(part):
            for record in block.records:
                yield part, place, lines.absolute(part, record.line), record.value
                place += 1
            for broken in block.broken:
                counts["broken"] += 1
                row = {"rule": "data-parse-error", "file": part.name, "line": lines.absolute(part, broken.line)}
                _dump(removed, row | {"why": broken.why})
            consumed += block.lines
        lines.add(part, consumed)


def write_clean(
    parts: Sequence[Part],
    by_id: Mapping[int, Removal],
    by_place: Mapping[tuple[str, int], Removal],
    clean: TextIO,
    removed: TextIO,
) -> tuple[int, int]:
    """Every record into one of the two files; returns (kept, removed). Broken records count as removed."""
    counts = Counter[str]()
    for part, place, line, value in _records(parts, removed, counts):
        why = by_id.get((part.number << ID_SHIFT) + place) or by_place.get((part.name, line))
        counts["kept" if why is None else "removed"] += 1
        if why:
            value = {"rule": why.rule, "partner": why.partner, "file": part.name, "line": line, "record": value}
        _dump(removed if why else clean, value)
    return counts["kept"], counts["removed"] + counts["broken"]


def write_masked(parts: Sequence[Part], clean: TextIO, removed: TextIO) -> tuple[int, int]:
    """All records with personal data masked; `removed` lists where and what kind, without values.

    Returns:
        (records, records changed).
    """
    counts = Counter[str]()
    for part, _, line, value in _records(parts, removed, counts):
        hits = find(record_text(value))
        counts["records"] += 1
        _dump(clean, mask_value(value) if hits else value)
        if hits:
            counts["changed"] += 1
            kinds = sorted({h.kind.name for h in hits})
            _dump(removed, {"rule": "masked", "file": part.name, "line": line, "kinds": kinds})
    return counts["records"], counts["changed"]


def _dump(out: TextIO, row: Any) -> None:
    """A row as a JSON line; a text that is a record by itself gets the field `text`."""
    row = {"text": row} if isinstance(row, str) else row
    out.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")
