"""How long a run was to be, as its settings or the first lines of its log say it, and whether the log ends before."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..findings import Finding, Severity, declare
from ..series import SeriesTable
from .detectors.detector import finding, where, where_zh
from .detectors.robust import finite

PLANNED = "planned length"
CODES = declare(
    "plan",
    ("log-ends-before-plan", PLANNED, "nothing is wrong, and the log ends well before the planned number of steps"),
)

FINISHED = 0.99
"""Share of the plan from which a run counts as finished: the last steps may not be logged. Own judgement."""
PREAMBLE = 1 << 20
"""Bytes of a log in which the plan is looked for: trainers print it before the first step."""
PRINTED = {
    "steps": re.compile(
        rb"(?:Total (?:optimization|training) steps|\|\s*Total steps)\s{0,3}[:=]\s{0,3}(\d[\d,]{0,14})"
    ),
    "epochs": re.compile(rb"Num Epochs\s{0,3}=\s{0,3}(\d[\d,]{0,14})"),
    "samples": re.compile(rb"Num examples\s{0,3}=\s{0,3}(\d[\d,]{0,14})"),
    "batch": re.compile(rb"Total train batch size[^=\n]{0,80}=\s{0,3}(\d[\d,]{0,14})"),
}
"""As transformers, diffusers, Unsloth and verl print it."""


@dataclass(frozen=True)
class Plan:
    """Optimizer steps, and epochs for a log that does not number its steps; None for what is not known."""

    steps: float | None = None
    epochs: float | None = None
    least: float | None = None
    """Epochs before which the run cannot be over: of a run of N steps the last epoch may be a part."""


Said = Mapping[str, set[int]]
"""What one log prints of its plan, by the names of `PRINTED`."""


def said(start: bytes) -> Said:
    """What the beginning of a log says."""
    return {
        name: {int(n.replace(b",", b"")) for n in pattern.findall(start, 0, PREAMBLE)}
        for name, pattern in PRINTED.items()
    }


def printed(logs: Iterable[Said]) -> Plan:
    """The plan that the run's logs print; what they print differently (a second attempt) is not known."""
    every = [*logs]
    numbers = ({n for log in every for n in log[name]} for name in PRINTED)
    steps, epochs, samples, batch = (min(v) if len(v) == 1 else None for v in numbers)
    if steps and samples and batch:
        return Plan(steps, steps * batch / samples, FINISHED * steps * batch / samples)
    return Plan(steps, epochs, epochs - 1 if epochs else None)


def unfinished(table: SeriesTable, plan: Plan) -> Finding | None:
    """A note that the log of a run without a failure ends well before its plan, None otherwise.

    The next point, one logging interval on, would still be before the end.
    """
    loss, epoch = table.get("loss"), table.get("epoch")
    numbered = loss is not None and len(loss) and loss.step_is == "step"
    points = loss if numbered else finite(epoch) if epoch is not None else None
    planned, least = (plan.steps, FINISHED * (plan.steps or 0)) if numbered else (plan.epochs, plan.least)
    if points is None or len(points) < 2 or not planned or not least:
        return None
    i = len(points) - 1
    done = points.steps if numbered else points.values
    if done[i] + (done[i] - done[i - 1]) >= least:
        return None
    at, at_zh = (where(points, i), where_zh(points, i)) if numbered else (f"epoch {done[i]:g}",) * 2
    unit = "步" if numbered else "个 epoch"
    return finding(
        "log-ends-before-plan",
        Severity.S3,
        [(points, i)],
        f"The log ends at {at} of {planned:g} planned, with no error: the run goes on, or was stopped from outside.",
        f"日志在 {at_zh} 结束，计划 {planned:g} {unit}，且没有报错：运行还在继续，或者是被外部停掉的。",
        **{"planned_steps" if numbered else "planned_epochs": planned},
    )
