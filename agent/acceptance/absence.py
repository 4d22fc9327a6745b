"""Criteria on the absence of a finding: `cuda_oom: false` holds when the tool that finds it looked and found none.

Not finding is only an observation where the check ran, and where the run got as far as the baseline did.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...knowledge.entry import Criterion
from ...tools.catalogue import checks, codes
from ...tools.logs.named import CHECK as NAMED
from ...tools.logs.signatures.signature import CHECK as LOGGED
from .artifacts import started
from .subject import Observation, Subject, missing, seen

if TYPE_CHECKING:
    from ..evidence import Look

LIKE = 0.5
"""Share of the columns of a table, by what they mean, that another has as well where both tell of the same."""


def observe_absence(subject: Subject, criterion: Criterion, code: str) -> Observation:
    """Whether the finding is absent (`is: false`) or present (`is: true`)."""
    found = subject.found(code)
    names = checks(code)
    where = " or ".join(f"`{n}`" for n in names)
    if found:
        place = f" at {found[0].evidence[0].file}:{found[0].evidence[0].line}" if found[0].evidence else ""
        return seen(True, criterion, f"finding `{code}`{place}, by the check {where}", len(found))
    if names == (NAMED,) and subject.ran(LOGGED):
        names = (LOGGED,)  # what no error of the run names needs no looking up
    if not subject.ran(*names):
        return missing(f"the check {where} had nothing to look at in this run ({_lacks(subject, names)})")
    if gone := _unshown(subject, code):
        return missing(f"`{code}` was shown by {gone}, and no table of this run is like it")
    if code in codes()["logs"] and (why := started(subject, criterion)):
        return missing(f"no `{code}` so far, but {why}")
    return seen(False, criterion, f"finding `{code}` of the check {where}: not found", 1)


def _unshown(subject: Subject, code: str) -> str:
    """The table that showed the finding in the baseline, where this run has none like it; empty where it has."""
    if subject.baseline is None or code not in codes()["relate"]:
        return ""
    shown = {e.file for f in subject.baseline.findings if f.code == code for e in f.evidence[:1]}
    there = [(t.file, {c.of or c.name for c in t.columns}) for t in subject.tables]
    for table in subject.baseline.tables:
        names = {c.of or c.name for c in table.columns}
        if table.file in shown and not any(
            table.file == file or len(names & other) >= LIKE * len(names) for file, other in there
        ):
            return table.file
    return ""


def observe_sign(look: Look, criterion: Criterion, sign: str) -> Observation:
    """Whether a sign of the runbook holds in this run; where its measures are not there, it decides nothing."""
    asked = next((r.summary.get("signs", {}) for r in look.reports if r.tool == "signs"), {})
    result, why = asked.get(sign, ("cannot-tell", "the signs were not asked of this run"))
    if result == "cannot-tell":
        return replace(missing(f"the sign `{sign}`: {why}"), applies=False)
    return seen(result == "holds", criterion, f"the sign `{sign}`: {why}", 1)


def _lacks(subject: Subject, names: tuple[str, ...]) -> str:
    """Why the checks said nothing."""
    every = (*subject.scan.checks, *subject.checks)
    why = next((c.why for c in every if c.name in names and c.why), "")
    return why or "no such check was made; a log, configuration or data file is needed"
