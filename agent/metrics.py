"""Acceptance metrics: each computes one number from a run's artifacts, or says what is missing.

A canonical series (`loss`, `kl`, ...) is reduced by the criterion's own comparison (`SERIES`); any other metric is a
function here, found by its name. `no-observation` is never a pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..knowledge.entry import Criterion
from ..tools.findings import Report
from ..tools.run import Run
from ..tools.series import Series, SeriesTable
from ..tools.settings import Settings

MIN_POINTS = 5
"""Fewer points than this say nothing about a series."""


@dataclass(frozen=True)
class Subject:
    """The run that is judged, and what the baseline asks of it."""

    run: Run
    table: SeriesTable
    settings: Settings
    scan: Report
    must_reach: int = 0
    """Step at which the baseline failed: a shorter run has not been tested."""


@dataclass(frozen=True)
class Observation:
    """One measured number with how it was measured."""

    value: float | bool | str | None
    points: int
    window: str
    definition: str
    ok: bool | None
    """Whether the criterion holds; None when it could not be observed."""


Metric = Callable[[Subject, Criterion], Observation]
METRICS: dict[str, Metric] = {}


def metric(name: str) -> Callable[[Metric], Metric]:
    """Register the function that computes the acceptance metric `name`."""

    def register(function: Metric) -> Metric:
        if name in METRICS:
            raise ValueError(f"acceptance metric {name!r} is defined twice")
        METRICS[name] = function
        return function

    return register


def observe(subject: Subject, criterion: Criterion) -> Observation:
    """Compute the criterion's metric on the subject."""
    if function := METRICS.get(criterion.metric):
        return function(subject, criterion)
    if criterion.needs:
        return missing(f"needs {criterion.needs}")
    series = subject.table.get(criterion.metric)
    if series is None:
        return missing(f"{criterion.metric} is not logged in this run")
    return _observe_series(series, subject, criterion)


def missing(what: str) -> Observation:
    return Observation(None, 0, "", what, None)


def _observe_series(series: Series, subject: Subject, criterion: Criterion) -> Observation:
    start = warmup_end(subject) if criterion.after == "warmup" else 0
    inside = series.steps >= start
    steps, values = series.steps[inside], series.values[inside]
    if not len(steps):
        return missing(f"no {criterion.metric} point after step {start}")
    reduce, definition = SERIES[criterion.is_]
    value, ok = reduce(steps, values, criterion)
    window = f"steps {int(steps[0])}..{int(steps[-1])}"
    wanted = criterion.window.get("steps", 0) if criterion.window else 0
    short = series.step_is == "step" and (
        int(series.steps[-1]) < subject.must_reach or int(steps[-1]) - int(steps[0]) < wanted - _interval(steps)
    )
    if len(values) < MIN_POINTS or (short and ok):
        need = max(subject.must_reach, start + wanted)
        return Observation(value, len(values), window, f"too short: the run must reach step {need}", None)
    return Observation(value, len(values), window, definition.format(c=criterion), ok)


def _interval(steps: np.ndarray) -> int:
    return int(np.median(np.diff(steps))) + 1 if len(steps) > 1 else 1


def warmup_end(subject: Subject) -> int:
    """Last warm-up step: from the settings, else where the learning rate peaks first, else 0."""
    if steps := subject.settings.value("warmup_steps"):
        return int(steps)
    rate = subject.table.get("learning_rate")
    if rate is None or not len(rate) or not np.isfinite(rate.values).any():
        return 0
    return int(rate.steps[int(np.nanargmax(rate.values))])


Reduced = tuple[float | None, bool]


def _finite(steps: np.ndarray, values: np.ndarray, c: Criterion) -> Reduced:
    bad = int((~np.isfinite(values)).sum())
    return float(bad), bad == 0


def _between(steps: np.ndarray, values: np.ndarray, c: Criterion) -> Reduced:
    assert c.low is not None
    assert c.high is not None
    if not np.isfinite(values).all():
        return float("nan"), False
    median = float(np.median(values))
    return median, c.low <= median <= c.high and float((values > c.high).mean()) <= 0.05


def _against(
    value: str, compare: Callable[[float, float], bool]
) -> Callable[[np.ndarray, np.ndarray, Criterion], Reduced]:
    def reduce(steps: np.ndarray, values: np.ndarray, c: Criterion) -> Reduced:
        median = float(np.median(values))
        return median, bool(np.isfinite(median)) and compare(median, float(getattr(c, value)))

    return reduce


def _slope(sign: int) -> Callable[[np.ndarray, np.ndarray, Criterion], Reduced]:
    def reduce(steps: np.ndarray, values: np.ndarray, c: Criterion) -> Reduced:
        keep = np.isfinite(values)
        if keep.sum() < 2 or not keep.all():
            return float("nan"), False
        third = max(len(values) // 3, 1)
        change = float(np.median(values[-third:]) - np.median(values[:third]))
        return change, change * sign > 0

    return reduce


def _stable(steps: np.ndarray, values: np.ndarray, c: Criterion) -> Reduced:
    if not np.isfinite(values).all():
        return float("nan"), False
    half = len(values) // 2
    early, late = float(np.median(values[:half])), float(np.median(values[half:]))
    drift = abs(late - early) / max(abs(early), 1e-12)
    return drift, drift <= 0.1


SERIES: dict[str, tuple[Callable[[np.ndarray, np.ndarray, Criterion], Reduced], str]] = {
    "finite": (_finite, "number of non-finite points in the window"),
    "between": (_between, "median in the window; at most 5% of the points above {c.high:g}"),
    "below": (_against("high", lambda v, t: v < t), "median in the window"),
    "at-most": (_against("high", lambda v, t: v <= t), "median in the window"),
    "above": (_against("low", lambda v, t: v > t), "median in the window"),
    "at-least": (_against("low", lambda v, t: v >= t), "median in the window"),
    "equals": (_against("value", lambda v, t: v == t), "median in the window"),
    "increases": (_slope(1), "median of the last third minus median of the first third"),
    "decreases": (_slope(-1), "median of the last third minus median of the first third"),
    "stable": (_stable, "relative change of the median between the two halves; 10% allowed (assumed)"),
    "true": (_finite, "number of non-finite points in the window"),
    "false": (_finite, "number of non-finite points in the window"),
}
"""Comparison -> (values in the window to (number, holds), what the number is)."""


def judge(value: Any, c: Criterion) -> bool:
    """Whether a single number or truth value meets the criterion."""
    match c.is_:
        case "true":
            return bool(value)
        case "false":
            return not value
        case "equals":
            return value == c.value or float(value) == float(c.value or 0)
        case "between":
            return (c.low or 0) <= value <= (c.high or 0)
        case "below":
            return value < c.high
        case "at-most":
            return value <= c.high
        case "above":
            return value > c.low
        case "at-least":
            return value >= c.low
    raise ValueError(f"{c.metric}: {c.is_!r} needs a series, not one number")


UNSTABLE = frozenset(
    {
        "loss-nonfinite",
        "loss-hidden-nan",
        "grad-norm-nonfinite",
        "loss-divergence",
        "loss-spike",
        "rl-instability",
        "loss-scale-collapse",
        "reward-decline",
        "entropy-collapse",
        "response-length-collapse",
    }
)


@metric("training_stable")
@metric("sudden_collapse")
def training_stable(subject: Subject, criterion: Criterion) -> Observation:
    """Number of S0/S1 instability findings of the scan: no NaN or inf, no sustained spike, no collapse."""
    loss = subject.table.get("loss") or subject.table.get("reward")
    if loss is None or len(loss) < MIN_POINTS:
        return missing("neither loss nor reward is logged long enough")
    seen = sorted(f.code for f in subject.scan.findings if f.code in UNSTABLE and f.severity in ("S0", "S1"))
    window = f"steps {int(loss.steps[0])}..{int(loss.steps[-1])}"
    if not seen and loss.step_is == "step" and int(loss.steps[-1]) < subject.must_reach:
        return Observation(0, len(loss), window, f"too short: the run must reach step {subject.must_reach}", None)
    return Observation(
        len(seen),
        len(loss),
        window,
        f"instability findings of the scan{': ' + ', '.join(seen) if seen else ''}",
        not seen,
    )


@metric("loss_decreases_smoothly")
def loss_decreases_smoothly(subject: Subject, criterion: Criterion) -> Observation:
    """Change of the 100-step moving average, last minus first; "smooth" has no number in the source (U-15)."""
    loss = subject.table.get("loss")
    if loss is None or len(loss) < 2 * MIN_POINTS:
        return missing("loss is not logged long enough")
    width = max(min(100 // max(_interval(loss.steps) - 1, 1), len(loss) // 2), 1)
    finite = bool(np.isfinite(loss.values).all())
    change = float(loss.values[-width:].mean() - loss.values[:width].mean()) if finite else float("nan")
    return Observation(
        change,
        len(loss),
        f"steps {int(loss.steps[0])}..{int(loss.steps[-1])}",
        "100-step moving average, last minus first (assumed)",
        finite and change < 0,
    )


@metric("clip_trigger_rate")
def clip_trigger_rate(subject: Subject, criterion: Criterion) -> Observation:
    """Share of post-warm-up steps whose gradient norm exceeds the clip value, in percent (U-13; contradicts I-01)."""
    norm, clip = subject.table.get("grad_norm"), subject.settings.value("grad_clip")
    if norm is None:
        return missing("grad_norm is not logged in this run")
    if not clip:
        return missing("the clip value is not visible in the files that were read")
    values = norm.values[norm.steps >= warmup_end(subject)]
    if len(values) < MIN_POINTS:
        return missing("too few points after the warm-up")
    rate = float((values > float(clip)).mean() * 100)
    return Observation(
        rate,
        len(values),
        "after warm-up",
        f"percent of logged steps with grad_norm > {clip:g}",
        judge(rate, criterion),
    )
