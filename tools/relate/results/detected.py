"""Detectors by their confusion counts: nothing found of what is there, no better than chance, and a threshold that no
score reaches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from ...findings import Evidence, Finding, Severity, clean
from ...patterns import bounded
from ...tables.table import Table
from ..line import means, plain
from .read import Row

COUNTS = {
    "tp": bounded(r"^(?:n_|num_)?(?:tp|true_?pos(?:itives?)?)$|真阳|真正例"),
    "fn": bounded(r"^(?:n_|num_)?(?:fn|false_?neg(?:atives?)?|missed)$|假阴|假反例|漏报"),
    "fp": bounded(r"^(?:n_|num_)?(?:fp|false_?pos(?:itives?)?|false_?alarms?)$|假阳|假正例|误报"),
    "tn": bounded(r"^(?:n_|num_)?(?:tn|true_?neg(?:atives?)?)$|真阴|真反例"),
}
MISSED, EACH, CHANCE = 5, 20, 2.0
"""Positives that are all missed; positives and negatives from which on chance is told; standard errors from it."""
THRESHOLD = bounded(r"(?:^|_)(?:threshold|cutoff|cut_off|thresh)(?:_|$)|阈值")
SCORES = bounded(
    r"(?:^|_)(?:scores?|prob(?:abilit(?:y|ies))?s?|anomaly|distances?|likelihoods?|perplexit(?:y|ies))(?:_|$)|得分|分数|概率"
)
VECTOR = 30
"""Scores of single items."""


class Counted(NamedTuple):
    """The confusion counts of one row."""

    row: Row
    tp: float
    fn: float
    fp: float | None
    tn: float | None

    @property
    def apart(self) -> float | None:
        """Standard errors between the share of positives and of negatives that is flagged."""
        if self.fp is None or self.tn is None or min(self.tp + self.fn, self.fp + self.tn) < EACH:
            return None
        a, b = self.tp + self.fn, self.fp + self.tn
        p = (self.tp + self.fp) / (a + b)
        return (self.tp / a - self.fp / b) / sqrt(p * (1 - p) * (1 / a + 1 / b)) if 0 < p < 1 else None


def detected(rows: Sequence[Row], tables: Sequence[Table]) -> list[Finding]:
    """What the confusion counts and thresholds of a run's results say."""
    counted = [c for row in rows if (c := _counted(row)) is not None]
    files = {c.row.file: [x for x in counted if x.row.file == c.row.file] for c in counted}
    return [*(f for some in files.values() for f in (*_missed(some), *_chance(some))), *_unreached(rows, tables)][:4]


def _counted(row: Row) -> Counted | None:
    found: dict[str, float] = {}
    for name, value in row.values.items():
        for what, pattern in COUNTS.items():
            if pattern.search(plain(name)) and np.isfinite(value) and value >= 0 and float(value).is_integer():
                found.setdefault(what, value)
    if "tp" not in found or "fn" not in found:
        return None
    return Counted(row, found["tp"], found["fn"], found.get("fp"), found.get("tn"))


def _missed(some: Sequence[Counted]) -> Iterator[Finding]:
    """No positive found; along a sweep of thresholds, where others of it find some, the last finds none."""
    none = [c for c in some if c.tp == 0 and c.fn >= MISSED]
    if not none or (len(none) < len(some) and len(some) > 3):
        return
    worst = max(none, key=lambda c: c.fn)
    flagged = (
        " and nothing was flagged at all"
        if worst.fp == 0
        else f", {worst.fp:g} others were flagged"
        if worst.fp
        else ""
    )
    flagged_zh = "，且没有标出任何一条" if worst.fp == 0 else f"，却标出了 {worst.fp:g} 条正常的" if worst.fp else ""
    name = next(k for k in worst.row.values if COUNTS["tp"].search(plain(k)))
    yield Finding(
        "positives-never-found", Severity.S1,
        f"None of {worst.fn:g} positives is found in {clean(worst.row.said, 90)}{flagged}: the threshold, or the label "
        "that counts as positive, does not fit what is scored.",
        f"{clean(worst.row.said, 90)} 中 {worst.fn:g} 个正例一个也没有检出{flagged_zh}：阈值或正类标签与打分不符。",
        (worst.row.evidence(name),), {"missed": worst.fn, "flagged": worst.fp},
    )  # fmt: skip


def _chance(some: Sequence[Counted]) -> Iterator[Finding]:
    """Every way of flagging of a file flags positives as often as negatives."""
    told = [(z, c) for c in some if c.tp and c.tn and (z := c.apart) is not None]
    if not told or any(z > CHANCE for z, _ in told):
        return
    z, c = max(told, key=lambda one: one[0])
    a, b = c.tp + c.fn, (c.fp or 0) + (c.tn or 0)
    name = next(k for k in c.row.values if COUNTS["tp"].search(plain(k)))
    yield Finding(
        "score-at-chance", Severity.S2,
        f"{clean(c.row.said, 90)} flags {c.tp:g} of {a:g} positives ({c.tp / a:.1%}) and {c.fp:g} of {b:g} negatives "
        f"({(c.fp or 0) / b:.1%}): {z:.1f} standard errors apart, as chance would.",
        f"{clean(c.row.said, 90)} 标出 {c.tp:g}/{a:g} 个正例（{c.tp / a:.1%}）和 {c.fp:g}/{b:g} 个负例"
        f"（{(c.fp or 0) / b:.1%}），相差 {z:.1f} 个标准误，与随机无异。",
        (c.row.evidence(name),), {"z": z, "positives": a, "negatives": b},
    )  # fmt: skip


def _unreached(rows: Sequence[Row], tables: Sequence[Table]) -> Iterator[Finding]:
    """A threshold above every score of single items in the same file."""
    for table in tables:
        column = next((c for c in table.of("measure") if means(SCORES, c.name) and c.values.dtype.kind == "f"), None)
        if column is None or len(table) < VECTOR:
            continue
        finite = column.values[np.isfinite(column.values)]
        limits = [(k, v, r) for r in rows if r.file == table.file and r.n != 0 and len(r.names) <= 1
                  for k, v in r.values.items() if means(THRESHOLD, k) and np.isfinite(v)]  # fmt: skip
        over = [one for one in limits if len(finite) >= VECTOR and one[1] > float(finite.max())]
        if not over or np.ptp(finite) == 0:
            continue
        name, value, row = over[0]
        yield Finding(
            "threshold-never-reached", Severity.S2,
            f"{name} is {value:.4g} and none of {len(finite)} {column.name} of {table.file} reaches it (largest "
            f"{finite.max():.4g}, mean {finite.mean():.4g}): it was set on scores of another kind than these.",
            f"{name} 为 {value:.4g}，而 {table.file} 的 {len(finite)} 个 {column.name} 没有一个达到（最大 "
            f"{finite.max():.4g}，均值 {finite.mean():.4g}）：阈值是按另一种分布的分数定的。",
            (Evidence(row.file, row.line, metric=name, value=value),),
            {"threshold": value, "largest": float(finite.max()), "scores": len(finite)},
        )  # fmt: skip
        return
