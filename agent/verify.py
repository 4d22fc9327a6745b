"""Did the one change work? Criteria on the next run, the change itself, and the neighbours.

`fixed` needs exactly one changed setting (or none, where the fix is not a setting), every computable criterion passed,
the old failure gone for as long as it took to appear, and no neighbour worse.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..knowledge.entry import NOT_A_SETTING, Criterion, Entry
from ..tools.config.diff import Difference, diff
from ..tools.findings import Report, TriageError, json_ready
from ..tools.series import SeriesTable
from .evidence import look
from .metrics import Observation, Subject, observe

Result = Literal["pass", "fail", "no-observation"]
VerdictName = Literal["fixed", "not-fixed", "confounded", "inconclusive"]

NEIGHBOURS: dict[str, tuple[int, float]] = {
    "loss": (-1, 0.10),
    "eval_loss": (-1, 0.05),
    "reward": (1, 0.10),
    "accuracy": (1, 0.05),
    "tokens_per_second": (1, 0.20),
    "samples_per_second": (1, 0.20),
    "step_time": (-1, 0.25),
    "entropy": (1, 0.30),
}
"""metric -> (which way is better, relative worsening tolerated); tolerances are our own judgement."""


@dataclass(frozen=True)
class Judged:
    criterion: Criterion
    result: Result
    observation: Observation


@dataclass(frozen=True)
class Neighbour:
    """A metric that the change should not harm, at the last step both runs reached."""

    metric: str
    before: float
    after: float
    result: Literal["pass", "fail"]


@dataclass(frozen=True)
class Verdict:
    """Whether the candidate repairs the baseline, with everything it rests on."""

    verdict: VerdictName
    entry: Entry
    changed: tuple[Difference, ...]
    criteria: tuple[Judged, ...]
    neighbours: tuple[Neighbour, ...]
    remaining: tuple[str, ...]
    """Codes of S0/S1 findings of the baseline that the candidate still shows."""
    new: tuple[str, ...]
    """Codes of S0/S1 findings that only the candidate shows."""
    reached: int | None
    must_reach: int
    why: str
    """Which rule gave the verdict: a key of `narrate.VERDICTS`."""

    def as_json(self, answer: str) -> dict[str, Any]:
        return json_ready(
            {
                "schema": "triage.verdict/1",
                "verdict": self.verdict,
                "entry": self.entry.id,
                "why": self.why,
                "changed": [
                    {"variable": d.variable, "old": d.old, "new": d.new, "where": d.where, "note": d.note}
                    for d in self.changed
                ],
                "criteria": [
                    {
                        "metric": j.criterion.metric,
                        "is": j.criterion.is_,
                        "low": j.criterion.low,
                        "high": j.criterion.high,
                        "result": j.result,
                        "value": j.observation.value,
                        "points": j.observation.points,
                        "window": j.observation.window,
                        "definition": j.observation.definition,
                        "basis": j.criterion.basis,
                        "source": j.criterion.source,
                    }
                    for j in self.criteria
                ],
                "neighbours": [n.__dict__ for n in self.neighbours],
                "remaining": self.remaining,
                "new": self.new,
                "answer": answer,
            }
        )


def verify(baseline: Path, candidate: Path, entry: Entry) -> Verdict:
    """Judge `candidate` as a repair of `baseline` by the acceptance criteria of `entry`.

    Raises:
        TriageError: a run cannot be read.
    """
    before, after = look([baseline]), look([candidate])
    if not len(list(after.table)) and not after.scan.findings:
        raise TriageError(f"{candidate}: no metric was read from this run, so there is nothing to verify")
    must_reach = failure_step(before.scan)
    subject = Subject(after.run, after.table, after.settings, after.scan, must_reach)
    judged = tuple(_judge(subject, c) for c in entry.acceptance)
    changed = diff(before.settings, after.settings)
    old, now = _bad(before.scan), _bad(after.scan)
    neighbours = tuple(_neighbours(before.table, after.table))
    reached = max((int(s.steps[-1]) for s in after.table if len(s) and s.step_is == "step"), default=None)
    remaining, new = tuple(sorted(old & now)), tuple(sorted(now - old))
    why = _rule(entry, changed, judged, neighbours, remaining, new)
    verdict: VerdictName = VERDICT_OF[why]
    return Verdict(verdict, entry, changed, judged, neighbours, remaining, new, reached, must_reach, why)


VERDICT_OF: dict[str, VerdictName] = {
    "several-changes": "confounded",
    "failure-remains": "not-fixed",
    "new-failure": "not-fixed",
    "criterion-failed": "not-fixed",
    "neighbour-worse": "not-fixed",
    "nothing-changed": "inconclusive",
    "too-little-seen": "inconclusive",
    "all-pass": "fixed",
}


def _rule(
    entry: Entry,
    changed: Sequence[Difference],
    judged: Sequence[Judged],
    neighbours: Iterable[Neighbour],
    remaining: Sequence[str],
    new: Sequence[str],
) -> str:
    """The first rule that applies, in the order in which it would overrule the next."""
    results = [j.result for j in judged]
    not_a_setting = entry.fix is not None and entry.fix.variable in NOT_A_SETTING
    if len(changed) > 1:
        return "several-changes"
    if remaining:
        return "failure-remains"
    if new:
        return "new-failure"
    if "fail" in results:
        return "criterion-failed"
    if not changed and not not_a_setting:
        return "nothing-changed"
    computable = [j for j in judged if not j.criterion.needs]
    if not computable or any(j.result == "no-observation" for j in computable):
        return "too-little-seen"
    return "neighbour-worse" if any(n.result == "fail" for n in neighbours) else "all-pass"


def failure_step(scan: Report) -> int:
    """First step at which an S0/S1 finding of the baseline shows, or 0."""
    steps = [
        int(f.data.get("first_step", e.step))
        for f in scan.findings
        if f.severity in ("S0", "S1")
        for e in f.evidence[:1]
        if f.data.get("first_step", e.step) is not None
    ]
    return min(steps, default=0)


def _bad(scan: Report) -> set[str]:
    return {f.code for f in scan.findings if f.severity in ("S0", "S1")}


def _judge(subject: Subject, criterion: Criterion) -> Judged:
    observation = observe(subject, criterion)
    result: Result = "no-observation" if observation.ok is None else "pass" if observation.ok else "fail"
    return Judged(criterion, result, observation)


def _neighbours(before: SeriesTable, after: SeriesTable) -> Iterable[Neighbour]:
    """Median over the last tenth of the steps that both runs reached with finite values."""
    for name, (better, tolerated) in NEIGHBOURS.items():
        a, b = before.get(name), after.get(name)
        if a is None or b is None:
            continue
        finite = a.steps[np.isfinite(a.values)]
        if not len(finite) or not len(b):
            continue
        last = min(int(finite[-1]), int(b.steps[-1]))
        values = [s.values[(s.steps <= last) & (s.steps >= 0.9 * last)] for s in (a, b)]
        if min(map(len, values)) < 3 or not all(np.isfinite(v).all() for v in values):
            continue
        old, new = (float(np.median(v)) for v in values)
        worse = (old - new) * better / max(abs(old), 1e-12)
        yield Neighbour(name, old, new, "fail" if worse > tolerated else "pass")
