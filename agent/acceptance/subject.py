"""Acceptance metrics: each computes one number from a run's artifacts, or says what is missing.

This module holds what they share: the subject, the observation and the registry. The metrics are functions in
the families of this folder; `observe` finds the one that a criterion asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

import numpy as np

from ...knowledge.entry import Criterion
from ...tools.findings import Check, Finding, Report
from ...tools.logs.signatures.signature import CHECK as LOGGED
from ...tools.registry import table
from ...tools.run import Run
from ...tools.series import Series, SeriesTable
from ...tools.settings import Settings

if TYPE_CHECKING:
    from ...tools.config.diff import Difference
    from ...tools.tables.table import Table
    from ..evidence import Look

MIN_POINTS = 5
"""Fewer points than this say nothing about a series."""
TOO_SHORT = "too short: "
COUNTED = ("step", "cumulative")
"""Values of `Series.step_is` under which a step is an optimizer step."""
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Subject:
    """The run that is judged, and what the baseline asks of it."""

    run: Run
    table: SeriesTable
    settings: Settings
    scan: Report
    must_reach: int = 0
    """Step at which the baseline failed: a shorter run has not been tested."""
    findings: Sequence[Finding] = ()
    """Of all tools, not only of the log scan."""
    checks: Sequence[Check] = ()
    baseline: Look | None = None
    """The run that failed, where one was given."""
    tables: Sequence[Table] = ()
    """What its open readers read as rows."""
    changed: Sequence[Difference] = ()
    """Settings that differ from the baseline and can change what is learned."""
    shared: dict[Hashable, object] = field(default_factory=dict, compare=False, repr=False)
    """What one metric computed and another needs too; see `once`."""

    def found(self, *codes: str) -> list[Finding]:
        """The findings of these codes."""
        return [f for f in (*self.scan.findings, *self.findings) if f.code in codes]

    def ran(self, *names: str) -> bool:
        """Whether a check of one of these names looked at something and came to a result.

        A log that could not be read may hold anything, so the search of the others proves nothing.
        """
        every = (*self.scan.checks, *self.checks)
        blind = any(c.result == "failed" and c.name.startswith("signatures in ") for c in every)
        return any(
            c.name in names and c.result in ("found", "clear") and not (blind and c.name == LOGGED) for c in every
        )


@dataclass(frozen=True)
class Observation:
    """One measured number with how it was measured."""

    value: float | bool | str | None
    points: int
    """How many observations the value rests on."""
    window: str
    """Steps, files or samples that were looked at."""
    definition: str
    ok: bool | None
    """Whether the criterion holds; None when it could not be observed."""
    noise: float | None = None
    """One standard error of the value, in its unit, where it can be told."""
    early: bool = False
    """Whether only a longer run can tell: no other criterion stands in for this one."""
    applies: bool = True
    """False where the criterion is not made for this run (other hardware, a disputed pair): it decides nothing."""


Metric = Callable[[Subject, Criterion], Observation]
CRITERIA: dict[str, Metric] = {}
"""Name of an acceptance metric -> the function that computes it; full once `observe.families` has run."""


def metric(*names: str) -> Callable[[Metric], Metric]:
    """Register the function that computes the acceptance metrics `names`."""

    def register(function: Metric) -> Metric:
        CRITERIA.update(table("CRITERIA", [*CRITERIA.items(), *((name, function) for name in names)]))
        return function

    return register


def once(function: Callable[Concatenate[Subject, P], T]) -> Callable[Concatenate[Subject, P], T]:
    """The function, computed once for a subject and its further arguments: several metrics need the value."""

    @wraps(function)
    def shared(subject: Subject, *args: P.args, **named: P.kwargs) -> T:
        key = (function, args, *named.items())
        if key not in subject.shared:
            subject.shared[key] = function(subject, *args, **named)
        return cast(T, subject.shared[key])

    return shared


def missing(what: str, points: int = 0, window: str = "", value: float | bool | str | None = None) -> Observation:
    """Not observed, because of `what`."""
    return Observation(value, points, window, what, None)


def early(what: str, points: int = 0, window: str = "", value: float | bool | str | None = None) -> Observation:
    """Not observed yet: where the run is too short, a longer one will tell."""
    return Observation(value, points, window, what, None, early=what.startswith(TOO_SHORT))


def seen(
    value: float | bool,
    criterion: Criterion,
    definition: str,
    points: int,
    window: str = "",
    noise: float | None = None,
) -> Observation:
    """A single number, judged by the criterion's own comparison."""
    if noise is not None:
        definition += f"; standard error {noise:.3g}"
    return Observation(value, points, window, definition, holds(value, criterion), noise)


def holds(value: Any, c: Criterion) -> bool:
    """Whether a single number or truth value meets the criterion; a number that is not finite never does."""
    if isinstance(value, float) and not np.isfinite(value):
        return False
    low, high = c.low or 0.0, c.high or 0.0
    match c.is_:
        case "true":
            return bool(value)
        case "false":
            return not value
        case "equals":
            return value == c.value or float(value) == float(c.value or 0)
        case "between":
            return low <= value <= high
        case "below":
            return value < high
        case "at-most":
            return value <= high
        case "above" | "increases":
            return value > low
        case "at-least":
            return value >= low
        case "decreases":
            return value < 0
    raise ValueError(f"{c.metric}: {c.is_!r} needs a series, not one number")


def interval(steps: np.ndarray) -> int:
    """Usual distance of two logged steps, rounded up."""
    return int(np.median(np.diff(steps))) + 1 if len(steps) > 1 else 1


def warmup_end(subject: Subject) -> int:
    """Last warm-up step: from the settings, else where the learning rate peaks first, else 0."""
    if steps := subject.settings.value("warmup_steps"):
        return int(steps)
    rate = subject.table.get("learning_rate")
    if rate is None or not len(rate) or not np.isfinite(rate.values).any():
        return 0
    return int(rate.steps[int(np.nanargmax(rate.values))])


def last_step(table: SeriesTable) -> int | None:
    """The last optimizer step of the table, None where no line carries one."""
    return max((int(s.steps[-1]) for s in table if len(s) and s.step_is in COUNTED), default=None)


def too_short(subject: Subject, criterion: Criterion, series: Series | None = None, start: int = 0) -> str:
    """Why the run (or its series, from step `start` on) has not yet been tested; empty when it has.

    A run must pass the step at which the baseline failed (by as many steps again, where the criterion asks for that),
    and last as long as the criterion's own window.
    """
    wanted = (criterion.window or {}).get("steps", 0)
    reach = _reach(subject, (criterion.window or {}).get("again", 0))
    need = max(reach, start + wanted)
    if series is None:
        series = max((s for s in subject.table if len(s)), key=lambda s: (s.step_is in COUNTED, len(s)), default=None)
    if series is None or not len(series):
        return "no step is logged"
    if series.step_is not in COUNTED and not _same_count(series, subject):
        return f"the log does not number its steps, and the run must reach step {need}" if need else ""
    if series.step_is not in COUNTED and (old := _of_baseline(subject, series)) is not None:
        reach = min(reach, int(old.steps[-1]))  # what counts lines goes no farther than the baseline's lines
    first, last = max(int(series.steps[0]), start), int(series.steps[-1])
    if last < reach or last - first < wanted - interval(series.steps):
        return f"{TOO_SHORT}the run must reach step {max(reach, start + wanted)}, it ends at {last}"
    return ""


def _reach(subject: Subject, again: int) -> int:
    """The step to reach: that of the failure, and `again` times the steps that it took, within the plan."""
    old = subject.baseline.table if subject.baseline else ()
    first = min((int(s.steps[0]) for s in old if len(s) and s.step_is in COUNTED), default=0)
    far = subject.must_reach + again * max(subject.must_reach - first, 0)
    plan = subject.settings.value("max_steps")
    return max(subject.must_reach, min(far, plan)) if isinstance(plan, int) and plan > 0 else far


def _same_count(series: Series, subject: Subject) -> bool:
    """Whether the baseline counts its lines or epochs in the same way, so that the two can be compared."""
    other = _of_baseline(subject, series)
    return other is not None and other.step_is == series.step_is


def _of_baseline(subject: Subject, series: Series) -> Series | None:
    return subject.baseline.table.get(series.metric) if subject.baseline else None


def percent(values: np.ndarray) -> np.ndarray:
    """A share as percent; some frameworks log percent already, which the size of the numbers tells."""
    finite = values[np.isfinite(values)]
    return values if len(finite) and np.median(finite) > 1.5 else 100 * values
