"""A run's file searched by a pattern or read from its beginning, within bounds; `lines` shows what was found."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from ..findings import TriageError, clean
from ..reading import iter_chunks, iter_lines
from .lines import lines_at

COMPARED = 256 << 10
"""Characters of a file that are compared line by line."""


def understood(pattern: str) -> None:
    """Refuse a pattern that cannot be matched, before any file is read.

    Raises:
        TriageError: it cannot, and why.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        vars(pc)["match_substring_regex"](pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        raise TriageError(f"the pattern is refused: {clean(str(error), 120)}") from None


def matches(path: Path, pattern: str, end: float, most: int) -> tuple[int, list[int], bool]:
    """(lines that match, the first and last of them, whether all was read), in linear time whatever the pattern."""
    import pyarrow as pa
    import pyarrow.compute as pc

    match: Any = vars(pc)["match_substring_regex"]

    first, last, count = list[int](), list[int](), 0
    for chunk in iter_chunks(path):
        lines = pa.array(chunk.data.decode("utf-8", "replace").split("\n"))
        hits = np.flatnonzero(match(lines, pattern))
        at = [chunk.first_line + int(i) for i in (*hits[:most], *hits[-most:])]
        count += len(hits)
        first = [*first, *at][: max(1, most // 2)]
        last = [*last, *at][-max(1, most // 2) :]
        if time.monotonic() > end:
            return count, [*first, *last], False
    return count, [*first, *last], True


def head_lines(path: Path) -> list[str]:
    """The lines from the beginning on, up to the limit."""
    out, size = list[str](), 0
    for line in iter_lines(path):
        size += len(line.text)
        if size > COMPARED:
            break
        out.append(clean(line.text, 300))
    return out


def quote(path: Path, limit: int) -> str:
    """The beginning of a small file, with line numbers; empty for one that is larger or no text."""
    try:
        if path.stat().st_size > limit or b"\0" in path.read_bytes()[:limit]:
            return ""
        return " / ".join(f"{n}: {text}" for n, text in lines_at(path, range(1, 60)) if text.strip())
    except (TriageError, OSError):
        return ""
