"""Scores that go by length and not by what people say: pairs with two lengths and a person's choice, single answers
with a grade, and answers that were only lengthened.

Pairs under the names `chosen` and `rejected` with `len` and `score` are read in `..summed.items`; here any two sides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np

from ...data.statistics import spearman, spearman_within, wilson
from ...findings import Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import ENOUGH, shown, texts
from ..summed.items import lengths as named_pairs
from ..summed.items import pays_length
from ..texts.scorers import pays_for_more
from .places import CHOICES, PEOPLE, PLACES, SCORE, SIZE, cells, pairs_of, placed, spelled

FOLLOWS, STRONG, NOT, GRADES, SIDE, OWN = 0.3, 0.6, 0.2, 60, 20, 0.97
"""Rank correlation of length and score (000: below 0.3), one that leaves no doubt, one that is none; answers with a
grade, pairs of either kind, and how often a choice may be that of the scores themselves."""
GRADE = bounded(r"grade|quality|correct|is_right|truth|质量|正确|答对|对错|分级|评级|合格|有用")
CHOICE = bounded(
    r"prefer|pick|choice|chosen|winner|label|vote|better|human|annot|expert|人选|人工|选择|标注|偏好|胜|更好|结论"
)
OTHER = bounded(r"loss|(?:^|_)lr(?:_|$)|time|latency|cost|price|step|epoch|logprob|ppl|seed|耗时|价格")
GROUP = bounded(r"prompt|query|question|item|qid|pid|^q$|sample|group|题|样本|问题|提示|编号")
BEFORE: Mapping[str, int] = {
    **dict.fromkeys(["before", "orig", "original", "base", "raw", "pre", "old", "前", "原"], 0),
    **dict.fromkeys(["after", "padded", "longer", "new", "post", "edited", "filled", "changed", "后", "改"], 1),
}
EMPTY = bounded(
    r"fill|pad|restat|repeat|redundan|verbos|irrelevan|off_?topic|boilerplate|disclaim|greeting|wishes|chatter|fluff|waffle"
    r"|lengthen|transition|过渡|重说|重复|无关|祝福|背景|客套|套话|灌水|废话|啰嗦|冗余|凑字|加长|换个说法|寒暄|免责"
)
ORIGINAL = bounded(
    r"^(?:orig(?:inal)?|base(?:line)?|plain|as_is|none|raw|unchanged|原文|原样|原始|不改|未改|原版|原句)$"
)
GROWN, MOST_PAID = 1.15, 0.8


def pairs(table: Table) -> Iterator[Finding]:
    """A scorer that is right where the answer people chose is the longer one, and below chance where it is shorter."""
    if len(table) < 2 * SIDE or any(f.code == "score-follows-length" for f in named_pairs(table)):
        return
    found = _by_place(table) or _by_choice(table)
    if found is None:
        return
    longer_by, gap, scored = found
    keep = np.isfinite(longer_by) & np.isfinite(gap) & (gap != 0)
    longer, shorter, right = keep & (longer_by > 0), keep & (longer_by < 0), gap > 0
    if min(longer.sum(), shorter.sum()) < SIDE:
        return
    k, n, share = int(right[shorter].sum()), int(shorter.sum()), float(right[longer].mean())
    low, high = wilson(k, n)
    rho = spearman(longer_by[keep], gap[keep])
    if high >= 0.5 or wilson(int(right[longer].sum()), int(longer.sum()))[0] <= 0.6 or rho < FOLLOWS:
        return
    yield Finding(
        "score-follows-length", Severity.S1,
        f"{scored} prefers the answer that people chose in {share:.1%} of {longer.sum()} pairs where it is the longer "
        f"one and in {k} of {n} ({k / n:.1%}, 95%: {low:.1%} to {high:.1%}) where it is the shorter, below chance; "
        f"{right[keep].mean():.1%} over all hides it (rank correlation of the differences {rho:.2f}, runbook: below "
        f"{FOLLOWS}).",
        f"人选的回答更长的 {longer.sum()} 对中 {scored} 判对 {share:.1%}，更短的 {n} 对中仅 {k} 对（{k / n:.1%}，95% "
        f"区间 {low:.1%} 到 {high:.1%}），低于随机；总体 {right[keep].mean():.1%} 掩盖了这一点（长度差与得分差的秩相关"
        f" {rho:.2f}，Runbook：应低于 {FOLLOWS}）。",
        shown(table, np.flatnonzero(shorter & ~right)[:3].tolist(), scored),
        {"longer": share, "shorter": k / n, "rho": rho, "pairs": int(keep.sum())},
    )  # fmt: skip


def _by_place(table: Table) -> tuple[np.ndarray, np.ndarray, str] | None:
    """(how much longer the chosen answer is, by how much it is scored higher, what scores), by a column of choices."""
    both = pairs_of(table, "f", PLACES)
    size = next(((a, b) for _, a, b in both if SIZE.search(spelled(a.name)) and _lengthy(a, b)), None)
    if size is None:
        return None
    said = [(c, p) for c in table.columns if CHOICE.search(spelled(c.name)) and (p := placed(c)) is not None]
    said.sort(key=lambda cp: not PEOPLE.search(spelled(cp[0].name)))
    scores = [(a, b) for _, a, b in both if a not in size and not SIZE.search(spelled(a.name))
              and not OTHER.search(spelled(a.name)) and not PEOPLE.search(spelled(a.name))]  # fmt: skip
    scores.sort(key=lambda ab: not SCORE.search(spelled(ab[0].name)))
    if not said:
        return None
    column, place = said[0]
    sign = np.where(place == 0, 1.0, np.where(place == 1, -1.0, np.nan))
    if scores:
        a, b = scores[0]
        gap = sign * (a.values - b.values)
        own = float((gap[np.isfinite(gap)] > 0).mean()) if np.isfinite(gap).any() else 1.0
        return None if own >= OWN else (sign * (size[0].values - size[1].values), gap, f"{a.name} / {b.name}")
    judge = next(((c, p) for c in table.columns if c is not column and not PEOPLE.search(spelled(c.name))
                  and (p := placed(c)) is not None), None)  # fmt: skip
    if judge is None or not PEOPLE.search(spelled(column.name)):
        return None
    told = np.where(judge[1] == 0, 1.0, np.where(judge[1] == 1, -1.0, np.nan))
    return sign * (size[0].values - size[1].values), sign * told, judge[0].name


def _by_choice(table: Table) -> tuple[np.ndarray, np.ndarray, str] | None:
    """The same where two columns are of the chosen and of the rejected answer."""
    both = pairs_of(table, "f", CHOICES)
    size = next(((a, b) for _, a, b in both if SIZE.search(spelled(a.name)) and _lengthy(a, b)), None)
    score = next(((a, b) for _, a, b in both if SCORE.search(spelled(a.name)) and not SIZE.search(spelled(a.name))
                  and not PEOPLE.search(spelled(a.name))), None)  # fmt: skip
    if size is None or score is None:
        return None
    return size[0].values - size[1].values, score[0].values - score[1].values, f"{score[0].name} / {score[1].name}"


def _lengthy(*columns: Column) -> bool:
    finite = [c.values[np.isfinite(c.values)] for c in columns]
    return all(len(v) and v.min() >= 0 and v.max() > 5 and (v == np.round(v)).all() for v in finite)


def graded(table: Table) -> Iterator[Finding]:
    """Scores of single answers that go by their length, where the grade that a person gave does not."""
    if len(table) < GRADES or next(pays_length(table), None) is not None:
        return
    numbers = [c for c in table.columns if c.values.dtype.kind == "f" and np.isfinite(c.values).mean() > 0.9]
    size = [c for c in numbers if SIZE.search(spelled(c.name)) and _lengthy(c)]
    grades = [c for c in numbers if c not in size and (PEOPLE.search(spelled(c.name)) or GRADE.search(spelled(c.name)))
              and 2 <= len(np.unique(c.values[np.isfinite(c.values)])) <= 101]  # fmt: skip
    scores = [c for c in numbers if c not in size and c not in grades and SCORE.search(spelled(c.name))
              and not OTHER.search(spelled(c.name)) and len(np.unique(c.values)) > 5]  # fmt: skip
    if len(size) != 1 or not grades or len(scores) != 1:
        return
    length, grade, score = size[0], grades[0], scores[0]
    keep = np.isfinite(length.values) & np.isfinite(grade.values) & np.isfinite(score.values)
    x, g, s = length.values[keep], grade.values[keep], score.values[keep]
    if len(x) < GRADES or not len(np.unique(g)) > 1:
        return
    by_length, by_grade, right = spearman(x, s), spearman(g, s), spearman(x, g)
    if (group := _group(table, keep)) is not None:
        (by_length, n), (by_grade, _), (right, _) = (spearman_within(a, b, group) for a, b in ((x, s), (g, s), (x, g)))
        if n < GRADES:
            return
    if not (by_length >= STRONG and by_grade <= NOT and right <= NOT):
        return
    rows = np.flatnonzero(keep)[np.argsort(-(s - s.mean()) / s.std() + (g - g.mean()) / g.std())][:3].tolist()
    within = " within each prompt" if group is not None else ""
    yield Finding(
        "score-follows-length", Severity.S1,
        f"{score.name} of {len(x)} answers goes by {length.name} (rank correlation {by_length:.2f}{within}, runbook: "
        f"below {FOLLOWS}) and not by {grade.name} ({by_grade:.2f}), which does not go by length ({right:.2f}).",
        f"{len(x)} 条回答的 {score.name} 跟着 {length.name} 走（{'同一题内' if within else ''}秩相关 {by_length:.2f}，"
        f"Runbook：应低于 {FOLLOWS}），与 {grade.name} 的相关只有 {by_grade:.2f}，而后者与长度无关（{right:.2f}）。",
        shown(table, rows, score.name), {"rho": by_length, "rho_grade": by_grade, "answers": len(x)},
    )  # fmt: skip


def _group(table: Table, keep: np.ndarray) -> list[str] | None:
    """Which answers are to one prompt, where most prompts have several."""
    for column in table.columns:
        if GROUP.search(spelled(column.name)):
            said = cells(column)[keep]
            if 5 <= len(set(said.tolist())) <= len(said) / 2:
                return [str(v) for v in said.tolist()]
    return None


def lengthened(table: Table) -> Iterator[Finding]:
    """The same answers before and after text was added that says nothing, and are scored higher for it."""
    if len(table) < ENOUGH or next(pays_for_more(table), None) is not None:
        return
    yield from _wide(table)
    yield from _long(table)


def _wide(table: Table) -> Iterator[Finding]:
    both = pairs_of(table, "f", BEFORE)
    size = next(((a, b) for _, a, b in both if SIZE.search(spelled(a.name)) and _lengthy(a, b)), None)
    score = next(((a, b) for _, a, b in both if SCORE.search(spelled(a.name)) and not SIZE.search(spelled(a.name))
                  and not PEOPLE.search(spelled(a.name))), None)  # fmt: skip
    kind = _kind(table, EMPTY)
    if size is None or score is None:
        return
    rows = kind[1] if kind else np.zeros(len(table), bool)
    if kind is None and EMPTY.search(spelled(table.file.rpartition("/")[2])):
        rows = np.ones(len(table), bool)
    yield from _paid(table, rows, size[0].values, size[1].values, score[0].values, score[1].values, score[1].name)


def _long(table: Table) -> Iterator[Finding]:
    """A row each: the prompt, how the answer was changed, its length and its score."""
    numbers = [c for c in table.columns if c.values.dtype.kind == "f"]
    size = next((c for c in numbers if SIZE.search(spelled(c.name)) and _lengthy(c)), None)
    score = next((c for c in numbers if c is not size and SCORE.search(spelled(c.name))
                  and not PEOPLE.search(spelled(c.name))), None)  # fmt: skip
    empty, plain = _kind(table, EMPTY), _kind(table, ORIGINAL)
    item = next((cells(c) for c in table.columns if c not in (size, score) and GROUP.search(spelled(c.name))), None)
    if size is None or score is None or empty is None or plain is None or item is None or empty[0] is not plain[0]:
        return
    base = {v: i for i, v in enumerate(item.tolist()) if plain[1][i]}
    at = np.array([base.get(v, -1) for v in item.tolist()])
    rows = empty[1] & (at >= 0)
    yield from _paid(table, rows, size.values[at], size.values, score.values[at], score.values, score.name)


def _kind(table: Table, pattern: re.Pattern[str]) -> tuple[Column, np.ndarray] | None:
    """The column that says how an answer was changed, and the rows in which it says this."""
    for column in table.columns:
        if column.values.dtype.kind == "O" and column.role != "identifier":
            said = texts(column)
            names = set(said.tolist())
            yes = {v for v in names if pattern.search(spelled(v))}
            if 1 <= len(names) <= 20 and yes and max(map(len, names)) <= 40:
                return column, np.isin(said.astype(str), list(yes))
    return None


def _paid(
    table: Table, rows: np.ndarray, x: np.ndarray, y: np.ndarray, before: np.ndarray, after: np.ndarray, name: str
) -> Iterator[Finding]:  # fmt: skip
    keep = rows & np.isfinite(x) & np.isfinite(y) & np.isfinite(before) & np.isfinite(after)
    if keep.sum() < SIDE or np.median(y[keep] / np.maximum(x[keep], 1)) < GROWN:
        return
    off = (after - before)[keep]
    share, error = float((off > 0).mean()), float(off.std()) / np.sqrt(len(off))
    spread = float(before[keep].std())
    if share < MOST_PAID or off.mean() < 4 * error or off.mean() < 0.2 * spread:
        return
    times = float(np.median(y[keep] / np.maximum(x[keep], 1)))
    yield Finding(
        "score-follows-length", Severity.S1,
        f"{name} rises in {share:.0%} of {keep.sum()} answers to which only text that says nothing was added "
        f"({times:.2g} times as long), by {off.mean():.3g} on average (standard error {error:.2g}; the scores before "
        f"spread by {spread:.2g}).",
        f"{keep.sum()} 条只加了没有内容的文字（长度为原来的 {times:.2g} 倍）的回答中，{share:.0%} 的 {name} 上升，平均 "
        f"{off.mean():.3g}（标准误 {error:.2g}；改动前得分的离散为 {spread:.2g}）。",
        shown(table, np.flatnonzero(keep)[:3].tolist(), name),
        {"share": share, "by": float(off.mean()), "answers": int(keep.sum())},
    )  # fmt: skip


LOOKS = (pairs, graded, lengthened)
