"""Lines of a run's file around places or between numbers, cleaned and redacted, in one pass over the file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..findings import Evidence, clean
from ..reading import iter_chunks, lines_of
from ..secrets import IN_KEY, KEY_LINES, bare, ends_key, in_key, visible_after

AROUND = 6
"""Lines shown before and after the line of a finding."""
PIECES = 8
"""Most pieces for each line of an excerpt, on average: a progress bar writes thousands over one another."""
WIDE = 300
"""Characters of one line."""
CHUNK = 1 << 17
"""Bytes read at once: lines are made only of the chunks about a place, and the others counted."""
DEEPEST = 60
"""Most blanks before a line that are shown."""


@dataclass(frozen=True)
class Excerpt:
    """Consecutive lines of a run's file, cleaned and redacted."""

    file: str
    line: int
    """The line that the finding names."""
    lines: tuple[tuple[int, str], ...]
    """Line number and text."""


def excerpts(path: Path, places: Sequence[Evidence], around: int = AROUND) -> list[Excerpt]:
    """For each place its line with `around` lines on each side."""
    wanted = {n for place in places for n in range((place.line or 1) - around, (place.line or 1) + around + 1)}
    kept = lines_at(path, wanted)
    return [_excerpt(path, place, around, kept) for place in places]


def lines_at(path: Path, wanted: Collection[int], wide: int = WIDE) -> list[tuple[int, str]]:
    """The lines of these numbers, as far in as they stand; one inside a private key is masked whole, wherever the key
    begins.

    Args:
        path: the file.
        wanted: numbers of lines, counted from 1.
        wide: characters of one line.

    Raises:
        TriageError: the file cannot be opened.
    """
    kept: dict[int, str] = {}
    inside, before, maybe = False, "", list[int]()
    for chunk in iter_chunks(path, CHUNK):
        last = chunk.first_line + chunk.data.count(b"\n")
        near = any(chunk.first_line - KEY_LINES <= n <= last + KEY_LINES for n in wanted)
        if near or inside or b"PRIVATE KEY" in chunk.data:
            for n, text in lines_of([chunk]):
                after = in_key(text, inside)
                if n in wanted:
                    kept[n] = IN_KEY if inside and after else _line(visible_after(before, text), wide)
                if not inside and ends_key(text):  # its beginning is cut: what came before it is its body
                    kept |= dict.fromkeys(kept.keys() & set(maybe), IN_KEY)
                maybe = [*maybe, n][-KEY_LINES:] if bare(text) else []
                inside, before = after, text
        if last > max(wanted, default=0) + KEY_LINES:
            break
    return list(kept.items())


def _line(text: str, wide: int) -> str:
    """A line cleaned, behind its own indentation: of a program or a YAML file it is a part of what is said."""
    start = text[: len(text) - len(text.lstrip(" \t"))].expandtabs(4)[:DEEPEST]
    said = clean(text, wide)
    return f"{start}{said}" if said else ""


def _excerpt(path: Path, place: Evidence, around: int, kept: Iterable[tuple[int, str]]) -> Excerpt:
    line = place.line or 1
    lines = [(n, text) for n, text in kept if abs(n - line) <= around]
    return Excerpt(place.file or path.name, line, tuple(lines[: PIECES * (2 * around + 1)]))
