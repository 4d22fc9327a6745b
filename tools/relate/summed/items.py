"""Tables with one row for each item: pairs with two lengths and two scores, verdicts in both orders, answers of two
models side by side, items that overlap the training data.

What the texts say is judged in `tools.relate.rows` and `answers`; here only lengths, scores and verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import sqrt

import numpy as np

from ...data.statistics import spearman, wilson
from ...findings import Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..answers import EARLIER, GROWTH, LATER, LONGER
from ..distributions import ENOUGH, named, shown, texts
from ..line import means
from .rates import CLEAR, Rates, leaked
from .words import KINDS, apart, counted_of

SIZE = bounded(
    r"(?:^|_)(?:len|length|tok|toks|tokens|chars|words|size|n_tok|n_tokens|num_tokens)(?:_|$)|长度|字数|词元"
)
SCORE = bounded(r"(?:^|_)(?:score|reward|rm|rating|logit|logps?|value|r)(?:_|$)|得分|分数|奖励|打分")
ENDS = bounded(r"finish|stop|end_?reason|结束")
CHOSEN = bounded(r"(?:^|_)(?:chosen|preferred|winner|better|pos|positive|accepted|good)(?:_|$)|优|胜者")
REJECTED = bounded(r"(?:^|_)(?:rejected|dispreferred|loser|worse|neg|negative|bad)(?:_|$)|劣|败者")
WON = bounded(r"^(?:winner|verdict|preferred|choice|won|winning_model|judgement|judgment|result)$|胜者|胜方|判定|裁决")
SPLIT = bounded(r"\s{0,4}(?:[,;|/>]|->|\bvs\b\.?)\s{0,4}")
FIRST = bounded(r"(?:^|_)(?:first|order|shown|position|top|left)(?:_|$)|先|顺序|位置")
TIES = frozenset(("tie", "draw", "", "both", "neither", "平", "平局"))
OVERLAP = KINDS[0][1]
FOLLOWS, MOSTLY = 0.3, 0.65
"""000: rank correlation of length and score below 0.3; share of pairs whose chosen answer is longer that is told."""
ITEM = bounded(
    r"(?:^|_)(?:item|question|problem|prompt|task|example|q|case)s?(?:_?(?:id|key|no|idx|index))?$|^(?:u?id|key|idx)$|题|编号"
)
STORED = bounded(r"(?:^|_)(?:doc(?:ument)?|shard|url|page|crawl)s?(?:_?id)?$|文档|分片|网页")
"""Columns that name what a corpus is made of."""
MEET = 0.9
"""Share of the items that two files must have in common."""
HALF = 0.5
"""Overlap from which on an item counts as one that was trained on."""
LEAST_GAP = 0.1
TEXT = {side: bounded(rf"^{side}(?:_text|_answer|_response)?$") for side in ("chosen", "rejected")}


def sides(table: Table, about: re.Pattern[str]) -> tuple[Column, Column] | None:
    """The columns of numbers that say the same of the chosen and of the rejected answer."""
    found = []
    for side in (CHOSEN, REJECTED):
        mine = [c for c in table.columns if c.values.dtype.kind == "f"
                and means(side, c.name) and means(about, c.name)]  # fmt: skip
        if about is SCORE:
            mine = [c for c in mine if not means(SIZE, c.name)]
        found.append(mine[0] if mine else None)
    a, b = found
    return (a, b) if a is not None and b is not None and a is not b else None


def lengths(table: Table) -> Iterator[Finding]:
    """Pairs whose chosen answer is mostly the longer one, and scores that go by length."""
    size, score = sides(table, SIZE), sides(table, SCORE)
    off = _longer_by(table, size)
    if off is None or len(table) < ENOUGH:
        return
    keep = np.isfinite(off)
    off = off[keep]
    if score is not None and (found := _follows(table, off, keep, score)) is not None:
        yield found
    if size is None:
        return
    longer, differ = int((off > 0).sum()), int((off != 0).sum())
    if differ < ENOUGH:
        return
    low, high = wilson(longer, differ)
    if low < MOSTLY:
        return
    middle = [float(np.median(c.values[keep])) for c in size]
    yield Finding(
        "chosen-mostly-longer", Severity.S2,
        f"The chosen answer is the longer one in {longer} of {differ} pairs ({longer / differ:.1%}, 95%: {low:.0%} to "
        f"{high:.0%}); median {size[0].name} {middle[0]:.0f} against {middle[1]:.0f}.",
        f"{differ} 对中有 {longer} 对（{longer / differ:.1%}，95% 区间 {low:.0%} 到 {high:.0%}）是 chosen 更长；中位"
        f"长度 {middle[0]:.0f} 对 {middle[1]:.0f}。",
        shown(table, np.flatnonzero(keep)[np.argsort(-off)][:2].tolist(), size[0].name),
        {"share": longer / differ, "pairs": differ, "interval": [low, high], "medians": middle},
    )  # fmt: skip


def _longer_by(table: Table, size: tuple[Column, Column] | None) -> np.ndarray | None:
    """How much longer the chosen answer is in each row: by its column of lengths, or by the texts themselves."""
    if size is not None:
        return size[0].values - size[1].values
    a, b = (named(table, TEXT[side], "O") for side in ("chosen", "rejected"))
    if a is None or b is None:
        return None
    return np.array([len(t) for t in texts(a)], float) - np.array([len(t) for t in texts(b)])


def _follows(table: Table, off: np.ndarray, keep: np.ndarray, score: tuple[Column, Column]) -> Finding | None:
    """A scorer that is right where the chosen answer is longer, and worse than chance where it is shorter."""
    gap = (score[0].values - score[1].values)[keep]
    right, longer, shorter = gap > 0, off > 0, off < 0
    if min(longer.sum(), shorter.sum()) < ENOUGH or not np.isfinite(gap).all():
        return None
    k, n = int(right[shorter].sum()), int(shorter.sum())
    low, high = wilson(k, n)
    rho = spearman(off, gap)
    if high >= 0.5 or right[longer].mean() <= 0.5 or rho < FOLLOWS:
        return None
    which = np.flatnonzero(keep)[shorter & ~right][:3].tolist()
    return Finding(
        "score-follows-length", Severity.S1,
        f"{score[0].name} is above {score[1].name} in {right[longer].mean():.1%} of {longer.sum()} pairs whose chosen "
        f"answer is longer and in {k} of {n} ({k / n:.1%}, 95%: {low:.1%} to {high:.1%}) where it is shorter, below "
        f"chance; rank correlation of the differences in length and score {rho:.2f} (runbook: below {FOLLOWS}); "
        f"{right.mean():.1%} over all hides it.",
        f"chosen 更长的 {longer.sum()} 对中打分正确 {right[longer].mean():.1%}，更短的 {n} 对中仅 {k} 对"
        f"（{k / n:.1%}，95% 区间 {low:.1%} 到 {high:.1%}），低于随机；长度差与得分差的秩相关 {rho:.2f}（Runbook：应"
        f"低于 {FOLLOWS}）；总体 {right.mean():.1%} 掩盖了这一点。",
        shown(table, which, score[0].name),
        {"longer": float(right[longer].mean()), "shorter": k / n, "rho": rho, "pairs": len(off)},
    )  # fmt: skip


def pays_length(table: Table) -> Iterator[Finding]:
    """Scores of single answers that go by their length, where being right does not."""
    if len(table) < 2 * ENOUGH or sides(table, SIZE) is not None:
        return
    numbers = [c for c in table.columns if c.values.dtype.kind == "f" and np.isfinite(c.values).all()]
    size = next((c for c in numbers if means(SIZE, c.name) and not means(SCORE, c.name)), None)
    right = next((c for c in numbers if counted_of(c) == "right" and set(np.unique(c.values)) <= {0.0, 1.0}), None)
    score = next((c for c in numbers if c not in (size, right) and means(SCORE, c.name)), None)
    if size is None or right is None or score is None or min(right.values.sum(), (1 - right.values).sum()) < ENOUGH / 2:
        return
    by_length, by_right = spearman(score.values, size.values), spearman(score.values, right.values)
    if by_length < HALF or by_length < by_right + 0.3 or spearman(size.values, right.values) > FOLLOWS:
        return
    rows = np.argsort(-score.values * (1 - right.values), kind="stable")[:3].tolist()
    yield Finding(
        "score-follows-length", Severity.S1,
        f"{score.name} of {len(table)} answers goes by {size.name} (rank correlation {by_length:.2f}, runbook: below "
        f"{FOLLOWS}) and not by {right.name} ({by_right:.2f}): long wrong answers are paid.",
        f"{len(table)} 条回答的 {score.name} 跟着 {size.name} 走（秩相关 {by_length:.2f}，Runbook：应低于 {FOLLOWS}），"
        f"与 {right.name} 的相关只有 {by_right:.2f}：长而错的回答也得高分。",
        shown(table, rows, score.name), {"rho": by_length, "rho_right": by_right, "answers": len(table)},
    )  # fmt: skip


def side_by_side(table: Table) -> Iterator[Finding]:
    """Lengths of an earlier and of a later model's answers to the same prompts, in two columns."""
    if len(table) < ENOUGH or sides(table, SIZE) is not None:
        return
    sized = [c for c in table.columns if c.values.dtype.kind == "f" and means(SIZE, c.name)]
    old = next((c for c in sized if means(EARLIER, c.name) and not means(LATER, c.name)), None)
    new = next((c for c in sized if means(LATER, c.name) and not means(EARLIER, c.name)), None)
    if old is None or new is None:
        return
    keep = np.isfinite(old.values) & np.isfinite(new.values) & (old.values > 0)
    if keep.sum() < ENOUGH or _cut(table, LATER) > _cut(table, EARLIER) + LEAST_GAP:
        return
    a, b = old.values[keep], new.values[keep]
    growth, share = float(b.mean() / a.mean() - 1), float((b > a).mean())
    middle = float(np.median(b) / max(float(np.median(a)), 1e-9) - 1)
    if min(growth, middle) < GROWTH or share < LONGER:
        return
    stops = "; all stop as before" if any(means(ENDS, c.name) for c in table.columns) else ""
    yield Finding(
        "answers-longer", Severity.S2,
        f"Over the same {keep.sum()} prompts {new.name} is {growth:.0%} above {old.name} in the mean ({a.mean():.0f}"
        f" to {b.mean():.0f}), {middle:.0%} in the median, and longer in {share:.0%} of them (runbook: below "
        f"{GROWTH:.0%}){stops}.",
        f"同样的 {keep.sum()} 个提示，{new.name} 的均值比 {old.name} 长 {growth:.0%}（{a.mean():.0f} → "
        f"{b.mean():.0f}），中位"
        f"数长 {middle:.0%}，{share:.0%} 的提示变长（Runbook：低于 "
        f"{GROWTH:.0%}）{'；都正常结束，不是停不下来' if stops else ''}。",
        shown(table, np.flatnonzero(keep)[np.argsort(a - b)][:2].tolist(), new.name),
        {"growth": growth, "median_growth": middle, "share": share, "prompts": int(keep.sum())},
    )  # fmt: skip


def _cut(table: Table, side: re.Pattern[str]) -> float:
    """Share of that side's answers that end at the limit."""
    column = next((c for c in table.columns if c.values.dtype.kind == "O" and means(ENDS, c.name)
                   and means(side, c.name)), None)  # fmt: skip
    return float(np.mean([v.lower().startswith(("len", "max")) for v in texts(column)])) if column is not None else 0.0


def orders(table: Table) -> Iterator[Finding]:
    """Verdicts over the same pairs in both orders, where one column names both answers in the order shown."""
    won = next((c for c in table.columns if c.values.dtype.kind == "O" and means(WON, c.name)), None)
    if won is None or len(table) < ENOUGH:
        return
    winner = texts(won)
    for column in table.columns:
        if column is won or column.values.dtype.kind != "O":
            continue
        names = sorted(set(texts(column).tolist()))
        if means(FIRST, column.name) and len(names) == 2 and {*names} == {*winner.tolist()} - TIES:
            yield from _ordered(table, column, won, texts(column), winner, names)
            return
        parted = [SPLIT.split(v.strip(), maxsplit=1) for v in texts(column).tolist()]
        if not all(len(p) == 2 and all(p) for p in parted) or len({frozenset(p) for p in parted}) > 1:
            continue
        first = np.array([p[0] for p in parted], object)
        names = sorted({*first.tolist(), *(p[1] for p in parted)})
        won_by = _winners(winner, parted, names)
        if len(names) == 2 and len(set(first.tolist())) == 2 and won_by is not None:
            yield from _ordered(table, column, won, first, won_by, names)
            return


def _winners(winner: np.ndarray, parted: list[list[str]], names: list[str]) -> np.ndarray | None:
    """Who won each row by name: the verdict may say the name or the place; None where it says neither."""
    places = {"a": 0, "first": 0, "1": 0, "left": 0, "b": 1, "second": 1, "2": 1, "right": 1}
    said = [str(v).strip() for v in winner.tolist()]
    if {v.lower() for v in said} <= {*map(str.lower, names), "tie", "draw", ""}:
        low = {n.lower(): n for n in names}
        return np.array([low.get(v.lower(), "") for v in said], object)
    if {v.lower() for v in said} <= {*places, "tie", "draw", "c", ""}:
        by = [p[places[v.lower()]] if v.lower() in places else "" for v, p in zip(said, parted, strict=True)]
        return np.array(by, object)
    return None


def _ordered(
    table: Table, column: Column, won: Column, first: np.ndarray, by: np.ndarray, names: list[str]
) -> Iterator[Finding]:
    """One side's wins where it is shown first and where second."""
    whom = names[0] if not LATER.search(names[1]) else names[1]
    decided = ~np.isin(by.astype(str), list(TIES))
    one, two = (by == whom)[(first == whom) & decided], (by == whom)[(first != whom) & decided]
    if min(len(one), len(two)) < ENOUGH:
        return
    z = apart(one.sum(), len(one), two.sum(), len(two))
    if z < CLEAR or abs(one.mean() - two.mean()) < LEAST_GAP:
        return
    both = float(np.concatenate([one, two]).mean())
    error = sqrt(both * (1 - both) / (len(one) + len(two)))
    rows = [int(np.flatnonzero(m)[0]) for m in (first == whom, first != whom)]
    yield Finding(
        "verdicts-follow-order", Severity.S1,
        f"{whom} wins {one.mean():.1%} of {len(one)} comparisons when it is shown first and {two.mean():.1%} of "
        f"{len(two)} when shown second ({z:.0f} standard errors): the verdict follows the position. Over both "
        f"orders it wins {both:.1%} (standard error {error:.1%}); a figure from one order is not a win rate.",
        f"{whom} 排在前面时胜 {one.mean():.1%}（{len(one)} 次），排在后面时胜 {two.mean():.1%}（{len(two)} 次），相"
        f"差 {z:.0f} 个标准误：评审跟着位置走。两种顺序合计 {both:.1%}（标准误 {error:.1%}）；只用一种顺序得到的不是"
        "胜率。",
        shown(table, rows, won.name),
        {"first": float(one.mean()), "second": float(two.mean()), "both": both, "pairs": len(one), "of": whom,
         "column": column.name},
    )  # fmt: skip


def overlapping(table: Table, of: str = "") -> Iterator[Finding]:
    """Items that overlap the training data, by a column that says how much or with what, against the others.

    Args:
        table: a row for each item.
        of: what they overlap with, where the name of the column does not say it.
    """
    if len(table) < 2 * ENOUGH:
        return
    flags = [(c, f) for c in table.columns if means(OVERLAP, c.name) and (f := _flag(c)) is not None]
    if not flags:
        return
    column, yes = flags[0]
    marks = [c for c in table.columns if counted_of(c) == "right" and c.values.dtype.kind == "f"
             and set(np.unique(c.values[np.isfinite(c.values)]).tolist()) <= {0.0, 1.0}]  # fmt: skip
    if min(yes.sum(), (~yes).sum()) < ENOUGH or not marks:
        return
    sizes = np.array([(~yes).sum(), yes.sum()], float)
    rows, labels = np.array([int(np.flatnonzero(some)[0]) for some in (~yes, yes)]), ("clean", "overlapping")
    right = [np.array([np.nansum(c.values[~yes]), np.nansum(c.values[yes])]) for c in marks[:6]]
    rates = [Rates(table, c.name, "right", "leaked", of or column.name, labels, k, sizes, rows)
             for c, k in zip(marks, right, strict=False)]  # fmt: skip
    rates.sort(key=lambda r: r.shares[0] - r.shares[1])
    worst = rates[0]
    z = apart(worst.counts[0], sizes[0], worst.counts[1], sizes[1])
    if z < CLEAR or worst.shares[1] - worst.shares[0] < LEAST_GAP:
        return
    en = "".join(f"; {r.name}: {r.percent(1)} and {r.percent(0)}" for r in rates[1:])
    zh = "".join(f"；{r.name} 为 {r.percent(1)} 与 {r.percent(0)}" for r in rates[1:])
    yield leaked(worst, 1, 0, en, zh, _with(table, yes))


def scanned(tables: Sequence[Table]) -> Iterator[Finding]:
    """Items whose answers stand in one file, and what they overlap with in another: every item, or the hits alone."""
    keyed = [(t, k) for t in tables if len(t) >= ENOUGH and (k := _key(t)) is not None]
    for answers, own in keyed:
        if not any(counted_of(c) == "right" and c.values.dtype.kind == "f" for c in answers.columns):
            continue
        for scan, other in keyed:
            if scan is answers or scan.file == answers.file:
                continue
            if (whole := _merged(answers, own, scan, other)) is None:
                continue
            of = "corpus" if any(means(STORED, c.name) for c in scan.columns) else ""
            for found in overlapping(whole, of):
                rows = [i for i, v in enumerate(other) if v in set(own)][:1]
                yield replace(found, evidence=(*found.evidence, *shown(scan, rows, _overlap(scan))))
                return


def _key(table: Table) -> list[str] | None:
    """The cells of the column that names each item."""
    columns = [c for c in table.columns if c.role == "identifier" and c.values.dtype.kind == "O"]
    named_ = next((c for c in columns if means(ITEM, c.name)), None)
    return [str(v) for v in texts(named_).tolist()] if named_ is not None else None


def _overlap(table: Table) -> str:
    return next((c.name for c in table.columns if means(OVERLAP, c.name)), "")


def _merged(answers: Table, own: list[str], scan: Table, other: list[str]) -> Table | None:
    """The answers with what the scan says of their items; where it lists hits alone, with whether it lists one."""
    name = _overlap(scan)
    at: dict[str, int] = {}
    column = next((c for c in scan.columns if c.name == name), None)
    for i, key in enumerate(other):
        if key not in at or (column is not None and column.values.dtype.kind == "f"
                             and column.values[i] > column.values[at[key]]):  # fmt: skip
            at[key] = i
    known = np.array([key in at for key in own])
    if len(set(own)) < len(own) or known.sum() < ENOUGH or len(set(own) & set(at)) < MEET * len(at):
        return None
    if known.mean() >= MEET:
        if column is None:
            return None
        rows = np.array([at[key] for key in own if key in at])
        beside = [replace(c, values=c.values[rows], nans=np.empty(0, np.int64)) for c in scan.columns
                  if c.role != "identifier"]  # fmt: skip
        kept = answers.only(known)
        return replace(kept, columns=(*kept.columns, *beside))
    if not (name or means(OVERLAP, scan.file)):
        return None
    hit = Column("overlap", "measure", "overlap", "", known.astype(float))
    return replace(answers, columns=(*answers.columns, hit))


def _flag(column: Column) -> np.ndarray | None:
    """Which items the column says overlap: a share of at least a half, or any name where others have none."""
    values = column.values
    if values.dtype.kind == "f":
        finite = values[np.isfinite(values)]
        if not len(finite) or finite.min() < 0 or finite.max() > 100:
            return None
        return np.nan_to_num(values) >= HALF * (100 if finite.max() > 1 else 1)
    said = np.array([v.strip().lower() for v in texts(column).tolist()], object)
    no = np.isin(said, ["", "nan", "none", "0", "false", "no", "-", "否"])
    return ~no if 0 < no.sum() < len(said) else None


def _with(table: Table, yes: np.ndarray) -> str:
    """With what most of them overlap, where a column of words says it."""
    for column in table.columns:
        if column.values.dtype.kind == "O" and column.role != "identifier":
            said = texts(column)[yes]
            names, counts = np.unique(said.astype(str), return_counts=True)
            if len(names) <= 8 and names[counts.argmax()].strip() and (texts(column)[~yes] == "").mean() > 0.9:
                return f" ({column.name} {names[counts.argmax()]}: {counts.max()})"
    return ""


LOOKS: tuple[Callable[[Table], Iterator[Finding]], ...] = (lengths, pays_length, side_by_side, orders, overlapping)
