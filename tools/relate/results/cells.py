"""Benchmark tables whose cells have no throughput, and results that count failures of their own.

A load test with its number of requests in the row is judged in `operation.requests.loads`; here a row says only that
something failed, or that nothing came.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...findings import Evidence, Finding, Severity, clean
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means

SPEED = bounded(
    r"throughput|(?:^|_)(?:tps|tgs|qps|rps)(?:_|$)|tok(?:en)?s?_?(?:per_?|_)s(?:ec\w*)?(?:_|$)|(?:requests?|samples?)_per_s(?:ec\w*)?"
    r"|吞吐|每秒"
)
"""Measures of what is served in a second."""
TIME = bounded(r"(?:^|_)(?:time|latency|duration|elapsed|runtime)(?:_|$)|耗时|延迟|时长")
BEYOND = 100.0
"""Times the speed of every other row that a row has which did no work. Own judgement."""
ASKED = bounded(r"target|limit|max|min_|request_rate|arrival|offered|drop|loss|delta|diff|目标|上限")
"""Speeds that were asked for or are differences."""
FAULTS = bounded(
    r"(?:^|_)(?:errors?|failures?|failed|timeouts?|timed_out|exceptions?)(?:_(?:count|rate|requests?|total|num|n|pct|share))?$"
    r"|失败|错误|超时"
)
"""Counts and shares of what went wrong."""
PART = bounded(r"rate|share|pct|percent|ratio|率|占比")
WHY = bounded(r"(?:^|_)(?:errors?|failure\w{0,8}|exceptions?|note|notes|status|reason|message)(?:_|$)|原因|备注|错误")
TROUBLE = bounded(
    r"(?i)timed?[ -]?out|exceed|limit|fail|error|refus|reset|unavailable|bad request|out of memory|oom"
    r"|too long|\b[45]\d\d\b|超时|失败|错误"
)
LATE = bounded(r"(?i)timed?[ -]?out|deadline|took too long|超时")
TOO_LONG = bounded(
    r"(?i)context.{0,30}(?:exceed|length|limit)|(?:exceed|limit).{0,40}context|prompt.{0,20}too long|上下文.{0,8}超"
)
MOST_ROWS, LEAST, SILENT, FEW, OFTEN = 2000, 4, 0.05, 20, 0.2
"""Rows of a table, at least, the share of them that has no throughput, failures from which on it is told, and the share
of silent rows with one reason from which on that is a cause. Own judgement."""


class Cells(NamedTuple):
    """The rows of one table that failed."""

    table: Table
    speed: Column
    silent: np.ndarray
    """(n,) rows without throughput."""
    faults: Column | None

    @property
    def failed(self) -> float:
        """How many failed, where the column counts them; 0 where it gives shares."""
        if self.faults is None or means(PART, self.faults.name):
            return 0.0
        finite = self.faults.values[np.isfinite(self.faults.values)]
        return float(finite.sum()) if len(finite) and (finite == np.round(finite)).all() and finite.max() > 1 else 0.0


def silent_cells(tables: Sequence[Table]) -> list[Finding]:
    """The benchmark with most rows in which nothing was served."""
    found = [c for t in tables if LEAST <= len(t) <= MOST_ROWS and (c := _cells(t)) is not None]
    worst = max(found, key=lambda c: (c.failed, int(c.silent.sum())), default=None)
    return [*_told(worst)] if worst is not None else []


def never_measured(tables: Sequence[Table]) -> list[Finding]:
    """Benchmarks whose speeds are exactly 0 in every row: the one with most rows is told.

    A server that is watched over time may have nothing to do; a row of a benchmark was made to do something.
    """
    found = [(t, c) for t in tables if LEAST <= len(t) <= MOST_ROWS and (c := _all_zero(t))]
    if not found:
        return []
    table, columns = max(found, key=lambda one: len(one[0]))
    rows, files = sum(len(t) for t, _ in found), len({t.file for t, _ in found})
    names = ", ".join(c.name for c in columns[:3])
    places = tuple(
        Evidence(t.file, int(t.lines[0]) or None, metric=c[0].name, value=0.0, text=f"{c[0].name} 0")
        for t, c in found[:4]
    )
    return [Finding(
        "speed-never-measured", Severity.S1,
        f"{names} is exactly 0 in all {len(table)} rows of {table.file} ({rows} rows of {files} files in all): nothing "
        "ran that long, so nothing was measured. What was to be measured did not start, refused an option, or its "
        "output was not read.",
        f"{table.file} 的全部 {len(table)} 行中 {names} 恰好为 0（共 {files} 个文件 {rows} 行）：什么都没有测到。"
        "被测程序没有启动、拒绝了某个选项，或它的输出没有被读到。",
        places, {"rows": rows, "files": files},
    )]  # fmt: skip


def timed_nothing(tables: Sequence[Table]) -> list[Finding]:
    """A row of a benchmark whose time is 0 and whose speed is far beyond that of every other: what was to be timed did
    no work in it. A fast one has a time, or a speed of the others' order."""
    for table in (t for t in tables if 1 < len(t) <= MOST_ROWS):
        numbers = [c for c in table.columns if c.values.dtype.kind == "f" and np.isfinite(c.values).all()]
        speeds = [c for c in numbers if means(SPEED, c.name) and not means(FAULTS, c.name) and not means(ASKED, c.name)]
        for time in (c for c in numbers if means(TIME, c.name) and c not in speeds):
            none = time.values == 0
            for speed in speeds if 0 < none.sum() <= len(table) / 2 and (time.values >= 0).all() else ():
                usual = float(speed.values[~none].max())
                if usual > 0 and float(speed.values[none].min()) >= BEYOND * usual:
                    return [_idle(table, time, speed, int(np.flatnonzero(none)[0]))]
    return []


def _idle(table: Table, time: Column, speed: Column, i: int) -> Finding:
    said = next((str(c.values[i]) for c in table.columns if c.values.dtype.kind == "O"), f"row {i + 1}")
    value, usual = float(speed.values[i]), float(speed.values[time.values > 0].max())
    places = tuple(Evidence(table.file, int(table.lines[i]) or None, metric=c.name, value=float(c.values[i]))
                   for c in (time, speed))  # fmt: skip
    return Finding(
        "speed-never-measured", Severity.S1,
        f"{clean(said, 60)} in {table.file}: {time.name} is 0 and {speed.name} {value:,.6g}, {value / usual:,.0f} "
        f"times the most of the other rows ({usual:.4g}): nothing was done in the time, so no gain was measured.",
        f"{table.file} 的 {clean(said, 60)}：{time.name} 为 0，{speed.name} 为 {value:,.6g}，是其余各行最大值"
        f"（{usual:.4g}）的 {value / usual:,.0f} 倍：那段时间里什么都没有做，测不出任何提升。",
        places, {"rows": 1, "files": 1},
    )  # fmt: skip


def _all_zero(table: Table) -> list[Column]:
    """Its speeds, where all of them are 0 in every row, and the rows go over no time."""
    if any(c.of in ("time", "step", "epoch") for c in table.of("axis")) and not table.of("group"):
        return []
    numbers = [c for c in table.columns if c.values.dtype.kind == "f"]
    speeds = [c for c in numbers if means(SPEED, c.name) and not means(FAULTS, c.name) and not means(ASKED, c.name)]
    return speeds if speeds and all((c.values == 0).all() for c in speeds) else []


def _cells(table: Table) -> Cells | None:
    """Rows of no throughput that say a failure as well; a zero alone may be what was not measured."""
    numbers = [c for c in table.columns if c.values.dtype.kind == "f"]
    speed = next((c for c in numbers if means(SPEED, c.name) and not means(FAULTS, c.name)), None)
    if speed is None:
        return None
    told = speed.values[np.isfinite(speed.values)]
    silent = ~(np.nan_to_num(speed.values, nan=0.0) > 0)
    if not len(told) or not (told > 0).any() or not silent.any() or (told < 0).any():
        return None
    counts = [c for c in numbers if means(FAULTS, c.name)]
    faults = max(counts, key=lambda c: float(np.nansum(c.values)), default=None)
    said = np.zeros(len(table), bool)
    for column in counts:
        said |= np.nan_to_num(column.values, nan=0.0) > 0
    for column in _reasons(table):
        said |= np.array([bool(TROUBLE.search(v)) for v in texts(column).tolist()])
    silent &= said
    enough = silent.sum() >= max(2, SILENT * len(table))
    return Cells(table, speed, silent, faults) if enough else None


def _reasons(table: Table) -> list[Column]:
    return [c for c in table.columns if c.values.dtype.kind == "O" and means(WHY, c.name)]


def _told(cells: Cells) -> Iterator[Finding]:
    table, rows = cells.table, np.flatnonzero(cells.silent)
    labels = [c for c in table.columns if c.role in ("group", "axis") and len({*texts(c).tolist()}) > 1][:3]
    where = "; ".join(", ".join(f"{c.name} {_cell(c, i)}" for c in labels) for i in rows[:3].tolist())
    reasons = Counter(v for c in _reasons(table) for v in texts(c)[rows].tolist() if TROUBLE.search(v))
    why = ", ".join(f"{clean(v, 80)} ({n})" for v, n in reasons.most_common(3))
    failed = f", {cells.failed:g} requests failed in all its rows" if cells.failed >= FEW else ""
    failed_zh = f"，全表共 {cells.failed:g} 个请求失败" if cells.failed >= FEW else ""
    places = tuple(Evidence(table.file, int(table.lines[i]) or None, metric=cells.speed.name, value=0.0,
                            text=f"{cells.speed.name} 0 {next(iter(reasons), '')}".strip()[:120])
                   for i in rows[:4].tolist())  # fmt: skip
    data: dict[str, object] = {"silent": len(rows), "of": len(table), "failed": cells.failed, "reasons": [*reasons][:4]}
    yield Finding(
        "requests-failed", Severity.S1,
        f"{len(rows)} of {len(table)} rows of the benchmark {table.file} have no throughput, because their requests "
        f"failed ({where}){failed}{': ' + why if why else ''}.",
        f"基准 {table.file} 的 {len(table)} 行中有 {len(rows)} 行吞吐为 0，因为请求失败（{where}）{failed_zh}。",
        places, data,
    )  # fmt: skip
    yield from _reasoned(cells, reasons, places)


def _reasoned(cells: Cells, reasons: Counter[str], places: tuple[Evidence, ...]) -> Iterator[Finding]:
    """What the rows themselves say of why nothing came: the prompts do not fit, or the time was over."""
    table = cells.table
    for pattern, code, en, zh in (
        (TOO_LONG, "context-length-exceeded", "the prompts do not fit", "提示超过上下文"),
        (LATE, "load-not-served", "the time was over before the answers came", "回答之前就超时"),
    ):
        said = [v for v in reasons if pattern.search(v)]
        rows = sum(reasons[v] for v in said)
        if rows:
            often = rows >= max(2, OFTEN * len(np.flatnonzero(cells.silent)))
            yield Finding(
                code, Severity.S2 if often else Severity.S3,
                f"{rows} of {int(cells.silent.sum())} rows without throughput in {table.file} say that {en}: "
                f"{clean(said[0], 100)}.",
                f"{table.file} 中无吞吐的 {int(cells.silent.sum())} 行有 {rows} 行说明{zh}：{clean(said[0], 100)}。",
                places[:2], {"rows": rows},
            )  # fmt: skip


def _cell(column: Column, i: int) -> str:
    value = column.values[i]
    return f"{value:g}" if isinstance(value, float) else clean(str(value), 40)
