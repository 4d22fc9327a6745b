"""One task that a further training lost nearly whole, while the mean over all tasks hides it.

Two rows of the same measures, of which one is of a later stage: tuned after its base, reinforced after it was tuned. A
task at a half of what it was or less, beyond its error, is told, whatever else was won.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite, sqrt
from statistics import fmean
from typing import NamedTuple

from ...findings import Finding, Severity, clean
from ...patterns import bounded
from ..line import plain
from ..summed.words import TOTAL
from .read import BASE, FILLER, TRAINED, Row, is_score, place_words, words

LATER = bounded(r"(?:dpo|simpo|ppo|orpo|grpo|gspo|dapo|kto|rlhf|rloo|rlvr|rl|reinforce|aligned)\d{0,2}|强化后?|对齐后")
"""Words of a training that follows supervised tuning."""
LEAST, HALF, LEVEL, CLEAR = 3, 0.5, 0.05, 3.0
"""Common tasks; share that is left of a score; share of all below which a score is too low to lose much; standard
errors of the difference. Own judgement."""
GAP = 0.15
"""Share of all that is lost at least where nobody knows of how many items a task has."""
ITEMS = {"humaneval": 164, "mbpp": 500, "gsm8k": 1319, "math_500": 500, "math500": 500, "arc_challenge": 1172,
         "arc_c": 1172, "arc_easy": 2376, "arc_e": 2376, "mmlu": 14042, "hellaswag": 10042, "winogrande": 1267,
         "truthfulqa": 817, "ifeval": 541, "boolq": 3270, "openbookqa": 500, "piqa": 1838, "aime24": 30, "aime25": 30,
         "gpqa_diamond": 198, "gpqa": 448, "ceval": 1346, "cmmlu": 11582}  # fmt: skip
"""Items of the usual test sets of public benchmarks, by their names."""
MEAN = bounded(r"(?:^|_)(?:core|chatcore\w{0,8}|avg|average|mean|macro|overall|total|aggregate)(?:_|$)|平均|总分|综合")


class Sunk(NamedTuple):
    """A task before and after."""

    before: Row
    after: Row
    task: str
    common: tuple[str, ...]

    @property
    def left(self) -> float:
        return self.after.values[self.task] / self.before.values[self.task]


def sunk(rows: Sequence[Row]) -> list[Finding]:
    """The task that lost most of its score."""
    found = sorted((s for a, b in _stages(rows) for s in _sunk(a, b)), key=lambda s: s.left)
    return [_told(found[0])] if found else []


def _stages(rows: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    """Rows of the same name but for the words of the stage, the earlier one first."""
    known = [(r, place_words(r) | words(r.part)) for r in rows if sum(map(is_score, r.values)) >= LEAST][:200]
    staged = [(r, _rest(said), _stage(said)) for r, said in known]
    for a, rest, early in staged:
        for b, other, late in staged:
            if a is not b and rest == other and early is not None and late is not None and early < late:
                yield a, b


def _stage(said: frozenset[str]) -> int | None:
    """0 the base, 1 tuned, 2 reinforced or aligned; None where nothing or several things are said."""
    found = {2 if LATER.fullmatch(w) else 1 if TRAINED.fullmatch(w) else 0 for w in said
             if TRAINED.fullmatch(w) or BASE.fullmatch(w) or LATER.fullmatch(w)}  # fmt: skip
    return found.pop() if len(found) == 1 else None


def _rest(said: frozenset[str]) -> frozenset[str]:
    return frozenset(w for w in said if not any(p.fullmatch(w) for p in (TRAINED, BASE, FILLER, LATER)))


def _sunk(before: Row, after: Row) -> Iterator[Sunk]:
    common = tuple(k for k in before.scores() if k in after.values and not MEAN.search(plain(k)) and not TOTAL.search(k)
                   and isfinite(before.values[k]) and isfinite(after.values[k]))  # fmt: skip
    scale = 100.0 if max((max(before.values[k], after.values[k]) for k in common), default=0) > 1 else 1.0
    for task in common if len(common) >= LEAST else ():
        old, new = before.values[task] / scale, after.values[task] / scale
        n = before.n if before.n and before.n > 1 else ITEMS.get(plain(task))
        if not 0 <= new <= HALF * old or not LEVEL <= old <= 1:
            continue
        error = sqrt((old * (1 - old) + new * (1 - new)) / n) if n else GAP / CLEAR
        if old - new >= CLEAR * error:
            yield Sunk(before, after, task, common)


def _told(one: Sunk) -> Finding:
    old, new = one.before.values[one.task], one.after.values[one.task]
    means_ = [fmean(r.values[k] for k in one.common) for r in (one.before, one.after)]
    hides = means_[1] >= means_[0]
    n = ITEMS.get(plain(one.task))
    size = f" of {n} items" if n else ""
    more = f", while the mean of {len(one.common)} tasks goes from {means_[0]:.4g} to {means_[1]:.4g} and hides it"
    more_zh = f"，而 {len(one.common)} 项的平均从 {means_[0]:.4g} 到 {means_[1]:.4g}，掩盖了它"
    before, after = clean(one.before.said, 90), clean(one.after.said, 90)
    return Finding(
        "benchmark-drop", Severity.S2,
        f"{one.task}{size} falls from {old:.4g} in {before} to {new:.4g} in {after}, beyond its error"
        f"{more if hides else ''}.",
        f"{one.task} 从 {before} 的 {old:.4g} 降到 {after} 的 {new:.4g}，超出误差{more_zh if hides else ''}。",
        (one.after.evidence(one.task), one.before.evidence(one.task)),
        {"score": one.task, "before": old, "after": new, "compared": len(one.common), "fell": 1, "means": means_},
    )  # fmt: skip
