"""The paths that a person gives, and pasted text, as one run; and where one of its trainings lies."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ..tools.discover import discover
from ..tools.run import PASTED, Artifact, Run


def path_of(paths: Sequence[Path], about: str) -> Path:
    """Where a training lies that a look is about, as the person gave the paths that were read together."""
    first, _, rest = about.partition("/")
    beside = next((p for p in paths[1:] if first and (p.name or p.resolve().name) == first), None)
    found = beside / rest if beside else paths[0] / about
    return found if found.exists() else paths[0]  # runs side by side in one folder have none of their own


def _beside(run: Run, other: Run, folder: bool) -> Run:
    """Two paths as one; a folder keeps a place of its own among the attempts, a single file is a part of the first."""
    prefix = f"{other.root.name}/"
    attempt = prefix.rstrip("/") if folder else ""
    placed = (
        replace(a, name=prefix + a.name, attempt="/".join(filter(None, (attempt, a.attempt)))) for a in other.artifacts
    )
    return replace(
        run,
        artifacts=(*run.artifacts, *placed),
        skipped=(*run.skipped, *(replace(s, name=prefix + s.name) for s in other.skipped)),
        unknown=(*run.unknown, *(replace(s, name=prefix + s.name) for s in other.unknown)),
    )


@contextmanager
def gather(paths: Sequence[Path], pasted: str = "") -> Iterator[Run]:
    """One run out of several paths and pasted log text (read as a log named `pasted log`)."""
    runs = [discover(path) for path in paths]
    run = runs[0] if runs else Run(Path())
    for path, other in zip(paths[1:], runs[1:], strict=True):
        run = _beside(run, other, path.is_dir())
    if not pasted:
        yield run
        return
    with tempfile.TemporaryDirectory(prefix="triage-") as folder:
        file = Path(folder) / "question.log"
        file.write_text(pasted, encoding="utf-8", errors="replace")
        yield replace(run, artifacts=(*run.artifacts, Artifact("log", file, PASTED, "pasted into the question")))
