"""A data file as lines, or as one JSON value; `tools.packed` opens its bytes, `blocks` knows what a record is."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from ...findings import TriageError
from ...packed import PACKINGS, open_plain
from ...reading import head, parse_json
from .record import MAX_RECORD, Part

JSON_BYTES = 32 << 20
"""Largest file that is parsed as one JSON value."""


def is_wide(path: Path) -> bool:
    """UTF-16: lines cannot be found by bytes."""
    with path.open("rb") as stream:
        return stream.read(2) in (b"\xff\xfe", b"\xfe\xff")


def load_json(path: Path) -> Any:
    """The parsed file, or None where it is no JSON, too large or unreadable."""
    try:
        if path.stat().st_size > JSON_BYTES:
            return None
        return parse_json(head(path, JSON_BYTES + 1))
    except (OSError, ValueError, TriageError):
        return None


def lines_of(part: Part) -> Iterator[tuple[int, int, bytes]]:
    """(relative line, absolute byte, raw line) of one part; a line belongs to the part where it begins.

    A line past `MAX_RECORD` comes back cut just past that length, so that memory stays bounded.
    """
    if _is_wide_file(part):
        yield from _wide_lines(part)
        return
    with open_plain(part.path) as stream:
        byte = part.start
        if byte:
            stream.seek(byte - 1)
            byte += _skip_line(stream) - 1
        line = 0
        while part.end < 0 or byte < part.end:
            raw = stream.readline(MAX_RECORD + 1)
            if not raw:
                return
            line += 1
            yield line, byte, raw
            byte += len(raw)
            if len(raw) > MAX_RECORD and not raw.endswith(b"\n"):
                byte += _skip_line(stream)


def _skip_line(stream: BinaryIO) -> int:
    """Read to the end of the line; returns how many bytes that was."""
    skipped = 0
    while piece := stream.readline(1 << 20):
        skipped += len(piece)
        if piece.endswith(b"\n"):
            break
    return skipped


def _is_wide_file(part: Part) -> bool:
    return part.end == -1 and Path(part.path).suffix.lower() not in PACKINGS and is_wide(Path(part.path))


def _wide_lines(part: Part) -> Iterator[tuple[int, int, bytes]]:
    byte = 0
    with io.TextIOWrapper(open_plain(part.path), encoding="utf-16", errors="replace", newline="") as stream:
        line = 0
        while text := stream.readline(MAX_RECORD):
            line += 1
            yield line, byte, text.encode("utf-8", "replace")
            byte += 2 * len(text)
