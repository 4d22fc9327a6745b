"""Did the one change work? Criteria on the next run, the change itself, and the neighbours.

`fixed` needs exactly one changed setting (or none, where the fix is not a setting), every computable criterion passed,
the old failure gone for as long as it took to appear, and no neighbour worse. A criterion that nothing in the run can
answer is `no-observation`: it blocks the verdict if a run could answer it, and only then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...knowledge.entry import NOT_A_SETTING, Entry
from ...tools.config.diff import BATCH, SAME_BATCH, Difference
from ...tools.findings import Finding, TriageError, json_ready
from ...tools.logs.detectors.detector import RL_METRICS
from ...tools.series import SeriesTable
from ...tools.vocabulary import VOCABULARY
from ..evidence import Look, look
from ..paths import path_of
from ..ranking import SERIOUS
from .needs import needs
from .observe import observe
from .sides.changed import changed as all_changed
from .sides.demand import PUT_OUT, asked_less
from .sides.flattered import FLATTERED
from .sides.promised import asked_for, left_alone, only_what_stays
from .sides.which import the_failed, the_next
from .subject import COUNTED, Subject, last_step
from .symptoms import NOISE, Judged, judged, outranked, signs_of, symptoms

VerdictName = Literal["fixed", "not-fixed", "confounded", "inconclusive"]

NEIGHBOURS: dict[str, float] = {
    "loss": 0.10,
    "eval_loss": 0.05,
    "reward": 0.10,
    "accuracy": 0.05,
    "tokens_per_second": 0.20,
    "samples_per_second": 0.20,
    "step_time": 0.25,
    "entropy": 0.30,
    "eval_accuracy": 0.05,
    "eval_reward": 0.10,
    "kl": 1.00,
    "gpu_memory": 0.20,
}
"""Metric -> relative worsening tolerated, our own judgement; which way is better is said in `VOCABULARY`."""
BY_STEP = {"loss", "eval_loss", "accuracy", "eval_accuracy", "reward", "eval_reward", "step_time"}
"""With another global batch a step is another amount of data and of work: at equal steps these cannot be compared."""
TAIL = 0.1
"""Share of the common steps, at their end, over which neighbours are compared."""
OUTCOMES = ("loss_starts_lower",)
"""Criteria that hold what the failure did against what the next run does."""


@dataclass(frozen=True)
class Neighbour:
    """A metric that the change should not harm, over the last of the steps that both runs reached."""

    metric: str
    before: float
    after: float
    result: Literal["pass", "fail"]
    window: str = ""


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
    """Which rule gave the verdict: a key of `narrate.words.VERDICTS`."""
    unseen: tuple[str, ...] = ()
    """What is missing for the criteria that a run could answer and this one does not."""
    baseline: str = ""
    """Path of the run that failed, as given; below it, where that path holds several runs."""
    candidate: str = ""
    """The same of the next run."""
    chosen: bool = False
    """Whether either was chosen among several."""

    def as_json(self, answer: str) -> dict[str, Any]:
        return json_ready(
            {
                "schema": "triage.verdict/1",
                "verdict": self.verdict,
                "entry": self.entry.id,
                "baseline": self.baseline,
                "candidate": self.candidate,
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
                        "threshold": j.criterion.value,
                        "unit": j.criterion.unit,
                        "result": j.result,
                        "value": j.observation.value,
                        "noise": j.observation.noise,
                        "near_threshold": j.near,
                        "applies": j.observation.applies,
                        "points": j.observation.points,
                        "window": j.observation.window,
                        "definition": j.observation.definition,
                        "basis": j.criterion.basis,
                        "source": j.criterion.source,
                        "criterion": j.criterion.criterion,
                        "needs": needs(j.criterion),
                    }
                    for j in self.criteria
                ],
                "neighbours": [n.__dict__ for n in self.neighbours],
                "remaining": self.remaining,
                "new": self.new,
                "reached": self.reached,
                "must_reach": self.must_reach,
                "missing": self.unseen,
                "answer": answer,
            }
        )


def verify(
    baseline: Path | Sequence[Path], candidate: Path, entry: Entry, run: str = "", stays: Sequence[str] | None = None
) -> Verdict:
    """Judge `candidate` as a repair of `baseline` by the acceptance criteria of `entry`; as `compared`."""
    return compared(baseline, candidate, entry, run, stays)[0]


def compared(
    baseline: Path | Sequence[Path], candidate: Path, entry: Entry, run: str = "", stays: Sequence[str] | None = None
) -> tuple[Verdict, Look, Look]:
    """The verdict on `candidate` as a repair of `baseline`, and what was seen of either.

    Args:
        baseline: the failed run; several paths are parts of it.
        candidate: the next run.
        entry: whose criteria count.
        run: the path of the training that is meant, where the baseline holds several.
        stays: what the proposal said to leave alone; None where none was made.

    Raises:
        TriageError: a run cannot be read, or a path holds several trainings and nothing says which is meant.
    """
    old = [baseline] if isinstance(baseline, Path) else list(baseline)
    before = look(old, choose=the_failed(old, run))
    after = look([candidate], choose=the_next(candidate, before))
    verdict = replace(
        compare(before, after, entry, stays),
        baseline=str(path_of(old, before.about)),
        candidate=str(path_of([candidate], after.about)),
        chosen=bool(before.others or after.others),
    )
    return verdict, before, after


def compare(before: Look, after: Look, entry: Entry, stays: Sequence[str] | None = None) -> Verdict:
    """Judge one look at a run against another.

    Raises:
        TriageError: nothing can be read from the candidate.
    """
    if not after.run.artifacts and not len(after.table):
        raise TriageError(f"{after.run.root}: nothing was read from this run, so there is nothing to verify")
    changed = all_changed(before, after)
    must_reach = failure_step(before)
    subject = Subject(
        after.run, after.table, after.settings, after.scan, must_reach, after.findings, after.checks, before,
        after.tables, changed,
    )  # fmt: skip
    own, signs = [judged(c, observe(subject, c)) for c in entry.acceptance], signs_of(before)
    own += asked_for(subject, before, entry)
    shown = [j for j in symptoms(subject, before, after, entry) if not outranked(j, own, signs)]
    every = (*own, *shown)
    old, now = _bad(before, entry, changed), _bad(after, entry, changed)
    flattered = {m for f in before.findings for m in FLATTERED.get(f.code, ())}
    if all(d.variable == "code" for d in changed):
        flattered |= {"loss", "accuracy"}  # other data, other labels or another program: another loss
    if any(d.variable in BATCH and not d.note.endswith(SAME_BATCH) for d in changed):
        flattered |= BY_STEP
    # a policy loss has no level, and a step lasts as long as its answers; elsewhere entropy falls as a model learns
    flattered |= {"loss", "step_time"} if RL_METRICS & set(before.table.metrics()) else {"entropy"}
    neighbours = tuple(
        n for n in _neighbours(before.table, after.table)
        if n.metric not in flattered and not (n.metric in PUT_OUT and n.result == "fail"
                                              and asked_less(before, after, n.after / n.before))
    )  # fmt: skip
    remaining, new = tuple(sorted(old & now)), tuple(sorted(now - old))
    gone = bool(shown) and all(j.result == "pass" for j in shown)
    gone = gone and not all(j.criterion.metric.startswith("sign_") for j in shown)
    why = _rule(entry, changed, every, neighbours, remaining, new, gone)
    if why in CREDITS and only_what_stays(changed, left_alone(entry, before, stays)):
        why = "what-stays-changed"
    unseen = tuple(f"{j.criterion.metric}: {j.observation.definition}" for j in every if j.blocks)
    return Verdict(
        verdict=VERDICT_OF[why],
        entry=entry,
        changed=changed,
        criteria=every,
        neighbours=neighbours,
        remaining=remaining,
        new=new,
        reached=last_step(after.table),
        must_reach=must_reach,
        why=why,
        unseen=unseen,
    )


VERDICT_OF: dict[str, VerdictName] = {
    "several-changes": "confounded",
    "failure-remains": "not-fixed",
    "new-failure": "not-fixed",
    "criterion-failed": "not-fixed",
    "neighbour-worse": "not-fixed",
    "nothing-changed": "inconclusive",
    "nothing-computable": "inconclusive",
    "too-little-seen": "inconclusive",
    "what-stays-changed": "inconclusive",
    "all-pass": "fixed",
    "all-pass-unseen": "fixed",
}


CREDITS = ("all-pass", "too-little-seen")
"""Rules that say that the change did what it should, or may have."""


def _rule(
    entry: Entry,
    changed: Sequence[Difference],
    judged: Sequence[Judged],
    neighbours: Iterable[Neighbour],
    remaining: Sequence[str],
    new: Sequence[str],
    gone: bool,
) -> str:
    """The first rule that applies, in the order in which it would overrule the next.

    A criterion that the run could have answered and does not is named, and blocks: always where a longer run would
    tell, else unless what spoke for the entry in the baseline was looked for again and is `gone`; what only a table of
    the baseline showed blocks no run that does better where the failure did its harm (`OUTCOMES`).
    """
    fixes = (entry.fix, *(cause.fix for cause in entry.causes))
    not_a_setting = any(fix.variable in NOT_A_SETTING for fix in fixes if fix)
    passed = any(j.result == "pass" for j in judged)
    better = any(j.result == "pass" and j.criterion.metric in OUTCOMES for j in judged)
    early = any(j.blocks and j.observation.early for j in judged)
    waits = any(j.blocks and not (better and j.criterion.metric.replace("_", "-") in entry.speaks.for_) for j in judged)
    rules = {
        "several-changes": len(changed) > 1,
        "failure-remains": bool(remaining),
        "new-failure": bool(new),
        "criterion-failed": any(j.result == "fail" for j in judged),
        "nothing-changed": not changed and not not_a_setting,
        "nothing-computable": not passed and not any(j.blocks for j in judged),
        "too-little-seen": not passed or early or (waits and not gone),
        "neighbour-worse": any(n.result == "fail" for n in neighbours),
    }
    return next((name for name, holds in rules.items() if holds), "all-pass" if changed else "all-pass-unseen")


def failure_step(look: Look) -> int:
    """Step by which every S0/S1 failure of the baseline had shown itself, or 0 without one.

    A failure without a step of its own (an error line) came after the last step logged above it.
    """
    first: dict[str, int] = {}
    for finding in look.scan.findings:
        if finding.severity in ("S0", "S1") and finding.evidence:
            step = _step_of(finding, look.table)
            first[finding.code] = min(step, first.get(finding.code, step))
    return max(first.values(), default=0)


def _step_of(finding: Finding, table: SeriesTable) -> int:
    place = finding.evidence[0]
    step = finding.data.get("first_step", place.step)
    if isinstance(step, (int, float)):
        return int(step)
    above = [
        int(s.steps[s.lines <= (place.line or 0)][-1])
        for s in table
        if s.file == place.file and s.step_is in COUNTED and bool((s.lines <= (place.line or 0)).any())
    ]
    return max(above, default=0)


def _bad(look: Look, entry: Entry, changed: Sequence[Difference]) -> set[str]:
    """S0/S1 codes of the log scan, and of the data and checkpoint tools where they belong to the entry.

    A setting that lint dislikes is no failure of the run, unless it is the one that was changed and it is still what
    speaks for the entry; personal data in both runs says nothing about a rate.
    """
    named = {c for c in entry.speaks.for_} | {c for cause in entry.causes for c in cause.for_}
    variables = {d.variable for d in changed}
    others = [
        f
        for r in look.reports
        for f in r.findings
        if f.code in named and (r.tool in ("data", "checkpoints") or f.data.get("variable") in variables)
    ]
    return {f.code for f in (*look.scan.findings, *others) if f.severity in SERIOUS}


def _neighbours(before: SeriesTable, after: SeriesTable) -> Iterable[Neighbour]:
    """Medians over the last tenth of the steps that both runs reached with finite values.

    The standard error of a median is taken as 1.25 times that of the mean.
    """
    for name, tolerated in NEIGHBOURS.items():
        a, b = before.get(name), after.get(name)
        if a is None or b is None or a.step_is != b.step_is:
            continue
        finite = a.steps[np.isfinite(a.values)]
        if not len(finite) or not len(b):
            continue
        last = min(int(finite[-1]), int(b.steps[-1]))
        sides = [s.values[(s.steps <= last) & (s.steps >= (1 - TAIL) * last)] for s in (a, b)]
        if min(map(len, sides)) < 3 or not all(np.isfinite(v).all() for v in sides):
            continue
        old, new = (float(np.median(v)) for v in sides)
        noise = NOISE * 1.25 * float(np.hypot(*(v.std(ddof=1) / len(v) ** 0.5 for v in sides)))
        worse = (old - new) * VOCABULARY[name].better
        failed = worse > tolerated * max(abs(old), 1e-12) and worse > noise
        window = f"steps {int((1 - TAIL) * last)}..{last} of both runs"
        yield Neighbour(name, old, new, "fail" if failed else "pass", window)
