"""A learning rate of 0 that is set and cannot be what the training used: the log says another one, or it learns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...findings import Finding, Report, Severity
from ...series import Series, SeriesTable
from ..detectors.robust import finite, head_tail, mann_kendall

CODE = "rate-set-to-zero"
LEAST, FALLEN, SURE = 10, 0.05, -3.0
"""Points of a loss, share of its first level that it loses, and Kendall's z of its way, from which on it learns. Own
judgement."""


def not_in_force(report: Report, table: SeriesTable) -> Report:
    """The report of the settings; a rate of 0 that the logs contradict is a note."""
    against = _against(table) if CODE in report.codes() else None
    if against is None:
        return report
    return replace(report, findings=tuple(_noted(f, *against) if f.code == CODE else f for f in report.findings))


def _noted(finding: Finding, en: str, zh: str, series: Series) -> Finding:
    return replace(
        finding,
        severity=Severity.S3,
        message=f"{finding.message}; it is not in force: {en}",
        zh=f"{finding.zh}；它并未生效：{zh}",
        evidence=(*finding.evidence, series.at(len(series) - 1)),
        data={**finding.data, "survived": en},
    )


def _against(table: SeriesTable) -> tuple[str, str, Series] | None:
    """What the logs show against it, in both languages."""
    for rate in table.all("learning_rate"):
        top = float(np.nanmax(rate.values, initial=0.0))
        if top > 0:
            return f"{rate.key} is logged up to {top:.3g}", f"日志中 {rate.key} 最高为 {top:.3g}", rate
    for loss in (*table.all("loss"), *table.all("eval_loss")):
        points = finite(loss)
        if len(points) < LEAST:
            continue
        first, last = head_tail(points.values)
        if first - last > FALLEN * abs(first) and mann_kendall(points.values)[1] < SURE:
            return (
                f"{loss.key} falls from {first:.4g} to {last:.4g}",
                f"{loss.key} 从 {first:.4g} 降到 {last:.4g}",
                loss,
            )
    return None
