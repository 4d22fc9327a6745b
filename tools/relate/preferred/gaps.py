"""Preference pairs whose two answers were scored nearly alike, and whether the pairs were picked so.

A pair is told by two columns that are one another's but for a word: `q_winner` and `q_loser`, `优选分` and `劣选分`.
That they are labels and no measurement shows by their order: the better one is not below the other; a handful of whole
numbers without that order are codes of what was chosen. Where the
candidates of the prompts are kept, the place of the rejected answer among them says how the pairs were picked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from ...data.statistics import wilson
from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import ENOUGH, named, shown, texts
from ..line import plain
from .lists import listed

GAP, SMALL_SHARE = 0.3, 0.2
"""Pairs with a smaller gap tell little; a larger share of them is told. 000: drop pairs with a gap below 0.3."""
SCALE, SPANS = 5.0, (1.0, 10.0)
"""The scale that gap is meant for, and the spans of scores that are near enough to it; on others it goes by their
span. Own judgement, the source names no scale."""
ORDERED = 0.95
"""Share of pairs in which what was chosen is not below the other, where the scores are what it was chosen by."""
SIDES = (
    "chosen rejected", "winner loser", "winning losing", "win lose", "win loss", "won lost", "w l", "better worse",
    "preferred dispreferred", "good bad", "best second", "top runner_up", "positive negative", "pos neg",
    "accepted declined", "accepted rejected", "优 劣", "胜 负", "赢 输", "好 差", "选中 落选", "采纳 拒绝", "正 负",
)  # fmt: skip
NO_SCORE = bounded(
    r"(?:^|_)(?:len|lens|length|tokens?|tok|chars?|words?|n|num|count|id|idx|log_?p\w*|nll|ppl|loss|time|seed)(?:_|$)"
    r"|长度|字数|词数|编号|损失"
)
SCORED = bounded(r"(?:^|_)(?:scores?|ratings?|rewards?|grades?|marks?|quality|points?)(?:_|$)|分")
KINDS = 12
"""Different whole numbers up to which both sides may be codes (which tool, which target). Own judgement."""
CANDIDATES, PLACED = 3, 0.9
"""Candidates of a prompt at least, and share of the pairs that are picked by one rule."""


def gaps(tables: Sequence[Table]) -> Iterator[Finding]:
    """Tables of pairs whose scores hardly differ."""
    for table in tables:
        for chosen, rejected in _sides(table) if len(table) >= ENOUGH else ():
            if (found := _judged(table, chosen, rejected, tables)) is not None:
                yield found
                break


def _sides(table: Table) -> Iterator[tuple[Column, Column]]:
    """Scores of both sides: what is called a score, where anything is."""
    found = [*_named_sides(table)]
    called = [(a, b) for a, b in found if SCORED.search(plain(a.name))]
    yield from called or [(a, b) for a, b in found if not _codes(a.values, b.values)]


def _codes(chosen: np.ndarray, rejected: np.ndarray) -> bool:
    """Whether both sides are a handful of whole numbers, and what was chosen is below the other again and again."""
    keep = np.isfinite(chosen) & np.isfinite(rejected)
    every = np.unique(np.concatenate([chosen[keep], rejected[keep]]))
    few = keep.any() and len(every) <= KINDS and not (every % 1).any()
    return bool(few) and bool((chosen[keep] >= rejected[keep]).mean() < ORDERED)


def _named_sides(table: Table) -> Iterator[tuple[Column, Column]]:
    """Numbers of both sides, by their names."""
    numeric = {plain(c.name): c for c in table.columns if c.values.dtype.kind == "f"}
    for name, column in numeric.items():
        for better, worse in (s.split() for s in SIDES):
            at = re.search(better if ord(better[0]) > 127 else rf"(?:(?<=_)|^){better}(?=_|$)", name)
            other = numeric.get(f"{name[: at.start()]}{worse}{name[at.end() :]}") if at else None
            if other is not None and not NO_SCORE.search(name):
                yield column, other
                break


def _least(table: Table, chosen: np.ndarray, rejected: np.ndarray, scale: float) -> float | None:
    """The gap below which a pair tells little; None where it is not known."""
    if SPANS[0] < scale <= SPANS[1]:
        return GAP
    given = not table.of("axis") and (chosen >= rejected).mean() >= ORDERED
    return GAP / SCALE * scale if given and scale > 0 else None


def _judged(table: Table, chosen: Column, rejected: Column, tables: Sequence[Table]) -> Finding | None:
    keep = np.isfinite(chosen.values) & np.isfinite(rejected.values)
    if keep.sum() < ENOUGH:
        return None
    high_side, low_side = chosen.values[keep], rejected.values[keep]
    gap, scale = (high_side - low_side).round(6), float(np.ptp(np.concatenate([high_side, low_side])))
    least = _least(table, high_side, low_side, scale)
    small = np.abs(gap) < (least or 0.0)
    if small.mean() <= SMALL_SHARE:
        return None
    low, high = wilson(int(small.sum()), len(gap))
    mean, equal, same = float(gap.mean()), int((gap == 0).sum()), _same_text(table)
    rows = np.flatnonzero(keep)[np.argsort(np.abs(gap), kind="stable")[:3]]
    left = float(gap[~small].mean()) if (~small).any() else 0.0
    picked = next(_picked(table, chosen, rejected, tables), None)
    alike = f", and in {len(same)} both answers are the same text" if same else ""
    return Finding(
        "preference-gap-small", Severity.S1 if small.mean() >= 0.5 else Severity.S2,
        f"{small.sum()} of {len(gap)} pairs ({small.mean():.1%}, 95%: {low:.0%} to {high:.0%}) differ by less "
        f"than {least:.3g} in score ({chosen.name}, {rejected.name}), {equal} by nothing{alike}; the mean gap is "
        f"{mean:.3g} on a scale of {scale:.3g}, and {left:.2f} without them.{picked[0] if picked else ''}",
        f"{len(gap)} 对中有 {small.sum()} 对（{small.mean():.1%}）分差小于 {least:.3g}，其中 {equal} 对相等；平均分差 "
        f"{mean:.3g}（分数跨度 {scale:.3g}），去掉后为 {left:.2f}。{picked[1] if picked else ''}",
        (*shown(table, [*same[:1], *rows.tolist()], "preference_gap"), *(picked[2] if picked else ())),
        {"pairs": len(gap), "small": int(small.sum()), "share": float(small.mean()), "interval": [low, high],
         "mean_gap": mean, "equal": equal, "same_text": len(same), "scale": scale, "mean_without": left,
         "least": least},
    )  # fmt: skip


def _same_text(table: Table) -> list[int]:
    """Rows whose chosen and rejected answer are one text."""
    for better, worse in (s.split() for s in SIDES):
        sides = [named(table, re.compile(rf"^{w}(?:_(?:text|answer|response))?$"), "O") for w in (better, worse)]
        if (chosen := sides[0]) is not None and (rejected := sides[1]) is not None:
            return np.flatnonzero(texts(chosen) == texts(rejected)).tolist()
    return []


def _picked(
    table: Table, chosen: Column, rejected: Column, tables: Sequence[Table]
) -> Iterator[tuple[str, str, tuple[Evidence, ...]]]:
    """What the candidates of the same prompts say: the second best was taken though the worst lies far below."""
    own = {n: dict(zip(texts(c).tolist(), range(len(table)), strict=True)) for n, c in _keys(table)}
    for other in tables:
        for column, rows, scores in listed(other):
            name, key = next(((n, c) for n, c in _keys(other) if n in own), ("", None))
            if key is None or scores.shape[1] < CANDIDATES:
                continue
            pairs = [(own[name].get(v), k) for k, v in enumerate(texts(key)[rows].tolist())]
            both = [(i, k) for i, k in pairs if i is not None]
            if len(both) < ENOUGH:
                continue
            mine, k = (np.array(x) for x in zip(*both, strict=True))
            ranked = -np.sort(-scores[k], axis=1)
            ends = np.stack([chosen.values[mine], rejected.values[mine]], axis=1)
            second = np.isclose(ends, ranked[:, :2], atol=0.006).all(axis=1)
            wide, narrow = float((ranked[:, 0] - ranked[:, -1]).mean()), float((ends[:, 0] - ends[:, 1]).mean())
            if second.mean() < PLACED or wide < 2 * narrow:
                continue
            size, count = scores.shape[1], f"{int(second.sum())} of {len(both)}"
            yield (
                f" In {count} prompts of {other.file} the pair is the best and the second best of {size} candidates, "
                f"{narrow:.2g} apart, where the best and the worst lie {wide:.2g} apart.",
                f"{other.file} 的 {len(both)} 个提示中有 {int(second.sum())} 个取的是 {size} 个候选里最好和次好的，"
                f"平均相差 {narrow:.2g}，而最好与最差相差 {wide:.2g}。",
                shown(other, [int(rows[k[0]])], column.name),
            )


def _keys(table: Table) -> Iterator[tuple[str, Column]]:
    """Columns that name each row."""
    for c in table.columns:
        if c.values.dtype.kind == "O" and len(set(texts(c).tolist())) == len(table):
            yield plain(c.name), c
