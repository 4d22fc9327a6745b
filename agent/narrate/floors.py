"""What keeps a run from being called healthy though no check calls it wrong: a measure that the question names stands
where nothing was reached or where guessing lies, or a note speaks of it where the question asks why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...knowledge.runbook import Runbook
from ...tools.findings import Finding, clean
from ...tools.logs.detectors.performance import SPEEDS
from ...tools.logs.detectors.preference import LN2, NEAR
from ...tools.phrase import phrases
from ...tools.relate.line import plain
from ...tools.relate.results.errors import NOTHING, RATE
from ...tools.scores import COUNTED, NOT_A_SCORE, QUALITY
from ..evidence import Look
from ..missing import FINE, WHY
from ..question.understand import Question
from ..untold import Missing
from .measured import SCORES, Shown, kind_of_name, measures, named, plainly, spoken

GUESSED = 0.1
"""How far from one half the share of pairs that are ranked rightly is next to guessing. Own judgement."""
PAIRS = ("reward_accuracy", "reward_margin")
"""What is measured of pairs alone."""
SAID = phrases(
    "measures at their floor",
    ("nothing", "`{name}` is {value:.4g} ({file}): hardly anything was recognised",
     "`{name}` 为 {value:.4g}（{file}）：几乎什么都没有识别出来"),
    ("zero", "`{name}` is 0 ({file}): nothing is right", "`{name}` 为 0（{file}）：没有一个是对的"),
    ("guess", "`{name}` is {value:.4g} ({file}), next to the 0.5 of guessing",
     "`{name}` 为 {value:.4g}（{file}），接近瞎猜的 0.5"),
    ("start", "`{name}` is {value:.4g} ({file}), next to the ln 2 where a preference loss starts",
     "`{name}` 为 {value:.4g}（{file}），接近偏好 loss 的起点 ln 2"),
    ("noted", "{what}", "{what}"),
)  # fmt: skip


def floored(seen: Look, asked: Question, runbook: Runbook) -> Iterator[Missing]:
    """The measures at their floor: those that the question names, and those of pairs; and the notes on what it asks."""
    every = measures(seen)
    pairs = {s.file for s in every if s.kind in PAIRS}
    asked_of = {id(s) for s in named(every, asked)}
    asked_of |= {id(s) for s in every if s.file in pairs and s.kind in (*PAIRS, "loss", "eval_loss")}
    for s in (s for s in every if id(s) in asked_of):
        if how := _floor(s, s.file in pairs):
            told = {"name": clean(s.name, 60), "value": float(s.values[-1]), "file": clean(s.file, 80)}
            yield Missing(SAID[how].say("en", **told), SAID[how].say("zh", **told), told=True)
    if WHY.search(asked.own) and not asked.symptoms:
        for f in _notes(seen.findings, asked, runbook):
            en, zh = (clean(f.say(lang), 120).rstrip(".。") for lang in ("en", "zh"))
            yield Missing(SAID["noted"].say("en", what=en), SAID["noted"].say("zh", what=zh), told=True)


def _floor(s: Shown, of_pairs: bool) -> str:
    """Which floor a measure stands at: at its end, or in all of its rows; empty for none."""
    name, values = plain(plainly(s.name)), s.values[-1:] if s.way else s.values
    if RATE.search(name):
        return "nothing" if (values / (100 if values.min() > 2 else 1)).min() >= NOTHING else ""
    if s.kind in PAIRS[:1]:
        return "guess" if np.abs(values - 0.5).max() <= GUESSED else ""
    if s.kind.removeprefix("eval_") == "loss":
        return "start" if of_pairs and np.abs(values - LN2).max() <= NEAR * LN2 else ""
    score = name in SCORES or s.kind.removeprefix("eval_") in ("accuracy", "success_rate") or QUALITY.search(name)
    other = NOT_A_SCORE.search(name) or COUNTED.search(name)
    return "zero" if score and not other and not values.any() else ""


def _notes(findings: Sequence[Finding], asked: Question, runbook: Runbook) -> Iterator[Finding]:
    """The notes on a measure that the question names which would speak strongly for a failure if they were more."""
    kinds = spoken(asked).kinds
    telling = {
        code
        for entry in runbook
        if entry.kind == "failure"
        for code, word in entry.speaks.for_.items()
        if word in ("decisive", "strong")
    }
    for f in findings:
        about = {kind_of_name(e.metric, e.metric) for e in f.evidence if e.metric}
        if f.code != FINE and f.code in telling and about & kinds:
            yield f


def restates(asked: Question, finding: Finding) -> bool:
    """Whether a finding only says again what the person says: the first of a symptom's codes, a measure of which they
    ask why, or that of two versions one is worse."""
    if any(finding.code == s.kind.codes[0] for s in asked.symptoms):
        return True
    about = {kind_of_name(e.metric, e.metric) for e in finding.evidence if e.metric}
    complains = asked.symptoms or asked.complaints or WHY.search(asked.own)
    kinds = spoken(asked).kinds
    if complains and about and about <= (kinds.union(SPEEDS) if kinds.intersection(SPEEDS) else kinds):
        return True
    return {"before", "after"} <= finding.data.keys() and any(c.between or c.compared for c in asked.complaints)
