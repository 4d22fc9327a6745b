"""A stage that goes back up to a high rate after weights that were annealed, and a loss of the old data that rises with
it during the climb and stays above where it began.

What is displaced by new data rises on and on; what the rate shakes loose rises with the rate and stops with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Finding, Severity
from ...patterns import bounded
from ..line import Line, plain
from .read import Course, noise, smooth
from .resumed import joints

ANNEALED, TIMES = 0.25, 5.0
"""Share of the next stage's peak to which the stage before came down, and times its end to which that one climbs."""
SHARE, STAYS = 0.012, 0.008
"""Share of the level by which the loss rises with the rate, and by which it stays above at the end."""
OLD = bounded(
    r"(?:^|_)(?:old|replay|general|generic|web|base|prev\w*|orig\w*|s1|stage1|stage_1|pretrain\w*|source|pile|c4|wiki)(?:_|$)"
    r"|回放|旧|通用|原始|预训练"
)
LOSS = bounded(r"(?:^|_)(?:loss|nll|ce|bpb|ppl|perplexity|val|eval|heldout|held_out|part)(?:_|$)|损失|困惑度")
NO_LOSS = bounded(
    r"(?:^|_)(?:lr|rate|grad|gn|norm|acc\w*|score|tok\w*|mem\w*|time|sec|share|mix)(?:_|$)|学习率|梯度|吞吐|占比"
)
CLIMB = 3.0
"""Times the place of the rate's peak up to which the loss has had its rise."""


def rewarmed(found: Sequence[Course]) -> Iterator[Finding]:
    """The stage whose rate climbs far above where the one before ended, with what its losses do."""
    going_on = {j.after.file for j in joints(found) if not _ends_low(j.before.rate)}
    for later in found:
        rate = later.rate
        if rate is None or rate.axis != "step" or later.file in going_on or (top := _climb(rate)) is None:
            continue
        before = next(
            (c for c in found if c is not later and _annealed_before(c, later, float(rate.values.max()))), None
        )
        for line in _losses(later, found, rate, before):
            shape = _rises(line, float(rate.x[top]), float(rate.x[0]))
            if shape is not None and (before is not None or OLD.search(plain(line.key))):
                yield _told(line, shape, rate, top, before)
                return


def _climb(rate: Line) -> int | None:
    """Where the rate is at its peak, to which it climbs in the first part of the stage."""
    high = float(rate.values.max())
    top = int(np.argmax(rate.values >= 0.97 * high))
    early = rate.x[top] - rate.x[0] <= 0.35 * (rate.x[-1] - rate.x[0])
    return top if high > 0 and top > 0 and early and rate.values[0] <= 0.5 * high else None


def _ends_low(rate: Line | None) -> bool:
    """Whether a rate came down to its end."""
    if rate is None or rate.values[-1] <= 0:
        return False
    last = rate.values[-max(len(rate) // 5, 5) :]
    return bool(
        rate.values[-1] <= rate.values.min() * 1.02 and last[-1] < 0.97 * last[0] and rate.values[-1] < rate.values[0]
    )


def _annealed_before(before: Course, later: Course, peak: float) -> bool:
    rate, old, new = before.rate, before.loss, later.loss
    if not _ends_low(rate) or rate is None or not 0 < rate.values[-1] <= ANNEALED * peak:
        return False
    if peak < TIMES * rate.values[-1] or old is None or new is None:
        return False
    end, begin = float(np.median(old.values[-5:])), float(np.median(new.values[:5]))
    return 0.4 * end <= begin <= 1.6 * end


def _losses(later: Course, found: Sequence[Course], rate: Line, before: Course | None) -> list[Line]:
    """Lines over the stage's steps that are losses by their names or by their level, those of old data first."""
    level = float(np.median(later.loss.values[:5])) if later.loss is not None else None
    lines = [x for c in found if c is not before for x in c.lines if x.axis == "step" and x is not rate]
    span = rate.x[-1] - rate.x[0]
    some = [
        x for x in lines
        if x.x[0] <= rate.x[0] + 0.1 * span and 0.5 * span <= x.x[-1] - x.x[0] <= 1.2 * span and _is_loss(x, level)
        and (x.file == later.file or len(x) <= 200)
    ]  # fmt: skip
    return sorted(some, key=lambda x: not OLD.search(plain(x.key)))


def _is_loss(line: Line, level: float | None) -> bool:
    key = plain(line.key)
    if NO_LOSS.search(key) or line.values.min() <= 0:
        return False
    if line.name in ("loss", "eval_loss", "perplexity", "eval_perplexity") or LOSS.search(key):
        return True
    return level is not None and bool(np.all(np.abs(line.values[:3] - level) <= 0.3 * level))


def _rises(line: Line, peak: float, begin: float) -> tuple[float, float, float, int] | None:
    """(at first, highest, at the end, where) of a loss that rises by the rate's peak, then no more, nor goes back."""
    dense = len(line) > 40
    values = smooth(line.values) if dense else line.values
    x = line.x[len(line.x) - len(values) :] if dense else line.x
    climbing = x <= begin + CLIMB * (peak - begin)
    if climbing.sum() < 2 or (~climbing).sum() < 3:
        return None
    few = max(len(values) // 50, 1)
    first, last = float(np.median(values[:few])), float(np.median(values[-max(len(values) // 10, 2) :]))
    top = int(values[climbing].argmax())
    high, spread = float(values[top]), noise(values)
    least = max(4 * spread if dense else 0.0, SHARE * first)
    rose, stays = high - first >= least, last - first >= max(STAYS * first, 0.2 * (high - first))
    no_further = float(values.max()) <= high + 0.25 * (high - first) and last <= high
    return (first, high, last, top + len(line) - len(values)) if rose and stays and no_further else None


def _told(line: Line, shape: tuple[float, float, float, int], rate: Line, top: int, before: Course | None) -> Finding:
    first, high, last, where = shape
    peak = float(rate.values[top])
    end = float(before.rate.values[-1]) if before is not None and before.rate is not None else None
    en = f"The stage before ended at a learning rate of {end:.3g} ({before.file}); " if before and end else ""
    zh = f"前一阶段结束时学习率为 {end:.3g}（{before.file}）；" if before and end else ""
    places = (before.rate.evidence(-1),) if before is not None and before.rate is not None else ()
    return Finding(
        "old-loss-rises-with-restarted-rate" if end else "old-loss-rises-in-warm-up", Severity.S2,
        f"{en}{rate.file} goes up to {peak:.3g} by {rate.where(top)}"
        f"{f', {peak / end:.0f} times as much' if end else ''}. {line.said} rises with it from {first:.4g} to "
        f"{high:.4g} ({line.where(where)}) and ends at {last:.4g}, above where it began.",
        f"{zh}{rate.file} 到{rate.where(top)}升到 {peak:.3g}{f'，为其 {peak / end:.0f} 倍' if end else ''}。"
        f"{line.said} 随之从 {first:.4g} 升到 {high:.4g}（{line.where(where)}），结束时为 {last:.4g}，仍高于起点。",
        (line.evidence(where), line.evidence(-1), line.evidence(0), rate.evidence(top), *places),
        {"peak": peak, "end": end, "first": first, "high": high, "last": last},
    )  # fmt: skip
