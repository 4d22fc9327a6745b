"""What every series detector shares: its registration, the tracks it reads, and how it says what it found.

A detector judges a run against that run's own history. Nothing here knows a particular failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...findings import Finding, Severity
from ...registry import table
from ...series import SURE, Series, SeriesTable
from .robust import distinct, finite

S0, S1, S2, S3 = Severity.S0, Severity.S1, Severity.S2, Severity.S3

UNLEARNED = 5.0
"""Loss (nats per token) that a model which has learned anything is below: a perplexity of 150. Own judgement."""

RL_METRICS = frozenset({"reward", "kl", "response_length", "clip_fraction"})
"""Metrics that only reinforcement learning logs; its policy loss has no meaningful level."""
POLICY_METRICS, ENOUGH = frozenset({"kl", "ppo_kl", "entropy", "value_loss", "response_length", "clip_fraction"}), 2
"""What is logged of a policy, and how many of them beside a reward tell that one is trained."""


def stage_of(series: Iterable[Series]) -> str:
    """`ppo` where a reward is logged beside what only reinforcement learning logs, else nothing."""
    metrics = {s.metric for s in series}
    return "ppo" if "reward" in metrics and len(metrics & POLICY_METRICS) >= ENOUGH else ""


EPOCHS, LEAST_EPOCHS = "train_loss_mean", 5
"""Mean loss of an epoch, and points of it from which on it is the curve of a training and not its summary."""


@dataclass(frozen=True)
class Track:
    """The series that belong together: one attempt of one file on one rank."""

    file: str
    attempt: str
    rank: int | None
    series: tuple[Series, ...]
    grad_clip: float | None = None
    """Gradient clipping threshold from the run's settings, where known."""
    classes: int | None = None
    """Classes of the task, where the run's files say them."""

    def get(self, metric: str) -> Series | None:
        """The longest series of a canonical metric; where only its mean over each epoch is logged, that of the loss."""
        found = [s for s in self.series if s.metric == metric]
        if not found and metric == "loss":
            found = [s for s in self.series if s.metric == EPOCHS and s.step_is == "epoch" and len(s) >= LEAST_EPOCHS]
        return max(found, key=len, default=None)

    def points(self, metric: str, least: int = 1) -> Series | None:
        """The finite points of a metric, None where there are fewer than `least`."""
        series = self.get(metric)
        points = None if series is None else finite(series)
        return points if points is not None and len(points) >= least else None

    def like(self, metric: str, other: Series) -> Series | None:
        """The longest finite points of a metric whose steps count the same as those of `other`, None without any."""
        found = [s for s in self.series if (s.metric, s.step_is, s.axis) == (metric, other.step_is, other.axis)]
        return finite(max(found, key=len)) if found else None

    @property
    def is_rl(self) -> bool:
        return any(s.metric in RL_METRICS for s in self.series)


def tracks_of(table: SeriesTable, grad_clip: float | None = None, classes: int | None = None) -> list[Track]:
    """Group the series of a run by file, attempt and rank, in the order of the table."""
    groups: dict[tuple[str, str, int | None], list[Series]] = {}
    for series in table:
        if len(series):
            groups.setdefault((_kept_in(series), series.attempt, series.rank), []).append(distinct(series))
    return [Track(*where, tuple(found), grad_clip, classes) for where, found in groups.items()]


def _kept_in(series: Series) -> str:
    """Its file; of a file named after its metric (`metrics/train/loss`, `tag-loss.csv`) what its neighbours share."""
    return series.file.removesuffix(".csv").removesuffix(series.key) or series.file


@dataclass(frozen=True)
class Detector:
    """One registered detector."""

    name: str
    """The main finding code, and the name of the check in the coverage list."""
    needs: tuple[str, ...]
    """Canonical metrics of which at least one must be logged, else the check is not applicable."""
    codes: Mapping[str, str]
    """Every code it may yield, with one line of meaning."""
    judge: Callable[[Sequence[Track]], Iterable[Finding]]
    """Looks at all tracks of the run."""
    least: int = 1
    """Finite points of one of `needs` below which finding nothing says nothing."""


DETECTORS: dict[str, Detector] = {}


def run_detector(
    name: str, meaning: str, needs: Sequence[str], least: int = 1, **more: str
) -> Callable[[RunJudge], RunJudge]:
    """Register a detector that compares the tracks of a run (ranks, attempts).

    `more` names further codes it may yield, with `_` for `-`.
    """

    def register(judge: RunJudge) -> RunJudge:
        codes = {name: meaning} | {code.replace("_", "-"): text for code, text in more.items()}
        said = Detector(name, tuple(needs), codes, judge, least) if needs and all(codes.values()) else None
        DETECTORS.update(table("DETECTORS", (*DETECTORS.items(), (name, said))))
        return judge

    return register


def detector(name: str, meaning: str, needs: Sequence[str], least: int = 1, **more: str) -> Callable[[Judge], Judge]:
    """Register a detector that looks at one track at a time."""

    def register(judge: Judge) -> Judge:
        run_detector(name, meaning, needs, least, **more)(lambda tracks: (f for track in tracks for f in judge(track)))
        return judge

    return register


def points_detector(
    name: str, meaning: str, metric: str, least: int = 1, **more: str
) -> Callable[[PointsJudge], PointsJudge]:
    """Register a detector of one metric: it is given the finite points of a track, if there are `least`; of several
    names, apart by blanks, those of the first that has them."""
    names = metric.split()

    def register(judge: PointsJudge) -> PointsJudge:
        def of_track(track: Track) -> Iterable[Finding]:
            points = next((p for one in names if (p := track.points(one, least)) is not None), None)
            return () if points is None else judge(points, track)

        detector(name, meaning, names, least, **more)(of_track)
        return judge

    return register


RunJudge = Callable[[Sequence[Track]], Iterable[Finding]]
Judge = Callable[[Track], Iterable[Finding]]
PointsJudge = Callable[[Series, Track], Iterable[Finding]]


def finding(
    code: str, severity: Severity, shown: Sequence[tuple[Series, int]], message: str, zh: str, **data: Any
) -> Finding:
    """A finding whose evidence is the shown points; the first one gives `first_step` unless stated."""
    series, i = shown[0]
    if severity < S2 and all(s.confidence < SURE for s, _ in shown):
        severity = S2  # what the lines mean is a guess
    step = int(series.steps[i])
    base = {"first_step": step, "metric": series.metric, "key": series.key, "step_is": series.step_is}
    attempt = {"attempt": series.attempt} if series.attempt else {}
    return Finding(code, severity, message, zh, tuple(s.at(j) for s, j in shown), base | attempt | data)


def where(series: Series, i: int) -> str:
    """`step 4000`, or `logged point 3` where the log does not number its steps, or `epoch 2`."""
    return f"{_COUNTED.get(series.step_is, 'step')} {int(series.steps[i])}"


def where_zh(series: Series, i: int) -> str:
    return f"第 {int(series.steps[i])} {_COUNTED_ZH.get(series.step_is, '步')}"


_COUNTED = {"line": "logged point", "epoch": "epoch"}
_COUNTED_ZH = {"line": "条日志记录", "epoch": "个 epoch"}
"""What the steps of a series are, by `Series.step_is`, where they are no steps."""
