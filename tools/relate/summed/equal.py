"""Numbers that ought to be equal: what each rank, shard or card counted, and what was expected beside what came out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..contrast import ALIKE
from ..distributions import shown, texts
from ..line import means, plain
from .words import TOTAL, is_count, kind_of, labels_of

LEAST_ALIKE, MOST_ODD = 4, 0.25
"""Groups with one row each from which on the odd one is told, and the share of them that may be odd."""
WORK = bounded(
    r"(?:^|_)(?:batch|batches|samples?|steps?|iters?|iterations?|rows|docs|examples|sequences|items|updates"
    r"|micro_?batches"
    r"|len|length|num_batches|lines|records)(?:_|$)|批次|批数|样本|步数|条数|行数"
)
"""What is counted of the work that a group has to do."""
CAME = bounded(
    r"(?:^|_)(?:pred|preds|predicted|predictions|found|merged|got|actual|done|scored|written|received|read|used|loaded"
    r"|out|output|completed|finished|generated|answered)(?:_|$)|预测|实际|合并|完成|读到"
)
DUE = bounded(
    r"(?:^|_)(?:test|expected|total|all|planned|gold|reference|ref|target|in|input|submitted|requested|dataset"
    r"|eval_set|testset)(?:_|$)|测试集|期望|应有|计划|总"
)
COUNTS = bounded(
    r"(?:^|_)(?:rows|n|num|number|count|parts|files|shards|docs|samples|items|examples|lines|records|results"
    r"|questions|prompts|requests)(?:_|$)|行数|条数|份数|文件数|样本数|数量"
)
TAKEN = bounded(
    r"(?:^|_)(?:removed|dropped|filtered|deduplicated|deduped|duplicates?|dups?|skipped|discarded|excluded|rejected"
    r"|pruned|cancell?ed)(?:_|$)|移除|去除|过滤|丢弃|重复|取消"
)
"""Counts of what was taken out on purpose."""
SIFTED = bounded(
    r"(?:^|_)(?:filter\w{0,12}|sift\w{0,6}|retention|retained|retain_\w{1,8}|kept|keep_\w{1,8}|pass_rate|yield)(?:_|$)"
    r"|保留|留存|筛选|筛除"
)
"""What else a table says that reports a step which takes out on purpose: the share that it kept, how well it sifted."""
PASSED = bounded(r"(?:^|_)(?:out|output)(?:_|$)")
"""What comes out of a step of a pipeline, and not out of a model that is scored."""
LEAST_TRAINED = 1000
"""Rows or tokens of other sources, beside which one with none was meant to have some."""
TRAINED = bounded(r"(?:^|_)(?:trained|used|consumed|seen|sampled|loaded|kept|read)(?:_|$)|已训练|已消耗|实际|用到")


def odd_ones(table: Table) -> Iterator[Finding]:
    """Groups that ought to be alike and count exactly the same, but for one or a few."""
    if not LEAST_ALIKE <= len(table) <= 4096:
        return
    for column in table.columns:
        alike = ALIKE.search(column.of or column.name) or means(ALIKE, column.name)
        said = texts(column)
        if not alike or len(set(said.tolist())) < len(said) or column.role == "measure":
            continue
        found = [
            (c, rows, usual) for c in table.columns if (odd := _odd(column, c)) is not None for rows, usual in [odd]
        ]
        work = [f for f in found if means(WORK, f[0].name)]
        if work:
            yield _unequal(table, column, said, work)
        return


def _odd(group: Column, measure: Column) -> tuple[np.ndarray, float] | None:
    """(rows that count something else, what the others count), where nearly all count the same."""
    if measure is group or not is_count(measure) or measure.role == "identifier":
        return None
    values = measure.values
    usual, count = Counter(values.tolist()).most_common(1)[0]
    rows = np.flatnonzero(values != usual)
    if not len(rows) or len(rows) > max(1, MOST_ODD * len(values)) or usual < 2 or count < 3:
        return None
    return rows, float(usual)


def _unequal(
    table: Table, group: Column, said: np.ndarray, work: Sequence[tuple[Column, np.ndarray, float]]
) -> Finding:
    each, zh, evidence = [], [], []
    for column, rows, usual in work[:4]:
        odd, left, at = rows[:4].tolist(), len(said) - len(rows), column.values
        own = ", ".join(f"{group.name} {said[i]} has {at[i]:.0f} {column.name}" for i in odd)
        each.append(f"{own}, the other {left} have {usual:.0f}")
        own = "、".join(f"{group.name} {said[i]} 的 {column.name} 为 {at[i]:.0f}" for i in odd)
        zh.append(f"{own}，其余 {left} 个均为 {usual:.0f}")
        for i in (*odd[:2], int(np.flatnonzero(at == usual)[0])):
            where = int(table.lines[i]) or None
            evidence.append(Evidence(table.file, where, metric=column.name, value=float(at[i]), text=str(said[i])))
    odd = sorted({str(said[i]) for _, rows, _ in work for i in rows.tolist()})
    return Finding(
        "work-unequal", Severity.S2,
        f"{'; '.join(each)}. Who has less to do stops calling the collectives that the others wait in.",
        f"{'；'.join(zh)}。先做完的一方会先停止参与集合通信，其余的一直等待。",
        tuple(evidence[:6]), {"by": group.of or group.name, "groups": odd[:20],
                              "usual": {c.name: u for c, _, u in work}, "alike": len(said) - len(odd)},
    )  # fmt: skip


def one_without(table: Table) -> Iterator[Finding]:
    """Parts that all have a count in a column, but for one or a few that have none."""
    if not LEAST_ALIKE <= len(table) <= 4096:
        return
    for column in table.columns:
        said = texts(column)
        if column.of != "shard" or len(set(said.tolist())) < len(said):
            continue
        for measure in table.of("measure"):
            bare = (
                np.flatnonzero(~np.isfinite(measure.values)) if measure.values.dtype.kind == "f" else np.zeros(0, int)
            )
            have = measure.values[np.isfinite(measure.values)] if len(bare) else np.zeros(0)
            if 0 < len(bare) <= max(1, MOST_ODD * len(table)) and len(have) > 2 and np.ptp(have) == 0 and have[0] > 1:
                yield _without(table, column, measure, said, bare.tolist(), float(have[0]))
                return


def _without(
    table: Table, column: Column, measure: Column, said: np.ndarray, bare: Sequence[int], usual: float
) -> Finding:
    names, left = ", ".join(said[i] for i in bare[:8]), len(said) - len(bare)
    return Finding(
        "results-missing", Severity.S1,
        f"{column.name} {names} has no {measure.name}, the other {left} have {usual:.0f} each: {usual * len(bare):.0f} "
        "results are missing from what was merged.",
        f"{column.name} {names} 没有 {measure.name}，其余 {left} 个各有 {usual:.0f}：合并结果里缺 "
        f"{usual * len(bare):.0f} 条。",
        shown(table, [*bare[:3], int(np.flatnonzero(np.isfinite(measure.values))[0])], measure.name),
        {"parts": [said[i] for i in bare[:20]], "missing": usual * len(bare)},
    )  # fmt: skip


def short_of(table: Table) -> Iterator[Finding]:
    """A summary that counts fewer results than there were items: the rest is missing, or counted as wrong."""
    if not 1 <= len(table) <= 64:
        return
    counts = [c for c in table.columns if means(COUNTS, c.name) and is_count(c)]
    for got in (c for c in counts if means(CAME, c.name)):
        stem = CAME.sub("_", plain(got.name)).strip("_")
        for due in counts:
            if due is got or not means(DUE, due.name) or DUE.sub("_", plain(due.name)).strip("_") != stem:
                continue
            rows = np.flatnonzero((got.values < due.values) & (got.values > 0))
            rows = rows[[not _accounted(table, due.values[i] - got.values[i], i) for i in rows.tolist()]]
            if means(PASSED, got.name) and any(
                means(SIFTED, c.name) and not means(TAKEN, c.name) for c in table.columns
            ):
                continue
            if len(rows) and len(rows) <= max(1, len(table) // 2):
                yield _short(table, got, due, int(rows[0]))
                return


def _accounted(table: Table, missing: float, i: int) -> bool:
    """Whether another column counts what is missing, or says why it was taken out: it was not lost."""
    said = (c.values for c in table.columns if means(TAKEN, c.name))
    return any(values.dtype.kind == "O" or values[i] == missing for values in said)


def told_elsewhere(finding: Finding, tables: Sequence[Table]) -> bool:
    """Whether another table of the same file counts exactly what is missing under a name that says it was taken out."""
    missing, files = finding.data.get("missing"), {e.file for e in finding.evidence}
    same = (c for t in tables if t.file in files for c in t.columns if means(TAKEN, c.name) and is_count(c))
    return finding.code == "results-missing" and any((c.values == missing).any() for c in same)


def _short(table: Table, got: Column, due: Column, i: int) -> Finding:
    have, need = float(got.values[i]), float(due.values[i])
    left = need - have
    parts = need / left
    whole = f" (1 part of {parts:.0f})" if abs(parts - round(parts)) < 1e-6 and parts <= 64 else ""
    whole_zh = f"（正好 1/{parts:.0f}）" if whole else ""
    return Finding(
        "results-missing", Severity.S1,
        f"{got.name} is {have:.0f} where {due.name} is {need:.0f}: {left:.0f} results are missing{whole}, and a "
        "score over all items counts them as wrong.",
        f"{got.name} 为 {have:.0f}，而 {due.name} 为 {need:.0f}：缺 {left:.0f} 条结果{whole_zh}，按全部条目计分时它"
        "们都算错。",
        (Evidence(table.file, int(table.lines[i]) or None, metric=got.name, value=have),
         Evidence(table.file, int(table.lines[i]) or None, metric=due.name, value=need)),
        {"have": have, "need": need, "missing": left},
    )  # fmt: skip


def untouched(table: Table) -> Iterator[Finding]:
    """A source of which nothing was trained, beside others of which much was."""
    if not 2 <= len(table) <= 200:
        return
    for column, said in labels_of(table):
        if kind_of(column) not in ("source", "language", "shard") or len(set(said.tolist())) < len(said):
            continue
        for measure in table.columns:
            if not means(TRAINED, measure.name) or not is_count(measure):
                continue
            rows = [i for i in np.flatnonzero(measure.values == 0).tolist() if not TOTAL.search(said[i])]
            others = measure.values[measure.values > 0]
            if rows and len(rows) <= len(table) / 2 and len(others) and np.median(others) >= LEAST_TRAINED:
                names = ", ".join(said[i] for i in rows[:4])
                yield Finding(
                    "source-untouched", Severity.S2,
                    f"{measure.name} of {names} is 0, while the other {len(others)} have {np.median(others):.0f} in "
                    "the median: nothing of it was trained.",
                    f"{names} 的 {measure.name} 为 0，而其余 {len(others)} 个的中位数为 {np.median(others):.0f}：完"
                    "全没有训到。",
                    shown(table, rows[:4], measure.name), {"sources": [said[i] for i in rows[:20]]},
                )  # fmt: skip
                return


LOOKS = (odd_ones, one_without, short_of, untouched)
