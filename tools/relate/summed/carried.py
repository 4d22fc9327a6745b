"""A reward that is the sum of measures beside it, and that rises by one of them while another falls.

What the parts mean need not be known where they make the reward in every row. Where they are weighted, or the reward
is averaged otherwise, their names have to say that they are its parts, and that what falls is being right. What is
taken off for a cost (a KL term, a length) is no part whose fall is a loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from ...findings import Finding, Severity
from ...patterns import bounded
from ..line import Line, means, plain

LEAST, MOST_PARTS, MOST_BESIDE = 16, 3, 16
"""Points, measures that make the sum, and measures beside the reward that are tried."""
EXACT, NEARLY_ALL = 2e-3, 0.95
"""Share by which a sum may be off for rounding, and rows in which it holds."""
LOST, CLEAR = 0.2, 4.0
"""Share of a part that is lost, and standard errors between its first and its last third. Own judgement."""
COST = bounded(r"penal|(?:^|_)(?:kl|cost|loss|std|var|entropy|len|length|lr)(?:_|$)|惩罚|长度|熵")

PART = bounded(r"^(?:train_|eval_|actor_|critic_)?rewards?_(?!std|mean|min|max|total|sum|margin|chosen|rejected"
               r"|accurac)\w{2,60}$|^(?!total|mean|std|avg|max|min|sum|eval|train|frac|zero)[a-z]\w{1,40}_(?:reward|rew)"
               r"(?:_mean)?$|^r_[a-z]\w{1,40}$|奖励.{1,12}|.{1,12}奖励")  # fmt: skip
"""Names of parts of a reward."""
SPREAD = bounded(r"(?:^|_)(?:std|zero|frac|var|min|max|clip\w*|norm)(?:_|$)|标准差|方差")
RIGHT = bounded(r"correct|accura|(?:^|_)acc(?:_|$)|solve|right|answer|exact|match|verif|(?:^|_)task(?:_|$)|outcome"
                r"|unit_?test|tests?_?pass|pass(?:_|$)|goal|success|正确|准确|答案|解题|通过")  # fmt: skip
"""Names of a part that pays for being right."""


def carried(lines: Sequence[Line]) -> Iterator[Finding]:
    """Rewards that rise by one part at the cost of another, each once."""
    for reward in lines:
        if reward.name == "reward" and reward.axis == "step" and len(reward) >= LEAST and np.ptp(reward.values) > 0:
            beside = [o for o in lines if o is not reward and _alike(o, reward)][:MOST_BESIDE]
            parts = _parts(reward, beside)
            if (found := _told(reward, parts or _named(beside), not parts)) is not None:
                yield found


def _named(beside: Sequence[Line]) -> list[Line]:
    """The measures that are called parts of a reward."""
    return [o for o in beside if PART.search(plain(o.key)) and not SPREAD.search(plain(o.key))]


def _alike(line: Line, reward: Line) -> bool:
    """Whether a measure stands in the same rows and can be a part of the sum."""
    same = (line.file, line.attempt, line.group, line.axis) == (
        reward.file, reward.attempt, reward.group, reward.axis
    )  # fmt: skip
    return (
        same
        and np.array_equal(line.x, reward.x)
        and bool(np.isfinite(line.values).all() and np.ptp(line.values) > 0)
        and not np.allclose(line.values, reward.values)
    )


def _parts(reward: Line, beside: Sequence[Line]) -> tuple[Line, ...]:
    """The fewest measures that make the reward in nearly every row."""
    room = EXACT * max(float(np.abs(reward.values).max()), 1e-12)
    for n in range(2, MOST_PARTS + 1):
        for some in combinations(beside, n):
            off = np.abs(np.sum([p.values for p in some], axis=0) - reward.values)
            if (off <= room).mean() >= NEARLY_ALL:
                return some
    return ()


def _moved(line: Line) -> tuple[float, float, float]:
    """The means of the first and the last third, and the standard errors between them."""
    third = len(line) // 3
    first, last = line.values[:third], line.values[-third:]
    error = float(np.sqrt(first.var(ddof=1) / third + last.var(ddof=1) / third)) or 1e-12
    return float(first.mean()), float(last.mean()), (float(last.mean()) - float(first.mean())) / error


def _told(reward: Line, parts: Sequence[Line], named: bool = False) -> Finding | None:
    if len(parts) < 2:
        return None
    before, after, rise = _moved(reward)
    if rise < CLEAR:
        return None
    moved = [(p, *_moved(p)) for p in parts]
    fallen = [
        (p, old, new) for p, old, new, z in moved
        if z <= -CLEAR and old > 0 and new <= (1 - LOST) * old and not means(COST, p.key)
        and (not named or RIGHT.search(plain(p.key)))
    ]  # fmt: skip
    up, low, high, gain = max(moved, key=lambda part: part[2] - part[1])
    if not fallen or means(COST, up.key) or gain < CLEAR:
        return None
    worst, old, new = fallen[0]
    sum_of = " + ".join(p.key for p in parts)
    is_, is_zh = ("is made of", "由以下部分组成：") if named else ("is", "在每一行都等于")
    where = "" if named else " in every row"
    return Finding(
        "reward-carried-by-part", Severity.S1,
        f"{reward.said} {is_} {sum_of}{where}; it rises from {before:.4g} to {after:.4g} (means of the first and "
        f"the last third) by {up.key} ({low:.4g} -> {high:.4g}) alone, "
        f"while {worst.key} falls ({old:.4g} -> {new:.4g}).",
        f"{reward.said} {is_zh} {sum_of}；它从 {before:.4g} 升到 {after:.4g}（前后三分之一的均值）只靠 {up.key}"
        f"（{low:.4g} -> {high:.4g}），而 {worst.key} 在下降（{old:.4g} -> {new:.4g}）。",
        (worst.evidence(len(worst) - 1), up.evidence(len(up) - 1), reward.evidence(0)),
        {"parts": [p.key for p in parts], "up": up.key, "down": worst.key, "before": old, "after": new},
    )  # fmt: skip
