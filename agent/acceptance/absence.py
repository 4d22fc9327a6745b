"""Criteria on the absence of a finding: `cuda_oom: false` holds when the tool that finds it looked and found none.

Not finding is only an observation where the check ran, and where the run got as far as the baseline did.
"""

from __future__ import annotations

from functools import cache

from ...knowledge.entry import Criterion
from .logs import started
from .subject import LOGGED, Observation, Subject, missing, seen

DATA_CHECKS: dict[str, tuple[str, ...]] = {
    "data-parse-error": ("parsing",),
    "data-schema-mismatch": ("text and roles", "field types"),
    "data-empty": ("records", "parsing"),
    "empty-records": ("text and roles",),
    "encoding-broken": ("text and roles",),
    "unspaced-records": ("text and roles",),
    "repeated-text": ("text and roles",),
    "overlong-records": ("lengths",),
    "short-data-for-context": ("lengths",),
    "language-mix-shift": ("script mixture",),
    "template-concentration": ("openings",),
    "filter-unexplained": ("filter reasons",),
    "exact-duplicates": ("exact duplicates",),
    "near-duplicates": ("near duplicates",),
    "eval-leakage": ("evaluation items in the training data",),
    "pii-found": ("personal data",),
    "secrets-found": ("secrets",),
    "label-mask-misaligned": ("labels line up with tokens",),
    "eos-not-trained": ("end token is trained",),
    "pad-equals-eos": ("padding and end",),
    "double-bos": ("begin token once",),
    "chat-template-missing": ("chat template",),
    "length-reward-correlation": ("length against reward", "longer answer preferred"),
    "preference-gap-small": ("chosen differs from rejected",),
    "annotator-disagreement": ("annotator agreement",),
    "low-diversity": ("distinct-2",),
    "repetition-loop": ("loops",),
    "generation-not-stopping": ("stopping",),
    "empty-answer-rewarded": ("reward of empty answers",),
    "format-reward-gaming": ("format without content",),
    "group-identical": ("answers within a group",),
    "answer-cut-off": ("labels line up with tokens",),
    "checkpoint-incomplete": ("checkpoint files",),
    "checkpoint-unreadable": ("checkpoint files",),
    "checkpoint-nonfinite": ("checkpoint values",),
    "checkpoint-tensor-constant": ("checkpoint values",),
    "checkpoint-shape-mismatch": ("checkpoint neighbours",),
    "vocab-embedding-mismatch": ("checkpoint neighbours",),
    "checkpoint-norm-jump": ("checkpoint series",),
    "embedding-rows-unmoved": ("checkpoint series",),
    "benchmark-drop": ("scores before and after training",),
    "score-at-chance": ("scores before and after training",),
    "eval-settings-differ": ("scores before and after training",),
}
"""Finding code of `tools.data`, `tools.checkpoints` and `tools.scores` -> the checks that would find it."""


@cache
def sources(code: str) -> tuple[str, ...]:
    """Names of the checks that would find this code; empty for a code that no tool has."""
    from ...tools.config.lint import RULES
    from ...tools.logs.detectors.detect import DETECTORS
    from ...tools.logs.signatures.match import TABLE

    names = [d.name for d in DETECTORS.values() if code in (d.name, *d.codes)]
    names += [LOGGED] if any(row.code == code for row in TABLE) or code == "hang-no-progress" else []
    return (*names, *([code] if code in RULES else ()), *DATA_CHECKS.get(code, ()))


def observe_absence(subject: Subject, criterion: Criterion, code: str) -> Observation:
    """Whether the finding is absent (`is: false`) or present (`is: true`)."""
    from ...tools.config.lint import RULES

    found = subject.found(code)
    names = sources(code)
    where = " or ".join(f"`{n}`" for n in names)
    if found:
        place = f" at {found[0].evidence[0].file}:{found[0].evidence[0].line}" if found[0].evidence else ""
        return seen(True, criterion, f"finding `{code}`{place}, by the check {where}", len(found))
    if not subject.ran(*names):
        return missing(f"the check {where} had nothing to look at in this run ({_lacks(subject, names)})")
    if any(n not in RULES and n not in DATA_CHECKS.get(code, ()) for n in names) and (
        why := started(subject, criterion)
    ):
        return missing(f"no `{code}` so far, but {why}")
    return seen(False, criterion, f"finding `{code}` of the check {where}: not found", 1)


def _lacks(subject: Subject, names: tuple[str, ...]) -> str:
    """Why the checks said nothing."""
    every = (*subject.scan.checks, *subject.checks)
    why = next((c.why for c in every if c.name in names and c.why), "")
    return why or "no such check was made; a log, configuration or data file is needed"
