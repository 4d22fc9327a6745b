"""A value model that explains nothing of the returns to the end, or whose estimates lie far from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Finding, Severity
from ...patterns import bounded
from ..line import Line, plain
from .read import Course, noise, part

LEAST, EARLY = 20, 0.2
"""Points at least, and share of them that may be a warm-up."""
NOTHING, SOME = 0.05, 0.25
"""Middle value and 90th percentile of the explained variance up to which nothing is explained."""
OFF = 0.5
"""Share of the returns' level by which the estimates are off."""
EXPLAINED = bounded(r"(?:^|_)(?:ev|expl_?var\w*|explained_?var\w*|var_?expl\w*|vf_ev|r2)(?:_|$)|解释方差|解释度")
SURE = bounded(r"expl|解释")
CRITIC = bounded(
    r"(?:^|_)(?:v|vf|value|values|vhat|vpred|critic|baseline|ret|returns?|adv|advantage|b_l2|gae)(?:_|$)|价值|优势|回报"
)
VALUE = bounded(
    r"(?:^|_)(?:v|vf|vhat|values?|vpred\w*|critic|baseline)(?:_(?:hat|pred\w*|est\w*|value|fn))?_(?:mean|avg|mu)$"
    r"|^(?:vhat|values?|vpred|v)$|价值\S{0,3}均值|价值估计"
)
RETURN = bounded(
    r"(?:^|_)(?:g|ret|returns?|targets?|rtg|td_target)_(?:mean|avg|mu)$|^(?:returns?|rtg)$|回报\S{0,2}均值|^回报$"
)
REWARD = bounded(r"(?:^|_)(?:rewards?|rm|score|scores|rew)(?:_(?:mean|avg|raw|total))?$|奖励\S{0,2}|得分")


def unlearned(found: Sequence[Course]) -> Iterator[Finding]:
    """The first course with a critic that is of no use throughout."""
    for course in found:
        lines = [x for x in course.lines if len(x) >= LEAST and not x.group]
        share = next((x for x in lines if _explained(x, lines)), None)
        values, returns = (next((x for x in lines if p.search(plain(x.key))), None) for p in (VALUE, RETURN))
        off = _off(values, returns)
        if share is not None:
            rest = part(share, EARLY, 1.0)
            if np.median(rest) > NOTHING or np.percentile(rest, 90) > SOME:
                continue
        elif off is None:
            continue
        reward = next((x for x in lines if x.name == "reward" or REWARD.search(plain(x.key))), None)
        if share is not None:
            yield _told(share, values if off is not None else None, returns, reward)
            return
        if off is not None and values is not None and returns is not None and not _rises(reward):
            yield _far(values, returns, reward)
            return


def _explained(line: Line, lines: Sequence[Line]) -> bool:
    key = plain(line.key)
    if line.name != "explained_variance" and not EXPLAINED.search(key):
        return False
    sure = line.name == "explained_variance" or SURE.search(key)
    beside = any(x is not line and CRITIC.search(plain(x.key)) for x in lines)
    return bool((sure or beside) and line.values.max() <= 1.001 and np.ptp(line.values) > 0)


def _off(values: Line | None, returns: Line | None) -> float | None:
    """How far the estimates lie from the returns throughout, to one side; None where they come near them."""
    if values is None or returns is None or values is returns:
        return None
    _, i, j = np.intersect1d(values.x, returns.x, return_indices=True)
    if len(i) < LEAST:
        return None
    rest = slice(int(EARLY * len(i)), None)
    apart = (values.values[i] - returns.values[j])[rest]
    level = float(np.median(np.abs(returns.values[j][rest])))
    far = float(np.median(apart))
    one_side = float(np.mean(np.sign(apart) == np.sign(far)))
    least = max(OFF * level, 4 * noise(returns.values))
    return (
        far
        if abs(far) >= least and one_side >= 0.9 and np.abs(apart[-max(LEAST // 4, 1) :]).min() >= 0.5 * least
        else None
    )


def _rises(line: Line | None) -> bool:
    """Whether the reward ends clearly above where it began."""
    if line is None:
        return False
    begin, end = np.median(part(line, 0, 0.1)), np.median(part(line, 0.9, 1))
    return bool(end - begin > max(noise(line.values), 0.03 * abs(begin)))


def _course(reward: Line | None) -> tuple[str, str]:
    if reward is None:
        return "", ""
    begin, end = float(np.median(part(reward, 0, 0.1))), float(np.median(part(reward, 0.9, 1)))
    return f"; {reward.key} goes from {begin:.4g} to {end:.4g}", f"；{reward.key} 从 {begin:.4g} 到 {end:.4g}"


def _told(share: Line, values: Line | None, returns: Line | None, reward: Line | None) -> Finding:
    middle = float(np.median(part(share, EARLY, 1.0)))
    useless = reward is not None and not _rises(reward)
    en, zh = _course(reward)
    if values is not None and returns is not None:
        v, g = float(np.median(part(values, EARLY, 1))), float(np.median(part(returns, EARLY, 1)))
        en = f"; {values.key} is about {v:.3g} where {returns.key} is {g:.3g}{en}"
        zh = f"；{values.key} 约为 {v:.3g}，而 {returns.key} 为 {g:.3g}{zh}"
    return Finding(
        "critic-explains-nothing" if useless else "critic-behind", Severity.S2 if useless else Severity.S3,
        f"{share.key} (explained variance) is about {middle:.3g} to the end ({len(share)} points): the value model is "
        f"no better than a constant{en}.",
        f"{share.key}（解释方差）直到最后约为 {middle:.3g}（{len(share)} 个点）：价值模型不比常数好{zh}。",
        (share.evidence(-1), share.evidence(0), *((values.evidence(-1),) if values is not None else ()),
         *((reward.evidence(-1),) if reward is not None else ())),
        {"explained": middle, "points": len(share)},
    )  # fmt: skip


def _far(values: Line, returns: Line, reward: Line | None) -> Finding:
    v, g = float(np.median(part(values, EARLY, 1))), float(np.median(part(returns, EARLY, 1)))
    en, zh = _course(reward)
    return Finding(
        "values-far-from-returns", Severity.S2,
        f"{values.key} is about {v:.3g} where {returns.key} is {g:.3g}, to the end{en}.",
        f"{values.key} 约为 {v:.3g}，而 {returns.key} 为 {g:.3g}，直到最后都没有接近{zh}。",
        (values.evidence(-1), returns.evidence(-1), *((reward.evidence(-1),) if reward is not None else ())),
        {"values": v, "returns": g},
    )  # fmt: skip
