"""A training that goes on in another log: its loss, gradient norm and rate behind the restart against those before it.

An optimizer that begins with empty moments in the middle of a schedule shows by its course: the first loss lies on the
old line, climbs within some tens of steps while the norm is several times what it was, and both come down again; the
rate goes on. A loss that is lower at once, with norm and rate as before, was measured on batches that were read before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Evidence, Finding, Severity
from ..earlier.within import halves
from ..line import Line, plain
from .left import Left
from .position import not_resumed, went_back
from .read import FIRST, LEAST, SHARE, Course, Joint, at, noise, smooth, upto

TAIL = 60
"""Points before a restart that are compared."""
NORM, RATE = 2.5, 1.5
"""Times the norm of before, and times the rate of before or its inverse, from which on they are others."""
ON_LINE, BACK = 0.4, 0.6
"""Share of the climb at which the first loss still is on the old line, and to which it has come down at the end."""
LEVEL = 0.1
"""Loss below which it is that of a policy, or of a fit to a few rows: its size says nothing."""


def joints(found: Sequence[Course]) -> Iterator[Joint]:
    """Every pair of courses that are one training, the later begun at or shortly before where the earlier ends."""
    for b in found:
        if (new := b.loss) is None or new.axis != "step" or len(new) < LEAST:
            continue
        for a in found:
            if (old := a.loss) is not None and a is not b and (joint := _joint(a, b, old, new)) is not None:
                yield joint
                break


def _joint(a: Course, b: Course, old: Line, new: Line) -> Joint | None:
    if old.axis != "step" or len(old) < LEAST or (old.name, plain(old.key)) != (new.name, plain(new.key)):
        return None
    begin, end, first = float(old.x[0]), float(old.x[-1]), float(new.x[0])
    gap = float(max(np.median(np.diff(old.x)), np.median(np.diff(new.x[: 4 * FIRST]))))
    if not begin + 0.5 * (end - begin) <= first <= end + max(5 * gap, 0.01 * end) or new.x[-1] <= end:
        return None
    known = upto(old, first)
    if min(len(known), len(new)) < FIRST or np.median(known.values[-FIRST:]) < LEVEL:
        return None
    y, x = known.values[-TAIL:], known.x[-TAIL:]
    slope = min(float(np.polyfit(x - x[-1], y, 1)[0]), 0.0) if len(y) >= 20 else 0.0
    way = float(np.median(new.x[:FIRST])) - float(np.median(x[-FIRST:]))
    level = float(np.median(y[-FIRST:])) + slope * min(way, x[-1] - x[0])
    return Joint(a, b, known, new, level, noise(y))


def resumed(found: Sequence[Course], left: Left) -> Iterator[Finding]:
    """What changed where a run went on: in another log, or in the same one."""
    for joint in joints(found):
        yield from _judged(joint, left)
        return
    for course in found:
        for a, b in halves(left.run, course):
            if a.loss and b.loss and (joint := _joint(a, b, a.loss, b.loss)) is not None:
                yield from _judged(joint, left)
                return


def _judged(joint: Joint, left: Left) -> Iterator[Finding]:
    if (back := went_back(joint, left.run)) is not None:
        yield not_resumed(joint, back, left, joint.shift <= -0.75 * joint.enough and _low_at_once(joint))
    yield from _by_loss(joint, left, back is not None)


def _by_loss(joint: Joint, left: Left, data_told: bool) -> Iterator[Finding]:
    """What the loss says of the restart; that it is lower says nothing more where the data are known to begin anew."""
    begun = joint.new.values
    rates = _rates(joint.before.rate, joint.after.rate)
    ratio = rates[1] / rates[0] if rates and rates[0] > 0 else 1.0
    calm = 1 / RATE < ratio < RATE
    peak = int(smooth(begun)[: max(FIRST, int(0.6 * len(begun)))].argmax()) + min(2, len(begun) - 1)
    top = float(smooth(begun).max())
    climb, first = top - joint.level, float(begun[0]) - joint.level
    norms = _norms(joint)
    if climb >= joint.enough and joint.shift >= 0.5 * joint.enough and calm:
        missing = left.fewer(joint, "optimizer") or left.of("optimizer", joint.after) or left.unlisted(joint.after)
        rose = norms is not None and norms[1] >= NORM * norms[0]
        fell = float(np.median(begun[-max(LEAST, len(begun) // 5) :])) - joint.level <= BACK * climb
        fresh = rose and fell and norms is not None and norms[2] <= 0.5 * norms[1]
        if fresh and (missing or first <= ON_LINE * climb):
            yield _fresh(joint, peak, norms, missing)
            return
        missing = missing or left.fewer(joint, "any") or left.of("any", joint.after)
        yield _moved(joint, "loss-higher-since-restart", missing)
    elif climb >= joint.enough and joint.shift >= joint.enough:
        yield _rated(joint, rates or (0.0, 0.0))
    elif joint.shift <= -0.75 * joint.enough and _low_at_once(joint) and calm and not data_told:
        yield _moved(joint, "loss-lower-since-restart", left.of("data", joint.after))


def _low_at_once(joint: Joint) -> bool:
    few, later = joint.new.values[:5], joint.new.values[5 : 3 * FIRST]
    least = max(2 * joint.spread / np.sqrt(5), 0.5 * SHARE * abs(joint.level))
    return bool(few.mean() <= joint.level - least and len(later) and np.median(later) <= joint.level - least)


def _rates(old: Line | None, new: Line | None) -> tuple[float, float] | None:
    """The learning rate before and behind the restart, at the same step where both have it."""
    if old is None or new is None:
        return None
    return at(old, float(new.x[0])), float(new.values[0])


def _norms(joint: Joint) -> tuple[float, float, float] | None:
    """Gradient norm before, at its highest soon after, and at the end."""
    old, new = joint.before.norm, joint.after.norm
    if old is None or new is None or len(known := upto(old, joint.step)) < LEAST or len(new) < LEAST:
        return None
    soon = new.values[:FIRST]
    return (
        float(np.median(known.values[-TAIL:])),
        float(np.sort(soon)[-3:].mean()),
        float(np.median(new.values[-LEAST:])),
    )


def _fresh(joint: Joint, peak: int, norms: tuple[float, float, float] | None, missing: tuple[Evidence, ...]) -> Finding:
    before, high, _ = norms or (0.0, 0.0, 0.0)
    top = float(smooth(joint.new.values).max())
    said = f"; {missing[0].file}: {missing[0].text}" if missing else ""
    zh = f"；{missing[0].file}：{missing[0].text}" if missing else ""
    norm = joint.after.norm
    return Finding(
        "restart-with-fresh-optimizer", Severity.S2,
        f"{joint.new.key} was {joint.level:.4g} before the restart at step {joint.step:.0f} and climbs to {top:.4g} "
        f"behind it ({joint.new.where(peak)}), with the gradient norm at {high:.3g} instead of {before:.3g}; both come "
        f"down again and the learning rate goes on, as with an optimizer that began with empty moments{said}.",
        f"{joint.new.key} 在第 {joint.step:.0f} 步重启前为 {joint.level:.4g}，重启后升到 {top:.4g}"
        f"（{joint.new.where(peak)}），梯度范数为 {high:.3g}，此前为 {before:.3g}；"
        f"随后两者回落，学习率连续，符合优化器动量从零开始{zh}。",
        (joint.new.evidence(peak), joint.old.evidence(-1), *((norm.evidence(min(1, len(norm) - 1)),) if norm else ()),
         *missing),
        {"step": joint.step, "before": joint.level, "peak": top, "norm_before": before, "norm": high,
         "left_out": bool(missing)},
    )  # fmt: skip


def _moved(joint: Joint, code: str, missing: tuple[Evidence, ...]) -> Finding:
    now = joint.level + joint.shift
    lower = code == "loss-lower-since-restart"
    if missing:
        code = "data-not-resumed" if lower else "restart-without-state"
    said = f"; {missing[0].file}: {missing[0].text or missing[0].value}" if missing else ""
    en, zh = ("lower at once", "立刻变低") if lower else ("higher", "变高")
    return Finding(
        code, Severity.S2 if missing else Severity.S3,
        f"{joint.new.key} is {en} since the restart at step {joint.step:.0f}: {now:.4g} where the line before leads to "
        f"{joint.level:.4g} (noise of a point {joint.spread:.2g}), with the learning rate going on{said}.",
        f"自第 {joint.step:.0f} 步重启后 {joint.new.key} {zh}：{now:.4g}，按此前的走势应为 {joint.level:.4g}"
        f"（单点噪声 {joint.spread:.2g}），学习率连续{said}。",
        (joint.new.evidence(min(4, len(joint.new) - 1)), joint.old.evidence(-1), *missing),
        {"step": joint.step, "before": joint.level, "after": now},
    )  # fmt: skip


def _rated(joint: Joint, rates: tuple[float, float]) -> Finding:
    now = joint.level + joint.shift
    line = joint.after.rate
    return Finding(
        "rate-off-since-restart", Severity.S2,
        f"The learning rate is {rates[1]:.3g} behind the restart at step {joint.step:.0f} and was {rates[0]:.3g} "
        f"before; {joint.new.key} goes to {now:.4g} from {joint.level:.4g}: the schedule was not restored.",
        f"第 {joint.step:.0f} 步重启后学习率为 {rates[1]:.3g}，此前为 {rates[0]:.3g}；{joint.new.key} 从 "
        f"{joint.level:.4g} 变为 {now:.4g}：学习率调度没有恢复。",
        (*((line.evidence(0),) if line else ()), joint.new.evidence(min(4, len(joint.new) - 1)),
         joint.old.evidence(-1)),
        {"step": joint.step, "before": joint.level, "after": now, "rate_before": rates[0], "rate": rates[1]},
    )  # fmt: skip
