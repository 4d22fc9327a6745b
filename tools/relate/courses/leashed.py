"""A policy that does not move, beside one that learned under a far smaller weight of the KL penalty."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np

from ...findings import PROPOSES, Evidence, Finding, Severity, clean
from ...patterns import bounded
from ...run import Run
from ..line import Line, plain
from .read import Course, noise
from .told import COEFFICIENT, numbers

LEAST = 40
HEAVIER, NEARER = 5.0, 0.2
"""Times the other's weight that the penalty has, and share of the other's divergence that it reaches at most."""
ROSE, STOOD = 6.0, 0.2
"""Standard errors by which the other's reward rose, and share of that rise up to which this one's counts as none."""
REWARD = bounded(
    r"^(?:mean_|avg_|train_)?(?:r|rew|reward|rewards|ret|return|returns|score)(?:_(?:mean|avg))?$|^奖励(?:均值)?$"
)
KL = bounded(r"(?:^|_)kl(?:_|$)|散度")
OTHER_KL = bounded(r"(?:^|_)(?:approx|ppo|old|step|update|pen|penalty|loss|coef|coeff|target|weight|beta)(?:_|$)")
"""A divergence from the policy of the last update, or a term that is made of one."""


COMMON = frozenset(("train", "log", "run", "config", "conf", "metrics", "rl", "grpo", "ppo", "args"))


@dataclass(frozen=True)
class Held:
    """One RL training: its reward, its distance from the reference, and the weight of that distance."""

    course: Course
    reward: Line
    kl: Line
    weight: float
    place: Evidence


def leashed(run: Run, found: Sequence[Course]) -> Iterator[Finding]:
    """The policy that stands still beside the one that learned."""
    pairs = [(c, r, k) for c in found if (r := _reward(c)) is not None and (k := _kl(c)) is not None]
    if len(pairs) < 2:
        return
    logs = {c.file for c in found}
    told = [(w, e) for w, e in numbers(run, COEFFICIENT, ("kl", "beta", "散度")) if w > 0 and e.file not in logs]
    some = [Held(c, r, k, *own) for c, r, k in pairs if (own := _own(c.file, told)) is not None]
    for one in some:
        for other in some:
            if one.weight >= HEAVIER * other.weight > 0 and _stands(one, other):
                yield _told(one, other)
                return


def _reward(course: Course) -> Line | None:
    lines = [x for x in course.lines if len(x) >= LEAST and (x.name == "reward" or REWARD.search(plain(x.key)))]
    return max(lines, key=lambda x: (x.name == "reward", len(x)), default=None)


def _kl(course: Course) -> Line | None:
    named = [(plain(x.key), x) for x in course.lines if len(x) >= LEAST]
    lines = [x for key, x in named if KL.search(key) and not OTHER_KL.search(key)]
    return max(lines, key=lambda x: ("ref" in plain(x.key), x.name == "kl", len(x)), default=None)


def _own(file: str, told: Sequence[tuple[float, Evidence]]) -> tuple[float, Evidence] | None:
    """The weight that a file of the course's own folder gives, or one that is named like the course."""
    home = PurePosixPath(file).parent
    mine = [(weight, e) for weight, e in told if e.file and PurePosixPath(e.file).parent == home]
    if str(home) == "." or len({weight for weight, _ in mine}) != 1:
        words = _words(file)
        mine = [(weight, e) for weight, e in told if words & _words(e.file or "")]
    return mine[0] if len({weight for weight, _ in mine}) == 1 else None


def _words(name: str) -> set[str]:
    return {w for w in re.split(r"[^a-z0-9]+", PurePosixPath(name).stem.lower()) if len(w) > 1} - COMMON


def _stands(one: Held, other: Held) -> bool:
    """Whether the other's reward rose over as many updates as this one has at least, and this one's did not."""
    if len(one.reward) < len(other.reward) // 2:
        return False
    mine, theirs = _gain(one.reward), _gain(other.reward)
    error = noise(other.reward.values) / np.sqrt(max(len(other.reward) // 5, 1))
    a, b = (float(np.median(h.kl.values[-(len(h.kl) // 5) :])) for h in (one, other))
    return theirs >= ROSE * error > 0 and mine <= STOOD * theirs and 0 <= a <= NEARER * b


def _gain(line: Line) -> float:
    part = max(len(line) // 5, 1)
    return float(np.median(line.values[-part:]) - np.median(line.values[:part]))


def _told(one: Held, other: Held) -> Finding:
    a, b = (float(np.median(h.kl.values[-(len(h.kl) // 5) :])) for h in (one, other))
    ends = [float(np.median(h.reward.values[-(len(h.reward) // 5) :])) for h in (one, other)]
    key = re.split(r"[:=\s]", clean(one.place.text or "", 80).strip("\"'- "), maxsplit=1)[0].strip("\"'")
    return Finding(
        "policy-held-by-penalty", Severity.S2,
        f"The reward of {one.course.file} stands at {ends[0]:.4g} and its policy hardly leaves the reference "
        f"({one.kl.key} {a:.3g}); {other.course.file} rose to {ends[1]:.4g} at {b:.3g}. The KL penalty weighs "
        f"{one.weight:g} here ({one.place.file}:{one.place.line}) and {other.weight:g} there, "
        f"{one.weight / other.weight:.3g} times as much.",
        f"{one.course.file} 的奖励停在 {ends[0]:.4g}，策略几乎没有离开参考模型（{one.kl.key} {a:.3g}）；"
        f"{other.course.file} 升到 {ends[1]:.4g}，KL 为 {b:.3g}。"
        f"这里的 KL 惩罚权重为 {one.weight:g}（{one.place.file}:{one.place.line}），"
        f"那边为 {other.weight:g}，相差 {one.weight / other.weight:.3g} 倍。",
        (one.reward.evidence(-1), one.kl.evidence(-1), other.reward.evidence(-1), other.kl.evidence(-1), one.place,
         other.place),
        {"weight": one.weight, "other_weight": other.weight, "kl": a, "other_kl": b, "reward": ends[0],
         "other_reward": ends[1],
         "asks": [{"metric": "kl", "is": "at-least", "bound": float(np.sqrt(max(a, 1e-12) * b)),
                   "en": f"{a:.3g} here, {b:.3g} where it learned", "zh": f"这里为 {a:.3g}，学到的那次为 {b:.3g}"}],
         PROPOSES: {"variable": "kl_coef", "new": other.weight, "old": f"{one.weight:g}", "key": key,
                    "file": one.place.file, "line": one.place.line}},
    )  # fmt: skip
