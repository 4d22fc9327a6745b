"""Evaluations that are sound: the reassurance where a run is nothing but models scored on the same tasks.

Sound is what was scored whole and alike on both sides, lies above guessing and below everything, and differs by no more
than its standard errors. Of a training it says nothing, and of a trained model against its base neither: that both
score alike is then what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import hypot

import numpy as np

from ...documents.counted import Counted
from ...findings import Finding, Severity, clean
from ...logs.chance import chance_of
from ...patterns import bounded
from ...scores import BASE_MODEL
from ...tables.table import Table
from ..line import Line, means
from ..scores.compared import differing
from ..scores.read import Scored, harness_rows, scored_rows

OF_TRAINING = ("loss", "eval_loss", "reward", "grad_norm", "learning_rate", "kl")
"""Curves of a training, which this says nothing about."""
OVERLAPS = bounded(r"(?:^|_)(?:hits?|overlap\w*|contamina\w+|leak\w*|collisions?)(?:_|$)|重叠|污染|泄漏|命中")
"""What counts test items that were trained on."""
LOST = 0.02
"""Share of what a line counts that may be missing."""
STILL, ABOVE = 2.5, 5.0
"""Standard errors within which two scores are one, and by which a score is above guessing. Own judgement, as below."""
FINE, COARSE = 2.0, 8.0
"""Points: the standard error of the best measured difference, and that from which on a task tells nothing."""
WHOLE = 99.5
"""Points from which on a score is too good to be reassuring."""
MOST_MODELS, SHOWN = 6, 3
Task = tuple[str, str]


def sound(tables: Sequence[Table], lines: Sequence[Line], counts: Sequence[Counted]) -> Iterator[Finding]:
    """One reassurance where all that was scored of two models or more is sound."""
    if any(line.name in OF_TRAINING for line in lines) or any(c.whole - c.there > LOST * c.whole for c in counts):
        return
    if any(_overlap(t) for t in tables):
        return
    models: dict[str, dict[Task, Scored]] = {}
    for row in (*scored_rows(tables), *harness_rows(tables)):
        who = row.model or row.evidence.file or ""
        if row.item or row.step is not None:
            return  # answers one by one, or a way through checkpoints: other detectors judge those
        if row.task and row.error is not None:
            models.setdefault(who, {}).setdefault((row.task, row.metric), row)
    models = {who: of for who, of in models.items() if of}
    if not 2 <= len(models) <= MOST_MODELS or any(BASE_MODEL.search(who) for who in models):
        return
    pairs = list(combinations(models, 2))
    if all(_alike(models[a], models[b]) for a, b in pairs) and all(map(_plausible, models.values())):
        yield _told(models, *max(pairs, key=lambda pair: _widest(*(models[who] for who in pair))[0]))


def _overlap(table: Table) -> bool:
    """Whether a table counts test items that were trained on, and not none of them."""
    counted = (c.values for c in table.columns if c.values.dtype.kind == "f" and means(OVERLAPS, c.name))
    return any(np.nansum(values) > 0 for values in counted)


def _alike(a: Mapping[Task, Scored], b: Mapping[Task, Scored]) -> bool:
    """Whether two models were scored on as many items of the same tasks, in the same way as both say, and come out
    one within their errors, and not the same to the last digit."""
    if a.keys() != b.keys():
        return False
    both = [(a[task], b[task]) for task in a]
    errors = [hypot(x.error or 0.0, y.error or 0.0) for x, y in both]
    return (
        all(x.n and x.n == y.n and x.setup and y.setup and not differing(x, y) for x, y in both)
        and 0 < min(errors) <= FINE
        and max(errors) <= COARSE
        and _widest(a, b)[0] <= STILL
        and any(x.value != y.value for x, y in both)
    )


def _widest(a: Mapping[Task, Scored], b: Mapping[Task, Scored]) -> tuple[float, Task]:
    """(standard errors, task) of the largest difference."""
    return max((abs(a[t].value - b[t].value) / hypot(a[t].error or 0.0, b[t].error or 0.0), t) for t in a)


def _plausible(of: Mapping[Task, Scored]) -> bool:
    """Whether every score of a model is above guessing, and none is nearly all."""
    guess = {task: chance.points if (chance := chance_of(task[0])) else 0.0 for task in of}
    return all(guess[t] + ABOVE * (s.error or 0.0) < s.value < WHOLE for t, s in of.items())


def _told(models: Mapping[str, Mapping[Task, Scored]], a: str, b: str) -> Finding:
    one, other = models[a], models[b]
    z, task = _widest(one, other)
    x, y = one[task], other[task]
    n = sum(s.n or 0 for s in one.values())
    how = ", ".join(f"{name} {value}" for name, value in x.setup[:SHOWN])
    names, said = clean(", ".join(models), 120), f"{clean(task[0], 40)} {x.value:.4g} / {y.value:.4g}"
    return Finding(
        "run-healthy", Severity.S3,
        f"Nothing wrong in the evaluation of {names}: all were scored on the same {n} items of {len(one)} tasks and "
        f"measured alike ({clean(how, 120)}), every score is above guessing, and no two differ beyond the noise: "
        f"{said} is the widest difference, {z:.1f} standard errors.",
        f"{names} 的评测没有问题：都在 {len(one)} 个任务的同样 {n} 道题上、以同样的设置评测（{clean(how, 120)}），"
        f"得分都高于随机猜测，差别都在误差之内：最大的是 {said}，相差 {z:.1f} 个标准误。",
        (y.evidence, x.evidence),
        {"points": n, "whole": True, "z": z, "score": task[1], "versions": [a, b]},
    )  # fmt: skip
