"""What is set and what the logs show otherwise: a learning rate of 0 while another is logged, or the loss falls;
clipping that is off while the norm of the gradients never called for it. And what a program does with a measure that
the logs do show: then it was done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...findings import MEASURED, Finding, Report, Severity
from ...series import Series, SeriesTable
from ..detectors.robust import finite, head_tail, mann_kendall

Against = tuple[str, str, Series]
"""What the logs show against it, in both languages, and where."""
LEAST, FALLEN, SURE = 10, 0.05, -3.0
"""Points of a loss, share of its first level that it loses, and Kendall's z of its way, from which on it learns. Own
judgement."""


CALM, GROWN = 6.0, 1.5
"""Times the usual norm of the gradients above which none of its points is, and times it above which it does not end,
where nothing was there to clip. Own judgement."""


def not_in_force(report: Report, table: SeriesTable) -> Report:
    """The report of the settings; what the logs contradict is a note."""
    against = {code: found for code in AGAINST if code in report.codes() and (found := AGAINST[code](table))}
    if not against:
        return report
    findings = (_noted(f, *against[f.code]) if f.code in against else f for f in report.findings)
    return replace(report, findings=tuple(findings))


def measured_so(report: Report, table: SeriesTable) -> Report:
    """The report of a tool; what a rule finds of how a measure is taken came to pass where the measure is logged."""

    def judged(f: Finding) -> Finding:
        taken = next((s.key for s in table if s.metric.startswith(TAKEN[f.code])), "") if f.code in TAKEN else ""
        return replace(f, data={**f.data, MEASURED: taken}) if taken else f

    return replace(report, findings=tuple(map(judged, report.findings))) if TAKEN.keys() & report.codes() else report


def _noted(finding: Finding, en: str, zh: str, series: Series) -> Finding:
    return replace(
        finding,
        severity=Severity.S3,
        message=f"{finding.message}; {en}",
        zh=f"{finding.zh}；{zh}",
        evidence=(*finding.evidence, series.at(len(series) - 1)),
        data={**finding.data, "survived": en},
    )


def _another_rate(table: SeriesTable) -> Against | None:
    """Another learning rate, or a loss that falls."""
    not_so, not_so_zh = "it is not in force: ", "它并未生效："
    for rate in table.all("learning_rate"):
        top = float(np.nanmax(rate.values, initial=0.0))
        if top > 0:
            said, zh = f"{rate.key} is logged up to {top:.3g}", f"日志中 {rate.key} 最高为 {top:.3g}"
            return not_so + said, not_so_zh + zh, rate
    for loss in (*table.all("loss"), *table.all("eval_loss")):
        points = finite(loss)
        if len(points) < LEAST:
            continue
        first, last = head_tail(points.values)
        if first - last > FALLEN * abs(first) and mann_kendall(points.values)[1] < SURE:
            said, zh = f"{loss.key} falls from {first:.4g} to {last:.4g}", f"{loss.key} 从 {first:.4g} 降到 {last:.4g}"
            return not_so + said, not_so_zh + zh, loss
    return None


def _nothing_to_clip(table: SeriesTable) -> Against | None:
    """A norm of the gradients that is finite, never far above its usual level, and does not grow."""
    logged = table.all("grad_norm")
    for norm in sorted(logged, key=len, reverse=True)[:1]:
        if len(norm) < LEAST or any(not np.isfinite(s.values).all() for s in logged):
            return None
        usual, top = float(np.median(norm.values)), float(norm.values.max())
        if 0 < top <= CALM * usual and head_tail(norm.values)[1] <= GROWN * usual:
            return (
                f"the gradients gave it nothing to clip: {norm.key} stays at {usual:.3g}, at most {top:.3g}",
                f"梯度也无需裁剪：{norm.key} 一般为 {usual:.3g}，最大 {top:.3g}",
                norm,
            )
    return None


AGAINST: dict[str, Callable[[SeriesTable], Against | None]] = {
    "rate-set-to-zero": _another_rate,
    "grad-clip-off": _nothing_to_clip,
}
"""Codes of settings, and what the logs show against them."""
TAKEN = {"evaluated-on-training-data": "eval_"}
"""Codes of rules on how measures are taken, and the beginning of the names of those measures."""
