"""Which group differs: rank, host, shard, source, task; by how much, beyond what the groups' own spread allows.

Groups that ought to be alike (ranks, hosts, shards) are judged against one another: the widest gap in the row of their
medians, measured in what is left of the spread on both sides of it. Groups that differ by nature (tasks, languages)
are told as a note, and as more only where one of them gets worse while the others do not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..findings import Evidence, Finding, Severity
from ..series import SeriesTable
from ..tables.table import Column, Table
from ..tables.vocabulary import group_of
from ..vocabulary import COUNTS, VOCABULARY
from .line import MOST_GROUPS, metric_of
from .moves import Move

ALIKE = re.compile(r"(?i)(?:^|[^a-z])(?:rank|host|hostname|node|gpu|device|card|worker|replica|stage|shard|machine|pod"
                   r"|server|instance|process|pid|engine|seed)s?(?:[^a-z]|$|_?(?:id|index|name|no|num))")  # fmt: skip
"""Names of groups that ought to be alike."""
STAGE = re.compile(r"(?i)(?:^|[^a-z])stage(?:s|_?(?:id|idx|index|no|num))?$|流水段|流水级")
"""Names of the parts of a pipeline; a stage of a training is called so too."""
LASTS = re.compile(r"(?i)(?:^|[^a-z])(?:elapsed|duration|wall_?time|runtime)(?:raw)?(?:[^a-z]|$)|耗时|用时")
"""Names of how long the same work took."""
GAP = {2: 12.0, 3: 12.0, 4: 9.0, 5: 7.5, 6: 7.0}
"""Groups -> width of the gap in deviations of the rest; with few groups the rest says little about its spread."""
LEAST_OF_TWO = 0.4
"""Share of the level by which two groups differ at least, whose spread is that of their own rows: between a rank that
also logs and saves and one that does not, less is usual. Own judgement."""
USUAL_GAP = 6.0
LEAST_SHARE = 0.05
"""Share of the level by which groups that ought to be alike differ at least; twice as much is a fault."""
LEAST_ROWS = 3
"""Rows of a group below which it is not judged."""
LEAST_ALONE, ALONE_GAP = 6, 10.0
"""Groups that ought to be alike with one row each, from which on the odd one is told, and its gap in deviations."""
CLEAR = 4.0
"""Standard errors between groups that differ by nature."""
MOST_TOLD = 12


@dataclass(frozen=True)
class Contrast:
    """One measure that is not the same in all groups."""

    metric: str
    key: str
    by: str
    different: tuple[str, ...]
    """The groups on the smaller side of the gap."""
    theirs: float
    others: float
    """Medians of both sides."""
    gap: float
    """In deviations of what the groups otherwise differ by."""
    interval: tuple[float, float]
    """Of the difference, 95%."""
    sizes: Mapping[str, int]
    """Rows of every group."""
    alike: bool
    """Whether these groups ought to be alike."""
    evidence: tuple[Evidence, ...]
    variants: bool = False
    """Whether the rows are results of variants that are set against each other, and no way through a training."""

    @property
    def share(self) -> float:
        return abs(self.theirs - self.others) / (abs(self.others) or 1.0)


@dataclass(frozen=True)
class _Rows:
    """The rows of one measure by group."""

    metric: str
    key: str
    by: str
    values: Mapping[str, np.ndarray]
    shown: Mapping[str, Evidence]
    level: float
    """Usual size of the measure, which stays when its way is taken out."""
    variants: bool = False


def contrasts(series: SeriesTable, tables: Sequence[Table]) -> list[Contrast]:
    """The measures that differ by some group, the clearest first."""
    found = [c for rows in (*_of_tables(tables), *_of_ranks(series)) if (c := _contrast(rows)) is not None]
    return sorted(found, key=lambda c: (not c.alike, -c.gap))


def compared(tables: Sequence[Table]) -> frozenset[tuple[str, str, str]]:
    """(metric, its own name, group) of every measure that tables give by group, whether it differs or not."""
    return frozenset((metric_of(measure), measure.name, by) for table in tables for group in table.of("group")
                     for by in [_by(group, _way(table))] for measure in table.of("measure"))  # fmt: skip


def _of_tables(tables: Sequence[Table]) -> Iterator[_Rows]:
    for table in tables:
        axis = _way(table)
        for group in table.of("group"):
            labels = np.array([str(v) for v in group.values.tolist()], object)
            if not 1 < len(set(labels.tolist())) <= 4 * MOST_GROUPS:
                continue
            for measure in table.of("measure"):
                if measure.values.dtype.kind == "f" and metric_of(measure) not in COUNTS:
                    yield _rows(table, group, measure, labels, axis)


def _way(table: Table) -> Column | None:
    return next((c for c in table.of("axis") if c.values.dtype.kind == "f"), None)


def _by(group: Column, axis: Column | None) -> str:
    """What the groups are: numbered stages that all have a row at each step work side by side, as of a pipeline."""
    if not STAGE.search(group.name) or not len(group.values):
        return group.of or group.name
    said = [str(v) for v in group.values.tolist()]
    names = set(said)
    if len(names) > 1 and all(v.removesuffix(".0").isdecimal() for v in names):
        if axis is None:  # in turn, as side by side: a later one of a curriculum comes alone
            beside = all(set(said[i : i + len(names)]) == names for i in range(0, len(said), len(names)))
            return "stage" if beside and len(said) > len(names) else group.of or group.name
        if len(names) <= np.median(np.unique(axis.values, return_counts=True)[1]):
            return "stage"
    return group.of or group.name


def _rows(table: Table, group: Column, measure: Column, labels: np.ndarray, axis: Column | None) -> _Rows:
    keep = np.isfinite(measure.values)
    values, names, lines = measure.values[keep], labels[keep], table.lines[keep]
    level = float(np.median(np.abs(values))) if len(values) else 0.0
    if axis is not None:
        values = _without_way(values, axis.values[keep])
    by = {name: names == name for name in dict.fromkeys(names.tolist())}
    metric = metric_of(measure)
    shown = {
        name: Evidence(table.file, int(lines[rows][0]) or None, metric=metric, text=f"{group.name} {name}")
        for name, rows in by.items()
    }
    other = (len(set(c.values.tolist())) for c in table.of("group") if c is not group and c.of == "variant")
    variants = axis is None and max(other, default=1) > 1
    return _Rows(metric, measure.name, _by(group, axis), {n: values[r] for n, r in by.items()}, shown, level, variants)


def _without_way(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """What each row is away from the others at the same place, where most places have rows of several groups."""
    _, inverse, count = np.unique(places, return_inverse=True, return_counts=True)
    if len(count) == len(values) or np.median(count) < 3:
        return values
    order = np.argsort(inverse, kind="stable")
    middles = np.array([np.median(part) for part in np.split(values[order], np.cumsum(count)[:-1])])
    return values - middles[inverse] + float(np.median(values))


def _of_ranks(series: SeriesTable) -> Iterator[_Rows]:
    by_metric: dict[tuple[str, str], list] = {}
    for s in series:
        if s.rank is not None and s.metric not in COUNTS:
            by_metric.setdefault((s.metric, s.attempt), []).append(s)
    for (metric, _), found in by_metric.items():
        ranks = {s.rank: s for s in sorted(found, key=len)}
        if len(ranks) < 3:
            continue
        parts = {f"{rank}": s.values[np.isfinite(s.values)] for rank, s in sorted(ranks.items())}
        shown = {f"{rank}": s.at(len(s) - 1) for rank, s in ranks.items() if len(s)}
        every = np.concatenate(list(parts.values()))
        level = float(np.median(np.abs(every))) if len(every) else 0.0
        yield _Rows(metric, found[0].key, "rank", parts, shown, level)


def _contrast(rows: _Rows) -> Contrast | None:
    """The widest gap between the groups, if it is wider than the groups' own spread allows."""
    alike = bool(ALIKE.search(rows.by))
    alone = alike and len(rows.values) >= LEAST_ALONE and all(len(v) == 1 for v in rows.values.values())
    groups = {name: v for name, v in rows.values.items() if alone or len(v) >= LEAST_ROWS}
    if len(groups) < 2 or rows.level == 0:
        return None
    names = sorted(groups, key=lambda name: float(np.median(groups[name])))
    middles = np.array([float(np.median(groups[name])) for name in names])
    errors = np.array([_error(groups[name]) for name in names])
    cut = int(np.diff(middles).argmax()) + 1
    sides = names[:cut], names[cut:]
    small, rest = sides if cut <= len(names) / 2 else sides[::-1]
    theirs, others = (float(np.median([np.median(groups[n]) for n in side])) for side in (small, rest))
    joint = [_joint(errors[[names.index(n) for n in side]]) for side in (small, rest)]
    error = math.hypot(*joint)
    spread = _spread(middles[:cut], middles[cut:], rows.level if alike else 0.0)
    if alike and len(names) == 2:
        spread = max(spread, *(_deviation(groups[name]) for name in names))
    gap = float(np.diff(middles).max()) / float(np.hypot(spread, np.median(errors)) or rows.level * 1e-9)
    wide = gap >= GAP.get(len(names), USUAL_GAP) if alike else abs(theirs - others) >= CLEAR * error > 0
    least = LEAST_OF_TWO if alike and len(names) == 2 else LEAST_SHARE
    if alone and (len(small) > max(1, len(names) // 8) or gap < ALONE_GAP or abs(theirs - others) < 0.1 * rows.level):
        return None  # one number of each says little of how far they usually lie apart
    if not wide or abs(theirs - others) < least * rows.level:
        return None
    base = rows.level + (others - float(np.median(middles))) if abs(others) < 1e-9 else others
    half = 1.96 * float(np.hypot(error, spread))
    return Contrast(
        rows.metric, rows.key, rows.by, tuple(small), theirs, base, gap,
        (theirs - others - half, theirs - others + half),
        {name: len(v) for name, v in rows.values.items()}, alike,
        tuple(rows.shown[n] for n in (*small[:3], rest[0]) if n in rows.shown), rows.variants,
    )  # fmt: skip


def _joint(errors: np.ndarray) -> float:
    """Standard error of the middle of several groups."""
    return float(np.sqrt((errors**2).mean() / len(errors)))


def _deviation(values: np.ndarray) -> float:
    """Robust standard deviation of a group's rows."""
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))


def _error(values: np.ndarray) -> float:
    """Standard error of a group's median."""
    return 1.25 * _deviation(values) / np.sqrt(len(values))


def _spread(low: np.ndarray, high: np.ndarray, level: float) -> float:
    """Deviation of the groups on both sides of the gap, at least half a percent of the level."""
    free = len(low) + len(high) - 2
    squares = float(((low - low.mean()) ** 2).sum() + ((high - high.mean()) ** 2).sum())
    return max(np.sqrt(squares / free) if free > 0 else 0.0, 0.005 * level)


def told(found: Sequence[Contrast]) -> list[Finding]:
    """The contrasts as findings."""
    return [_finding(c) for c in found[:MOST_TOLD]]


def _finding(c: Contrast) -> Finding:
    lasts = c.metric not in VOCABULARY and LASTS.search(c.key) is not None and c.theirs > c.others
    worse = lasts or (c.metric in VOCABULARY and VOCABULARY[c.metric].better * (c.theirs - c.others) < 0)
    few = 2 * len(c.different) < len(c.sizes) and len(c.different) <= max(2, len(c.sizes) // 4)
    severity = Severity.S2 if c.alike and worse and few and c.share >= 2 * LEAST_SHARE else Severity.S3
    names = ", ".join(c.different[:6])
    sizes = f"{sum(c.sizes[n] for n in c.different)} rows against {sum(c.sizes.values())} in {len(c.sizes)} groups"
    change = (c.theirs - c.others) / (abs(c.others) or 1.0)
    low, high = c.interval
    en = (
        f"{c.key} differs by {c.by}: {c.theirs:.4g} on {names}, {c.others:.4g} elsewhere ({change:+.0%}, difference "
        f"between {low:.3g} and {high:.3g}); the gap is {c.gap:.0f} times what the groups otherwise differ by "
        f"({sizes})."
    )
    zh = (
        f"{c.key} 随 {c.by} 而不同：{names} 为 {c.theirs:.4g}，其余为 {c.others:.4g}（{change:+.0%}，差值区间 "
        f"{low:.3g} 到 {high:.3g}）；差距是各组之间正常差异的 {c.gap:.0f} 倍。"
    )
    data = {"metric": c.metric, "key": c.key, "by": c.by, "groups": list(c.different), "value": c.theirs,
            "others": c.others, "gap": c.gap, "interval": [low, high], "sizes": dict(c.sizes),
            "alike": c.alike}  # fmt: skip
    return Finding("group-differs", severity, en, zh, c.evidence, data)


AS_IT_WAS = 0.02
"""Share of its level by which a group may get worse and still be where it was."""


@dataclass(frozen=True)
class Parting:
    """One group of a measure gets worse along the way while others do not."""

    move: Move
    others: tuple[Move, ...]


def partings(found: Iterable[Move]) -> list[Parting]:
    """Measures with groups of which fewer than half move one way, and no other does."""
    by_key: dict[tuple[str, str, str], list[Move]] = {}
    for move in found:
        if move.line.group:
            by_key.setdefault((move.line.file, move.line.key, move.line.attempt), []).append(move)
    out = []
    for same in by_key.values():
        for way in ("rises", "falls"):
            moved = [m for m in same if m.way == way]
            if moved and 2 * len(moved) < len(same):
                others = tuple(m for m in same if m.way != way)
                if sum(m.way != "unclear" for m in others) >= max(1, len(others) // 2):
                    out += [Parting(m, others) for m in moved[:3]]
    return out


def parted(p: Parting) -> Finding:
    """A parting as a finding: a fault where the measure is known to get worse."""
    move, (first, last) = p.move, p.move.ends
    worse = move.line.better * (last - first) < 0
    change = (last - first) / move.scale
    serious = (
        worse
        and abs(change) >= 0.1
        and all(move.line.better * (m.ends[1] - m.ends[0]) >= -AS_IT_WAS * m.scale for m in p.others)
    )
    slow = serious and all(c.kind == "drift" for c in move.lasting)
    names = ", ".join(m.line.group for m in p.others[:4])
    i = move.lasting[0].i if move.lasting else 0
    return Finding(
        "group-worsens" if slow else "group-parts",
        Severity.S2 if serious else Severity.S3,
        f"{move.line.key} of {move.line.group} {move.way} from {first:.4g} to {last:.4g} from {move.line.where(i)} "
        f"on, while {len(p.others)} other groups ({names}) do not.",
        f"{move.line.key} 中只有 {move.line.group} 从 {first:.4g} 变到 {last:.4g}（自{move.line.where(i)}起），其余 "
        f"{len(p.others)} 组（{names}）没有。",
        (move.line.evidence(len(move.line) - 1), move.line.evidence(i)),
        {"metric": move.line.name, "group": move.line.group, "way": move.way, "before": first, "after": last,
         "at": float(move.line.x[i]), "others": [m.line.group for m in p.others]},
    )  # fmt: skip


def one_kind(asked: str, by: str) -> bool:
    """Whether two groupings are of one kind; that a column tells variants apart says not which."""
    return by != "variant" and group_of(asked) == by
