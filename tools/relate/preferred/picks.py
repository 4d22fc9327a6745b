"""Best of n: a scorer that picks among candidates the longest ones, which people like no better than any other."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from .places import PEOPLE, SIZE, cells, spelled

BASE = bounded(
    r"random|(?:^|_)rand(?:_|$)|best_of_1(?:_|$)|bo1(?:_|$)|(?:^|_)n_?1(?:_|$)|greedy|single|first|随机|任取|随便|单条|贪心|首条"
)
PICK = bounded(
    r"best_of_\d|bo_?n|bon(?:_|\d|$)|bo\d|top|highest|rm|reward|scorer|score_max|argmax|max_score|(?:^|_)n_?\d"
    r"|最高|打分|奖励|模型选|取高|选优|选1|选一"
)
LOWEST = bounded(r"lowest|worst|min|最低|最差|vote|majority|oracle|human|多数|投票|人选|人工选")
GOOD = bounded(
    r"win|prefer|satisf|correct|acc|right|pass|like|human|quality|grade|thumb|helpful|胜|偏好|满意|正确|答对|准确|人评|好评|点赞|采纳|质量"
)
SCORED = bounded(r"rm|reward|model_?score|scorer|模型分|奖励分|打分模型分|得分")
DRAWN = bounded(r"^(?:n|k|num_?candidates|n_?samples|best_of|n_?cand\w{0,10}|bon?_?n|候选数|采样数|样本数)$")
ABOUT = bounded(
    r"best_?of|bon(?:_|\d|$)|bo\d|pick|select|rerank|候选|十六选|\d选1|选一|选法|挑|重排|reward|(?:^|_)rm(?:_|$)|打分"
)
WIN, LOSE = (
    bounded(r"^\W*(?:win|won|better|pick|w|胜|赢|更好|优)\W*$"),
    bounded(r"^\W*(?:lose|loss|lost|worse|random|l|负|输|败|更差|劣)\W*$"),
)
TIE = bounded(r"^\W*(?:tie|draw|same|equal|t|平|平局|差不多|一样)?\W*$")
GROWN, LEAST, HALF = 1.4, 30, 0.5
"""Times as long as the candidates' mean from which on a pick is a long one, rows, and share of picks that are the
longest of all. Own judgement."""


def picked(table: Table) -> Iterator[Finding]:
    """What was picked, in a summary or in rows."""
    about = " ".join((spelled(table.file), spelled(table.part), *(spelled(c.name) for c in table.columns)))
    said = " ".join(
        spelled(str(v)) for c in table.columns if c.values.dtype.kind == "O" for v in c.values[:12].tolist()
    )
    if not (ABOUT.search(about) or ABOUT.search(said[:600])):
        return
    yield from _summary(table) if len(table) < LEAST else _rows(table)


def _summary(table: Table) -> Iterator[Finding]:
    size = [c for c in table.columns if c.values.dtype.kind == "f" and SIZE.search(spelled(c.name))]
    good = [c for c in table.columns if c.values.dtype.kind == "f" and c not in size and GOOD.search(spelled(c.name))
            and not SCORED.search(spelled(c.name)) and np.nanmin(c.values, initial=0) >= 0
            and np.nanmax(c.values, initial=0) <= 100]  # fmt: skip
    ends = _ends(table)
    if len(size) != 1 or not good or ends is None:
        return
    base, top, name = ends
    short, long = float(size[0].values[base]), float(size[0].values[top])
    if not short > 0 or long < GROWN * short:
        return
    changes = [(c, float(c.values[base]), float(c.values[top])) for c in good]
    changes = [(c, a, b) for c, a, b in changes if np.isfinite(a) and np.isfinite(b)]
    if not changes or any(b > a + (0.01 if max(a, b) <= 1 else 1.0) for _, a, b in changes):
        return
    column, a, b = min(changes, key=lambda cab: (cab[2] - cab[1]) / max(cab[1], 1e-9))
    if a - b < (0.03 if max(a, b) <= 1 else 3.0):
        return
    yield Finding(
        "picks-longer-not-better", Severity.S2,
        f"What the scorer picks ({name}) is {long / short:.2g} times as long ({size[0].name} {short:.4g} to "
        f"{long:.4g}) and worse for it: {column.name} {a:.4g} to {b:.4g}.",
        f"打分挑出的回答（{name}）长度为 {long / short:.2g} 倍（{size[0].name} {short:.4g} → {long:.4g}），而且更差："
        f"{column.name} {a:.4g} → {b:.4g}。",
        tuple(Evidence(table.file, int(table.lines[i]) or None, metric=c.name, value=float(c.values[i]))
              for i, c in ((base, size[0]), (top, size[0]), (top, column))),
        {"times": long / short, "before": a, "after": b},
    )  # fmt: skip


def _ends(table: Table) -> tuple[int, int, str] | None:
    """(row of a candidate at random, row of the scorer's pick of most candidates, what that row is called)."""
    words = [c for c in table.columns if c.values.dtype.kind == "O"]
    label = ["_".join(spelled(str(c.values[i])) for c in words) for i in range(len(table))]
    rows = [i for i, v in enumerate(label) if not LOWEST.search(v)]
    drawn = next((c for c in table.columns if c.values.dtype.kind == "f" and DRAWN.search(spelled(c.name))), None)
    if drawn is not None and len(set(drawn.values[rows].tolist())) >= 3 and np.nanmin(drawn.values[rows]) == 1:
        one, most = (int(rows[int(f(drawn.values[rows]))]) for f in (np.nanargmin, np.nanargmax))
        return one, most, f"{drawn.name} {drawn.values[most]:.10g}"
    base = [i for i in rows if BASE.search(label[i]) and not _number(label[i], r"best_of_(\d+)|bo(\d+)") > 1]
    top = [i for i in rows if i not in base and PICK.search(label[i])]
    if len(base) != 1 or not top:
        return None
    best = max(top, key=lambda i: _number(label[i], r"(\d{1,4})"))
    return base[0], best, str(words[0].values[best])[:40]


def _number(said: str, pattern: str) -> float:
    found = re.search(pattern, said[:80])
    return float(next(g for g in found.groups() if g)) if found else 1.0


def _rows(table: Table) -> Iterator[Finding]:
    """A row each prompt: how long its candidates are, how long the pick is, and what people say of it."""
    sized = [c for c in table.columns if c.values.dtype.kind == "f" and SIZE.search(spelled(c.name))]
    pick = next((c for c in sized if re.search(r"pick|select|chosen|best|top|rm|选中|挑|所选|最高分", spelled(c.name))
                 and not re.search(r"rank|order|名次|排名", spelled(c.name))), None)  # fmt: skip
    longest = next((c for c in sized if c is not pick and re.search(r"max|longest|最长|最大", spelled(c.name))), None)
    usual = r"mean|avg|median|random|p50|平均|均值|中位|随机"
    mean = next((c for c in sized if c not in (pick, longest) and re.search(usual,
                 spelled(c.name))), None)  # fmt: skip
    said = next((v for c in table.columns if (v := _verdicts(c)) is not None), None)
    if pick is None or said is None or (longest is None and mean is None):
        return
    column, won, lost = said
    share = float(np.nanmean(pick.values >= longest.values)) if longest is not None else float("nan")
    times = float(np.nanmedian(pick.values / np.maximum(mean.values, 1))) if mean is not None else float("nan")
    if not (share >= HALF or times >= GROWN) or won.sum() > lost.sum() or won.sum() + lost.sum() < LEAST:
        return
    rows = np.flatnonzero(lost)[:3].tolist()
    how = (
        f"the longest of all candidates in {share:.0%} of {len(table)}"
        if share >= HALF
        else f"{times:.2g} times as long"
    )
    zh = f"{len(table)} 题中 {share:.0%} 是候选里最长的" if share >= HALF else f"长度为候选均值的 {times:.2g} 倍"
    yield Finding(
        "picks-longer-not-better", Severity.S2,
        f"What the scorer picks is {how}, and people prefer it in {won.sum()} against {lost.sum()} ({column.name}).",
        f"打分挑出的回答{zh}，而人评 {won.sum()} 胜 {lost.sum()} 负（{column.name}）。",
        tuple(Evidence(table.file, int(table.lines[i]) or None, metric=pick.name, value=float(pick.values[i]))
              for i in rows),
        {"longest": share, "times": times, "won": int(won.sum()), "lost": int(lost.sum())},
    )  # fmt: skip


def _verdicts(column: Column) -> tuple[Column, np.ndarray, np.ndarray] | None:
    """(column, rows that people preferred, rows that they did not) of a column that says won or lost."""
    if column.values.dtype.kind != "O" or not (
        PEOPLE.search(spelled(column.name)) or GOOD.search(spelled(column.name))
    ):
        return None
    said = cells(column)
    names = set(said.tolist())
    won, lost = ({v for v in names if p.search(v.lower())} for p in (WIN, LOSE))
    if not won or not lost or any(not TIE.search(v.lower()) for v in names - won - lost):
        return None
    return column, np.isin(said.astype(str), list(won)), np.isin(said.astype(str), list(lost))
