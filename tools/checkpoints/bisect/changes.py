"""What changed between two checkpoints, as far as the files beside them record it.

Settings (config files in or above the checkpoints), the trainer's state (learning rate, loss, data window), restarts
and the number of processes. What a run does not record is listed as such, never guessed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from ...findings import TriageError
from .row import Point

STATE = "trainer_state.json"
STATE_LIMIT = 256 << 20
PROGRESS = frozenset((
    "global_step", "epoch", "best_global_step", "best_metric", "best_model_checkpoint", "log_history", "total_flos",
    "stateful_callbacks", "num_input_tokens_seen", "is_local_process_zero", "is_world_process_zero",
    "is_hyper_param_search", "trial_name", "trial_params",
))  # fmt: skip
"""Keys of the trainer's state that change with every checkpoint."""
PAUSE = 4.0
"""A gap between two saves of this many times the median gap of the row looks like a restart or a pause."""
HISTORY = ("learning_rate", "loss", "grad_norm")


@dataclass(frozen=True)
class Change:
    """One thing that differs between the last good and the first bad checkpoint."""

    kind: str
    """`setting`, `restart`, `schedule`, `data` or `metric`."""
    what: str
    """Canonical variable, or the name of the quantity."""
    before: Any
    after: Any
    where: str = ""
    """File (and line) that shows it."""

    @property
    def counts(self) -> bool:
        """Whether it is something that was changed; the window of data and steps always moves on."""
        return self.kind in ("setting", "restart")

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "what": self.what, "before": self.before, "after": self.after, "where": self.where}


@dataclass(frozen=True)
class Changes:
    """Everything known about the stretch between two checkpoints."""

    found: tuple[Change, ...]
    unknown: tuple[str, ...]
    """What the run does not record."""


def between(good: Point, bad: Point, row: list[Point]) -> Changes:
    """Compare two checkpoints of one row."""
    found: list[Change] = []
    unknown: list[str] = []
    settings = list(_settings(good, bad))
    found += settings
    old, new = _state(good.path), _state(bad.path)
    if new is None:
        unknown.append(f"learning rate, loss and data window ({STATE} is not beside {bad.name})")
    else:
        found += _window(old or {}, new, good.step, bad.step, f"{bad.name}/{STATE}")
        found += _scalars(old, new, f"{bad.name}/{STATE}") if old else []
    found += _restart(good, bad, row)
    if not any(re.search(r"(?i)commit|revision|git_sha", c.what) for c in found):
        unknown.append("code revision")
    return Changes(tuple(found), tuple(unknown))


def _settings(good: Point, bad: Point) -> Iterator[Change]:
    """Settings recorded in both checkpoints, and above them where they belong to different attempts."""
    from ...config.diff import diff

    places = [(good.path, bad.path)]
    if good.path.parent != bad.path.parent:
        places.append((good.path.parent, bad.path.parent))
    for a, b in places:
        old, new = _read_settings(a), _read_settings(b)
        if old and new and old.files and new.files:
            for d in diff(old, new):
                if d.counts:
                    yield Change("setting", d.variable, d.old, d.new, d.where)


def _read_settings(path: Path):
    from ...config.combine import read_settings
    from ...discover import discover

    if not path.is_dir():
        return None
    try:
        return read_settings(discover(path))[0]
    except TriageError:
        return None


def _state(path: Path) -> dict[str, Any] | None:
    """trainer_state.json of a checkpoint; its NaN is not strict JSON, hence the standard library."""
    file = path / STATE
    try:
        if file.stat().st_size > STATE_LIMIT:
            return None
        state = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return state if isinstance(state, dict) else None


def _window(old: dict, new: dict, good: int, bad: int, where: str) -> Iterator[Change]:
    """Learning rate, loss and gradient norm before and inside the window; the epochs it spans."""
    log = [e for e in new.get("log_history", ()) if isinstance(e, dict) and isinstance(e.get("step"), (int, float))]
    width = bad - good
    for key in HISTORY:
        before = [v for e in log if good - width < e["step"] <= good and (v := _number(e.get(key))) is not None]
        inside = [v for e in log if good < e["step"] <= bad and (v := _number(e.get(key))) is not None]
        if before and inside:
            kind = "schedule" if key == "learning_rate" else "metric"
            pick = (lambda v: v[-1]) if kind == "schedule" else (max if key == "grad_norm" else median)
            name = {"loss": "loss (median)", "grad_norm": "grad_norm (largest)"}.get(key, key)
            yield Change(kind, name, pick(before), pick(inside), where)
        bad_steps = [int(e["step"]) for e in log if good < e["step"] <= bad and _not_finite(e.get(key))]
        if bad_steps:
            yield Change("metric", f"{key} not finite at step", None, bad_steps[:10], where)
    first, last = _number(old.get("epoch")), _number(new.get("epoch"))
    if first is not None and last is not None:
        what = "epochs (a new epoch begins)" if math.floor(last) > math.floor(first) and last % 1 else "epochs"
        yield Change("data", what, round(first, 4), round(last, 4), where)
    yield Change("data", "steps", good + 1, bad, where)


def _number(value: Any) -> float | None:
    try:
        number = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _not_finite(value: Any) -> bool:
    return (isinstance(value, float) and not math.isfinite(value)) or value in ("nan", "inf", "-inf", "NaN")


def _scalars(old: dict, new: dict, where: str) -> Iterator[Change]:
    for key in sorted((old.keys() | new.keys()) - PROGRESS):
        a, b = old.get(key), new.get(key)
        if a != b and not isinstance(a, (dict, list)) and not isinstance(b, (dict, list)):
            yield Change("setting", key, a, b, where)


def _restart(good: Point, bad: Point, row: list[Point]) -> Iterator[Change]:
    """Signs that the run was started anew in between: another directory, other ranks, a long pause."""
    if good.path.parent != bad.path.parent:
        yield Change("restart", "directory", Path(good.name).parent.as_posix(), Path(bad.name).parent.as_posix())
    ranks = [len(list(p.path.glob("rng_state_*.pth"))) if p.path.is_dir() else 0 for p in (good, bad)]
    if all(ranks) and ranks[0] != ranks[1]:
        yield Change("restart", "world_size (rng_state files)", ranks[0], ranks[1], bad.name)
    times = [_saved(p.path) for p in row]
    gaps = [b - a for a, b in pairwise(times) if b > a]
    at = row.index(bad)
    gap = times[at] - times[row.index(good)]
    if len(gaps) > 3 and gap > PAUSE * median(gaps) * (at - row.index(good)) and gap > 60:
        yield Change("restart", "seconds between the saves (usual, here)", round(median(gaps)), round(gap), bad.name)


def _saved(path: Path) -> float:
    """When a checkpoint was written: the oldest of its files, because results may be added later."""
    try:
        files = [f for f in path.iterdir() if f.is_file()] if path.is_dir() else [path]
        return min(f.stat().st_mtime for f in files) if files else path.stat().st_mtime
    except OSError:
        return 0.0
