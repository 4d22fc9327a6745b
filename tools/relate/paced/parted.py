"""One source of the data that is learned by heart: its training loss falls, its held-out loss rises, others' do not.

A mixture with a fixed weight reads a small source over and over. The two losses of a source are told by what is left of
their names without the words for a loss and its split (`loss/law` and `val/law`, `train_law_loss` and `eval_law_loss`),
and are taken for one quantity only where they begin at about the same value. Where only the held-out losses are logged,
that one of them rises alone is told all the same; how often the source is read, where a table has its tokens and its
weight and the training has a count of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...findings import Finding, Severity
from ...metrics import held_out
from ...tables.table import Table
from ..line import Line
from .passes import Passes, passes

CODE, ALONE = "source-learned-by-heart", "source-rises-alone"
LEAST = 4
"""Held-out values of a source."""
FALLS, RISES, STAYS = 0.3, 0.15, 0.05
"""Share by which the training loss falls, share by which the held-out one ends above its best, and the share within
which that of another source stays. Own judgement."""
STEADILY, AFTER, UPWARD, QUIET = 0.04, 4, 0.75, 0.01
"""The share of a rise that is steady: over so many values behind the best, so many of them above the one before, while
the others end within the last share of their best. Own judgement."""
ALIKE = 1.5
"""Times by which the two losses of a source differ at most where the held-out one is measured first."""
ONE_QUANTITY = 3.0
"""Times by which held-out losses of sources differ at most where they begin."""
_LOSS = frozenset(("loss", "losses", "nll", "ce", "xent", "lm", "cross", "entropy", "损失"))
_HELD = frozenset((
    "eval", "evaluation", "val", "valid", "validation", "test", "dev", "heldout", "held", "holdout",
    "验证", "测试", "评估",
))  # fmt: skip
_SPLIT = _HELD | {"train", "training", "trn", "out", "metrics", "by", "per", "source", "domain", "dataset", "训练"}
_PARTS, _HAN = re.compile(r"[\W_]+"), re.compile(r"(损失|训练|验证|测试|评估)")


class Rise(NamedTuple):
    """How a held-out loss ends: the place of its best value, the share by which the last ones lie above it, and whether
    it went up steadily from there."""

    best: int
    by: float
    steady: bool


class Held(NamedTuple):
    """The held-out loss of one source."""

    source: str
    held: Line
    rise: Rise


class Both(NamedTuple):
    """The two losses of one source."""

    source: str
    trained: Line
    held: Line
    fell: float
    """Share by which the training loss fell."""
    rise: Rise


def by_heart(lines: Sequence[Line], tables: Sequence[Table] = ()) -> Iterator[Finding]:
    """Sources of a mixture that are over-fitted, beside others that are not."""
    sides: dict[tuple[str, str], dict[bool, Line]] = {}
    for line in lines:
        if (source := _source(line)) and line.axis in ("step", "epoch"):
            sides.setdefault((source, line.attempt), {}).setdefault(_is_held(line), line.finite())
    pairs = [both for (source, _), two in sides.items() if len(two) == 2 and (both := _both(source, two))]
    told = [
        _told(both, calm, passes(both.source, lines, tables))
        for both in pairs
        if both.fell >= FALLS and (calm := _calm(both.rise, pairs)) is not None
    ]
    yield from told or _alone(sides, lines, tables)


def _alone(
    sides: Mapping[tuple[str, str], Mapping[bool, Line]], lines: Sequence[Line], tables: Sequence[Table]
) -> Iterator[Finding]:
    """The held-out loss of one source that rises where nothing else of it is logged, and all others go on falling."""
    held = [
        Held(source, two[True], _rise(two[True]))
        for (source, _), two in sides.items()
        if True in two and False not in two and len(two[True]) >= LEAST and two[True].values.min() > 0
    ]
    by_file = {(h.held.file, h.held.attempt): [o for o in held if o.held.file == h.held.file] for h in held}
    for some in by_file.values():
        firsts = [float(h.held.values[0]) for h in some]
        if max(firsts) > ONE_QUANTITY * min(firsts):
            continue  # counts, times and accuracies beside a loss
        up = [h for h in some if h.rise.steady and h.rise.best > 0]
        if len(up) == 1 and len(some) > 2 and all(h is up[0] or h.rise.by < QUIET for h in some):
            yield _told_alone(up[0], next(h for h in some if h is not up[0]), passes(up[0].source, lines, tables))


def _calm(rise: Rise, pairs: Sequence[Both]) -> Both | None:
    """Another source whose held-out loss stays, where this one's rises."""
    if rise.by >= RISES:
        return next((o for o in pairs if o.rise.by < STAYS), None)
    others = [o for o in pairs if o.rise.by < QUIET]
    return others[0] if rise.steady and others and 2 * len(others) >= len(pairs) else None


def _rise(held: Line) -> Rise:
    values, best = held.values, int(held.values.argmin())
    after = values[best:]
    by = float(values[-2:].min()) / float(values[best]) - 1
    noise = float(np.median(np.abs(np.diff(values, 2)))) if len(values) > 3 else 0.0
    upward = len(after) > AFTER and float((np.diff(after) > 0).mean()) >= UPWARD
    return Rise(best, by, by >= STEADILY and upward and after[-1] - after[0] > 3 * noise)


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
    return Both(source, trained, held, fell, _rise(held))


def _told(both: Both, other: Both, read: Passes | None) -> Finding:
    held, trained, best = both.held, both.trained, both.rise.best
    low, last = float(held.values[best]), float(held.values[-1])
    first, end = float(trained.values[0]), float(trained.values[-1])
    en = (
        f"{held.key} rises from its best {low:.4g} at {held.where(best)} to {last:.4g} while {trained.key} falls "
        f"from {first:.4g} to {end:.4g}: this source is learned by heart{read.say() if read else ''}. {other.held.key} "
        f"does not rise ({float(other.held.values[-1]):.4g})."
    )
    zh = (
        f"{held.key} 从最好的 {low:.4g}（{held.where(best)}）升到 {last:.4g}，而 {trained.key} 从 "
        f"{first:.4g} 降到 {end:.4g}：这个来源被背下来了{read.say('zh') if read else ''}。"
        f"{other.held.key} 没有上升（{float(other.held.values[-1]):.4g}）。"
    )
    evidence = (held.evidence(best), held.evidence(len(held) - 1), trained.evidence(len(trained) - 1))
    data = {"source": both.source, "best": low, "last": last, "trained_first": first, "trained_last": end}
    times = {"passes": read.times} if read else {}
    return Finding(CODE, Severity.S1, en, zh, (*evidence, *((read.place,) if read else ())), data | times)


def _told_alone(one: Held, other: Held, read: Passes | None) -> Finding:
    held, best = one.held, one.rise.best
    low, last = float(held.values[best]), float(held.values[-1])
    often, often_zh = (read.say(), read.say("zh")) if read else ("", "")
    return Finding(
        ALONE, Severity.S2,
        f"{held.key} rises from its best {low:.4g} at {held.where(best)} to {last:.4g}{often}, and it alone: "
        f"{other.held.key} ends at {float(other.held.values[-1]):.4g}, at its best or near it.",
        f"只有 {held.key} 从最好的 {low:.4g}（{held.where(best)}）升到 {last:.4g}{often_zh}；{other.held.key} 最后为 "
        f"{float(other.held.values[-1]):.4g}，处于或接近最好值。",
        (held.evidence(best), held.evidence(len(held) - 1), *((read.place,) if read else ())),
        {"best_step": int(held.x[best]), "baseline": low, "last": last, "source": one.source}
        | ({"passes": read.times} if read else {}),
    )  # fmt: skip
