"""What the evidence says to the person's own words: each symptom, suspicion and plan gets a verdict of its own.

The diagnosis is made before and is not touched here: a suspicion is answered, not believed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..knowledge.entry import Entry, Fix
from ..knowledge.runbook import Runbook
from ..tools.findings import Check, Finding
from ..tools.logs.detectors.robust import finite, head_tail, mann_kendall
from ..tools.patterns import bounded
from ..tools.series import Series, SeriesTable
from ..tools.vocabulary import VOCABULARY
from .diagnose import LEAST, Diagnosis
from .missing import STANDING_STILL, slow_at_times, stands_from, undecided
from .propose import SAME_THING, Nothing, Proposal
from .question.plans import Direction, Plan
from .question.polarity import Suspicion
from .question.symptoms import Symptom
from .question.understand import Question
from .ranking import SHOWN, Hypothesis, rank
from .signs.memories import of, other
from .untold import COMPARED, NOTED, SLOW, noted_beside, shown_beside, speaks_of

Verdict = Literal["supported", "not-supported", "contradicted", "unchecked"]
PlanVerdict = Literal["is-the-proposal", "not-now", "harmful", "unchecked"]
ENOUGH = 10
"""Points from which on a series can contradict what a person says of it."""
CRASH, SIGNATURES, FATAL = "crash", "error signatures", "S0"
"""The symptom of a run that stopped, and the check and grade of the error that stops one."""
SCORES, FEW = "score-flat", 3
"""The symptom of an evaluation that does not get better, and the points from which on one can show it."""
FLAT, FALLS = "loss-flat", -3.0
"""The symptom of a curve that does not fall, and the z of Kendall's tau below which one falls."""
LITTLE = 0.01
"""Share of its level that a curve must fall to count as falling. Own judgement."""
BECAME = bounded(
    r"\b(?:drop\w*|fell|fall(?:s|ing)?|halv\w*|slow(?:s|ed|ing)(?: down)?"
    r"|(?:got|gets|getting|became|becomes?|goes|going|went) (?:\w+ )?slow\w*|slower and slower|over time|since"
    r"|after step|from step|suddenly)\b|变慢|越来越慢|慢了|降|掉|突然",
    re.IGNORECASE,
)
"""What says that a speed was higher before: that a measure that keeps its level does deny."""
OWN = 3
"""Findings for which a check looks, up to which it is one of its own."""
RELATED = "sign-"
"""Begins the code of what a sign holds: a symptom that it measures is there."""
BELIEVED = ("established", "supported")
OPPOSITE: dict[Direction, tuple[Direction, ...]] = {
    "raise": ("lower", "disable"),
    "lower": ("raise", "enable"),
    "enable": ("disable", "lower"),
    "disable": ("enable", "raise"),
}
FALLEN = ("score-falls-at-checkpoint", "checkpoint-worse")
"""What says behind which checkpoint a score is lost."""
_SAVED = r"(?:checkpoints?|ckpts?|snapshots?|weights|models?|steps?|epochs?|adapters?)"
_SAVED_ZH = r"(?:检查点|权重|模型|版本|存档|checkpoint|ckpt)"
TAKES = bounded(
    rf"\b(?:which|what|best|right)\b(?: \w+){{0,3}}? {_SAVED}\b|\b(?:last|latest|newest) (?:known )?good\b"
    r"|\b(?:ship|deploy|release|publish|promote|serve|keep|roll ?back to|go back to)\b"
    rf".{{0,30}}\b{_SAVED}\b|\b(?:resume|continue|restart|go on) from\b.{{0,30}}\b{_SAVED}\b"
    rf"|哪(?:个|一个|一?步|一?版).{{0,6}}{_SAVED_ZH}|最后一个(?:好|正常|健康|可用).{{0,4}}{_SAVED_ZH}"
    rf"|(?:上线|发布|部署|回退到|回滚到).{{0,8}}{_SAVED_ZH}|从.{{1,12}}(?:{_SAVED_ZH}|步).{{0,4}}(?:续训|接着|继续|恢复)",
    re.IGNORECASE,
)
"""What asks which checkpoint is to be taken."""
NUMBERED = bounded(r"(?<![\w.])(\d{1,3}(?:,\d{3})+|\d{2,9}|\d{1,4}(?:\.\d)?(?=\s?[kK千]))\s?([kK](?![a-z])|千)?")
"""A checkpoint by its step, as people write it."""
TOO: tuple[tuple[Direction, re.Pattern[str]], ...] = (
    ("raise", bounded(r"\btoo (?:small|low|little|weak|short|few|tiny|slow)\b|not (?:high|large|big|strong) enough"
                      r"|[太偏过][小低弱少短]|不够[大高强]|[小低]了", re.IGNORECASE)),
    ("lower", bounded(r"\btoo (?:large|big|high|strong|much|long|many|aggressive)\b|not (?:low|small) enough"
                      r"|[太偏过][大高强多长猛]|不够[小低]|[大高]了", re.IGNORECASE)),
)  # fmt: skip
"""What must be done with a setting that is taken to be too small, or too large."""
NOT_A_SETTING = {"data": "dataset", "library": "environment", "hardware": "environment"}
"""What a plan acts on -> what a proposal calls it."""


@dataclass(frozen=True)
class Judged:
    """One suspicion, and what the run says of it."""

    suspicion: Suspicion
    entry: str
    """The entry of the topic that the evidence says most of."""
    verdict: Verdict
    for_: tuple[Finding, ...] = ()
    against: tuple[Finding, ...] = ()
    elsewhere: bool = False
    """Whether what was found is of another memory, the host's or the GPU's, than the one that is suspected."""


@dataclass(frozen=True)
class Weighed:
    """One plan, and what follows from the proposal for it."""

    plan: Plan
    verdict: PlanVerdict
    because: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Seen:
    """One symptom, and whether the run shows it."""

    symptom: Symptom
    verdict: Literal["shown", "stands", "at-times", "level", "contradicted", "absent", "unchecked"]
    findings: tuple[Finding, ...] = ()
    """What shows it; of one that is not shown, what would lead to it."""
    step: int | None = None
    """Where the measure ends that contradicts it, or stands from."""
    value: float | None = None
    key: str = ""
    """The measure that stands, or keeps one level, by its own name."""
    file: str = ""
    times: int = 0
    """Stretches in which it is so."""


@dataclass(frozen=True)
class Reply:
    """Everything that is said to the person's own words."""

    symptoms: tuple[Seen, ...] = ()
    suspicions: tuple[Judged, ...] = ()
    plans: tuple[Weighed, ...] = ()
    kept: Finding | None = None
    """The fall of a score before which the last good checkpoint lies, where that is asked."""
    compared: Finding | None = None
    """What was measured of the two versions that the person holds against each other."""


def respond(
    question: Question,
    runbook: Runbook,
    diagnosis: Diagnosis,
    proposal: Proposal | Nothing,
    table: SeriesTable | None,
    checks: Sequence[Check] = (),
) -> Reply:
    """Verdicts on what the question says; `table` is None without a run, and then nothing can be judged."""
    ranked = rank(runbook, diagnosis.findings, {}) if table is not None else []
    return Reply(
        tuple(
            _with_reason(_seen(s, diagnosis.findings, table, checks, question.own), runbook, diagnosis.findings)
            for s in question.symptoms
        )
        if table is not None
        else (),
        tuple(
            _looked_for(_judged(s, runbook, diagnosis, ranked, table is not None, proposal), runbook, checks)
            for s in question.suspicions
        ),
        tuple(_weighed(p, diagnosis, proposal, table is not None) for p in question.plans),
        _kept(question, diagnosis.findings),
        _compared(question, diagnosis.findings),
    )


def _compared(question: Question, findings: Sequence[Finding]) -> Finding | None:
    """What holds two versions against each other and finds them no worse, where the person complains of one of them."""
    held = (f for f in findings if f.code in COMPARED and f.severity not in SHOWN)
    told = next((f for f in held if any(speaks_of(c.text, f) for c in question.complaints)), None)
    beside = [f for f in findings if f.code == NOTED]
    metrics = [m for s in question.symptoms if s.kind.id == SLOW for m in s.kind.metrics]
    asked = noted_beside(metrics, beside) or any(shown_beside(c, beside) for c in question.complaints)
    return told or (beside[0] if beside and asked else None)


def _kept(question: Question, findings: Sequence[Finding]) -> Finding | None:
    """The first of the falls of scores, where the person asks which checkpoint to take."""
    falls = [f for f in findings if f.code in FALLEN and "interval" in f.data]
    first = min(falls, key=lambda f: f.data["interval"][0], default=None)
    return first if first is not None and TAKES.search(question.own) else None


def _judged(
    s: Suspicion,
    runbook: Runbook,
    d: Diagnosis,
    ranked: Sequence[Hypothesis],
    looked: bool,
    proposal: Proposal | Nothing,
) -> Judged:
    """A topic is judged by the best of its entries; benign ones and guides blame nothing. What is taken for too small
    is not supported by a cause that says it is too large."""
    about = [h for h in ranked if s.topic.about(h.entry) and h.entry.kind == "failure"]
    entry = about[0].entry.id if about else _first(s, runbook)
    if not looked:
        return Judged(s, entry, "unchecked")
    if said := tuple(f for f in d.findings if f.code in s.topic.codes and f.severity in SHOWN):
        return Judged(s, entry, "supported", said)
    backed = [h for h in about if h.status in BELIEVED and h.probability >= LEAST]
    if backed and other(s.text, backed[0].for_):
        grown = tuple(f for f in backed[0].for_ if of([f]))
        return Judged(s, backed[0].entry.id, "contradicted", (), grown, elsewhere=True)
    if backed and _other_way(s, backed[0].entry, proposal):
        return Judged(s, backed[0].entry.id, "contradicted", (), backed[0].for_)
    if backed:
        return Judged(s, backed[0].entry.id, "supported", backed[0].for_, backed[0].against)
    hints = tuple(f for h in about[:1] for f in h.for_ if f.severity in SHOWN)
    refuted = tuple({id(f): f for h in about if h.status == "refuted" for f in h.against}.values())
    if refuted and not hints:
        return Judged(s, entry, "contradicted", (), refuted)
    if d.state == "diagnosed" and d.top and d.top.status in BELIEVED:
        return Judged(s, entry, "not-supported", hints, d.top.for_)
    return Judged(s, entry, "not-supported" if d.state == "healthy" else "unchecked", hints)


def _other_way(s: Suspicion, entry: Entry, proposal: Proposal | Nothing) -> bool:
    """Whether the person takes for too small what the cause's own change makes smaller still, or the contrary."""
    wanted = {way for way, said in TOO if said.search(s.text)}
    made = isinstance(proposal, Proposal) and proposal.variable in s.topic.variables and proposal.entry == entry.id
    moved = _moved(proposal) if made and isinstance(proposal, Proposal) else None
    ways = {moved} if moved else {way for v in s.topic.variables for way in _ways(entry, v)}
    ways &= {"raise", "lower"}
    return len(wanted) == 1 and bool(ways) and wanted.isdisjoint(ways)


def _looked_for(judged: Judged, runbook: Runbook, checks: Sequence[Check]) -> Judged:
    """Where nothing speaks for or against it: not supported, where a check of its own looked for what would decide on
    it, says in what, and did not find it. A check that looks for many things, as one of error lines does, says little.
    """
    if judged.verdict != "unchecked" or judged.for_ or not checks:
        return judged
    from ..tools.catalogue import checks as that_look_for  # imports every tool
    from ..tools.catalogue import codes

    entries = [e for e in runbook if e.kind == "failure" and judged.suspicion.topic.about(e)]
    deciding = {code for e in entries for code, word in e.speaks.for_.items() if word == "decisive"}
    names = {name for code in deciding for name in that_look_for(code)}
    looks_for = Counter(name for wing in codes().values() for code in wing.values() for name in code.checks)
    made = [c for c in checks if c.name in names and looks_for[c.name] <= OWN and c.why]
    clear = any(c.result == "clear" for c in made) and not any(c.result in ("failed", "too-short") for c in made)
    return replace(judged, verdict="not-supported") if clear else judged


def _first(s: Suspicion, runbook: Runbook) -> str:
    return next((e.id for e in runbook if e.kind == "failure" and s.topic.about(e)), "")


def _weighed(plan: Plan, d: Diagnosis, proposal: Proposal | Nothing, looked: bool) -> Weighed:
    if not looked:
        return Weighed(plan, "unchecked")
    if plan.variable == "checkpoint" and (fall := _behind_fall(plan, d.findings)) is not None:
        return Weighed(plan, "harmful", (fall,))
    believed = [h for h in d.hypotheses if h.status in BELIEVED and h.probability >= LEAST]
    for h in believed:
        for way in _ways(h.entry, plan.variable):
            if way in OPPOSITE.get(plan.direction, ()):
                return Weighed(plan, "harmful", h.for_)
    if isinstance(proposal, Proposal) and same_variable(plan.variable, proposal.variable):
        if _moved(proposal) in OPPOSITE.get(plan.direction, ()):
            return Weighed(plan, "harmful", d.top.for_ if d.top else ())
        known = _moved(proposal) != "set" or plan.direction not in OPPOSITE  # else nobody knows which way it goes
        return Weighed(plan, "is-the-proposal" if known else "unchecked")
    if isinstance(proposal, Proposal) or d.state == "healthy":
        return Weighed(plan, "not-now", d.top.for_ if d.top else ())
    return Weighed(plan, "unchecked")


def _behind_fall(plan: Plan, findings: Sequence[Finding]) -> Finding | None:
    """The fall of a score behind which every checkpoint lies that a plan names to go on from."""
    named = [float(m[1].replace(",", "")) * (1000 if m[2] else 1) for m in NUMBERED.finditer(plan.text)]
    falls = (f for f in findings if f.code in FALLEN and "interval" in f.data)
    return next((f for f in falls if named and min(named) >= f.data["interval"][1]), None)


def _moved(proposal: Proposal) -> Direction:
    """The direction in which a proposal moves its setting."""
    try:
        return "raise" if float(proposal.new) > float(proposal.old) else "lower"
    except ValueError:
        return "set"


def same_variable(planned: str, proposed: str) -> bool:
    """Whether a plan and a proposal act on one thing."""
    planned = NOT_A_SETTING.get(planned, planned)
    return planned == proposed or SAME_THING.get(planned) == proposed or SAME_THING.get(proposed) == planned


def _ways(entry: Entry, variable: str) -> Iterator[Direction]:
    """The directions in which the entry's fixes move a variable."""
    for fix in (entry.fix, *(c.fix for c in entry.causes)):
        if fix and same_variable(variable, fix.variable):
            yield _way(fix)


def _way(fix: Fix) -> Direction:
    [(how, amount)] = fix.change.items()
    if how == "multiply":
        return "lower" if amount < 1 else "raise"
    return "raise" if how == "add" and amount > 0 else "lower" if how == "add" else "set"


def _seen(
    symptom: Symptom, findings: Sequence[Finding], table: SeriesTable, checks: Sequence[Check], own: str = ""
) -> Seen:
    """Shown by a finding; contradicted by a measure that is long enough and has none, or absent as the checks that look
    for it say; else nobody can tell.
    """
    kind = symptom.kind
    told = [f for f in findings if f.code != "run-healthy" and any(e.metric in kind.metrics for e in f.evidence)]
    shown = tuple(f for f in findings if f.code in kind.codes or (f in told and f.code.startswith(RELATED)))
    if kind.id == CRASH and not shown:
        shown = tuple(f for f in findings if f.severity == FATAL and _of_error(f))
    if not shown and kind.id == SLOW and (beside := noted_beside(kind.metrics, findings)):
        shown = (beside,)
    if shown:
        return Seen(symptom, "shown", shown)
    if kind.id == SCORES and any(_no_better(s) for m in kind.metrics if (s := table.get(m)) is not None):
        return Seen(symptom, "shown")
    measured = next((s for m in kind.metrics if (s := table.get(m)) and len(s) >= ENOUGH), None)
    if measured is not None and kind.id in STANDING_STILL and kind.id != FLAT and (still := stands_from(measured)):
        at, _, last = still
        return Seen(symptom, "stands", (), int(finite(measured).steps[at]), last, measured.key, measured.file)
    if kind.id == SLOW and (again := slow_at_times(kind.metrics, table)) is not None:
        s, parts = again
        return Seen(symptom, "at-times", (), int(finite(s).steps[parts[0][0]]), parts[0][2], s.key, s.file, len(parts))
    if measured is None or told:
        return Seen(symptom, "unchecked" if told or undecided(symptom, checks, findings) else "absent")
    if kind.id == FLAT and _flat_end(measured):
        return Seen(symptom, "shown")
    if kind.id == SLOW and not BECAME.search(own):
        return Seen(symptom, "level", (), None, float(np.median(finite(measured).values)), measured.key, measured.file)
    return Seen(symptom, "contradicted", (), int(measured.steps[-1]), float(measured.values[-1]))


def _of_error(f: Finding) -> bool:
    from ..tools.catalogue import checks as that_look_for  # imports every tool

    return SIGNATURES in that_look_for(f.code)


def _no_better(series: Series) -> bool:
    """Whether a score ends no better than it began."""
    values = finite(series).values
    if len(values) < FEW:
        return False
    first, end = head_tail(values)
    return VOCABULARY[series.metric].better * (end - first) < LITTLE * abs(first)


def _with_reason(seen: Seen, runbook: Runbook, findings: Sequence[Finding]) -> Seen:
    """With the findings of settings and programs that lead to the symptom, where nothing measured decides on it."""
    if seen.verdict not in ("unchecked", "absent"):
        return seen
    entries = ((f, runbook.get(str(f.data.get("entry", "")))) for f in findings if f.severity in SHOWN)
    codes = set(seen.symptom.kind.codes)
    leading = (f for f, entry in entries if entry is not None and codes.intersection(entry.speaks.for_))
    return replace(seen, findings=tuple(leading))


def _flat_end(series: Series) -> bool:
    """Whether the last third of a curve hardly falls any more, which no detector calls a fault."""
    values = finite(series).values
    last = values[-len(values) // 3 :]
    first, end = head_tail(last)
    return mann_kendall(last)[1] > FALLS or first - end < LITTLE * abs(first)
