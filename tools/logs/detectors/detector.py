"""What every series detector shares: its registration, the tracks it reads, and robust statistics.

A detector judges a run against that run's own history. Nothing here knows a particular failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...registry import table
from ...series import Series, SeriesTable

S0, S1, S2, S3 = Severity.S0, Severity.S1, Severity.S2, Severity.S3

WARMUP_STEPS = 20
"""Steps in which transients are tolerated. Source: field notes, "early transients up to 36 in the first 20
steps"."""

WINDOW = 50
"""Points of history that form a rolling baseline. Own judgement."""

UNLEARNED = 5.0
"""Loss (nats per token) that a model which has learned anything is below: a perplexity of 150. Own judgement."""

RL_METRICS = frozenset({"reward", "kl", "response_length", "clip_fraction"})
"""Metrics that only reinforcement learning logs; its policy loss has no meaningful level."""


@dataclass(frozen=True)
class Track:
    """The series that belong together: one attempt of one file on one rank."""

    file: str
    attempt: str
    rank: int | None
    series: tuple[Series, ...]
    grad_clip: float | None = None
    """Gradient clipping threshold from the run's settings, where known."""

    def get(self, metric: str) -> Series | None:
        """The longest series of a canonical metric."""
        found = [s for s in self.series if s.metric == metric]
        return max(found, key=len, default=None)

    @property
    def is_rl(self) -> bool:
        return any(s.metric in RL_METRICS for s in self.series)


def tracks_of(table: SeriesTable, grad_clip: float | None = None) -> list[Track]:
    """Group the series of a run by file, attempt and rank, in the order of the table."""
    groups: dict[tuple[str, str, int | None], list[Series]] = {}
    for series in table:
        if len(series):
            groups.setdefault((series.file, series.attempt, series.rank), []).append(distinct(series))
    return [Track(*where, tuple(found), grad_clip) for where, found in groups.items()]


def distinct(series: Series) -> Series:
    """The series without repeats of the step before (pollers print one line many times)."""
    before, after = series.values[:-1], series.values[1:]
    same = (before == after) | (~np.isfinite(before) & ~np.isfinite(after))
    keep = np.concatenate([[True], (np.diff(series.steps) != 0) | ~same])
    return series if keep.all() else subset(series, keep)


def subset(series: Series, keep: np.ndarray) -> Series:
    return replace(series, steps=series.steps[keep], values=series.values[keep], lines=series.lines[keep])


def finite(series: Series) -> Series:
    """Only the finite points."""
    return subset(series, np.isfinite(series.values))


def settled(series: Series) -> Series:
    """The finite points after warm-up transients (see `WARMUP_STEPS`)."""
    return subset(series, np.isfinite(series.values) & (series.steps > WARMUP_STEPS))


DetectorRun = Callable[[Track], Iterator[Finding]]
RunDetectorRun = Callable[[Sequence[Track]], Iterator[Finding]]


@dataclass(frozen=True)
class Detector:
    """One registered detector: `run` takes a track, `run_all` all tracks of the run at once."""

    name: str
    """The main finding code, and the name of the check in the coverage list."""
    needs: tuple[str, ...]
    """Canonical metrics of which at least one must be logged, else the check is not applicable."""
    codes: Mapping[str, str] = field(default_factory=dict)
    """Every code it may yield, with one line of meaning."""
    run: DetectorRun | None = None
    run_all: RunDetectorRun | None = None


DETECTORS: dict[str, Detector] = {}


def detector(name: str, meaning: str, needs: Sequence[str], **more: str) -> Callable[[DetectorRun], DetectorRun]:
    """Register a detector that looks at one track at a time.

    `more` names further codes it may yield, with `_` for `-`.
    """

    def register(run: DetectorRun) -> DetectorRun:
        _register(Detector(name, tuple(needs), _codes(name, meaning, more), run=run))
        return run

    return register


def run_detector(
    name: str, meaning: str, needs: Sequence[str], **more: str
) -> Callable[[RunDetectorRun], RunDetectorRun]:
    """Register a detector that compares the tracks of a run (ranks, attempts)."""

    def register(run: RunDetectorRun) -> RunDetectorRun:
        _register(Detector(name, tuple(needs), _codes(name, meaning, more), run_all=run))
        return run

    return register


def _codes(name: str, meaning: str, more: Mapping[str, str]) -> dict[str, str]:
    return {name: meaning} | {code.replace("_", "-"): text for code, text in more.items()}


def _register(new: Detector) -> None:
    said = new if new.needs and all(new.codes.values()) else None
    DETECTORS.update(table("DETECTORS", (*DETECTORS.items(), (new.name, said))))


def finding(
    code: str,
    severity: Severity,
    shown: Sequence[tuple[Series, int]],
    message: str,
    zh: str,
    **data: Any,
) -> Finding:
    """A finding whose evidence is the shown points; the first one gives `first_step` unless stated."""
    series, i = shown[0]
    base: dict[str, Any] = {
        "first_step": int(series.steps[i]),
        "metric": series.metric,
        "key": series.key,
        "step_is": series.step_is,
    }
    if series.attempt:
        base["attempt"] = series.attempt
    evidence: tuple[Evidence, ...] = tuple(s.at(j) for s, j in shown)
    return Finding(code, severity, message, zh, evidence, base | data)


def where(series: Series, i: int) -> str:
    """`step 4000`, or `log line 3` where the log does not number its steps, or `epoch 2`."""
    return f"{_COUNTED.get(series.step_is, 'step')} {int(series.steps[i])}"


def where_zh(series: Series, i: int) -> str:
    return f"第 {int(series.steps[i])} {_COUNTED_ZH.get(series.step_is, '步')}"


_COUNTED = {"line": "log line", "epoch": "epoch"}
_COUNTED_ZH = {"line": "条日志记录", "epoch": "个 epoch"}
"""What the steps of a series are, by `Series.step_is`, where they are no steps."""


# Robust statistics -----------------------------------------------------------------------------------


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


def rolling(values: np.ndarray, window: int = WINDOW, most: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    """Median and robust sigma of up to `window` values before each point, both (n,), nan at the first.

    Past `most` points the baseline is computed at every n-th point and held in between.
    """
    n = len(values)
    medians, sigmas = np.full(n, np.nan), np.full(n, np.nan)
    for i in range(1, min(n, window)):
        medians[i], sigmas[i] = np.median(values[:i]), sigma(values[:i])
    if n > window:
        stride = max(1, n // most)
        views = np.lib.stride_tricks.sliding_window_view(values[:-1], window)[::stride]
        middle = np.median(views, axis=1)
        spread = 1.4826 * np.median(np.abs(views - middle[:, None]), axis=1)
        medians[window:] = np.repeat(middle, stride)[: n - window]
        sigmas[window:] = np.repeat(spread, stride)[: n - window]
    return medians, sigmas


def blocks(values: np.ndarray, most: int = 200) -> np.ndarray:
    """At most `most` block medians of the values."""
    if len(values) <= most:
        return values
    return np.array([np.median(b) for b in np.array_split(values, most)])


def mann_kendall(values: np.ndarray) -> tuple[float, float]:
    """Kendall's tau of the values against time, and its z score (normal approximation, no tie correction)."""
    x = blocks(values)
    n = len(x)
    if n < 4:
        return 0.0, 0.0
    s = float(np.sign(x[None, :] - x[:, None])[np.triu_indices(n, 1)].sum())
    z = (s - np.sign(s)) / np.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    return s / (n * (n - 1) / 2), float(z)


def onset(outside: np.ndarray) -> int | None:
    """Index from which every later point is outside the healthy band, None when the last one is inside."""
    if not len(outside) or not outside[-1]:
        return None
    inside = np.flatnonzero(~outside)
    return int(inside[-1]) + 1 if len(inside) else 0
