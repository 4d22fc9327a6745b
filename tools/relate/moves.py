"""Which way every measure of a run goes: its changes, its level at both ends, and what it does around a place.

One `Move` for each line, computed once; what they say together is `onset`, what entries ask of them is `agent.signs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ..findings import Evidence, Finding, Severity
from .changes import LEAST_POINTS, Change, changes, in_blocks, middles, noise
from .line import Line

Way = Literal["rises", "falls", "flat", "unclear"]
TRENDED = 4.0
"""Deviations of Kendall's tau from which on a row has a trend."""
STILL = 0.05
"""Share of its level by which a flat row may move. Own judgement."""
NEAR = 30
"""Points on either side of a place that give the levels there."""
FAR, MOST_DRIFTS = 0.5, 8
"""Share of its level that a measure goes over the whole run to be told without a change, and how many are."""
FAR_OUT = 10.0
"""Deviations of a point by which both ends lie apart in any case."""
PLAIN = 1e13
"""Below it a level is written without a power of ten."""
MOST_TOLD = 30
"""Changes of measures that are findings of their own, the clearest first; all of them are in the summary."""


@dataclass(frozen=True)
class Move:
    """One line and what it does; `line` holds its finite points."""

    line: Line
    changes: tuple[Change, ...]
    nonfinite: Evidence | None = None
    """The first point that is no number."""

    @cached_property
    def lasting(self) -> tuple[Change, ...]:
        return tuple(c for c in self.changes if c.kind != "needle")

    @cached_property
    def sigma(self) -> float:
        return noise(self.line.values)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Levels of the first and the last tenth."""
        if not len(self.line):
            return float("nan"), float("nan")
        k = max(3, len(self.line) // 10)
        return float(np.median(self.line.values[:k])), float(np.median(self.line.values[-k:]))

    @cached_property
    def scale(self) -> float:
        """What its size is judged against: its usual level, or its spread where it lies around zero."""
        values = self.line.values
        if not len(values):
            return 1.0
        return float(max(np.median(np.abs(values)), np.percentile(values, 90) - np.percentile(values, 10))) or 1.0

    @cached_property
    def way(self) -> Way:
        """Over the whole run."""
        if len(self.line) < LEAST_POINTS:
            return "unclear"
        first, last = self.ends
        moved = last - first
        blocks, _ = in_blocks(self.line.values, 40)
        if self.lasting and abs(moved) > STILL * self.scale:
            return "rises" if moved > 0 else "falls"
        trend = kendall(blocks)
        if abs(trend) >= TRENDED and trend * moved > 0 and abs(moved) > max(0.02 * self.scale, 2 * noise(blocks)):
            return "rises" if moved > 0 else "falls"
        if abs(moved) > FAR * self.scale and abs(moved) > FAR_OUT * self.sigma:  # a growth has no one place
            return "rises" if moved > 0 else "falls"
        still = abs(moved) <= STILL * self.scale or abs(moved) <= noise(blocks)
        return "flat" if still and not self.lasting else "unclear"

    def share(self, change: Change) -> float:
        """Size of a change against the level before it."""
        level = abs(change.before) if abs(change.before) > 0.05 * self.scale else self.scale
        return abs(change.after - change.before) / level

    def span(self, change: Change) -> tuple[float, float]:
        """The interval of a change on the way: from the last place that was surely before it."""
        x = self.line.x
        return float(x[change.low]), float(x[min(change.high, len(x) - 1)])

    def still(self, low: float, high: float) -> bool:
        """Whether it has points on both sides of low..high and stays where it was."""
        x, values = self.line.x, self.line.values
        before, after = values[x < low][-NEAR:], values[x > high][:NEAR]
        if min(len(before), len(after)) < 3:
            return False
        moved = abs(float(np.median(after) - np.median(before)))
        chance = 3 * 1.25 * self.sigma * np.sqrt(1 / len(before) + 1 / len(after))
        return moved <= max(chance, 0.02 * self.scale) or moved <= STILL / 2 * self.scale


def moves(lines: Iterable[Line]) -> tuple[Move, ...]:
    """The moves of all lines that are long enough to say anything."""
    return tuple(_move(line) for line in lines if np.isfinite(line.values).sum() >= LEAST_POINTS)


def _move(line: Line) -> Move:
    finite = line.finite()
    bad = np.flatnonzero(~np.isfinite(line.values))
    first = line.evidence(int(bad[0])) if len(bad) else None
    return Move(finite, changes(finite.values), first)


def kendall(values: np.ndarray) -> float:
    """z of Kendall's tau against time."""
    n = len(values)
    if n < 4:
        return 0.0
    s = float(np.sign(values[None, :] - values[:, None])[np.triu_indices(n, 1)].sum())
    return (s - np.sign(s)) / np.sqrt(n * (n - 1) * (2 * n + 5) / 18)


def told(found: Sequence[Move]) -> list[Finding]:
    """What changed, one finding for each measure, the clearest first."""
    best = [(max(m.lasting, key=lambda c: c.strength), m) for m in found if m.lasting]
    ranked = sorted(best, key=lambda pair: -pair[0].strength)
    seen: set[str] = set()
    out: list[Finding] = []
    ranked += [(_whole(m), m) for m in found if not m.lasting and _drifts(m)][:MOST_DRIFTS]
    for change, move in ranked:
        if move.line.said not in seen and len(out) < MOST_TOLD and not _as_planned(move, change):
            seen.add(move.line.said)
            out.append(_finding(move, change))
    return out


def _as_planned(move: Move, change: Change) -> bool:
    """Whether a drift is that of a learning rate, which its schedule makes, or is not there between the level where it
    sets in and that of the end: a measure that first goes one way and then the other has a peak and no drift."""
    if change.kind != "drift":
        return False
    before, after = _seen(move, change)
    return move.line.name == "learning_rate" or (after - before) * (1 if change.up else -1) <= 0


def _drifts(move: Move) -> bool:
    """Whether a measure goes far over the whole run, and not the way that is good."""
    first, last = move.ends
    far = abs(last - first) > FAR * move.scale and abs(last - first) > 4 * move.sigma
    good = move.line.better * (last - first) > 0 or move.line.name in ("learning_rate", "epoch")
    return far and move.way in ("rises", "falls") and not good and not _counter(move.line.values)


def _counter(values: np.ndarray) -> bool:
    """Whether it only counts on."""
    grown = np.diff(values)
    return bool(len(grown) and (grown >= 0).all() and np.ptp(grown) <= 0.5 * float(np.abs(grown).mean()))


def _whole(move: Move) -> Change:
    """The way of a whole line as one drift from its beginning."""
    first, last = move.ends
    return Change("drift", 0, 0, max(0, len(move.line) // 10), first, last, move.sigma, 0.0)


VERBS = {True: ("rises", "上升"), False: ("falls", "下降")}


def level(value: float) -> str:
    """Four digits, and a whole number in all of its digits; without a power of ten where people would write none."""
    whole = float(value).is_integer() or abs(value) >= 1e4
    return f"{value:.0f}" if whole and abs(value) < PLAIN else f"{value:.4g}"


def described(move: Move, change: Change) -> tuple[str, str]:
    """`data_time rises from 0.04 to 0.76`, in both languages."""
    en, zh = VERBS[change.up]
    levels = [level(v) for v in _seen(move, change)]
    said = move.line.said
    return f"{said} {en} from {levels[0]} to {levels[1]}", f"{said} 从 {levels[0]} {zh}到 {levels[1]}"


def _seen(move: Move, change: Change) -> tuple[float, float]:
    """Levels before and after a change that were measured; of a drift, which is fitted as a straight line, those of the
    points around the place where it sets in and of the end."""
    values = move.line.values
    low, high = float(values.min()), float(values.max())
    before, after = (min(max(v, low), high) for v in (change.before, change.after))
    if change.kind == "drift":
        there, last = float(np.median(values[max(0, change.i - 2) : change.i + 3])), move.ends[1]
        way = 1 if change.up else -1
        before = there if len(values) and (last - there) * way > 0 else before
        after = last if (last - before) * way > 0 else after
    return before, after


def _finding(move: Move, change: Change) -> Finding:
    low, high = move.span(change)
    en, zh = described(move, change)
    at = move.line.where(change.i)
    within = f" (between {low:.10g} and {high:.10g})" if high > low else ""
    data = {**facts(move, change), "known": move.line.known}
    within_zh = within.replace("between", "区间").replace(" and ", " - ")
    said = f"{en} at {at}{within}, in one step", f"{zh}，位置 {at}{within_zh}"
    if change.kind == "drift":
        said = f"{en}, in a drift from {at}{within} on", f"{zh}，自 {at}{within_zh} 起逐渐变化"
    places = shown(move, change)
    if change.kind == "drift" and change.i == change.low == 0:  # it goes all along, and its first place says nothing
        half = _half(move.line.values, change)
        there = move.line.where(half)
        said = f"{en} along the way, half of it by {there}", f"{zh}，贯穿全程，到 {there} 已过半"
        places = move.line.evidence(half), move.line.evidence(0)
    return Finding(
        "metric-changed",
        Severity.S3,
        f"{said[0]}; noise of a point {change.sigma:.2g}.",
        f"{said[1]}；单点噪声 {change.sigma:.2g}。",
        places,
        data,
    )


def _half(values: np.ndarray, change: Change) -> int:
    """The row from which on it lies beyond the middle of its two levels, to its end."""
    beyond = (middles(values) - (change.before + change.after) / 2) * (1 if change.up else -1) > 0
    short = np.flatnonzero(~beyond)
    return min(int(short[-1]) + 1 if len(short) else 0, len(values) - 1)


def shown(move: Move, change: Change) -> tuple[Evidence, ...]:
    """The first point that is different, and the last before it."""
    return move.line.evidence(change.i), move.line.evidence(max(0, change.i - 1))


def facts(move: Move, change: Change) -> dict[str, object]:
    """The numbers of a change."""
    low, high = move.span(change)
    return {
        "metric": move.line.name, "key": move.line.key, "group": move.line.group, "kind": change.kind,
        "way": "rises" if change.up else "falls", "at": float(move.line.x[change.i]), "axis": move.line.axis,
        "interval": [low, high], "before": change.before, "after": change.after, "noise": change.sigma,
        "strength": change.strength,
    }  # fmt: skip
