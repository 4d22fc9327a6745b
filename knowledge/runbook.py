"""The runbook: every entry, by id.

Shipped entries lie in `runbooks/*.md`; a person's own Markdown is handled by ingestion, not here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .entry import Entry, EntryError, parse

SHIPPED = Path(__file__).parent / "runbooks"


@dataclass(frozen=True)
class Runbook:
    """Entries by id, in alphabetical order."""

    entries: Mapping[str, Entry]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries.values())

    def __len__(self) -> int:
        return len(self.entries)

    def get(self, id: str) -> Entry | None:
        return self.entries.get(id)


@cache
def load(folder: Path = SHIPPED) -> Runbook:
    """All entries of a folder.

    Raises:
        EntryError: an entry is wrong (shipped ones are checked by the tests, so this is a person's own folder).
    """
    entries = {path.stem: parse(path.read_text(encoding="utf-8"), path.name) for path in sorted(folder.glob("*.md"))}
    return Runbook(entries)


def check(folder: Path = SHIPPED) -> list[str]:
    """Every problem of a folder of entries, one line each: schema, dangling rivals, phrases claimed twice."""
    problems: list[str] = []
    entries: dict[str, Entry] = {}
    for path in sorted(folder.glob("*.md")):
        try:
            entries[path.stem] = parse(path.read_text(encoding="utf-8"), path.name)
        except (EntryError, UnicodeDecodeError, OSError) as error:
            problems.append(str(error))
    said: dict[str, str] = {}
    sections = {section for entry in entries.values() for section in entry.sections}
    for entry in entries.values():
        problems += [
            f"{entry.id}.md: rival {rival!r} is no entry"
            for rival in entry.rivals
            if rival not in entries and rival not in sections
        ]
        for phrase in (*entry.says.en, *entry.says.zh):
            key = re.sub(r"\W+", " ", phrase).strip().lower()
            if said.setdefault(key, entry.id) != entry.id:
                problems.append(f"{entry.id}.md: says {phrase!r}, which {said[key]}.md says too")
        problems += [f"{entry.id}.md: explains {id!r}, which is no entry" for id in entry.explains if id not in entries]
        both = entry.findings.for_.keys() & entry.findings.against.keys()
        problems += [f"{entry.id}.md: {code} speaks both for and against" for code in sorted(both)]
    return problems
