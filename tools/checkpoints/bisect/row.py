"""The checkpoints of a directory as a row of steps, told from names alone: what a bisection walks along.

Whether they are whole and sound is another question (`triage checkpoint check`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...findings import TriageError

STEP = re.compile(r"(?:global[-_]?step|checkpoint|ckpt|iter(?:ation)?|step|it)[-_=]?0*(\d{1,12})(?!\d)", re.IGNORECASE)
"""A step in a name: checkpoint-500, global_step500, iter_0000500, epoch=1-step=500.ckpt, step500-unsharded."""
EPOCH = re.compile(r"epoch[-_=]?0*(\d{1,9})(?!\d)", re.IGNORECASE)
"""Counts only where no name holds a step."""
SUFFIXES = frozenset({".safetensors", ".pt", ".pth", ".bin", ".ckpt", ".gguf", ".npz", ".h5"})
UNFINISHED = re.compile(r"^(?:tmp|temp|\.)[-_]?|\.(?:tmp|part|incomplete)$", re.IGNORECASE)
MAX_DEPTH = 4
MAX_ENTRIES = 200_000


@dataclass(frozen=True)
class Point:
    """One checkpoint of the row."""

    step: int
    path: Path
    name: str
    """Path relative to the directory that was searched."""


def find_row(root: Path) -> list[Point]:
    """Checkpoints below a directory in order of their steps; of two with one step, the one nearest to the top.

    Names that hold a step win over names that hold only an epoch. Links are not followed, unfinished saves left out.

    Raises:
        TriageError: no directory, or fewer than two checkpoints.
    """
    if not root.is_dir():
        raise TriageError(f"{root}: not a directory; give the one that holds checkpoint-100, checkpoint-200, ...")
    found: dict[str, dict[int, Point]] = {"step": {}, "epoch": {}}
    for path, name in _entries(root):
        for unit, pattern in (("step", STEP), ("epoch", EPOCH)):
            if match := pattern.search(path.name):
                found[unit].setdefault(int(match[1]), Point(int(match[1]), path, name))
                break
    row = found["step"] if len(found["step"]) > 1 else found["epoch"]
    if len(row) < 2:
        raise TriageError(f"{root}: {len(row)} checkpoints found; at least two are needed, named by their step "
                          "(checkpoint-100, global_step100, iter_0000100, step=100.ckpt, ...)")  # fmt: skip
    return [row[step] for step in sorted(row)]


def _entries(root: Path) -> Iterator[tuple[Path, str]]:
    """Directories and weight files that may be checkpoints, level by level; a checkpoint's inside is not entered."""
    level, seen = [root], 0
    for _ in range(MAX_DEPTH):
        below: list[Path] = []
        for directory in level:
            try:
                entries = sorted(os.scandir(directory), key=lambda e: e.name)
            except OSError:
                continue
            seen += len(entries)
            for entry in entries:
                path = Path(entry.path)
                if entry.is_symlink() or UNFINISHED.search(entry.name):
                    continue
                is_dir = entry.is_dir()
                if is_dir or path.suffix in SUFFIXES:
                    yield path, path.relative_to(root).as_posix()
                if is_dir and not STEP.search(entry.name) and not EPOCH.search(entry.name):
                    below.append(path)
        level = below
        if seen > MAX_ENTRIES:
            return


def between(row: list[Point], good: int | None, bad: int | None) -> list[Point]:
    """The part of the row from the good to the bad end, in that order of steps.

    Raises:
        TriageError: an end that is no checkpoint, or both in the wrong order.
    """
    steps = [p.step for p in row]
    good, bad = steps[0] if good is None else good, steps[-1] if bad is None else bad
    for name, step in (("--good", good), ("--bad", bad)):
        if step not in steps:
            near = sorted(sorted(steps, key=lambda s: abs(s - step))[:3])
            raise TriageError(f"{name} {step}: no checkpoint of that step; near it: {', '.join(map(str, near))}")
    if good >= bad:
        raise TriageError(f"--good {good} is not before --bad {bad}: the good checkpoint comes first")
    return row[steps.index(good) : steps.index(bad) + 1]
