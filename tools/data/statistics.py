"""Rank correlation, agreement between annotators, and intervals for shares: small, exact, numpy only."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Level = Literal["nominal", "ordinal", "interval", "ratio"]
Floats = NDArray[np.float64]


def ranks(values: Floats) -> Floats:
    """Ranks from 1; equal values share their mean rank."""
    order = np.argsort(values, kind="stable")
    _, first, counts = np.unique(values[order], return_index=True, return_counts=True)
    out = np.empty(len(values))
    out[order] = np.repeat(first + (counts + 1) / 2, counts)
    return out


FEWEST, COARSE = 4, 40
"""Shares from which on it can be told of how few items they are, and the most items that are told."""


def items_of(shares: Floats) -> int:
    """Of how few items these shares all are, each a whole number of them; 0 where they are of more, or cannot tell.

    Args:
        shares: in [0, 1] or percent. Whole percents are what a person rounds to, and tell nothing.
    """
    some = np.unique(shares[np.isfinite(shares)])
    scale = 100.0 if len(some) and some.max() > 1 else 1.0
    some = some / scale
    rounded = np.isclose(some * 100, np.round(some * 100), atol=1e-6)
    if len(shares) < FEWEST or not len(some) or some.min() < 0 or some.max() > 1 or rounded.all():
        return 0
    whole = (n for n in range(2, COARSE + 1) if (np.abs(some * n - np.round(some * n)) <= 5e-4 * n).all())
    return next(whole, 0)


def spearman(x: Floats, y: Floats) -> float:
    """Spearman's rank correlation; not a number when either side is constant."""
    return _pearson(ranks(x), ranks(y))


def _pearson(x: Floats, y: Floats) -> float:
    dx, dy = x - x.mean(), y - y.mean()
    scale = math.sqrt(float(dx @ dx) * float(dy @ dy))
    return float(dx @ dy) / scale if scale > 1e-12 else math.nan


def spearman_within(x: Floats, y: Floats, groups: Sequence[Hashable]) -> tuple[float, int]:
    """(correlation of ranks taken and centred within each group, number of points used).

    Only groups of two or more points count: what differs between prompts says nothing about length as such.
    """
    rows: dict[Hashable, list[int]] = {}
    for i, group in enumerate(groups):
        rows.setdefault(group, []).append(i)
    xs, ys = [], []
    for members in rows.values():
        if len(members) > 1:
            a, b = ranks(x[members]), ranks(y[members])
            xs.append(a - a.mean())
            ys.append(b - b.mean())
    if not xs:
        return math.nan, 0
    joined = np.concatenate(xs), np.concatenate(ys)
    return _pearson(*joined), len(joined[0])


def correlation_interval(rho: float, points: int) -> tuple[float, float]:
    """95 percent interval of a rank correlation (Fisher's z with Bonett and Wright's variance)."""
    if points < 4 or not math.isfinite(rho):
        return -1.0, 1.0
    z, width = math.atanh(min(max(rho, -0.999999), 0.999999)), 1.96 * math.sqrt((1 + rho * rho / 2) / (points - 3))
    return math.tanh(z - width), math.tanh(z + width)


def wilson(count: int, total: int) -> tuple[float, float]:
    """95 percent interval of a share (Wilson's score interval)."""
    if not total:
        return 0.0, 1.0
    z, p = 1.96, count / total
    middle = (p + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(p * (1 - p) / total + z * z / (4 * total * total))
    return max(0.0, middle - half), min(1.0, middle + half)


def krippendorff(units: Sequence[Sequence[Hashable]], level: Level) -> float:
    """Krippendorff's alpha (2011) of the labels given to each unit.

    Args:
        units: the labels of each unit, missing ones left out; units with fewer than two labels do not count.
        level: of measurement; all but nominal need numbers.

    Returns:
        1 for perfect agreement, 0 for chance; not a number when nothing varies or nothing can be paired.
    """
    paired = [u for u in units if len(u) > 1]
    values = sorted({v for u in paired for v in u}, key=lambda v: (str(type(v)), v))
    if len(values) < 2:
        return math.nan
    row = {v: i for i, v in enumerate(values)}
    coincidence = np.zeros((len(values), len(values)))
    for unit in paired:
        counts = np.zeros(len(values))
        for value in unit:
            counts[row[value]] += 1
        coincidence += (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
    totals = coincidence.sum(axis=1)
    distance = _distances(values, totals, level)
    observed = float((coincidence * distance).sum())
    expected = float((np.outer(totals, totals) * distance).sum()) / (totals.sum() - 1)
    return 1 - observed / expected if expected else math.nan


def _distances(values: Sequence[Hashable], totals: Floats, level: Level) -> Floats:
    if level == "nominal":
        return 1.0 - np.eye(len(values))
    if level == "ordinal":
        middle = np.cumsum(totals) - totals / 2
        return (middle[:, None] - middle[None, :]) ** 2
    numbers = np.array([float(v) for v in values])  # type: ignore[arg-type]
    difference = numbers[:, None] - numbers[None, :]
    if level == "interval":
        return difference**2
    total = numbers[:, None] + numbers[None, :]
    return np.where(total == 0, 0.0, difference / np.where(total == 0, 1.0, total)) ** 2
