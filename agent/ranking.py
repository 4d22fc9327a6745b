"""Which failure explains this evidence? Prior odds, times the findings; status by rule.

    log-odds(entry) = log(prior + WORDS * p) + sum of log likelihood ratios of its findings, for and against

with p the probability that the words of the question mean this entry where there is no run to look at. Beside a run the
findings rank alone; words choose what is answered (`agent.respond`), and where a run shows nothing for any entry, they
say what to look for next, as possibilities that nothing supports.

Findings of one run are not independent (a NaN loss and a NaN gradient norm say nearly the same), so the ratios of one
entry are sorted by strength and each further one counts less (`DISCOUNT`). One extra hypothesis, "none of these", keeps
weak evidence from looking like a diagnosis.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..knowledge.entry import Cause, Entry
from ..knowledge.runbook import Runbook
from ..tools.findings import Finding, Severity
from .signs.standing import UNNAMED, changed_by, is_bare, is_hazard, is_set, kind_of

STRENGTH = {"decisive": 100.0, "strong": 8.0, "moderate": 3.0, "weak": 1.5}
"""Likelihood ratio of each strength word; `triage eval fit` reports measured ones beside it."""
PRIOR = {"common": 2.0, "usual": 1.0, "rare": 0.4}
"""Prior odds of an entry relative to a usual one."""
NONE_OF_THESE = math.log(5.0)
"""Log-odds of "no entry covers this", on the same scale: a moderate finding alone is no diagnosis, a strong one is."""
WORDS = 60.0
"""What a question that surely means an entry adds to its odds."""
DISCOUNT = 0.6  # weight of each further finding relative to the one before it
BEHIND = 0.4
"""What of the words for a symptom speaks for the entries that explain it, and for "something else"."""
UNSEEN = 0.1
"""What the words for an entry weigh when the run shows something else and nothing of that entry."""
BESIDE = 3.0
"""Likelihood ratio against an entry for a serious finding of the run that it does not account for."""
NOTE, BARE = "weak", "strong"
"""The most that an S3 finding, a note, says for an entry, unless it is decisive; the most that a bare error says."""
ELSEWHERE = 3.0
"""Likelihood ratio against an entry of another kind of training."""
TRAINING = {
    "pretrain": ("pretrain",),
    "sft": ("sft", "distill"),
    "dpo": ("dpo", "kto", "orpo"),
    "rm": ("rm",),
    "rl": ("ppo", "grpo"),
}
"""Kind of training as entries name it -> as settings do."""
SERVED, OPERATION = "inference", "ops"
"""Stages of what befalls a model that is served, and a job whatever it trains."""
LITTLE = ("weak", "moderate")
ALIGNMENT = frozenset(("dpo", "rm", "rl"))
"""Kinds of training whose own measures show which it is."""
CAUSE = 0.5
"""Log-odds by which a cause with strong evidence of its own stands before a symptom that it explains."""
SHARPNESS = 3.5
"""Power of the odds before they become probabilities: below the lab's own, as a stranger's run shows less. Words alone
are not sharpened: theirs are fitted (`knowledge.relevance`)."""
ASKED = 0.3
"""Relevance of the words from which on they ask for a particular failure."""
PROVEN = 0.8
"""Probability from which on a decisive finding establishes a cause: so there is one at most, and it is a diagnosis."""
UNPROVEN, ONCE = 0.97, 0.9
"""Most that is said for a cause that nothing establishes, and for one of which a single measure or setting speaks."""
NOTED = 0.5
"""Most that is said for a failure that only notes speak for: it is worth knowing, and no diagnosis. Own judgement."""
SERIOUS = ("S0", "S1")
SHOWN = (*SERIOUS, "S2")
"""Grades of a finding that is more than a note."""
BELIEVED = ("established", "supported")
LEARNS = frozenset(("pretrain", "sft", "dpo", "rm", "rl", "data", "multimodal", "preference"))
"""Stages of failures that spoil what is learned; others befall a job, a machine or an engine."""
Status = Literal["established", "supported", "possible", "refuted"]
_ORDER = {"established": 0, "supported": 1, "possible": 2, "refuted": 3}


@dataclass(frozen=True)
class Hypothesis:
    """One entry as an explanation of this run."""

    entry: Entry
    cause: Cause | None
    status: Status
    probability: float
    """Among all entries and "none of these"; in [0, 1]."""
    for_: tuple[Finding, ...] = ()
    against: tuple[Finding, ...] = ()
    words: float = 0.0
    """Probability that the words of the question mean this entry."""

    @property
    def percent(self) -> str:
        """The probability as people read it: none is 0%."""
        return "<1%" if self.probability < 0.005 else f"{self.probability:.0%}"


def alike(first: Hypothesis, second: Hypothesis) -> bool:
    """Whether all that was found says the same for both, so that nothing but how common they are tells them apart."""
    mine, other = first.entry.speaks.for_, second.entry.speaks.for_
    return bool(first.for_) and all(mine.get(f.code) == other.get(f.code) for f in (*first.for_, *second.for_))


def rank(
    runbook: Runbook, findings: Iterable[Finding], relevance: Mapping[str, float], stage: str = ""
) -> list[Hypothesis]:
    """Every entry that has a finding or a word for it, most probable first, refuted ones last."""
    by_code = _by_code(findings)
    candidates = [_weigh(entry, by_code, relevance) for entry in runbook]
    candidates = [(score - _elsewhere(h, stage), h) for score, h in _before_symptoms(candidates)]
    candidates = _generic_behind(candidates)
    sharpness = SHARPNESS if any(h.status in ("established", "supported") for _, h in candidates) else 1.0
    scored = [(sharpness * score, h) for score, h in candidates if h.for_ or h.words > 0]
    total = math.exp(sharpness * NONE_OF_THESE) + sum(math.exp(score) for score, h in scored if h.status != "refuted")
    ranked = [replace(h, probability=_share(h, math.exp(score), total)) for score, h in scored]
    return standing_of(ranked)


def standing_of(ranked: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Most probable first, where no status and no probability says more than that of the one before it."""
    out: list[Hypothesis] = []
    ranked = [replace(h, probability=min(h.probability, NOTED)) if _only_noted(h) else h for h in ranked]
    for h in sorted(ranked, key=lambda h: (h.status == "refuted", -h.probability, _ORDER[h.status], h.entry.id)):
        status: Status = "supported" if h.status == "established" and weight(h, ranked) < PROVEN else h.status
        status = max([status, *(o.status for o in out[-1:])], key=lambda s: _ORDER[s])
        sure = 1.0 if status == "established" else UNPROVEN if _shown_twice(h) else ONCE
        most = min(sure, out[-1].probability if out else 1.0)
        out.append(replace(h, status=status, probability=min(h.probability, most)))
    return out


def _only_noted(h: Hypothesis) -> bool:
    """Whether nothing but notes of the run speak for a failure."""
    return h.entry.kind != "benign" and bool(h.for_) and not any(f.severity in SHOWN for f in h.for_)


def weight(h: Hypothesis, ranked: Sequence[Hypothesis]) -> float:
    """The probability of a cause with that of its symptoms: they are no rivals."""
    return h.probability + sum(o.probability for o in ranked if o.entry.id in h.entry.explains)


def restated(top: Hypothesis, runbook: Runbook, restates: Callable[[Finding], bool]) -> bool:
    """Whether an entry that others explain rests on nothing but what the person says that was seen, and no finding
    decides on the cause within it: it is the question said again."""
    shown = [f for f in top.for_ if f.severity in SHOWN]
    decided = top.cause is not None and any(top.cause.for_.get(f.code) == "decisive" for f in shown)
    symptom = any(top.entry.id in entry.explains for entry in runbook)
    return symptom and not decided and bool(shown) and all(restates(f) for f in shown)


def passed_over(ranked: Sequence[Hypothesis], wrong: Sequence[Finding]) -> bool:
    """Whether something serious was found and the supported leader rests on none of it."""
    top = ranked[0] if ranked else None
    return bool(wrong) and top is not None and top.status in BELIEVED and not any(f in wrong for f in top.for_)


def _shown_twice(h: Hypothesis) -> bool:
    """Whether an error's own text speaks for it, or two measures, settings or places do, each by more than a note."""
    shown = [f for f in h.for_ if f.severity in SHOWN and h.entry.speaks.for_.get(f.code, NOTE) != NOTE]
    if any("role" in f.data for f in shown):
        return True
    sources = {(kind_of(f), e.metric or f.code) for f in shown for e in f.evidence[:2]}
    return len(sources) > 1 or len(shown) > 2


def _elsewhere(h: Hypothesis, stage: str) -> float:
    """Log likelihood ratio against an entry of other kinds of training than the run is, or is shown to be; what the
    entries of operation say happens to any job."""
    if OPERATION in h.entry.stages:
        return 0.0
    kinds = (TRAINING.keys() | {SERVED}) & set(h.entry.stages)
    if kinds == {SERVED}:
        return math.log(ELSEWHERE) if stage else 0.0
    kinds -= {SERVED}
    here = {kind for kind in kinds if stage in TRAINING[kind]}
    common = all(is_set(f) or f.data.get("metric") == "grad_norm" for f in h.for_)
    if common and not stage and kinds and kinds <= ALIGNMENT:
        return 2 * math.log(ELSEWHERE)  # what many trainings have, and nothing of this kind of training
    if not kinds or here or not any(stage in names for names in TRAINING.values()):
        return 0.0
    return math.log(ELSEWHERE) * (3 if kinds <= ALIGNMENT else 1)


def _before_symptoms(candidates: Sequence[tuple[float, Hypothesis]]) -> list[tuple[float, Hypothesis]]:
    """A cause with evidence of its own stands before the symptom that it explains, however much shows the symptom."""
    by_id = {h.entry.id: (score, h) for score, h in candidates if h.for_ and h.status != "refuted"}

    def raised(score: float, h: Hypothesis) -> float:
        weights = h.entry.speaks.for_
        own = {f.code for f in h.for_ if f.severity in SHOWN and weights[f.code] in ("decisive", "strong")}
        explained = (by_id[id] for id in h.entry.explains if id in by_id and h.status != "refuted")
        over = [s + CAUSE for s, symptom in explained if own - symptom.entry.speaks.for_.keys()]
        return max([score, *over])

    return [(raised(score, h), h) for score, h in candidates]


def _generic_behind(candidates: Sequence[tuple[float, Hypothesis]]) -> list[tuple[float, Hypothesis]]:
    """What only says that a measure fell from some place on stands behind a failure of the training that was measured
    to have begun by then, with more than weak findings of its own."""

    def lowered(score: float, h: Hypothesis) -> float:
        falls = [
            float(f.data["at"]) for f in h.for_ if f.severity in SHOWN and isinstance(f.data.get("at"), (int, float))
        ]
        if not h.entry.generic or not falls or h.status == "refuted":
            return score
        before = [s for s, other in candidates if _begins_before(other, h.entry, max(falls))]
        return min(score, max(before, default=math.inf) - CAUSE)

    return [(lowered(score, h), h) for score, h in candidates]


def _begins_before(h: Hypothesis, generic: Entry, fall: float) -> bool:
    """Whether a failure of the training is shown by changes that the generic entry does not speak of: one that is
    strong or two that are moderate, of which one can have begun by the fall."""
    if (
        h.entry.generic
        or h.entry.kind != "failure"
        or h.status not in BELIEVED
        or not LEARNS.issuperset(h.entry.stages)
    ):
        return False
    weights = h.entry.speaks.for_
    own = [f for f in h.for_ if f.severity in SHOWN and f.code not in generic.speaks.for_ and not kind_of(f)]
    own = [f for f in own if weights[f.code] in ("decisive", "strong", "moderate")]
    enough = len(own) > 1 or any(weights[f.code] != "moderate" for f in own)
    return enough and any(changed_by(f, fall) for f in own)


def behind(runbook: Runbook, relevance: Mapping[str, float]) -> dict[str, float]:
    """The words of a symptom also mean, each a little, the entries that explain it: what is to be told apart next."""
    explaining = Counter(symptom for entry in runbook for symptom in entry.explains)
    out = dict(relevance)
    for entry in runbook:
        for symptom in entry.explains:
            share = BEHIND * relevance.get(symptom, 0.0) / (explaining[symptom] + 1)
            out[entry.id] = out.get(entry.id, 0.0) + share
    return out


def _by_code(findings: Iterable[Finding]) -> dict[str, Finding]:
    """The most severe finding of each code."""
    out: dict[str, Finding] = {}
    for finding in findings:
        if finding.code not in out or finding.severity < out[finding.code].severity:
            out[finding.code] = finding
    return out


def _words(entry: Entry, by_code: Mapping[str, Finding], relevance: Mapping[str, float]) -> float:
    """What the words say for an entry.

    Words that name the symptom which it explains count once a finding speaks for it, and more than weakly. Where the
    run shows something and nothing of this entry, the words count little: the person describes a symptom, the run
    shows its cause. An error that no signature names shows none.
    """
    for_ = entry.speaks.for_
    speaking = {
        for_[code] for code, f in by_code.items() if code in for_ and (f.severity in SHOWN or for_[code] == "decisive")
    }
    if speaking - {"weak"}:
        return max(relevance.get(id, 0.0) for id in (entry.id, *entry.explains))
    if speaking:
        return relevance.get(entry.id, 0.0)
    shown = any(f.severity in SHOWN and not is_bare(f) and f.code != UNNAMED for f in by_code.values())
    return relevance.get(entry.id, 0.0) * (UNSEEN if shown else 1.0)


def _weigh(entry: Entry, by_code: Mapping[str, Finding], relevance: Mapping[str, float]) -> tuple[float, Hypothesis]:
    """The entry's log-odds and its hypothesis (probability still to be set).

    What tells the causes inside an entry apart only chooses among them: it must not count for the entry itself, or a
    broad entry with many causes would always beat the narrow one that names the cause.
    """
    cause = max(entry.causes, key=lambda c: sum(_ratios(c.for_, by_code)), default=None)
    if cause and not _ratios(cause.for_, by_code):
        cause = None
    weights: Mapping[str, str] = {
        code: BARE if word == "decisive" and is_bare(by_code.get(code)) else word
        for code, word in entry.speaks.for_.items()
    }
    for_ = tuple(f for code, f in by_code.items() if code in weights)
    opposing = {code: word for code, word in entry.speaks.against.items() if not _beside(by_code, code, weights)}
    against = tuple(f for code, f in by_code.items() if code in opposing)
    told = {UNNAMED for f in for_ if f.data.get("follows", {}).get("code") == UNNAMED}  # what follows says what it was
    beside = [f for f in by_code.values() if f.severity in SERIOUS and f.code not in weights and f.code not in told]
    seen = {code for code, f in by_code.items() if code in entry.speaks.needs or f.severity in SERIOUS}
    if entry.speaks.needs and seen.isdisjoint({*entry.speaks.needs, *weights}):
        weights = {code: "weak" for code in weights}
    weights = {
        code: NOTE if _consequence(by_code.get(code), by_code, weights) or _outlived(code, by_code, weights) else word
        for code, word in weights.items()
    }
    if any(is_hazard(f) for f in for_) and all(is_hazard(f) or (weights[f.code] in LITTLE and is_set(f)) for f in for_):
        weights = {code: "weak" for code in weights}  # what a program might do shows nothing of what the run did
    support = _discounted(_ratios(weights, by_code))
    opposition = _discounted(_ratios(opposing, by_code, notes=True))
    score = math.log(PRIOR[entry.prior] + WORDS * _words(entry, by_code, relevance)) + support - opposition
    score -= _discounted([math.log(BESIDE)] * len(beside))
    said = [f for f in for_ if not is_bare(f)]
    status: Status
    if (against and opposition > support) or _no_answer(entry, by_code, relevance):
        status = "refuted"
    elif entry.kind != "benign" and any(weights[f.code] == "decisive" and _agreed(f, for_) for f in said):
        status = "established"
    elif any(weights[f.code] in ("decisive", "strong", "moderate") for f in said):
        status = "supported"
    else:
        status = "possible"
    return score, Hypothesis(entry, cause, status, 0.0, for_, against, relevance.get(entry.id, 0.0))


def _consequence(finding: Finding | None, by_code: Mapping[str, Finding], weights: Mapping[str, str]) -> bool:
    """Whether a finding only follows from another one that says nothing for the entry."""
    first = finding.data.get("follows", {}).get("code") if finding else None
    return first not in (None, UNNAMED) and first in by_code and first not in weights


def _outlived(code: str, by_code: Mapping[str, Finding], weights: Mapping[str, str]) -> bool:
    """Whether the run went on after an error, and shows something else that is more than a note."""
    finding = by_code.get(code)
    if finding is None or finding.severity != Severity.S3 or "survived" not in finding.data:
        return False
    return any(f.severity in SHOWN and c not in weights for c, f in by_code.items())


def _beside(by_code: Mapping[str, Finding], code: str, weights: Mapping[str, str]) -> bool:
    """Whether the finding says nothing against an entry: it only follows from what speaks for it, or the run survived
    it and ended in what speaks for it."""
    finding = by_code.get(code)
    if finding is None or finding.data.get("follows", {}).get("code") in weights:
        return True
    ended = any(by_code[c].severity == Severity.S0 for c in weights if c in by_code)
    return ended and finding.severity == Severity.S3 and "survived" in finding.data


def _agreed(decisive: Finding, others: Iterable[Finding]) -> bool:
    """Whether the finding is a measurement, or a second kind of line agrees: one pattern can match anything."""
    return "role" not in decisive.data or any(
        f.code != decisive.code and f.evidence[:1] != decisive.evidence[:1] for f in others
    )


def _no_answer(entry: Entry, by_code: Mapping[str, Finding], relevance: Mapping[str, float]) -> bool:
    """Whether "this is normal" is no answer: something else is found, be it only more than a note if nobody asked."""
    grades = SERIOUS if relevance.get(entry.id, 0.0) >= ASKED else SHOWN
    others = (f for code, f in by_code.items() if code not in entry.speaks.for_)
    return entry.kind == "benign" and any(f.severity in grades for f in others)


def _ratios(weights: Mapping[str, str], by_code: Mapping[str, Finding], notes: bool = False) -> list[float]:
    """The log likelihood ratios of the findings present, strongest first.

    A note (S3) says little for an entry, unless it is decisive; with `notes` it counts in full.
    """
    words = [
        NOTE if by_code[code].severity == "S3" and word != "decisive" and not notes else word
        for code, word in weights.items()
        if code in by_code
    ]
    return sorted((math.log(STRENGTH[word]) for word in words), reverse=True)


def _discounted(ratios: Sequence[float]) -> float:
    return sum(ratio * DISCOUNT**i for i, ratio in enumerate(ratios))


def _share(h: Hypothesis, odds: float, total: float) -> float:
    """The probability that these odds give; a refuted entry takes nothing from the others."""
    return odds / (total + odds) if h.status == "refuted" else odds / total
