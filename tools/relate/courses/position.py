"""The place in the data that a training counts beside its steps, and whether it went on with a restart.

A count of samples or tokens that grew with the steps and is small again behind a restart, while the steps go on, says
that the data are read again from their beginning. It is read from the measures, or from the lines of the log that hold
the loss (`consumed samples: 3072000`), whatever the log's format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...looking.lines import lines_at
from ...patterns import bounded
from ...run import Run
from ..line import Line, plain
from .left import Left
from .read import Course, at

_THINGS = r"(?:samples?|tokens?|examples?|docs?|documents?|sequences?|records?|rows|batches)"
COUNTS = bounded(
    rf"(?i)(?:^|(?<=_))(?:consumed|seen|processed|trained)_(?:train_)?{_THINGS}|{_THINGS}_(?:seen|consumed|processed|read)"
    r"|(?:data|dataset|data_?loader|sampler|loader|sample|doc)_(?:cursor|position|pos|offset|index|idx)(?![a-z])"
    r"|^(?:cursor|offset)$|已(?:消耗|消费|训练|读)(?:的)?(?:样本|词元|token|数据)\S{0,2}|(?:数据|样本)(?:位置|游标|偏移)"
)
"""Names of such a count, in words joined by `_`."""
PLACES = bounded(r"(?i)consumed|cursor|position|offset|pos$|index|idx|游标|位置|偏移|消[耗费]")
"""Names that only what is kept with a checkpoint has; a count of what was `seen` may be one of the process."""
_PAIR = bounded(r"([A-Za-z\u4e00-\u9fff][\w\u4e00-\u9fff ./-]{2,40}?)[\"']?\s{0,4}[:=]\s{0,16}"
                r"(\d[\d_,]{0,18}(?:\.\d+)?(?:[eE]\+?\d+)?)\s?([KMBGT万亿]?)(?![\w.])")  # fmt: skip
_SCALE = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9, "G": 1e9, "T": 1e12, "万": 1e4, "亿": 1e8}
SAMPLED, WIDE = 12, 2000
"""Lines of each log that are read, and characters of one."""
FALLEN, RISES = 0.5, 3
"""Part of the count before the restart that it is at most behind it, and points over which it rose before."""


FIRST = 20
"""Points behind a restart that are compared with those before it."""
CLEAR, SHARE = 4.0, 0.015
"""Noise of one point, and share of the level, by which the loss is another."""


@dataclass(frozen=True)
class Joint:
    """Two courses of which the second goes on where the first ends."""

    before: Course
    after: Course
    old: Line
    new: Line
    level: float
    """What the loss would be by the line before."""
    spread: float

    @property
    def step(self) -> float:
        return float(self.new.x[0])

    @property
    def enough(self) -> float:
        return max(CLEAR * self.spread, SHARE * abs(self.level))

    @property
    def shift(self) -> float:
        return float(np.median(self.new.values[:FIRST])) - self.level


@dataclass(frozen=True)
class Back:
    """A count that went back where the steps went on."""

    key: str
    before: float
    after: float
    new: Evidence
    old: Evidence

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        return self.new, self.old

    @property
    def certain(self) -> bool:
        return bool(PLACES.search(plain(self.key)))


def went_back(joint: Joint, run: Run) -> Back | None:
    """The count of the data that is small again behind a restart; the measures first, then the text of the logs."""
    return next(_measured(joint), None) or _printed(joint, run)


def _measured(joint: Joint) -> Iterator[Back]:
    for new in joint.after.lines:
        key = plain(new.key)
        old = next((x for x in joint.before.lines if plain(x.key) == key), None)
        if not COUNTS.search(key) or old is None or not (np.diff(old.values) > 0).all():
            continue
        end = at(old, joint.step)
        if new.values[0] <= FALLEN * end and end - old.values[0] > RISES * float(np.median(np.diff(old.values))):
            yield Back(new.key, end, float(new.values[0]), new.evidence(0), old.evidence(-1))


def _printed(joint: Joint, run: Run) -> Back | None:
    """The same of what stands in the lines that hold the loss."""
    old, new = _counts(joint.old, joint.before, run), _counts(joint.new, joint.after, run)
    for key, known in old.items():
        later = new.get(key, ())
        values = [value for _, value in known]
        if len(known) <= RISES or len(later) < 2 or not (np.diff(values) > 0).all() or later[1][1] <= later[0][1]:
            continue
        (i, before), (j, after) = known[-1], later[0]
        if after <= FALLEN * before:
            places = [Evidence(x.file, int(x.at[k]), int(x.x[k]), value=v, text=f"{key} {v:.10g}")
                      for x, k, v in ((joint.new, j, after), (joint.old, i, before))]  # fmt: skip
            return Back(key, before, after, places[0], places[1])
    return None


def _counts(line: Line, course: Course, run: Run) -> Mapping[str, Sequence[tuple[int, float]]]:
    """Count -> (point of the loss, value) of some of its points, the first and the last among them."""
    artifact = next((a for a in run.artifacts if a.name == course.file and a.kind == "log"), None)
    if artifact is None:
        return {}
    some = np.unique(np.linspace(0, len(line) - 1, min(SAMPLED, len(line))).astype(int))
    by_line = {int(line.at[i]): int(i) for i in some if line.at[i] > 0}
    found: dict[str, list[tuple[int, float]]] = {}
    for number, text in lines_at(artifact.path, by_line.keys(), WIDE):
        for key, digits, unit in _PAIR.findall(text):
            if COUNTS.search(plain(key.strip())):
                value = float(digits.replace(",", "").replace("_", "")) * _SCALE[unit]
                found.setdefault(" ".join(key.split()), []).append((by_line[number], value))
    return found


def not_resumed(joint: Joint, back: Back, left: Left, lower: bool) -> Finding:
    """The data are read again: a note where only a count that may be one of the process says so."""
    missing = left.of("data", joint.after)
    clear = back.certain or lower or missing
    now = joint.level + joint.shift
    loss = (
        f"; {joint.new.key} is lower at once, {now:.4g} where the line before leads to {joint.level:.4g}"
        if lower
        else ""
    )
    loss_zh = f"；{joint.new.key} 随即变低，为 {now:.4g}，按此前走势应为 {joint.level:.4g}" if lower else ""
    said = f"; {missing[0].file}:{missing[0].line}: {missing[0].text}" if missing else ""
    zh = f"；{missing[0].file}:{missing[0].line}：{missing[0].text}" if missing else ""
    names = {"names": f"{missing[0].text} ({missing[0].file}:{missing[0].line})"} if missing else {}
    return Finding(
        "data-not-resumed", Severity.S2 if clear else Severity.S3,
        f"{back.key} is {back.before:.10g} before the restart at step {joint.step:.0f} and {back.after:.10g} behind "
        f"it, while the steps go on: the data are read again from their beginning{loss}{said}.",
        f"第 {joint.step:.0f} 步重启前 {back.key} 为 {back.before:.10g}，重启后为 {back.after:.10g}，而步数接着走："
        f"数据又从头读起{loss_zh}{zh}。",
        (*back.evidence, joint.new.evidence(min(4, len(joint.new) - 1)), *missing),
        {"step": joint.step, "before": back.before, "after": back.after, "counter": back.key, "lower": lower, **names},
    )  # fmt: skip
