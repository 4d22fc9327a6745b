"""The line of a program at which a cause was found: there the change is made that the runbook says in words."""

from __future__ import annotations

from ...knowledge.entry import Fix
from ..ranking import SHOWN, Hypothesis

TELLING = ("decisive", "strong", "moderate")
"""What a finding must say for a cause, for its line to be the one to change."""


def line_of(hypothesis: Hypothesis, fix: Fix) -> tuple[str, int, str] | None:
    """File, line and text, where a rule on programs found the cause that the fix is for; None where none did."""
    cause = hypothesis.cause
    if cause is None or (cause.fix is not None and cause.fix is not fix):
        return None
    found = (f for f in hypothesis.for_ if cause.for_.get(f.code) in TELLING and f.severity in SHOWN)
    places = (f.evidence[0] for f in found if "entry" in f.data and f.evidence)
    return next(((e.file, e.line, e.text or "") for e in places if e.file and e.line), None)
