"""Losses that fall by steps: a training loss where each pass begins, whose rows are known from the last one; a held-out
loss at a few places, at which rows that were trained on came among what is held out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from ...findings import Finding
from ...series import Series
from .detector import S2, S3, Track, detector, finding, where, where_zh
from .robust import sigma

FEWEST = 12
"""Points of a pass that is judged."""
EDGE = 0.25
"""Share of a pass at its beginning and at its end, whose means are compared."""
SURE, LEAST, OVER = 5.0, 0.1, 2.0
"""Standard errors of a step, its share of the level before, and times the fall within the pass that follows."""
MANY, LEFT = 3, 0.5
"""Steps from which on it is more than a note, and share of the level before the first that is left behind the last."""
EVALS, AROUND = 16, 6
"""Evaluations that show it, and those on either side by which one is judged."""
FAR, LEAST_FALL, REBOUND = 6.0, 0.008, 0.5
"""Deviations of its neighbours by which a step stands out, its least share of the level, and the share of it that the
next evaluation may take back. Own judgement."""
CUT = 0.8
"""Share of the learning rate that is left where it makes the step itself."""


@detector("loss-steps-at-epochs", "the training loss steps down where each pass begins", ["loss"], 2 * FEWEST)
def loss_steps_at_epochs(track: Track) -> Iterator[Finding]:
    """At least two passes in a row that begin a tenth and five standard errors below the end of the one before, by more
    than twice what they gain from there on: the model answers rows that it has seen. S2 from three steps on that take
    half of the loss, where no evaluation says that other rows gain too. Steps of the learning rate are left out.

    Source: a well-known picture of fine-tuning for several epochs; numbers own judgement.
    """
    loss = track.points("loss", 2 * FEWEST)
    epoch = track.like("epoch", loss) if loss is not None else None
    if loss is None or epoch is None or len(epoch) < 2 or track.is_rl:
        return
    passes = _passes(loss, np.interp(loss.steps, epoch.steps, epoch.values))
    steps = [_step(before, after) for before, after in pairwise(passes)]
    first = next((i for i, s in enumerate(steps) if s), None)
    last = max((i for i, s in enumerate(steps) if s), default=None)
    if (
        first is None
        or last is None
        or last == first
        or not all(steps[first : last + 1])
        or _rated(track, loss, passes)
    ):
        return
    high, low = _edges(passes[first][1])[1].mean(), _edges(passes[last + 1][1])[0].mean()
    held_out, count = track.points("eval_loss", 2), last + 1 - first
    gains = held_out is not None and held_out.values[-1] <= held_out.values[0]
    severity = S2 if count >= MANY and low < LEFT * high and not gains else S3
    en = f"{loss.key} falls from {high:.3g} to {low:.3g} in {count} steps, each where a pass over the data begins, and "
    en += "hardly between them: the rows are being learned by heart" + (
        "." if held_out else ", and nothing held out was scored."
    )
    zh = f"{loss.key} 在每个 epoch 开头下一个台阶（共 {count} 个，{high:.3g} → {low:.3g}），其间几乎不降："
    zh += "样本正在被背下来"
    zh += "。" if held_out else "，且没有任何留出集评测。"
    shown = [(loss, passes[first + 1][0]), (loss, passes[last + 1][0])]
    yield finding("loss-steps-at-epochs", severity, shown, en, zh, baseline=float(high), last=float(low), steps=count)


def _passes(loss: Series, epochs: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """(place of the first point, values) of each whole pass; a last one that was begun counts if it is long enough."""
    number = np.ceil(np.round(epochs, 6)).astype(int)  # what is logged at epoch 1.0 belongs to the first pass
    found = [
        (int(at[0]), loss.values[at]) for n in np.unique(number) if len(at := np.flatnonzero(number == n)) >= FEWEST
    ]
    return found[:100]


def _edges(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    width = max(3, int(len(values) * EDGE))
    return values[:width], values[-width:]


def _step(before: tuple[int, np.ndarray], after: tuple[int, np.ndarray]) -> bool:
    end, (start, later) = _edges(before[1])[1], _edges(after[1])
    fall, within = end.mean() - start.mean(), start.mean() - later.mean()
    error = np.sqrt(end.var() / len(end) + start.var() / len(start))
    return bool(fall > max(SURE * error, LEAST * end.mean(), OVER * within))


def _rated(track: Track, loss: Series, passes: list[tuple[int, np.ndarray]]) -> bool:
    """Whether the learning rate steps down where a pass begins."""
    rate = track.points("learning_rate", 4)
    if rate is None:
        return False
    before = [np.interp(loss.steps[max(0, at - 1)], rate.steps, rate.values) for at, _ in passes[1:]]
    after = [np.interp(loss.steps[min(at + 1, len(loss) - 1)], rate.steps, rate.values) for at, _ in passes[1:]]
    return any(b > 0 and a < CUT * b for b, a in zip(before, after, strict=True))


@detector(
    "held-out-drawn-again",
    "the held-out loss steps down at a few places, at which the training loss does not",
    ["eval_loss"],
    EVALS,
)
def held_out_drawn_again(track: Track) -> Iterator[Finding]:
    """At least two evaluations, and at most a quarter of them, that fall by a hundredth of the level and six deviations
    more than their neighbours against the training loss, which goes on as before, and end below it: what is held out
    was drawn anew there, and holds rows that were trained on. Steps of the learning rate are left out.

    Source: own judgement; a split without a seed in a program that was resumed looks like this.
    """
    held = track.points("eval_loss", EVALS)
    train = track.like("loss", held) if held is not None else None
    if held is None or train is None or track.is_rl or held.values.min() <= 0:
        return
    beside = _beside(held, train)
    falls, own, learned = (np.diff(x) for x in (held.values - beside, held.values, beside))
    at = [i for i in range(AROUND // 2, len(falls)) if _stands_out(falls, own, learned, i, held.values[i])]
    if (
        not 2 <= len(at) <= len(held) / 4
        or held.values[-1] >= beside[-1]
        or _rated(track, held, [(i + 1, own) for i in (0, *at)])
    ):
        return
    sizes = ", ".join(f"{held.values[i]:.4g} to {held.values[i + 1]:.4g} at {where(held, i + 1)}" for i in at[:4])
    zh = "、".join(f"{where_zh(held, i + 1)}从 {held.values[i]:.4g} 到 {held.values[i + 1]:.4g}" for i in at[:4])
    yield finding(
        "held-out-drawn-again", S2, [(held, i + 1) for i in at[:4]],
        f"{held.key} steps down {len(at)} times ({sizes}) while {train.key} goes on as before, and hardly moves "
        f"between; it ends below {train.key}: what is held out was drawn anew there, among rows that were trained on.",
        f"{held.key} 有 {len(at)} 次突然下台阶（{zh}），而 {train.key} 照常变化，其间几乎不动，最后还低于训练 loss："
        "验证集在这些地方被重新划分，其中含有训练过的样本。", steps=len(at),
    )  # fmt: skip


def _beside(held: Series, train: Series) -> np.ndarray:
    """The training loss at each evaluation: its middle since the one before, or its last point."""
    if len(train) == len(held) and (train.steps == held.steps).all():
        return train.values
    edges = np.searchsorted(train.steps, held.steps, side="right")
    starts = np.r_[0, edges[:-1]]
    ends = np.maximum(edges, 1)
    return np.array([np.median(train.values[min(a, b - 1) : b]) for a, b in zip(starts, ends, strict=True)])


def _stands_out(falls: np.ndarray, own: np.ndarray, learned: np.ndarray, i: int, level: float) -> bool:
    """Whether one evaluation falls far more than those around it do, by itself, and does not come back."""
    near = np.r_[i - AROUND : i, i + 1 : i + 1 + AROUND]
    near = near[(near >= 0) & (near < len(falls))]
    middle, spread = float(np.median(falls[near])), max(sigma(falls[near]), 1e-9)
    step = middle - falls[i]
    if step < max(FAR * spread, LEAST_FALL * level) or own[i] > -step / 2:
        return False
    usual = abs(learned[i] - float(np.median(learned[near])))
    back = falls[i + 1] if i + 1 < len(falls) else 0.0
    return usual <= step / 2 and back < REBOUND * step
