"""A recall among the first 1 and among the first 5 answers that are one number: what is counted is not what is said.

A wider look finds at least as much, and of many items nearly always more. To the last digit the same, beside a third
width that differs, means that both were counted over the same places (an index, a cut, a limit of one answer an item).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import isfinite

from ...findings import Finding, Severity
from ...patterns import bounded
from .read import Row

_WIDTH = bounded(r"^(?P<of>.{0,60}?(?:recall|hits?|r|hit_?rate|top|acc(?:uracy)?|success))[_ ]?@[_ ]?(?P<k>\d{1,4})$")
WIDER, SMALL, LOW, HIGH = 3, 60, 0.02, 0.98
"""Times that one look is as wide as the other, items of which two looks may find as many by chance, and the range in
which a share has room on both sides. Own judgement."""


def ranks(rows: Sequence[Row]) -> list[Finding]:
    """Of all rows the first with two widths that come out equal."""
    found = [f for row in rows for f in _of_row(row)]
    return found[:1]


def _of_row(row: Row) -> Iterator[Finding]:
    kinds: dict[str, list[tuple[int, str, float]]] = {}
    for key, value in row.values.items():
        if (match := _WIDTH.match(key.lower())) and isfinite(value):
            kinds.setdefault(match["of"], []).append((int(match["k"]), key, value))
    for some in kinds.values():
        some.sort()
        for (k, key, value), (wide, other, same) in pairwise(some):
            level = value / 100 if value > 1 else value
            if value != same or wide < WIDER * k or not LOW < level < HIGH or len({v for *_, v in some}) < 2:
                continue
            if abs(float(Fraction(level).limit_denominator(SMALL)) - level) < 1e-9:
                continue
            yield Finding(
                "widths-come-out-equal", Severity.S2,
                f"{row.said}: {key} and {other} are both {value:.6g} to the last digit: among {wide} answers no more "
                f"is found than among {k}, which tells of how it is counted and not of the model.",
                f"{row.said}：{key} 与 {other} 完全相同（{value:.6g}）：前 {wide} 个答案命中的与前 {k} 个一样多，"
                "说明统计方式有误，而不是模型的问题。",
                (row.evidence(key), row.evidence(other)), {"value": value},
            )  # fmt: skip
            return
