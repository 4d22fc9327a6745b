"""A loss that turns up where its short warm-up ends, beside a run that took the same peak over a far longer one.

Within the ramp the gradient norm already climbs; the loss is lowest about its end and higher ever after. That the peak
itself is fine is shown by the other run, which reaches the same one and goes on falling.
"""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np

from ...findings import Finding, Severity
from ..line import Line
from .clipped import is_rl
from .read import Course

LEAST, LONGER, SAME = 10, 4.0, 0.03
"""Points of the ramp, times that the other one is longer, and share by which the two peaks differ at most."""
CLIMBS, TURNS, BELOW = 2.5, 1.02, 0.9
"""Times that the norm climbs about the ramp's end, times its lowest that the loss is behind it, and share of the own
loss below which the other's lies at the last common step. Own judgement."""


class Ramp(NamedTuple):
    """A learning rate's way up: the step at which it arrives, its peak, and the point."""

    end: float
    peak: float
    at: int


def ramped(found: Sequence[Course]) -> Iterator[Finding]:
    """The first loss that turned at the end of a ramp far shorter than another's."""
    some = [c for c in found if c.loss is not None and c.rate is not None and c.loss.axis == "step" and not is_rl(c)]
    for one, other in permutations(some, 2):
        mine, theirs = _ramp(one.rate), _ramp(other.rate)
        if mine is None or theirs is None or one.file == other.file or theirs.end < LONGER * mine.end:
            continue
        if abs(mine.peak / theirs.peak - 1) <= SAME and (climb := _climbs(one.norm, mine)) and _turns(one, other, mine):
            yield _told(one, other, mine, theirs, climb)
            return


def _ramp(rate: Line | None) -> Ramp | None:
    if rate is None or rate.axis != "step" or len(rate) < LEAST or not (peak := float(rate.values.max())) > 0:
        return None
    at = int((rate.values >= 0.99 * peak).argmax())
    way = rate.values[: at + 1]
    rises = at > 1 and way[0] < 0.5 * peak and (np.diff(way) >= -1e-3 * peak).all()
    return Ramp(float(rate.x[at]), peak, at) if rises else None


def _within(line: Line, low: float, high: float) -> np.ndarray:
    return line.values[(line.x >= low) & (line.x <= high)]


def _climbs(norm: Line | None, ramp: Ramp) -> float:
    """Times that the norm is higher about the end of the ramp than in its middle; 0 where it does not climb."""
    if norm is None:
        return 0.0
    middle, about = _within(norm, 0.3 * ramp.end, 0.7 * ramp.end), _within(norm, 0.85 * ramp.end, 1.6 * ramp.end)
    if min(len(middle), len(about)) < 5 or not np.median(middle) > 0:
        return 0.0
    times = float(np.percentile(about, 75) / np.median(middle))
    return times if times >= CLIMBS else 0.0


def _turns(one: Course, other: Course, ramp: Ramp) -> bool:
    """Whether the loss is lowest about the ramp's end and higher from then on, where the other's is far below."""
    loss, better = one.loss, other.loss
    if loss is None or better is None:
        return False
    about, behind = _within(loss, 0.6 * ramp.end, 1.4 * ramp.end), _within(loss, 1.5 * ramp.end, 4 * ramp.end)
    end = min(loss.x[-1], better.x[-1])
    if min(len(about), len(behind)) < 5 or end < 4 * ramp.end:
        return False
    lowest, later = float(np.percentile(about, 10)), float(np.median(behind))
    mine, theirs = (float(np.median(_within(x, 0.9 * end, end))) for x in (loss, better))
    return later >= TURNS * lowest and theirs < BELOW * mine


def _told(one: Course, other: Course, mine: Ramp, theirs: Ramp, climb: float) -> Finding:
    rate, loss, norm = one.rate, one.loss, one.norm
    theirs_rate = other.rate
    if rate is None or loss is None or norm is None or theirs_rate is None:
        raise ValueError("a course that was chosen for them has rate, loss and norm")
    near = int(np.searchsorted(norm.x, mine.end))
    place = min(int(np.searchsorted(loss.x, mine.end)), len(loss) - 1)
    return Finding(
        "turned-at-end-of-ramp", Severity.S1,
        f"The learning rate of {one.file} reaches {mine.peak:.3g} at step {mine.end:g}, that of {other.file} the same peak at "
        f"step {theirs.end:g}. At the end of the short ramp the gradient norm is {climb:.1f} times what it was in its middle and "
        f"the loss turns up for good; the run with the long ramp goes on falling at the same peak: the ramp is too short, not the peak too high.",
        f"{one.file} 的学习率在第 {mine.end:g} 步就到达 {mine.peak:.3g}，{other.file} 到第 {theirs.end:g} 步才到达同样的峰值。短 warmup 结束处"
        f"梯度范数是其中段的 {climb:.1f} 倍，loss 从那里转升且不再回来；同一峰值、warmup 长的那次一直下降：是 warmup 太短，不是峰值太高。",
        (loss.evidence(place), norm.evidence(min(near, len(norm) - 1)), rate.evidence(mine.at), theirs_rate.evidence(theirs.at)),
        {"ramp": mine.end, "other": theirs.end, "peak": mine.peak, "climb": climb,
         "variable": "warmup_steps", "fix": {"new": f"{theirs.end:.0f}"}},
    )  # fmt: skip
