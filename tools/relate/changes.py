"""Where a row of numbers changes: steps that last, drifts that set in, needles; each with the interval it lies in.

A row is judged against itself. A candidate is a jump between neighbouring blocks (third differences of their medians,
in which every trend up to a parabola cancels) that is large among all jumps of the row. It is believed when two levels
on a slope explain the row around it better than any smooth curve does (a cubic, with as many free numbers), and its
place is the posterior of that fit. Likelihoods are tempered by the autocorrelation that is left, so that a row that
wanders is believed less. What a change means is not decided here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

LEAST_POINTS = 8
"""Points below which nothing is said."""
SIDE = 3
"""Points that stand on either side of a change at least."""
MOST_POINTS = 400
"""Points around a candidate that are fitted; of more, blocks."""
ENOUGH = 600
"""Points that a step of the height of the noise needs on either side to be judged; one twice as high a quarter."""
CLEAR = 5.0
"""Height in noise from which on a step has to be seen from a point to the next but two."""
MOST_CHANGES = 4
"""Changes reported of one row."""
CANDIDATE = 5.0
"""Height of a candidate among all jumps of its row, in deviations."""
BELIEVED = 7.0
"""Log likelihood by which a step must beat a straight line and `SMOOTH` a cubic. Measured in `evals/relations.py`."""
SMOOTH = 4.0
LEAST_HEIGHT = 0.75
"""Height of a step in noise of single points."""
LEAST_SHARE = 0.004
"""Height of a step as a share of the level."""
RAMP, LEVEL = 0.02, 0.15
"""Half of the share of a row that a step may take, and of its height by which the row may go on rising or falling on
either side. Own judgement."""
NEEDLE = 15.0
"""Height of a needle in noise of single points, and `NEEDLE_WIDTH` the points that it lasts at most."""
LOCAL, AROUND = 4.0, 8
"""Height above both of its neighbours in the usual way from one point to the next among the `AROUND` on either side of
it: where a row is restless, its points stick out of the rest of the row, and none out of the others. Own judgement."""
NEEDLE_WIDTH = 3
SHARE = 0.98
"""Posterior mass of the reported interval; more than the 95% that it is held to, for noise is not quite normal."""
BLOCKS = 120
"""Blocks into which a row is taken for a drift."""

Kind = Literal["step", "drift", "needle"]


@dataclass(frozen=True)
class Change:
    """One change of a row."""

    kind: Kind
    i: int
    """First point that is different."""
    low: int
    high: int
    """The first different point lies in low..high."""
    before: float
    after: float
    """Levels on both sides; of a drift where it begins and where it ends, of a needle its top."""
    sigma: float
    """Noise of single points."""
    strength: float
    """Log likelihood against a row without it."""

    @property
    def up(self) -> bool:
        return self.after > self.before


def noise(values: np.ndarray) -> float:
    """Noise of single points, blind to trends and steps; of rows of few values, from what does change."""
    if len(values) < 3:
        return 0.0
    steps = np.diff(values)
    steps = np.abs(steps - np.median(steps))
    found = float(np.median(steps))
    return 1.4826 * found / np.sqrt(2) if found else float(np.mean(steps[np.argsort(steps)[: len(steps) * 9 // 10]]))


def changes(values: np.ndarray) -> tuple[Change, ...]:
    """The changes of a row of finite numbers, in its order."""
    n = len(values)
    if n < LEAST_POINTS or np.ptp(values) == 0:
        return ()
    calm = winsorized(values)
    found: list[Change] = []
    for at, reach in _candidates(calm):
        if len(found) == MOST_CHANGES:
            break
        low, high = _between(at, found, n)
        step = _step(calm, max(low, at - reach), min(high, at + reach))
        if step and all(abs(step.i - c.i) >= SIDE for c in found):
            found.append(step)
    found += _drift(calm, found)
    found += _needles(values, calm, found)
    return tuple(sorted(found, key=lambda c: c.i))


def middles(values: np.ndarray) -> np.ndarray:
    """(n,) the middle of nine neighbours of each value."""
    n = len(values)
    width = min(9, n - (n + 1) % 2)
    padded = np.pad(values, width // 2, mode="edge")
    return np.asarray(np.median(np.lib.stride_tricks.sliding_window_view(padded, width), axis=1))


def winsorized(values: np.ndarray) -> np.ndarray:
    """The row with what sticks out of its neighbours for a point or two cut to where noise ends."""
    middle = middles(values)
    reach = 4 * (noise(values) or float(np.abs(values).max()) * 1e-12)
    return np.clip(values, middle - reach, middle + reach)


def _between(at: int, found: list[Change], n: int) -> tuple[int, int]:
    """The stretch around a candidate up to the changes that are known already."""
    low = max((c.high for c in found if c.i <= at), default=0)
    high = min((c.low for c in found if c.i > at), default=n)
    return low, high


def _candidates(values: np.ndarray) -> Iterator[tuple[int, int]]:
    """(point, points around it to fit), the most striking first; the whole row where it is short."""
    n = len(values)
    jumps = [jump for size in _sizes(n) for jump in _jumps(values, size)]
    taken: list[tuple[int, int]] = []
    for _, at, size in sorted(jumps, reverse=True):
        if all(abs(at - other) > min(size, seen) for other, seen in taken):
            taken.append((at, size))
            yield at, max(6 * size, 20)
        if len(taken) == 2 * MOST_CHANGES:
            return
    if n <= 300:
        yield n // 2, n


def _sizes(n: int) -> list[int]:
    """Block lengths, doubling."""
    out, size = [], 3
    while size * 5 <= n:
        out.append(size)
        size *= 2
    return out


def _jumps(values: np.ndarray, size: int) -> list[tuple[float, int, int]]:
    """(height in deviations of all such jumps, point, block length) of what stands out at one block length."""
    heights, places = [], []
    for offset in (0, size // 2):
        count = (len(values) - offset) // size
        if count < 4:
            continue
        m = np.median(values[offset : offset + count * size].reshape(count, size), axis=1)
        heights.append(-0.5 * np.diff(m, 3))
        places.append(offset + size * np.arange(2, count - 1))
    if not heights:
        return []
    height, place = np.concatenate(heights), np.concatenate(places)
    usual = 1.4826 * float(np.median(np.abs(height - np.median(height))))
    least = noise(values) * 2.8 / np.sqrt(size) * (0.6 if len(height) >= 12 else 1.0)
    deviation = max(usual if len(height) >= 12 else 0.0, least) or float(np.ptp(values)) * 1e-6
    score = np.abs(height) / deviation
    best = np.argsort(score)[::-1][: 3 * MOST_CHANGES]
    return [(float(score[i]), int(place[i]), size) for i in best if score[i] >= CANDIDATE]


def _step(values: np.ndarray, low: int, high: int) -> Change | None:
    """The best step inside low..high, if it explains the stretch, and the points next to it as well."""
    if high - low < LEAST_POINTS:
        return None  # the changes that are known already leave no room
    size = -(-(high - low) // MOST_POINTS)
    whole = high - (high - low) % size
    y = np.median(values[low:whole].reshape(-1, size), axis=1)
    coarse = fitted(y, "step") if len(y) >= LEAST_POINTS else None
    if coarse is None or not coarse.believed:
        return None
    at, sigma = low + coarse.best * size, noise(values[low:high])
    reach = max(3 * size, int(np.clip(ENOUGH * (sigma / max(abs(coarse.height), 1e-300)) ** 2, 20, MOST_POINTS // 2)))
    first, last = max(low, at - reach), min(high, at + reach)
    near = values[first:last]
    fit = fitted(near, "step") if len(near) >= LEAST_POINTS else None
    found = _told(near, first, fit) if fit is not None and fit.believed else None
    return found or _ramp(values, low, high, at)


def _ramp(values: np.ndarray, low: int, high: int, at: int) -> Change | None:
    """A step that takes a few points of many: level on both sides, and all of the way in `RAMP` of the row."""
    width = int(RAMP * len(values))
    if at <= low + width:
        return None
    sides = values[max(low, at - 6 * width) : at - width], values[at + width : min(high, at + 6 * width)]
    if width <= SIDE or min(map(len, sides)) < 2 * width:
        return None
    before, after = (float(np.median(side)) for side in sides)
    height, sigma = after - before, noise(values[low:high])
    tilts = [abs(float(np.median(s[len(s) // 2 :]) - np.median(s[: len(s) // 2]))) for s in sides]
    if abs(height) < max(CLEAR * sigma, LEAST_SHARE * abs(before)) or max(tilts) > LEVEL * abs(height):
        return None
    way = (values[at - width : at + width] - before) / height
    first, last = (at - width + int(np.argmax(way > share)) for share in (0.25, 0.9))
    begun = max(at - width, first - 1 - (last - first) // 2)
    return Change(
        "step", first, begun, max(first, last), before, after, sigma, min(abs(height) / max(sigma, 1e-300), 1e9) ** 2
    )


def _told(near: np.ndarray, first: int, fit: Fit) -> Change | None:
    """A step as a change, if it is worth telling and no bend of a smooth curve."""
    at, sigma = fit.best, noise(near)
    before = float(np.median(near[max(0, at - 10 * SIDE) : at]))
    after = float(np.median(near[at : at + 10 * SIDE]))
    height = abs(fit.height)
    if height < max(LEAST_HEIGHT * sigma, LEAST_SHARE * abs(before)) or (after - before) * fit.height <= 0:
        return None
    across = near[min(at + 1, len(near) - 1)] - near[max(0, at - 2)]
    if height > CLEAR * fit.sigma and across * np.sign(fit.height) < 0.5 * height:
        return None
    low, high = fit.interval
    return Change("step", first + at, first + low, first + high, before, after, sigma, fit.against_line)


def _drift(values: np.ndarray, steps: list[Change]) -> list[Change]:
    """The place from which on a row goes another way, once its steps are taken out.

    A course that is steep at first (a loss) is judged again without its beginning.
    """
    flat = values.astype(float)
    for step in steps:
        flat[step.i :] -= step.after - step.before
    blocks, edges = in_blocks(flat, BLOCKS)
    for start in (0, len(blocks) // 8, len(blocks) // 4, len(blocks) // 2):
        fit = _turn(blocks[start:])
        if fit is not None:
            later = start + fit.best // 2
            again = _turn(blocks[later:]) if fit.best // 2 >= LEAST_POINTS else None
            start, fit = (later, again) if again is not None else (start, fit)
            return [_drifting(blocks, edges, start, fit, noise(values))]
    return []


def in_blocks(values: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Medians of equal blocks, at most `most`, and where they begin and end; what is left over at the front is not."""
    size = -(-len(values) // most)
    count = len(values) // size
    first = len(values) - count * size
    return np.median(values[first:].reshape(count, size), axis=1), first + size * np.arange(count + 1)


def _turn(blocks: np.ndarray) -> Fit | None:
    """Two slopes that meet, of which the second leads somewhere else; None where one will do."""
    fit = fitted(blocks, "drift") if len(blocks) >= 2 * LEAST_POINTS else None
    if fit is None or not fit.believed:
        return None
    at, before = fit.best, float(np.median(blocks[max(0, fit.best - 5) : fit.best + 1]))
    then = fit.slope + fit.height
    turns = fit.slope * then < 0 or abs(fit.slope) < 0.25 * abs(then)
    far = abs(then) * (len(blocks) - at)
    return fit if turns and far >= max(6 * noise(blocks), 0.02 * abs(before), 0.2 * abs(fit.slope) * at) else None


def _drifting(blocks: np.ndarray, edges: np.ndarray, start: int, fit: Fit, sigma: float) -> Change:
    at = start + fit.best
    before, after = float(np.median(blocks[max(0, at - 5) : at + 1])), float(np.median(blocks[-3:]))
    first, last = start + fit.interval[0] - 1, start + fit.interval[1] + 1
    low, high = int(edges[max(0, first)]), int(edges[min(len(blocks), last)]) - 1
    return Change("drift", int(edges[at]), low, max(low, high), before, after, sigma, fit.against_line)


def _needles(values: np.ndarray, calm: np.ndarray, found: list[Change]) -> list[Change]:
    """Points that stick far out and come back at once."""
    sigma = noise(values)
    out = np.abs(values - calm)
    usual = max(sigma, float(np.abs(calm).max()) * 1e-3)
    tops = np.flatnonzero(out > NEEDLE * usual)
    runs = np.split(tops, np.flatnonzero(np.diff(tops) > 1) + 1) if len(tops) else []
    needles = [r for r in runs if len(r) <= NEEDLE_WIDTH and all(abs(int(r[0]) - c.i) > SIDE for c in found)]
    needles = [r for r in needles if _alone(values, calm, r)]
    needles = sorted(needles, key=lambda r: -out[r].max())[: MOST_CHANGES - len(found)]
    return [_needle(values, calm, r[np.argmax(out[r])], r, usual) for r in needles]


def _alone(values: np.ndarray, calm: np.ndarray, run: np.ndarray) -> bool:
    """Whether these points stick out of those beside them, and not of a row that is calmer elsewhere."""
    top = run[np.argmax(np.abs(values - calm)[run])]
    up = np.sign(values[top] - calm[top])
    near = values[max(0, run[0] - AROUND) : run[0]], values[run[-1] + 1 : run[-1] + 1 + AROUND]
    usual = float(np.median(np.abs(np.concatenate([np.diff(part) for part in near]))))
    beside = [*near[0][-1:], *near[1][:1]]
    return all(up * (values[top] - v) > LOCAL * usual for v in beside)


def _needle(values: np.ndarray, calm: np.ndarray, top: int, run: np.ndarray, sigma: float) -> Change:
    level = float(np.median(calm[max(0, int(run[0]) - 10) : int(run[0])])) if run[0] else float(calm[run[-1]])
    height = float(values[top] - level)
    return Change(
        "needle", int(run[0]), int(run[0]), int(run[0]), level, float(values[top]), sigma, abs(height / sigma)
    )


@dataclass(frozen=True)
class Fit:
    """The best place of one change in a stretch, against the stretch without it."""

    best: int
    interval: tuple[int, int]
    height: float
    """Of the step, or the slope that a drift adds to `slope`, a point."""
    slope: float
    against_line: float
    against_curve: float
    """Log likelihoods, tempered."""
    sigma: float
    """What is left of the row, a point."""

    @property
    def believed(self) -> bool:
        return self.against_line >= BELIEVED and self.against_curve >= SMOOTH


def fitted(y: np.ndarray, kind: Kind) -> Fit | None:
    """Two levels on one slope, or two slopes that meet, at every place; None where the row is too short."""
    n = len(y)
    places = np.arange(SIDE, n - SIDE + 1)
    if not len(places):
        return None
    line, curve = _bases(n)
    left = y - line @ (line.T @ y)
    size = _lengths(n, kind)[places] - sum(_sums(column, kind)[places] ** 2 for column in line.T)
    height = _sums(left, kind)[places] / np.maximum(size, 1e-300)
    total = float(left @ left)
    floor = n * max((np.abs(y).max() * 1e-9) ** 2, (1e-3 * noise(y)) ** 2, 1e-300)
    rest = np.maximum(total - height**2 * size, 0.0) + floor
    best = int(rest.argmin())
    model = y - height[best] * _shape(n, int(places[best]), kind)
    trend = line @ (line.T @ model)
    temper = _temper(model - trend)
    posterior = np.exp(-(n / 2) * np.log(rest / rest[best]) / temper)
    smooth = y - curve @ (curve.T @ y)
    return Fit(
        int(places[best]),
        _interval(posterior / posterior.sum(), places),
        float(height[best]),
        float(trend[-1] - trend[0]) / max(1, n - 1),
        n / 2 * float(np.log((total + floor) / rest[best])) / temper,
        n / 2 * float(np.log((smooth @ smooth + floor) / rest[best])) / temper,
        float(np.sqrt(rest[best] / n)),
    )


@lru_cache(maxsize=64)
def _bases(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Orthonormal lines and cubics over n points."""
    x = np.linspace(-1.0, 1.0, n)
    line, curve = (np.linalg.qr(np.vander(x, d + 1, increasing=True))[0] for d in (1, 3))
    return line, curve


def _shape(n: int, at: int, kind: Kind) -> np.ndarray:
    """0 before the place; from there on 1, or the points since."""
    after = np.arange(n) - at
    return (after >= 0).astype(float) if kind == "step" else np.maximum(after, 0).astype(float)


def _sums(v: np.ndarray, kind: Kind) -> np.ndarray:
    """The product of a row with the shape at every place."""
    rest = np.cumsum(v[::-1])[::-1]
    return rest if kind == "step" else np.append(np.cumsum(rest[::-1])[::-1][1:], 0.0)


def _lengths(n: int, kind: Kind) -> np.ndarray:
    """The squared length of the shape at every place."""
    left = np.arange(n, 0, -1, dtype=float)
    return left if kind == "step" else (left - 1) * left * (2 * left - 1) / 6


def _temper(rest: np.ndarray) -> float:
    """By how much neighbouring points repeat each other: points per independent point."""
    size = float(rest @ rest)
    if size <= 0 or len(rest) < LEAST_POINTS:
        return 1.0
    r = float(np.clip(rest[1:] @ rest[:-1] / size + 2 / len(rest), 0.0, 0.95))
    return (1 + r) / (1 - r)


def _interval(mass: np.ndarray, places: np.ndarray) -> tuple[int, int]:
    """The shortest stretch with `SHARE` of the mass."""
    total = np.concatenate([[0.0], np.cumsum(mass)])
    ends = np.searchsorted(total, total[:-1] + SHARE)
    width = np.where(ends < len(total), ends - np.arange(len(mass)), len(mass) + 1)
    start = int(width.argmin())
    return int(places[start]), int(places[min(start + int(width[start]), len(places)) - 1])
