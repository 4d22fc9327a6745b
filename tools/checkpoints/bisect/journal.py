"""Evaluations that were made, in a file that survives being killed: one line of JSON for each, appended at once.

A line counts for one command and one state of one checkpoint, so that an edited command or overwritten weights are
measured anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...findings import TriageError
from ...keeping import append_to
from .row import SUFFIXES, Point

WEIGHTS = SUFFIXES | {".distcp"}
MAX_FILES = 4000


@dataclass(frozen=True)
class Evaluation:
    """One finished run of the evaluation command."""

    step: int
    repeat: int
    """0 for the first evaluation of a checkpoint."""
    value: float | None
    """None: no observation."""
    seconds: float
    why: str = ""
    """Why there is no observation, after all retries."""
    cached: bool = False


class Journal:
    """The evaluations of one command, read once and appended to.

    Raises:
        TriageError: the file cannot be opened, or another bisection is using it.
    """

    def __init__(self, path: Path, command: str, retry_failed: bool = False):
        self.path, self.command = path, command
        self._known: dict[tuple[str, int], dict[str, Any]] = {}
        self._ids: dict[Path, str] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TriageError(f"{path}: another bisection writes to it; wait for it or pass --cache OTHER") from None
        except OSError as error:
            raise TriageError(f"{path}: {error.strerror}; pass --cache FILE in a place that can be written") from None
        self._known = {(r["key"], r["repeat"]): r for r in _records(path)}
        # where nothing ever succeeded the command was at fault, and it may have been mended since
        if retry_failed or all(r["value"] is None for r in self._known.values()):
            self._known = {k: r for k, r in self._known.items() if r["value"] is not None}

    def close(self) -> None:
        os.close(self._fd)

    def known(self, point: Point, repeat: int) -> Evaluation | None:
        record = self._known.get((self._key(point), repeat))
        if record is None:
            return None
        return Evaluation(point.step, repeat, record["value"], record["seconds"], record.get("why", ""), cached=True)

    def add(self, point: Point, done: Evaluation) -> None:
        """Append and flush to disk; one write, so that a kill leaves a whole line or a torn last one."""
        record = {"key": self._key(point), "repeat": done.repeat, "step": done.step, "value": done.value,
                  "seconds": round(done.seconds, 3), "why": done.why}  # fmt: skip
        self._known[(record["key"], done.repeat)] = record
        append_to(self._fd, json.dumps(record, ensure_ascii=False).encode())
        os.fsync(self._fd)

    def _key(self, point: Point) -> str:
        if point.path not in self._ids:
            text = json.dumps([self.command, str(point.path.resolve()), list(_weights(point.path))])
            self._ids[point.path] = hashlib.sha256(text.encode()).hexdigest()[:32]
        return self._ids[point.path]


def _records(path: Path) -> Iterator[dict[str, Any]]:
    """Whole, well-formed lines; a torn or foreign line is passed over."""
    with path.open("rb") as file:
        for line in file:
            try:
                record = json.loads(line)
                value = record["value"]
                ok = value is None or (isinstance(value, (int, float)) and math.isfinite(value))
                if ok and isinstance(record["key"], str) and isinstance(record["repeat"], int):
                    record["seconds"] = float(record["seconds"])
                    yield record
            except (ValueError, KeyError, TypeError):
                continue


def _weights(path: Path) -> Iterator[tuple[str, int, int]]:
    """(name, bytes, time of change) of the weight files: results written beside them do not count."""
    if path.is_file():
        found = [path]
    else:
        found = [Path(folder) / name for folder, _dirs, names in os.walk(path) for name in names
                 if Path(name).suffix in WEIGHTS]  # fmt: skip
    for file in sorted(found)[:MAX_FILES]:
        info = file.stat()
        yield file.name if file == path else file.relative_to(path).as_posix(), info.st_size, info.st_mtime_ns
