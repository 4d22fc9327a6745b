"""A gradient norm that lies at one ceiling to the end: it was logged behind the clip, which decides every update.

Such a norm looks calm however large the gradients are. What tells it from a norm that is small: it is never above the
ceiling, it varied in finer steps before, the ceiling is the clip that a file sets, or the norm before the clip is
logged elsewhere and is far above.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...run import Run
from ..line import Line, plain
from .clipped import is_rl, warm
from .read import Course, noise
from .told import CLIP, numbers

LEAST = 40
"""Points of a norm."""
AT, HELD = 0.995, 0.8
"""Share of the ceiling from which on a point lies at it (norms are scaled by clip / (norm + eps)), and share of the
points behind the warm-up that do. Own judgement."""
FINE = 0.02
"""Share of the ceiling that the smallest step of the norm is at most: a norm of few printed digits says nothing."""
ABOVE, SAME = 1.3, 0.1
"""Times the ceiling that the norm before the clip is in the middle, and share by which it may lie off the logged one
where that one is below the ceiling."""
BEHIND = 0.005
"""Share of the level by which another course has the lower loss."""
BEFORE = bounded(
    r"(?:grad\w*|total|global|^g)_?norm|(?:^|_)(?:gn|gnorm|grad)(?:_|$)|norm_(?:raw|before|pre|unclipped)"
    r"|(?:raw|pre_?clip|unclipped)_(?:\w{1,12}_)?norm|梯度"
)
NO_GRADIENT = bounded(r"weight|param(?!eters_grad)|embed|layer_?norm|rms_?norm|update|权重|参数")


@dataclass(frozen=True)
class Ceiling:
    """A norm at its ceiling: the share of points there behind the warm-up."""

    line: Line
    top: float
    share: float
    raw: Line | None
    clip: Evidence | None
    fine: bool


def held(run: Run, found: Sequence[Course]) -> Iterator[Finding]:
    """The first course whose norm is held by the clip."""
    for course in found:
        ceiling = None if is_rl(course) else _ceiling(run, course, found)
        if ceiling is not None:
            yield _told(course, ceiling, _ahead(course, found))
            return


def _ceiling(run: Run, course: Course, found: Sequence[Course]) -> Ceiling | None:
    norm = course.norm
    if norm is None or norm.axis != "step" or len(norm) < LEAST:
        return None
    rest = norm.values[norm.x >= (warm(course) if course.loss is not None else norm.x[len(norm) // 10])]
    top = float(norm.values.max())
    if top <= 0 or len(rest) < LEAST // 2 or (share := float(np.mean(rest >= AT * top))) < HELD:
        return None
    raw = next((x for c in found for x in c.lines if _before(x, norm, top)), None)
    steps = np.diff(np.unique(norm.values))
    fine = len(steps) > 2 and float(steps.min()) <= FINE * top
    limits = numbers(run, CLIP, ("clip", "max_", "max-", "裁剪"))
    clip = next((place for value, place in limits if abs(value - top) <= 0.01 * top), None)
    return Ceiling(norm, top, share, raw, clip, fine) if raw is not None or clip is not None or fine else None


def _before(line: Line, norm: Line, top: float) -> bool:
    """Whether a line is the same norm before it was clipped: above the ceiling, and equal where that one is below."""
    named = f"{plain(line.key)}_{plain(line.file)}" if plain(line.key) in ("value", "norm") else plain(line.key)
    if line is norm or line.axis != "step" or not BEFORE.search(named) or NO_GRADIENT.search(plain(line.key)):
        return False
    both = norm.only((norm.x >= line.x[0]) & (norm.x <= line.x[-1]))
    if len(both) < LEAST // 2:
        return False
    other = np.interp(both.x, line.x, line.values)
    low = both.values < AT * top
    same = low.sum() < 3 or float(np.median(np.abs(other[low] / both.values[low] - 1))) <= SAME
    return bool(same and np.median(other[~low]) >= ABOVE * top)


def _ahead(course: Course, found: Sequence[Course]) -> tuple[Line, float, float] | None:
    """(loss of another course, this level, its level) where the other is ahead at the end of the common way."""
    mine = course.loss
    for other in found:
        theirs = other.loss
        if other.file == course.file or mine is None or theirs is None or (mine.axis, theirs.axis) != ("step", "step"):
            continue
        end, begin = min(mine.x[-1], theirs.x[-1]), max(mine.x[0], theirs.x[0])
        last = [x.values[(x.x >= end - 0.2 * (end - begin)) & (x.x <= end)] for x in (mine, theirs)]
        if min(map(len, last)) < 3:
            continue
        own, better = (float(np.median(v)) for v in last)
        if own - better >= max(BEHIND * abs(better), 5 * noise(mine.values) / np.sqrt(len(last[0]))):
            return theirs, own, better
    return None


def _told(course: Course, c: Ceiling, ahead: tuple[Line, float, float] | None) -> Finding:
    raw, clip = c.raw, c.clip
    middle = float(np.median(raw.values[len(raw) // 2 :])) if raw is not None else 0.0
    en = f"; before the clip it is {middle:.3g} in the middle ({raw.key} of {raw.file})" if raw is not None else ""
    zh = f"；裁剪前中位数为 {middle:.3g}（{raw.file} 的 {raw.key}）" if raw is not None else ""
    en += f"; the clip is set so in {clip.file}:{clip.line}" if clip is not None else ""
    zh += f"；{clip.file}:{clip.line} 设的裁剪值正是它" if clip is not None else ""
    if ahead is not None:
        en += f". Its loss is {ahead[1]:.4g} where that of {ahead[0].file} is {ahead[2]:.4g}"
        zh += f"。同样步数它的 loss 为 {ahead[1]:.4g}，{ahead[0].file} 为 {ahead[2]:.4g}"
    sure = raw is not None or (clip is not None and ahead is not None)
    first = int(np.argmax(c.line.values >= AT * c.top))
    return Finding(
        "norm-held-by-clip" if sure else "norm-at-ceiling", Severity.S2,
        f"Behind the warm-up {c.share:.0%} of the points of {c.line.key} in {course.file} lie at {c.top:.4g} and none "
        f"above: it is logged behind the clip, which scales down nearly every update{en}.",
        f"warmup 之后 {course.file} 的 {c.line.key} 有 {c.share:.0%} 的点等于 {c.top:.4g}，没有更高的：记录的是裁剪后的"
        f"范数，几乎每一步都被裁剪{zh}。",
        (c.line.evidence(-1), c.line.evidence(first), *((raw.evidence(-1),) if raw is not None else ()),
         *((clip,) if clip is not None else ()), *((ahead[0].evidence(-1),) if ahead is not None else ())),
        {"share": c.share, "value": c.top, "raw": middle or None, "file": course.file},
    )  # fmt: skip
