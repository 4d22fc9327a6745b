"""Shares of a whole: a mixture whose parts sum to one, where one of them moves for good, and what was planned of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.raw import words_of
from ...tables.table import Column, Table
from ..changes import LEAST_POINTS, changes
from ..line import groups_of, means, place, plain
from .words import SPOKEN, TOTAL, kind_of, labels_of, shares_of

NEARLY = 0.02
"""Share by which the parts may miss the whole, for they are rounded."""
MOST_PLACES = 0.9
"""Share of the places at which they have to sum to it."""
LEAST_PLACES, LEAST_MOVE = 5, 0.05
"""Places along the way from which on a share is judged, and shift of it from which on it has moved."""
STEADY = 4.0
"""Times the other places differ by that a shift has to be, where there are too few places for a change point."""
OFF = 0.05
"""Difference of a measured share from the planned one that is told."""
PLANNED = bounded(r"plan|target|weight|config|expected|intended|desired|ideal|目标|计划|配置|设定|期望")
MEASURED = bounded(
    r"actual|measured|observed|seen|real|consumed|trained|sampled|realized|realised|used|实际|实测|已训|消耗"
)
CORPORA = words_of("web code books book wiki wikipedia papers paper arxiv math news forum dialogue crawl github chat "
                   "law medical patents 网页 代码 书籍 百科 论文 数学 新闻 论坛 对话")  # fmt: skip
DATA = ("source", "language", "shard")
COUNTED = bounded(
    r"(?:^|_)(?:tokens?|docs|documents|samples|rows|sequences|bytes|chars)(?:_|$)|token|词元|条数|样本|字数|文档"
)
"""What is counted of a mixture."""
WINDOW = re.compile(r"(\d{1,12})\s?(?:-|–|~|to|至)\s?(\d{1,12})")
"""A stretch of the way."""


@dataclass(frozen=True)
class Mixture:
    """Shares of a whole along a way."""

    table: Table
    axis: Column
    by: str
    x: np.ndarray
    parts: tuple[tuple[str, np.ndarray, np.ndarray], ...]
    """(name, share at each place, row of each)."""


def mixtures(table: Table) -> Iterator[Mixture]:
    """The columns of a table, or its groups, that sum to the whole at each place."""
    axis = next((c for c in table.of("axis") if c.values.dtype.kind == "f" and c.of != "index"), None) or _windows(
        table
    )
    if axis is None or len(table) < LEAST_PLACES:
        return
    yield from _wide(table, axis)
    yield from _long(table, axis)


def _windows(table: Table) -> Column | None:
    """A column of stretches, as `2000-4000`, by where each begins."""
    for column in table.of("group", "text"):
        cells = [WINDOW.fullmatch(str(v).strip()) for v in column.values.tolist()]
        if cells and all(cells):
            begin = np.array([float(c[1]) for c in cells if c])
            return Column(column.name, "axis", "step", "", begin) if (np.diff(begin) > 0).all() else None
    return None


def _corpora(columns: Sequence[Column], tail: str = "") -> bool:
    """Whether all columns are sources of text by their names: only then any constant sum is a whole; of columns that
    share what they count, a rest may be left (`zh_docs`, `code_docs`, `other_docs`)."""
    known = [c for c in columns if (CORPORA | SPOKEN) & {*plain(c.name).split("_")}]
    return len(columns) > 1 and (
        all(CORPORA & {*plain(c.name).split("_")} for c in columns)
        or (bool(tail) and 2 * len(known) >= len(columns) > 2)
    )


def _wide(table: Table, axis: Column) -> Iterator[Mixture]:
    columns = [c for c in table.of("measure") if c.values.dtype.kind == "f" and np.isfinite(c.values).all()
               and (c.values >= 0).all()]  # fmt: skip
    columns = [c for c in columns if len(columns) <= 40]
    tails: dict[str, list[Column]] = {}
    for column in columns:
        words = plain(column.name).split("_")
        for tail in {words[-1], words[0], ""}:
            tails.setdefault(tail, []).append(column)
    spoken = [c for c in columns if plain(c.name) in SPOKEN or plain(c.name).split("_")[0] in SPOKEN]
    named = [c for c in columns if _corpora([c, c])]
    sets = [*tails.items(), ("", spoken), ("", named)]
    for tail, some in sorted(sets, key=lambda s: len(s[1]), reverse=True):
        if len(some) < 2:
            continue
        total = np.sum([c.values for c in some], axis=0)
        wholes = (1.0, 100.0, float(np.median(total))) if _corpora(some, tail) else (1.0, 100.0)
        scale = next((s for s in wholes if s > 0 and np.mean(np.abs(total - s) <= NEARLY * s) >= MOST_PLACES), 0.0)
        if scale:
            order = np.argsort(axis.values, kind="stable")
            by = "language" if len(spoken) >= 2 and {id(c) for c in some} <= {id(c) for c in spoken} else "part"
            parts = tuple((_part_of(c.name, tail), c.values[order] / scale, order) for c in some)
            yield Mixture(table, axis, by, axis.values[order], parts)
            return


def _part_of(name: str, tail: str) -> str:
    """The part that a column is of, without what all of them count."""
    words = plain(name).split("_")
    return "_".join(words[:-1]) if tail and len(words) > 1 and words[-1] == tail else name


def _long(table: Table, axis: Column) -> Iterator[Mixture]:
    groups = table.of("group")
    if len(groups) != 1 or not 2 <= len(set(groups[0].values.tolist())) <= 40:
        return
    places, at = np.unique(axis.values, return_inverse=True)
    for measure in table.of("measure"):
        counted = bool(COUNTED.search(plain(measure.name))) and kind_of(groups[0]) in DATA
        if not (counted or shares_of(measure) is not None) or len(places) < LEAST_PLACES:
            continue
        total = np.bincount(at, measure.values, len(places))
        whole = (1.0, 100.0, float(np.median(total))) if counted else (1.0, 100.0)
        scale = next((s for s in whole if s > 0 and np.mean(np.abs(total - s) <= NEARLY * s) >= MOST_PLACES), 0.0)
        if not scale:
            continue
        parts = []
        for label, _, rows in groups_of(table):
            which = np.flatnonzero(rows)
            if len(which) == len(places) == len(set(at[which].tolist())):
                which = which[np.argsort(at[which])]
                parts.append((label.partition(" ")[2] or label, measure.values[which] / scale, which))
        if len(parts) > 1:
            yield Mixture(table, axis, kind_of(groups[0]), places, tuple(parts))
            return


def moved(table: Table) -> Iterator[Finding]:
    """Shares of a mixture that moved for good: which, from, to, where."""
    for mixture in mixtures(table):
        found = [(name, share, rows, step) for name, share, rows in mixture.parts if (step := _step(share)) is not None]
        if found:
            yield _told(mixture, sorted(found, key=lambda f: -abs(f[3][2] - f[3][1])))


def _step(share: np.ndarray) -> tuple[int, float, float] | None:
    """(first place of the new level, level before, level after) of a lasting shift."""
    if len(share) >= LEAST_POINTS:
        lasting = [c for c in changes(share) if c.kind == "step" and abs(c.after - c.before) >= LEAST_MOVE]
        if lasting:
            best = max(lasting, key=lambda c: abs(c.after - c.before))
            return best.i, best.before, best.after
    at = int(np.abs(np.diff(share)).argmax()) + 1
    before, after = float(np.median(share[:at])), float(np.median(share[at:]))
    noise = max(np.ptp(share[:at]), np.ptp(share[at:]), 1e-3)
    if min(at, len(share) - at) >= 2 and abs(after - before) >= max(LEAST_MOVE, STEADY * noise):
        return at, before, after
    return None


def _told(m: Mixture, found: Sequence[tuple[str, np.ndarray, np.ndarray, tuple[int, float, float]]]) -> Finding:
    name, _, rows, (at, before, after) = found[0]
    where = place(m.axis.of or m.axis.name, float(m.x[at]))
    each = "; ".join(f"{n} from {s[1]:.1%} to {s[2]:.1%}" for n, _, _, s in found[:4])
    zh = "；".join(f"{n} 从 {s[1]:.1%} 变到 {s[2]:.1%}" for n, _, _, s in found[:4])
    of = "data" if m.by in DATA else m.by
    return Finding(
        "mixture-moved" if m.by in DATA or _data(m) else "composition-moved", Severity.S2 if m.by in DATA or _data(m)
        else Severity.S3,
        f"The composition ({len(m.parts)} parts that sum to the whole) moves for good at {where}: {each}.",
        f"组成（{len(m.parts)} 部分，合计为整体）在 {where} 处发生持久变化：{zh}。",
        tuple(Evidence(m.table.file, int(m.table.lines[rows[i]]) or None, metric=name, value=float(found[0][1][i]))
              for i in (at, at - 1)),
        {"by": of, "part": name, "before": before, "after": after, "at": float(m.x[at]),
         "parts": {n: [s[1], s[2]] for n, _, _, s in found[:12]}},
    )  # fmt: skip


def _data(m: Mixture) -> bool:
    """Whether the parts are sources or languages by their names."""
    known = [name for name, _, _ in m.parts if (CORPORA | SPOKEN) & {*plain(name).split("_")}]
    return len(known) >= max(2, len(m.parts) / 2)


def off_plan(tables: Sequence[Table]) -> Iterator[Finding]:
    """Measured shares of sources that are not the planned ones: two columns of one table, or two tables."""
    found: list[tuple[Table, Column, dict[str, tuple[float, int]]]] = []
    for table in tables:
        if not 2 <= len(table) <= 200:
            continue
        for _, said in labels_of(table):
            keep = [i for i, v in enumerate(said.tolist()) if not TOTAL.search(v)]
            if len(keep) < 2 or len(set(said[keep].tolist())) < len(keep):
                continue
            for measure in table.columns:
                if (one := _whole(measure, keep)) is not None:
                    found.append((table, measure, {str(said[i]): (one[i], i) for i in keep}))
            break
    plans = [f for f in found if means(PLANNED, f[1].name) or PLANNED.search(f[0].part.lower())]
    for table, column, planned in plans:
        for other, measure, seen in found:
            if measure is column or not means(MEASURED, measure.name) or seen.keys() != planned.keys():
                continue
            worst = max(planned, key=lambda k: abs(planned[k][0] - seen[k][0]))
            if abs(planned[worst][0] - seen[worst][0]) >= OFF:
                yield _off(table, column, planned, other, measure, seen, worst)
                return


def _whole(measure: Column, keep: Sequence[int]) -> dict[int, float] | None:
    """Its cells as shares, where they sum to one or to a hundred."""
    values = measure.values
    if values.dtype.kind != "f" or not np.isfinite(values[keep]).all() or (values[keep] < 0).any():
        return None
    total = float(values[keep].sum())
    scale = next((s for s in (1.0, 100.0) if abs(total - s) <= NEARLY * s), 0.0)
    return {i: float(values[i]) / scale for i in keep} if scale else None


def _off(
    table: Table, column: Column, planned: dict[str, tuple[float, int]], other: Table, measure: Column,
    seen: dict[str, tuple[float, int]], worst: str,
) -> Finding:  # fmt: skip
    far = sorted(planned, key=lambda k: -abs(planned[k][0] - seen[k][0]))[:4]
    each = "; ".join(f"{k} {planned[k][0]:.1%} planned, {seen[k][0]:.1%} measured" for k in far)
    zh = "；".join(f"{k} 计划 {planned[k][0]:.1%}、实际 {seen[k][0]:.1%}" for k in far)
    return Finding(
        "mixture-off-plan", Severity.S2,
        f"The mixture is not the planned one ({column.name} against {measure.name}): {each}.",
        f"实际配比与计划不符（{column.name} 对 {measure.name}）：{zh}。",
        (Evidence(table.file, int(table.lines[planned[worst][1]]) or None, metric=column.name, value=planned[worst][0]),
         Evidence(other.file, int(other.lines[seen[worst][1]]) or None, metric=measure.name, value=seen[worst][0])),
        {"part": worst, "planned": planned[worst][0], "measured": seen[worst][0]},
    )  # fmt: skip
