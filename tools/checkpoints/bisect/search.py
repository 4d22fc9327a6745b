"""Which checkpoint to evaluate next, and when to stop.

While the values could come from a metric without noise (at most two distinct ones, one behind the other), plain
halving is best: it needs ceil(log2 n) evaluations and one for the level of the bad end. Otherwise the checkpoint
whose value is expected to tell most about the place and kind of change (mutual information) is next.

Everything here is a pure function of the observations, so an interrupted search continues as it would have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from itertools import pairwise

import numpy as np

from .observations import Family, Observations
from .posterior import Posterior, posterior
from .stories import BELIEFS, Beliefs, Fit

GRID = np.linspace(-1, 1, 81)
"""Relative positions at which the density of the next value is taken."""
USELESS = 1e-3
"""Nats: where checkpoints are blocked or repeats always tie, an evaluation that tells less is not worth making."""
PAIRS_FROM, MOST_PAIRS = 1e-4, 40
"""Least probability and largest number of pairs of changes that are weighed when choosing."""
EXTRA = {"no noise": 1, "the step is 6 noise widths": 5, "it is 3": 10, "it is 1.5": 28}
"""Evaluations beyond ceil(log2 n) at 95%, from the calibration in `evals/bisect_calibration.py`."""


def predicted(count: int) -> dict[str, int]:
    """Evaluations expected for a row of `count` checkpoints, by how large the step is against the noise."""
    return {name: math.ceil(math.log2(count)) + extra for name, extra in EXTRA.items()}


def next_index(now: Posterior, pending: Iterable[int] = (), blocked: Collection[int] = ()) -> int | None:
    """The checkpoint to evaluate next, or None if no evaluation would tell anything more.

    Args:
        now: what is known.
        pending: checkpoints under evaluation by other jobs; the rest of the probability is split around them.
        blocked: checkpoints that cannot be evaluated; their neighbours stand in for them.
    """
    pending = list(pending)
    if pending:
        return _between(now, pending, blocked)
    halved = halving(now.seen, blocked)
    if halved is not None:
        return halved
    if now.verdict != "step" and now.confidence > 0.9 and not now.ends_measured and 0 not in blocked:
        return 0
    return _most_telling(now, blocked)


def halving(seen: Observations, blocked: Collection[int] = ()) -> int | None:
    """The next index of plain bisection, or None where it ended or the values show noise.

    The bad end is measured first, for its level; the good end last, as the place where `no change` shows.
    """
    if not len(seen):
        return seen.count - 1
    by_index: dict[int, float] = {}
    for i, value in zip(seen.index, seen.value, strict=True):
        if by_index.setdefault(i, value) != value:
            return None
    at = sorted(by_index)
    values = [by_index[i] for i in at]
    if at[-1] != seen.count - 1 or len(set(values)) > 2:
        return None
    good = [i for i in at if by_index[i] != values[-1]]
    bad = [i for i in at if by_index[i] == values[-1]]
    low, high = (good[-1] if good else -1), bad[0]
    if low > high or high - low == 1:
        return None
    free = [i for i in range(low + 1, high) if i not in blocked]
    return min(free, key=lambda i: abs(i - (low + high) // 2)) if free else None


def _candidates(now: Posterior) -> np.ndarray:
    """Indices worth considering: both ends, what was measured and its neighbours, quantiles of the place."""
    n = now.seen.count
    mass = now.change + 1e-3 / n
    total = np.cumsum(mass) / mass.sum()
    quantiles = np.searchsorted(total, np.linspace(0.04, 0.96, 24))
    near = [now.best - 1, now.best, *now.edges[1:-1].tolist()]
    spread = np.linspace(0, n - 1, 9).astype(int)
    picks = np.unique(np.clip(np.concatenate([quantiles, quantiles - 1, near, spread]), 0, n - 1).astype(int))
    if now.seen.repeats_tie:
        picks = np.setdiff1d(picks, np.asarray(now.seen.index))
        if not len(picks):
            picks = np.setdiff1d(np.arange(n), np.asarray(now.seen.index))
    return picks


def _most_telling(now: Posterior, blocked: Collection[int]) -> int | None:
    picks = np.setdiff1d(_candidates(now), np.asarray(list(blocked), int))
    if not len(picks):
        return None
    gain = information(now, picks)
    if (blocked or now.seen.repeats_tie) and gain.max() < USELESS:
        return None
    return int(picks[gain.argmax()])


def information(now: Posterior, picks: np.ndarray) -> np.ndarray:
    """(P,) mutual information in nats between the value at each pick and (story, place of change).

    The value is taken as normal around the level of each story and place; a place that holds the pick itself is
    split in the part before and behind it.
    """
    weight, mean, noise = _predictions(now, picks)
    keep = weight.max(0) > 1e-6
    weight, mean, noise = weight[:, keep], mean[:, keep], noise[:, keep]
    weight = weight / weight.sum(1, keepdims=True)
    if now.seen.family == "pass":
        return _entropy((weight * mean).sum(1)) - (weight * _entropy(mean)).sum(1)
    low = (mean - 4 * noise).min(1)[:, None]
    high = (mean + 4 * noise).max(1)[:, None]
    y = (low + high) / 2 + GRID[None, :] * (high - low) / 2
    # never finer than the grid can show, so that a metric almost without noise still has a density
    noise = np.maximum(noise, (high - low) / len(GRID))
    z = (y[:, None, :] - mean[:, :, None]) / noise[:, :, None]
    density = np.exp(-0.5 * z * z) / (noise[:, :, None] * math.sqrt(2 * math.pi))
    mixed = np.einsum("ph,phy->py", weight, density)
    step = (high - low)[:, 0] * (GRID[1] - GRID[0]) / 2
    entropy = -(mixed * np.log(mixed + 1e-300)).sum(1) * step
    each = (weight * (0.5 * np.log(2 * math.pi * math.e) + np.log(noise))).sum(1)
    return entropy - each


def _entropy(p: np.ndarray) -> np.ndarray:
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return -(p * np.log(p) + (1 - p) * np.log(1 - p))


def _predictions(now: Posterior, picks: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(P, H) weight, mean and standard deviation of the next value at every pick under every hypothesis."""
    start, end = now.edges[None, :-1], now.edges[None, 1:]
    behind = (np.clip(picks[:, None], start, end) - start) / np.maximum(end - start, 1)
    view = _View(now, picks)
    for fit in now.fits:
        mass = np.exp(fit.log_mass)
        if fit.story == "several":
            floor = max(PAIRS_FROM, float(np.sort(mass, axis=None)[-min(MOST_PAIRS, mass.size)]))
            pair = np.nonzero(mass >= floor)
            first, second = behind[:, pair[0]], behind[:, pair[1]]
            view.take(fit, 0, mass[pair] * (1 - first), pair)
            view.take(fit, 1, mass[pair] * (first - second), pair)
            view.take(fit, 2, mass[pair] * second, pair)
        elif fit.story == "step":
            view.take(fit, 0, mass * (1 - behind))
            view.take(fit, 2, mass * behind)
        else:
            view.take(fit, 0, np.repeat(mass[None], len(picks), 0))
    return view.all()


class _View:
    """Collects what hypotheses predict at the picks, knowing what was measured there before."""

    def __init__(self, now: Posterior, picks: np.ndarray):
        data = now.seen.groups
        self.x = (picks / max(1, now.seen.count - 1) - 0.5)[:, None]
        where = np.minimum(np.searchsorted(data.at, picks), len(data.at) - 1)
        known = data.at[where] == picks
        self.m = np.where(known, data.m[where], 0.0)[:, None]
        self.known = np.where(known, data.mean[where], 0.0)[:, None]
        self.parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def take(self, fit: Fit, side: int, weight: np.ndarray, pair: tuple = (slice(None),)) -> None:
        """Add one level (0 low, 1 middle, 2 high) of a fit at some places.

        The jitter of a checkpoint measured before is partly known: its next value is drawn to its mean.
        """
        level = (fit.low, fit.middle, fit.high)[side][pair] + fit.slope[pair] * self.x
        noise, jitter = fit.noise[pair], fit.jitter[pair]
        pull = jitter * self.m / (1 + jitter * self.m)
        var = noise * (1 + jitter / (1 + jitter * self.m)) + fit.unsure[side][pair] * (1 - pull) ** 2
        self.parts.append((weight, level + pull * (self.known - level), np.sqrt(var)))

    def all(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        weight, mean, noise = (np.concatenate([p[i] for p in self.parts], 1) for i in range(3))
        return weight, mean, noise


def _between(now: Posterior, pending: list[int], blocked: Collection[int]) -> int | None:
    """The middle of the heaviest stretch of probability between evaluations under way."""
    n = now.seen.count
    taken = {*pending, *blocked, *(now.seen.index if now.seen.repeats_tie else ())}
    mass = now.change + (now.stories["none"] + 1e-6) / n
    cuts = sorted({-1, *pending, n - 1})
    total = np.concatenate([[0.0], np.cumsum(mass)])
    _, low, high = max((total[b + 1] - total[a + 1], a, b) for a, b in pairwise(cuts))
    middle = int(np.searchsorted(total, (total[low + 1] + total[high + 1]) / 2)) - 1
    free = [i for i in range(n) if i not in taken]
    return min(free, key=lambda i: abs(i - middle)) if free else None


def bisect_values(
    measure: Callable[[int], float],
    count: int,
    confidence: float = 0.95,
    budget: int = 200,
    family: Family = "number",
    held: Beliefs = BELIEFS,
) -> Posterior:
    """The whole search with `measure(index) -> value`, for callers that have no command to run."""
    seen = Observations(count, family=family)
    seen = seen.add(count - 1, measure(count - 1))
    now = posterior(seen, held)
    while len(seen) < budget and not now.settled(confidence):
        pick = next_index(now)
        if pick is None:
            break
        seen = seen.add(pick, measure(pick))
        now = posterior(seen, held)
    return now
