"""Groups of answers to one prompt whose rewards are all the same: from when on, and to which prompts.

The rewards of a group stand in a row each, in columns that are numbered, or as a list in one cell. A group whose
answers all get one reward has no advantage, whether all are right or all wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...data.statistics import wilson
from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import ENOUGH, named, shown, texts
from ..line import means, plain
from ..texts.groups import GROUP
from .lists import listed

EQUAL_SHARE, ROSE = 0.5, 0.3
"""Share of groups whose rewards are all the same, and by how much more of them there are since some place. Own
judgement."""
REWARD = bounded(
    r"^(?:r|rs|rew|rewards?|returns?)(?:_(?:list|per_\w{1,12}|total|sum))?$|^(?:奖励|回报)(?:值|列表|分)?$"
)
GRADED = bounded(
    r"^(?:scores?|correct|passed|pass|success(?:es)?|solved)(?:_list)?$|^(?:得分|分数|通过|正确)(?:列表)?$"
)
"""Names that are those of an evaluation or of several judges as well: rewards where the rows lie along a training."""
NUMBERED = re.compile(r"^(.*?)_?\d{1,3}$")
KIND = bounded(r"^(?:source|pool|dataset|data_source|task|domain|subset|difficulty|level|bucket|来源|数据源|难度)$")
PREFIX = bounded(r"^([^\W\d][\w.-]{0,30}?)[/:#|\-_ ]+\d{1,9}$")
"""`mid/0927`: an identifier that begins with what it is of."""
FEW_KINDS, LEAST_KIND = 8, 10


@dataclass(frozen=True)
class Groups:
    """The rewards of each group: (g,) of its lowest and highest, its place on the way, its row and what it is of."""

    table: Table
    reward: str
    low: np.ndarray
    high: np.ndarray
    at: np.ndarray
    rows: np.ndarray
    kinds: np.ndarray
    axis: str

    @property
    def equal(self) -> np.ndarray:
        return self.low == self.high


def groups_equal(tables: Sequence[Table]) -> Iterator[Finding]:
    """Tables in which most groups teach nothing, from the beginning or since some place."""
    for table in tables:
        groups = next(_read(table), None) if len(table) >= ENOUGH else None
        if groups is None or len(groups.low) < ENOUGH:
            continue
        since, before = _since(groups)
        late = groups.at >= since
        low, high = wilson(int(groups.equal[late].sum()), int(late.sum()))
        if low >= EQUAL_SHARE:
            yield _told(groups, late, (low, high), before, tables)


def _read(table: Table) -> Iterator[Groups]:
    """The groups of a table, by whichever way it writes their rewards."""
    axis = next((c for c in table.of("axis") if c.values.dtype.kind == "f"), None)
    places = axis.values if axis is not None else np.zeros(len(table))
    kinds, way = _kinds(table), axis.name if axis is not None else ""
    for column, rows, rewards in listed(table):
        if _rewards(column.name, places):
            yield Groups(table, column.name, rewards.min(1), rewards.max(1), places[rows], rows, kinds[rows], way)
    stems: dict[str, list[Column]] = {}
    for c in table.columns:
        if c.values.dtype.kind == "f" and (m := NUMBERED.match(plain(c.name))) and _rewards(m[1], places):
            stems.setdefault(m[1], []).append(c)
    for stem, columns in stems.items():
        rewards = np.stack([c.values for c in columns], axis=1)
        rows = np.flatnonzero(np.isfinite(rewards).all(axis=1))
        if len(columns) > 1 and len(rows):
            yield Groups(table, stem, rewards[rows].min(1), rewards[rows].max(1), places[rows], rows, kinds[rows], way)
    yield from _by_rows(table, places, kinds, way)


def _rewards(name: str, places: np.ndarray) -> bool:
    along = len(np.unique(places)) > 1
    return bool(means(REWARD, name) or (along and means(GRADED, name)))


def _by_rows(table: Table, places: np.ndarray, kinds: np.ndarray, way: str) -> Iterator[Groups]:
    prompt, reward = named(table, GROUP), named(table, REWARD, "f") or named(table, GRADED, "f")
    if prompt is None or reward is None:
        return
    found: dict[tuple[str, float], list[int]] = {}
    for i, key in enumerate(zip(texts(prompt).tolist(), places.tolist(), strict=True)):
        found.setdefault(key, []).append(i)
    whole = [g for g in found.values() if len(g) > 1]
    if whole:
        ends = np.array([(reward.values[g].min(), reward.values[g].max()) for g in whole])
        rows = np.array([g[0] for g in whole])
        yield Groups(table, reward.name, ends[:, 0], ends[:, 1], places[rows], rows, kinds[rows], way)


def _kinds(table: Table) -> np.ndarray:
    """What each row's prompt is of, by a column that says so or by how its identifier begins; empty where none does."""
    if (kind := named(table, KIND, "O")) is not None:
        return texts(kind)
    for column in table.columns:
        if column.values.dtype.kind == "O" and means(GROUP, column.name):
            begins = [PREFIX.match(v) for v in texts(column).tolist()]
            if all(begins):
                return np.array([m[1] for m in begins if m], object)
    return np.full(len(table), "", object)


def _since(groups: Groups) -> tuple[float, float | None]:
    """The place from which on most groups are equal, and the share of them before; the first place and None where
    it is so from the beginning."""
    best = (float(groups.at.min()), None)
    if not len(groups.at) or wilson(int(groups.equal.sum()), len(groups.equal))[0] >= EQUAL_SHARE + ROSE:
        return best
    most = ROSE
    for x in np.unique(groups.at)[1:]:
        late = groups.at >= x
        if min(late.sum(), (~late).sum()) >= ENOUGH:
            was, now = float(groups.equal[~late].mean()), float(groups.equal[late].mean())
            if now - was > most:
                most, best = now - was, (float(x), was)
    return best


def _told(
    groups: Groups, late: np.ndarray, interval: tuple[float, float], before: float | None, tables: Sequence[Table]
) -> Finding:
    equal, whole = int((groups.equal & late).sum()), int(late.sum())
    top = float(groups.high.max())
    best = int((groups.equal & late & (groups.low == top)).sum())
    place = float(groups.at[late].min())
    since = f" since {groups.axis} {place:.10g} ({before:.0%} before)" if before is not None else ""
    since_zh = f"（自 {groups.axis} {place:.10g} 起，此前为 {before:.0%}）" if before is not None else ""
    kinds = [k for k in _of_kinds(groups, late)]
    said = "; ".join(f"{k}: {share:.0%} equal at a mean of {mean:.2g}" for k, share, mean, _ in kinds)
    first = np.flatnonzero(groups.equal & late)[:1]
    rows = [groups.rows[i] for i in (*first.tolist(), *(i for *_, i in kinds))]
    return Finding(
        "groups-without-signal", Severity.S2,
        f"In {equal} of {whole} groups ({equal / whole:.0%}, 95%: {interval[0]:.0%} to {interval[1]:.0%}){since} all "
        f"answers have the same reward ({groups.reward}), {best} of them the highest: these groups teach nothing."
        f"{f' By their prompts: {said}.' if said else ''}",
        f"{whole} 组中有 {equal} 组（{equal / whole:.0%}）{since_zh}组内奖励完全相同（其中 {best} 组为最高"
        f"分），没有学习信号。{f'按题目来源：{said}。' if said else ''}",
        (*shown(groups.table, [int(r) for r in rows], "reward"), *_named({k for k, *_ in kinds}, groups, tables)),
        {"groups": whole, "equal": equal, "all_best": best, "share": equal / whole, "interval": list(interval),
         **({"before": before, "step": place} if before is not None else {})},
    )  # fmt: skip


def _of_kinds(groups: Groups, late: np.ndarray) -> Iterator[tuple[str, float, float, int]]:
    """(kind, share of equal groups, mean reward between its ends, an equal group of it) of kinds with enough groups."""
    names = sorted({k for k in groups.kinds[late].tolist() if k})
    for kind in names if 1 < len(names) <= FEW_KINDS else ():
        own = late & (groups.kinds == kind)
        if own.sum() >= LEAST_KIND and (equal := own & groups.equal).any():
            mean = float((groups.low[own] + groups.high[own]).mean() / 2)
            yield kind, float(equal.sum() / own.sum()), mean, int(np.flatnonzero(equal)[0])


def _named(kinds: set[str], groups: Groups, tables: Sequence[Table]) -> Iterator[Evidence]:
    """Rows of another table that tell something of these kinds of prompts."""
    for table in tables:
        for column in table.of("group") if kinds and table is not groups.table and len(table) < ENOUGH else ():
            names = texts(column).tolist()
            if kinds <= set(names):
                yield from (
                    Evidence(table.file, int(table.lines[i]) or None, text=", ".join(
                        f"{c.name} {c.values[i]}" for c in table.columns)[:200])
                    for i, name in enumerate(names) if name in kinds
                )  # fmt: skip
                return
