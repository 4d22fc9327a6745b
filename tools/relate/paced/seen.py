"""What a step of one training saw beside what a step of another saw, or beside the batch that is set: a whole factor
apart, and the loss of the one that saw less is higher after as many steps.

No name of the batch has to be known: a count that goes with the steps in one whole proportion is what a step sees.
Which part the factor is (the tensor-parallel size where cards were taken for replicas) the files around say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from ...findings import PROPOSES, Evidence, Finding, Severity
from ...patterns import bounded
from ...run import Run
from ..courses.read import Course, noise
from ..courses.told import lines_of_small
from ..line import Line, plain

LEAST, LAST = 20, 0.05
"""Points of a loss, and the share of them at its end that is compared."""
WORSE, CLEAR, AS_MANY = 0.01, 4.0, 0.02
"""Share of the level and errors of the mean by which a loss is higher; relative difference of two numbers of steps that
are the same. Own judgement."""
SEEN = bounded(
    r"(?:^|_)(?:seen|consumed|samples?|seqs?|sequences|examples?|rows|tok|toks|tokens?|instances|records|docs)(?:_|$)"
    r"|样本|已见|已读|词元|条数"
)
NO_COUNT = bounded(r"(?:^|_)(?:per|time|sec|s|ms|id|seed|len|length|max|avg|mean|rate)(?:_|$)|每|平均")
TOKENS = bounded(r"(?:^|_)tok(?:en)?s?(?:_|$)|词元|token")
_N = r"[\"']?\s{0,2}[:=\s：]\s{0,2}[\"']?(\d{1,6})(?![\w.])"
MODEL = bounded(
    r"(?i)(?<![a-z_])(?:tp|pp|cp|sp|ep|(?:tensor|pipeline|context|sequence|expert|model)[-_ ]?(?:model[-_ ]?)?parallel"
    rf"(?:ism)?(?:[-_ ](?:size|degree))?|(?:张量|流水线|上下文|序列|模型)并行\S{{0,2}}){_N}"
)
"""Sizes that share a replica among cards."""
ACCUMULATED = bounded(
    rf"(?i)(?<![a-z])(?:acc|ga|grad(?:ient)?[-_ ]?acc\w*(?:[-_ ]steps)?|accum\w*|梯度累积\S{{0,2}}){_N}"
)
WORKED_OUT = bounded(
    r"(?i)(?<![a-z])(?:acc|ga|grad(?:ient)?_?acc\w*|accum\w*|n_?micro\w*|梯度累积\w{0,3})\s{0,2}[:=]\s{0,2}[^#]{0,80}(?:/|div)"
)
"""Where the accumulation is worked out from the cards."""
BATCH = bounded(
    r"(?i)(?<![a-z])(?:gbs|(?:global|total|effective)[-_ ]?(?:train[-_ ])?(?:batch(?:[-_ ]?size)?|bs)"
    rf"|(?:全局|总)批\S{{0,3}}){_N}"
)
WORDS = ("tp", "pp", "cp", "sp", "ep", "parallel", "acc", "ga", "gbs", "batch", "并行", "累积", "批", "micro", "bs")


@dataclass(frozen=True)
class Counted:
    """A course with the count of what its steps see."""

    course: Course
    loss: Line
    line: Line
    each: int

    @property
    def tokens(self) -> bool:
        return bool(TOKENS.search(plain(self.line.key)))

    @property
    def end(self) -> float:
        return float(self.loss.x[-1])


def seen_less(run: Run, found: Sequence[Course]) -> Iterator[Finding]:
    """A training whose steps see a whole factor less than those of another, or than the batch that is set."""
    some = [c for course in found if (c := _counted(course)) is not None]
    for small, large in permutations(some, 2):
        ratio = round(large.each / small.each)
        whole = ratio >= 2 and abs(large.each / small.each - ratio) <= AS_MANY * ratio
        if whole and small.tokens == large.tokens and (worse := _worse(small, large)):
            yield _told(run, small, large, ratio, worse)
            return
    yield from _not_as_set(run, some)


def _counted(course: Course) -> Counted | None:
    loss = course.loss
    if loss is None or loss.axis != "step" or len(loss) < LEAST:
        return None
    counts = [(line, each) for line in course.lines if (each := _each(line))]
    return Counted(course, loss, *counts[0]) if counts else None


def _each(line: Line) -> int:
    """What a step adds to a count that is whole steps times it; 0 where the line is no such count."""
    name = plain(line.key)
    if line.axis != "step" or len(line) < LEAST or not SEEN.search(name) or NO_COUNT.search(name):
        return 0
    steps = line.x > 0
    each = round(float(np.median(line.values[steps] / line.x[steps]))) if steps.any() else 0
    return each if each >= 2 and (np.abs(line.values - each * line.x) <= each).mean() > 0.98 else 0


def _worse(small: Counted, large: Counted) -> tuple[float, float] | None:
    """(own loss, the other's) at the end of as many steps, where the own one is clearly higher."""
    if (small.loss.name, plain(small.loss.key)) != (large.loss.name, plain(large.loss.key)):
        return None
    if abs(small.end - large.end) > AS_MANY * large.end:
        return None
    ends = [s.loss.values[s.loss.x >= (1 - LAST) * s.end] for s in (small, large)]
    own, other = (float(np.median(v)) for v in ends)
    spreads = [
        noise(s.loss.values[len(s.loss) // 2 :]) / len(v) ** 0.5 for s, v in zip((small, large), ends, strict=True)
    ]
    error = float(np.hypot(*spreads))
    return (own, other) if own - other > max(WORSE * abs(other), CLEAR * error) else None


def _said(run: Run, pattern: re.Pattern[str], first: str, number: int | None = None) -> list[tuple[int, Evidence]]:
    """What small files and the heads of logs say of a size, those of one file first."""
    out = [
        (int(m[1]) if m.groups() else 0, Evidence(name, n, text=line.strip()[:200]))
        for name, n, line in lines_of_small(run, WORDS)
        for m in pattern.finditer(line)
        if number is None or int(m[1]) == number
    ]
    return sorted(out, key=lambda pair: pair[1].file != first)


def _parts(run: Run, small: Counted, ratio: int) -> tuple[str, str, tuple[Evidence, ...], dict[str, object]]:
    """What the factor is, in words of both languages, with places and the change that undoes it."""
    own = small.course.file
    model, worked = _said(run, MODEL, own, ratio)[:1], _said(run, WORKED_OUT, own)[:1]
    accumulated = [a for a in _said(run, ACCUMULATED, own)[:1] if a[1].file == own]
    en = f"; {ratio} is the size that shares a replica among cards ({_place(model)})" if model else ""
    zh = f"；{ratio} 恰为模型并行数（{_place(model)}），即用总卡数代替了数据并行数" if model else ""
    if model and worked:
        en += f", and the accumulation is worked out in {_place(worked)}: `{worked[0][1].text}`"
        zh += f"，梯度累积的算法在 {_place(worked)}：`{worked[0][1].text}`"
    change: dict[str, object] = {}
    if accumulated:
        new = accumulated[0][0] * ratio
        en += f". Accumulation {new} in place of {accumulated[0][0]} makes the batch whole"
        zh += f"。梯度累积由 {accumulated[0][0]} 改为 {new} 即可补足"
        change = {PROPOSES: {"variable": "grad_accumulation", "new": new}}
    return en, zh, tuple(e for _, e in (*worked, *model, *accumulated)), change


def _place(said: Sequence[tuple[int, Evidence]]) -> str:
    return f"{said[0][1].file}:{said[0][1].line}"


def _told(run: Run, small: Counted, large: Counted, ratio: int, worse: tuple[float, float]) -> Finding:
    en, zh, places, change = _parts(run, small, ratio)
    totals = [float(s.line.values[-1]) for s in (small, large)]
    return Finding(
        "step-sees-too-little", Severity.S1,
        f"By {small.line.key} a step of {small.course.file} sees {small.each:,}, by {large.line.key} one of "
        f"{large.course.file} {large.each:,}, {ratio} times as much: after {small.end:.0f} steps it has seen "
        f"{totals[0]:,.0f} against {totals[1]:,.0f}, and its {small.loss.key} is {worse[0]:.4g} against "
        f"{worse[1]:.4g}{en}.",
        f"按 {small.line.key}，{small.course.file} 每步 {small.each:,}，而 {large.course.file} 每步 {large.each:,}，"
        f"是其 {ratio} 倍：{small.end:.0f} 步后前者共 {totals[0]:,.0f}，后者 {totals[1]:,.0f}；"
        f"{small.loss.key} 为 {worse[0]:.4g}，后者 {worse[1]:.4g}{zh}。",
        (small.line.evidence(-1), large.line.evidence(-1), *places, small.loss.evidence(-1), large.loss.evidence(-1)),
        {"each": small.each, "other": large.each, "ratio": ratio, **change},
    )  # fmt: skip


def _not_as_set(run: Run, some: Sequence[Counted]) -> Iterator[Finding]:
    """The only training of a run, whose steps see less than the one batch that is set, by a model-parallel size."""
    own = [c for c in some if not c.tokens]
    said = _said(run, BATCH, own[0].course.file) if len(own) == 1 == len(some) else []
    if not said or len({n for n, _ in said}) != 1 or said[0][0] % own[0].each:
        return
    ratio, small = said[0][0] // own[0].each, own[0]
    if ratio < 2 or not _said(run, MODEL, small.course.file, ratio):
        return
    en, zh, places, change = _parts(run, small, ratio)
    yield Finding(
        "step-sees-too-little", Severity.S1,
        f"{_place(said)} sets a batch of {said[0][0]:,}, and by {small.line.key} a step of {small.course.file} sees "
        f"{small.each:,}, 1/{ratio} of that{en}.",
        f"{_place(said)} 设定的批为 {said[0][0]:,}，而按 {small.line.key}，{small.course.file} 每步 {small.each:,}，"
        f"仅为其 1/{ratio}{zh}。",
        (said[0][1], small.line.evidence(-1), *places),
        {"each": small.each, "set": said[0][0], "ratio": ratio, **change},
    )  # fmt: skip
