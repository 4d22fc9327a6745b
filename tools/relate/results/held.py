"""A model's report of its own data: the score of rows that were trained on against rows kept apart, what was predicted
against what came, and how far the people that it is used for have moved.

What agrees is a note, and all that a report of a classical model can say for it; what is far apart is trouble.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Evidence, Finding, Severity, clean
from ...patterns import bounded
from ...tables.table import Column, Table
from ..line import means, plain
from .read import Row

TRAIN = bounded(r"(?i)^(?:train(?:ing)?|fit|in_?(?:sample|time)|develop\w{0,5}|训练集?|建模)(?:[_\W\d]|$)")
HELD = bounded(
    r"(?i)^(?:val(?:id(?:ation)?)?|test|eval|oot|oos|out_?of_?(?:time|sample)|hold_?out|held_?out|验证集?|测试集?|跨期|时间外)"
    r"(?:[_\W\d]|$)"
)
SCORE = bounded(
    r"(?:^|_)(?:auc|auroc|roc_auc|gini|ks|r2|accuracy|acc|balanced_accuracy|f1\w{0,9}|pr_auc|average_precision)$"
)
OVER_HALF = bounded(r"(?:^|_)(?:auc|auroc|roc_auc)$")
"""Scores that are a half where nothing was learned."""
FAR, GAP, NEAR = 0.4, 0.08, 0.15
"""Part of what a model gains on its own rows that is lost on others, and points of it, from which on that is far; the
part up to which it is near. Own judgement: trees that fit all of their rows lose a third and may be good."""
MEANT = bounded(
    r"(?:^|_)(?:mean_|avg_)?(?:pd|pred\w{0,8}|prob\w{0,9}|score_mean|expected|forecast)(?:_|$)|预测|平均概率"
)
CAME = bounded(
    r"(?:^|_)(?:observed|actual|event_rate|bad_rate|default_rate|realised|realized|fraction_of_positives)(?:_|$)|实际|观测|坏账率"
)
NUMBER = bounded(r"^(?:n|n_\w{1,12}|count|num|size|rows|loans|samples|obs|样本数?|人数|件数)$")
MOVED = bounded(r"(?:^|_)psi(?:_|$)|群体稳定|稳定性指标")
SHIFT, SURE, OFF = 0.25, 4.0, 0.2
"""PSI of a feature from which on its people are others; standard errors, and part of what was predicted, by which what
came lies off it."""
BINS = 5


def held(rows: Sequence[Row], tables: Sequence[Table]) -> list[Finding]:
    """What reports say of scores apart, of predictions against what came, and of features that moved."""
    found = [f for look in (_splits(rows), *map(_calibrated, tables), *map(_moved, tables)) for f in look]
    return sorted(found, key=lambda f: f.severity)[:4]


def _splits(rows: Sequence[Row]) -> Iterator[Finding]:
    """The largest loss from the rows that were trained on to others, in one report."""
    own, others = ([(*side, row) for row in rows if (side := _side(row, what))] for what in (TRAIN, HELD))
    pairs = [
        (name, a, b) for _, rest, a in own for _, other, b in others if (a.file, rest) == (b.file, other)
        for name in a.values if name in b.values and means(SCORE, name)
        if 0 < a.values[name] <= 1 and 0 <= b.values[name] <= 1
    ]  # fmt: skip
    if not pairs:
        return
    lost = [_lost(*pair) for pair in pairs]
    i = int(np.argmax(lost))
    (name, a, b), gap = pairs[i], pairs[i][1].values[pairs[i][0]] - pairs[i][2].values[pairs[i][0]]
    if lost[i] > NEAR and not (lost[i] >= FAR and gap >= GAP):
        return
    far = lost[i] > NEAR
    called = {id(row): clean(side, 40) for side, _, row in (*own, *others)}
    every = {id(r): r for n, *two in pairs if n == name and two[0] is a for r in two}
    said = ", ".join(f"{called[key]} {row.values[name]:.4g}" for key, row in every.items())
    worst = called[id(b)]
    yield Finding(
        "held-out-far-below-train" if far else "splits-alike", Severity.S2 if far else Severity.S3,
        f"{name} in {a.file}: {said}; of what it gains on the rows that it was fitted to, {max(lost[i], 0):.0%} is "
        f"lost on {worst}{': it knows its own rows' if far else ': they agree'}.",
        f"{a.file} 的 {name}：{said}；训练集上的增益在 {worst} 上失去 {max(lost[i], 0):.0%}"
        f"{'：模型记住了自己的训练行' if far else '：各集合一致'}。",
        tuple(r.evidence(name) for r in every.values())[:4], {"lost": lost[i], "measure": name},
    )  # fmt: skip


def _side(row: Row, what: re.Pattern[str]) -> tuple[str, tuple[str, ...]] | None:
    """(the name that says which rows it is of, its other names), None where none does; lists name nothing."""
    name = next((name for name in row.names if what.search(plain(name))), None)
    return (name, tuple(n for n in row.names if n != name and not n.startswith("["))) if name else None


def _lost(name: str, a: Row, b: Row) -> float:
    """The part of the gain over knowing nothing that is lost from one row to the other."""
    nothing = 0.5 if means(OVER_HALF, name) else 0.0
    return (a.values[name] - b.values[name]) / max(a.values[name] - nothing, 0.05)


def _calibrated(table: Table) -> Iterator[Finding]:
    """What was predicted for bins of people against what came, over all of them."""
    meant, came, number = (_column(table, what) for what in (MEANT, CAME, NUMBER))
    if meant is None or came is None or number is None or len(table) < BINS:
        return
    p, y, n = meant.values, came.values, number.values
    if (p < 0).any() or (p > 1).any() or (y < 0).any() or (y > 1).any() or (n < 1).any():
        return
    rest = np.array([abs(v - (n.sum() - v)) > 0.01 * v for v in n])  # without the line of the sum
    p, y, n = p[rest], y[rest], n[rest]
    total, expected, seen = float(n.sum()), float((n * p).sum()), float((n * y).sum())
    error = float(np.sqrt((n * p * (1 - p)).sum()))
    off = abs(seen - expected) >= max(SURE * error, OFF * expected)
    if not off and abs(seen - expected) > 0.75 * SURE * error:
        return
    yield Finding(
        "predictions-off-what-came" if off else "predictions-as-came", Severity.S2 if off else Severity.S3,
        f"{table.file}: {meant.name} is {expected / total:.4g} on the mean over {total:g} rows and {came.name} "
        f"{seen / total:.4g}, {abs(seen - expected) / max(error, 1e-12):.1f} standard errors apart.",
        f"{table.file}：{total:g} 行的 {meant.name} 平均为 {expected / total:.4g}，{came.name} 为 {seen / total:.4g}，"
        f"相差 {abs(seen - expected) / max(error, 1e-12):.1f} 个标准误。",
        (Evidence(table.file, int(table.lines[0]) or None, metric=came.name, value=seen / total),),
        {"predicted": expected / total, "came": seen / total},
    )  # fmt: skip


def _moved(table: Table) -> Iterator[Finding]:
    """Features whose distribution is another one than at the training."""
    psi = next((c for c in table.columns if c.values.dtype.kind == "f" and means(MOVED, c.name)), None)
    if psi is None or not np.isfinite(psi.values).all() or not (psi.values >= 0).all():
        return
    i, far = int(psi.values.argmax()), bool((psi.values >= SHIFT).any())
    label = next((str(c.values[i]) for c in table.of("group", "identifier", "text") if c.values.dtype.kind == "O"), "")
    yield Finding(
        "feature-shifted" if far else "features-stable", Severity.S2 if far else Severity.S3,
        f"{psi.name} is at most {psi.values[i]:.3g} ({clean(label, 40)}) over {len(table)} rows of {table.file}; from "
        f"{SHIFT} on the people are others.",
        f"{table.file} 的 {len(table)} 行中 {psi.name} 最大为 {psi.values[i]:.3g}（{clean(label, 40)}）；"
        f"{SHIFT} 起说明人群已变。",
        (Evidence(table.file, int(table.lines[i]) or None, metric=psi.name, value=float(psi.values[i]), text=label),),
        {"most": float(psi.values[i])},
    )  # fmt: skip


def _column(table: Table, what: re.Pattern[str]) -> Column | None:
    found = (c for c in table.columns if c.values.dtype.kind == "f" and means(what, c.name))
    return next((c for c in found if np.isfinite(c.values).all()), None)
