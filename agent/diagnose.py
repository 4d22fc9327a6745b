"""What may be said of a run: which causes lead, and whether it is diagnosed, healthy, or neither can be told.

The causes come ranked from `agent.ranking`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ..knowledge.entry import Conflict
from ..knowledge.runbook import Runbook
from ..knowledge.search import MEANT, Hit
from ..tools.findings import EVIDENCE_READ, RECORDS_READ, Check, Finding
from .leads.weighed import MERE, SUBJECT, Leads, caused, with_leads
from .missing import Missing
from .ranking import (
    ASKED,
    BELIEVED,
    SERIOUS,
    SHOWN,
    UNPROVEN,
    Hypothesis,
    alike,
    behind,
    passed_over,
    rank,
    restated,
    weight,
)
from .signs.record import proven
from .signs.standing import is_hazard, is_set

LEAST_WORDS: dict[str, float] = {"healthy": ASKED, "inconclusive": 0.05}
"""Relevance below which a hypothesis that only words support is not worth naming."""
UNSEEN = ("jump-unwitnessed", "slowdown-unwitnessed")
"""What shows trouble of which nothing else was written down, whether the run stopped or not."""
BY_HAND = ("interrupted",)
"""What people do to a run that is in trouble: no cause of it."""
LOST = ("output-thrown-away", "evidence-not-kept", "errors-not-kept", "nothing-tells-the-end", *UNSEEN)
"""What would have told was lost: with sound metrics and a question that they do not answer, that is the answer."""
NOT_KEPT = 0.5
"""How likely "it cannot be told" is then, next to all causes that were not excluded. Own judgement."""
ENDED = ("job-ended-badly",)
"""What says that the run stopped by itself."""
REPORTED = ("uncaught-exception", "step-ended-after-error")
"""What a launcher says of a process: where it names no error, it tells that the run ended and not of what."""
LEAST = 0.2
"""Probability below which a hypothesis is no diagnosis."""
SURE = 0.8
"""Probability from which on a cause is a diagnosis where no error that stopped or spoilt the run (S0) speaks for it;
`agent.signs.record` has the diagnoses of strangers' runs that it was chosen on."""
CLOSE = 2.5
"""The top two are close when their probabilities differ by less than this factor."""
LIKELY = 0.05
"""Probability from which on an entry that rests on the same findings as the first is a rival, whatever their priors."""
SEVERAL = 2
"""Causes of a symptom that rest on nothing but it, from which on none of them is named where metrics are missing."""
MOST_BESIDE = 2
"""Faults told beside the first."""
BLIND = "metrics-not-logged"
"""The finding that what would tell causes apart was not logged."""
State = Literal["diagnosed", "inconclusive", "healthy", "out-of-scope"]


@dataclass(frozen=True)
class Diagnosis:
    """The ranked differential of one question about one run."""

    state: State
    hypotheses: tuple[Hypothesis, ...] = ()
    findings: tuple[Finding, ...] = ()
    checks: tuple[Check, ...] = ()
    conflicts: tuple[tuple[Conflict, int | None], ...] = ()
    """Conflicts of the leading entries, with the position that this run supports, if it decides."""
    unexplained: tuple[Finding, ...] = field(default=())
    """S0 and S1 findings that no listed hypothesis accounts for."""
    missing: tuple[Missing, ...] = ()
    """What keeps a run in which nothing wrong was found from being called healthy, worst first."""
    also: tuple[Hypothesis, ...] = ()
    """Further faults, each established by findings that say nothing for those before it."""
    restated: bool = False
    """Whether the first only names what was asked about, or leaves the worst that was found unexplained."""

    @property
    def to_mend(self) -> tuple[Hypothesis, ...]:
        """The faults in the order in which to mend them: what stops the run first, then as they stand."""
        return tuple(sorted((*self.hypotheses[:1], *self.also), key=lambda h: h.entry.severity))

    @property
    def top(self) -> Hypothesis | None:
        return self.hypotheses[0] if self.hypotheses else None

    @property
    def close(self) -> bool:
        """Whether a check must split the first two before either is believed."""
        if len(self.hypotheses) < 2:
            return False
        first, second = self.hypotheses[:2]
        near = first.probability < CLOSE * second.probability
        return second.status != "refuted" and (near or (second.probability >= LIKELY and alike(first, second)))


def diagnose(
    runbook: Runbook,
    hits: Sequence[Hit],
    findings: Sequence[Finding],
    checks: Sequence[Check],
    in_field: bool = True,
    looked: bool = False,
    keep: int = 5,
    stage: str = "",
    missing: Sequence[Missing] = (),
    leads: Callable[[], Leads] = dict,
    named: Callable[[], Sequence[Hit]] = tuple,
    stopped: bool = False,
    complains: bool = False,
    restates: Callable[[Finding], bool] = lambda finding: False,
) -> Diagnosis:
    """Rank the entries by the findings of the run and the words of the question.

    Args:
        runbook: all entries.
        hits: what retrieval says about the question's words.
        findings: everything the tools found.
        checks: everything the tools looked at.
        in_field: whether the question is about training, aligning or serving models at all; "what is wrong?" is not.
        looked: whether there was a run to look at.
        stage: what kind of training the run's settings say it is, empty where they do not.
        missing: as of `Diagnosis`.
        leads: what the run's files say that could matter; asked for only where nothing is believed.
        named: what retrieval says about all words, suspicions too; asked for only where what leads is no failure.
        stopped: whether the person says that the run came to an end by itself.
        complains: whether the person says that something is wrong at all.
        restates: whether a finding only says again what the person says that was seen.
    """
    findings, checks = tuple(findings), tuple(checks)
    wrong = [f for f in findings if f.severity in SERIOUS]
    if not (in_field or looked or wrong):
        return Diagnosis("out-of-scope", findings=findings, checks=checks)
    relevance = behind(runbook, {hit.entry.id: hit.score for hit in hits})
    every = rank(runbook, findings, {} if looked else relevance, stage)
    ranked = _symptom_first(every[:keep])
    state = _state(ranked, findings, checks, looked)
    again = looked and bool(ranked) and restated(ranked[0], runbook, restates)
    state = "inconclusive" if again and state == "diagnosed" else state
    if looked and ranked and _measured_normal(ranked[0], findings, named) and not unread(checks):
        state = "healthy"
    if looked and not ranked and state == "inconclusive" and in_field:
        ranked = rank(runbook, findings, relevance, stage)[:keep]
    if looked and state != "diagnosed" and _sound(findings) and not _shown_strongly(ranked):
        normal = [h for h in ranked if _measured_normal(h, findings, named, rivals=False)]
        ranked = (
            [h for h in ranked if any(f.code in LOST or f.severity in SHOWN for f in h.for_)] if missing else normal
        )
        state = "inconclusive" if missing else state
    elif not wrong and state in LEAST_WORDS and not any(h.for_ for h in ranked):
        symptom = ranked[0].entry.id if ranked and in_field and state == "inconclusive" else ""
        least = LEAST_WORDS[state] if in_field else ASKED
        ranked = [h for h in ranked if h.words >= least or symptom in h.entry.explains]
    believed = any(h.status in BELIEVED and h.probability >= LEAST for h in ranked)
    if looked and state == "inconclusive" and (lost := _lost(every, findings, stopped)):
        ranked = lost
    elif looked and state == "inconclusive" and not believed and not _answered(missing):
        ranked = _led(ranked, runbook, leads(), complains)[:keep]
    elif looked and state in ("diagnosed", "inconclusive") and (found := _explained(ranked, runbook, leads)):
        state, ranked = "inconclusive", found
    if state != "diagnosed":
        ranked = [_unproven(h) for h in ranked]
    findings = (*findings, *(f for h in ranked for f in h.for_ if f not in findings))
    explained = {f.code for h in ranked for f in h.for_}
    return Diagnosis(
        state,
        tuple(ranked),
        findings,
        checks,
        tuple(_conflicts(leading(ranked), {f.code for f in findings})),
        tuple(f for f in wrong if f.code not in explained),
        tuple(missing),
        _beside(runbook, ranked, findings, stage) if looked and state == "diagnosed" else (),
        looked and state == "inconclusive" and (again or passed_over(ranked, wrong)),
    )


def _answered(missing: Sequence[Missing]) -> bool:
    """Whether what is missing is no matter of where else to look: only time tells, or what is asked about was read."""
    return bool(missing) and (all(m.later for m in missing) or any(m.told for m in missing))


def _unproven(h: Hypothesis) -> Hypothesis:
    """An established cause as one that is supported: where there is no diagnosis, nothing is established."""
    return replace(h, status="supported", probability=min(h.probability, UNPROVEN)) if h.status == "established" else h


def _led(ranked: Sequence[Hypothesis], runbook: Runbook, leads: Leads, complains: bool) -> list[Hypothesis]:
    """The causes with the leads of the run's files, but for those of words alone: that files speak of a thing is no
    reason to look there first, unless a finding or what a program says speaks for it, too; nor is what people write
    of it, where nobody says that anything is wrong. (Of 40 folders of strangers in which nothing but words led, the
    cause stood first in three; the 13 sound ones among them were only asked whether they are fine.)"""
    mere = (SUBJECT,) if complains else MERE
    ranked = [h for h in ranked if h.for_ or not leads]
    seen = {h.entry.id for h in ranked if h.for_}
    told = {id for id, some in leads.items() if any(score > 0 and f.code not in mere for score, f in some)}
    return with_leads(ranked, runbook, {id: some for id, some in leads.items() if id in seen | told})


def _lost(ranked: Sequence[Hypothesis], findings: Sequence[Finding], stopped: bool) -> list[Hypothesis]:
    """That what would tell was not kept, of a run that stopped or jumped, where nothing but notes was found: words of
    its files are no lead then."""
    unseen = any(f.code in UNSEEN for f in findings)
    bare = [f for f in findings if f.code in REPORTED and f.data.get("role") == "echo" and "exception" not in f.data]
    shown = any(f.severity in SHOWN and f not in bare and not (unseen and f.code in BY_HAND) for f in findings)
    if shown or not (stopped or unseen or bare or any(f.code in ENDED for f in findings)):
        return []
    lost = [h for h in ranked if any(f.code in LOST for f in h.for_)]
    return [replace(h, status="possible", probability=max(h.probability, NOT_KEPT)) for h in lost[:1]]


def _beside(
    runbook: Runbook, ranked: Sequence[Hypothesis], findings: Sequence[Finding], stage: str
) -> tuple[Hypothesis, ...]:
    """Faults that what the leader leaves unexplained establishes; none that is tied to one before it."""
    found = list(ranked[:1])
    left = findings
    while len(found) <= MOST_BESIDE:
        spoken = {code for h in found for code in (*h.entry.speaks.for_, *h.entry.speaks.against)}
        left = [f for f in left if f.code not in spoken]
        second = next(iter(rank(runbook, left, {}, stage)), None)
        if second is None or second.status != "established" or any(_tied(second, h) for h in found):
            break
        if not any(f.severity in SHOWN and second.entry.speaks.for_[f.code] == "decisive" for f in second.for_):
            break
        found.append(second)
    return tuple(found[1:])


def _tied(one: Hypothesis, other: Hypothesis) -> bool:
    """Whether one entry is a cause, a symptom or a rival of the other, or explains the same symptom."""
    a, b = one.entry, other.entry
    near = {*a.explains, *a.rivals, a.id} & {*b.explains, *b.rivals, b.id}
    return bool(near)


def leading(ranked: Sequence[Hypothesis]) -> list[Hypothesis]:
    """The first, and the second where it is probable enough to matter."""
    return [h for i, h in enumerate(ranked[:2]) if not i or h.probability >= LEAST]


def _state(ranked: Sequence[Hypothesis], findings: Sequence[Finding], checks: Sequence[Check], looked: bool) -> State:
    """`healthy` needs a run that was read whole and shows nothing; `diagnosed`, a leading hypothesis to believe.

    A run with sound metrics is diagnosed where something more than a note speaks strongly for the leader (personal
    data is no matter of the loss). A benign entry is no diagnosis of a run. Words alone lead only to an entry of the
    source runbooks, and only where there was no run to look at; an entry that rests on public reports needs a finding
    before it is called a diagnosis.
    """
    top = ranked[0] if ranked else None
    if looked and _sound(findings):
        if _shown_strongly(ranked):
            return "diagnosed" if sure(ranked) else "inconclusive"
        return "inconclusive" if unread(checks) else "healthy"
    if top is None or top.status == "refuted" or (top.entry.kind == "benign" and looked):
        return "inconclusive"
    if top.status in BELIEVED:
        return "diagnosed" if sure(ranked) and not _open(ranked, findings, checks) else "inconclusive"
    return "diagnosed" if top.words >= MEANT and top.entry.sources and not looked else "inconclusive"


def _open(ranked: Sequence[Hypothesis], findings: Sequence[Finding], checks: Sequence[Check]) -> bool:
    """Whether the believed leader tells no cause: it is the symptom, tied, or what would show it is missing."""
    top = ranked[0]
    return (
        any(f.code in UNSEEN for f in top.for_)
        or _only_a_symptom(ranked)
        or len(_tied_by_one(ranked)) > SEVERAL
        or _several_changes(ranked, findings)
        or unseen(top, checks)
    )


def undecided(d: Diagnosis) -> bool:
    """Whether something else than its odds keeps the believed leader of an inconclusive answer from being one."""
    return bool(d.hypotheses) and (sure(d.hypotheses) or _open(d.hypotheses, d.findings, d.checks))


def sure(ranked: Sequence[Hypothesis]) -> bool:
    """Whether the believed leader is likely enough to be a diagnosis, and such diagnoses were right before."""
    top = ranked[0]
    if any(f.severity == "S0" for f in top.for_):
        return weight(top, ranked) >= LEAST
    return weight(top, ranked) >= SURE and proven(top.entry.id, {f.code for f in top.for_})


def unseen(top: Hypothesis, checks: Sequence[Check]) -> bool:
    """Whether the leader rests on what is set and on notes, while files that could show what happened were not read."""
    set_only = all(is_set(f) or is_hazard(f) or f.severity not in SHOWN for f in top.for_)
    return top.status == "supported" and set_only and unread(checks)


def _several_changes(ranked: Sequence[Hypothesis], findings: Sequence[Finding]) -> bool:
    """Whether several changes fell together where it began, and nothing is established that would tell them apart.

    A leader that its own findings support strongly stands; one that names the symptom does not.
    """
    top = ranked[0]
    strong = any(top.entry.speaks.for_[f.code] in ("decisive", "strong") and f.severity in SHOWN for f in top.for_)
    return top.status == "supported" and not strong and any(f.code == "changes-together" for f in findings)


def _only_a_symptom(ranked: Sequence[Hypothesis]) -> bool:
    """Whether the leader names what is seen, several causes explain it, and what would tell them apart is missing."""
    top, codes = ranked[0], [{f.code for f in h.for_} for h in ranked]
    behind = [h for h, own in zip(ranked, codes, strict=True) if top.entry.id in h.entry.explains and own <= codes[0]]
    blind = any(BLIND in own and own & codes[0] for own in codes[1:])
    return top.status == "supported" and top.cause is None and blind and len(behind) >= SEVERAL


def _tied_by_one(ranked: Sequence[Hypothesis]) -> list[Hypothesis]:
    """The entries that are as probable as the first, where one finding speaks for all of them alike and strongly for
    none: it says that something happened, and not why."""
    top = ranked[0] if ranked else None
    if top is None or top.status != "supported" or len(top.for_) != 1 or top.against:
        return []
    if top.entry.speaks.for_.get(top.for_[0].code) in ("decisive", "strong"):
        return []
    return [h for h in ranked if h.for_ == top.for_ and alike(top, h) and h.probability > 0.9 * top.probability]


def _symptom_first(ranked: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Of entries that one finding ties, the one that names what was seen before those that would explain it."""
    tied = _tied_by_one(ranked)
    seen = next((h for h in tied if sum(h.entry.id in o.entry.explains for o in tied) >= SEVERAL), None)
    return [seen, *(h for h in ranked if h is not seen)] if seen is not None else list(ranked)


def _explained(ranked: Sequence[Hypothesis], runbook: Runbook, leads: Callable[[], Leads]) -> list[Hypothesis]:
    """The causes, what the files are about before a supported symptom that no believed cause explains; else none. A
    symptom of which a finding decides on the cause within it is explained."""
    if not ranked or ranked[0].status != "supported" or ranked[0].probability < LEAST:
        return []
    if (known := ranked[0].cause) and any(known.for_.get(f.code) == "decisive" for f in ranked[0].for_):
        return []
    top = ranked[0].entry.id
    causes = {entry.id for entry in runbook if top in entry.explains}
    if not causes or any(h.entry.id in causes and h.status in BELIEVED and h.probability >= LEAST for h in ranked):
        return []
    return caused(ranked, runbook, {id: some for id, some in leads().items() if id in (top, *causes)})


def _sound(findings: Sequence[Finding]) -> bool:
    """Whether the metrics were read, look well, and nothing serious was found."""
    return any(f.code == "run-healthy" for f in findings) and not any(f.severity in SERIOUS for f in findings)


def _measured_normal(
    top: Hypothesis, findings: Sequence[Finding], named: Callable[[], Sequence[Hit]], rivals: bool = True
) -> bool:
    """Whether what was asked about was measured and is as it should be, and nothing was found that is wrong.

    Args:
        rivals: whether words that are those of a rival ask about it, too.
    """
    entry = top.entry
    shown = any(entry.speaks.for_[f.code] == "decisive" for f in top.for_)
    if entry.kind != "benign" or not shown or any(f.severity in SHOWN for f in findings):
        return False
    asked = (entry.id, *entry.rivals) if rivals else (entry.id,)
    return any(hit.score >= ASKED and hit.entry.id in asked for hit in named())


def unread(checks: Iterable[Check]) -> bool:
    """Whether something that could have shown a fault was not read."""
    return any(c.result == "failed" and c.name.startswith((EVIDENCE_READ, RECORDS_READ)) for c in checks)


def _shown_strongly(ranked: Sequence[Hypothesis]) -> bool:
    """Whether the leader rests on more than a note, and such a finding speaks strongly for it or for a close rival.

    A setting that is only unusual says little about a run with sound metrics, unless it is decisive.
    """
    likely = [h for h in ranked if h.probability >= LEAST and h.status in ("established", "supported")]
    if not likely or likely[0] is not ranked[0] or not any(f.severity in SHOWN for f in likely[0].for_):
        return False
    words = {(h.entry.speaks.for_[f.code], is_set(f)) for h in likely for f in h.for_ if f.severity in SHOWN}
    return any(word == "decisive" or (word == "strong" and not setting) for word, setting in words)


def _conflicts(ranked: Iterable[Hypothesis], codes: set[str]) -> Iterable[tuple[Conflict, int | None]]:
    seen: set[str] = set()
    for hypothesis in ranked:
        for conflict in hypothesis.entry.conflicts:
            key = conflict.ref or conflict.about.en
            if key in seen:
                continue
            seen.add(key)
            sides = {side for code, side in conflict.decided_by_findings.items() if code in codes}
            yield conflict, sides.pop() if len(sides) == 1 else None
