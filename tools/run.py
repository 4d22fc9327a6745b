"""A run: the artifacts found in a path, each with the reason it was recognised, and what was not used.

They are found by `tools.discover`.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .findings import Check
from .kinds import Kind
from .patterns import bounded

PASTED = "pasted log"
"""The name of the log that is pasted into a question."""


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
    evidence: bool = True
    """Whether it could have shown that something is wrong: a log, metrics, results, dumps, whatever a folder holds."""
    folder: Path | None = None
    """Where a folder lies that was not looked into."""


@dataclass(frozen=True)
class Run:
    """The artifacts found in one path: a directory or one file."""

    root: Path
    artifacts: tuple[Artifact, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    unknown: tuple[Skipped, ...] = ()
    """Files that were passed over: no reader knows them, or they are seen elsewhere; at most their first bytes were
    looked at."""
    home: str = ""
    """Of one of several trainings under the path: the attempt by which it is named."""

    def of(self, *kinds: Kind) -> Iterator[Artifact]:
        return (a for a in self.artifacts if a.kind in kinds)

    def checks(self) -> tuple[Check, ...]:
        """Unreadable artifacts as failed checks, so that they are never mistaken for clean ones."""
        return tuple(Check(f"read {s.name}", "failed", s.why) for s in self.skipped)

    def lost(self) -> tuple[Check, ...]:
        """Those of `checks` that could have shown a fault."""
        return tuple(c for c, s in zip(self.checks(), self.skipped, strict=True) if s.evidence)


def files_below(folder: Path, limit: int) -> list[Path]:
    """At most `limit` files at any depth, links not followed; a folder that cannot be listed has none."""
    found: list[Path] = []
    waiting = [folder]
    while waiting and len(found) < limit:
        inner: list[Path] = []
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in sorted(entries, key=lambda e: e.name):
                    (inner if entry.is_dir(follow_symlinks=False) else found).append(Path(entry.path))
        except OSError:
            continue
        waiting += reversed(inner)
    return found[:limit]


STAMPED = 5000
"""Files of which size and time are compared before what was read is used again."""


def stamped(paths: Sequence[Path]) -> tuple[object, ...]:
    """Name, size and times of every file under the paths: equal as long as nothing has changed.

    A copy may keep size and time of writing of what it replaces; the time of its entry is its own.
    """

    def stamp(path: Path) -> tuple[str, tuple[int, int], int]:
        try:
            found = path.stat()
        except OSError:
            return str(path), (-1, -1), -1
        return str(path), (found.st_size, found.st_ctime_ns), found.st_mtime_ns

    files = [file for path in paths for file in files_below(path, STAMPED + 1)]
    return (*map(stamp, paths), *map(stamp, files), *([time.monotonic()] if len(files) > STAMPED else ()))


def newest(stamp: tuple[object, ...]) -> float:
    """When the newest file of `stamped` was written, in seconds since the epoch; 0 where no file is there."""
    times = [written for one in stamp if isinstance(one, tuple) for written in one[2:]]
    return max(times, default=0) / 1e9


def natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """Sort key under which `attempt2` comes before `attempt10`."""
    return tuple((0, int(p)) if p.isdecimal() and len(p) < 19 else (1, p) for p in re.split(r"(\d+)", name) if p)


STREAMS = {"err": "out", "out": "err", "stderr": "stdout", "stdout": "stderr", "e": "o", "o": "e"}
"""What a job's two streams are called, each by its ending."""
STREAM = bounded(r"(^|[._-])(err|out|stderr|stdout|[eo](?=\d{1,12}$))(?=\d{0,12}(?:[._-]|$))")


def one_log(name: str) -> str:
    """What the files of one log share in their names: the two streams of a job, and what is kept beside them."""
    folder, cut, last = name.rpartition("/")
    return folder + cut + _KEPT.sub("", STREAM.sub(r"\1#", last))


_KEPT = bounded(r"\.(?:#|log|txt)$")
