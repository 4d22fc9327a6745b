"""Values of a metric measured along a row of checkpoints, and how finely the metric can move.

It holds and condenses the numbers; what they mean is `posterior`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

Family = Literal["number", "pass"]
FRACTIONS = 2000
"""Largest N for which values of the form k/N are recognised: the questions of a small evaluation."""


@dataclass(frozen=True)
class Observations:
    """What was measured: parallel tuples, in the order of measuring.

    Raises:
        ValueError: an index outside the row.
    """

    count: int
    """Checkpoints in the row, the good and the bad end included."""
    index: tuple[int, ...] = ()
    value: tuple[float, ...] = ()
    family: Family = "number"
    """`pass`: values are 1 (passed) or 0."""

    def __post_init__(self) -> None:
        if any(not 0 <= i < self.count for i in self.index):
            raise ValueError(f"indices must be in 0..{self.count - 1}")

    def __len__(self) -> int:
        return len(self.index)

    def add(self, index: int, value: float) -> Observations:
        return Observations(self.count, (*self.index, index), (*self.value, value), self.family)

    @cached_property
    def tick(self) -> float:
        return resolution(self.value)

    @cached_property
    def span(self) -> float:
        """Width of the range in which levels are expected before anything is known."""
        largest = max(map(abs, self.value), default=1.0)
        return max(3 * _range(self.value), 0.1 * largest, 10 * self.tick)

    @cached_property
    def repeats_tie(self) -> bool:
        """Whether checkpoints were measured again and always gave the very same number: repeating is useless.

        Ties mean little where the metric takes few values; then three tied repeats are asked for.
        """
        if self.family == "pass":
            return False
        seen: dict[int, set[float]] = {}
        for i, value in zip(self.index, self.value, strict=True):
            seen.setdefault(i, set()).add(value)
        tied = len(self.index) - len(seen)
        coarse = self.tick > _range(self.value) / 50
        return tied > (2 if coarse else 0) and all(len(s) == 1 for s in seen.values())

    @cached_property
    def groups(self) -> Groups:
        """The values by checkpoint; repeats that always tie count once."""
        at, inverse, m = np.unique(np.asarray(self.index, int), return_inverse=True, return_counts=True)
        values = np.asarray(self.value, float)
        mean = np.bincount(inverse, values, minlength=len(at)) / np.maximum(m, 1)
        within = float(((values - mean[inverse]) ** 2).sum())
        if self.repeats_tie:
            m, within = np.ones_like(m), 0.0
        return Groups(at, m.astype(float), mean, within)


@dataclass(frozen=True)
class Groups:
    """Observations by checkpoint, in order of the row."""

    at: np.ndarray
    """(N,) distinct indices, increasing."""
    m: np.ndarray
    """(N,) how often each was measured."""
    mean: np.ndarray
    """(N,) its mean."""
    within: float
    """Sum of squares around the means."""


def resolution(values: Sequence[float]) -> float:
    """Smallest step in which the metric can move, as far as the values show: decimals, or k/N.

    Two accuracies over 200 questions tie by chance; two losses of sixteen digits do not.
    """
    data = np.asarray(values, float)
    for digits in range(5):
        if np.allclose(data * 10**digits, np.round(data * 10**digits), rtol=0, atol=1e-9 * 10**digits):
            return 10.0**-digits
    sizes = np.arange(3, FRACTIONS + 1)[:, None]
    hits = np.abs(data * sizes - np.round(data * sizes)).max(1) < 1e-7
    if hits.any():
        return 1.0 / float(sizes[hits.argmax(), 0])
    return (float(np.abs(data).max()) or 1.0) * 1e-9


def _range(values: Sequence[float]) -> float:
    return float(max(values) - min(values)) if values else 0.0
