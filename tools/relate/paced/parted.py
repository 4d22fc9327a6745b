"""One source of the data that is learned by heart: its training loss falls, its held-out loss rises, others' do not.

A mixture with a fixed weight reads a small source over and over. The two losses of a source are told by what is left of
their names without the words for a loss and its split (`loss/law` and `val/law`, `train_law_loss` and `eval_law_loss`),
and are taken for one quantity only where they begin at about the same value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...findings import Finding, Severity
from ...metrics import held_out
from ..line import Line

CODE = "source-learned-by-heart"
LEAST = 4
"""Held-out values of a source."""
FALLS, RISES, STAYS = 0.3, 0.15, 0.05
"""Share by which the training loss falls, share by which the held-out one ends above its best, and the share within
which that of another source stays. Own judgement."""
ALIKE = 1.5
"""Times by which the two losses of a source differ at most where the held-out one is measured first."""
_LOSS = frozenset(("loss", "losses", "nll", "ce", "xent", "lm", "cross", "entropy", "损失"))
_HELD = frozenset((
    "eval", "evaluation", "val", "valid", "validation", "test", "dev", "heldout", "held", "holdout",
    "验证", "测试", "评估",
))  # fmt: skip
_SPLIT = _HELD | {"train", "training", "trn", "out", "metrics", "by", "per", "source", "domain", "dataset", "训练"}
_PARTS, _HAN = re.compile(r"[\W_]+"), re.compile(r"(损失|训练|验证|测试|评估)")


class Both(NamedTuple):
    """The two losses of one source."""

    source: str
    trained: Line
    held: Line
    fell: float
    """Share by which the training loss fell."""
    best: int
    rose: float
    """Share by which the last held-out values lie above the best one, `best` its place."""


def by_heart(lines: Sequence[Line]) -> Iterator[Finding]:
    """Sources of a mixture that are over-fitted, beside others that are not."""
    sides: dict[tuple[str, str], dict[bool, Line]] = {}
    for line in lines:
        if (source := _source(line)) and line.axis in ("step", "epoch"):
            sides.setdefault((source, line.attempt), {}).setdefault(_is_held(line), line.finite())
    pairs = [both for (source, _), two in sides.items() if len(two) == 2 and (both := _both(source, two))]
    if not any(both.rose < STAYS for both in pairs):
        return
    for both in pairs:
        if both.fell >= FALLS and both.rose >= RISES:
            yield _told(both, next(o for o in pairs if o.rose < STAYS))


def _source(line: Line) -> str:
    """What is left of a loss's name without the words for a loss and its split; empty for the whole, or no loss."""
    parts = _parts(line.key)
    rest = [p for p in parts if p not in _LOSS and p not in _SPLIT]
    said = any(p in _LOSS for p in parts) or (any(p in _SPLIT for p in parts) and len(rest) < len(parts))
    return "_".join(rest or ([line.group.lower()] if line.group and line.rank is None else [])) if said else ""


def _parts(key: str) -> list[str]:
    return [p for p in _PARTS.split(_HAN.sub(r"_\1_", key.lower())) if p]


def _is_held(line: Line) -> bool:
    return held_out(line.key) or not _HELD.isdisjoint(_parts(line.key))


def _both(source: str, two: dict[bool, Line]) -> Both | None:
    trained, held = two[False], two[True]
    if len(held) < LEAST or len(trained) < len(held) or min(held.values.min(), trained.values.min()) <= 0:
        return None
    first = float(trained.values[int(np.abs(trained.x - held.x[0]).argmin())])
    if not first / ALIKE <= held.values[0] <= first * ALIKE:
        return None
    n = max(1, len(trained) // 20)
    fell = 1 - float(np.median(trained.values[-n:]) / np.median(trained.values[:n]))
    best, last = int(held.values.argmin()), float(held.values[-2:].min())
    return Both(source, trained, held, fell, best, last / float(held.values[best]) - 1)


def _told(both: Both, other: Both) -> Finding:
    held, trained = both.held, both.trained
    low, last = float(held.values[both.best]), float(held.values[-1])
    first, end = float(trained.values[0]), float(trained.values[-1])
    en = (
        f"{held.key} rises from its best {low:.4g} at {held.where(both.best)} to {last:.4g} while {trained.key} falls "
        f"from {first:.4g} to {end:.4g}: this source is learned by heart. {other.held.key} does not rise "
        f"({float(other.held.values[-1]):.4g})."
    )
    zh = (
        f"{held.key} 从最好的 {low:.4g}（{held.where(both.best)}）升到 {last:.4g}，而 {trained.key} 从 "
        f"{first:.4g} 降到 {end:.4g}：这个来源被背下来了。"
        f"{other.held.key} 没有上升（{float(other.held.values[-1]):.4g}）。"
    )
    evidence = (held.evidence(both.best), held.evidence(len(held) - 1), trained.evidence(len(trained) - 1))
    data = {"source": both.source, "best": low, "last": last, "trained_first": first, "trained_last": end}
    return Finding(CODE, Severity.S1, en, zh, evidence, data)
