"""Where the attempts of one training turn non-finite: at one place again, or each at another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

import numpy as np

from ...findings import Finding
from ...series import Series
from .detector import S2, Track, finding, run_detector
from .nonfinite import BadSpan, failure

FAR = 0.1
"""Share of the later step by which two failures lie apart to be at different places. Own judgement."""
SEVERAL = 3
"""Failures from which on their places say something: one of two may have stopped for a reason of its own."""
Failed = tuple[int, Series, BadSpan]
"""(step, series, span) of one attempt's failure."""


@run_detector("same-batch-nonfinite-again", "two attempts become non-finite at the same step", ["loss", "grad_norm"])
def same_batch_nonfinite_again(tracks: Sequence[Track]) -> Iterator[Finding]:
    """Two attempts fail at the same step, both with finite values before it: points to the batch (X-01)."""
    for (step, one, span), (other_step, other, other_span) in combinations(_failed(tracks), 2):
        gap = max(_interval(one), _interval(other))
        if abs(step - other_step) <= gap // 2 and other.attempt != one.attempt:
            shown = [(other, other_span.first), (one, span.first)]
            en = f"Two attempts become non-finite at the same point ({step} and {other_step}): the same batch."
            zh = f"两次尝试在同一位置（{step} 与 {other_step}）变为非有限值：同一个 batch。"
            yield finding("same-batch-nonfinite-again", S2, shown, en, zh, other_step=step)
            return


@run_detector("nonfinite-at-other-steps", "attempts become non-finite each at another step", ["loss", "grad_norm"])
def nonfinite_at_other_steps(tracks: Sequence[Track]) -> Iterator[Finding]:
    """Attempts fail at places far apart: one sample of data read in one order would fail at one place."""
    failed = [one for one in _failed(tracks) if one[1].step_is == "step"]  # rows that are counted are no steps
    steps = sorted(step for step, _, _ in failed)
    if len(steps) >= SEVERAL and all(b - a > FAR * b for a, b in pairwise(steps)):
        shown = [(series, span.first) for _, series, span in failed[:4]]
        said = ", ".join(map(str, steps))
        en = f"{len(steps)} attempts become non-finite, each at another step ({said}): not one batch of one order."
        zh = f"{len(steps)} 次尝试各在不同的步变为非有限值（{said}）：若数据顺序相同，就不是某一个 batch。"
        yield finding("nonfinite-at-other-steps", S2, shown, en, zh, steps=steps)


def _failed(tracks: Sequence[Track]) -> list[Failed]:
    """The failure of each attempt that was finite before it."""
    one: dict[tuple[str, str], Failed] = {}
    for track in tracks:
        found = failure(track)
        if found and found[1].last_finite is not None:
            one[track.file, track.attempt] = (int(found[0].steps[found[1].first]), *found)
    return list(one.values())


def _interval(series: Series) -> int:
    return int(np.median(np.diff(series.steps))) if len(series) > 1 else 1
