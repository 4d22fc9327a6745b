"""What is asked of one series: its finite or settled points, and robust statistics of its values.

Levels, noise, trends and onsets know no metric and no run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...series import Series

LONG, CLIMBS = 10, 0.25
"""Points above the band, and the share of the way up that the first of them stand at, by which something climbs."""
WARMUP_STEPS = 20
"""Steps in which transients are tolerated. Source: field notes, "early transients up to 36 in the first 20 steps"."""

RUNNING, FIRST = 5, 30
"""Points from which on shares of ever more items are no accident, and of how many the first is at most. Own
judgement."""
WINDOW = 50
"""Points of history that form a rolling baseline. Own judgement."""


def distinct(series: Series) -> Series:
    """The series without repeats of the step before (pollers print one line many times)."""
    before, after = series.values[:-1], series.values[1:]
    same = (before == after) | (~np.isfinite(before) & ~np.isfinite(after))
    keep = np.concatenate([[True], (np.diff(series.steps) != 0) | ~same])
    return series if keep.all() else subset(series, keep)


def running_share(values: np.ndarray, at: np.ndarray | None = None) -> bool:
    """Whether each value is the share of the first so many items that are right, so far: it settles as items come, and
    falls from whatever the first few gave.

    Args:
        values: (n,) in [0, 1] or percent, rounded to three digits or more.
        at: (n,) how many items each is of, or how many of them are right; where neither fits, one more for each.
    """
    if len(values) < RUNNING or not np.isfinite(values).all() or values.min() < 0:
        return False
    share = values / (100.0 if values.max() > 1 else 1.0)
    counts = [np.arange(1, len(share) + 1)]
    if at is not None:
        counts += [at, np.round(at / np.maximum(share, 1e-9))]
    return any(_shares_of(share, n) for n in counts)


def _shares_of(share: np.ndarray, n: np.ndarray) -> bool:
    right = share * n
    off, new = np.abs(right - np.round(right)) <= np.minimum(6e-4 * n + 1e-9, 0.2), np.diff(np.round(right))
    return bool(1 <= n[0] <= FIRST and off.all() and (new >= 0).all() and (new <= np.diff(n)).all())


def subset(series: Series, keep: np.ndarray) -> Series:
    if keep.dtype == bool and keep.all():
        return series
    return replace(series, steps=series.steps[keep], values=series.values[keep], lines=series.lines[keep])


def finite(series: Series) -> Series:
    """Only the finite points."""
    return subset(series, np.isfinite(series.values))


def settled(series: Series) -> Series:
    """The finite points after warm-up transients (see `WARMUP_STEPS`)."""
    return subset(series, np.isfinite(series.values) & (series.steps > WARMUP_STEPS))


def sigma(values: np.ndarray) -> float:
    """Standard deviation estimated from the median absolute deviation."""
    if len(values) < 2:
        return 0.0
    return float(1.4826 * np.median(np.abs(values - np.median(values))))


def noise(values: np.ndarray) -> float:
    """Step-to-step noise, insensitive to a trend: the spread of first differences over sqrt(2)."""
    if len(values) < 3:
        return 0.0
    return float(1.4826 * np.median(np.abs(np.diff(values))) / np.sqrt(2))


def head_tail(values: np.ndarray, share: float = 0.1, least: int = 3) -> tuple[float, float]:
    """Medians of the first and the last `share` of the values (at least `least` points each)."""
    k = min(len(values), max(least, int(len(values) * share)))
    return float(np.median(values[:k])), float(np.median(values[-k:]))


def start_end(values: np.ndarray) -> tuple[float, float]:
    """Medians of the first five values (a quarter of a short series) and of the last tenth.

    A collapse early in a long run is missed when the start is taken as a share of the run.
    """
    k = min(5, max(1, len(values) // 4))
    return float(np.median(values[:k])), head_tail(values)[1]


def means(values: np.ndarray, width: int) -> np.ndarray:
    """Mean of every stretch of `width` values, (n - width + 1,), in linear time."""
    middle = values.mean()
    sums = np.cumsum(np.concatenate([[0.0], values - middle]))
    return middle + (sums[width:] - sums[:-width]) / width


def rolling(values: np.ndarray, window: int = WINDOW, most: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    """Median and robust sigma of up to `window` values before each point, both (n,), nan at the first.

    Past `most` points the baseline is computed at every n-th point and held in between.
    """
    n = len(values)
    stride = max(1, n // most) if n > window else 1
    before = np.concatenate((np.full(window, np.inf), values))  # what is not there sorts behind every value
    views = np.lib.stride_tricks.sliding_window_view(before, window)
    at = np.concatenate((np.arange(1, min(n, window)), np.arange(window, n, stride)))
    middle = _middles(views[at], at)
    spread = 1.4826 * _middles(np.abs(views[at] - middle[:, None]), at)
    points = np.arange(1, n)
    held = np.where(points < window, points, window + (points - window) // stride) - 1
    medians, sigmas = np.full(n, np.nan), np.full(n, np.nan)
    medians[1:], sigmas[1:] = middle[held], spread[held]
    return medians, sigmas


def _middles(rows: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The median of the `known` smallest of each row; sorted, which takes a tenth of the time of `np.median`."""
    rows, known = np.sort(rows, axis=1), np.minimum(known, rows.shape[1])
    here = np.arange(len(rows))
    return (rows[here, (known - 1) // 2] + rows[here, known // 2]) / 2


def blocks(values: np.ndarray, most: int = 200) -> np.ndarray:
    """At most `most` block medians of the values."""
    if len(values) <= most:
        return values
    size, longer = divmod(len(values), most)
    parts = np.split(values, [longer * (size + 1)])
    return np.concatenate(
        [np.median(part.reshape(-1, n), axis=1) for part, n in zip(parts, (size + 1, size), strict=True) if len(part)]
    )


def mann_kendall(values: np.ndarray) -> tuple[float, float]:
    """Kendall's tau of the values against time, and its z score (normal approximation, no tie correction)."""
    x = blocks(values)
    n = len(x)
    if n < 4:
        return 0.0, 0.0
    s = float(np.sign(x[None, :] - x[:, None])[np.triu_indices(n, 1)].sum())
    z = (s - np.sign(s)) / np.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    return s / (n * (n - 1) / 2), float(z)


LIST = 0.6
"""Mean square of the steps between neighbours over that of chance, from which on values are no curve. Own judgement."""


def is_list(series: Series) -> bool:
    """Whether what a log says without a step is of one thing after the other, and no way: each value is as far in
    rank from the one before as from any other. What changes its level for good does not."""
    ranks = finite(series).values.argsort(kind="stable").argsort().astype(float)
    chance = 2 * float(np.var(ranks)) if len(ranks) > 2 else 0.0
    return series.step_is == "line" and chance > 0 and float(np.mean(np.diff(ranks) ** 2)) >= LIST * chance


def onset(outside: np.ndarray) -> int | None:
    """Index from which every later point is outside the healthy band, None when the last one is inside."""
    if not len(outside) or not outside[-1]:
        return None
    inside = np.flatnonzero(~outside)
    return int(inside[-1]) + 1 if len(inside) else 0


FEW = 500
"""Points among which one single outlier is rare: runs that end well have some in tens of thousands. Own judgement."""


def often(hits: np.ndarray, points: int) -> bool:
    """Whether outliers are more than a few: three and more than one in `FEW` points, or three points in a row."""
    in_a_row = len(hits) > 2 and bool((hits[2:] - hits[:-2] == 2).any())
    return in_a_row or len(hits) >= max(3, points // FEW)


@dataclass(frozen=True)
class Jump:
    """A stretch of points above the band of the history before it."""

    start: int
    """Index of the first point outside the band."""
    peak: int
    stop: int
    """Index of the first point back near the baseline, or the length of the series."""
    baseline: float
    spread: float
    values: np.ndarray

    @property
    def height(self) -> float:
        return float(self.values[self.peak]) - self.baseline

    @property
    def width(self) -> int:
        return self.stop - self.start

    @property
    def open(self) -> bool:
        """The log ends before the values are back."""
        return self.stop == len(self.values)

    @property
    def climbs(self) -> bool:
        """It never came back, and its first points are a small part of the way up: it jumps at no step."""
        early = float(np.median(self.values[self.start : self.start + 3])) - self.baseline
        return self.open and self.width >= LONG and early < CLIMBS * self.height

    def begun(self) -> Jump:
        """The climb from its last point that was not above the level on."""
        under = np.flatnonzero(self.values[: self.start] <= self.baseline)
        return replace(self, start=int(under[-1]) + 1 if len(under) else self.start)


def jumps(values: np.ndarray, sigmas: float = 6.0, relative: float = 0.15) -> Iterator[Jump]:
    """Jumps above the rolling median by `sigmas` robust deviations and `relative` of the level.

    The baseline is frozen while a jump lasts; it ends when a value is within a fifth of the height again.
    """
    medians, sigmas_at = rolling(values)
    band = medians + np.maximum(sigmas * sigmas_at, relative * np.abs(medians))
    candidates = np.flatnonzero(values > band)
    at = 0
    for i in candidates:
        if i < at:
            continue
        back = band[i]
        peak, stop = i, i + 1
        while stop < len(values) and values[stop] > max(back, medians[i] + 0.2 * (values[peak] - medians[i])):
            peak = stop if values[stop] > values[peak] else peak
            stop += 1
        at = stop
        yield Jump(int(i), int(peak), int(stop), float(medians[i]), float(sigmas_at[i]), values)


FELL = 0.2
"""Share of its first level that a loss which still learns has lost. Own judgement."""


def comes_down(values: np.ndarray) -> bool:
    """Whether a loss comes down far, and goes on to do so."""
    first, last = head_tail(values)
    falling = mann_kendall(values)[1] < -2 and last <= np.median(values[len(values) // 2 :])
    return bool(falling and first - last > FELL * abs(first))


WORSE, OFTEN, SMOOTHED = 0.25, 0.4, 5
"""Share by which a stretch lies beyond the level, most of the points that lie in stretches, points of its median."""
LEAST_LONG, GAP = 8, 5
"""Points of a stretch, and points within it that need not lie beyond."""


def stretches(values: np.ndarray, worse: int) -> list[tuple[int, int, float]]:
    """(first point, last point, median) of each of several stretches that lie beyond the level of all and end again.

    Args:
        values: finite, in order.
        worse: 1 where more is worse, -1 where less is.

    Returns:
        Nothing of fewer than two: one stretch is an event, and what is beyond to the end is a change of the level.
    """
    if len(values) < 3 * LEAST_LONG or not worse:
        return []
    level = float(np.median(values))
    spread = 1.4826 * float(np.median(np.abs(values - level)))
    smooth = np.median(np.lib.stride_tricks.sliding_window_view(values, SMOOTHED), axis=1)
    beyond = np.flatnonzero(worse * (smooth - level) > max(WORSE * abs(level), 4 * spread)) + SMOOTHED // 2
    parts = np.split(beyond, np.flatnonzero(np.diff(beyond) > GAP) + 1) if len(beyond) else []
    found = [(int(p[0]), int(p[-1])) for p in parts if len(p) >= LEAST_LONG]
    if len(found) < 2 or sum(b - a + 1 for a, b in found) > OFTEN * len(values):
        return []
    return [(a, b, float(np.median(values[a : b + 1]))) for a, b in found]
