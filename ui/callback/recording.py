"""What a training logs, one JSON object a line, in a folder of its own in the data directory.

It is written as it comes, so that a training that is killed leaves it whole. It is bounded, and old ones are removed.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...agent.casebook import home
from ...tools.keeping import PRIVATE

FOLDER = "watched"
DAYS = 30
"""A recording that was not written for so long is removed when a new one begins."""
MOST_BYTES = 64 << 20
"""About a million lines of one measure; a scan of it takes seconds."""
MOST_MEASURES = 200
"""Of one line: what a person follows; more of them are weights written out."""


class Recording:
    """One training's file."""

    def __init__(self) -> None:
        self.folder = _folder()
        self._file = open(self.folder / "metrics.jsonl", "a", buffering=1, opener=_private)  # noqa: SIM115
        self._left = MOST_BYTES
        self.lines = 0

    @property
    def full(self) -> bool:
        """Whether the limit was reached, from which on nothing is written."""
        return self._left <= 0

    def note(self, step: int, values: Mapping[str, Any]) -> None:
        """One line with those of the values that are numbers, if any is and there is room."""
        numbers = {name: n for name, value in values.items() if (n := _number(value)) is not None}
        if numbers and not self.full:
            kept = dict(list(numbers.items())[:MOST_MEASURES])
            self._left -= self._file.write(json.dumps({**kept, "step": int(step)}) + "\n")
            self.lines += 1

    def close(self) -> None:
        self._file.close()


def _number(value: Any) -> float | None:
    """A number or a tensor with one in it."""
    if value is None or isinstance(value, str | bytes | bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError):
        return None


def _folder() -> Path:
    """A new folder in the data directory, or among temporary files where that cannot be written."""
    name = time.strftime("%Y%m%d-%H%M%S-")
    try:
        above = home() / FOLDER
        above.mkdir(mode=0o700, exist_ok=True)
        _tidy(above)
        return Path(tempfile.mkdtemp(prefix=name, dir=above))
    except OSError:
        return Path(tempfile.mkdtemp(prefix=f"triage-{name}"))


def _tidy(above: Path) -> None:
    oldest = time.time() - DAYS * 86400
    for old in above.glob("*/metrics.jsonl"):
        if not old.is_symlink() and old.stat().st_mtime < oldest:
            shutil.rmtree(old.parent, ignore_errors=True)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, PRIVATE)
