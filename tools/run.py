"""What is in a path: the artifacts of a run, each with the reason it was recognised.

Everything found is untrusted: paths are confined to the one the user gave, links out of it are not followed,
and nothing is executed or unpickled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .findings import Check

Kind = Literal[
    "log", "metrics", "config", "script", "tokenizer", "data", "checkpoint", "eval", "generations", "stack"
]


@dataclass(frozen=True)
class Artifact:
    """One file or checkpoint directory of a run."""

    kind: Kind
    path: Path
    """Absolute path."""
    name: str
    """Path relative to the run's root, `/` separated; what evidence cites."""
    why: str
    """Why it was recognised as this kind."""
    attempt: str = ""
    """Relative directory of the attempt (`attempt2`, `version_1`) it belongs to, empty for the run itself."""
    rank: int | None = None


@dataclass(frozen=True)
class Skipped:
    """A path that was not used, with the reason (unreadable, binary, link out of the run, too large)."""

    name: str
    why: str


@dataclass(frozen=True)
class Run:
    """The artifacts found in one path: a directory, one file, or pasted text."""

    root: Path
    artifacts: tuple[Artifact, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    pasted: str = ""
    """Log text pasted into the question, scanned as a log named `<question>`."""

    def of(self, *kinds: Kind) -> Iterator[Artifact]:
        return (a for a in self.artifacts if a.kind in kinds)

    def checks(self) -> tuple[Check, ...]:
        """Unreadable artifacts as failed checks, so that they are never mistaken for clean ones."""
        return tuple(Check(f"read {s.name}", "failed", s.why) for s in self.skipped)


def discover(path: Path) -> Run:
    """Recognise the artifacts under `path` (a directory or one file).

    Raises:
        TriageError: the path does not exist or cannot be read at all.
    """
    raise NotImplementedError
