"""A learning rate that starts over where a job goes on in another log: far below where it stood, and up beyond it.

In one log the same is told by `joined.restarts`. Logs of one job are called alike but for a number or a word for going
on (`part1`, `slurm-81002`, `train_resume`); those of stages have schedules of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Finding, Severity
from ...patterns import bounded
from ..courses.read import LEAST, Course, Joint, at, upto
from ..courses.resumed import joints
from ..joined.restarts import BEYOND, CLIMB, DROP

STAGE = bounded(r"(?i)stage|phase|anneal|decay|warm|sft|cpt|cycle|阶段|退火")
AGAIN = bounded(
    r"(?i)\d{1,20}|resum\w{0,4}|restart\w{0,3}|cont(?:inued?)?(?![a-z])|part|attempt|retry|again|rerun|续训?|恢复"
)
_BETWEEN = re.compile(r"[\W_]+")


def started_over(found: Sequence[Course]) -> Iterator[Finding]:
    """The first pair of logs of one job between which the schedule of the rate began again."""
    for joint in joints(found):
        if _one_job(joint) and (one := _judged(joint)) is not None:
            yield one
            return


def _one_job(joint: Joint) -> bool:
    names = [course.file for course in (joint.before, joint.after)]
    plain = {_BETWEEN.sub("", AGAIN.sub("", name)) for name in names}
    return len(plain) == 1 and not any(STAGE.search(name) for name in names)


def _judged(joint: Joint) -> Finding | None:
    old, new = joint.before.rate, joint.after.rate
    if old is None or new is None or len(old) < LEAST or len(new) < LEAST:
        return None
    known, rest = upto(old, joint.step).values, new.values
    if len(known) < LEAST or not (np.isfinite(known).all() and np.isfinite(rest).all()):
        return None
    before, top = at(old, joint.step), int(rest.argmax())
    rose = known[-1] > known[-1 - CLIMB]
    climbs = top >= CLIMB and rest[top] >= BEYOND * before and (np.diff(rest[: top + 1]) >= 0).all()
    if rose or not rest[0] < DROP * before or not climbs:
        return None
    low, high = float(rest[0]), float(rest[top])
    last = float(np.median(joint.new.values[-LEAST:]))
    return Finding(
        "lr-starts-over", Severity.S1,
        f"{new.key} was {before:.3g} in {joint.before.file} where {joint.after.file} goes on (step {joint.step:.0f}), "
        f"is {low:.3g} there and climbs to {high:.3g} at {new.where(top)}: the schedule began again at the restart. "
        f"{joint.new.key} was {joint.level:.4g} and is {last:.4g} at the end.",
        f"{joint.after.file} 从第 {joint.step:.0f} 步接续 {joint.before.file}：{new.key} 此前为 {before:.3g}，接续处为 "
        f"{low:.3g}，又在{new.where(top)}升到 {high:.3g}：学习率调度在重启时重新开始。{joint.new.key} 此前为 "
        f"{joint.level:.4g}，最后为 {last:.4g}。",
        (new.evidence(0), old.evidence(len(known) - 1), new.evidence(top)),
        {"before": before, "low": low, "high": high, "at": joint.step},
    )  # fmt: skip
