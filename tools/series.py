"""Canonical metric series with the file and line of every point.

They are read and judged in `tools.logs`; which key means which metric is `tools.metrics`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .findings import Evidence
from .run import natural

SURE = 0.5
"""Confidence from which on a series may raise a serious finding alone. Own judgement."""
MOST_LOSS = 20.0
"""Middle value up to which a number without a name of its own may be a loss: ln of the largest vocabularies is 12.5."""


def may_be_loss(values: np.ndarray) -> bool:
    """Whether the values, by their size alone, can be those of a loss; false where none is finite."""
    values = values[np.isfinite(values)]
    return bool(len(values)) and values.min() >= 0 and float(np.median(values)) <= MOST_LOSS


@dataclass(frozen=True, eq=False)
class Series:
    """One canonical metric of one attempt (one monotone stretch of steps) on one rank, in file order."""

    metric: str
    """Canonical name, see `VOCABULARY`; an unknown metric keeps its own key."""
    key: str
    """The name that the log itself uses."""
    steps: np.ndarray
    """(n,) int64."""
    values: np.ndarray
    """(n,) float64, non-finite values kept."""
    lines: np.ndarray
    """(n,) int64, one-based line in `file`."""
    file: str
    """Artifact name."""
    attempt: str = ""
    """Attempt directory, with `#2`, `#3` for restarts inside one file."""
    rank: int | None = None
    step_is: str = "step"
    """`step` if the log says so, `line` if steps are the order of the log lines (HF dict lines), `cumulative` if
    the log counts steps per epoch and they were added up, `epoch` if only epochs are numbered."""
    axis: str = "step"
    """What `steps` count: steps, or what a table goes along (`epoch`, `tokens`, `time` in seconds, `index`)."""
    group: str = ""
    """Which of several curves of one table this is: `rank=0, task=mmlu`."""
    confidence: float = 1.0
    """How sure name and axis are: below 1 for lines of no declared format, see `tools.logs.points.mined`."""

    def __len__(self) -> int:
        return len(self.steps)

    def at(self, i: int) -> Evidence:
        """The point as evidence."""
        value = float(self.values[i])
        return Evidence(self.file, int(self.lines[i]) or None, int(self.steps[i]), self.rank, self.metric, value)


@dataclass(frozen=True)
class SeriesTable:
    """All series of a run."""

    series: tuple[Series, ...] = ()

    def all(self, metric: str) -> Sequence[Series]:
        return [s for s in self.series if s.metric == metric]

    def get(self, metric: str) -> Series | None:
        """The longest series of the last attempt: what one number about the run should be computed from.

        Of equally long ones that with real steps, then the lowest rank.
        """
        found = self.all(metric)
        if not found:
            return None
        last = max((s.attempt for s in found), key=natural)
        return max(
            (s for s in found if s.attempt == last),
            key=lambda s: (len(s), s.step_is == "step", -(s.rank or 0)),
        )

    def metrics(self) -> list[str]:
        """Names of all metrics, in the order in which they were first read."""
        return list(dict.fromkeys(s.metric for s in self.series))

    def __iter__(self) -> Iterator[Series]:
        return iter(self.series)

    def __len__(self) -> int:
        return len(self.series)
