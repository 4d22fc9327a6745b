"""Errors that a log begins to repeat where the run turns: the part that fails there is why.

The log of a sandbox, a reward service or a gateway counts no steps. Where it covers the run as the measures do, both
are compared by how far along they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from ...findings import Finding, Severity, declare
from ..moves import described, shown
from ..onset import ONSET, Onset

CODES = declare(
    "failing",
    ("errors-at-onset", ONSET, "a log begins to repeat errors as far along as the run is when its measure gets worse"),
)
NEAR = 0.05
"""Part of the run by which the two may lie apart. Own judgement."""


def failing(onset: Onset | None, found: Iterable[Finding]) -> Iterator[Finding]:
    """The errors (`errors-begin`) that begin where the worst symptom does."""
    if onset is None or (length := float(np.ptp(onset.move.line.x))) <= 0:
        return
    line, change = onset.move.line, onset.change
    low, high = ((x - float(line.x[0])) / length for x in (min(onset.low, float(line.x[change.i])), onset.high))
    en, zh = described(onset.move, change)
    for f in found:
        if f.code != "errors-begin" or not f.evidence:
            continue
        share, own = f.data["line"] / f.data["lines"], f.evidence[0]
        if own.file == line.file or not low - NEAR <= share <= max(low, high) + NEAR:
            continue
        where, said = line.where(change.i), f.data["says"]
        yield Finding(
            "errors-at-onset", Severity.S2,
            f"“{said}” comes again and again from {own.file}:{own.line} on ({f.data['count']} lines, to its end), "
            f"{share:.0%} of the way through, where {en} ({where}, {low:.0%} of the way through).",
            f"从 {own.file}:{own.line} 起反复报错“{said}”（共 {f.data['count']} 行，直到末尾），"
            f"位于日志的 {share:.0%} 处；就在那里 {zh}（{where}，全程的 {low:.0%} 处）。",
            (own, *(replace(e, text=None) for e in shown(onset.move, change))),
            {"count": f.data["count"], "rate": f.data["rate"], "metric": line.name, "says": said},
        )  # fmt: skip
