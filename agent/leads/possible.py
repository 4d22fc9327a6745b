"""What the statements of a run's files could mean where nothing is established: entries of the runbook, each with the
statements that lead to it.

A lead is weak by its kind: it orders what to look at next and decides nothing. Statements are looked up in the index
that people's questions go through; settings, in the entries that change them or ask whether they changed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from ...knowledge.entry import Entry
from ...knowledge.search import Index
from ...tools.findings import Finding, Severity
from ...tools.patterns import bounded
from ...tools.relate.kinds.look import CODES as KIND_CODES
from ...tools.relate.kinds.names import about
from .told import Told
from .weighed import Leads

STRONG = ("strong", "decisive")
MEANINGS = tuple(
    (bounded(pattern, re.IGNORECASE), codes, entry)
    for codes, pattern, entry in (
        ("says writes", r"\b(?:no|not|never|nothing|old) (?:\w+ ){0,3}(?:saved|logged|recorded|kept|stored|left|gone)\b"
         r"|\bno (?:samples|logs?|baseline|volume|per-question)\b"
         r"|\b(?:logs?|metrics?) (?:are |were )?(?:gone|lost|deleted|rotated)"
         r"|(?:没有?|未)(?:保?存|记|留|打印|开)|(?:日志|样本|逐题).{0,8}(?:没了|丢|清)", "insufficient-logging"),
        ("factor emptied", r"\bdup|dedup|dropped as dup|去重|重复率|剔除", "duplicate-surge"),
        ("emptied says", r"\b(?:kept|keep|retained|survived)\b.{0,12}\b0\b|保留.{0,4}\b0\b", "data-schema-mismatch"),
        ("factor", r"\b(?:length|context|seq(?:uence)? ?len|bucket)\b|长度", "long-context-degradation"),
        ("factor", r"\b(?:precision|dtype|quant\w*|bits)\b|精度|量化", "quantization-quality-loss"),
        ("factor", r"\b(?:order|position|swap\w*|first)\b|顺序|先后", "judge-bias"),
        ("factor", r"\b(?:engine|harness|backend|template|shots)\b|引擎|模板", "eval-harness-drift"),
        ("factor says", r"\b(?:tokens?|share|portion|mix\w*|ratio|consumed)\b.{0,20}\b(?:source|lang\w*|domain)\b"
         r"|配比|占比",
         "data-mixture-drift"),
    )
)  # fmt: skip
"""What a terse statement or a count means that the index, made for people's questions, has no words for."""
OF_MEANING = 0.7
MEANS = 0.35
"""Least score at which the index takes a statement for an entry. Statements are terser than questions."""
ENDED = 0.25
"""What more the message of an exception scores that the run ended with: it is about the trouble, whatever it says."""
ORDERS = 0.03
"""What a statement's score weighs where causes are put in order. In 88 folders of strangers, on which this was
chosen, the cause was first in 47 so, and in 41 with statements at their full weight: they are shown, and order little.
The message of an exception that ended the run keeps its weight."""
LISTED = 0.6
"""Sum of the scores of an entry's leads, the best of each file, from which on it is listed."""
MOST = 4
"""Entries that are listed."""
SHOWN = 4
"""Leads that are shown of one entry."""
OF_SETTING = 0.6
"""Score of a setting that differs for an entry that changes it, or asks whether it changed."""
OF_KIND = 0.6
"""Score of a relation about a kind of quantity that the entry's signs ask for, in another relation."""
ASKED_KINDS = re.compile(r"shows\([\w-]{1,40}, (\w{1,20})(?:, (\w{1,20}))?\)")
_NUMBERS = re.compile(r"\d+")
OF_SURVIVED = 1.0
"""Score of an error that the run outlived, for the entries that it would speak strongly for."""
UNSPECIFIC = 3
"""Entries that turn one setting, from which on it says less of each."""


def possible(told: Iterable[Told], books: Index) -> Leads:
    """The entries that statements lead to, each with its leads, best first."""
    found: dict[str, list[tuple[float, Finding]]] = defaultdict(list)
    told = tuple(told)
    for one in told:
        for entry, score in _means(one, books):
            if entry.kind == "failure" or entry.id in one.entries:
                found[entry.id].append((score, one.finding))
    ended = {id(one.finding) for one in told if one.ended}
    leads = {entry: _distinct(some) for entry, some in found.items()}
    sums = {entry: _sum(some) for entry, some in leads.items()}
    best = sorted((entry for entry, total in sums.items() if total >= LISTED), key=lambda entry: -sums[entry])[:MOST]
    return {
        entry: tuple((score if id(f) in ended else ORDERS * score, f) for score, f in leads[entry][:SHOWN])
        for entry in best
    }


def survived(found: Iterable[Finding], books: Index) -> Leads:
    """The entries of which an error speaks that did not stop the run: it may be what the person saw.

    A job that was stopped and whose next one went on is none: nothing is left of it.
    """
    notes = [f for f in found if f.severity == Severity.S3 and "survived" in f.data and "overcome" not in f.data]
    said = {e.id: [f for f in notes if e.speaks.for_.get(f.code) in STRONG] for e in books.runbook}
    return {id: tuple((OF_SURVIVED / len(some), f) for f in some) for id, some in said.items() if some}


def _distinct(leads: Iterable[tuple[float, Finding]]) -> list[tuple[float, Finding]]:
    """Best first, and of those that say the same but for their numbers the best: several logs repeat each other."""
    ordered = sorted(leads, key=lambda lead: -lead[0])
    said = {_NUMBERS.sub("#", f.evidence[0].text or "") or str(i): i for i, (_, f) in reversed([*enumerate(ordered)])}
    return [ordered[i] for i in sorted(said.values())]


def _sum(leads: Iterable[tuple[float, Finding]]) -> float:
    """The best of each file, and a little of what else it says: a file that repeats itself says no more."""
    best: dict[str, float] = {}
    for score, finding in leads:
        file = finding.evidence[0].file or ""
        best[file] = max(score, best.get(file, 0.0))
    return sum(best.values())


def _means(one: Told, books: Index) -> Iterable[tuple[Entry, float]]:
    """The entries that a statement leads to, each once, with its score."""
    kind = one.finding.code.removeprefix("lead-")
    found = {id: 1.0 if kind != "many" else OF_SETTING for id in one.entries}
    about_it = about(one.finding) if kind in KIND_CODES else frozenset()
    found |= {e.id: OF_KIND for e in books.runbook if about_it and not about_it.isdisjoint(_kinds(e))}
    turned = {e.id for e in books.runbook for v in one.variables if _turns(e, v)}
    found |= {id: OF_SETTING * min(1.0, UNSPECIFIC / len(turned)) for id in turned}
    found |= {e: OF_MEANING for said, codes, e in MEANINGS if kind in codes.split() and said.search(one.text)}
    for hit in books.search(one.text, 2) if one.text else ():
        score = hit.score + ENDED * one.ended if hit.score >= MEANS else 0.0
        found[hit.entry.id] = max(score, found.get(hit.entry.id, 0.0))
    return [(e, score) for id, score in found.items() if score >= MEANS and (e := books.runbook.get(id))]


def _kinds(entry: Entry) -> frozenset[str]:
    """The kinds of quantity that the entry's signs ask for."""
    signs = " ".join(entry.signs.for_)
    return frozenset(kind for kinds in ASKED_KINDS.findall(signs) for kind in kinds if kind)


def _turns(entry: Entry, variable: str) -> bool:
    """Whether the entry changes the setting, or asks whether it changed."""
    if entry.fix is not None and entry.fix.variable == variable:
        return True
    return any(re.search(rf"\b(?:changed|set)\({re.escape(variable)}\b", sign) for sign in entry.signs.for_)
