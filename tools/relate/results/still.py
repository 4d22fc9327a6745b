"""Several short runs of reinforcement learning, none of which raises its reward or its rate of wins.

One of them is too short to tell; together they have as many gains as losses, and what they gain on the mean is noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from ...findings import Finding, Severity
from ...patterns import bounded
from ..line import Line, plain

RUNS, POINTS, TOGETHER = 3, 3, 15
"""Runs, points of each, and points of all from which on it is told. Own judgement."""
GAIN, TOP = 2.0, 0.9
"""Standard errors of the mean gain above which some are raised, and the level from which on there is nothing to raise."""
REWARDED = bounded(r"reward|win_?rate|success_?rate|(?:^|_)returns?(?:_|$)|奖励|胜率|成功率")


def never_raised(lines: Sequence[Line]) -> list[Finding]:
    """The measure of which most points were logged."""
    runs: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        if not line.group and (line.name in ("reward", "eval_reward") or REWARDED.search(plain(line.key))):
            runs.setdefault((line.file, line.key), []).append(line.finite())
    told = [f for some in runs.values() if (f := _told([x for r in some for x in _pieces(r)])) is not None]
    return sorted(told, key=lambda f: -f.data["points"])[:1]


def _pieces(line: Line) -> list[Line]:
    """The parts of a line in which it goes on without beginning anew."""
    return [line]


def _told(runs: list[Line]) -> Finding | None:
    runs = [r for r in runs if len(r) >= POINTS]
    total = sum(map(len, runs))
    if len(runs) < RUNS or total < TOGETHER:
        return None
    values = np.concatenate([r.values for r in runs])
    gains = [float(r.values[len(r) // 2 :].mean() - r.values[: len(r) // 2 or 1].mean()) for r in runs]
    spread = float(np.median([r.values.std(ddof=1) for r in runs]))
    error = max(float(np.std(gains, ddof=1)), spread) / sqrt(len(gains))
    mean = float(np.mean(gains))
    if error <= 0 or mean > GAIN * error or (values.max() <= 1 and float(np.median(values)) >= TOP):
        return None
    longest = max(runs, key=len)
    first, last = float(longest.values[0]), float(longest.values[-1])
    return Finding(
        "reward-flat", Severity.S2,
        f"None of {len(runs)} short runs in {longest.file} raises {longest.key}: the mean gain from the first half to the "
        f"second is {mean:+.3g} (standard error {error:.2g}, {total} points); the longest goes from {first:.3g} to "
        f"{last:.3g} in {len(longest)}.",
        f"{longest.file} 里的 {len(runs)} 次短训练都没有提高 {longest.key}：后半段比前半段平均变化 {mean:+.3g}（标准误 "
        f"{error:.2g}，共 {total} 个点）；最长的一次 {len(longest)} 个点从 {first:.3g} 到 {last:.3g}。",
        (longest.evidence(0), longest.evidence(len(longest) - 1)),
        {"runs": len(runs), "points": total, "gain": mean, "standard_error": error},
    )  # fmt: skip
