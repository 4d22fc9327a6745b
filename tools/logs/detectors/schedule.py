"""Detectors of the learning rate's course, and of how little was trained: warm-up, floor, zero, a handful of steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...findings import Finding
from ...series import Series
from .detector import S1, S2, S3, Track, detector, finding, points_detector, where, where_zh
from .robust import finite, mann_kendall, noise, onset

FEW_STEPS, HARDLY, PASSES = 5, 20, 2
"""Optimizer steps below which a finished training has taught nothing, or hardly anything in so many whole passes over
its rows. Own judgement."""
ROUNDED = 0.0005
"""Half a unit of the last digit that the Hugging Face Trainer prints of its steps per second."""
RISES = 5
"""Points of a learning rate from which on its rise is a warm-up. Own judgement."""


LONG_FLOOR = 0.5
"""Share of the run at a zero learning rate from which on the schedule is taken to be wrong. Own judgement."""


@points_detector(
    "lr-still-warming", "the learning rate rises to the last point: the warm-up covers it all", "learning_rate", RISES
)
def lr_still_warming(points: Series, _: Track) -> Iterator[Finding]:
    """The learning rate never falls, still rises over its last fifth, and ends at twice its first value or more.

    A log that is cut, or a run that goes on, looks the same, hence S3; but what was trained at a fraction of the rate
    is no evidence of health. Numbers: own judgement.
    """
    values, n = points.values, len(points)
    late = values[-max(2, n // 5) :]
    if (np.diff(values) < 0).any() or late[-1] <= late[0] or values[-1] < 2 * values[0] or values[0] < 0:
        return
    en = (
        f"{points.key} rises from {values[0]:.3g} to {values[-1]:.3g} at {where(points, n - 1)}, the last point: all "
        "that was logged is warm-up, which is too little to judge the training by."
    )
    zh = (
        f"{points.key} 从 {values[0]:.3g} 一直升到最后一个点（{where_zh(points, n - 1)}）的 {values[-1]:.3g}："
        "日志全部处于 warmup，不足以判断训练。"
    )
    yield finding("lr-still-warming", S3, [(points, -1), (points, 0)], en, zh, first=values[0], last=values[-1])


@detector("too-few-steps", "the whole training was a handful of optimizer steps", ["train_loss_mean"])
def too_few_steps(track: Track) -> Iterator[Finding]:
    """The summary of a finished training: steps per second times its seconds is less than `FEW_STEPS`, or than `HARDLY`
    in two epochs and more. A try of a few steps is stopped within its first; whole passes mean few rows for the batch.

    The rate is printed with three digits, so the most that it can have been counts. Own judgement.
    """
    named = {s.key: s for s in track.series if s.key in ("train_runtime", "train_steps_per_second")}
    mean = track.points("train_loss_mean")
    if len(named) < 2 or mean is None:
        return
    rate, seconds = (float(named[k].values[-1]) for k in ("train_steps_per_second", "train_runtime"))
    most = (rate + ROUNDED) * seconds
    epochs = max((s.values[-1] for s in track.series if s.key == "epoch"), default=0.0)
    if not 0 < most < (HARDLY if epochs >= PASSES else FEW_STEPS) or rate <= 0:
        return
    steps = max(1, round(rate * seconds))
    en = (
        f"The whole training was about {steps} optimizer step(s) in {seconds:.3g} s: hardly anything can have been "
        "learned. Too few rows for the global batch, or too few epochs?"
    )
    zh = f"整个训练只有约 {steps} 个优化步（{seconds:.3g} 秒）：几乎不可能学到东西。样本相对全局批太少，还是轮数太少？"
    shown = [(mean, -1), (named["train_steps_per_second"], -1)]
    yield finding("too-few-steps", S2, shown, en, zh, steps=steps, seconds=seconds)


SCORES = ("reward", "accuracy", "eval_accuracy")
LEFT = 1e-4
"""KL from which on a policy has left its start."""


@points_detector(
    "learning-rate-zero",
    "the learning rate is zero while training goes on",
    "learning_rate",
    10,
    lr_at_floor="the learning rate stays at its minimum for the last part of the run",
)
def learning_rate_zero(points: Series, track: Track) -> Iterator[Finding]:
    """The learning rate is 0 for all of the log (S1 if the loss is flat too) or sits at its floor for a third of it.

    A rate printed with few digits also reads 0: when the loss still falls, a score rises, or a policy leaves its
    start, nothing is said. Own judgement.
    """
    values, n = points.values, len(points)
    loss = track.get("loss")
    learns = loss is not None and mann_kendall(finite(loss).values)[1] < -3
    learns |= any((s := track.get(m)) is not None and mann_kendall(finite(s).values)[1] > 3 for m in SCORES)
    learns |= (kl := track.get("kl")) is not None and np.nanmax(np.abs(kl.values), initial=0.0) > LEFT
    if not values[1:].any() and not learns:
        flat = loss is not None and len(loss) >= 10 and not track.is_rl
        en = f"{points.key} is 0 at all {n} points and the loss does not fall: nothing is trained."
        zh = f"{points.key} 在全部 {n} 个点上都为 0，loss 也不下降：没有任何训练发生。"
        yield finding("learning-rate-zero", S1 if flat else S2, [(points, 1)], en, zh, points=n)
        return
    peak, floor = float(values.max()), float(values[-1])
    i = onset(values <= max(floor, 1e-3 * peak) * 1.001) or 0
    share = 1 - i / n
    if peak > 0 and floor <= 0.01 * peak and 0.33 <= share < 1.0 and int(np.argmax(values)) < i:
        en = (
            f"{points.key} is at its floor ({floor:.3g}, peak {peak:.3g}) from {where(points, i)}, the last "
            f"{share:.0%} of the run: is the schedule shorter than the training?"
        )
        zh = (
            f"{points.key} 自{where_zh(points, i)}起处于最低值（{floor:.3g}，峰值 {peak:.3g}），占最后 {share:.0%}："
            "调度是否短于训练？"
        )
        long = share >= LONG_FLOOR and not _by_steps(values)
        severity, shown = S2 if long else S3, [(points, i), (points, -1)]
        yield finding("lr-at-floor", severity, shown, en, zh, peak=peak, floor=floor, share=share)


LEVELS = 6
"""Most levels of a rate that is divided at a few places."""


def _by_steps(values: np.ndarray) -> bool:
    """Whether the rate comes down from its peak by a few leaps and stands between them: its last level was chosen."""
    down = values[int(np.argmax(values)) :]
    moved = np.flatnonzero(np.diff(down))
    leaps = down[moved + 1] <= 0.55 * down[moved]
    return 2 <= len(moved) < LEVELS and bool(leaps.all()) and bool((np.diff(moved) > 1).all())


PARTS = 24
"""Parts of a run of which the means are compared."""
ROSE = 0.15
"""Share by which the loss rises with the learning rate, from which on the rate is too high. Own judgement."""


@detector(
    "loss-follows-lr", "the loss rises while the learning rate does, and falls only with it", ["learning_rate"], 60
)
def loss_follows_lr(track: Track) -> Iterator[Finding]:
    """Of sixty points or more, in means over twenty-fourths of the run: the loss leaves its lowest level while the rate
    still rises, stands 15% and four times its noise higher at the peak of the rate, in two parts or more, and is lower
    again at the end, where the rate is. A rate that grows to a small peak does not do that. Numbers: own judgement.
    """
    loss, rate = track.points("loss", 60), track.points("learning_rate", 60)
    if loss is None or rate is None or track.is_rl or loss.step_is != rate.step_is:
        return
    means, ends = _means(loss)
    lr = np.interp(ends, rate.steps, rate.values)
    peak = int(np.argmax(lr))
    if not 1 <= peak <= 0.6 * PARTS:
        return
    low = int(np.argmin(means[: peak + 1]))
    high = low + int(np.argmax(means[low : peak + PARTS // 6 + 1]))
    least = max(ROSE * means[low], 4 * noise(loss.values) / np.sqrt(len(loss) / PARTS))
    up = means[low : high + PARTS // 6 + 1] >= means[low] + least
    if (
        low >= peak
        or means[low] <= 0
        or up.sum() < 2
        or lr[low] > 0.6 * lr[peak]
        or means[-1] > means[high] - least / 2
    ):
        return
    i, j = (int(np.searchsorted(loss.steps, ends[k], "right")) - 1 for k in (low, high))
    en = (
        f"{loss.key} rises from {means[low]:.4g} at {where(loss, i)} to {means[high]:.4g} at {where(loss, j)} while "
        f"{rate.key} rises to {lr[peak]:.3g}, and falls only as the rate does: the peak is too high."
    )
    zh = (
        f"{rate.key} 升到 {lr[peak]:.3g} 的同时，{loss.key} 从{where_zh(loss, i)}的 {means[low]:.4g} 升到"
        f"{where_zh(loss, j)}的 {means[high]:.4g}，之后随学习率下降才回落：峰值过高。"
    )
    data = {"baseline": float(means[low]), "value": float(means[high]), "peak": float(lr[peak])}
    yield finding("loss-follows-lr", S2, [(loss, j), (loss, i), (loss, -1)], en, zh, **data)


def _means(points: Series) -> tuple[np.ndarray, np.ndarray]:
    """Means over `PARTS` parts of a series, and the step with which each ends."""
    parts = np.array_split(np.arange(len(points)), PARTS)
    return np.array([points.values[p].mean() for p in parts]), np.array([points.steps[p[-1]] for p in parts])
