"""Writing the safe edits of programs into their files: nothing else here changes one, and only when asked to."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from ..config.syntax.source import Refused, load
from ..keeping import whole
from .check import RULES, edits_of
from .patch import applied
from .source import parse

ROUNDS = 20
"""Edits of one file: each is judged again before the next, so that none undoes another."""


def mend(files: Iterable[Path], select: Collection[str] = ()) -> list[Path]:
    """Make the safe edits in Python files, one finding after the other, and say which files were written."""
    written = []
    for path in files:
        if path.suffix != ".py":
            continue
        try:
            text = load(path, path.name, "python").text
            if path.read_bytes() != text.encode("utf-8"):
                continue  # in another encoding: written back it would be another file
        except (Refused, OSError):
            continue
        new = mended(text, path.name, select)
        if new != text:
            with whole(path, mode=path.stat().st_mode & 0o777) as [draft]:
                draft.write_bytes(new.encode("utf-8"))
            written.append(path)
    return written


def mended(text: str, name: str, select: Collection[str] = ()) -> str:
    """The text with its safe edits made."""
    rules = [r for c, r in sorted(RULES.items()) if not select or c in select]
    tried: set[tuple[str, str]] = set()
    for _ in range(ROUNDS):
        try:
            parsed = parse(text, name)
        except Refused:
            return text
        found = next(((c, e) for c, e in edits_of(parsed, rules) if (c, str(e)) not in tried), None)
        if parsed.problem or found is None:
            return text
        tried.add((found[0], str(found[1])))
        with suppress(Refused):  # it cannot be made in this layout
            text = applied(text, found[1], name)
    return text
