"""Variants that ought to differ and come out as one: every measured figure of two rows is the same to the last digit,
while those of the other rows are not. What sets the two apart was then not in force, or a file was measured twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means
from ..summed.records import ASIDE
from ..summed.words import named_score

LEAST, MOST, DIGITS = 4, 200, 4
"""Rows of a table, most of them, and significant digits of a figure from which on no two are the same by chance."""
CLASSED = bounded(r"(?:^|_)(?:seed|run|rank|shard|repeat|trial|copy|replica|gpu|host|node)(?:_|$)|种子|重复")
"""What sets repetitions of one thing apart, which may come out the same."""
SIZED = bounded(r"(?:^|_)(?:ppl|perplexity|loss|bpb|size|bytes|params?|kl|mse|rmse|error)(?:_|$)|困惑度|大小")
"""Figures that follow what was built, beside scores."""


def come_out_equal(table: Table) -> Iterator[Finding]:
    """Two rows of other names with the same figures, one of them a quality, in a table whose other rows all differ."""
    ways = [c for c in table.of("axis") if not means(SIZED, c.name)]
    if not LEAST <= len(table) <= MOST or ways:
        return
    names = [c for c in table.columns if c.values.dtype.kind == "O" and len({*texts(c).tolist()}) == len(table)]
    numbers = [c for c in table.of("measure", "axis") if c.values.dtype.kind == "f"]
    figures = [c for c in numbers if not means(ASIDE, c.name)]
    figures = [c for c in figures if np.isfinite(c.values).all() and len(np.unique(c.values)) > len(table) / 2]
    judged = [c for c in figures if named_score(c.name) or means(SIZED, c.name)]
    if not names or means(CLASSED, names[0].name) or len(judged) < 2:
        return
    pairs = [(i, j) for i, j in combinations(range(len(table)), 2) if all(c.values[i] == c.values[j] for c in judged)]
    if len(pairs) == 1 and sum(_digits(float(c.values[pairs[0][0]])) >= DIGITS for c in judged) >= 2:
        yield _told(table, names[0], judged, pairs[0])


def _digits(value: float) -> int:
    """Significant digits that the file writes."""
    return len(f"{value:.10g}".replace(".", "").replace("-", "").strip("0"))


def _told(table: Table, name: Column, figures: list[Column], pair: tuple[int, int]) -> Finding:
    one, other = (str(texts(name)[i]) for i in pair)
    same = ", ".join(f"{c.name} {c.values[pair[0]]:.7g}" for c in figures[:4])
    places = tuple(Evidence(table.file, int(table.lines[i]) or None, metric=figures[0].name,
                            value=float(figures[0].values[i]), text=str(texts(name)[i])) for i in pair)  # fmt: skip
    return Finding(
        "variants-come-out-equal", Severity.S2,
        f"{one} and {other} come out the same to the last digit ({same}), while the other {len(table) - 2} differ: "
        "what sets the two apart was not in force, or one was measured twice; what is concluded from either is open.",
        f"{one} 与 {other} 的结果每一位都相同（{same}），而其余 {len(table) - 2} 行各不相同：两者的差别没有生效，"
        "或同一个被测了两次；由它们得出的结论不成立。",
        places, {"pair": [one, other], "figures": [c.name for c in figures]},
    )  # fmt: skip
