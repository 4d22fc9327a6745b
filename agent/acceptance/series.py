"""Criteria on logged series: how each comparison reduces a series, and metrics that need more than that.

A series is judged on a stated window after the warm-up where the criterion says so, at least as long as the failure
took to appear. Other artifacts are judged elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...knowledge.entry import Criterion
from ...tools.logs.detectors.detector import UNLEARNED
from ...tools.logs.detectors.robust import head_tail
from ...tools.series import Series
from ...tools.vocabulary import VOCABULARY
from .artifacts import search
from .subject import (
    MIN_POINTS,
    Observation,
    Subject,
    early,
    holds,
    interval,
    metric,
    missing,
    percent,
    seen,
    too_short,
    warmup_end,
)

OUTSIDE = 0.05
"""Share of the points that may lie above a band; the sources speak of a range and name no share."""
DRIFT = 0.1
"""Relative change of the median that still counts as stable; no source names one."""
LEFT, LEFT_UNLEARNED = 0.05, 0.25
"""Gain with which a loss has left its plateau (below 2% is a plateau); more is asked above `UNLEARNED`. Proposed."""
HEALTHY_NORM = (0.5, 5.0)
"""Gradient norm of a healthy run after the warm-up, 002 section 1."""
Reduced = tuple[float | None, bool]


def observe_series(series: Series, subject: Subject, criterion: Criterion) -> Observation:
    """The criterion on one series: the values in its window, reduced by its comparison."""
    start = warmup_end(subject) if criterion.after == "warmup" else 0
    inside = series.steps >= start
    steps, values = series.steps[inside], series.values[inside]
    if not len(steps):
        return missing(f"no {criterion.metric} point after step {start}; the run must go on")
    if criterion.is_ in AGAINST_BASELINE and criterion.metric in SPEEDS:
        return against_baseline(subject, criterion, criterion.metric)
    values = percent(values) if _wants_percent(criterion) else values
    reduce, definition = SERIES[criterion.is_]
    value, ok = reduce(steps, values, criterion)
    window = f"steps {int(steps[0])}..{int(steps[-1])}"
    if len(values) < MIN_POINTS:
        return missing(f"only {len(values)} points of {criterion.metric}", len(values), window, value)
    if ok and (short := too_short(subject, criterion, series, start)):
        return early(short, len(values), window, value)
    lines = series.lines[inside]
    words = definition.format(c=criterion) + f" ({series.key}, {series.file}:{int(lines[0])}-{int(lines[-1])})"
    noise = _error(values) if reduce in (_median, _between) else None
    return Observation(value, len(values), window, words, ok, noise)


def _wants_percent(criterion: Criterion) -> bool:
    """Whether the source states percent and the series is a share."""
    of = VOCABULARY.get(criterion.metric)
    return of is not None and of.unit == "1" and criterion.unit.startswith("%")


def _error(values: np.ndarray) -> float | None:
    """Standard error of a median, as 1.25 times that of the mean."""
    finite = values[np.isfinite(values)]
    return 1.25 * float(finite.std()) / len(finite) ** 0.5 if len(finite) > 1 else None


def _finite(steps: np.ndarray, values: np.ndarray, c: Criterion) -> Reduced:
    bad = int((~np.isfinite(values)).sum())
    return float(bad), bad == 0


def _between(steps: np.ndarray, values: np.ndarray, c: Criterion) -> Reduced:
    assert c.low is not None
    assert c.high is not None
    if not np.isfinite(values).all():
        return float("nan"), False
    median = float(np.median(values))
    return median, c.low <= median <= c.high and float((values > c.high).mean()) <= OUTSIDE


def _median(steps: np.ndarray, values: np.ndarray, c: Criterion) -> Reduced:
    median = float(np.median(values))
    return median, holds(median, c)


def _slope(sign: int) -> Callable[[np.ndarray, np.ndarray, Criterion], Reduced]:
    def reduce(steps: np.ndarray, values: np.ndarray, c: Criterion) -> Reduced:
        if len(values) < 2 or not np.isfinite(values).all():
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
    return drift, drift <= DRIFT


SERIES: dict[str, tuple[Callable[[np.ndarray, np.ndarray, Criterion], Reduced], str]] = {
    "finite": (_finite, "number of non-finite points in the window"),
    "between": (_between, "median in the window; at most 5% of the points above {c.high:g}"),
    "below": (_median, "median in the window"),
    "at-most": (_median, "median in the window"),
    "above": (_median, "median in the window"),
    "at-least": (_median, "median in the window"),
    "equals": (_median, "median in the window"),
    "increases": (_slope(1), "median of the last third minus median of the first third"),
    "decreases": (_slope(-1), "median of the last third minus median of the first third"),
    "stable": (_stable, "relative change of the median between the two halves; 10% allowed (assumed)"),
    "true": (_finite, "number of non-finite points in the window"),
    "false": (_finite, "number of non-finite points in the window"),
}
"""Comparison -> (values in the window to (number, holds), what the number is)."""

AGAINST_BASELINE = ("increases", "decreases")
SPEEDS = ("tokens_per_second", "samples_per_second", "step_time")
"""Series of which "increases" means "more than before the change", not "more and more within the run"."""


@metric("tokens_per_second_against_baseline")
def tokens_per_second_against_baseline(subject: Subject, criterion: Criterion) -> Observation:
    """Median tokens per second after the warm-up, candidate minus baseline, at the same global batch."""
    sizes = [s.value("global_batch_size") for s in (subject.settings, *_old_settings(subject))]
    if len(set(sizes)) > 1:
        return missing(f"the global batch differs ({sizes[1]} before, {sizes[0]} now), so speeds do not compare")
    return against_baseline(subject, criterion, "tokens_per_second")


def _old_settings(subject: Subject):
    return (subject.baseline.settings,) if subject.baseline else ()


def against_baseline(subject: Subject, criterion: Criterion, name: str) -> Observation:
    """Median of a speed after the warm-up, candidate minus baseline."""
    new = subject.table.get(name)
    old = subject.baseline.table.get(name) if subject.baseline else None
    if new is None or old is None:
        where = "this run" if new is None else "the baseline"
        return missing(f"{name} is not logged in {where}; log it in both runs")
    start = warmup_end(subject)
    sides = [s.values[(s.steps >= min(start, int(s.steps[-1]) // 2)) & np.isfinite(s.values)] for s in (old, new)]
    if min(map(len, sides)) < MIN_POINTS:
        return missing(f"fewer than {MIN_POINTS} points of {name} after the warm-up in one of the runs")
    before, after = (float(np.median(v)) for v in sides)
    noise = float(np.hypot(_error(sides[0]) or 0.0, _error(sides[1]) or 0.0))
    words = f"median after warm-up, candidate {after:.4g} minus baseline {before:.4g}; beyond two standard errors"
    change = after - before
    ok = holds(change, criterion) and abs(change) > 2 * noise
    window = f"steps {int(new.steps[0])}..{int(new.steps[-1])}"
    return Observation(change, len(sides[1]), window, words, ok, noise)


UNSTABLE = (
    "loss-nonfinite",
    "loss-hidden-nan",
    "grad-norm-nonfinite",
    "loss-divergence",
    "loss-spike",
    "rl-instability",
    "loss-scale-collapse",
    "reward-decline",
    "entropy-collapse",
    "entropy-explosion",
    "response-length-collapse",
)


@metric("training_stable", "sudden_collapse")
def training_stable(subject: Subject, criterion: Criterion) -> Observation:
    """Number of S0/S1 instability findings of the scan: no NaN or inf, no sustained spike, no collapse."""
    loss = subject.table.get("loss") or subject.table.get("reward")
    if loss is None or len(loss) < MIN_POINTS:
        return missing("neither loss nor reward is logged long enough")
    codes = sorted({f.code for f in subject.found(*UNSTABLE) if f.severity in ("S0", "S1")})
    back = int((np.diff(loss.steps) < 0).sum())
    window = f"steps {int(loss.steps[0])}..{int(loss.steps[-1])}"
    if not codes and not back and (short := too_short(subject, criterion, loss)):
        return early(short, len(loss), window, 0)
    words = "instability findings of the scan (non-finite values, spikes beyond the run's own band, collapses)"
    words += f": {', '.join(codes)}" if codes else ""
    words += f"; the step counter falls back {back} times" if back else ", and a step counter that only rises"
    return Observation(len(codes) + back, len(loss), window, words, not codes and not back)


@metric("loss_decreases_smoothly")
def loss_decreases_smoothly(subject: Subject, criterion: Criterion) -> Observation:
    """Change of the 100-step moving average, last minus first; "smooth" has no number in the source (U-15)."""
    loss = subject.table.get("loss")
    if loss is None or len(loss) < 2 * MIN_POINTS:
        return missing("loss is not logged long enough")
    width = max(min(100 // max(interval(loss.steps) - 1, 1), len(loss) // 2), 1)
    finite = bool(np.isfinite(loss.values).all())
    change = float(loss.values[-width:].mean() - loss.values[:width].mean()) if finite else float("nan")
    window = f"steps {int(loss.steps[0])}..{int(loss.steps[-1])}"
    words = f"moving average over 100 steps ({width} points), last minus first (assumed; the source names no number)"
    ok = finite and change < 0
    if ok and (short := too_short(subject, criterion, loss)):
        return missing(short, len(loss), window, change)
    return Observation(change, len(loss), window, words, ok)


@metric("loss_leaves_plateau")
def loss_leaves_plateau(subject: Subject, criterion: Criterion) -> Observation:
    """Share of its first tenth's loss by which the last tenth is lower: a loss that only creeps has not left."""
    loss = subject.table.get("loss")
    if loss is None or len(loss) < 2 * MIN_POINTS or not np.isfinite(loss.values).all():
        return missing("a finite loss is not logged long enough")
    first, last = head_tail(loss.values)
    gain = (first - last) / abs(first) if first else 0.0
    least = LEFT if last < UNLEARNED else LEFT_UNLEARNED
    window = f"steps {int(loss.steps[0])}..{int(loss.steps[-1])}"
    words = f"loss of the last tenth against the first ({first:.4g} -> {last:.4g}), at least {least:.0%} lower"
    if gain >= least and (short := too_short(subject, criterion, loss)):
        return missing(short, len(loss), window, gain)
    return Observation(gain, len(loss), window, words, gain >= least)


@metric("loss_starts_lower")
def loss_starts_lower(subject: Subject, criterion: Criterion) -> Observation:
    """Change of the loss over the first steps that both runs logged, candidate minus baseline."""
    new = subject.table.get("loss")
    old = subject.baseline.table.get("loss") if subject.baseline else None
    if new is None or old is None or new.step_is != old.step_is:
        return replace(missing("the loss is not logged in both runs"), applies=False)
    steps, i, j = np.intersect1d(old.steps, new.steps, return_indices=True)
    steps, gains = steps[:MIN_POINTS], (new.values[j] - old.values[i])[:MIN_POINTS]
    if len(gains) < MIN_POINTS or not np.isfinite(gains).all():
        return replace(
            missing(f"fewer than {MIN_POINTS} first steps with a loss are common to both runs"), applies=False
        )
    change, noise = float(gains.mean()), float(gains.std(ddof=1) / len(gains) ** 0.5)
    words = f"mean change of the loss over the first {len(steps)} common points; beyond two standard errors"
    window = f"steps {int(steps[0])}..{int(steps[-1])}"
    return Observation(change, len(steps), window, words, change < -2 * noise, noise)


@metric("clip_trigger_rate")
def clip_trigger_rate(subject: Subject, criterion: Criterion) -> Observation:
    """Percent of the steps after the warm-up whose gradient norm exceeds the clip value (U-13).

    The source also calls norms of 0.5 to 5.0 healthy (I-01): with a clip below the run's own healthy norm the two
    exclude each other, so such a run is reported, not failed.
    """
    norm, clip = subject.table.get("grad_norm"), subject.settings.value("grad_clip")
    if norm is None:
        return missing("grad_norm is not logged in this run")
    if not clip:
        return missing("the clip value is not visible in the files that were read")
    values = norm.values[norm.steps >= warmup_end(subject)]
    if len(values) < MIN_POINTS:
        return missing("too few points after the warm-up", len(values))
    rate, median = float((values > float(clip)).mean() * 100), float(np.median(values))
    words = f"percent of logged steps after warm-up with grad_norm > {clip:g}; median norm {median:.3g}"
    noise = 100 * (rate / 100 * (1 - rate / 100) / len(values)) ** 0.5
    if not holds(rate, criterion) and HEALTHY_NORM[0] <= median <= HEALTHY_NORM[1] and np.isfinite(values).all():
        words += "; the norm is in the healthy range 0.5 to 5.0, which this clip value contradicts: not judged"
        return Observation(rate, len(values), "after warm-up", words, None, noise, applies=False)
    if holds(rate, criterion) and (short := too_short(subject, criterion, norm)):
        return missing(short, len(values), "after warm-up", rate)
    return seen(rate, criterion, words, len(values), "after warm-up", noise)


@metric("eval_loss")
def eval_loss(subject: Subject, criterion: Criterion) -> Observation:
    """As any series; "decreases" means that the last value is not above the minimum by more than the noise."""
    series = subject.table.get("eval_loss")
    if series is None:
        return missing("eval_loss is not logged in this run")
    if criterion.is_ != "decreases":
        return observe_series(series, subject, criterion)
    values = series.values[series.steps >= (warmup_end(subject) if criterion.after == "warmup" else 0)]
    if len(values) < MIN_POINTS:
        return missing(f"only {len(values)} evaluations after the warm-up; {MIN_POINTS} are needed", len(values))
    window = f"steps {int(series.steps[0])}..{int(series.steps[-1])}"
    noise = float(np.median(np.abs(np.diff(values))))
    rise = float(values[-1] - values.min())
    ok = bool(np.isfinite(values).all()) and rise <= noise and values[-1] < values[0]
    if ok and (short := too_short(subject, criterion, series)):
        return missing(short, len(values), window, rise)
    words = f"last value above the minimum; noise between neighbouring evaluations {noise:.3g}, and below the first"
    return Observation(rise, len(values), window, words, ok, noise)


@metric("lr_range_test_window")
def lr_range_test_window(subject: Subject, criterion: Criterion) -> Observation:
    """Steps of the short runs (or of the rising sweep) that the learning rate was chosen by."""
    peaks: dict[str, tuple[float, int]] = {}
    for rate in subject.table.all("learning_rate"):
        if len(rate) and np.isfinite(rate.values).any():
            peaks[rate.attempt] = float(np.nanmax(rate.values)), int(rate.steps[-1] - rate.steps[0])
    rate = subject.table.get("learning_rate")
    sweep = rate is not None and len(rate) >= 10 and bool((np.diff(rate.values) > 0).all())
    sweep = sweep and rate is not None and rate.values[-1] > 10 * max(rate.values[0], 1e-12)
    if not sweep and len({p for p, _ in peaks.values()}) < 2:
        return missing("short runs at two or more learning rates, or one sweep of rising rates, are not in this run")
    steps = min(n for _, n in peaks.values())
    words = "steps of the shortest of the short runs" if not sweep else "steps of the rising sweep"
    return seen(float(steps), criterion, f"{words}; peak rates {sorted({p for p, _ in peaks.values()})}", len(peaks))


@metric("samples_per_minute_8xA100")
def samples_per_minute_8xA100(subject: Subject, criterion: Criterion) -> Observation:
    """Median samples per minute after the warm-up; stated for 8 A100 without a model size (U-12)."""
    series = subject.table.get("samples_per_second")
    if series is None:
        return missing("samples_per_second is not logged in this run")
    values = 60 * series.values[series.steps >= warmup_end(subject)]
    if len(values) < MIN_POINTS:
        return missing("too few points after the warm-up", len(values))
    rate, devices = float(np.median(values)), subject.settings.value("world_size")
    words = "median samples per minute after warm-up; the source gives neither model size nor length"
    if devices != 8 or not hardware(subject, "A100"):
        why = f"; stated for 8 A100, this run shows {devices or 'an unknown number of'} devices: not judged"
        return Observation(rate, len(values), "after warm-up", words + why, None, applies=False)
    return seen(rate, criterion, words, len(values), "after warm-up", _error(values))


@metric("mfu")
def mfu(subject: Subject, criterion: Criterion) -> Observation:
    """Median MFU in percent; the source states it for a 7B model on 64 H100 80GB only (U-11)."""
    series = subject.table.get("mfu")
    if series is None:
        return missing("mfu is not logged; the framework's own figure is needed (6N x tokens/s over the bf16 peak)")
    values = percent(series.values[(series.steps >= warmup_end(subject)) & np.isfinite(series.values)])
    if len(values) < MIN_POINTS:
        return missing("too few points after the warm-up", len(values))
    value, model = float(np.median(values)), str(subject.settings.value("model", ""))
    words = "median percent after warm-up, as the framework computes it"
    fits = subject.settings.value("world_size") == 64 and hardware(subject, "H100")
    if not fits or not re.search(r"(?<![\d.])(?:6\.[5-9]|7|7\.\d)b(?![a-z])", model, re.IGNORECASE):
        words += "; stated for a 7B model on 64 H100 80GB, which this run does not show: not judged"
        return Observation(value, len(values), "after warm-up", words, None, applies=False)
    return seen(value, criterion, words, len(values), "after warm-up", _error(values))


def hardware(subject: Subject, name: str) -> bool:
    """Whether the logs name this device."""
    return bool(search(subject, rf"\b(?:NVIDIA[ -])?{name}\b"))


@metric("reward_human_trend_agreement")
def reward_human_trend_agreement(subject: Subject, criterion: Criterion) -> Observation:
    """Sign of the change of the reward equals that of a held-out score over the same window."""
    reward = subject.table.get("reward")
    other = next((s for n in ("eval_reward", "eval_accuracy") if (s := subject.table.get(n))), None)
    if reward is None or other is None or min(len(reward), len(other)) < MIN_POINTS:
        return missing("needs a reference artifact: human or held-out scores over the training steps (eval_reward)")
    change = []
    for s in (reward, other):
        third = max(len(s) // 3, 1)
        change.append(float(np.nanmedian(s.values[-third:]) - np.nanmedian(s.values[:third])))
    if short := too_short(subject, criterion, reward):
        return missing(short, len(other))
    words = f"signs of the changes of reward ({change[0]:.3g}) and {other.key} ({change[1]:.3g}), first to last third"
    agree = change[0] * change[1] > 0
    window = f"steps {int(other.steps[0])}..{int(other.steps[-1])}"
    return seen(agree, criterion, words, len(other), window)


@metric("microbatches_equal_across_dp_ranks")
def microbatches_equal_across_dp_ranks(subject: Subject, criterion: Criterion) -> Observation:
    """Micro-batches counted in the log of every rank; they must be equal up to the last step all ranks reached."""
    if subject.found("collective-mismatch"):
        return seen(False, criterion, "the log shows mismatched collectives", 1)
    hits = search(subject, r"\bmicro[ _-]?(?:batch|step)(?:es|s)?\b\W{0,3}\d+")
    counts: dict[int, int] = {}
    for hit in hits:
        if hit.rank is not None:
            counts[hit.rank] = counts.get(hit.rank, 0) + 1
    if len(counts) < 2:
        return missing("logs of two or more ranks that count their micro-batches are needed (one file or prefix each)")
    if short := too_short(subject, criterion):
        return missing(short, sum(counts.values()))
    low, high = min(counts.values()), max(counts.values())
    words = f"micro-batch lines per rank: {low} to {high} over {len(counts)} ranks"
    return seen(low == high, criterion, words, sum(counts.values()))
