"""A jump of the one number that a log holds, which nothing beside it can explain.

A loss that leaves its level at once and stays where it went has a cause: the rate, the gradient, the data of those
steps. Where a log prints that number alone, none of them was written down, and no reading of the log will find it.
"""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..findings import Finding, Severity
from ..relate.kinds.names import demand
from ..relate.line import Line

LEAST, AROUND = 20, 8
"""Points of the log, and on either side of the jump that give its levels."""
FAR, SPREADS, KEPT = 0.3, 12.0, 0.6
"""Share of the level before that it jumps by at least, spreads of a point, and share of the jump that is still there at
the end. Ours."""
WITNESSES = ("learning_rate", "grad_norm", "loss_scale")


def unwitnessed(lines: Sequence[Line]) -> Iterator[Finding]:
    """The jump of a lone loss, known as such or by having no name at all."""
    steps = [x for x in lines if x.axis == "step" and len(x) >= LEAST and not x.group]
    if not steps or any(x.name in WITNESSES for x in lines):
        return
    lone = [x for x in steps if not any(y is not x and y.file == x.file for y in steps)]
    for line in (x.finite() for x in lone if x.name == "loss" or (not x.known and x.name.startswith("column"))):
        at = _jump(line.values)
        if at is not None:
            yield _told(line, at)
            return


def _jump(values: np.ndarray) -> int | None:
    """The first point behind a rise at once that is still there at the end; none where it fell before."""
    if len(values) < LEAST or not (values > 0).all():
        return None
    at = int(np.argmax(np.diff(values))) + 1
    before, after = values[max(0, at - AROUND) : at], values[at : at + AROUND]
    if min(len(before), len(after)) < 3:
        return None
    low, high = float(np.median(before)), float(np.median(after))
    spread = 1.4826 * float(np.median(np.abs(before - low))) or 1e-9
    rise = values[at] - values[at - 1]
    far = high - low > FAR * low and high - low > SPREADS * spread and rise > 0.8 * (high - low)
    stays = float(np.median(values[-3:])) - low > KEPT * (high - low)
    return at if far and stays and values[0] > low else None


def _told(line: Line, at: int) -> Finding:
    was, now, every = line.values[at - 1], line.values[at], float(np.median(np.diff(line.x)))
    what = line.said if line.known else "the one number that it prints"
    what_zh = line.said if line.known else "日志里唯一的数值"
    return Finding(
        "jump-unwitnessed", Severity.S3,
        f"{line.file}: {what} is {was:.4g} at {line.where(at - 1)} and {now:.4g} at {line.where(at)}, one line later, "
        f"and stays there; the log has a line every {every:g} steps and neither learning rate nor gradient norm nor the "
        "data of a step, so what happened between those two lines is not on record.",
        f"{line.file}：{what_zh}在 {line.where(at - 1)} 为 {was:.4g}，下一行 {line.where(at)} 就是 {now:.4g}，此后没有"
        f"回来；日志每 {every:g} 步一行，没有学习率、梯度范数，也没有每步的数据，这两行之间发生了什么没有记录。",
        (line.evidence(at), line.evidence(at - 1)),
        {"before": float(was), "after": float(now), "from": float(line.x[at - 1]), "to": float(line.x[at]),
         "asks": [demand("grad_norm_logged", "at-least", 1, "learning rate and gradient norm at every logged step, and "
                         "the ids of its samples", "每个日志步的学习率、梯度范数和样本 id")]},
    )  # fmt: skip
