"""Outcomes of single cases that go with a column of two or a few values: the sizes of the groups and how sure it is.

Reward of rollouts by whether they touched the tests, refusals by whether a system message stood there, being right by
the order shown. Another outcome of the same cases that goes the other way, or stays, is told beside it; and whether
the odd group grows along the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means, plain
from .names import back, demand, kinds

LEAST, MOST_ROWS, MOST_VALUES, GROUP = 40, 200_000, 6, 10
"""Rows of a table, values of a column, and rows of a group from which on it is one."""
CLEAR, APART = 5.0, 0.15
"""Standard errors, and points of the outcome's range, by which two groups lie apart at least. Own judgement."""
OUTCOME = bounded(
    r"(?:^|_)(?:reward|score|correct|acc\w*|right|pass\w*|solved?|resolved|success\w*|ok|valid|em|f1|hits?|win\w*|won"
    r"|fail\w*|errors?|refus\w*|declin\w*|toxic\w*|hallucinat\w*|cer|wer|bleu|hidden\w*|human\w*|preferred|truncated"
    r"|looped|accept\w*|parsed)(?:_|$)|得分|分数|正确|通过|成功|失败|拒答|胜|错误率|奖励|采纳"
)
PLACE = bounded(r"(?:^|_)(?:id|idx|index|step|iter|epoch|seed|line|row|n|time|ts)(?:_|$)")
TRUE = frozenset(("true", "yes", "y", "1", "是", "t", "on"))
USUAL = frozenset(
    ("false", "no", "n", "0", "auto", "none", "default", "base", "baseline", "original", "off", "否", "无")
)
"""Values that tell the usual case, not the odd one."""
BAD = bounded(r"(?:^|_)(?:fail\w*|errors?|refus\w*|declin\w*|toxic\w*|hallucinat\w*|cer|wer|truncated|looped)(?:_|$)"
              r"|拒答|失败|错误率")  # fmt: skip
"""Outcomes of which less is better."""
MOST_TOLD = 3


@dataclass(frozen=True)
class Parted:
    """One outcome over the groups of one column."""

    outcome: Column
    by: Column
    group: str
    rows: np.ndarray
    """Of the odd group."""
    mean: float
    others: float
    z: float


def following(table: Table) -> Iterator[Finding]:
    """Outcomes that go with a column of few values, the clearest of each column."""
    if not LEAST <= len(table) <= MOST_ROWS:
        return
    outcomes = [c for c in table.columns if _scored(c)]
    few = [(c, *np.unique(_said(c).astype(str), return_inverse=True))
           for c in table.columns if outcomes and not means(PLACE, c.name) and _few(c)]  # fmt: skip
    best: dict[str, Parted] = {}
    for outcome in outcomes:
        for by, groups, group_of in few:
            found = _parted(outcome, by, groups.tolist(), group_of) if by is not outcome else None
            if found is not None and (by.name not in best or found.z > best[by.name].z):
                best[by.name] = found
    order = sorted((p for p in best.values() if not _same(p, best)), key=lambda p: -p.z)
    for p in order[:MOST_TOLD]:
        yield _told(table, p, outcomes)


def _scored(column: Column) -> bool:
    values = column.values
    if values.dtype.kind != "f" or not means(OUTCOME, column.name) or np.isfinite(values).sum() < LEAST:
        return False
    return bool(np.nanstd(values) > 0)


def _said(column: Column) -> np.ndarray:
    values = column.values
    return np.array([f"{v:g}" for v in values], dtype=object) if values.dtype.kind == "f" else texts(column)


def _few(column: Column) -> bool:
    values = column.values
    if values.dtype.kind == "f":
        return bool(np.isfinite(values).all()) and 1 < len(np.unique(values[:5000])) <= MOST_VALUES
    return 1 < len(set(texts(column).tolist())) <= MOST_VALUES


def _parted(outcome: Column, by: Column, groups: list[str], group_of: np.ndarray) -> Parted | None:
    """The group that lies furthest from all others together."""
    values = outcome.values
    finite = np.isfinite(values)
    spread = float(np.ptp(values[finite])) or 1.0
    best: Parted | None = None
    for number, group in enumerate(groups):
        rows, rest = finite & (group_of == number), finite & (group_of != number)
        if min(rows.sum(), rest.sum()) < GROUP:
            continue
        a, b = values[rows], values[rest]
        error = float(np.sqrt(a.var() / len(a) + b.var() / len(b))) or spread / len(values)
        z = abs(float(a.mean() - b.mean())) / error
        far = abs(float(a.mean() - b.mean())) >= APART * min(spread, max(1.0, float(np.std(values[finite])) * 4))
        smaller = group.lower() in TRUE or (rows.sum() <= rest.sum() and group.lower() not in USUAL)
        if z >= CLEAR and far and smaller and (best is None or z > best.z):
            best = Parted(outcome, by, group, rows, float(a.mean()), float(b.mean()), z)
    return best


def _same(p: Parted, best: dict[str, Parted]) -> bool:
    """Whether it is another outcome under another name: the two tell one thing."""
    return bool(means(OUTCOME, p.by.name)) and p.outcome.name in best


def _told(table: Table, p: Parted, outcomes: list[Column]) -> Finding:
    k = int(p.rows.sum())
    rest = int(np.isfinite(p.outcome.values).sum()) - k
    en = [f"{p.outcome.name} is {p.mean:.3g} in the {k} rows of {table.file} with {p.by.name} {p.group} and "
          f"{p.others:.3g} in the other {rest} ({p.z:.0f} standard errors)"]  # fmt: skip
    zh = [f"{table.file} 中 {p.by.name} 为 {p.group} 的 {k} 行 {p.outcome.name} 为 {p.mean:.3g}，其余 {rest} 行为 "
          f"{p.others:.3g}（相差 {p.z:.0f} 个标准误）"]  # fmt: skip
    for other in outcomes:
        if other not in (p.outcome, p.by):
            a, b = (float(np.nanmean(other.values[rows])) for rows in (p.rows, ~p.rows))
            en.append(f"{other.name} {a:.3g} against {b:.3g}")
            zh.append(f"{other.name} 为 {a:.3g} 与 {b:.3g}")
    grows = _grows(table, p)
    if grows is not None:
        en.append(f"their share goes from {grows[0]:.0%} to {grows[1]:.0%} along the run")
        zh.append(f"这一组的占比沿途从 {grows[0]:.0%} 变为 {grows[1]:.0%}")
    where = f"{p.by.name} {p.group}"
    odd = np.flatnonzero(p.rows)[:2].tolist()
    places = tuple(Evidence(table.file, int(table.lines[i]) or None, metric=p.outcome.name,
                            value=float(p.outcome.values[i]), text=where) for i in odd)  # fmt: skip
    about = kinds(p.by.name, p.outcome.name)
    return Finding(
        "outcome-follows-column", Severity.S3, "; ".join(en[:4]) + ".", "；".join(zh[:4]) + "。", places,
        {"metric": plain(p.outcome.name), "by": plain(p.by.name), "group": p.group, "value": p.mean, "others": p.others,
         "z": p.z, "rows": k, 
         "kinds": sorted({*about, *(["grows"] if grows is not None and grows[1] > grows[0] else [])}),
         "names": f"{where}: {p.outcome.name} {p.mean:.3g}, elsewhere {p.others:.3g}",
         "asks": _asks(p, where, about)},
    )  # fmt: skip


def _asks(p: Parted, where: str, about: list[str]) -> list[dict[str, object]]:
    """The worse side comes to the better one; a loophole is no longer taken."""
    if "exploit" in about:
        share = float(p.rows.mean())
        return [
            demand(plain(p.by.name) + "_share", "at-most", share / 10, f"{share:.0%} of all rows", f"占 {share:.0%}")
        ]
    worse, better = sorted((p.mean, p.others), reverse=bool(means(BAD, p.outcome.name)))
    return [back(plain(p.outcome.name), worse, better, where)]


def _grows(table: Table, p: Parted) -> tuple[float, float] | None:
    """Share of the odd group in the first and the last third of the way, where it moved."""
    axis = next((c for c in table.of("axis") if c.of in ("step", "epoch", "time") and c.values.dtype.kind == "f"), None)
    if axis is None or not np.isfinite(axis.values).all():
        return None
    order = np.argsort(axis.values, kind="stable")
    third = len(order) // 3
    first, last = float(p.rows[order[:third]].mean()), float(p.rows[order[-third:]].mean())
    return (first, last) if abs(last - first) >= 0.1 else None
