"""What several people said of the same items, in a column each that bears their name, or one person beside an expert.

Columns that are called annotators are read in `..distributions`; here they are known by what they hold: the same few
labels, in a file or under names that speak of annotation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...data.statistics import wilson
from ...findings import Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import ENOUGH, LEVELS, agreement, shown, texts, votes
from ..line import means, plain

ABOUT = bounded(
    r"(?:^|[^a-z])(?:\w{0,8}label|annot|rating|rater|votes?|spot_?check|(?:dis)?agree)|标注|打分|评分|抽检|质检|复核"
)
"""What a file or column about people's labels is called, from the beginning of a word: not `operating_system`."""
EXPERT = bounded(
    r"(?:^|_)(?:expert|gold|qa|adjudicat\w*|reviewer|auditor|master|lead)(?:_|$)|专家|质检|抽检|复核|仲裁|金标"
)
PERSON = bounded(r"(?:^|_)(?:annotator|worker|rater|labell?er|human|crowd|original|first)(?:_|$)|标注|初标|原标")
MACHINE = bounded(
    r"(?:^|_)(?:pred\w*|model|output|judge|auto|gpt\w*|llm|rm|reward|verifier|before|after)(?:_|$)|模型|预测|机器"
)
SPOT, SAME, LEAST_SHARE = 0.8, 0.7, 0.02
"""000: more than 80% of spot checks agree; share of labels that two columns have in common, and of rows that a label
has at least."""


def raters(table: Table) -> Iterator[Finding]:
    """Agreement of people whose columns are told by what they hold."""
    if len(table) < ENOUGH or not any(ABOUT.search(plain(n)) for n in (table.file, *(c.name for c in table.columns))):
        return
    some = [c for c in table.columns if not means(MACHINE, c.name) and _labels(c)]
    checked = _spot(table, some)
    if checked is not None:
        yield checked
        return
    group = next((g for c in some if len(g := [d for d in some if _alike(c, d)]) >= 3), [])
    if group and not votes(table):
        named = [replace(c, name=f"annotator_{i}") for i, c in enumerate(group, 1)]
        yield from agreement(replace(table, columns=tuple(named)))


def _labels(column: Column) -> set[str]:
    """The few labels of a column, none where it holds something else."""
    if column.role == "identifier" or (column.values.dtype.kind == "f" and not _whole(column.values)):
        return set()
    said, counts = np.unique(texts(column).astype(str), return_counts=True)
    often = said[counts >= LEAST_SHARE * len(column.values)]
    return set(said.tolist()) if 2 <= len(said) <= LEVELS and 2 * len(often) > len(said) else set()


def _whole(values: np.ndarray) -> bool:
    finite = values[np.isfinite(values)]
    return bool(len(finite) and (finite == np.round(finite)).all())


def _alike(one: Column, other: Column) -> bool:
    a, b = _labels(one), _labels(other)
    return one.values.dtype.kind == other.values.dtype.kind and len(a & b) >= SAME * len(a | b)


def _spot(table: Table, some: list[Column]) -> Finding | None:
    """A person's labels beside those of an expert, of the same items."""
    expert = next((c for c in some if means(EXPERT, c.name)), None)
    person = next((c for c in some if c is not expert and means(PERSON, c.name) and not means(EXPERT, c.name)), None)
    if expert is None or person is None or not _alike(expert, person):
        return None
    same = texts(expert) == texts(person)
    k, n = int(same.sum()), len(table)
    low, high = wilson(k, n)
    if high >= SPOT:
        return None
    rows = np.flatnonzero(~same)[:3].tolist()
    return Finding(
        "annotator-disagreement", Severity.S2,
        f"{person.name} and {expert.name} agree in {k} of {n} items ({k / n:.0%}, 95%: {low:.0%} to {high:.0%}), below "
        f"{SPOT:.0%}.",
        f"{person.name} 与 {expert.name} 在 {n} 条中有 {k} 条一致（{k / n:.0%}，95% 区间 {low:.0%} 到 "
        f"{high:.0%}），低于 "
        f"{SPOT:.0%}。",
        shown(table, rows, person.name), {"agree": k, "of": n, "interval": [low, high]},
    )  # fmt: skip
