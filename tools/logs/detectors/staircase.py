"""A training loss that falls where each pass begins and hardly within it: the rows are known from the last one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from ...findings import Finding
from ...series import Series
from .detector import S2, S3, Track, detector, finding

FEWEST = 12
"""Points of a pass that is judged."""
EDGE = 0.25
"""Share of a pass at its beginning and at its end, whose means are compared."""
SURE, LEAST, OVER = 5.0, 0.1, 2.0
"""Standard errors of a step, its share of the level before, and times the fall within the pass that follows."""
MANY, LEFT = 3, 0.5
"""Steps from which on it is more than a note, and share of the level before the first that is left behind the last."""
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
