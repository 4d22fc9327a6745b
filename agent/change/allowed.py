"""Whether a fix can be made here: the cards can do it, and no finding of the run speaks against its reason."""

from __future__ import annotations

from collections.abc import Iterable

from ...knowledge.entry import Fix
from ...tools.documents.cards import without_bf16
from ...tools.findings import Finding
from ...tools.run import Run
from ..ranking import SHOWN


def possible(fix: Fix, run: Run) -> bool:
    """Whether the cards of the run can do what a fix asks for."""
    return fix.variable not in ("precision", "bf16") or "bf16" not in str(fix.change) or not without_bf16(run)


def contradicts(fix: Fix, findings: Iterable[Finding]) -> Finding | None:
    """The finding of this run against the reason of a fix."""
    return next((f for f in findings if f.code in fix.unless and f.severity in SHOWN), None)
