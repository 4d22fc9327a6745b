"""Checkpoints of one training that were scored afterwards, in a file of their own: what is sought, beside the reward.

A column for each checkpoint (`step-50`, `target.ckpt_100`) or a row for each becomes a line over the steps. The log of
the training holds the reward; whether the score follows it is told here, for one file by `still`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from ...data.statistics import spearman
from ...findings import Finding, Severity
from ...logs.detectors.robust import mann_kendall
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import Line, plain
from .still import BESIDE, MOVES, TOP, rises

AT = re.compile(
    r"(?i)(?:^|[._/ -])(?:global[_-]?)?(?:steps?|ckpt|checkpoint|iter(?:ation)?|update|步|检查点)[_ -]?(\d{1,8})$"
)
START = re.compile(r"(?i)(?:^|[._/ -])(?:warm[_-]?start|base(?:line|[_-]model)?|init(?:ial)?|pretrained|sft|before"
                   r"|start|起点|基座|底座|训练前)$")  # fmt: skip
"""A checkpoint by its step, and what was there before the first."""
SOUGHT = bounded(r"(?:^|_)(?:acc|accuracy|spearman\w{0,4}|pearson\w{0,4}|kappa|f1|exact|em|pass|solved?|success|win|auc"
                 r"|target|ndcg|bleu|rouge\w{0,4}|chrf|agreement)(?:_|$)|准确率|目标|正确率|胜率|一致")  # fmt: skip
LEAST, ROWS, RISES = 6, 60, 2.0
"""Checkpoints of a trajectory, rows of a table, and Kendall's z from which on it rises. Own judgement."""
NEAR = (0.5, 1.1)
"""Shares of the training that the last checkpoint lies between."""
JUDGE = bounded(
    r"(?i)human|people|blind|rater|annotat|judge|gold|helpful|useful|quality|preferred"
    r"|(?:second|other|another|held|independent)[ _-]?(?:out[ _-]?)?(?:rm|reward|scorer|model)"
    r"|人工|盲评|评审|裁判|另一|第二|独立|有用|质量|满意|好评"
)  # fmt: skip
"""Another judge than the reward, or what a person thinks of answers, in the name of a column or of its file."""
SCORE = bounded(
    r"(?i)(?:^|[_\W\d])(?:mean|avg|average|score|rating|mos|win\w{0,5}|reward|rm)(?:$|[_\W\d])|均分|平均分|得分|评分|打分|分数|胜率"
)
AROUND = bounded(
    r"(?i)(?:^|[_\W])(?:se|sem|std|stderr|err|n|num|count|items|len\w{0,4}|tokens|refus\w{0,3}|time|kl)(?:$|[_\W])|误|差|数$|人$|拒[答绝]率|长度|时"
)
"""Names of scores, and of what stands beside one: how sure it is and of how many."""
FALLEN, AFTER = 0.1, 3
"""Share of its best that another judge's score has lost at the end, and scored checkpoints behind the best. Ours."""


def trajectories(tables: Sequence[Table]) -> Iterator[Line]:
    """The scores of checkpoints along their steps."""
    for table in tables:
        if 0 < len(table) <= ROWS:
            yield from _in_columns(table)
            yield from _in_rows(table)


def _in_columns(table: Table) -> Iterator[Line]:
    stems: dict[str, list[tuple[float, Column]]] = {}
    for column in table.columns:
        m = (AT.search(column.name) or START.search(column.name)) if column.values.dtype.kind == "f" else None
        if m is not None:
            stems.setdefault(column.name[: m.start()], []).append((float(m[1]) if m.re is AT else 0.0, column))
    labels = [c for c in table.columns if c.values.dtype.kind == "O" and c.role in ("group", "identifier")]
    for stem, some in stems.items():
        some.sort(key=lambda one: one[0])
        for i in range(len(table)) if len(some) >= LEAST else ():
            name = " ".join(filter(None, (stem, *(str(texts(c)[i]) for c in labels))))
            yield _line(table, name, [x for x, _ in some], [c.values[i] for _, c in some], [i] * len(some))


def _in_rows(table: Table, axes: Sequence[str] = ("checkpoint",)) -> Iterator[Line]:
    for column in table.columns if len(table) >= LEAST else ():
        at = _steps(column, axes)
        if at is None or len(np.unique(at)) < len(at):
            continue
        order = np.argsort(at, kind="stable")
        for c in table.of("measure"):
            if c.values.dtype.kind == "f":
                yield _line(table, c.name, at[order], c.values[order], order.tolist())
        return


def _steps(column: Column, axes: Sequence[str]) -> np.ndarray | None:
    """The step of each row, where a column names its checkpoint."""
    if column.values.dtype.kind == "f":
        return column.values if column.role == "axis" and column.of in axes else None
    found = [AT.search(str(s)) or START.search(str(s)) for s in texts(column).tolist()]
    named = sum(m is not None and m.re is AT for m in found)
    if named < LEAST or not all(found):
        return None
    return np.array([float(m[1]) if m is not None and m.re is AT else 0.0 for m in found])


def _line(table: Table, name: str, x: Sequence[float] | np.ndarray, values: Sequence[float] | np.ndarray,
          rows: list[int]) -> Line:  # fmt: skip
    lines = np.array([int(table.lines[i]) for i in rows])
    return Line(name, name, table.file, np.array(x), np.array(values, float), lines).finite()


def judged_worse(tables: Sequence[Table], lines: Sequence[Line]) -> list[Finding]:
    """Another judge's score of checkpoints that ends below its best and its beginning, while the reward goes on.

    Silent where the reward does not rise behind that best, and where any such score rises.
    """
    rewards = [x for line in lines if not line.group and line.name == "reward" and rises(x := line.finite())]
    if not rewards or len({r.file for r in rewards}) > 1:
        return []
    reward = rewards[0]
    small = [t for t in tables if 0 < len(t) <= ROWS and t.file != reward.file]
    scores = [g for t in small for g in _in_rows(t, ("checkpoint", "step")) if len(g) >= LEAST and _is_judged(g)]
    fell = [g for g in scores if _falls_behind(g, reward)]
    return [_apart(reward, fell)] if fell and all(mann_kendall(g.values)[1] < RISES for g in scores) else []


def _is_judged(score: Line) -> bool:
    if AROUND.search(score.key) or not 0 <= score.values.min() <= score.values.max() <= 100:
        return False
    return bool(JUDGE.search(score.key) or (JUDGE.search(score.file) and SCORE.search(score.key)))


def _falls_behind(score: Line, reward: Line) -> bool:
    """Whether each scored checkpoint behind the best is below the one before, and the last below the first."""
    top, values = int(score.values.argmax()), score.values
    then, now = np.interp(score.x[[top, -1]], reward.x, reward.values)
    down = len(values) - top > AFTER and bool((np.diff(values[top:]) < 0).all())
    return down and values[-1] < min(values[0], (1 - FALLEN) * values[top]) and bool(now > then)


def _apart(reward: Line, fell: Sequence[Line]) -> Finding:
    tops = [int(g.values.argmax()) for g in fell]
    told = [(f"{g.key} of {g.file}", f"{g.file} 的 {g.key}", g.values[i], g.where(i), g.values[-1])
            for g, i in zip(fell, tops, strict=True)]  # fmt: skip
    en = "; ".join(f"{name} falls from {best:.4g} at {at} to {last:.4g}" for name, _, best, at, last in told[:3])
    zh = "；".join(f"{name} 从 {at} 的 {best:.4g} 降到 {last:.4g}" for _, name, best, at, last in told[:3])
    a, b = (float(v) for v in np.interp([fell[0].x[tops[0]], fell[0].x[-1]], reward.x, reward.values))
    return Finding(
        "reward-up-quality-down", Severity.S1,
        f"{en}, while {reward.key} goes on from {a:.4g} to {b:.4g}: the reward is no longer what another judge values.",
        f"{zh}；而 {reward.key} 仍从 {a:.4g} 升到 {b:.4g}：奖励已不再代表另一评判所看重的质量。",
        (*(g.evidence(len(g) - 1) for g in fell[:3]), fell[0].evidence(tops[0]), reward.evidence(len(reward) - 1)),
        {"at": float(fell[0].x[tops[0]]), "best": float(told[0][2]), "last": float(told[0][4])},
    )  # fmt: skip


def sought_stays(tables: Sequence[Table], lines: Sequence[Line]) -> list[Finding]:
    """A reward that rises in the log, and a score of the checkpoints that is no higher at the end and has no trend.

    Silent where any score of the same checkpoints rises, and where rewards of several files could be meant.
    """
    rewards = [x for line in lines if not line.group and line.name == "reward" and rises(x := line.finite())]
    if not rewards or len({r.file for r in rewards}) > 1:
        return []
    end = float(rewards[0].x[-1])
    goals = [
        g
        for g in trajectories(tables)
        if len(g) >= LEAST and _is_sought(g) and NEAR[0] * end <= g.x[-1] <= NEAR[1] * end
    ]
    if any(mann_kendall(g.values)[1] >= RISES for g in goals):
        return []
    for goal in goals:
        first, last, whole = float(goal.values[0]), float(goal.values[-1]), 100.0 if goal.values.max() > 1 else 1.0
        if last - first < MOVES * whole and goal.values.max() < TOP * whole:
            return [_told(rewards[0], goal, first, last)]
    return []


def _is_sought(goal: Line) -> bool:
    said = plain(goal.key)
    return bool(SOUGHT.search(said)) and not BESIDE.search(said) and 0 <= goal.values.min() <= goal.values.max() <= 100


def _told(reward: Line, goal: Line, first: float, last: float) -> Finding:
    third = len(reward) // 3
    a, b = float(reward.values[:third].mean()), float(reward.values[-third:].mean())
    near = np.interp(
        goal.x, reward.x, np.convolve(np.pad(reward.values, third // 8, "edge"), _flat(third // 8), "valid")
    )
    rho = spearman(near, goal.values)
    name = goal.key.strip("._/ ")
    return Finding(
        "goal-stays-while-reward-rises", Severity.S2,
        f"{reward.key} rises from {a:.4g} to {b:.4g} (first and last third of {reward.file}) while {name} of "
        f"{len(goal)} checkpoints does not: {first:.4g} at {goal.where(0)}, {last:.4g} at {goal.where(-1)}, between "
        f"{goal.values.min():.4g} and {goal.values.max():.4g} (rank correlation with the reward {rho:.2f}): the reward "
        "is paid for something else.",
        f"{reward.key} 从 {a:.4g} 升到 {b:.4g}（{reward.file} 的前、后三分之一），而 {len(goal)} 个检查点的 {name} 没有"
        f"上升：{goal.where(0)} 为 {first:.4g}，{goal.where(-1)} 为 {last:.4g}，在 {goal.values.min():.4g} 到 "
        f"{goal.values.max():.4g} 之间（与奖励的秩相关 {rho:.2f}）：奖励付给了别的东西。",
        (goal.evidence(len(goal) - 1), goal.evidence(0), reward.evidence(len(reward) - 1)),
        {"reward": [a, b], "goal": [first, last], "checkpoints": len(goal), "rho": rho},
    )  # fmt: skip


def _flat(half: int) -> np.ndarray:
    return np.full(2 * half + 1, 1 / (2 * half + 1))
