"""Where along a row of checkpoints a metric changed: the exact Bayesian answer for the values seen so far.

Likelihoods come from `stories`; here they meet the prior and become a probability for every checkpoint to be the
first behind a change, and for every story. It knows nothing of files or commands; what to evaluate next is `search`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from .observations import Observations
from .stories import BELIEFS, Beliefs, Fit, Story, exact, number_fit, pass_fit

STORIES: tuple[Story, ...] = ("none", "step", "drift", "several")
WITHOUT_NOISE = {"number": 0.5, "pass": 0.8}
"""Prior share of evaluations without any noise. Verdicts of pass or fail tie all the time, so there the prior decides
how soon an unbroken row is believed: at 0.8 flakes of 2% do no harm, for one evaluation more than plain bisection."""


@dataclass(frozen=True)
class Posterior:
    """Probabilities of all stories and places."""

    seen: Observations
    stories: dict[Story, float]
    change: np.ndarray
    """(count,) probability that the level changes from the checkpoint before to this one; [0] is 0."""
    fits: tuple[Fit, ...]
    """With `log_mass` turned into the log of the posterior probability."""
    edges: np.ndarray
    """(J + 1,) a change in place j makes one of edges[j] + 1 .. edges[j + 1] the first bad checkpoint."""
    without_noise: float
    """Probability that the metric has no noise at all."""

    @property
    def best(self) -> int:
        """The most probable place of change."""
        return int(self.change.argmax())

    @property
    def verdict(self) -> Story:
        """The most probable result: `step` stands for a change at `best`, whether or not there are others."""
        claims = self._claims()
        return max(STORIES, key=lambda s: claims[s])

    @property
    def confidence(self) -> float:
        """Probability of `verdict`."""
        return self._claims()[self.verdict]

    def _claims(self) -> dict[Story, float]:
        return {**self.stories, "step": float(self.change[self.best])}

    @property
    def ends_measured(self) -> bool:
        return {0, self.seen.count - 1} <= set(self.seen.index)

    def settled(self, confidence: float) -> bool:
        """Whether the verdict holds with this probability; that nothing changed needs both ends measured."""
        return self.confidence >= confidence and (self.verdict == "step" or self.ends_measured)

    def interval(self, share: float) -> tuple[int, int]:
        """Smallest run of indices in which there is a change with probability `share`, given that there is one."""
        p = self.change / max(self.stories["step"] + self.stories["several"], 1e-300)
        total = np.concatenate([[0.0], np.cumsum(p)])
        ends = np.searchsorted(total, total[:-1] + share - 1e-9)
        width = np.where(ends < len(total), ends - np.arange(len(p)), len(total))
        start = int(width.argmin())
        if width[start] > len(p):
            return 1, len(p) - 1
        return start, start + int(width[start]) - 1

    def levels(self) -> tuple[float, float]:
        """Estimated metric on both sides of `best`."""
        data = self.seen.groups
        sides = data.mean[data.at < self.best], data.mean[data.at >= self.best]
        if self.without_noise > 0.5 and all(map(len, sides)):
            return float(sides[0][-1]), float(sides[1][0])
        fit = next(f for f in self.fits if f.story == "step")
        j = int(np.searchsorted(self.edges, self.best, side="left")) - 1
        tilt = fit.slope[j] * (self.best / max(1, self.seen.count - 1) - 0.5)
        return float(fit.low[j] + tilt), float(fit.high[j] + tilt)


def posterior(seen: Observations, held: Beliefs = BELIEFS) -> Posterior:
    """The exact posterior of at least one observation of a row of at least two checkpoints."""
    edges = np.concatenate([[0], seen.groups.at, [seen.count - 1]])
    width = np.diff(edges) / (seen.count - 1)
    fit = number_fit if seen.family == "number" else pass_fit
    fits = [fit(seen, story, held) for story in STORIES]
    share = WITHOUT_NOISE[seen.family]
    with np.errstate(divide="ignore"):
        # two changes in one place cannot be told from one
        place = {"step": np.log(width), "several": np.log(np.triu(np.outer(width, width), 1) * 2)}
        sure = {s: exact(seen, s) + math.log(share * held.prior[s]) + place.get(s, 0.0) for s in STORIES}
        noisy = {f.story: f.log_mass + math.log((1 - share) * held.prior[f.story]) + place.get(f.story, 0.0)
                 for f in fits}  # fmt: skip
    mass = {s: np.logaddexp(sure[s], noisy[s]) for s in STORIES}
    total = _log_sum(*mass.values())
    stories: dict[Story, float] = {s: math.exp(_log_sum(mass[s]) - total) for s in STORIES}
    pairs = np.exp(mass["several"] - total)
    by_place = np.exp(mass["step"] - total) + pairs.sum(0) + pairs.sum(1)
    change = np.zeros(seen.count)
    for j in np.flatnonzero(np.diff(edges)):
        change[edges[j] + 1 : edges[j + 1] + 1] = by_place[j] / (edges[j + 1] - edges[j])
    return Posterior(seen, stories, change, tuple(replace(f, log_mass=mass[f.story] - total) for f in fits), edges,
                     math.exp(_log_sum(*sure.values()) - total))  # fmt: skip


def _log_sum(*parts: np.ndarray) -> float:
    values = np.concatenate([p.ravel() for p in parts])
    top = values.max()
    return float(top + np.log(np.exp(values - top).sum())) if np.isfinite(top) else -math.inf
