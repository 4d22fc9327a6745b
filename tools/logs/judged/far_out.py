"""Single returns that lie so far below all others that they decide the mean: a penalty without bound, an episode that
nothing ends."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...findings import Finding, Severity, declare
from ...series import Series, SeriesTable
from ..detectors.detector import finding, where, where_zh
from ..detectors.robust import finite
from ..signatures.signature import CHECK

CODES = declare("scan", ("returns-far-outside", CHECK, "single returns far below all others decide the mean"))
LEAST, FAR, SHARE, FEW = 100, 20, 0.005, 5
"""Returns, widths of their middle half below the median from which on one is far out, share and number of such ones.
Own judgement."""


def far_out(table: SeriesTable) -> Iterator[Finding]:
    """One finding for each file whose returns go on to have such ones."""
    seen: set[str] = set()
    for series in sorted(table.all("reward"), key=len, reverse=True):
        found = _judged(finite(series)) if len(series) >= LEAST and series.file not in seen else None
        if found is not None:
            seen.add(series.file)
            yield found


def _judged(series: Series) -> Finding | None:
    """The finding where some are far out to the end, and pull the mean below the middle half."""
    values, n = series.values, len(series)
    if n < LEAST:
        return None
    low, middle, high = (float(q) for q in np.quantile(values, (0.25, 0.5, 0.75)))
    far = np.flatnonzero(values < middle - FAR * (high - low))
    if high <= low or len(far) < max(FEW, SHARE * n) or far[-1] < 2 * n // 3 or values.mean() > 2 * low - high:
        return None
    worst, last = int(np.argmin(values)), int(far[-1])
    en = (
        f"{len(far)} of {n} values of {series.key} are more than {FAR} times the width of their middle half below the "
        f"median {middle:.4g}: {values[worst]:.6g} at {where(series, worst)}, and still {values[last]:.6g} at "
        f"{where(series, last)}. They set the mean, {values.mean():.4g}."
    )
    zh = (
        f"{n} 个 {series.key} 中有 {len(far)} 个比中位数 {middle:.4g} 低出四分位距的 {FAR} 倍以上："
        f"{where_zh(series, worst)}为 {values[worst]:.6g}，{where_zh(series, last)}仍为 {values[last]:.6g}。"
        f"平均值 {values.mean():.4g} 由它们决定。"
    )
    data = {"far": len(far), "points": n, "median": middle, "worst": float(values[worst])}
    return finding("returns-far-outside", Severity.S2, [(series, worst), (series, last)], en, zh, **data)
