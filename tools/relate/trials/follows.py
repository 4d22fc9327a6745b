"""What the trials of a table turn on: the one setting by which pairs that are otherwise alike end well and badly.

Two trials that differ in one named setting, and of which one broke, ran out of memory or failed, point to it; all such
pairs must point the same way. Where nothing broke, the results at the end are compared, against what the trials that
agree in that setting otherwise differ by.
"""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ...config.values import PRECISIONS
from ...findings import Evidence, Finding, Severity, declare
from ...settings import Settings
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import Line, means
from .packed import worse_packed
from .read import HELD, Trials, trials

TRIALS = "trials in tables"
CODES = declare(
    "trials",
    ("outcome-follows-setting", TRIALS, "trials that differ in one setting end well or badly by it"),
    ("oom-whatever-batch", TRIALS, "trials run out of memory however small the batch and with recomputation"),
    ("worse-when-packed", TRIALS, "a training that is otherwise alike is worse by all measures where rows are packed"),
    ("attempts-differ-in-many", TRIALS, "attempts after a failure change several settings at once, none alone"),
)
FAR, WORSE, NOISE = 0.2, 0.03, 3.0
"""Share by which results must differ, by which the run's own may be behind the best, and times what they differ by
otherwise. Own judgement."""
QUALITY = ("dataset", "epochs", "init")
"""Settings whose effect tells a fault without knowing which value the run itself has."""
ENDED = {"oom": ("ran out of memory", "显存不足"), "breaks": ("diverged or gave NaN", "发散或出现 NaN"),
         "fails": ("failed", "失败"), "worse": ("ended worse", "结果更差")}  # fmt: skip
TRAINED = 100
"""Points of a loss from which on a training ran beside the trials. Own judgement."""
MANY, MOST_ATTEMPTS = 2, 10
MOSTLY = 0.5
"""Share of the repetitions of a trial that ends badly above which its settings, and not chance, are what it ended by."""


class Turn(NamedTuple):
    """A setting by which trials end well and badly."""

    factor: str
    how: str
    """`oom`, `breaks`, `fails` or `worse`."""
    way: str
    """Which values are the bad ones: `higher`, `lower`, empty for words."""
    bad: tuple[str, ...]
    good: tuple[str, ...]
    rows: tuple[int, ...]
    result: str = ""


def tried(tables: Sequence[Table], settings: Settings, lines: Sequence[Line] = ()) -> list[Finding]:
    """What all tables of trials say; that trials ran out of memory is a note beside a training that did not."""
    trains = {x.file for x in lines if x.name == "loss" and len(x.finite()) >= TRAINED}
    found: list[Finding] = []
    for table in tables:
        if (some := trials(table)) is None:
            continue
        turns = [*_broken(some)] or [*_worse(some, settings)]
        told = [_told(some, turn) for turn in turns if not _well(some, turn, settings)]
        found += [_beside(f, trains - {table.file}) if f.data["outcome"] == "oom" else f for f in told]
        found += _whatever(some)
        if not any(turn.how == "breaks" for turn in turns):
            found += _many(some)
    return [*found, *worse_packed(tables)]


def _beside(finding: Finding, trained: set[str]) -> Finding:
    """As a note, where another file shows that a training ran."""
    return replace(finding, severity=Severity.S3, data={**finding.data, "beside": True}) if trained else finding


def _alike(some: Trials, but: str) -> list[tuple[int, int]]:
    """Pairs of rows that differ in this setting and in no other."""
    values = some.factors[but][1]
    others = [v for kind, (_, v) in some.factors.items() if kind != but]
    return [(i, j) for i, j in combinations(range(len(some.table)), 2)
            if not _same(values[i], values[j]) and all(_same(v[i], v[j]) for v in others)]  # fmt: skip


def _again(some: Trials, row: int) -> list[int]:
    """The rows that are alike in every setting: the row itself, and its repetitions."""
    columns = [v for _, v in some.factors.values()]
    return [k for k in range(len(some.table)) if all(_same(v[row], v[k]) for v in columns)]


def _same(a: object, b: object) -> bool:
    return a == b or (isinstance(a, float) and isinstance(b, float) and np.isnan(a) and np.isnan(b))


def _broken(some: Trials) -> Iterator[Turn]:
    """Settings by which pairs that are otherwise alike end well and badly."""
    bad, column_of = some.bad, some.factors
    if not bad.any() or bad.all():
        return
    for factor, (column, values) in column_of.items():
        pairs = [(i, j) if bad[i] else (j, i) for i, j in _alike(some, factor) if bad[i] != bad[j]]
        pairs = [(i, j) for i, j in pairs if not _unreached(some.table, column, i, j)]
        if not pairs or np.mean([bad[k] for i, _ in pairs for k in _again(some, i)]) <= MOSTLY:
            continue
        ill, well = {values[i] for i, _ in pairs}, {values[j] for _, j in pairs}
        if values.dtype.kind == "f":
            ways = {"higher" if values[i] > values[j] else "lower" for i, j in pairs}
            way = ways.pop() if len(ways) == 1 else None
        else:
            way = "" if not ill & well else None
        if way is None:
            continue
        how = max(("oom", "breaks", "fails"), key=lambda kind: int((some.ends == kind).sum()))
        said = _shown(column)
        rows = list(dict.fromkeys(r for pair in pairs for r in pair))
        yield Turn(factor, how, way, _values(said, [i for i, _ in pairs]), _values(said, [j for _, j in pairs]),
                   tuple(rows))  # fmt: skip


def _unreached(table: Table, column: Column, ill: int, well: int) -> bool:
    """Whether a trial has no value of a setting because it ended before that part of its record was written: all that
    stands in the same part, which the other trial has, is missing too."""
    part, dot, _ = column.name.rpartition(".")
    beside = [c for c in table.columns if dot and c.name.startswith(f"{part}.") and not _missing(c, well)]
    return len(beside) > 1 and _missing(column, ill) and all(_missing(c, ill) for c in beside)


def _missing(column: Column, row: int) -> bool:
    value = column.values[row]
    return bool(np.isnan(value)) if column.values.dtype.kind == "f" else not str(value).strip()


def _shown(column: Column) -> list[str]:
    return [f"{v:g}" for v in column.values.tolist()] if column.values.dtype.kind == "f" else texts(column).tolist()


def _values(said: list[str], rows: list[int]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(said[i] for i in rows))


def _worse(some: Trials, settings: Settings) -> Iterator[Turn]:
    """The setting with which the result at the end differs far more than with anything else."""
    for result in some.results:
        gains = {factor: gain for factor in some.factors if (gain := _effect(some, factor, result)) is not None}
        for factor, (far, rest, best, worst) in gains.items():
            values, own = some.factors[factor][1], _own(some, factor, settings)
            others = max((g[0] for f, g in gains.items() if f != factor), default=0.0)
            held = means(HELD, result.name) and best != max(values, default=best)
            if far < NOISE * max(rest, others) or (factor == "epochs" and not held):
                continue
            mine = worst if own is None else own
            behind = _level(result, values, mine) / _level(result, values, best) - 1
            if behind < (FAR if own is None and factor in QUALITY else WORSE) or (
                own is None and factor not in QUALITY
            ):
                continue
            ordered = values.dtype.kind == "f" and float(str(mine)) - float(str(best))
            way = "" if not ordered else "higher" if ordered > 0 else "lower"
            said, at = _shown(some.factors[factor][0]), [int(np.flatnonzero(values == v)[0]) for v in (mine, best)]
            yield Turn(factor, "worse", way, (said[at[0]],), (said[at[1]],), tuple(at), result.name)
            return


def _effect(some: Trials, factor: str, result: Column) -> tuple[float, float, object, object] | None:
    """(share by which the result differs along a setting, along rows that agree in all, best value, worst value); in
    the largest part of the rows that agrees in all other settings."""
    values, numbers = some.factors[factor][1], result.values
    others = [tuple(str(v[i]) for kind, (_, v) in some.factors.items() if kind != factor) for i in range(len(values))]
    finite = np.isfinite(numbers)
    parts = [np.array([o == mine for o in others]) & finite for mine in dict.fromkeys(others)]
    part = max(parts, key=lambda rows: len(set(values[rows].tolist())))
    inside = {v: numbers[part & (values == v)] for v in dict.fromkeys(values[part].tolist())}
    level = {v: float(np.median(found)) for v, found in inside.items()}
    if len(level) < 2 or min(level.values()) <= 0:
        return None
    best, worst = min(level, key=lambda v: level[v]), max(level, key=lambda v: level[v])
    return (
        level[worst] / level[best] - 1,
        max(float(np.ptp(found)) / level[v] for v, found in inside.items()),
        best,
        worst,
    )


def _level(result: Column, values: np.ndarray, value: object) -> float:
    return float(np.nanmedian(result.values[values == value]))


def _own(some: Trials, factor: str, settings: Settings) -> object | None:
    """The value of the run itself, where it is one of those that were tried."""
    own, values = settings.get(factor), some.factors[factor][1]
    if own is None or values.dtype.kind != "f" or not isinstance(own.value, int | float):
        times = next((c for c in some.table.columns if c.name.lower() in ("mult", "multiplier", "factor", "times", "倍数")
                      and c.values.dtype.kind == "f"), None)  # fmt: skip
        one = np.flatnonzero(np.isclose(times.values, 1.0)) if times is not None else ()
        return values[int(one[0])] if len(one) == 1 else None
    rows = np.flatnonzero(np.isclose(values, float(own.value)))
    return values[int(rows[0])] if len(rows) else None


def _well(some: Trials, turn: Turn, settings: Settings) -> bool:
    """Whether the run itself has a value with which the trials went well."""
    own, values = _own(some, turn.factor, settings), some.factors[turn.factor][1]
    return own is not None and turn.how != "worse" and any(values[i] == own and not some.bad[i] for i in turn.rows)


def _told(some: Trials, turn: Turn) -> Finding:
    column = some.factors[turn.factor][0]
    same = [c.name for kind, (c, _) in some.factors.items() if kind != turn.factor]
    beside, beside_zh = (
        f", with {', '.join(same[:5])} the same" if same else "",
        f"，{'、'.join(same[:5])} 相同" * bool(same),
    )
    how, how_zh = ENDED[turn.how]
    of = f" ({turn.result})" if turn.result else ""
    return Finding(
        "outcome-follows-setting", Severity.S2,
        f"Of {len(some.table)} trials those with {column.name} {', '.join(turn.bad[:4])} {how}{of}, those with "
        f"{', '.join(turn.good[:4])} did not{beside}.",
        f"{len(some.table)} 次试验中，{column.name} 为 {'、'.join(turn.bad[:4])} 的{how_zh}{of}，"
        f"为 {'、'.join(turn.good[:4])} 的没有{beside_zh}。",
        tuple(Evidence(some.table.file, int(some.table.lines[i]) or None, metric=column.name, text=f"{column.name} {v}")
              for i in turn.rows[:6] for v in [_shown(column)[i]]),
        {"setting": turn.factor, "outcome": turn.how, "bad": list(turn.bad), "good": list(turn.good),
         "kinds": _kinds(turn)},
    )  # fmt: skip


def _kinds(turn: Turn) -> list[str]:
    """By what the finding is asked for: the setting, which way, and how it ended."""
    half = turn.factor == "precision" and all(PRECISIONS.get(v.lower().replace("-", "_")) in ("fp16", "fp8")
                                              for v in turn.bad)  # fmt: skip
    way = "-half" if half else f"-{turn.way}" if turn.way else ""
    return [turn.factor, f"{turn.factor}{way}", turn.how]


def _whatever(some: Trials) -> Iterator[Finding]:
    """All trials out of memory, though the batch became one and recomputation was on."""
    if not (some.ends == "oom").all():
        return
    smaller = next((some.factors[kind] for kind in ("micro_batch", "batch") if kind in some.factors), None)
    if smaller is None or smaller[1].dtype.kind != "f" or len(set(smaller[1].tolist())) < 2 or smaller[1].min() > 1:
        return
    column, values = smaller
    yield Finding(
        "oom-whatever-batch", Severity.S2,
        f"All {len(some.table)} trials ran out of memory, from {column.name} {values.max():g} down to "
        f"{values.min():g}: what fills the card does not go with the batch, as weights and optimizer states do not.",
        f"{len(some.table)} 次试验全部显存不足，{column.name} 从 {values.max():g} 降到 {values.min():g} 也一样：占满显存"
        "的东西与批大小无关，如权重和优化器状态。",
        tuple(Evidence(some.table.file, int(line) or None, metric=column.name, value=float(v))
              for line, v in zip(some.table.lines[:4].tolist(), values[:4].tolist(), strict=True)),
        {"setting": column.name, "least": float(values.min()), "trials": len(some.table)},
    )  # fmt: skip


def _many(some: Trials) -> Iterator[Finding]:
    """Attempts, of which the first broke, each with several other settings than the one before, and none alone."""
    names = [c.name for c, v in some.factors.values() if len({str(x) for x in v.tolist()}) > 1]
    if not some.bad[0] or some.bad.all() or len(some.table) > MOST_ATTEMPTS or len(names) < MANY:
        return
    apart = {(i, j): sum(not _same(v[i], v[j]) for _, v in some.factors.values())
             for i, j in combinations(range(len(some.table)), 2)}  # fmt: skip
    if min(apart.values()) < MANY:
        return
    said = ", ".join(names[:8])
    yield Finding(
        "attempts-differ-in-many", Severity.S2,
        f"{len(some.table)} attempts, the first of which {ENDED[str(some.ends[0])][0]}, differ pairwise in at least "
        f"{min(apart.values())} settings ({said}), no pair in one alone: which of them helped cannot be told.",
        f"{len(some.table)} 次尝试（第一次{ENDED[str(some.ends[0])][1]}）两两至少相差 {min(apart.values())} 项设置"
        f"（{said}），没有哪两次只差一项：无法判断是哪一项起作用。",
        tuple(Evidence(some.table.file, int(line) or None, text=str(end))
              for line, end in zip(some.table.lines[:4].tolist(), some.ends[:4].tolist(), strict=True)),
        {"settings": names, "least": min(apart.values()), "runs": len(some.table)},
    )  # fmt: skip
