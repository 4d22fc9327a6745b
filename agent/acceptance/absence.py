"""Criteria on the absence of a finding: `cuda_oom: false` holds when the tool that finds it looked and found none.

Not finding is only an observation where the check ran, and where the run got as far as the baseline did.
"""

from __future__ import annotations

from ...knowledge.entry import Criterion
from ...tools.catalogue import checks, codes
from .artifacts import started
from .subject import Observation, Subject, missing, seen


def observe_absence(subject: Subject, criterion: Criterion, code: str) -> Observation:
    """Whether the finding is absent (`is: false`) or present (`is: true`)."""
    found = subject.found(code)
    names = checks(code)
    where = " or ".join(f"`{n}`" for n in names)
    if found:
        place = f" at {found[0].evidence[0].file}:{found[0].evidence[0].line}" if found[0].evidence else ""
        return seen(True, criterion, f"finding `{code}`{place}, by the check {where}", len(found))
    if not subject.ran(*names):
        return missing(f"the check {where} had nothing to look at in this run ({_lacks(subject, names)})")
    if code in codes()["logs"] and (why := started(subject, criterion)):
        return missing(f"no `{code}` so far, but {why}")
    return seen(False, criterion, f"finding `{code}` of the check {where}: not found", 1)


def _lacks(subject: Subject, names: tuple[str, ...]) -> str:
    """Why the checks said nothing."""
    every = (*subject.scan.checks, *subject.checks)
    why = next((c.why for c in every if c.name in names and c.why), "")
    return why or "no such check was made; a log, configuration or data file is needed"
