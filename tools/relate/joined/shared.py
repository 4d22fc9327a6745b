"""What the bad ones share and the others do not: steps with NaN, rows that failed, peaks of a resource.

One mechanism over every column of every table: a value, or a bound of a number, that all bad rows have and hardly
another row has. How often chance would do that, over all columns and values that were tried, must be small. Bad rows
that stand in one stretch share everything that changed there: that is an onset (`..onset`), and nothing is said here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, lgamma

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import Line, means, metric_of, plain

LEAST_ROWS, MOST_ROWS = 20, 100_000
MOST_BAD = 0.2
"""Share of rows from which on they are no exception."""
CHANCE = 1e-3
"""Most that chance may do, over everything that was tried, to be told."""
PEAK = 8.0
"""Deviations above the usual from which on a row is a peak."""
MOST_VALUES = 2000
"""Different values of a text column beyond which it names the rows and groups nothing."""
OUTCOME = bounded(r"^(?:status|state|outcome|result|exit|exit_?(?:status|reason|code)|error|err|verdict|ok|success)$"
                  r"|^(?:状态|结果|错误|是否成功)$")  # fmt: skip
FAILED = bounded(r"(?i)^(?:nan|inf|oom|fail(?:ed|ure)?|error|err|timeout|timed[_ ]?out|crash(?:ed)?|killed|dead|lost"
                 r"|aborted|失败|错误|超时)$")  # fmt: skip
PEAKS = bounded(r"mem|vram|rss|peak|latency|ttft|显存|内存|延迟")
FOLLOWS = frozenset(("loss", "grad_norm", "perplexity", "reward", "eval_loss", "loss_scale", "learning_rate"))
"""Metrics that go bad with the step itself, and the rate that follows from the step."""
WHEN = bounded(r"(?:^|_)(?:time|date|ts|timestamp|elapsed|wall|io_ms|epoch)(?:_|$)|时间|日期")
TOOK = bounded(r"latency|(?:^|_)(?:e2e|ttft|tpot|itl|runtime|took|response_time|round_?trip|rtt)(?:_|$)"
               r"|延迟|时延|耗时|用时")  # fmt: skip
LASTED = bounded(r"(?:^|_)(?:duration|seconds|secs?|s|ms|dauer|dur[eé]e)(?:_|$)|时长|秒")
WAITED = bounded(r"(?i)^(?:timeout|timed[_ ]?out|超时)$")
"""How long a row took comes of its outcome; so does every duration of rows that are bad for having waited."""
KINDS = (
    ("padding", bounded(r"pad|mask|empty|blank|valid_?tok|填充|空行|空序列|掩码|有效")),
    ("machine", bounded(r"(?:^|_)(?:rank|host(?:name)?|node|gpu|card|device|machine|worker|pod)(?:_|$)"
                        r"|节点|机器|卡号")),
    ("data", bounded(r"shard|file|source|doc|sample|bucket|subset|dataset|corpus|split|part|lang|分片|来源|样本|文件"
                     r"|数据|语言")),
    ("length", bounded(r"(?:^|_)(?:len|length|tokens?|toks?|seq|chars|ctx|context|size|prompt)(?:_|$)|长度|字数")),
)  # fmt: skip
"""What a column is about -> its names, the first that fits."""


@dataclass(frozen=True)
class Bad:
    """Rows of a table that went wrong."""

    rows: np.ndarray
    """(n,) bool."""
    en: str
    zh: str
    of: Column | None = None
    """The column that says so; None where another file does."""
    evidence: tuple[Evidence, ...] = ()
    serious: bool = True


@dataclass(frozen=True)
class Common:
    """A value that all bad rows have."""

    column: Column
    said: str
    rows: np.ndarray
    chance: float


def shared(tables: Sequence[Table], lines: Sequence[Line]) -> list[Finding]:
    """What the bad rows of each table share, and the others do not."""
    steps = broken(lines)
    out = []
    for table in tables:
        if LEAST_ROWS <= len(table) <= MOST_ROWS:
            out += [_told(table, bad, found) for bad in _bad(table, steps) if (found := common(table, bad))]
    return out


def broken(lines: Sequence[Line]) -> dict[float, Evidence]:
    """First step of each stretch in which the loss or its gradient is no number -> where it says so."""
    out: dict[float, Evidence] = {}
    for line in lines:
        if line.axis != "step" or line.name not in ("loss", "grad_norm"):
            continue
        bad = ~np.isfinite(line.values)
        if bad.mean() < 0.5:
            for i in np.flatnonzero(bad & ~np.append(False, bad[:-1])).tolist():
                out.setdefault(float(line.x[i]), line.evidence(i))
    return out


def _bad(table: Table, steps: dict[float, Evidence]) -> Iterator[Bad]:
    axis = next((c for c in table.of("axis") if c.of == "step" and c.values.dtype.kind == "f"), None)
    if axis is not None and len(steps) > 1:
        rows = _at(axis.values, steps)
        if len(set(axis.values[rows].tolist())) == len(steps):
            where = ", ".join(f"{s:.10g}" for s in sorted(steps)[:6])
            yield Bad(rows, f"the steps at which the loss is no number ({where})",
                      f"loss 变成非数的各步（{where}）", axis, tuple(steps.values())[:3])  # fmt: skip
    for column in table.columns:
        if column.values.dtype.kind == "O" and means(OUTCOME, column.name):
            rows = np.array([bool(FAILED.match(v.strip())) for v in texts(column)])
            yield Bad(rows, f"the rows whose {column.name} is bad", f"{column.name} 异常的行", column)
        elif column.role == "measure" and len(column.nans):
            rows = np.zeros(len(table), bool)
            rows[column.nans] = True
            yield Bad(rows, f"the rows whose {column.name} is NaN", f"{column.name} 为 NaN 的行", column)
        elif column.role == "measure" and means(PEAKS, column.name) and column.values.dtype.kind == "f":
            yield Bad(_peaks(column.values), f"the peaks of {column.name}", f"{column.name} 的峰值", column, (), False)


def _at(places: np.ndarray, steps: dict[float, Evidence]) -> np.ndarray:
    """Rows at these steps; of a step that was run again, the row after which the count goes back, if there is one."""
    rows = np.isin(places, list(steps))
    ends = np.append(np.diff(places) < 0, True)
    for step in steps:
        same = places == step
        if same.sum() > 1 and (same & ends).any():
            rows &= ~same | ends
    return rows


def _peaks(values: np.ndarray) -> np.ndarray:
    middle = np.nanmedian(values) if np.isfinite(values).any() else 0.0
    usual = 1.4826 * float(np.nanmedian(np.abs(values - middle))) if np.isfinite(values).any() else 0.0
    return values > middle + PEAK * usual if usual > 0 else np.zeros(len(values), bool)


def common(table: Table, bad: Bad) -> list[Common]:
    """The columns with a value that all bad rows have and hardly another, the rarest value first."""
    k, n = int(bad.rows.sum()), len(table)
    if not 2 <= k <= MOST_BAD * n or not _spread(bad.rows):
        return []
    columns = [c for c in table.columns if c is not bad.of and _tells(c, table) and not _comes_of(bad, c)]
    tried = max(1, 2 * len(columns))
    found = [c for column in columns if (c := _common(column, bad.rows, tried)) is not None]
    return sorted(found, key=lambda c: (int(c.rows.sum()), kind_of(c.column) == "value", c.chance))[:3]


def _spread(rows: np.ndarray) -> bool:
    """Whether the bad rows stand in more than one place, and are not simply the end."""
    where = np.flatnonzero(rows)
    return bool((np.diff(where) > 1).sum() * 2 >= len(where) - 1) and len(where) > 1


def _comes_of(bad: Bad, column: Column) -> bool:
    """Whether a column says how long rows took whose outcome is bad: longer or shorter for their outcome."""
    if bad.of is None or bad.of.values.dtype.kind != "O":
        return False
    waited = any(WAITED.match(v.strip()) for v in texts(bad.of)[bad.rows].tolist())
    return bool(means(TOOK, column.name) or (waited and means(LASTED, column.name)))


def _tells(column: Column, table: Table) -> bool:
    """Whether a column may say why: no place on the way, no outcome, no name of the row."""
    name = plain(column.name)
    if (column.role == "axis" and column.of in ("step", "time", "epoch")) or WHEN.search(name) or OUTCOME.search(name):
        return False
    if column.values.dtype.kind == "f":
        moving = np.diff(column.values)
        ordered = len(moving) > 0 and bool((moving > 0).all() or (moving < 0).all())
        return metric_of(column) not in FOLLOWS and not ordered
    return len(set(texts(column).tolist())) <= min(MOST_VALUES, len(table) // 2)


def _common(column: Column, bad: np.ndarray, tried: int) -> Common | None:
    k = int(bad.sum())
    best: Common | None = None
    for said, rows, ways in _values(column, bad):
        held = int(rows.sum())
        if held > k + max(1, k // 5):
            continue
        chance = min(1.0, tried * ways * drawn(len(bad), held, k))
        if chance <= CHANCE and (best is None or chance < best.chance):
            best = Common(column, said, rows, chance)
    return best


NOTHING = bounded(r"(?i)|n/?a|nan|none|null|nil|unknown|missing|empty|error|failed|-{1,3}|\?|无|空|未知|失败")
GIVEN = bounded(
    r"(?:^|_)(?:count|words?|tokens?|len(?:gth)?|chars?|confidence|score|probability|bytes|output|answer)(?:_|$)"
)
"""What a row that failed has instead of a value, and names of what it then did not give: no cause of the failure."""


def _values(column: Column, bad: np.ndarray) -> Iterator[tuple[str, np.ndarray, int]]:
    """(how it is said, rows that have it, ways of choosing it) of what all bad rows have."""
    values = column.values
    if values.dtype.kind == "O":
        said = texts(column)
        own = set(said[bad].tolist())
        if len(own) == 1 and not NOTHING.fullmatch(str(said[bad][0]).strip()):
            yield f"{column.name} = {str(said[bad][0])[:60]}", said == said[bad][0], len(set(said.tolist()))
        return
    mine = values[bad]
    if not np.isfinite(mine).all():
        return
    low, high = float(mine.min()), float(mine.max())
    others = values[~bad & np.isfinite(values)]
    if low == high == 0 and means(GIVEN, column.name):
        return
    if low == high:
        yield f"{column.name} = {low:.6g}", values == low, len(np.unique(values))
    elif len(others) and low > np.median(others):
        edge = f"> {float(others[others < low].max(initial=0)):.6g}" if (others < low).all() else f">= {low:.6g}"
        yield f"{column.name} {edge}", values >= low, 2
    elif len(others) and high < np.median(others):
        edge = f"< {float(others[others > high].min()):.6g}" if (others > high).all() else f"<= {high:.6g}"
        yield f"{column.name} {edge}", values <= high, 2


def drawn(n: int, held: int, k: int) -> float:
    """Chance that k rows of n all fall among the `held` ones."""
    log = lgamma(held + 1) - lgamma(held - k + 1) - lgamma(n + 1) + lgamma(n - k + 1)
    return exp(log)


def kind_of(column: Column) -> str:
    """What a shared column is about."""
    name = plain(column.name)
    return next((kind for kind, pattern in KINDS if pattern.search(name)), "value")


def _told(table: Table, bad: Bad, found: Sequence[Common]) -> Finding:
    first = found[0]
    rows, k = np.flatnonzero(bad.rows).tolist(), int(bad.rows.sum())
    other = int(first.rows.sum()) - k
    beside = f"; so do {', '.join(c.said for c in found[1:])}" if found[1:] else ""
    beside_zh = f"；同样如此的还有 {'、'.join(c.said for c in found[1:])}" if found[1:] else ""
    rest = f"{other} of the other {len(table) - k}" if other else f"none of the other {len(table) - k}"
    kind = kind_of(first.column)
    cells = first.column.values
    place = tuple(Evidence(table.file, int(table.lines[i]) or None, metric=first.column.name, text=str(cells[i])[:80])
                  for i in rows[:4])  # fmt: skip
    return Finding(
        f"trouble-shares-{kind}", Severity.S1 if bad.serious else Severity.S3,
        f"All {k} of {bad.en} have {first.said} in {table.file}, and {rest} rows do{beside} (chance at most "
        f"{max(first.chance, 1e-12):.0e}, over {len(table.columns)} columns).",
        f"{table.file} 中{bad.zh}（共 {k} 行）都满足 {first.said}，其余 {len(table) - k} 行中"
        f"{f'只有 {other} 行' if other else '没有一行'}如此{beside_zh}（偶然的概率不超过 "
        f"{max(first.chance, 1e-12):.0e}，已计入 {len(table.columns)} 列）。",
        (*place, *bad.evidence),
        {"column": first.column.name, "value": first.said, "rows": k, "others": other, "of": len(table),
         "chance": first.chance, "kind": kind},
    )  # fmt: skip
