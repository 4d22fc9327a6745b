"""Scores of a trained model that are those of its base to the last digit: what was scored is the base."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np

from ...findings import Evidence, Finding, Severity, clean
from ...tables.table import Table
from ..texts.same import BASE
from .read import Scored, scored_rows

LEAST, MOST = 3, 24
"""Tasks that both were scored on, and sources that are compared."""
ITEMS = 100
"""Items of all tasks together from which on equal scores are no chance."""
SHOWN = 3


def of_the_base(tables: Sequence[Table]) -> Iterator[Finding]:
    """All scores of one model, or of one file whatever model it says that it asked, are those of a base."""
    rows = [r for r in scored_rows(tables) if not r.item and r.step is None and r.task and r.value <= 100]
    for name in (lambda r: r.evidence.file or "", lambda r: r.model):
        sources: dict[str, dict[tuple[str, str], Scored]] = {}
        for row in rows:
            if said := name(row):
                sources.setdefault(said, {})[row.task, row.metric] = row
        for base, other in permutations(list(sources)[:MOST], 2):
            if BASE.search(base) and not BASE.search(other) and _equal(sources[base], sources[other]):
                yield _told(base, other, sources)
                return


def _equal(a: dict[tuple[str, str], Scored], b: dict[tuple[str, str], Scored]) -> bool:
    """Whether nothing tells them apart, over enough items, and the scores are no round or floor values."""
    both = a.keys() & b.keys()
    tasks = {task for task, _ in both}
    if len(tasks) < LEAST or len(both) < 0.8 * max(len(a), len(b)):
        return False
    pairs = [(a[k], b[k]) for k in both]
    if any(x.value != y.value or x.n != y.n for x, y in pairs):
        return False
    values = {round(x.value, 9) for x, _ in pairs}
    items = sum(x.n or 0 for x, _ in pairs)
    fine = np.mean([abs(v * 10 - round(v * 10)) > 1e-6 for v in values]) >= 0.5
    return len(values) >= LEAST and (items >= ITEMS or (not items and bool(fine)))


def _told(base: str, other: str, sources: dict[str, dict[tuple[str, str], Scored]]) -> Finding:
    keys = sorted(sources[base].keys() & sources[other].keys())
    first = [sources[other][k] for k in keys[:SHOWN]]
    said = ", ".join(f"{r.task} {r.value:.4g}" for r in first)
    places: list[Evidence] = [x.evidence for r, k in zip(first, keys, strict=False) for x in (r, sources[base][k])]
    count = len({task for task, _ in keys})
    return Finding(
        "scores-of-the-base", Severity.S2,
        f"All {len(keys)} scores of {clean(other, 60)} on {count} tasks are those of {clean(base, 60)} to the last "
        f"digit ({said}): what was scored is the base.",
        f"{clean(other, 60)} 在 {count} 个任务上的 {len(keys)} 个分数与 {clean(base, 60)} 完全相同（{said}）："
        "被评测的其实是底座模型。",
        tuple(places), {"scores": len(keys), "tasks": count, "base": base, "other": other},
    )  # fmt: skip
