"""Reconstructions with the first k levels of a codec: whether the later ones add anything."""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Table
from ..line import plain

LEAST, ADDS, BRINGS = 4, 0.05, 0.25
"""Levels of a codec, and share of what the first ones bring that the later ones must add; share of the
quality with one level that the first ones bring at least. Own judgement."""
COUNT = bounded(r"^(?:n_?|num_?|first_?)?(?:levels?|quantizers?|q|nq|n_q|k|codebooks?)(?:_used|_kept)?$|级数|层数|前k")
QUALITY = bounded(
    r"si_?sdr|sdr|snr|psnr|ssim|mel|pesq|stoi|visqol|lpips|(?:^|_)(?:wer|cer|quality|fad)(?:_|$)|距离|质量"
)


def add_nothing(table: Table) -> Iterator[Finding]:
    """A quality that is as good with few levels as with all, while the first one alone is clearly worse."""
    count = next((c for c in table.columns if c.values.dtype.kind == "f" and COUNT.search(plain(c.name))), None)
    if count is None or not LEAST <= len(table) <= 64 or len(set(count.values.tolist())) < len(table):
        return
    order = np.argsort(count.values)
    n = count.values[order]
    for column in table.columns:
        values = column.values[order] if column.values.dtype.kind == "f" else np.zeros(0)
        if column is count or not QUALITY.search(plain(column.name)) or not np.isfinite(values).all():
            continue
        gain = np.abs(values - values[0])
        k = next(
            (i for i in range(1, len(values) // 2) if (np.abs(values[i:] - values[i]) <= ADDS * gain[i]).all()), None
        )
        if k is not None and gain[k] > BRINGS * abs(float(values[0])):
            yield Finding(
                "levels-add-nothing", Severity.S2,
                f"{column.name} goes from {values[0]:.4g} with {n[0]:.0f} level to {values[k]:.4g} with {n[k]:.0f}, and is "
                f"{values[-1]:.4g} with all {n[-1]:.0f}: the later levels add nothing.",
                f"{column.name} 用 {n[0]:.0f} 级为 {values[0]:.4g}，用 {n[k]:.0f} 级为 {values[k]:.4g}，用全部 {n[-1]:.0f} 级为 "
                f"{values[-1]:.4g}：后面的级没有带来任何改善。",
                tuple(Evidence(table.file, int(table.lines[order[i]]) or None, metric=column.name, value=float(values[i]))
                      for i in (0, k, len(values) - 1)),
                {"metric": column.name, "enough": float(n[k]), "levels": float(n[-1])},
            )  # fmt: skip
            return
