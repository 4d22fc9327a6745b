"""A run whose gradients are scaled down at nearly every step, beside one like it that is hardly clipped and ahead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...run import Run
from ..line import Line, plain
from .read import Course, noise
from .told import CLIP, numbers

LEAST = 40
ALWAYS, SELDOM = 0.8, 0.4
"""Share of the steps that are clipped, of the one run and of the other."""
BEHIND, FASTER = 0.008, 1.4
"""Share of the level by which the clipped run is behind, and times the other's rate that it has."""
SHARED = bounded(
    r"(?:^|_)(?:scaled|clip|clipped|clipping|clipfrac|clips)_(?:share|frac\w*|rate|ratio|hit|pct|percent|prop\w*)(?:_|$)"
    r"|(?:^|_)(?:share|frac\w*|rate|ratio|pct)_(?:of_)?(?:clip|clipped|scaled)(?:_|$)|^grad_clip_rate$|裁剪(?:率|比例|占比)"
)
RL = bounded(r"(?:^|_)(?:kl|reward|rm|adv|advantage|entropy|ratio|rollout)(?:_|$)|奖励|优势")
_PIECE = re.compile(r"[a-z0-9]+|[一-鿿]+")
_COMMON = frozenset(("metrics", "log", "train", "yaml", "json", "csv", "txt", "out", "conf", "config", "jsonl", "run"))


@dataclass(frozen=True)
class Clipped:
    """How often one course was clipped behind its warm-up."""

    course: Course
    share: float
    line: Line
    """By which it is known."""
    middle: float | None
    """Of the norm, where that is what is known."""
    clip: float | None
    place: Evidence | None


def clipped(run: Run, found: Sequence[Course]) -> Iterator[Finding]:
    """The clipped run beside one that is ahead of it."""
    some = [c for c in found if c.loss is not None and c.loss.axis == "step" and len(c.loss) >= LEAST and not is_rl(c)]
    if len(some) < 2 or not any(_known(c) for c in some):
        return
    limits = list(numbers(run, CLIP, ("clip", "max_", "max-", "裁剪"))) if any(c.norm is not None for c in some) else []
    measured = [m for c in some if (m := _measured(c, limits)) is not None]
    for one in measured:
        for other in measured:
            if one.share >= ALWAYS and other.share <= SELDOM and (gap := _behind(one.course, other.course)) is not None:
                yield _told(one, other, gap)
                return


def _known(course: Course) -> bool:
    return course.norm is not None or any(SHARED.search(plain(x.key)) for x in course.lines)


def is_rl(course: Course) -> bool:
    return any(RL.search(plain(x.key)) for x in course.lines)


def _measured(course: Course, limits: Sequence[tuple[float, Evidence]]) -> Clipped | None:
    begin = warm(course)
    shared = next((x for x in course.lines if SHARED.search(plain(x.key)) and x.values.max() <= 100), None)
    if shared is not None and len(rest := shared.values[shared.x >= begin]) >= LEAST // 2:
        scale = 100.0 if rest.max() > 1.001 else 1.0
        return Clipped(course, float(rest.mean()) / scale, shared, None, None, None)
    norm = course.norm
    if norm is None or len(rest := norm.values[norm.x >= begin]) < LEAST // 2:
        return None
    own = _own(course, limits)
    if own is None or own[0] <= 0:
        return None
    return Clipped(course, float(np.mean(rest > own[0])), norm, float(np.median(rest)), own[0], own[1])


def warm(course: Course) -> float:
    """The step from which on the warm-up is over."""
    x = course.loss.x if course.loss is not None else np.zeros(1)
    begin = float(x[0] + 0.1 * (x[-1] - x[0]))
    if course.rate is None:
        return begin
    return max(begin, float(course.rate.x[int(np.argmax(course.rate.values >= 0.97 * course.rate.values.max()))]))


def _own(course: Course, limits: Sequence[tuple[float, Evidence]]) -> tuple[float, Evidence] | None:
    """The one limit that all files give, or that of the file which is named like the course."""
    if len({value for value, _ in limits}) == 1:
        return limits[0]
    mine = _words(course.file)
    ranked = sorted(((len(mine & _words(e.file or "")), value, e) for value, e in limits), key=lambda r: -r[0])
    if not ranked or not ranked[0][0] or len({value for n, value, _ in ranked if n == ranked[0][0]}) > 1:
        return None
    return ranked[0][1], ranked[0][2]


def _words(name: str) -> set[str]:
    return set(_PIECE.findall(str(PurePosixPath(name)).lower())) - _COMMON


def _behind(one: Course, other: Course) -> tuple[int, float, float] | None:
    """(step, loss, loss of the other) where the first is behind over the end of the common way."""
    a, b = one.loss, other.loss
    if a is None or b is None or (a.name, plain(a.key)) != (b.name, plain(b.key)):
        return None
    end = min(a.x[-1], b.x[-1])
    begin = end - 0.2 * (end - max(a.x[0], b.x[0]))
    mine = a.only((a.x >= begin) & (a.x <= end))
    theirs = np.interp(mine.x, b.x, b.values)
    if len(mine) < 5 or not (one.rate and other.rate):
        return None
    level, better = float(np.median(mine.values)), float(np.median(theirs))
    spread = noise(a.values) / np.sqrt(len(mine))
    faster = one.rate.values.max() >= FASTER * other.rate.values.max()
    return (int(end), level, better) if faster and level - better >= max(BEHIND * better, 5 * spread) else None


def _told(one: Clipped, other: Clipped, gap: tuple[int, float, float]) -> Finding:
    step, level, better = gap
    rates = [float(m.course.rate.values.max()) if m.course.rate else 0.0 for m in (one, other)]
    en = f" (clip {one.clip:g}, median norm {one.middle:.3g})" if one.middle is not None else ""
    zh = f"（阈值 {one.clip:g}，范数中位数 {one.middle:.3g}）" if one.middle is not None else ""
    loss = [m.course.loss for m in (one, other)]
    return Finding(
        "clipped-throughout-and-behind", Severity.S2,
        f"Behind the warm-up {one.share:.0%} of the steps of {one.course.file} are clipped{en}, of {other.course.file} "
        f"{other.share:.0%}; its peak learning rate is {rates[0]:.3g} against {rates[1]:.3g}, and up to step {step} "
        f"its loss is {level:.4g} against {better:.4g}: clipping hides the rate and does not mend it.",
        f"warmup 之后 {one.course.file} 有 {one.share:.0%} 的步被裁剪{zh}，{other.course.file} 只有 {other.share:.0%}；"
        f"峰值学习率为 {rates[0]:.3g} 对 {rates[1]:.3g}，到第 {step} 步 loss 为 {level:.4g} 对 "
        f"{better:.4g}：裁剪只是掩盖了过高的学习率。",
        (one.line.evidence(-1), other.line.evidence(-1), *(x.evidence(-1) for x in loss if x is not None),
         *((one.place,) if one.place else ())),
        {"share": one.share, "other": other.share, "rate": rates[0], "other_rate": rates[1], "loss": level,
         "better": better},
    )  # fmt: skip
