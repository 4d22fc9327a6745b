"""Reinforcement learning that gets nowhere: several short runs, none of which raises its reward or its rate of wins,
a reward that rises while the share that reaches the goal stays, and evaluations that score nothing every time.

One short run is too short to tell; together they have as many gains as losses, and what they gain on the mean is noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import sqrt
from pathlib import PurePosixPath

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...series import Series
from ...tables.table import Table
from ..line import Line, plain
from .read import BASE, words

FLAT, FEW_ROWS, WORDY, ORDER = "reward-flat", 50, 60, 5.0
"""The finding that a baseline speaks against, rows of a summary, letters of a label, and how many times the baseline
the reward may be to be of one scale. Own judgement."""
RUNS, POINTS, TOGETHER = 3, 3, 15
"""Runs, points of each, and points of all from which on it is told. Own judgement."""
GAIN, TOP = 1.5, 0.9
"""Standard errors of the mean gain above which some are raised; the level from which on there is nothing to raise."""
LONG, MOVES = 12, 0.015
"""Points of a reward and of a goal, and by how much of one a goal moves that is reached more often. Own judgement."""
GOAL = bounded(r"(?:^|_)(?:acc(?:uracy)?|correct\w{0,5}|optimal|solved?|success|exact(?:_match)?|pass(?:_at_?\d{1,3})?)"
               r"(?:_rate|_ratio|_share)?$|准确率|正确率|成功率")  # fmt: skip
BESIDE = bounded(r"sub_?optimal|reward|format|train_acc|token|std|incorrect|格式|奖励")
HELD = bounded(r"(?:^|_)(?:val|eval|test|held)")
SCORED = bounded(r"(?:^|_)(?:val|eval\w{0,7}|test|held\w{0,4})_(?:\w{1,20}_)?"
                 r"(?:score|reward|return|success|goal|(?:success|win|solve)_rate)s?$")  # fmt: skip
"""Scores of episodes that are played to see what was learned."""
REWARDED = bounded(r"reward|win_?rate|success_?rate|(?:^|_)returns?(?:_|$)|奖励|胜率|成功率")


def never_raised(lines: Sequence[Line]) -> list[Finding]:
    """The measure that is raised least."""
    runs: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        if not line.group and (line.name in ("reward", "eval_reward") or REWARDED.search(plain(line.key))):
            runs.setdefault((line.file, line.key), []).append(line.finite())
    told = [f for some in runs.values() if (f := _told(some)) is not None]
    return sorted(told, key=lambda f: f.data["gain"] / f.data["standard_error"])[:1]


def above_base(findings: Sequence[Finding], series: Sequence[Series], tables: Sequence[Table]) -> tuple[Finding, ...]:
    """The findings; a reward that does not rise is a note where all of it lies above each baseline of the run's own."""
    bases = (
        [b for t in tables if len(t) <= FEW_ROWS for b in _bases(t)] if any(f.code == FLAT for f in findings) else []
    )
    return tuple(_noted(f, series, bases) if f.code == FLAT and bases else f for f in findings)


def _bases(table: Table) -> Iterator[Evidence]:
    """The rewards of rows that their file or a label of theirs calls a baseline."""
    labels = [c for c in table.columns if c.values.dtype.kind == "O"]
    rewards = [c for c in table.columns if c.values.dtype.kind == "f" and REWARDED.search(plain(c.name))]
    for i in range(len(table)) if rewards else ():
        said = " ".join((PurePosixPath(table.file).stem, *(str(c.values[i])[:WORDY] for c in labels)))
        if any(BASE.fullmatch(w) for w in words(said)):
            yield from (Evidence(table.file, int(table.lines[i]) or None, metric=c.name, value=float(c.values[i]))
                        for c in rewards if "reward" in plain(c.name) and c.values[i] > 0)  # fmt: skip


def _noted(f: Finding, series: Sequence[Series], bases: Sequence[Evidence]) -> Finding:
    where = f.evidence[0]
    own = (s for s in series if s.file == where.file and where.metric in (s.metric, s.key))
    curve = next((s.values[np.isfinite(s.values)] for s in own), None)
    told = {float(e.value): e for e in bases if isinstance(e.value, float) and e.file != where.file}
    most = max(told, default=0.0)
    if curve is None or not len(curve) or not told or not most < curve.min() <= ORDER * most:
        return f
    base = told[most]
    return replace(
        f, severity=Severity.S3, evidence=(*f.evidence, base),
        message=f"{f.message} It is above {base.metric} {base.value:.4g} of the run's own baseline ({base.file}) at "
        "every point: a fault only if it should rise beyond that.",
        zh=f"{f.zh}它在每一点都高于本次运行自己的基线 {base.metric} {base.value:.4g}（{base.file}）："
        "只有本应继续上升时才算问题。",
    )  # fmt: skip


def never_scored(tables: Sequence[Table], lines: Sequence[Line]) -> list[Finding]:
    """Scores of evaluations that are 0 every time, beside the rewards of a training that move."""
    moving = {x.file: x for line in lines if line.name == "reward" and len(x := line.finite()) and np.ptp(x.values) > 0}
    tried = [(t, c) for t in tables for c in t.of("measure") if t.file in moving and SCORED.search(plain(c.name))]
    if not tried or any(np.any(c.values != 0) for _, c in tried) or max(len(t) for t, _ in tried) < POINTS:
        return []
    table, column = max(tried, key=lambda one: len(one[0]))
    reward, more = moving[table.file], len(tried) - 1
    low, high = float(reward.values.min()), float(reward.values.max())
    return [Finding(
        "goal-never-reached", Severity.S2,
        f"{column.name} is 0 in all {len(table)} evaluations of {table.file}" + (f" (and in {more} more)" * (more > 0))
        + f", while {reward.key} of the training goes between {low:.4g} and {high:.4g}: by its evaluations the policy "
        "never does what they score.",
        f"{table.file} 的全部 {len(table)} 次评测中 {column.name} 都是 0" + (f"（另有 {more} 处同样）" * (more > 0))
        + f"，而训练中 {reward.key} 在 {low:.4g} 与 {high:.4g} 之间变动：按评测，策略从未做到所要衡量的事。",
        (*(Evidence(t.file, int(t.lines[0]) or None, metric=c.name, value=0.0) for t, c in tried[:3]),
         reward.evidence(len(reward) - 1)),
        {"points": len(table), "value": 0.0},
    )]  # fmt: skip


def _told(runs: list[Line]) -> Finding | None:
    runs = [r for r in runs if len(r) >= POINTS]
    total = sum(map(len, runs))
    if len(runs) < RUNS or total < TOGETHER:
        return None
    values = np.concatenate([r.values for r in runs])
    gains = [float(r.values[len(r) // 2 :].mean() - r.values[: len(r) // 2 or 1].mean()) for r in runs]
    spread = float(np.median([r.values.std(ddof=1) for r in runs]))
    error = max(float(np.std(gains, ddof=1)), spread) / sqrt(len(gains))
    mean = float(np.mean(gains))
    if error <= 0 or mean > GAIN * error or (values.max() <= 1 and float(np.median(values)) >= TOP):
        return None
    longest = max(runs, key=len)
    first, last = float(longest.values[0]), float(longest.values[-1])
    return Finding(
        "reward-flat", Severity.S2,
        f"None of {len(runs)} short runs in {longest.file} raises {longest.key}: the mean gain from the first half to "
        f"the second is {mean:+.3g} (standard error {error:.2g}, {total} points); the longest goes from {first:.3g} to "
        f"{last:.3g} in {len(longest)}.",
        f"{longest.file} 里的 {len(runs)} 次短训练都没有提高 {longest.key}：后半段比前半段平均变化 {mean:+.3g}（标准误 "
        f"{error:.2g}，共 {total} 个点）；最长的一次 {len(longest)} 个点从 {first:.3g} 到 {last:.3g}。",
        (longest.evidence(0), longest.evidence(len(longest) - 1)),
        {"runs": len(runs), "points": total, "gain": mean, "standard_error": error},
    )  # fmt: skip


def goal_stays(lines: Sequence[Line]) -> list[Finding]:
    """A held-out or trained reward that rises for certain, and a share of right answers beside it that does not.

    The reward is then paid for something else: a format, a part of the way, a worse answer. Where another test of the
    same run is passed more often, it is paid for that; the trained problems are no test of a held-out one.
    """
    whole = [x for line in lines if not line.group and len(x := line.finite()) >= LONG]
    rewards = [x for x in whole if x.name in ("reward", "eval_reward") and rises(x)]
    goals = sorted((x for x in whole if _is_goal(x)), key=lambda x: not _held(x))
    gained = [x for x in goals if _gain(x) >= MOVES and rises(x)]
    for goal in goals:
        beside = [r for r in rewards if _of_one(r, goal)]
        open_ = 0 < goal.values.max() < TOP * _whole(goal.values)
        others = any(_of_one(x, goal) and _held(x) >= _held(goal) for x in gained)
        if beside and open_ and not others and _gain(goal) < MOVES:
            return [_paid(beside[0], goal, *_ends(goal.values))]
    return []


def _of_one(one: Line, other: Line) -> bool:
    """Whether two measures are of one run."""
    return one.file == other.file and one.attempt == other.attempt and one.key != other.key


def _held(line: Line) -> bool:
    return HELD.search(plain(line.key)) is not None


def _gain(line: Line) -> float:
    first, last = _ends(line.values)
    return last - first


def _ends(values: np.ndarray) -> tuple[float, float]:
    """Means of the first and the last third, as shares of one."""
    third = len(values) // 3
    return float(values[:third].mean()) / _whole(values), float(values[-third:].mean()) / _whole(values)


def _whole(values: np.ndarray) -> float:
    return 100.0 if values.max() > 1 else 1.0


def _is_goal(line: Line) -> bool:
    said = plain(line.key)
    inside = 0 <= line.values.min() <= line.values.max() <= 100
    return bool(GOAL.search(said)) and not BESIDE.search(said) and inside


def rises(line: Line) -> bool:
    """By a twentieth of its level and four standard errors from the first third to the last."""
    third = len(line) // 3
    if not third:
        return False
    first, last = line.values[:third], line.values[-third:]
    gain = float(last.mean() - first.mean())
    steps = np.abs(np.diff(line.values))
    noise = float(np.median(steps)) / 0.954 * sqrt(2 / third)
    return gain > max(0.05 * abs(float(first.mean())), 4 * noise)


def _paid(reward: Line, goal: Line, first: float, last: float) -> Finding:
    a, b = (float(v.mean()) for v in (reward.values[: len(reward) // 3], reward.values[-(len(reward) // 3) :]))
    return Finding(
        "goal-stays-while-reward-rises", Severity.S2,
        f"{reward.key} rises from {a:.4g} to {b:.4g} while {goal.key} stays ({first:.1%} in the first third, "
        f"{last:.1%} in the last, {len(goal)} points): the reward is paid for something else.",
        f"{reward.key} 从 {a:.4g} 升到 {b:.4g}，而 {goal.key} 没有动（前三分之一 {first:.1%}，后三分之一 {last:.1%}，"
        f"共 {len(goal)} 个点）：奖励付给了别的东西。",
        (goal.evidence(len(goal) - 1), goal.evidence(0), reward.evidence(len(reward) - 1)),
        {"reward": [a, b], "goal": [first, last]},
    )  # fmt: skip
