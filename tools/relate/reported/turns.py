"""A number of the run's plan at which something else begins, and at which the loss stops being one.

Two attempts that fail at one step are fed the same batch there; where the plan turns at that very step, they are also
given the same new thing, and the batch is no more to blame than that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...documents.stated import Stated
from ...findings import Finding, Severity
from ...patterns import bounded
from ..line import Line, plain

BEGINS = bounded(
    r"(?:^|_)(?:from|start|starts|begin|begins|since|after|until|till|switch|milestone|boundary|at|phase|stage)"
    r"(?:_?(?:step|steps|iter|update))?$|^(?:step|iter|update)$|起|开始|切换|之后"
)
EARLY = 20
"""Steps before which many things begin."""


def turned(lines: Sequence[Line], stated: Sequence[Stated]) -> Iterator[Finding]:
    """The plan names the step from which on the loss is no number."""
    for line in lines:
        bad = ~np.isfinite(line.values)
        if line.name != "loss" or line.axis != "step" or not bad.any() or bad.all():
            continue
        at = int(bad.argmax())
        step, before = float(line.x[at]), float(line.x[at - 1])
        there = next(
            (
                s
                for s in stated
                if s.how == "said"
                and BEGINS.search(plain(s.key))
                and s.value.isdigit()
                and before < float(s.value) + 1
                and before <= float(s.value) <= step
                and step >= EARLY
            ),
            None,
        )
        if there is None or step - before > max(10.0, 0.1 * step):
            continue
        yield Finding(
            "plan-turns-at-failure", Severity.S3,
            f"{line.key} is no number from step {step:g} on, and {there.file}:{there.line} begins something else there "
            f"({there.key} {there.value}).",
            f"{line.key} 自第 {step:g} 步起不是数，而 {there.file}:{there.line} 正是从这里开始另一阶段"
            f"（{there.key} {there.value}）。",
            (there.evidence(), line.evidence(at)), {"step": step, "planned": float(there.value)},
        )  # fmt: skip
        return
