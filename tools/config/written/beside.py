"""Files that set something without being a configuration that a framework reads: notes, and tables of settings.

Of a table that is read as rows as well, the settings count where it names enough of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ...findings import TriageError
from ...reading import head
from ...run import Artifact
from ..collect import Reading
from ..syntax.source import Refused, load
from .which import LEAST, readable

TABLES = (".xml", ".tsv", ".csv")
MOST = 64 << 10
"""Bytes of a text or table that is read: more is a log or data."""
FILES = 12
"""Texts, and tables, of a run that are looked at."""


def is_notes(artifact: Artifact) -> bool:
    """Whether a file is prose by its name, whatever a folder without anything else takes it for."""
    return artifact.kind not in ("tokenizer", "checkpoint", "data") and readable(artifact.name)


def tables(artifacts: Iterable[Artifact], read: Callable[[Path, str], Reading]) -> Iterator[Reading]:
    """The readings of small tables of names and values."""
    found = (a for a in artifacts if a.kind in ("table", "metrics") and a.path.suffix.lower() in TABLES)
    for artifact in list(found)[:FILES]:
        try:
            reading = read(artifact.path, artifact.name) if artifact.path.stat().st_size <= MOST else None
        except (TriageError, OSError):
            continue
        if reading and len(reading.values) >= LEAST:
            yield reading


def told(artifacts: Iterable[Artifact], configured: Iterable[Reading]) -> Iterator[Reading]:
    """The readings of notes that contradict no configuration.

    Args:
        artifacts: the files of the attempt.
        configured: what its configurations and launches say.
    """
    set_, texts = list(configured), [a for a in artifacts if is_notes(a)][:FILES]
    if not texts:
        return
    from ...documents.read import is_document
    from . import notes  # they take longer to import than most runs to read

    for artifact in texts:
        try:
            if artifact.path.stat().st_size > MOST:
                continue
            source = load(artifact.path, artifact.name, "notes")
            paper = artifact.name.endswith(".tex")
            about = paper or notes.is_card(source.text) or is_document(artifact.name, head(artifact.path, MOST))
            reading = notes.read(source) if about else None
        except (Refused, TriageError, OSError):
            continue
        if reading and reading.values and not any(_contradicts(reading, other) for other in set_):
            yield reading


def _contradicts(told: Reading, other: Reading) -> bool:
    """Whether a text gives a number that a configuration of training or serving gives otherwise."""
    if other.role in ("model", "tokenizer", "generation", "adapter", "request"):
        return False
    shared = told.values.keys() & other.values.keys()
    return any(
        told.values[v].value != other.values[v].value
        for v in shared
        if isinstance(other.values[v].value, (int, float)) and not isinstance(other.values[v].value, bool)
    )
