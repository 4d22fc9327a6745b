"""Learning rates that start over in the middle of a run: by a fall at one place and a climb beyond what was before, or
out of the floor of their decay to where a longer schedule stands; rates that jump back and follow the beginning of
their own course once more; and rates that are raised at one place, which no schedule does behind its warm-up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Finding, Severity
from ..line import Line

LEAST = 8
DROP, BEYOND = 0.5, 1.1
"""Share of the level to which the rate falls at once at most, and times the level before that it climbs to."""
CLIMB = 3
"""Points of the climb at least."""
RAISED = 1.5
"""Times the level before that a rate is raised to from one point to the next."""


def _rates(lines: Sequence[Line], least: int) -> Iterator[Line]:
    """The learning rates by step, whole and of at least so many points."""
    rates = (x for x in lines if x.name == "learning_rate" and x.axis == "step" and len(x) >= least)
    return (x for x in rates if np.isfinite(x.values).all())


def raised(lines: Sequence[Line]) -> Iterator[Finding]:
    """Where the learning rate jumps up at one place behind its warm-up, beyond all before, and stays there."""
    for line in _rates(lines, 4 * LEAST):
        v = line.values
        for i in np.flatnonzero((v[1:] >= RAISED * v[:-1]) & (v[:-1] > 0)).tolist():
            before, after = v[i - LEAST + 1 : i + 1], v[i + 1 : i + 1 + LEAST]
            settled = i >= LEAST and (np.diff(before) <= 0).all() and len(after) == LEAST
            settled = settled and v[i + 1] >= BEYOND * v[: i + 1].max()
            if settled and float(after.min()) >= RAISED * 0.8 * v[i] and after[-1] <= 1.2 * after[0]:
                yield _raised(line, i)
                return


def _raised(line: Line, i: int) -> Finding:
    before, after = float(line.values[i]), float(line.values[i + 1])
    return Finding(
        "lr-raised", Severity.S3,
        f"{line.key} goes from {before:.3g} to {after:.3g} at {line.where(i + 1)}, {after / before:.3g} times as much.",
        f"{line.key} 在{line.where(i + 1)}从 {before:.3g} 升到 {after:.3g}，是原来的 {after / before:.3g} 倍。",
        (line.evidence(i + 1), line.evidence(i)), {"before": before, "after": after, "at": float(line.x[i + 1])},
    )  # fmt: skip


def restarted(lines: Sequence[Line]) -> Iterator[Finding]:
    """Where the schedule of the learning rate begins again."""
    for line in _rates(lines, LEAST):
        values = line.values
        for i in np.flatnonzero(values[1:] < DROP * values[:-1]).tolist():
            if i < CLIMB or values[i] > values[i - CLIMB]:
                continue
            before, rest = float(values[i]), values[i + 1 :]
            top = int(rest.argmax())
            if top >= CLIMB and rest[top] >= BEYOND * before and (np.diff(rest[: top + 1]) >= 0).all():
                yield _told(line, i, top)
                return


ALIKE, PARTLY, JUMPS, STEEP = 0.03, 0.1, 1.15, 0.3
"""How near a rate follows its own beginning; the share of its peak above which a decay was not over, so that no cycle
ended there; times the level before that it jumps to; part of the mean slope that the decay still has."""


def begun_again(lines: Sequence[Line]) -> Iterator[Finding]:
    """Where a rate jumps up out of the middle of its decay and follows the beginning of its course again: the scheduler
    was made anew, and counts from nought. The loss beside it says whether that did harm."""
    for line in _rates(lines, 4 * LEAST):
        v = line.values
        jumps = np.flatnonzero((v[1:] >= JUMPS * v[:-1]) & (v[:-1] > 0)) + 1
        jumps = [int(i) for i in jumps if i >= 2 * LEAST and v[i - LEAST : i].min() >= 0.5 * v[:i].max() * PARTLY]
        if len(jumps) != 1 or (np.diff(v[jumps[0] - LEAST : jumps[0]]) > 0).any():
            continue
        at = jumps[0]
        begun, again = v[: len(v) - at], v[at : at + min(at, len(v) - at)]
        begun = begun[: len(again)]
        falling = v[at - LEAST] - v[at - 1] >= STEEP * LEAST / at * (v[:at].max() - v[at - 1])  # no end of a cycle
        same = falling and len(again) >= LEAST and float(np.abs(again - begun).max()) <= ALIKE * float(begun.max())
        if same and v[at - 1] > PARTLY * v[:at].max() and again[0] > again[-1]:
            yield _anew(line, at, _rose(lines, line, at))
            return


def _rose(lines: Sequence[Line], rate: Line, at: int) -> tuple[Line, float, float] | None:
    """(loss, before, after) of a loss of the same file that is higher behind the place, by four times its spread."""
    for loss in lines:
        if loss.name != "loss" or loss.file != rate.file or len(loss) != len(rate) or loss.group:
            continue
        before, after = loss.values[max(0, at - 2 * LEAST) : at], loss.values[at : at + LEAST]
        level, now = float(np.median(before)), float(np.median(after))
        if len(after) == LEAST and now - level >= 4 * float(np.median(np.abs(before - level))) + 0.02 * abs(level):
            return loss, level, now
    return None


def _anew(line: Line, at: int, rose: tuple[Line, float, float] | None) -> Finding:
    before, after = float(line.values[at - 1]), float(line.values[at])
    a, b = (line.evidence(i).line for i in (at - 1, at))
    between = f" (lines {a + 1} to {b - 1} stand between)" if a and b and b - a > 1 else ""
    between_zh = f"（中间是第 {a + 1} 到 {b - 1} 行）" if a and b and b - a > 1 else ""
    en = f"; {rose[0].key} goes from {rose[1]:.4g} to {rose[2]:.4g} there" if rose else ""
    zh = f"；{rose[0].key} 在此从 {rose[1]:.4g} 变为 {rose[2]:.4g}" if rose else ""
    return Finding(
        "rate-off-since-restart" if rose else "lr-starts-over", Severity.S2,
        f"{line.key} jumps from {before:.3g} to {after:.3g} at {line.where(at)}{between} and follows its course from "
        f"the first step on once more{en}: the scheduler was made anew in the middle of the run.",
        f"{line.key} 在{line.where(at)}从 {before:.3g} 跳到 {after:.3g}{between_zh}，随后重走了从第一步开始的曲线{zh}："
        "调度器在中途被重新初始化。",
        (line.evidence(at), line.evidence(at - 1), *((rose[0].evidence(at),) if rose else ())),
        {"before": before, "low": before, "high": after, "at": float(line.x[at]), "step": float(line.x[at])},
    )  # fmt: skip


FLOOR, OUT = 0.03, 0.1
"""Shares of the highest rate so far: what a decay has come down to, and what a jump out of it reaches at least."""
CYCLE = 0.95
"""Share of the highest rate so far from which on a jump is the next cycle of a schedule that has them."""


def extended(lines: Sequence[Line]) -> Iterator[Finding]:
    """Where a rate that had decayed to its floor jumps to the middle of a longer schedule, as when a training is
    resumed with more steps than it was planned for. Cycles, which jump back to their top, are none."""
    for line in _rates(lines, 2 * LEAST):
        v = line.values
        top = np.maximum.accumulate(v)
        jumps = (v[:-1] <= FLOOR * top[:-1]) & (v[1:] >= OUT * top[:-1]) & (v[1:] <= CYCLE * top[:-1])
        for i in np.flatnonzero(jumps).tolist():
            fell, rest = np.diff(v[max(0, i - LEAST) : i + 1]), v[i + 1 : i + 1 + LEAST]
            if i >= LEAST and (fell <= 0).all() and len(rest) > CLIMB and (np.diff(rest) <= 0).all():
                yield _longer(line, i, int(jumps.sum()))
                return


def _longer(line: Line, i: int, times: int) -> Finding:
    before, after = float(line.values[i]), float(line.values[i + 1])
    return Finding(
        "lr-starts-over", Severity.S2,
        f"{line.key} had decayed to {before:.3g} at {line.where(i)} and is {after:.3g} at {line.where(i + 1)} "
        f"({times} such places): the schedule was made anew for a longer training.",
        f"{line.key} 在{line.where(i)}已降到 {before:.3g}，到{line.where(i + 1)}变为 {after:.3g}（共 {times} 处）："
        "调度按更长的训练重新生成。",
        (line.evidence(i), line.evidence(i + 1)),
        {"before": before, "low": before, "high": after, "at": float(line.x[i + 1]), "times": times},
    )  # fmt: skip


def _told(line: Line, i: int, top: int) -> Finding:
    before, low, high = (float(line.values[k]) for k in (i, i + 1, i + 1 + top))
    return Finding(
        "lr-starts-over", Severity.S1,
        f"{line.key} was {before:.3g} at {line.where(i)}, is {low:.3g} at {line.where(i + 1)} and climbs to {high:.3g} "
        f"at {line.where(i + 1 + top)}: the schedule began again in the middle of the run.",
        f"{line.key} 在{line.where(i)}为 {before:.3g}，到{line.where(i + 1)}变为 {low:.3g}，又升到 {high:.3g}"
        f"（{line.where(i + 1 + top)}）：学习率调度在中途重新开始。",
        (line.evidence(i), line.evidence(i + 1), line.evidence(i + 1 + top)),
        {"before": before, "low": low, "high": high, "at": float(line.x[i + 1])},
    )  # fmt: skip
