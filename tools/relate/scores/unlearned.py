"""Perplexities of an evaluation that no model which has learned its language has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Table
from ..line import means

PERPLEXITY = bounded(r"(?:^|_)(?:ppl|perplexity)$|困惑度$")
UNLEARNED = 1000.0
"""Perplexity that a trained model is far below; guessing gives the size of the vocabulary. Own judgement."""
MOST_ROWS = 200


def unlearned(table: Table) -> Iterator[Finding]:
    """The best perplexity of a table of results is in the thousands; along the steps of a training it begins so."""
    if not 1 <= len(table) <= MOST_ROWS or table.of("axis"):
        return
    for column in table.of("measure"):
        if not means(PERPLEXITY, column.name) or column.values.dtype.kind != "f":
            continue
        finite = np.flatnonzero(np.isfinite(column.values))
        if not len(finite) or column.values[finite].min() < UNLEARNED:
            continue
        best = int(finite[column.values[finite].argmin()])
        value = float(column.values[best])
        yield Finding(
            "perplexity-unlearned", Severity.S2,
            f"{column.name} is {value:,.0f} at best in {len(finite)} rows of {table.file}: a trained model is far "
            "below; the weights that are scored are not the trained ones, or the text is not in their tokens.",
            f"{table.file} 的 {len(finite)} 行中 {column.name} 最好也有 {value:,.0f}：训练过的模型远低于此；"
            "被评测的不是训练好的权重，或文本的分词与模型不符。",
            (Evidence(table.file, int(table.lines[best]) or None, metric=column.name, value=value),),
            {"best": value, "rows": len(finite)},
        )  # fmt: skip
        return
