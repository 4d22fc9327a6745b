"""Detectors of NaN and infinity: first bad step, values that hide one, and what came just before.

A non-finite value that the run survives (an fp16 overflow step, one masked batch) is a note, not a failure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...findings import Finding, Severity
from ...series import Series
from .detector import S0, S1, S2, S3, Track, detector, finding, where, where_zh
from .robust import WINDOW, head_tail, mann_kendall

RL_LOSSES = ("policy_loss", "value_loss", "critic_grad_norm")
OTHER_METRICS = ("reward", "kl", "entropy", "response_length", "codebook_entropy", *RL_LOSSES)


Kind = Literal["persistent", "long", "transient", "leading"]


@dataclass(frozen=True)
class BadSpan:
    """How a series becomes non-finite."""

    first: int
    """Index of the first point of the failure (or of the first non-finite point, if it was survived)."""
    last_finite: int | None
    """Index of the last finite point before `first`."""
    count: int
    kind: Kind
    """`persistent`: to the end of the log; `long`: survived after many points; `leading`: only at the start."""


def bad_span(series: Series) -> BadSpan | None:
    """Where and how the series stops being finite, None when it never does."""
    bad = ~np.isfinite(series.values)
    if not bad.any():
        return None
    first, count = int(np.flatnonzero(bad)[0]), int(bad.sum())
    kind: Kind
    if bad[-1]:
        kind, first = "persistent", _failure_start(bad)
    elif first == 0 and not bad[min(3, len(bad) - 1) :].any():
        kind = "leading"
    else:
        kind = "long" if count >= 5 and bad[first:].mean() > 0.05 else "transient"
    before = np.flatnonzero(~bad[:first])
    return BadSpan(first, int(before[-1]) if len(before) else None, count, kind)


def _failure_start(bad: np.ndarray) -> int:
    """Start of the final stretch in which nine points of ten are bad: early overflow steps do not count."""
    tail_share = np.cumsum(bad[::-1])[::-1] / np.arange(len(bad), 0, -1)
    return int(np.flatnonzero(bad & (tail_share >= 0.9))[0])


def failure(track: Track) -> tuple[Series, BadSpan] | None:
    """The earliest persistent failure of loss or grad_norm in a track."""
    spans = ((s, bad_span(s)) for s in track.series if s.metric in ("loss", "grad_norm"))
    found = [(series, span) for series, span in spans if span and span.kind == "persistent"]
    return min(found, key=lambda f: f[0].steps[f[1].first], default=None)


_AFTER = {
    "persistent": ("and stays so to the end of the log", "直到日志结束"),
    "long": ("{} values in all; the run recovers later", "共 {} 个，之后恢复"),
    "transient": ("{} value(s) in all; the run goes on with finite values", "共 {} 个，之后仍为有限值"),
    "leading": ("only at the start of the log", "仅出现在日志开头"),
}
"""What became of it, in both languages."""


def _nonfinite(code: str, severity: Severity, series: Series, span: BadSpan) -> Finding:
    i, good = span.first, span.last_finite
    last = None if good is None else int(series.steps[good])
    before = "no finite value was logged before it" if last is None else f"last finite at {last}"
    before_zh = "此前没有有限值" if last is None else f"最后一个有限值在 {last}"
    after, after_zh = (text.format(span.count) for text in _AFTER[span.kind])
    since, bad = len(series) - i, int((~np.isfinite(series.values[i:])).sum())
    if span.kind == "persistent" and bad < since:
        after, after_zh = (
            f"and so are {bad} of the {since} points from there to the end of the log",
            f"此后直到日志结束的 {since} 个点中有 {bad} 个如此",
        )
    en = f"{series.key} is {series.values[i]} from {where(series, i)} ({before}), {after}."
    zh = f"{series.key} 自{where_zh(series, i)}起为 {series.values[i]}（{before_zh}），{after_zh}。"
    shown = [(series, j) for j in (i, good) if j is not None]
    data = {"last_finite_step": last, "nonfinite_points": span.count, "points": len(series), "kind": span.kind}
    return finding(code, severity, shown, en, zh, **data)


SUMMED = ("train_loss", "train_loss_mean", "train/train_loss")
"""Keys of the mean loss of a training that has ended."""


@detector("loss-nonfinite", "the training loss is NaN or infinite", ["loss"])
def loss_nonfinite(track: Track) -> Iterator[Finding]:
    """NaN or infinity in the loss. S0 to the end of the log, S1 after a long stretch, else S2 or S3.

    Source of the severity: runbook 001 C.2, 002 §1; that a survived value is less: own judgement.
    """
    grades = {"persistent": S0, "long": S1, "transient": S2, "leading": S3}
    for series in track.series:
        span = bad_span(series) if series.metric == "loss" else None
        if span:
            yield _nonfinite("loss-nonfinite", grades[span.kind], series, span)


@detector("eval-loss-nonfinite", "the evaluation loss is NaN or infinite", ["eval_loss"])
def eval_loss_nonfinite(track: Track) -> Iterator[Finding]:
    """NaN or infinity in the loss on held-out data: S1 to the end of the log, else a note.

    A mean training loss of exactly 0.0 beside it is a NaN too, which the trainer filters out of its mean.
    """
    for series in track.series:
        span = bad_span(series) if series.metric == "eval_loss" else None
        if span is None:
            continue
        yield _nonfinite("eval-loss-nonfinite", S1 if span.kind == "persistent" else S3, series, span)
        mean = track.get("train_loss_mean")
        if span.kind == "persistent" and mean is not None and track.get("loss") is None and not mean.values.any():
            en = (
                f"{mean.key} is exactly {mean.values[-1]:.1f} while {series.key} is {series.values[-1]} at "
                f"{span.count} of {len(series)} evaluations: the training loss is NaN too, the trainer leaves it out "
                "of its mean."
            )
            zh = (
                f"{mean.key} 恰为 {mean.values[-1]:.1f}，而 {len(series)} 次评测中有 {span.count} 次 {series.key} 为 "
                f"{series.values[-1]}：训练 loss 也是 NaN，训练器求平均时把它过滤掉了。"
            )
            shown = [(mean, len(mean) - 1), (series, span.first)]
            yield finding("loss-hidden-nan", S1, shown, en, zh, first_step=int(series.steps[span.first]))


@detector("grad-norm-nonfinite", "the gradient norm is NaN or infinite", ["grad_norm"])
def grad_norm_nonfinite(track: Track) -> Iterator[Finding]:
    """NaN or infinity in the gradient norm.

    S0 to the end of the log, unless the loss goes on falling normally (S2: the printed norm is wrong, or the scaler
    skips those steps) or the log ends at this one value next to a normal loss (S2). Survived values are S3: fp16 prints
    them for every skipped step (field notes).
    """
    for series in track.series:
        span = bad_span(series) if series.metric == "grad_norm" else None
        if span:
            lasting = span.kind == "persistent" and not _norm_alone(track, series, span)
            severity = S0 if lasting else S2 if span.kind in ("persistent", "long") else S3
            yield _nonfinite("grad-norm-nonfinite", severity, series, span)


def _norm_alone(track: Track, norm: Series, span: BadSpan) -> bool:
    """Whether only the norm is bad: the loss goes on falling, or the log ends at the first bad norm."""
    step = int(norm.steps[span.first])
    loss = track.get("loss")
    if span.first == len(norm) - 1 and len(norm) >= 3 and loss is not None:
        later = loss.values[loss.steps >= step]
        return bool(np.isfinite(later).all() and (later != 0).all())
    return _loss_still_learns(track, step)


def _loss_still_learns(track: Track, step: int) -> bool:
    """Whether the loss after `step` is finite, varies and does not rise: the optimiser still works."""
    loss = track.get("loss")
    if loss is None:
        return False
    later = loss.values[loss.steps >= step]
    if len(later) < 10 or not np.isfinite(later).all() or len(np.unique(later)) < len(later) / 2:
        return False
    return mann_kendall(later)[1] < -2


@detector("nonfinite-from-start", "no finite loss or gradient norm was ever logged", ["loss", "grad_norm"])
def nonfinite_from_start(track: Track) -> Iterator[Finding]:
    """The loss or the gradient norm is bad from the first logged point to the end, at three points or more.

    Then nothing that training did is the cause: the weights it began with, an operation, or the labels are.
    """
    found = failure(track)
    if found is None:
        return
    series, span = found
    if span.first == 0 and span.last_finite is None and len(series) >= 3:
        key, value = series.key, series.values[0]
        en = f"{key} is {value} from the first logged point ({where(series, 0)}) to the end: the run began broken."
        zh = f"{key} 从第一个记录点（{where_zh(series, 0)}）起直到最后都是 {value}：训练一开始就是坏的。"
        yield finding("nonfinite-from-start", S2, [(series, 0)], en, zh, points=len(series))


@detector("metric-nonfinite", "a metric other than loss and grad_norm is NaN or infinite", OTHER_METRICS)
def metric_nonfinite(track: Track) -> Iterator[Finding]:
    """NaN or infinity in reward, KL, entropy, response length or the losses of actor and critic.

    S1 only to the end, at two points or more; what is not a loss must have been finite before.
    """
    for series in track.series:
        span = bad_span(series) if series.metric in OTHER_METRICS else None
        if span:
            started = span.last_finite is not None or series.metric in RL_LOSSES
            lasting = span.kind == "persistent" and started and span.count >= 2
            yield _nonfinite("metric-nonfinite", S1 if lasting else S3, series, span)


@detector(
    "loss-hidden-nan",
    "the logged loss is 0.0 or a flat mean while the gradient is NaN",
    ["loss", "samples_per_second"],
    loss_zero="the loss is exactly 0.0 while nothing explains it",
    mean_loss_zero="the mean loss of a whole training is exactly 0.0",
)
def loss_hidden_nan(track: Track) -> Iterator[Finding]:
    """A NaN that the logged loss hides.

    Hugging Face prints `loss 0.0` next to `grad_norm nan`; its NaN filter (`logging_nan_inf_filter`) replaces a NaN
    loss by an average (field notes). A loss of 0.0 with a finite norm is normal in GRPO and stays silent.
    """
    loss, norm = track.get("loss"), track.get("grad_norm")
    if mean := next((s for s in track.series if s.key in SUMMED and not s.values.any() and not track.is_rl), None):
        yield from _mean_zero(mean)
        return
    if loss is None:
        return
    span = bad_span(norm) if norm is not None else None
    if norm is not None and span and span.kind == "persistent":
        yield from _hidden_behind_norm(track, loss, norm, span)
    elif not track.is_rl:
        yield from _loss_zero(loss, norm)


def _hidden_behind_norm(track: Track, loss: Series, norm: Series, span: BadSpan) -> Iterator[Finding]:
    step = int(norm.steps[span.first])
    after = np.flatnonzero((loss.steps >= step) & np.isfinite(loss.values))
    if not len(after) or _loss_still_learns(track, step):
        return
    values = loss.values[after]
    zero = bool((values == 0.0).mean() > 0.5)
    level = float(np.median(np.abs(values)))
    flat = len(values) >= 3 and float(np.ptp(values)) <= 1e-3 * max(level, 1e-12)
    if not (zero or flat):
        return
    what, what_zh = ("0.0", "0.0") if zero else (f"a flat {level:.4g}", f"不变的 {level:.4g}")
    i, bad, good = int(after[0]), norm.values[span.first], span.last_finite
    en = (
        f"{loss.key} is logged as {what} from {where(loss, i)} while {norm.key} is {bad}: the real loss is NaN, "
        "the log hides it."
    )
    zh = f"自{where_zh(loss, i)}起 {loss.key} 记录为 {what_zh}，而 {norm.key} 为 {bad}：真实 loss 是 NaN，被日志掩盖。"
    last = None if good is None else int(norm.steps[good])
    data = {"first_step": step, "last_finite_step": last, "logged_loss": level}
    yield finding("loss-hidden-nan", S0, [(loss, i), (norm, span.first)], en, zh, **data)


def _mean_zero(mean: Series) -> Iterator[Finding]:
    en = f"{mean.key}, the mean of the whole training, is exactly 0.0: NaN was filtered out, or no label is trained."
    zh = f"整个训练的平均 {mean.key} 恰好为 0.0：要么 NaN 被过滤，要么没有标签参与训练。"
    yield finding("mean-loss-zero", S1, [(mean, len(mean) - 1)], en, zh)


def _loss_zero(loss: Series, norm: Series | None) -> Iterator[Finding]:
    """An exactly zero supervised loss: NaN filtered (norm not logged), or no label is trained (norm zero)."""
    zero = loss.values == 0.0
    if zero.sum() < 3 or not zero[-3:].all():
        return
    i = len(zero) - int(np.argmin(zero[::-1])) if not zero.all() else 0
    fell = i > 0 and float(np.abs(loss.values[max(0, i - 5) : i]).min()) > 0.1
    if norm is None and fell:
        code = "loss-hidden-nan"
        text = "no grad_norm is logged to tell a filtered NaN from masked labels"
        zh = "没有记录 grad_norm，无法区分被过滤的 NaN 与全部被屏蔽的标签"
    elif norm is not None and not np.any(norm.values[norm.steps >= loss.steps[i]]):
        code = "loss-zero"
        text = "grad_norm is 0 too, so no label or no parameter is trained"
        zh = "grad_norm 也为 0，说明没有标签或没有参数在训练"
    else:
        return
    en = f"{loss.key} is exactly 0.0 from {where(loss, i)} to the end; {text}."
    zh = f"{loss.key} 自{where_zh(loss, i)}起一直恰好为 0.0；{zh}。"
    yield finding(code, S1, [(loss, i)], en, zh, zero_points=int(zero[i:].sum()))


@detector(
    "grad-norm-climb-before-nan",
    "the gradient norm climbs for many points before the loss becomes non-finite",
    ["grad_norm"],
    nonfinite_without_precursor="the gradient norm is flat, then the loss is non-finite in one step",
)
def precursor(track: Track) -> Iterator[Finding]:
    """What grad_norm did in the `WINDOW` points before a failure.

    A climb over tens of steps speaks for the learning rate, a flat norm for the batch (contradictions X-01). Climb:
    Kendall z > 3 and last values at least twice the first; flat: the last point within 3x of the median and at most 50
    steps between points. A rise of one to four points says neither. Numbers: own judgement.
    """
    failed, before = failure(track), track.points("grad_norm")
    if failed is None or before is None:
        return
    series, span = failed
    index = np.flatnonzero(before.steps < series.steps[span.first])[-WINDOW:]
    values = before.values[index]
    if len(values) < 8 or not values.any():
        return
    first, last = head_tail(values, 0.2)
    if mann_kendall(values)[1] > 3 and last >= 2 * max(first, 1e-12):
        yield _climb(before, index, series, span.first)
    elif values[-3:].max() <= 3 * np.median(values) and np.median(np.diff(before.steps[index])) <= 50:
        yield _no_warning(before, index, series, span.first)


def _climb(norm: Series, index: np.ndarray, failed: Series, i: int) -> Finding:
    """The norm at `index` climbs before the point `i` of the failed series."""
    values, tau = norm.values[index], mann_kendall(norm.values[index])[0]
    first, last = head_tail(values, 0.2)
    en = (
        f"{norm.key} climbs from {first:.3g} to {last:.3g} over the {len(values)} points before {where(failed, i)} "
        f"(Kendall tau {tau:.2f})."
    )
    zh = (
        f"{norm.key} 在{where_zh(failed, i)}之前的 {len(values)} 个点里从 {first:.3g} 升到 {last:.3g}"
        f"（Kendall tau {tau:.2f}）。"
    )
    start, end = int(index[0]), int(index[-1])
    data = {"first_step": int(norm.steps[start]), "failure_step": int(failed.steps[i])}
    factor = last / max(first, 1e-12)
    shown = [(norm, end), (norm, start)]
    return finding("grad-norm-climb-before-nan", S1, shown, en, zh, **data, factor=factor, tau=tau)


def _no_warning(norm: Series, index: np.ndarray, failed: Series, i: int) -> Finding:
    """The norm at `index` is flat before the point `i` of the failed series."""
    end, median = int(index[-1]), float(np.median(norm.values[index]))
    last, bad, step = norm.values[end], failed.values[i], int(failed.steps[i])
    en = (
        f"{norm.key} is flat (median {median:.3g}, last {last:.3g}) up to {norm.steps[end]}, then {failed.key} is "
        f"{bad} at {where(failed, i)}: no warning."
    )
    zh = (
        f"{norm.key} 一直平稳（中位数 {median:.3g}，最后 {last:.3g}），随后 {failed.key} 在"
        f"{where_zh(failed, i)}直接变为 {bad}：没有前兆。"
    )
    shown = [(failed, i), (norm, end)]
    return finding("nonfinite-without-precursor", S2, shown, en, zh, failure_step=step, baseline=median)


@detector("onset-near-peak-lr", "the failure starts when the learning rate reaches its peak", ["learning_rate"])
def onset_near_peak_lr(track: Track) -> Iterator[Finding]:
    """The failure starts with the learning rate near its peak, at or soon after the end of warm-up.

    Needs a visible warm-up (first rate below 0.9 of the peak); with a constant rate every step is "at the peak".
    Window: up to twice the warm-up length (own judgement after contradictions X-01).
    """
    failed, lr = failure(track), track.points("learning_rate")
    if failed is None or lr is None:
        return
    series, span = failed
    step = int(series.steps[span.first])
    before = lr.values[lr.steps <= step]
    highest = float(before.max(initial=0))
    if len(before) < 5 or highest <= 0 or before[0] >= 0.9 * highest:
        return
    peak = int(np.argmax(before >= 0.999 * highest))
    warm = int(lr.steps[peak])
    if before[-1] >= 0.9 * highest and step <= 2 * warm:
        en = (
            f"The failure at {step} starts with the learning rate at {before[-1]:.3g}, the highest so far "
            f"({highest:.3g}, reached at {warm})."
        )
        zh = f"失败始于 {step}，此时学习率为 {before[-1]:.3g}，为到此为止的最高值（{highest:.3g}，在 {warm} 达到）。"
        data = {"first_step": step, "peak": highest, "peak_step": warm}
        yield finding("onset-near-peak-lr", S2, [(lr, len(before) - 1), (lr, peak)], en, zh, **data)
