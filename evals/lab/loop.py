"""The closed loop: diagnose a recorded run, apply the one proposed change, train again, verify; up to three times.

The lab applies a proposal the way a person would: an edit of the run's own file for a setting; for an action on the
data, the code, the environment or a checkpoint it takes the fault's hook away if that action is among the fault's
repairs and the entry that proposed it is about this fault. Whether the run is really cured is known from the lab's
own trace, apart from what `verify` says.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Protocol

from ...agent.acceptance.verify import compare
from ...agent.diagnose import Diagnosis, diagnose
from ...agent.evidence import Look, look
from ...agent.propose import Nothing, Proposal, propose
from ...agent.ranking import Hypothesis
from ...agent.session import ask, index
from ...knowledge.entry import NOT_A_SETTING, Cause
from ...tools.config.diff import diff
from ...tools.config.edit import add_value, set_value
from ...tools.findings import TriageError
from ...tools.logs.detectors.detect import healthy
from .fault import touched
from .recording import Recording, Spec, first, healthy_of, record

ATTEMPTS = 3
NEAR = 1.15
"""A repaired run's held-out loss is at most this many times that of the healthy run, plus `SLACK` nats."""
SLACK = 0.1


@dataclass(frozen=True)
class Advice:
    """What an advisor says about one run."""

    diagnosis: Diagnosis
    proposal: Proposal | None
    why_not: str
    seconds: float


class Advisor(Protocol):
    @property
    def name(self) -> str: ...

    def advise(self, run: Path, question: str) -> Advice: ...


@dataclass(frozen=True)
class Triage:
    """The system under test."""

    hidden: tuple[str, ...] = ()
    """Finding codes that it does not get to see."""
    name: ClassVar[str] = "triage"

    def advise(self, run: Path, question: str) -> Advice:
        start = time.perf_counter()
        if self.hidden:
            diagnosis, seen = without(run, question, self.hidden)
            proposal = propose(diagnosis, seen.settings, seen.run)
        else:
            answer = ask(question, [run])
            diagnosis, proposal = answer.diagnosis, answer.proposal
        seconds = time.perf_counter() - start
        if isinstance(proposal, Nothing):
            return Advice(diagnosis, None, proposal.en, seconds)
        return Advice(diagnosis, proposal, "", seconds)


@lru_cache(maxsize=4)
def view(run: Path) -> Look:
    """What the tools see in a recorded run, which does not change."""
    return look([run])


def without(run: Path, question: str, codes: Iterable[str]) -> tuple[Diagnosis, Look]:
    """The diagnosis of a run as if the detectors of these codes did not exist, and what was seen without them."""
    seen, hidden = view(run), {*codes, "run-healthy"}
    reports = []
    for report in seen.reports:
        kept = tuple(f for f in report.findings if f.code not in hidden)
        fine = healthy(seen.table, kept) if report.tool == "scan" else None
        reports.append(replace(report, findings=(*kept, fine) if fine else kept))
    seen = replace(seen, reports=tuple(reports))
    stage = str(seen.settings.value("stage") or "")
    found = diagnose(index().runbook, index().search(question), seen.findings, seen.checks, looked=True, stage=stage)
    return found, seen


@dataclass(frozen=True)
class Attempt:
    """One proposed change and what came of it."""

    entry: str
    variable: str
    change: str
    """`old -> new`, or why it could not be made."""
    differs: tuple[str, ...]
    """Variables in which the next run's files differ: one for a setting, none for an action."""
    verdict: str
    """Of `verify`; empty when nothing could be changed."""
    why: str
    cured: bool
    """Whether the next run really is as good as a healthy one."""


def repair(advisor: Advisor, advice: Advice, made: Recording, home: Path, limit: int = ATTEMPTS) -> list[Attempt]:
    """Follow the advice on a recorded run until `verify` calls it fixed, nothing is proposed, or `limit` is reached.

    A run with two faults is diagnosed again after the first is fixed. Where a change of a setting did not suffice and
    the next run gives no new diagnosis, the same change is made again.
    """
    out: list[Attempt] = []
    cause = None
    while advice.proposal is not None and len(out) < limit:
        cause = next((h.cause for h in advice.diagnosis.hypotheses if h.entry.id == advice.proposal.entry), cause)
        attempt, after = _attempt(advice.proposal, made, home)
        out.append(attempt)
        if after is None or (attempt.verdict == "fixed" and len(made.spec.case.faults) == 1):
            break
        made = after
        advice = advisor.advise(made.run, made.spec.case.question)
        if advice.proposal is None and attempt.verdict == "not-fixed":
            advice = replace(advice, proposal=_further(attempt, cause, made.run))
    return out


def _further(attempt: Attempt, cause: Cause | None, run: Path) -> Proposal | None:
    """The same cause's change of a setting once more: it was not enough, and the run shows nothing else."""
    entry = index().runbook.get(attempt.entry)
    if entry is None or attempt.variable in NOT_A_SETTING:
        return None
    seen = view(run)
    kept = Diagnosis("diagnosed", (Hypothesis(entry, cause, "supported", 1.0),), seen.findings, seen.checks)
    proposal = propose(kept, seen.settings, seen.run)
    return proposal if isinstance(proposal, Proposal) and proposal.variable == attempt.variable else None


def _attempt(proposal: Proposal, made: Recording, home: Path) -> tuple[Attempt, Recording | None]:
    change = f"{proposal.old} -> {proposal.new}" if proposal.old else proposal.new[:80]
    try:
        spec = apply(proposal, made)
    except TriageError as error:
        return Attempt(proposal.entry, proposal.variable, str(error), (), "", "not applicable", False), None
    if spec is None:
        why = "no such action repairs this fault"
        return Attempt(proposal.entry, proposal.variable, change, (), "", why, False), None
    after = record(spec, home)
    entry = index().runbook.get(proposal.entry)
    verdict, why, differs = "", "", _differs(made.run, after.run)
    if entry is not None:
        try:
            judged = compare(view(made.run), view(after.run), entry)
            verdict, why = judged.verdict, judged.why
        except TriageError as error:
            verdict, why = "inconclusive", str(error)
    done = cured(after, home)
    return Attempt(proposal.entry, proposal.variable, change, differs, verdict, why, done), after


def _differs(before: Path, after: Path) -> tuple[str, ...]:
    return tuple(d.variable for d in diff(view(before).settings, view(after).settings) if d.counts)


def apply(proposal: Proposal, made: Recording) -> Spec | None:
    """The spec of the next run, None when the action does nothing about this fault.

    Raises:
        TriageError: the setting cannot be edited.
    """
    spec = made.spec
    if proposal.variable == "code" and proposal.file in spec.files and proposal.patch:
        text = patched(spec.files[proposal.file], str(proposal.patch))
        return replace(spec, files={**spec.files, proposal.file: text})
    if proposal.variable in NOT_A_SETTING:
        return _act(proposal, spec)
    setting = view(made.run).settings.get(proposal.variable)
    if setting is not None:
        if setting.file not in spec.files:
            raise TriageError(f"{setting.file} is not a file of this training that a person edits")
        text = set_value(setting, proposal.new, made.run / setting.file).text
        return replace(spec, files={**spec.files, setting.file: text})
    if proposal.new[:1] in "x+":
        raise TriageError(
            f"{proposal.variable} is not written in the files, so {proposal.new} has nothing to start from"
        )
    text = add_value(proposal.variable, proposal.new, made.run / "train.yaml").text
    return replace(spec, files={**spec.files, "train.yaml": text})


def patched(text: str, patch: str) -> str:
    """The text with a unified diff of it applied.

    Raises:
        TriageError: the diff is of another text.
    """
    old, out, at = text.split("\n"), list[str](), 0
    for line in patch.split("\n")[2:]:
        if hunk := re.match(r"@@ -(\d+)", line):
            start = max(int(hunk[1]) - 1, 0)
            out += old[at:start]
            at = start
        elif line[:1] == "+":
            out.append(line[1:])
        elif line[:1] in ("-", " "):
            if at >= len(old) or old[at] != line[1:]:
                raise TriageError("the patch does not fit the program")
            out += [line[1:]] if line[0] == " " else []
            at += 1
    return "\n".join([*out, *old[at:]])


def _act(proposal: Proposal, spec: Spec) -> Spec | None:
    """The hooks taken away, or the action made in the settings; None when the action is about something else."""
    meant = [
        f for f in spec.case.all()
        if proposal.variable in f.repairs and proposal.entry in (*f.right, *f.near)
    ]  # fmt: skip
    gone = {f"{f.name}/{kind}" for f in meant for kind in touched(f)}
    text = spec.files["train.yaml"]
    for key, value in (item for f in meant for item in f.actions.get(proposal.variable, {}).items()):
        text = re.sub(rf"^{key}:.*$", f"{key}: {value}", text, flags=re.MULTILINE)
    after = replace(spec, repaired=spec.repaired | gone, files={**spec.files, "train.yaml": text})
    return None if after.key == spec.key else after


def cured(made: Recording, home: Path) -> bool:
    """Whether the run finished and came out like the healthy one of the same recipe and seed."""
    if not made.outcome.get("finished"):
        return False
    gone = made.spec.repaired
    open_hooks = [f"{f.name}/{k}" for f in made.spec.case.all() for k in touched(f)]
    by_setting = all(any(v not in NOT_A_SETTING for v in f.repairs) for f in made.spec.case.all())
    if not by_setting and not set(open_hooks) <= gone:
        return False
    healthy = dict(record(healthy_of(made.spec.case), home).outcome)
    if made.spec.case.fault.own_best:
        healthy["held_loss"] = best_loss(record(first(made.spec.case), home))
    return all(_as_good(key, made.outcome.get(key, math.nan), value) for key, value in healthy.items())


def best_loss(made: Recording) -> float:
    """The lowest evaluation loss that a run logged, or its held-out loss where it keeps no state of a trainer."""
    state = made.run / "trainer_state.json"
    if not state.exists():
        return made.outcome["held_loss"]
    return min(h["eval_loss"] for h in json.loads(state.read_text())["log_history"] if "eval_loss" in h)


def _as_good(key: str, value: float, wanted: float) -> bool:
    """Whether one outcome is as good as the healthy one: losses by ratio, shares and rewards by half."""
    if key == "held_loss":
        return value <= NEAR * wanted + SLACK
    if key in ("entropy", "reward", "accuracy", "stops"):
        return value >= 0.5 * wanted
    if key == "general":
        return value >= 0.9 * wanted
    if key == "chosen":
        return value >= min(wanted, 0.0) - 5.0
    return True


def expected_step(made: Recording) -> tuple[int, int] | None:
    """Steps between which the evidence must lie, from the recorded losses; None when the fault has no onset."""
    onset, losses = made.spec.case.fault.onset, made.losses
    if onset == "none" or not losses:
        return None
    if isinstance(onset, int):
        return (0, onset)
    step: int | None = made.spec.case.severity(made.spec.case.fault) if onset == "severity" else None
    if onset == "nonfinite":
        step = next((i for i, v in enumerate(losses, 1) if not math.isfinite(v)), None)
    elif onset == "rise":
        step = _rise(losses)
    if step is None:
        return None
    tolerance = max(20, len(losses) // 20)
    return (max(0, step - tolerance), step + tolerance)


def _rise(losses: list[float]) -> int | None:
    """First step from which the mean of twenty losses is half above the best such mean so far, or is not finite."""
    width, best = 20, math.inf
    for i in range(0, len(losses) - width):
        mean = sum(losses[i : i + width]) / width
        if not math.isfinite(mean) or mean > 1.5 * best:
            return i + width
        best = min(best, mean)
    return None
