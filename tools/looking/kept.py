"""Lines of logs that were kept when they were scanned, so that who looks at a few of them reads no file again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..reading import Chunk, Line, iter_lines, lines_of

Kept = Mapping[str, Sequence[Chunk]]
"""Name of a log -> all of it, where it is small; nothing of one that was not kept."""
NOT_KEPT: Kept = {}


def kept_lines(path: Path, kept: Sequence[Chunk]) -> Iterator[Line]:
    """The lines of a file of which all was kept, else of the file.

    Raises:
        TriageError: the file cannot be opened.
    """
    return lines_of(kept) if kept else iter_lines(path)
