"""The runbook: every entry, by id.

Shipped entries lie in `runbooks/ID.md` and what people say about them, which only feeds the index, in
`runbooks/phrases/ID.txt`; a person's own Markdown is handled by ingestion, not here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .entry import SILENT, Entry, EntryError, parse, parse_phrases

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
        EntryError: a file is wrong, with its name.
    """
    entries, problems = _read(folder)
    if problems:
        raise EntryError(problems[0])
    return Runbook(entries)


def files(folder: Path = SHIPPED) -> tuple[list[str], list[str]]:
    """Names of what the entries of a folder are made of: `ID.md`, and `phrases/ID.txt`."""
    pages = sorted(path.name for path in folder.glob("*.md"))
    return pages, sorted(f"phrases/{path.name}" for path in folder.glob("phrases/[!.]*"))


def _read(folder: Path) -> tuple[dict[str, Entry], list[str]]:
    """Entries by id, and what is wrong with the files that give none."""
    pages, phrases = files(folder)
    entries: dict[str, Entry] = {}
    problems: list[str] = []
    beside = {page: f"phrases/{page.removesuffix('.md')}.txt" for page in pages}
    for page, said in beside.items():
        try:
            says = parse_phrases(_text(folder, said), said) if said in phrases else SILENT
            entry = parse(_text(folder, page), page, says)
        except EntryError as error:
            problems.append(str(error))
        else:
            entries[entry.id] = entry
    orphans = sorted({*phrases} - {*beside.values()})
    problems += [f"{name}: no entry has this name; phrases are named ID.txt after theirs" for name in orphans]
    return entries, problems


def _text(folder: Path, name: str) -> str:
    try:
        return (folder / name).read_text(encoding="utf-8")
    except (UnicodeDecodeError, OSError) as error:
        raise EntryError(f"{name}: cannot be read: {error}") from None


def check(folder: Path = SHIPPED) -> list[str]:
    """Every problem of a folder of entries, one line each: schema, dangling rivals, phrases claimed twice."""
    entries, problems = _read(folder)
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
                problems.append(f"phrases/{entry.id}.txt: {phrase!r}, which phrases/{said[key]}.txt has too")
        problems += [f"{entry.id}.md: explains {id!r}, which is no entry" for id in entry.explains if id not in entries]
        both = entry.speaks.for_.keys() & entry.speaks.against.keys()
        problems += [f"{entry.id}.md: {code} speaks both for and against" for code in sorted(both)]
    return problems
