"""Tables of what was tried: models or settings, one row each.

A measure of variety that falls from the model that a training began with to those that it made; a setting of this run
whose other values did better with all else equal; runs that differ in so much that no pair of them tells what did it,
and scores that differ by less than chance does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from math import sqrt

import numpy as np

from ...config.naming import meant
from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...settings import VARIABLES, Settings
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means, plain
from ..summed.words import WHOLE, counted_of, is_count, named_score, shares_of

MOST_ROWS = 40
VARIETY = bounded(r"(?:^|_)(?:distinct|dist|uniq(?:ue)?|ttr|diversity)_?\d?(?:_|$)|多样性|去重率")
SAMENESS = bounded(r"self_?bleu|(?:^|_)(?:homogeneity|template_?share|top_?opening)(?:_|$)|重复度|同质")
FALLS = 0.2
"""Share by which variety falls at least. Own judgement."""
STRAY = 0.2
"""Share of the steps from model to model that may go the other way. Own judgement."""
RUN = bounded(r"(?:^|_)(?:name|run|model|exp|experiment|version|id|ckpt|checkpoint|weights|policy)(?:_|$)"
              r"|^(?:名称|模型|实验|版本|权重|检查点)$")  # fmt: skip
SAMPLED = bounded(r"(?:^|_)(?:temperature|temp|top_?[pk]|min_?p|n_?samples|seed)(?:_|$)|^T$|温度")
"""What answers were sampled with."""
RESULT = bounded(r"^(?:summary|metrics?|eval|val|test|train)(?:_|$)|loss|acc|score|runtime|duration|state|created"
                 r"|time|date|(?:^|_)(?:avg|mean|median|p\d\d|peak|std)_|second|latency|tt?ft|tpot|per_s(?:ec)?(?:_|$)"
                 r"|(?:^|_)(?:f1|precision|recall|(?:roc_?)?auc|bleu|rouge\w{0,4}|qps|pass_?(?:at_?)?\d{1,3}|correct)(?:_|$)"
                 r"|_(?:ms|mb|gb|pct)(?:_|$)|percent|compliance|throughput|memory"
                 r"|正确率|得分|日期|耗时|吞吐|显存")  # fmt: skip
SCORE = bounded(r"score|acc|(?:^|_)(?:em|f1|pass|win)(?:_|$)|internal|bench|eval|正确率|准确率|得分|分数")
START = bounded(r"^(?:base|sft|init|initial|ref|reference|start|before|pretrained|step[-_]?0)|初始|底座|之前")
"""Names of the model that a training begins with."""
MOST_RUNS = 10
"""Runs of a table from which on it is a search, and not somebody's attempts."""
MANY = 3
"""Settings that differ between two runs from which on a score names none of them."""
KNOWN = 2
"""Of them at least so many have the name of a setting: rows of people or questions differ in all they say."""
SAME = 2.0
"""Standard errors below which two scores are one."""
NAMES = {"dpo_beta": bounded(r"^(?:dpo_)?(?:beta|β)$"),
         "learning_rate": bounded(r"^(?:lr|learning_rate|peak_lr|学习率)$"),
         "kl_coef": bounded(r"^(?:kl_coef|kl_beta|kl)$"),
         "sampling_temperature": bounded(r"^(?:temperature|temp|温度)$"),
         "rollout_temperature": bounded(r"^(?:rollout_)?temperature$"), "epochs": bounded(r"^(?:epochs?|轮数)$"),
         "warmup_steps": bounded(r"^warmup(?:_steps)?$|^预热步数$")}  # fmt: skip
"""Settings that people try -> how the tables call them."""


def tried(tables: Sequence[Table], settings: Settings) -> Iterator[Finding]:
    """What the tables of tries say."""
    for table in tables:
        if 2 <= len(table) <= MOST_ROWS:
            yield from _variety(table, settings)
        yield from _as_sampled(table)
        if 2 <= len(table) <= MOST_ROWS:
            yield from _confounded(table)
    yield from _within_noise(tables)


def _variety(table: Table, settings: Settings) -> Iterator[Finding]:
    """Variety that falls along the rows; beside a setting that was tried, how it goes with it."""
    for column in table.columns:
        name = plain(column.name)
        sign = 1 if VARIETY.search(name) else -1 if SAMENESS.search(name) else 0
        values = column.values
        if not sign or values.dtype.kind != "f" or not np.isfinite(values).all() or (values <= 0).any():
            continue
        if (with_ := _setting(table, settings)) is not None:
            yield from _goes_with(table, column, sign, *with_)
            return
        if not any(c.values.dtype.kind == "O" and means(RUN, c.name) for c in table.columns):
            continue
        first, last = float(values[0]), float(values[-1])
        moving = sign * np.diff(values)
        if sign * (first - last) >= FALLS * first and (moving <= 0).all() and _in_order(table):
            yield _fell(table, column, first, last)
            return


def _as_sampled(table: Table) -> Iterator[Finding]:
    """Variety that falls along the models with every way of sampling, where each model has a row for each of them."""
    by = [c for c in table.columns if means(SAMPLED, c.name) and c.values.dtype.kind == "f"]
    label = next((c for c in table.columns if c.values.dtype.kind == "O" and means(RUN, c.name)), None)
    if not by or label is None or len(table) > 10 * MOST_ROWS:
        return
    ways, at = np.unique(np.column_stack([c.values for c in by]), axis=0, return_inverse=True)
    parts = [np.flatnonzero(at.ravel() == k) for k in range(len(ways))]
    models = texts(label)[parts[0]].tolist()
    if len(parts) < 2 or len(models) < 3 or any(texts(label)[p].tolist() != models for p in parts):
        return
    for column in table.columns:
        name, values = plain(column.name), column.values
        sign = 1 if VARIETY.search(name) else -1 if SAMENESS.search(name) else 0
        if not sign or values.dtype.kind != "f" or not np.isfinite(values).all() or (values <= 0).any():
            continue
        gone = [sign * (values[p[0]] - values[p[-1]]) >= FALLS * values[p[0]] for p in parts]
        wrong = np.mean([sign * np.diff(values[p]) > 0 for p in parts])
        if all(gone) and wrong <= STRAY and _ordered(models):
            yield _fell(table, column, float(values[parts[0][0]]), float(values[parts[0][-1]]), parts[0])
            return


def _in_order(table: Table) -> bool:
    """Whether the rows go from a starting model to what was made of it, by their names."""
    return _ordered(texts(next(c for c in table.columns if c.values.dtype.kind == "O" and means(RUN, c.name))).tolist())


def _ordered(said: Sequence[str]) -> bool:
    counted = [[int(n) for n in re.findall(r"\d{1,9}", v)][-1:] for v in said]
    starts = bool(START.search(said[0].lower())) and not START.search(said[-1].lower())
    return starts or (all(counted) and all(a < b for a, b in pairwise(counted)))


def _fell(table: Table, column: Column, first: float, last: float, rows: np.ndarray | None = None) -> Finding:
    label = next(c for c in table.columns if c.values.dtype.kind == "O" and means(RUN, c.name))
    said = texts(label)
    rows = np.arange(len(table)) if rows is None else rows
    row = ", ".join(f"{said[i]} {column.values[i]:.4g}" for i in rows[:6].tolist())
    return Finding(
        "variety-falls", Severity.S1,
        f"{column.name} goes from {first:.4g} to {last:.4g} along the models ({row}), measured in one table.",
        f"{column.name} 随模型从 {first:.4g} 变到 {last:.4g}（{row}），同一张表、同一种测法。",
        _cells(table, column, (int(rows[0]), int(rows[-1]))), {"metric": column.name, "first": first, "last": last},
    )  # fmt: skip


def _setting(table: Table, settings: Settings) -> tuple[str, Column, int] | None:
    """(variable, column, the run's own row) of a setting of this run that the table has other values of."""
    for variable, pattern in NAMES.items():
        own = settings.get(variable)
        column = next((c for c in table.columns if c.values.dtype.kind == "f" and means(pattern, c.name)), None)
        if (
            own is None
            or column is None
            or len(set(column.values.tolist())) < 2
            or not isinstance(own.value, int | float)
        ):
            continue
        rows = np.flatnonzero(np.isclose(column.values, float(own.value)))
        if len(rows) == 1:
            return variable, column, int(rows[0])
    return None


def _goes_with(table: Table, column: Column, sign: int, variable: str, by: Column, own: int) -> Iterator[Finding]:
    order = np.argsort(by.values)
    way = np.diff(column.values[order])
    best = int((sign * column.values).argmax())
    mine, other = float(column.values[own]), float(column.values[best])
    if (
        best == own
        or abs(other - mine) < FALLS * max(abs(mine), abs(other))
        or not ((way > 0).all() or (way < 0).all())
    ):
        return
    row = ", ".join(f"{by.name} {by.values[i]:g}: {column.values[i]:.4g}" for i in order[:6])
    known = {"variable": variable} if variable in VARIABLES else {}
    yield Finding(
        "variety-follows-setting", Severity.S1,
        f"{column.name} goes with {by.name}, all else equal ({row}); this run has {by.values[own]:g}.",
        f"其余相同时 {column.name} 随 {by.name} 变化（{row}）；本次为 {by.values[own]:g}。",
        _cells(table, column, (own, best)),
        {"metric": column.name, "setting": variable, "own": float(by.values[own]),
         "best": float(by.values[best]), **known},
    )  # fmt: skip


def _cells(table: Table, column: Column, rows: Sequence[int]) -> tuple[Evidence, ...]:
    return tuple(Evidence(table.file, int(table.lines[i]) or None, metric=column.name, value=float(column.values[i]))
                 for i in rows)  # fmt: skip


def _confounded(table: Table) -> Iterator[Finding]:
    """Runs with their settings and a score, of which the best differs from the first in many, and no pair in one."""
    score = _score(table)
    name = next((c for c in table.columns if c.values.dtype.kind == "O" and means(RUN, c.name)
                 and len(set(texts(c).tolist())) == len(table)), None)  # fmt: skip
    if score is None or name is None or not 3 <= len(table) <= MOST_RUNS:
        return
    varied = [c for c in table.columns if c not in (score, name) and not _came_out(c)
              and plain(c.name) != "seed" and len(set(texts(c).tolist())) > 1 and not _names(c)]  # fmt: skip
    if len(varied) < MANY or sum(map(_is_set, varied)) < KNOWN:
        return
    cells = [texts(c) for c in varied]
    counts = {(i, j): sum(c[i] != c[j] for c in cells) for i, j in combinations(range(len(table)), 2)}
    if min(counts.values()) < 2:
        return
    best, first = int(np.nanargmax(score.values)), 0
    pair = (min(best, first), max(best, first))
    if best == first or counts[pair] < MANY:
        return
    said = texts(name)
    names = [c.name for c, v in zip(varied, cells, strict=True) if v[best] != v[first]]
    yield Finding(
        "runs-differ-in-many", Severity.S2,
        f"{said[best]} ({score.values[best]:.4g}) and {said[first]} ({score.values[first]:.4g}) differ in "
        f"{len(names)} settings ({', '.join(names[:9])}), and no pair of the {len(table)} runs differs in one alone "
        f"(at least {min(counts.values())}): which setting did what cannot be told from them; repeat one change at a "
        "time, with another seed.",
        f"{said[best]}（{score.values[best]:.4g}）与 {said[first]}（{score.values[first]:.4g}）有 {len(names)} 项"
        f"设置不同（{'、'.join(names[:9])}），{len(table)} 次运行中没有哪两次只差一项（至少差 "
        f"{min(counts.values())} 项）：无法判断是哪一项起作用；一次只改一项、换种子重跑。",
        _cells(table, score, (best, first)),
        {"best": str(said[best]), "settings": names, "least": min(counts.values()), "runs": len(table)},
    )  # fmt: skip


def _came_out(column: Column) -> bool:
    """Whether it was measured and not set: by its name, or a number of no setting's name, another in most rows."""
    values = column.values
    if means(RESULT, column.name) or values.dtype.kind != "f":
        return bool(means(RESULT, column.name))
    return not _is_set(column) and 2 * len(set(values.tolist())) > len(values)


def _is_set(column: Column) -> bool:
    """Whether its name is that of a setting, and not of what somebody is, says or has."""
    return any(p.search(plain(column.name)) for p in NAMES.values()) or (
        meant(column.name, str(texts(column)[0])) is not None
    )


def _names(column: Column) -> bool:
    """Whether it only says which run a row is, in a text of its own for each: a key, a description."""
    return column.values.dtype.kind == "O" and len(set(texts(column).tolist())) == len(column.values)


def _score(table: Table) -> Column | None:
    """The measured quality, the one that names itself a result before a plain score."""
    found = [c for c in table.columns if c.values.dtype.kind == "f" and np.isfinite(c.values).all()
             and means(SCORE, c.name) and "loss" not in plain(c.name)]  # fmt: skip
    return found[-1] if found else None


def _within_noise(tables: Sequence[Table]) -> Iterator[Finding]:
    """Two or more scores on one set of questions that differ by less than their standard error allows."""
    for table in tables:
        found = _scored(table) if 2 <= len(table) <= MOST_ROWS else _items(table)
        if found is None:
            continue
        name, labels, shares, n, rows = found
        i, j = int(shares.argmin()), int(shares.argmax())
        p = float((shares[i] + shares[j]) / 2)
        error = sqrt(2 * max(p * (1 - p), 1e-9) / n)
        gap = float(shares[j] - shares[i])
        if not 0 < gap < SAME * error:
            continue
        yield Finding(
            "scores-within-noise", Severity.S3,
            f"{name} is {shares[i]:.1%} for {labels[i]} and {shares[j]:.1%} for {labels[j]} on {n:.0f} items: a "
            f"difference of {100 * gap:.1f} points with a standard error of {100 * error:.1f} "
            f"(each {100 * error / sqrt(2):.1f}), inside the noise.",
            f"{n:.0f} 题上 {labels[i]} 的 {name} 为 {shares[i]:.1%}，{labels[j]} 为 {shares[j]:.1%}：相差 "
            f"{100 * gap:.1f} 个点，标准误 {100 * error:.1f}（单个 {100 * error / sqrt(2):.1f}），在噪声之内。",
            tuple(Evidence(table.file, int(table.lines[rows[k]]) or None, metric=name, value=float(shares[k]))
                  for k in (i, j)), {"gap": gap, "error": error, "items": int(n)},
        )  # fmt: skip
        return


def _scored(table: Table) -> tuple[str, list[str], np.ndarray, float, list[int]] | None:
    """Scores of a table with one row a model, and of how many items."""
    label = next((c for c in table.columns if c.values.dtype.kind == "O" and means(RUN, c.name)), None)
    size = next((c for c in table.columns if means(WHOLE, c.name) and is_count(c) and not counted_of(c)), None)
    if label is None or size is None or len(set(size.values.tolist())) > 1 or not 20 <= float(size.values[0]) <= 1e5:
        return None
    for column in table.columns:
        good = counted_of(column) == "right" or named_score(column.name)
        share = shares_of(column) if good and column is not size else None
        if share is not None and (share <= 1).all():
            return column.name, texts(label).tolist(), share, float(size.values[0]), list(range(len(table)))
    return None


def _items(table: Table) -> tuple[str, list[str], np.ndarray, float, list[int]] | None:
    """Scores of a table with one row an item and run: mean of a column of zeros and ones for each run."""
    right = next((c for c in table.columns if c.values.dtype.kind == "f" and counted_of(c) == "right"
                  and set(np.unique(c.values).tolist()) == {0.0, 1.0}), None)  # fmt: skip
    label = next((c for c in table.columns if c.values.dtype.kind == "O" and means(RUN, c.name)
                  and 2 <= len(set(texts(c).tolist())) <= MOST_ROWS), None)  # fmt: skip
    if right is None or label is None:
        return None
    said = texts(label)
    names = list(dict.fromkeys(said.tolist()))
    groups = [right.values[said == n] for n in names]
    if len({len(g) for g in groups}) > 1 or len(groups[0]) < 20:
        return None
    rows = [int(np.flatnonzero(said == n)[0]) for n in names]
    return right.name, names, np.array([g.mean() for g in groups]), float(len(groups[0])), rows
