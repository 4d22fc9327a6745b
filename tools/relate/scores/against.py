"""The same items answered by two ways of running a model, one of them the reference: scores item by item, and answers
that end at the limit where those of the reference end by themselves.

What was changed between the two (a cache, a number format, a kernel, a training) is not asked: that the scores are not
those of the reference is what is found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import PROMPT, named, texts
from ..kinds.capped import SIZE
from ..line import means, plain
from ..summed.words import named_score
from .read import ITEM

REFERENCE = bounded(
    r"(?i)(?:^|[/_.\s-])(?:base(?:line)?|reference|ref|original|orig|full|fp16|bf16|fp32|float16|bfloat16|vanilla|dense|before"
    r"|untrained|unquanti[sz]ed|uncompressed|control)(?:[/_.\s-]|$)|基线|基准|对照|原始|未量化|未压缩|训练前"
)
"""What the side that others are held against is called."""
ITEMS, CLEAR, LOST, GRAVE = 30, 3.0, 0.15, 1 / 3
"""Items in common, standard errors of the mean difference, and parts of the reference's score that are lost from which
on it is told and is grave. Own judgement."""
GROUP, HEAP, FREE = 5, 0.8, 0.4
"""Rows of a task, share of them at its largest length from which on all run into it, and the most that do where they
end by themselves. Own judgement."""


@dataclass(frozen=True)
class Side:
    """One table of scored items."""

    table: Table
    score: Column
    rows: dict[tuple[str, int], int]
    """(item, how often it stood there before) -> row."""
    said: str
    """Names of the file and the part, and what a column says of all rows."""

    @property
    def is_reference(self) -> bool:
        return bool(REFERENCE.search(self.said))


def behind_reference(tables: Sequence[Table]) -> Iterator[Finding]:
    """Tables whose items score clearly less than the same items of the reference."""
    sides = [s for t in tables[:60] if len(t) >= ITEMS and (s := _side(t)) is not None]
    references = [s for s in sides if s.is_reference]
    for own in [s for s in sides if not s.is_reference][:8]:
        for other in references[:4]:
            both = sorted(own.rows.keys() & other.rows.keys())
            same = plain(own.score.name) == plain(other.score.name) and own.table.file != other.table.file
            if same and len(both) >= max(ITEMS, 0.8 * len(own.rows)):
                yield from _behind(own, other, both)
                break


def _side(table: Table) -> Side | None:
    score = next((c for c in table.of("measure") if c.values.dtype.kind == "f" and named_score(c.name)), None)
    item = next((c for c in table.columns if ITEM.search(plain(c.name))), None) or named(table, PROMPT, "O")
    if score is None or item is None or not np.isfinite(score.values).all():
        return None
    seen: Counter[str] = Counter()
    rows: dict[tuple[str, int], int] = {}
    for i, said in enumerate(map(str, item.values.tolist())):
        rows[said, seen[said]] = i
        seen[said] += 1
    columns = [c for c in table.columns if c.values.dtype.kind == "O"]
    same = [str(c.values[0]) for c in columns if len(table) and len({*map(str, c.values.tolist())}) == 1]
    return Side(table, score, rows, " ".join([table.file, table.part, *(s for s in same if len(s) < 60)]))


def _behind(own: Side, other: Side, both: Sequence[tuple[str, int]]) -> Iterator[Finding]:
    mine, theirs = (np.array([s.rows[k] for k in both]) for s in (own, other))
    values, reference = own.score.values[mine], other.score.values[theirs]
    apart, level = values - reference, float(reference.mean())
    error = float(apart.std(ddof=1)) / sqrt(len(apart))
    lost = -float(apart.mean()) / level if level > 0 else 0.0
    if lost < LOST or -float(apart.mean()) < CLEAR * max(error, 1e-9):
        return
    z = -float(apart.mean()) / max(error, 1e-9)
    place = Evidence(own.table.file, int(own.table.lines[mine[int(apart.argmin())]]) or None, metric=own.score.name,
                     value=float(values.mean()))  # fmt: skip
    beside = Evidence(other.table.file, int(other.table.lines[theirs[int(apart.argmin())]]) or None,
                      metric=other.score.name, value=level)  # fmt: skip
    yield Finding(
        "score-behind-reference", Severity.S1 if lost >= GRAVE else Severity.S2,
        f"On the same {len(both)} items {own.table.file} scores {values.mean():.3g} and {other.table.file}, the "
        f"reference, {level:.3g} ({own.score.name}, {lost:.0%} lost, {z:.1f} standard errors).",
        f"同样的 {len(both)} 条上，{own.table.file} 的 {own.score.name} 为 {values.mean():.3g}，参照 "
        f"{other.table.file} 为 {level:.3g}（损失 {lost:.0%}，{z:.1f} 个标准误）。",
        (place, beside),
        {"score": own.score.name, "before": level, "after": float(values.mean()), "lost": lost, "z": z},
    )  # fmt: skip
    yield from _unended(own, other)


def _unended(own: Side, other: Side) -> Iterator[Finding]:
    """That the answers of most tasks run to one and the same length, which those of the reference do not."""
    mine, theirs = (_at_top(s.table) for s in (own, other))
    shared = [task for task in mine if task in theirs]
    full = [task for task in shared if mine[task][0] >= HEAP and theirs[task][0] <= FREE]
    if not full or len(full) < 0.5 * len(shared):
        return
    said = ", ".join(f"{task or 'all'} {mine[task][1]:.0f}" for task in full[:4])
    rest = float(np.mean([theirs[task][0] for task in full]))
    rows = sum(mine[task][2] for task in full)
    yield Finding(
        "generation-not-stopping", Severity.S2,
        f"{rows} answers of {own.table.file} end at one and the same length ({said}), the limit; of those of "
        f"{other.table.file} to the same items {rest:.0%} end at theirs.",
        f"{own.table.file} 有 {rows} 条回答停在同一长度（{said}），即上限；{other.table.file} 对同样条目只有 "
        f"{rest:.0%}。",
        (Evidence(own.table.file, int(own.table.lines[0]) or None, metric="tokens_generated"),),
        {"cut": rows, "share": HEAP, "reference": rest},
    )  # fmt: skip


def _at_top(table: Table) -> dict[str, tuple[float, float, int]]:
    """Task -> (share of its answers at the largest length, that length, how many)."""
    size = next((c for c in table.columns if c.values.dtype.kind == "f" and means(SIZE, c.name)), None)
    if size is None:
        return {}
    task = next(iter(table.of("group")), None)
    names = texts(task).astype(str) if task is not None else np.full(len(table), "", object)
    found = {}
    for name in dict.fromkeys(names.tolist()):
        values = size.values[names == name]
        if len(values) >= GROUP and np.isfinite(values).all():
            top = float(values.max())
            found[name] = float((values == top).mean()), top, int((values == top).sum())
    return found
