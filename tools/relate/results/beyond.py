"""A share that is more than all: recall, hit rate or accuracy above 1 beside measures that are shares up to 1.

Its parts are counted by one thing and its whole by another (chunks that were found, documents that are right). A table
in percent has no such row: there the measures beside it are above 1 as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from ...findings import Finding, Severity, clean
from ...patterns import bounded
from ..line import plain
from .read import Row

SHARE = bounded(
    r"(?:^|_)(?:recall|precision|acc(?:uracy)?|f1|hit_?rate|hits?|ndcg|mrr|map|auc|auroc|em|exact_?match|pass|success_?rate"
    r"|win_?rate)(?:_?at)?(?:_?\d{1,4})?$|召回率|准确率|精确率|命中率"
)
"""Measures that no value above 1 can have, counted as shares."""
MOST, BESIDE = 20.0, 2
"""Above which a file is in percent; measures of a row that are shares up to 1. Ours."""
OVER = 1.005
"""Rounding aside."""


def _shares(row: Row) -> dict[str, float]:
    return {k: v for k, v in row.values.items() if SHARE.search(plain(k)) and isfinite(v)}


def _above(row: Row) -> tuple[str, float, list[str]] | None:
    """The only share of a row that is above 1, its value, and those beside it that are not."""
    shares = _shares(row)
    beside = [k for k, v in shares.items() if 0 < v < 1]
    above = [k for k, v in shares.items() if v > OVER and v % 1]
    whole = len(above) == 1 and len(beside) >= BESIDE and len(shares) == len(beside) + 1
    return (above[0], shares[above[0]], beside) if whole else None


def beyond_all(rows: Sequence[Row]) -> list[Finding]:
    """The largest share above 1 in a file whose other measures are shares."""
    percent = {r.file for r in rows if any(v > MOST for v in _shares(r).values())}
    told = [(r, *one) for r in rows if r.file not in percent and (one := _above(r))]
    if not told:
        return []
    row, name, value, beside = max(told, key=lambda one: one[2])
    others = ", ".join(f"{k} {row.values[k]:.4g}" for k in beside[:3])
    return [
        Finding(
            "share-above-one",
            Severity.S2,
            f"{name} is {value:.4g} in {clean(row.said, 80)}, more than all, while {others} beside it are shares"
            f" ({len(told)} such rows): what it counts and what it divides by are not the same things.",
            f"{name} 在 {clean(row.said, 80)} 为 {value:.4g}，超过全部，而旁边的 {others} 都是不大于 1 的比例"
            f"（共 {len(told)} 行）：分子和分母数的不是同一种东西。",
            tuple(r.evidence(k) for r, k, *_ in sorted(told, key=lambda one: -one[2])[:4]),
            {"score": name, "value": value, "rows": len(told)},
        )
    ]
