"""Chains of counters, one row a source, shard or batch: read, dropped for a reason, kept.

Told where one group loses nearly everything, where a stage that takes a usual share of the others takes nothing, and
where one group repeats what came before. Groups differ by nature; only what is all or nothing is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means, place, plain
from ..summed.words import TOTAL, is_count, labels_of, shares_of

READ = bounded(r"(?:^|_)(?:read|in|input|inputs|raw|before|loaded|total|seen|original|orig|start)(?:_|$)|读入|输入"
               r"|去重前|过滤前|清洗前|原始|读取|总数")  # fmt: skip
KEPT = bounded(r"(?:^|_)(?:kept|keep|out|output|after|trained|used|remaining|retained|left|final|written|passed)(?:_|$)"
               r"|保留|输出|去重后|过滤后|清洗后|剩余|写出|入库|训练用")  # fmt: skip
DROPPED = bounded(
    r"drop|remov|discard|filter|reject|too_(?:short|long)|dup|skip|丢弃|剔除|移除|去除|删除|过滤|跳过|去重"
)
REPEATED = bounded(r"(?:^|_)(?:dups?|duplicates?|duplicated|repeat(?:ed|s)?|near_?dup)(?:_|$)|重复")
TAKEN = bounded(r"remov|drop|filter|discard|before|raw|丢弃|剔除|移除|去除|删除|过滤|[前]$")
"""Repeats that were taken out, or that stood before they were."""
AMOUNT = bounded(
    r"(?:^|_)(?:n|num|count|docs?|documents|rows|files|samples|tokens?|bytes|gib|mib|gb|mb|size|chars|weight)(?:_|$)"
    r"|篇数|条数|文档数|样本数|词元|字节|大小|权重|配比"
)
"""How much there is of a part, which tells nothing of its quality."""
DEDUP = bounded(
    r"dedup|minhash|simhash|lsh|(?:^|_)dups?(?:_|$)|duplicate|(?:cross|inter|intra)_?batch|去重|剔重|重复|跨批"
)
BY_KIND = bounded(
    r"(?:^|_)(?:lang(?:uage)?s?|langid|lid|locale|script|domain|topic|categor(?:y|ies)|label|class|licen[cs]e|kind|type)"
    r"(?:_?(?:id|filter|detect\w{0,4}|mismatch))?(?:_|$)|语种|语言|类别|领域|标签"
)
"""Stages that keep rows by what kind they are of: they do take all of one source."""
STAGES = {
    True: ("dedup-removed-nothing", Severity.S1, "Deduplication", "去重"),
    False: ("filter-removed-nothing", Severity.S2, "Filtering", "过滤"),
}
LEAST_READ = 1000
ALL, USUAL = 0.97, 0.7
"""Share that a group loses, and the most that the others lose, to be told as lost."""
LEAST_USUAL = 0.02
"""Share that a stage takes of the others, below which taking nothing is no wonder."""
STOPPED = 0.05
"""Share of its usual share below which a stage has stopped taking."""
FEW = 3
"""Rows of which nothing was removed, below which they may have been left out on purpose."""
LEAST_REPEATED, TIMES = 0.2, 5.0
ALL_ROUND, APART, AT_LEAST = 2, 3.0, 1.5
"""Measures beside the repeats in which a part is far off, times what the others lie apart, and times their level that
it is at least above or below. Own judgement."""


@dataclass(frozen=True)
class Chain:
    """Rows with what was read and what was kept."""

    table: Table
    read: Column
    kept: Column
    rows: np.ndarray
    names: tuple[str, ...]

    @property
    def lost(self) -> np.ndarray:
        return 1 - self.kept.values[self.rows] / self.read.values[self.rows]


def counted(tables: Sequence[Table]) -> Iterator[Finding]:
    """What the chains of counters say."""
    for table in tables:
        if 3 <= len(table) <= 20_000:
            chain = _chain(table)
            if chain is not None and not _gauge(chain):
                yield from _lost(chain)
                yield from _idle(chain)
            else:
                yield from _stops(table)
            yield from _repeats(table)


def _chain(table: Table) -> Chain | None:
    counts = [c for c in table.columns if is_count(c) or _nearly(c)]
    for read in counts:
        if not means(READ, read.name) or DROPPED.search(plain(read.name).replace("去重前", "").replace("过滤前", "")):
            continue
        for kept in counts:
            name = plain(kept.name).replace("去重后", "").replace("过滤后", "")
            if kept is read or not means(KEPT, kept.name) or DROPPED.search(name):
                continue
            rows = _rows(table, read, kept)
            if len(rows) > 2 and (kept.values[rows] <= read.values[rows]).all():
                return Chain(table, read, kept, rows, _names(table, rows))
    return None


def _gauge(c: Chain) -> bool:
    """Whether the rows are no sources: what is used of one and the same whole, or read by a clock again and again."""
    if any(x.values.dtype.kind == "O" and len(set(texts(x))) == len(c.table) for x in c.table.columns):
        return False  # each row has a name
    timed = any(x.of == "time" for x in c.table.of("axis"))
    return timed or len(set(c.read.values[c.rows].tolist())) == 1


def _nearly(column: Column) -> bool:
    """A count with rows that it does not have, as a line of totals."""
    values = column.values
    finite = values[np.isfinite(values)] if values.dtype.kind == "f" else np.zeros(0)
    return len(finite) >= 3 and bool((finite >= 0).all() and (finite == np.round(finite)).all())


def _rows(table: Table, read: Column, kept: Column) -> np.ndarray:
    total = np.zeros(len(table), bool)
    for column in table.columns:
        if column.values.dtype.kind == "O":
            total |= np.array([bool(TOTAL.search(v)) for v in texts(column)])
    good = np.isfinite(read.values) & np.isfinite(kept.values)
    return np.flatnonzero(good & ~total & (np.nan_to_num(read.values) >= LEAST_READ))


def _names(table: Table, rows: np.ndarray) -> tuple[str, ...]:
    """What each row is called: by the first column of text."""
    column = next((c for c in table.columns if c.values.dtype.kind == "O"), None)
    return tuple(texts(column)[rows].tolist()) if column is not None else tuple(f"row {i + 1}" for i in rows.tolist())


def _lost(c: Chain) -> Iterator[Finding]:
    """Groups of which nearly nothing is kept, where most of the others is."""
    gone = np.flatnonzero(c.lost >= ALL)
    rest = np.delete(c.lost, gone)
    if not len(gone) or len(gone) > len(c.lost) / 2 or rest.max() > USUAL:
        return
    reasons = [r for r in c.table.columns if r not in (c.read, c.kept) and _nearly(r) and means(DROPPED, r.name)]
    i = int(gone[0])
    row = int(c.rows[i])
    why = max(reasons, key=lambda r: np.nan_to_num(r.values[row]), default=None)
    n, kept = c.read.values[row], c.kept.values[row]
    took = f", {why.values[row]:.0f} of them by {why.name}" if why is not None and why.values[row] >= n / 2 else ""
    took_zh = f"，其中 {why.values[row]:.0f} 条因 {why.name}" if took and why is not None else ""
    group, value = _group(c, gone)
    all_of = f"{len(gone)} of {len(c.lost)} rows are lost, all with {group} {value}. " if group else ""
    all_zh = f"{len(c.lost)} 行中有 {len(gone)} 行丢失，全部为 {group} {value}。" if group else ""
    by = next((r for r in (why, c.kept) if r is not None and means(BY_KIND, r.name)), None)
    guess, guess_zh = _guessed(by, value)
    yield Finding(
        "source-lost-by-kind" if by is not None else "source-lost", Severity.S1,
        f"{all_of}Of {c.names[i]} {kept:.0f} of {n:.0f} are kept{took}, of the other {len(rest)} between "
        f"{1 - rest.max():.0%} and {1 - rest.min():.0%}: {guess}.",
        f"{all_zh}{c.names[i]} 的 {n:.0f} 条只保留 {kept:.0f} 条{took_zh}，其余 {len(rest)} 个来源保留 "
        f"{1 - rest.max():.0%} 到 {1 - rest.min():.0%}：{guess_zh}。",
        _shown(c, [i], why or c.kept),
        {"sources": [c.names[j] for j in gone[:8]], "kept": float(kept), "read": float(n), "rows": len(gone),
         "group": group, "value": value, "by": by.name if by is not None else "",
         "reason": why.name if took and why is not None else ""},
    )  # fmt: skip


def _guessed(by: Column | None, value: str) -> tuple[str, str]:
    """What takes all of one source: a stage that sorts by kind, else fields that are not those that are read."""
    if by is None:
        return (
            "no property of texts takes all of one source, so its fields are not those that are read",
            "过滤不会恰好去掉整个来源，应是读取的字段对不上",
        )
    of, of_zh = value or "these rows", value or "这些数据"
    return (
        f"the stage of {by.name} takes them, so the kinds that it keeps are not written as the label of {of}, or its "
        "threshold takes this kind alone",
        f"是 {by.name} 这一步去掉的：它保留的类别名与 {of_zh} 的标签写法对不上，或阈值恰好只卡掉这一类",
    )


def _idle(c: Chain) -> Iterator[Finding]:
    """Groups of which a stage takes nothing, where it takes a usual share of the others."""
    idle = np.flatnonzero(c.lost == 0)
    rest = np.delete(c.lost, idle)
    if not len(idle) or len(rest) < 2 or rest.min() < LEAST_USUAL or len(idle) > 0.8 * len(c.lost):
        return
    group, value = _group(c, idle)
    what = f"all with {group} {value}" if group else ", ".join(c.names[i] for i in idle[:4])
    code, severity, name, zh = STAGES[len(idle) >= FEW and _dedups(c.table, c.read, c.kept)]
    yield Finding(
        code, severity,
        f"{name} removed nothing in {len(idle)} of {len(c.lost)} rows ({c.names[idle[0]]} to {c.names[idle[-1]]}; "
        f"{what}): {c.kept.name} equals {c.read.name}, while of the others {rest.min():.1%} to {rest.max():.1%} "
        "are removed.",
        f"{zh}在 {len(c.lost)} 行中的 {len(idle)} 行（{c.names[idle[0]]} 到 {c.names[idle[-1]]}，{what}）里剔除为 0："
        f"{c.kept.name} 等于 {c.read.name}，其余行剔除了 {rest.min():.1%} 到 {rest.max():.1%}。",
        _shown(c, [int(idle[0]), int(idle[-1])], c.kept),
        {"rows": len(idle), "usual": [float(rest.min()), float(rest.max())], "group": group, "value": value},
    )  # fmt: skip


def _stops(table: Table) -> Iterator[Finding]:
    """A stage that took its usual share until one place of the way, and from there on next to nothing."""
    way = next((c for c in table.of("axis") if c.values.dtype.kind == "f"), None)
    counts = [c for c in table.columns if c is not way and _nearly(c)]
    taken = [c for c in counts if means(DROPPED, c.name)]
    read = max((c for c in counts if c not in taken), key=lambda c: float(np.nanmedian(c.values)), default=None)
    if way is None or read is None or not np.isfinite(way.values).all():
        return
    rows = np.flatnonzero(np.nan_to_num(read.values) >= LEAST_READ)
    rows = rows[np.argsort(way.values[rows], kind="stable")]
    for column in taken:
        share = np.nan_to_num(column.values[rows]) / read.values[rows]
        low = share < STOPPED * float(np.median(share))
        at = len(rows) - int(np.argmin(low[::-1])) if len(rows) and not low.all() else 0
        before, after = share[:at], share[at:]
        if min(len(before), len(after)) < FEW or before.min() < LEAST_USUAL or not 0 < at < len(rows):
            continue
        if way.values[rows[at]] == way.values[rows[at - 1]] or (after > STOPPED * before.min()).any():
            continue
        yield _stopped(table, way, (column, read), rows, at, share)


def _stopped(
    table: Table, way: Column, of: tuple[Column, Column], rows: np.ndarray, at: int, share: np.ndarray
) -> Finding:
    column, read = of
    before, after = share[:at], share[at:]
    where = place(way.of or way.name, float(way.values[rows[at]]))
    code, severity, name, zh = STAGES[_dedups(table)]
    return Finding(
        code, severity,
        f"{name} removes next to nothing from {where} on: {column.name} is {after.min():.2%} to {after.max():.2%} of "
        f"{read.name} in {len(after)} rows, and was {before.min():.1%} to {before.max():.1%} in the {len(before)} rows "
        "before.",
        f"自 {where} 起{zh}几乎不再剔除：{len(after)} 行中 {column.name} 仅占 {read.name} 的 {after.min():.2%} 到 "
        f"{after.max():.2%}，此前 {len(before)} 行为 {before.min():.1%} 到 {before.max():.1%}。",
        tuple(Evidence(table.file, int(table.lines[rows[i]]) or None, metric=column.name,
                       value=float(column.values[rows[i]])) for i in (at, at - 1)),
        {"rows": len(after), "usual": [float(before.min()), float(before.max())], "column": column.name},
    )  # fmt: skip


def _dedups(table: Table, *columns: Column) -> bool:
    """Whether the stage takes out what is there twice."""
    about = " ".join((table.file, table.part, *(c.name for c in (*columns, *table.columns))))
    return bool(means(DEDUP, about) or DEDUP.search(about))


def _group(c: Chain, which: np.ndarray) -> tuple[str, str]:
    """(column, value) that exactly these rows have."""
    for column, said in labels_of(c.table):
        mine = set(said[c.rows[which]].tolist())
        others = set(said[np.delete(c.rows, which)].tolist())
        if len(mine) == 1 and not mine & others and len(which) > 1:
            return column.name, str(next(iter(mine)))
    return "", ""


def _shown(c: Chain, which: Sequence[int], column: Column) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(c.table.file, int(c.table.lines[c.rows[i]]) or None, metric=column.name,
                 value=float(column.values[c.rows[i]]), text=c.names[i]) for i in which
    )  # fmt: skip


def _repeats(table: Table) -> Iterator[Finding]:
    """One group of which a large share repeats what came before, where hardly anything of the others does."""
    for column in table.columns:
        if (
            not means(REPEATED, column.name)
            or means(TAKEN, column.name)
            or (share := _share(column)) is None
            or len(share) < 4
        ):
            continue
        rest = np.delete(share, int(share.argmax()))
        i, most = int(share.argmax()), float(share.max())
        if most < LEAST_REPEATED or most < TIMES * max(float(rest.max()), 1e-3):
            continue
        names = _names(table, np.arange(len(table)))
        beside = ", ".join(f"{c.name} {texts(c)[i]}" for c in table.columns if c.values.dtype.kind == "O")[:120]
        if len(off := [c for c in table.columns if c is not column and _far_off(c, i)]) >= ALL_ROUND:
            yield _poor(table, i, beside or names[i], [column, *off], names[i])
            return
        yield Finding(
            "duplicates-in-one-part", Severity.S1,
            f"{column.name} is {most:.1%} for {beside or names[i]}, and at most {rest.max():.1%} for the other "
            f"{len(rest)}: this part repeats what was there before.",
            f"{beside or names[i]} 的 {column.name} 为 {most:.1%}，其余 {len(rest)} 个最多 {rest.max():.1%}："
            "这一部分重复了已有的内容。",
            (Evidence(table.file, int(table.lines[i]) or None, metric=column.name, value=most, text=names[i]),),
            {"part": names[i], "share": most, "others": float(rest.max())},
        )  # fmt: skip
        return


def _far_off(column: Column, i: int) -> bool:
    """Whether one row of a measure lies away from the others by far more than they lie apart. Amounts tell nothing."""
    values = column.values
    if (
        column.role != "measure"
        or values.dtype.kind != "f"
        or means(AMOUNT, column.name)
        or means(REPEATED, column.name)
    ):
        return False
    rest = np.delete(values, i)
    if not np.isfinite(values).all() or len(rest) < 3 or (values < 0).any():
        return False
    away = max(float(rest.min() - values[i]), float(values[i] - rest.max()))
    low, high = sorted((float(values[i]), float(np.median(rest))))
    return away > APART * float(np.ptp(rest)) and high > AT_LEAST * low


def _poor(table: Table, i: int, who: str, columns: Sequence[Column], name: str) -> Finding:
    """A part that is off in all it was measured by: what it repeats is one of its faults, and no lost deduplication."""
    said = [(c.name, float(c.values[i]), float(np.median(np.delete(c.values, i)))) for c in columns[:5]]
    en = ", ".join(f"{what} {value:.4g} (others {usual:.4g})" for what, value, usual in said)
    zh = "，".join(f"{what} {value:.4g}（其余 {usual:.4g}）" for what, value, usual in said)
    return Finding(
        "part-poor-all-round", Severity.S2,
        f"{who} is far off the other {len(table) - 1} in {len(columns)} measures at once: {en}.",
        f"{who} 有 {len(columns)} 项指标同时远离其余 {len(table) - 1} 个：{zh}。",
        tuple(Evidence(table.file, int(table.lines[i]) or None, metric=c.name, value=float(c.values[i]), text=name)
              for c in columns[:5]),
        {"part": name, "columns": [c.name for c in columns], "names": name},
    )  # fmt: skip


def _share(column: Column) -> np.ndarray | None:
    """Its values as shares of one; percents where one is above one."""
    if (share := shares_of(column)) is not None:
        return share
    values = column.values
    if values.dtype.kind != "f" or not np.isfinite(values).all() or (values < 0).any() or not len(values):
        return None
    return values if values.max() <= 1 and (values != np.round(values)).any() else None
