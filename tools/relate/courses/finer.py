"""A loss that looks restless since its log writes more often: each line was a mean of many steps, and is one step now.

The spread of a mean of n steps is that of a step over the root of n. Averaged over as many steps as before, the loss
goes on where it was, on its way down, and is as smooth as before: nothing but the printing changed.
"""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Finding, Severity
from ..line import Line
from .clipped import is_rl
from .read import Course, noise

LEAST, TIMES = 20, 4.0
"""Points on either side, in means of the old width behind it, and how many times as often it writes."""
WIDER, SMOOTH, NEAR = 1.5, 3.0, 6.0
"""Times that a point is noisier now at least; that the means may be noisier than before, and spreads of a mean that they
lie off at the joint, at most. Ours."""


def finer(found: Sequence[Course]) -> Iterator[Finding]:
    """The loss that is as it was, seen through a finer log."""
    for course in found:
        line = course.loss
        if line is None or line.axis != "step" or is_rl(course) or (at := _joint(line)) is None:
            continue
        if (means := _means(line, at)) is not None:
            yield _told(line, at, means)
            return


def _joint(line: Line) -> int | None:
    """The first point behind the place from which on the steps between two points are several times fewer."""
    width = np.diff(line.x)
    if len(width) < 2 * LEAST or (width <= 0).any():
        return None
    first, last = float(np.median(width[:LEAST])), float(np.median(width[-LEAST:]))
    fine = np.flatnonzero(width <= last * 1.5)
    if first < TIMES * last or not len(fine):
        return None
    at = int(fine[0])
    whole = at >= LEAST and np.allclose(np.median(width[:at]), first) and np.allclose(np.median(width[at:]), last)
    return at + 1 if whole else None


def _means(line: Line, at: int) -> np.ndarray | None:
    """Means of the later points over as many steps as an earlier one stood for; None where anything else changed."""
    width = float(np.median(np.diff(line.x)[: at - 1]))
    before, after = line.values[:at], line.values[at:]
    n = max(2, round(width / float(np.median(np.diff(line.x)[at:]))))
    if not np.isfinite(line.values).all() or len(after) < LEAST // 2 * n:
        return None
    means = after[: len(after) // n * n].reshape(-1, n).mean(axis=1)
    spread = noise(before[-4 * LEAST :])
    wider = noise(after) >= WIDER * spread
    smooth = noise(means) <= SMOOTH * spread
    joined = abs(float(np.median(means[:5]) - np.median(before[-5:]))) <= NEAR * max(spread, 1e-9)
    k = max(2, len(means) // 5)
    falls = float(np.median(means[-k:])) <= float(np.median(means[:k]))
    half = len(after) // 2
    steady = noise(after[half:]) <= 1.3 * noise(after[:half])
    return means if wider and smooth and joined and falls and steady else None


def _told(line: Line, at: int, means: np.ndarray) -> Finding:
    width = np.diff(line.x)
    was, now = float(np.median(width[: at - 1])), float(np.median(width[at:]))
    one, many, before = noise(line.values[at:]), noise(means), noise(line.values[:at][-4 * LEAST :])
    return Finding(
        "loss-printed-finer", Severity.S3,
        f"{line.said} is written every {now:g} steps from {line.where(at)} on, every {was:g} before: a line was a mean "
        f"of them, and is off by {one:.2g} now where it was by {before:.2g}. Averaged over {was:g} steps again it falls "
        f"on from {means[0]:.4g} to {means[-1]:.4g} and is as smooth as before ({many:.2g}): only the printing changed.",
        f"{line.said} 从 {line.where(at)} 起每 {now:g} 步打印一次，之前每 {was:g} 步一次：原来一行是多步的平均，现在是单步，"
        f"所以单点波动从 {before:.2g} 变成 {one:.2g}。按 {was:g} 步再平均，loss 仍从 {means[0]:.4g} 降到 {means[-1]:.4g}，"
        f"与之前一样平滑（{many:.2g}）：变的只是打印方式。",
        (line.evidence(at), line.evidence(at - 1), line.evidence(-1)),
        {"value": float(means[-1]), "was": was, "now": now, "noise": one, "smoothed": many},
    )  # fmt: skip
