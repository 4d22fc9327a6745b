"""Which tensors moved between two checkpoints, by how much relative to their norm, and what the trainer recorded.

It finds nothing wrong by itself: the numbers go to the summary. What changed in settings or data is told by `changes`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..findings import Check, Report, TriageError
from .files.layout import Checkpoint, find_checkpoints
from .files.tensors import FLOATS, Broken, Reader, Tensor, decode
from .health import Opened, open_checkpoint, report

SHOWN = 200
"""Most tensors listed in the summary, the most moved first."""
RECORDED = ("global_step", "epoch", "max_steps", "num_train_epochs", "train_batch_size", "best_metric")
"""Values of trainer_state.json that tell two checkpoints apart."""
LOGGED = ("learning_rate", "loss", "grad_norm", "eval_loss")
"""And the last logged ones."""


def compare(before: Path, after: Path, listen: Callable[[int], None] = lambda n: None) -> Report:
    """The difference of two checkpoints, tensor by tensor.

    Args:
        before: a checkpoint: a directory or a weight file.
        after: the later one.
        listen: told how many bytes were read.

    Raises:
        TriageError: a path is no single checkpoint, or the two have no tensor in common.
    """
    one, two = _opened(before), _opened(after)
    common = [n for n in one.tensors if n in two.tensors]
    if not common:
        raise TriageError(f"{before} and {after} have no tensor in common; name two checkpoints of the same model")
    moved, same, reshaped, unread = [], [], [], []
    with Reader(listen) as first, Reader(listen) as second:
        for name in common:
            a, b = one.tensors[name], two.tensors[name]
            if a.shape != b.shape:
                reshaped.append(name)
            elif not (_dense(a) and _dense(b)):
                unread.append(name)
            else:
                change = _change(first, second, a, b)
                (same if change == 0 else moved).append((name, change))
    moved.sort(key=lambda m: -m[1] if m[1] == m[1] else -math.inf)
    checks = (
        Check("tensors compared", "clear", f"{len(moved)} moved, {len(same)} did not, {len(unread)} not compared"),
    )
    structure = report([one, two])
    return Report("checkpoint-diff", structure.findings, checks, {
        "moved": [{"tensor": n, "relative_change": c} for n, c in moved[:SHOWN]],
        "moved_count": len(moved),
        "unmoved": [n for n, _ in same[:SHOWN]],
        "unmoved_count": len(same),
        "reshaped": reshaped,
        "not_compared": unread[:SHOWN],
        "only_before": sorted(one.tensors.keys() - two.tensors.keys())[:SHOWN],
        "only_after": sorted(two.tensors.keys() - one.tensors.keys())[:SHOWN],
        "median_change": float(np.median([c for _, c in moved])) if moved else 0.0,
        "recorded": recorded(one.checkpoint, two.checkpoint),
    })  # fmt: skip


def _opened(path: Path) -> Opened:
    found = find_checkpoints(path)
    if len(found) != 1:
        names = ", ".join(c.name for c in found[:5]) or "none"
        raise TriageError(f"{path} holds {len(found)} checkpoints ({names}); name one of them")
    opened = open_checkpoint(found[0])
    if not opened.tensors:
        why = opened.findings[0].message if opened.findings else "it holds no tensors"
        raise TriageError(f"{path} cannot be compared: {why}")
    return opened


def _dense(tensor: Tensor) -> bool:
    """Floating point, and its bytes are just its values (no strided view with gaps)."""
    return tensor.dtype in FLOATS and tensor.length == tensor.count * _width(tensor)


def _width(tensor: Tensor) -> int:
    return np.dtype(FLOATS[tensor.dtype][0]).itemsize


def _values(reader: Reader, tensor: Tensor) -> Iterator[np.ndarray]:
    """Float64 pieces of fixed length, so that two element types line up."""
    kind, width = FLOATS[tensor.dtype][0], _width(tensor)
    for raw in reader.blocks(tensor.file, tensor.start, tensor.length, 32_768 * width):
        yield decode(raw.view(kind), tensor.dtype)


def _change(first: Reader, second: Reader, a: Tensor, b: Tensor) -> float:
    """Norm of the difference over the norm before; infinite where it was zero, NaN where values are not finite."""
    difference = norm = 0.0
    try:
        with np.errstate(invalid="ignore", over="ignore"):
            for x, y in zip(_values(first, a), _values(second, b), strict=True):
                norm += float(np.dot(x, x))
                y -= x
                difference += float(np.dot(y, y))
    except Broken as broken:
        raise TriageError(f"{a.file.name} or {b.file.name} {broken.why}") from broken
    if difference == 0:
        return 0.0
    return math.sqrt(difference) / math.sqrt(norm) if norm else math.inf


def recorded(before: Checkpoint, after: Checkpoint) -> dict[str, dict[str, Any]]:
    """What trainer_state.json says of both: step, epoch, and the last logged learning rate and losses."""
    one, two = _state(before), _state(after)
    return {k: {"before": one.get(k), "after": two.get(k)} for k in (*RECORDED, *LOGGED) if k in one or k in two}


def _state(checkpoint: Checkpoint) -> dict[str, Any]:
    state = checkpoint.json("trainer_state.json")
    values = {k: state[k] for k in RECORDED if isinstance(state.get(k), int | float)}
    history = state.get("log_history")
    for entry in history if isinstance(history, list) else ():
        if isinstance(entry, dict):
            values |= {k: entry[k] for k in LOGGED if isinstance(entry.get(k), int | float)}
    return values
