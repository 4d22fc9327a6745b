"""A classifier that answers one thing: every item is flagged or none, or one class is all that it knows.

It is told by relations between what a row says: a rate of true and of false alarms that are both all or nothing; a
recall of 1 with a precision that is the accuracy (then there is no true negative); macro averages that are exactly
1/k of what they were for one class, a macro F1 too; recalls of the classes of one report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, sqrt
from typing import NamedTuple

from ...findings import Finding, Severity, clean
from ...patterns import bounded
from ..line import plain
from .read import Row

TRUE = bounded(r"(?:^|_)(?:tpr|true_?positive_?rate|sensitivity|detection_?rate|hit_?rate)$|真阳性?率|检出率")
FALSE = bounded(r"(?:^|_)(?:fpr|far|false_?positive_?rate|false_?alarm_?rate|fall_?out)$|假阳性?率|误报率|虚警率")
RECALL = bounded(r"^(?:test_|eval_|val_)?recall$|^召回率$")
PRECISION = bounded(r"^(?:test_|eval_|val_)?precision$|^(?:精确率|查准率)$")
ACCURACY = bounded(r"^(?:test_|eval_|val_)?acc(?:uracy)?$|^(?:准确率|正确率)$")
F1 = bounded(r"(?:^|_)(?:macro_?f1(?:_?score)?|f1(?:_?score)?(?:_?macro)?)$")
ACC = bounded(r"(?:^|_)acc(?:uracy)?$")
AUC = bounded(r"(?:^|_)(?:roc_?auc|auc_?roc|auroc|auc)$")
OF_CLASS = bounded(r"^(?:(?P<a>\w{1,40})_recall|recall_(?P<b>\w{1,40}))$|^(?P<c>\w{1,20})召回率$")
OVER = bounded(r"(?:^|_)(?:macro|micro|weighted|average|avg|overall|mean|total|all|samples|accuracy|at|k|top)(?:_|$)"
               r"|^(?:\d{1,4}|acc)$|平均|总体")  # fmt: skip
"""Names of rows and measures that are over all classes, and of a recall among the first k."""
ALL, NONE, NEAR, LEAST, EACH = 0.98, 0.02, 0.01, 20, 10
"""Shares that are all and nothing; how near two shares are that are one; items of a row and a class. Ours."""
EXACT = 6e-4
"""Rounding of figures with four digits."""
THRESHOLD = bounded(r"(?:^|_)(?:threshold|thresh|thr|cut_?off|tau)$|阈值$")
SWEPT = 5
"""Thresholds of one table from which on they are a sweep."""
MOST_CLASSES = 10
"""Classes up to which a share of a score tells how many there are."""
CHANCE = 1.5
"""Standard errors of a mean recall from that of guessing."""


Rate = tuple[str, float]
"""A measure and its value as a share."""


class Told(NamedTuple):
    """What one row or report says."""

    row: Row
    metric: str
    en: str
    zh: str
    grave: bool = True


def one_sided(rows: Sequence[Row]) -> list[Finding]:
    """The clearest, and how many rows say such a thing."""
    swept = _swept(rows)
    rows = [r for r in rows if (r.file, r.part) not in swept]
    found = [*(told for row in rows for told in _of_row(row)), *_of_reports(rows)]
    return [_finding(sorted(found, key=lambda t: not t.grave))] if found else []


def _swept(rows: Sequence[Row]) -> set[tuple[str, str]]:
    """Parts of files in which one threshold after the other was tried: the first flags all by its nature, the last
    nothing."""
    tried: dict[tuple[str, str], set[float]] = {}
    for row in rows:
        for name, value in row.values.items():
            if THRESHOLD.search(plain(name)):
                tried.setdefault((row.file, row.part), set()).add(value)
    return {part for part, values in tried.items() if len(values) >= SWEPT}


def _share(value: float) -> float:
    return value / 100 if value > 1 else value


def _one(values: Mapping[str, float], pattern: re.Pattern[str]) -> Rate | None:
    return next(
        ((k, _share(v)) for k, v in values.items() if pattern.search(plain(k)) and isfinite(v) and v >= 0), None
    )


def _of_row(row: Row) -> Iterator[Told]:
    """By the rates of one row; a row of few items says nothing."""
    if row.n is not None and row.n < LEAST:
        return
    recall, precision, accuracy = (_one(row.values, p) for p in (RECALL, PRECISION, ACCURACY))
    true, false = _one(row.values, TRUE) or recall, _one(row.values, FALSE)
    if true and false and min(true[1], false[1]) >= ALL:
        en = f"{true[0]} is {true[1]:.4g} and {false[0]} is {false[1]:.4g}: every item is flagged"
        yield Told(row, true[0], en, f"{true[0]} 为 {true[1]:.4g}，{false[0]} 为 {false[1]:.4g}：全部判为正类")
    elif true and false and max(true[1], false[1]) == 0 and (not accuracy or accuracy[1] < 1):
        en = f"{true[0]} and {false[0]} are both 0: no item is flagged"
        yield Told(row, true[0], en, f"{true[0]} 和 {false[0]} 都是 0：没有一条判为正类")
    elif recall and precision and accuracy and recall[1] >= ALL and accuracy[1] <= 1 - 5 * NEAR:
        if abs(precision[1] - accuracy[1]) <= NEAR and not OVER.search(plain(" ".join(row.names))):
            en = (f"{recall[0]} is {recall[1]:.4g} while {precision[0]} ({precision[1]:.4g}) is the accuracy "
                  f"({accuracy[1]:.4g}): hardly any item is taken for negative")  # fmt: skip
            yield Told(row, recall[0], en, f"{recall[0]} 为 {recall[1]:.4g}，而 {precision[0]}（{precision[1]:.4g}）"
                       f"就等于准确率（{accuracy[1]:.4g}）：几乎没有判为负类的")  # fmt: skip
    elif recall and precision and accuracy:
        yield from _averaged(row, recall, precision, accuracy)
    yield from _by_class(row)
    yield from _by_f1(row)


def _by_f1(row: Row) -> Iterator[Told]:
    """A macro F1 over k classes of which only one was predicted: 1/k of 2a / (1 + a), for the accuracy a beside it."""
    accuracies = {ACC.sub("", plain(n)): n for n in reversed([*row.values]) if ACC.search(plain(n))}
    for name, value in row.values.items():
        other = accuracies.get(F1.sub("", plain(name))) if F1.search(plain(name)) else None
        if other is None or not (isfinite(value) and value > 0 and row.values[other] > 0):
            continue
        a, f = _share(row.values[other]), _share(value)
        k = round(2 * a / (1 + a) / f)
        if 2 <= k <= MOST_CLASSES and a < 1 - NEAR and abs(f - 2 * a / (1 + a) / k) <= EXACT / 2:
            en = f"{name} ({f:.4g}) is 1/{k} of 2a / (1 + a) for {other} a = {a:.4g}: of {k} classes one is predicted"
            zh = f"{name}（{f:.4g}）恰为 2a / (1 + a) 的 1/{k}，其中 {other} a = {a:.4g}：{k} 个类别只预测了一个"
            yield Told(row, name, en, zh, False)
            return


def _averaged(row: Row, recall: Rate, precision: Rate, accuracy: Rate) -> Iterator[Told]:
    """Macro averages over k classes of which only one was there: 1/k of 1, and 1/k of the accuracy."""
    for k in range(2, 11):
        for (name, whole), (other, part), en, zh in (
            (recall, precision, "one class is all that was predicted", "只预测了一个类别"),
            (precision, recall, "the items that were scored are of one class", "评测的样本只有一个类别"),
        ):
            exact = abs(whole - 1 / k) <= EXACT / 2 and abs(part - accuracy[1] / k) <= EXACT
            if exact and accuracy[1] < 1 - NEAR and abs(part - whole) > NEAR:
                said = f"{name} is exactly 1/{k} and {other} ({part:.4g}) 1/{k} of the accuracy ({accuracy[1]:.4g})"
                yield Told(row, name, f"{said}: {en}", f"{name} 恰为 1/{k}，{other}（{part:.4g}）恰为准确率"
                           f"（{accuracy[1]:.4g}）的 1/{k}：{zh}", False)  # fmt: skip
                return


def _by_class(row: Row) -> Iterator[Told]:
    """By recalls of classes that stand in one row: `negative_recall`, `positive_recall`."""
    found = {}
    for name, value in row.values.items():
        match = OF_CLASS.match(plain(name))
        of = next((g for g in match.groups() if g), "") if match else ""
        if of and not OVER.search(of) and isfinite(value) and value >= 0:
            found[name] = _share(value)
    top = max(found, key=lambda k: found[k], default="")
    rest = {k: v for k, v in found.items() if k != top}
    if rest and found[top] >= ALL and max(rest.values()) <= NONE:
        low = ", ".join(f"{k} {v:.4g}" for k, v in [*rest.items()][:3])
        yield Told(row, top, f"{top} is {found[top]:.4g} and {low}: one class is all that is predicted",
                   f"{top} 为 {found[top]:.4g}，而 {low}：只预测一个类别")  # fmt: skip


def _of_reports(rows: Sequence[Row]) -> Iterator[Told]:
    """By the classes of one report as rows: a recall each, and how many items it has."""
    groups: dict[tuple[str, str, tuple[str, ...]], list[tuple[Row, str, float]]] = {}
    for row in rows:
        recall = _one(row.values, RECALL)
        label = plain(row.names[-1]) if row.names else ""
        if recall and _one(row.values, PRECISION) and label and not OVER.search(label):
            groups.setdefault((row.file, row.part, row.names[:-1]), []).append((row, *recall))
    for group in groups.values():
        if 2 <= len(group) <= 50 and len({r.names[-1] for r, *_ in group}) == len(group):
            yield from _of_classes(group)


def _of_classes(group: Sequence[tuple[Row, str, float]]) -> Iterator[Told]:
    sizes = [row.n for row, *_ in group]
    if any(n is not None and n < EACH for n in sizes) or not any(sizes):
        return  # without their numbers of items it may be no report of classes at all
    said = ", ".join(f"{clean(row.names[-1], 40)} {value:.4g}" for row, _, value in group[:4])
    missed = [(row, name, value) for row, name, value in group if value <= NONE]
    taken = [value for *_, value in group if value >= ALL]
    mean = sum(value for *_, value in group) / len(group)
    error = sqrt(sum(v * (1 - v) / n for (*_, v), n in zip(group, sizes, strict=True) if n)) / len(group)
    if len(missed) == len(group) - 1 and taken:
        row, name, _ = missed[0]
        yield Told(row, name, f"the recalls of the classes are {said}: one class is all that is predicted",
                   f"各类召回率为 {said}：只预测一个类别")  # fmt: skip
    elif missed and min(n or 0 for n in (r.n for r, *_ in missed)) >= LEAST:
        row, name, value = missed[0]
        label = clean(row.names[-1], 40)
        yield Told(row, name, f"of {row.n} items of the class {label} {value:.1%} are found (the recalls are {said}): "
                   "the class is all but never predicted",
                   f"类别 {label} 的 {row.n} 条只找出 {value:.1%}（各类召回率 {said}）：几乎从不预测",
                   False)  # fmt: skip
    elif all(sizes) and error > 0 and mean <= 1 / len(group) + CHANCE * error and error < 0.05:
        row, name, _ = group[0]
        yield Told(row, name, f"the mean recall of {len(group)} classes is {mean:.4g} ({said}), as guessing gives",
                   f"{len(group)} 个类别的平均召回率为 {mean:.4g}（{said}），与随机猜测相同", False)  # fmt: skip


def _finding(some: Sequence[Told]) -> Finding:
    told, rows = some[0], {(t.row.file, t.row.part, t.row.names) for t in some}
    more = f" {len(rows) - 1} further rows say such a thing of theirs." if len(rows) > 1 else ""
    more_zh = f" 另有 {len(rows) - 1} 行同样如此。" if len(rows) > 1 else ""
    return Finding(
        "one-class-predicted", Severity.S1 if told.grave else Severity.S2,
        f"{clean(told.row.said, 90)}: {told.en}. What else is scored there follows from the shares of the classes."
        f"{more}",
        f"{clean(told.row.said, 90)}：{told.zh}。其余分数只反映各类别的占比。{more_zh}",
        tuple(t.row.evidence(t.metric) for t in some[:4]), {"rows": len(rows)},
    )  # fmt: skip
