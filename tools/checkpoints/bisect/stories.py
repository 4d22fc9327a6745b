"""How well each story explains the values: marginal likelihoods, unknown levels and noise integrated out.

Stories: `none` (one level), `step` (two levels, perhaps on a slope), `drift` (a slope, no step), `several` (three
levels). For numbers each is a linear model `level + u * first + v * second` with normal noise, a flat level, normal
or moment priors on u and v in units of the noise, and an inverse-gamma noise variance, so every integral has a
closed form. Verdicts of pass or fail are beta-Bernoulli. A metric without any noise is judged by `exact`.

All likelihoods are probabilities of the values to within their resolution, so that they compare across stories.
A place of change is a gap between measured checkpoints: with N of them there are J = N + 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from .observations import Groups, Observations

Story = Literal["none", "step", "drift", "several"]


@dataclass(frozen=True)
class Beliefs:
    """What is held before the first value. Scales are in units of the noise variance."""

    prior: Mapping[Story, float]
    step_scales: tuple[float, ...] = (0.5, 2.0, 16.0, 128.0, 1000.0, 1e4)
    """Scales of a step's moment prior: the most probable steps are about 1 to 140 noise widths. Without the first, a
    step as small as the noise is soon called no change. At a weight of 0.15 it never is, but then claims are right more
    often than they say, and that nothing changed takes nearly twice as many values.

    A moment prior is a normal density times the squared step: a step of no size is no step, so a row without any
    change becomes evident after some tens of values (Johnson and Rossell 2010)."""
    step_weights: tuple[float, ...] = (0.05, 0.37, 0.33, 0.15, 0.06, 0.04)
    slope_scales: tuple[float, ...] = (4.0, 100.0, 2500.0)
    """Scales of the drift over the whole row."""
    slope_weights: tuple[float, ...] = (0.4, 0.4, 0.2)
    level_ground: float = 0.7
    """Prior share of steps without any slope."""
    tilt: float = 0.25
    """Scale of the slope under the other steps, in units of the step's: a slope with a small step on it is a drift."""
    jitters: tuple[float, ...] = (0.0, 1.0, 10.0)
    """Variance between checkpoints of one level over the variance of repeats of one checkpoint."""
    jitter_weights: tuple[float, ...] = (0.8, 0.13, 0.07)


BELIEFS = Beliefs({"none": 0.12, "step": 0.72, "drift": 0.12, "several": 0.04})
"""The person who asks has seen a drop, so a step is the usual story; none is ruled out beforehand."""

NOISE_SHAPE = 0.1
"""Shape of the inverse-gamma prior of the noise variance: nearly flat in its logarithm above the resolution."""
PINNED = 1e-12
"""Scale that holds a coefficient at zero."""


@dataclass(frozen=True)
class Fit:
    """One story at every place: how well it explains the values, and what it predicts."""

    story: Story
    log_mass: np.ndarray
    """(J,), (1,) or for `several` (J, J): log likelihood; in a `Posterior`, log probability."""
    low: np.ndarray
    """Level before the (first) change; same shape as all the others."""
    middle: np.ndarray
    """Level between two changes; behind the change where there is one."""
    high: np.ndarray
    """Level behind the (last) change."""
    slope: np.ndarray
    """Drift over the whole row."""
    unsure: tuple[np.ndarray, np.ndarray, np.ndarray]
    """Variances of the three levels, as estimated."""
    noise: np.ndarray
    """Variance of repeats of one checkpoint."""
    jitter: np.ndarray
    """Variance between checkpoints, in units of `noise`."""


class _Columns(NamedTuple):
    """Weighted, centred sums of the metric y and two columns of a linear model, for one jitter."""

    ff: np.ndarray
    """First column with itself; `fs` with the second, `fy` with the metric, and so on."""
    fs: np.ndarray
    ss: np.ndarray
    fy: np.ndarray
    sy: np.ndarray
    first_mean: np.ndarray
    second_mean: np.ndarray


class _Prior(NamedTuple):
    """Scales of both coefficients (broadcast against the places) and whether each has a moment prior."""

    first: np.ndarray
    second: np.ndarray
    log_weight: np.ndarray
    moment: tuple[bool, bool]


class _Weighted:
    """Sums over the measured checkpoints with the weights that one jitter gives them."""

    def __init__(self, seen: Observations, jitter: float):
        data = seen.groups
        self.w = data.m / (1 + jitter * data.m)
        self.total = float(self.w.sum())
        self.mean = float((self.w * data.mean).sum() / self.total)
        self.y = data.mean - self.mean
        x = data.at / max(1, seen.count - 1) - 0.5
        self.x_mean = float((self.w * x).sum() / self.total)
        self.x = x - self.x_mean
        self.log_det = 0.5 * float(np.log1p(jitter * data.m).sum()) + 0.5 * math.log(self.total)

    def behind(self, values: np.ndarray) -> np.ndarray:
        """(J,) weighted sum of the values behind each place."""
        return np.concatenate([np.cumsum((self.w * values)[::-1])[::-1], [0.0]])

    def columns(self, story: Story) -> _Columns:
        n, n_y, n_x = self.behind(np.ones_like(self.y)), self.behind(self.y), self.behind(self.x)
        xx, xy = np.array([(self.w * self.x**2).sum()]), np.array([(self.w * self.x * self.y).sum()])
        zero = np.zeros(1)
        if story == "none":
            return _Columns(zero, zero, zero, zero, zero, zero, zero)
        if story == "drift":
            return _Columns(zero, zero, xx, zero, xy, zero, np.array([self.x_mean]))
        inside = n - n**2 / self.total
        if story == "step":
            return _Columns(inside, n_x, xx, n_y, xy, n / self.total, np.array([self.x_mean]))
        first, second = n[:, None], n[None, :]
        return _Columns(inside[:, None], np.minimum(first, second) - first * second / self.total, inside[None, :],
                        n_y[:, None], n_y[None, :], first / self.total, second / self.total)  # fmt: skip


def _prior(story: Story, held: Beliefs) -> _Prior:
    """Every combination of scales along a leading axis."""
    steps, weights = np.array(held.step_scales), np.array(held.step_weights)
    if story == "none":
        return _Prior(np.array([PINNED]), np.array([PINNED]), np.zeros(1), (False, False))
    if story == "drift":
        slopes = np.array(held.slope_scales)
        return _Prior(np.full(len(slopes), PINNED), slopes, np.log(held.slope_weights), (False, True))
    if story == "several":
        return _Prior(steps, steps, np.log(weights), (True, True))
    slopes = np.concatenate([np.full(len(steps), PINNED), steps * held.tilt])
    share = np.concatenate([weights * held.level_ground, weights * (1 - held.level_ground)])
    keep = share > 0
    return _Prior(np.tile(steps, 2)[keep], slopes[keep], np.log(share[keep]), (True, False))


def number_fit(seen: Observations, story: Story, held: Beliefs) -> Fit:
    """One story for a metric with normal noise."""
    prior = _prior(story, held)
    parts = [_regress(seen, story, prior, jitter, weight)
             for jitter, weight in zip(held.jitters, held.jitter_weights, strict=True)]  # fmt: skip
    log_mass = np.concatenate([p.log_mass for p in parts])
    best = log_mass.argmax(0)[None]

    def of_best(name: str) -> np.ndarray:
        return np.take_along_axis(np.concatenate([getattr(p, name) for p in parts]), best, 0)[0]

    unsure = np.concatenate([np.stack(p.unsure, 1) for p in parts])
    low, middle, high = (np.take_along_axis(unsure[:, i], best, 0)[0] for i in range(3))
    return Fit(story, np.logaddexp.reduce(log_mass, axis=0), of_best("low"), of_best("middle"), of_best("high"),
               of_best("slope"), (low, middle, high), of_best("noise"), of_best("jitter"))  # fmt: skip


def _regress(seen: Observations, story: Story, prior: _Prior, jitter: float, weight: float) -> Fit:
    """The linear model for one jitter and all scales: arrays of (scales, places...)."""
    sums = _Weighted(seen, jitter)
    col = sums.columns(story)
    places = np.broadcast_shapes(*(t.shape for t in col))
    g, h, log_weight = (t.reshape(-1, *[1] * len(places)) for t in prior[:3])
    a, b, c = col.ff + 1 / g, col.fs, col.ss + 1 / h
    det = a * c - b * b
    det = np.where(det > 0, det, 1.0)  # only on the unused triangle of pairs
    u, v = (c * col.fy - b * col.sy) / det, (a * col.sy - b * col.fy) / det
    var_u, var_v = c / det, a / det

    n = float(seen.groups.m.sum())
    shape, floor = (n - 1) / 2 + NOISE_SHAPE, seen.tick**2  # a finer noise would make one tick likelier than 1
    rest = floor + np.maximum((sums.w * sums.y**2).sum() + seen.groups.within - u * col.fy - v * col.sy, 0.0) / 2
    constant = (
        math.log(seen.tick / seen.span)
        + (n - 1) * (math.log(seen.tick) - 0.5 * math.log(2 * math.pi))
        - sums.log_det
        + NOISE_SHAPE * math.log(floor)
        - math.lgamma(NOISE_SHAPE)
        + math.lgamma(shape)
    )
    moments = _moments(u, v, var_u, var_v, -b / det, shape / rest, shape, prior.moment)
    scale = (g if prior.moment[0] else 1.0) * (h if prior.moment[1] else 1.0)
    log_mass = (constant - shape * np.log(rest) - 0.5 * np.log(det * g * h) + np.log(moments / scale)
                + log_weight + math.log(weight))  # fmt: skip

    noise = rest / max(shape - 1, 0.4)
    low = sums.mean - u * col.first_mean - v * col.second_mean
    steps = story == "several"
    middle, high = low + u, low + u + (v if steps else 0)
    unsure = _uncertainty(noise, 1 / sums.total, (var_u, g, col.first_mean), (var_v, h, col.second_mean), steps)
    full = log_mass.shape
    wide = [np.broadcast_to(t, full) for t in (low, middle, high, np.zeros(1) if steps else v, *unsure, noise)]
    return Fit(story, log_mass, wide[0], wide[1], wide[2], wide[3], (wide[4], wide[5], wide[6]), wide[7],
               np.full(full, jitter))  # fmt: skip


def _moments(u, v, var_u, var_v, cov, precision, shape, which: tuple[bool, bool]):
    """Mean of the squared coefficients that have a moment prior, in units of the noise variance."""
    if which == (True, True):
        mixed = precision * (u**2 * var_v + v**2 * var_u + 4 * u * v * cov)
        both = u**2 * v**2 * precision**2 * (shape + 1) / shape + mixed + var_u * var_v + 2 * cov**2
        return np.maximum(both, 1e-300)
    if which == (True, False):
        return u**2 * precision + var_u
    if which == (False, True):
        return v**2 * precision + var_v
    return np.ones_like(u)


def _uncertainty(noise, base, first, second, steps: bool):
    """Variances of the level before, between and behind; a coefficient that only the prior speaks of counts
    three times, which is what a moment prior gives it."""
    size = [noise * var * (1 + 2 * var / scale) for var, scale, _ in (first, second)]
    mean_1, mean_2 = first[2], second[2]
    other = size[1] * mean_2**2 if steps else 0.0
    low = noise * base + size[0] * mean_1**2 + other
    middle = noise * base + size[0] * (1 - mean_1) ** 2 + other
    high = noise * base + size[0] * (1 - mean_1) ** 2 + size[1] * (1 - mean_2) ** 2 if steps else middle
    return low, middle, high


def pass_fit(seen: Observations, story: Story, _held: Beliefs) -> Fit:
    """One story for verdicts of 1 or 0; rates have a Jeffreys prior, and a drifting rate is not told from none."""
    data = seen.groups
    passed, trials = (np.concatenate([[0.0], np.cumsum(t)]) for t in (data.m * data.mean, data.m))
    places, last = np.arange(len(passed)), np.array(len(passed) - 1)
    cuts = {"none": (), "drift": (), "step": (places,), "several": (places[:, None], places[None, :])}[story]
    bounds = [np.array([0]), *cuts, last]
    log_mass, rates = np.zeros(1), []
    for i, j in pairwise(bounds):
        k, n = passed[np.maximum(i, j)] - passed[i], trials[np.maximum(i, j)] - trials[i]
        log_mass = log_mass + _log_beta(k + 0.5, n - k + 0.5) - _log_beta(np.array(0.5), np.array(0.5))
        rates.append((k + 0.5) / (n + 1))
    if story == "drift":
        log_mass = log_mass - math.log(4)
    low, middle, high = (np.broadcast_to(t, log_mass.shape) for t in (rates[0], rates[min(1, len(cuts))], rates[-1]))
    zero = np.zeros(log_mass.shape)
    return Fit(story, log_mass, low, middle, high, zero, (zero, zero, zero), zero, zero)


def _log_beta(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    lgamma = np.vectorize(math.lgamma, otypes=[float])
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def exact(seen: Observations, story: Story) -> np.ndarray:
    """Log likelihood if each level is one exact number; -inf where the values contradict it."""
    data = seen.groups
    places = np.arange(len(data.at) + 1)
    if story == "drift":
        return np.array([-math.inf])
    cuts = {"none": (), "step": (places,), "several": (places[:, None], places[None, :])}[story]
    jumps = np.abs(np.diff(data.mean)) > 1e-12 * seen.span
    runs = np.concatenate([[0], np.cumsum(jumps), [0]])
    bounds = [np.array([0]), *cuts, places[-1]]
    levels = [np.where(np.less(i, j), runs[np.maximum(j, 1) - 1] - runs[i] + 1, 0)
              for i, j in pairwise(bounds)]  # fmt: skip
    fits = (np.maximum.reduce(np.broadcast_arrays(*levels)) <= 1) & (data.within <= 1e-24 * seen.span**2)
    changes = np.concatenate([[True], jumps, [True]])[: len(places)]  # a change between equal numbers is none
    for cut in cuts:
        fits = fits & changes[cut]
    if seen.family == "number":
        return np.where(fits, math.log(seen.tick / seen.span) * sum(levels), -math.inf)
    if story == "step":  # from pass to fail, as the person said, so the levels are no surprise
        return np.where(fits & _falls(data), 0.0, -math.inf)
    return np.where(fits, math.log(0.5) * sum(levels), -math.inf)


def _falls(data: Groups) -> np.ndarray:
    """(J,) whether everything before a place passed and everything behind it failed."""
    failed_before = np.concatenate([[0.0], np.cumsum(data.mean < 0.5)])
    passed_behind = np.concatenate([np.cumsum((data.mean > 0.5)[::-1])[::-1], [0.0]])
    return (failed_before == 0) & (passed_behind == 0)
