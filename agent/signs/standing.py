"""What a finding states: what ran, or what only stands there (settings, files, the text of a program); and whether it
tells a change."""

from __future__ import annotations

from collections.abc import Iterable

from ...tools.findings import MEASURED, PROGRAM, STANDING, Finding

SET, ABSENT = "set", "absent"
"""Kinds of standing facts beside `PROGRAM`: what is set, and what was not found."""
UNNAMED = "uncaught-exception"
"""The error that a program stopped with, whatever it says: what follows it names the failure."""


def is_set(finding: Finding) -> bool:
    """Whether this tells what is set or what lies in files, and nothing of what ran."""
    return "variable" in finding.data or STANDING in finding.data


def is_hazard(finding: Finding) -> bool:
    """Whether this is a rule's finding in a program, which names the entry that it would lead to, or made of such; none
    where the run measured what the program does wrongly."""
    return ("entry" in finding.data and MEASURED not in finding.data) or finding.data.get(STANDING) == PROGRAM


def is_bare(finding: Finding | None) -> bool:
    """Whether a finding rests on the type of an error or the place where it was raised alone: its words name nothing,
    so that an entry it leads to is only possible."""
    return finding is not None and finding.data.get("of") == UNNAMED


def kind_of(finding: Finding) -> str:
    """What kind of standing fact a finding is; empty for what the run itself shows."""
    return PROGRAM if is_hazard(finding) else SET if is_set(finding) else ""


def standing(kinds: Iterable[str]) -> dict[str, str]:
    """Data of what is made of facts of these kinds: those of settings and programs alone say nothing of what ran,
    however many of them fit together."""
    found = set(kinds)
    return {} if "" in found or found == {ABSENT} else {STANDING: PROGRAM if PROGRAM in found else SET}


def changed_by(finding: Finding, place: float) -> bool:
    """Whether a finding tells a change between two places, the first of which is not beyond this one."""
    steps = {e.step for e in finding.evidence if e.step is not None}
    return bool(steps) and min(steps) <= place and (len(steps) > 1 or "before" in finding.data)
