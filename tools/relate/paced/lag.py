"""The age of the samples that a policy is trained on, in its own updates: how it grows, and what goes with it.

The age is a column of its own, or the difference of two: the version that trains, and the version that sampled. An
age that grows by one with every update is of weights that do not arrive at all, and no matter of this file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...data.statistics import spearman
from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ..line import plain
from .frames import Frame

AGE = bounded(
    r"(?:^|_)(?:age|ages|stale|staleness|lag|lags|lagging|delay|behind|off_?policy(?:ness)?|off_?by|outdated\w{0,4}"
    r"|(?:policy|version|weights?|model|param(?:eter)?s?)_?(?:gap|diff|delta|distance|drift|offset))(?:_|$)"
    r"|年龄|落后|滞后|陈旧|过期|旧了|版本差|策略差|相差版本|隔了"
)
NO_AGE = bounded(
    r"(?:^|_)(?:s|ms|us|sec|secs|seconds?|min|minutes|hours?|h|frac|fraction|share|pct|percent|ratio|rate|count|num|n"
    r"|dropped|drops?|discarded|network|net|kafka|io|p2p|consumer|bytes|tokens?|cap|limit|max_allowed|weight)(?:_|$)"
    r"|秒|分钟|小时|占比|比例|数量|丢弃"
)
"""Ages in seconds, shares and counts of old samples, lags of anything else."""
VERSION = bounded(
    r"(?:^|_)(?:v|ver|vers|version|versions|iter|iteration|gen_?step|ckpt|snapshot|weights?|param(?:eter)?s?|policy"
    r"|rev|tag|tags|upd|updates?|step)(?:_|\d|$)|(?:^|_)v\d?(?:lo|avg|min|mean|hi|max)(?:_|$)|版本|权重|轮次"
)
SAMPLED = bounded(
    r"sampl|roll|gener|(?:^|_)gens?(?:_|$)|behav|actor|made|data|batch|traj|episode|experience|buffer|queue|oldest"
    r"|engine|infer|explor|worker|collect|born|origin|source|behind_policy|(?:^|_)(?:mu|old|used)(?:_|$)"
    r"|采样|样本|生成|数据|旧|推理|轨迹|回放"
)
TRAINS = bounded(
    r"learn|train|curr|current|now|latest|(?:^|_)(?:pi|new|update|upd|u|step|iter)(?:_|$)|训练|当前|最新|学习|更新"
)
WAY = bounded(r"^(?:u|upd|upds|update|updates|step|steps|it|iter|iteration|global_step|train_step|更新|步|步数|轮)$")
TAIL = bounded(
    r"clip|(?:^|_)cut|out_of|outside|ratio|(?:^|_)kl(?:_|$)|(?:^|_)(?:is|w|rho|iw|importance)_?(?:weights?_?)?(?:p\d{2,3}"
    r"|max|q\d{2,3}|tail|std|var)|importance|truncat|裁剪|截断|比值|越界|重要性|散度"
)
NO_TAIL = bounded(
    r"grad|(?:^|_)(?:gn|gnorm|norm|len|length|resp\w{0,8}|lr|tokens?|accept\w{0,5}|compress\w{0,6}|mean|avg|min)(?:_|$)"
    r"|梯度|长度|均值"
)
REWARD = bounded(
    r"(?:^|_)(?:rew|rews|reward|rewards|ret|return|returns|acc|accuracy|score|scores|success|solved?|pass|win|correct"
    r"|pass_?rate|solve_?rate|pass_?at_?\d)(?:_|$)|奖励|得分|分数|准确|正确|成功|通过|胜率|解出"
)
NO_REWARD = bounded(r"std|var|(?:^|_)(?:acceptance|len|format|max|min|baseline|adv)(?:_|$)|标准差|方差|格式")
EXTREME = bounded(
    r"(?:^|_)(?:max|min|lo|low|oldest|p\d{2}|newest|hi|high|std|最大|最小|最旧)(?:_|$)|v_?(?:lo|hi)$|最大|最小|最旧"
)
MEAN = bounded(r"mean|avg|average|p50|median|均|平均")
COUNTED = bounded(r"(?:^|_)(?:tokens?|samples?_seen|consumed|count|n|num|total|bytes|size|len|ready)(?:_|$)|数量|总数")
LEAST_ROWS, MOST_AGE = 30, 5000.0
BLOCKS = 10
"""Parts of the way whose medians are compared."""
OLD, TIMES, FRESH = 4.0, 3.0, 1.7
"""Updates that samples are old at least, times that their age grew, and age up to which samples are fresh."""
RISES, FOLLOWS, TURNED = 2.0, 0.45, 0.85
"""Times that the tail rises, rank correlation by which it follows, share of its best that the reward is left at."""
UNSYNCED = 0.8
"""Updates that the age grows by each update, from which on no weights arrive."""


@dataclass(frozen=True)
class Aged:
    """The age of the samples of one file, by its rows."""

    frame: Frame
    name: str
    """How the age is called: a column, or `a - b`."""
    shown: str
    """The column that evidence shows."""
    age: np.ndarray
    rows: np.ndarray
    """Rows of the frame that have an age."""

    def blocks(self, column: str) -> np.ndarray:
        """(10,) medians of a column's parts."""
        return medians(self.frame.columns[column][self.rows])


def medians(values: np.ndarray) -> np.ndarray:
    """(10,) medians of the parts of a row of numbers, NaN where a part has none."""
    parts = [part[np.isfinite(part)] for part in np.array_split(values, BLOCKS)]
    return np.array([float(np.median(part)) if len(part) else np.nan for part in parts])


def lagging(frames: Sequence[Frame]) -> Iterator[Finding]:
    """Runs whose samples get older and older, or are old from the beginning where a sibling's are fresh."""
    aged = [a for frame in frames if (a := _aged(frame)) is not None]
    fresh = [a for a in aged if medians(a.age).max() <= FRESH]
    told = 0
    for one in aged:
        if told < 2 and (found := _judged(one, fresh)) is not None:
            told += 1
            yield found


def _aged(frame: Frame) -> Aged | None:
    """The age that a file gives, by a column of it or by two versions."""
    ages = [n for n in frame.columns if AGE.search(plain(n)) and not NO_AGE.search(plain(n))]
    for name in sorted(ages, key=_central):
        values = frame.columns[name]
        rows = np.flatnonzero(np.isfinite(values))
        if len(rows) >= LEAST_ROWS and values[rows].min() >= -0.5 and values[rows].max() < MOST_AGE:
            return Aged(frame, name, name, values[rows], rows)
    return _apart(frame)


def _central(name: str) -> int:
    """Means before extremes: the oldest sample is not what a batch is made of."""
    own = plain(name)
    return 2 if EXTREME.search(own) else 0 if MEAN.search(own) else 1


def _apart(frame: Frame) -> Aged | None:
    """The version that trains less the one that sampled: both count on, the one behind the other."""
    counting = {n: v for n, v in frame.columns.items() if _counts_on(v)}
    sampled = [n for n in counting if _of_sampler(n)]
    learner = [n for n in counting if n not in sampled and (VERSION.search(plain(n)) or WAY.search(plain(n)))]
    learner.sort(key=lambda n: not (TRAINS.search(plain(n)) and not WAY.search(plain(n))))
    for name in sorted(sampled, key=_central):
        for other in learner:
            age = counting[other] - counting[name]
            rows = np.flatnonzero(np.isfinite(age))
            some = age[rows]
            if len(rows) < LEAST_ROWS or (some < -1.5).mean() > 0.02 or some.max() >= MOST_AGE:
                continue
            if _slope(counting[name][rows]) >= 0.5 * _slope(counting[other][rows]) > 0:
                return Aged(frame, f"{other} - {name}", name, some, rows)
    return None


def _of_sampler(name: str) -> bool:
    own = plain(name)
    return bool(VERSION.search(own) and SAMPLED.search(own) and not WAY.search(own) and not COUNTED.search(own))


def _counts_on(values: np.ndarray) -> bool:
    """Whether a column goes on with the rows, by about one a row."""
    finite = values[np.isfinite(values)]
    if len(finite) < LEAST_ROWS or finite.min() < -5:
        return False
    rows = np.arange(len(finite), dtype=float)
    return bool(np.ptp(finite) >= 0.3 * len(finite) and spearman(rows, finite) > 0.95)


def _slope(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    fifth = max(1, len(finite) // 5)
    return float(np.median(finite[-fifth:]) - np.median(finite[:fifth]))


def _judged(one: Aged, fresh: Sequence[Aged]) -> Finding | None:
    """The finding of one run, and whether what goes with its age has turned the reward."""
    blocks = medians(one.age)
    if not np.isfinite(blocks).all():
        return None
    first, high = float(min(blocks[0], np.median(one.age[: max(5, len(one.age) // 50)]))), float(blocks.max())
    beside = next((f for f in fresh if f is not one and _alike(f, one)), None)
    grew = high >= max(OLD, TIMES * max(first, 0.0) + 1) and high - first >= OLD - 1
    old = bool(np.median(one.age) >= OLD and beside is not None)
    if not (grew or old) or _never_synced(one) or blocks[-1] < 0.5 * high:
        return None
    tail, reward = _tail(one, beside), _turned(one, blocks, beside)
    if tail is None or (not grew and reward is None):
        return None
    return _told(one, first, high, tail, reward, beside)


def _alike(a: Aged, b: Aged) -> bool:
    names, others = ({plain(n) for n in x.frame.columns} for x in (a, b))
    return len(names & others) >= max(3, min(len(names), len(others)) // 2)


def _never_synced(one: Aged) -> bool:
    """Whether some fifth of the way has no new weights at all."""
    way = next((one.frame.columns[n][one.rows] for n in one.frame.columns if WAY.search(plain(n))), None)
    if way is None or not np.isfinite(way).all() or (np.diff(way) <= 0).any():
        way = np.arange(len(one.age), dtype=float)
    fifth = len(one.age) // 5
    grown, steps = one.age[fifth:] - one.age[:-fifth], way[fifth:] - way[:-fifth]
    return bool((grown >= UNSYNCED * steps).any())


def _tail(one: Aged, beside: Aged | None) -> tuple[str, float, float] | None:
    """(column, early, late) of the clip fraction or tail of the ratio that rises with the age."""
    best: tuple[float, str, float, float] | None = None
    for name, values in one.frame.columns.items():
        own = plain(name)
        if not TAIL.search(own) or NO_TAIL.search(own) or not np.isfinite(values[one.rows]).all():
            continue
        some = values[one.rows]
        base = 1.0 if "ratio" in own and np.median(some) > 0.9 else 0.0
        base = 1.0 if base or (some.min() > 0.9 and some.max() < 1000) else 0.0
        blocks = medians(some) - base
        start = float(np.median(some[: max(5, len(some) // 50)])) - base
        if beside is not None and name in beside.frame.columns:
            start = float(np.nanmedian(beside.frame.columns[name])) - base
            follows = FOLLOWS
        else:
            follows = spearman(one.age, some)
        late = float(np.median(blocks[-5:]))
        if follows >= FOLLOWS and late > 0 and late >= RISES * max(start, 0.0):
            rank = late / max(start, 1e-6)
            if best is None or rank > best[0]:
                best = (rank, name, start + base, late + base)
    return best[1:] if best else None


def _turned(one: Aged, blocks: np.ndarray, beside: Aged | None) -> tuple[str, float, float] | None:
    """(column, best, end) of a reward that rose, and turned when the samples were old."""
    for name, values in one.frame.columns.items():
        own = plain(name)
        if not REWARD.search(own) or NO_REWARD.search(own) or not np.isfinite(values[one.rows]).all():
            continue
        some = medians(values[one.rows])
        top = int(some.argmax())
        if some[top] <= 0 or some[-1] > TURNED * some[top] or top >= BLOCKS - 1:
            continue
        if blocks[min(top + 1, BLOCKS - 1) :].max() < 0.8 * blocks.max():
            continue
        if beside is not None and name in beside.frame.columns:
            other = medians(beside.frame.columns[name])
            if np.isfinite(other).all() and other[-1] < TURNED * other.max():
                continue  # it turns without any age as well
        return name, float(some[top]), float(some[-1])
    return None


def _told(
    one: Aged,
    first: float,
    high: float,
    tail: tuple[str, float, float],
    reward: tuple[str, float, float] | None,
    beside: Aged | None,
) -> Finding:
    at = int(np.flatnonzero(one.age >= 0.9 * high)[0])
    name, low, late = tail
    en = [f"{one.name} in {one.frame.file} goes from {max(first, 0.0):.3g} to {high:.3g}: the samples are made by a "
          f"policy that is {high:.3g} updates old", f"{name} rises with it from {low:.4g} to {late:.4g}"]  # fmt: skip
    zh = [f"{one.frame.file} 中 {one.name} 从 {max(first, 0.0):.3g} 增到 {high:.3g}：样本来自 {high:.3g} "
          f"次更新之前的策略",
          f"{name} 随之从 {low:.4g} 升到 {late:.4g}"]  # fmt: skip
    places: list[Evidence] = [one.frame.evidence(one.shown, int(one.rows[i])) for i in (0, at)]
    places.append(one.frame.evidence(name, int(one.rows[-1])))
    if reward is not None:
        en.append(f"{reward[0]} turns from {reward[1]:.4g} to {reward[2]:.4g}")
        zh.append(f"{reward[0]} 从 {reward[1]:.4g} 掉到 {reward[2]:.4g}")
        places.append(one.frame.evidence(reward[0], int(one.rows[-1])))
    if beside is not None:
        age = float(np.median(beside.age))
        en.append(f"in {beside.frame.file}, where the age is {age:.2g}, neither is so")
        zh.append(f"而 {beside.frame.file} 中样本年龄为 {age:.2g}，没有这种情况")
        places.append(beside.frame.evidence(beside.shown, len(beside.frame) - 1))
    code, severity = ("samples-too-old", Severity.S2) if reward is not None else ("samples-older", Severity.S3)
    return Finding(
        code, severity, f"{'; '.join(en)}.", f"{'；'.join(zh)}。", tuple(places),
        {"age": high, "young": first, "metric": plain(one.shown), "rises": plain(name),
         "sibling": beside.frame.file if beside else ""},
    )  # fmt: skip
