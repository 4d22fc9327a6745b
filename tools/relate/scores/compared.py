"""Scores in tables: which differ beyond chance, which may not be compared, and where along the checkpoints they fell.

A score's standard error is the table's own or that of its number of items; items that both sides answered are compared
one by one. Rows that were measured in another way (shots, template, judge, harness, normalisation) are not compared:
that they differ is then what is found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from math import erf, hypot, sqrt

import numpy as np

from ...findings import Finding, Severity
from ...patterns import bounded
from ...tables.table import Table
from ...tables.values import TASKS
from ..summed.words import TEMPLATE
from .fallen import POINTS, fallen
from .read import Scored, scored_rows

CLEAR = 3.0
"""Standard errors by which two scores differ, and `AGAIN` those by which one model differs from itself."""
AGAIN = 2.0
SIZE = bounded(r"(?i)[~约]?\s?\d{1,4}(?:\.\d{1,3})?\s?(?:[bmk]|亿|万)(?:illion)?(?:[-\s]?(?:param\w{0,6}|参数))?")
"""A size, which is no name of weights."""
SAME_SIZE = 1.2
"""Times as many items up to which two results are of one set, a few of which may have been lost."""
UNKNOWN = 5.0
"""Points that one model's two scores lie apart at least where no error of theirs is known. Own judgement."""

APART = 0.5
"""Share of a difference between two ways of measuring that one way alone may show. Own judgement."""


def related(tables: Sequence[Table]) -> list[Finding]:
    """What the scores of a run say."""
    rows = scored_rows(tables)
    single = [r for r in rows if not r.item]
    found = [*_rescored(single), *_incomparable(single), *fallen(single)]
    if not found:
        found += _different(single)
    return found + _paired([r for r in rows if r.item])


def differing(a: Scored, b: Scored) -> list[tuple[str, str, str]]:
    """(setting, value of a, value of b) of how both were measured, where both say it and not the same."""
    other = dict(b.setup)
    return [(name, value, other[name]) for name, value in a.setup if other.get(name, value) != value]


def _alike(rows: Iterable[Scored]) -> Iterator[tuple[Scored, Scored]]:
    """Pairs of rows of one metric and task, not of two places on the way."""
    groups: dict[tuple[str, str], list[Scored]] = {}
    for row in rows:
        groups.setdefault((row.metric, row.task), []).append(row)
    for group in groups.values():
        yield from (pair for pair in combinations(group[:60], 2) if _of_one_set(*pair) and not _announced(*pair))


def _named_task(row: Scored) -> str:
    """The benchmark that the file's own name speaks of."""
    found = TASKS.search((row.evidence.file or "").rpartition("/")[2].rpartition(".")[0])
    return found[0].strip("_-. ").lower() if found else ""


def _of_one_set(a: Scored, b: Scored) -> bool:
    """Whether both can be of the same items: their files and labels name no two, and as many were scored."""
    named, other = {_named_task(a), _named_task(b)} - {""}, dict(b.labels)
    if any(other.get(name, value) != value for name, value in a.labels):
        return False
    return len(named) < 2 and (a.n is None or b.n is None or max(a.n, b.n) <= SAME_SIZE * min(a.n, b.n))


def _announced(a: Scored, b: Scored) -> bool:
    """Whether the names of both files say the number of shots that tells the two apart: both were meant to be."""
    apart = differing(a, b)
    files = a.evidence.file or "", b.evidence.file or ""
    return bool(apart) and all(
        "shot" in name
        and all(re.search(rf"(?<!\d){re.escape(v)}[-_ ]?shots?", f) for v, f in zip(of, files, strict=True))
        for name, *of in apart
    )


def _rescored(rows: list[Scored]) -> list[Finding]:
    """The same weights scored twice, not alike: the ruler changed, not the model."""
    best: tuple[float, Scored, Scored] | None = None
    for a, b in _alike(rows):
        same = (a.weights and a.weights == b.weights) or (not a.weights and a.model and a.model == b.model)
        if SIZE.fullmatch(a.weights or a.model):
            continue  # many models are of one size
        apart = differing(a, b)
        if (
            same
            and apart
            and a.step == b.step
            and (z := _z(a, b) or _far(a, b)) >= AGAIN
            and (best is None or z > best[0])
            and not _alike_apart(rows, a, b)
        ):
            best = (z, a, b)
    if best is None:
        return []
    return [_by_template(*best) or _harness(*best, _measured_alike(rows, *best[1:]))]


def _alike_apart(rows: list[Scored], a: Scored, b: Scored) -> bool:
    """Whether the same weights, measured alike, lie apart about as far as two that were not: something else differs."""
    far = APART * abs(a.value - b.value)
    return any(
        row is not one and row.setup == one.setup and abs(row.value - one.value) >= far
        and (row.metric, row.task, row.weights, row.model, row.step)
        == (one.metric, one.task, one.weights, one.model, one.step)
        for row in rows for one in (a, b)
    )  # fmt: skip


def _by_template(z: float, a: Scored, b: Scored) -> Finding | None:
    """Two chat templates that one model was asked in, and nothing else that differs."""
    apart = differing(a, b)
    if not all("template" in name and TEMPLATE.search(x) and TEMPLATE.search(y) for name, x, y in apart):
        return None
    (low, x), (high, y) = sorted(((a, apart[0][1]), (b, apart[0][2])), key=lambda one: one[0].value)
    which = a.weights or a.model
    return Finding(
        "score-follows-template",
        Severity.S1,
        f"{which} scores {high.value:.1f} asked in {y} and {low.value:.1f} asked in {x}{_errors(z)[0]}, "
        "all else equal: the score goes with the chat template.",
        f"{which} 用 {y} 模板提问得 {high.value:.1f}，用 {x} 得 {low.value:.1f}{_errors(z)[1]}，其余相同："
        "分数随聊天模板变化。",
        (low.evidence, high.evidence),
        {"score": a.metric, "low": low.value, "high": high.value, "z": z, "by": ["template"]},
    )


def _z(a: Scored, b: Scored) -> float:
    """Standard errors between two scores; 0 where none is known or they are within `POINTS`."""
    error = hypot(a.error, b.error) if a.error is not None and b.error is not None else 0.0
    apart = abs(a.value - b.value)
    return apart / error if error and apart >= POINTS else 0.0


def _far(a: Scored, b: Scored) -> float:
    """`AGAIN` where no error is known and the scores lie far apart."""
    known = a.error is not None and b.error is not None
    return 0.0 if known or abs(a.value - b.value) < UNKNOWN else AGAIN


def _errors(z: float) -> tuple[str, str]:
    """How far apart two scores lie, where that is known."""
    return ("", "") if z == AGAIN else (f" ({z:.1f} standard errors apart)", f"（相差 {z:.1f} 个标准误）")


def _measured_alike(rows: Iterable[Scored], a: Scored, b: Scored) -> tuple[Scored, Scored] | None:
    """Another model, and the one of the two scores that was measured as it was."""
    for row in rows:
        for one in (a, b):
            other = (row.weights, row.model) != (one.weights, one.model) and row.step == one.step
            if other and row.metric == one.metric and row.task == one.task and row.setup == one.setup:
                return row, one
    return None


def _harness(z: float, a: Scored, b: Scored, alike: tuple[Scored, Scored] | None) -> Finding:
    which = a.weights or a.model
    said = ", ".join(f"{name} {x} / {y}" for name, x, y in differing(a, b)[:4])
    data: dict[str, object] = {"score": a.metric, "task": a.task, "before": a.value, "after": b.value, "z": z,
                               "settings": [list(one) for one in differing(a, b)]}  # fmt: skip
    en = zh = ""
    if alike:
        other, one = alike
        apart, error = other.value - one.value, hypot(other.error or 0.0, one.error or 0.0)
        en = f" Measured alike, {other.model or other.weights} and {one.model or which} differ by {apart:+.1f} points"
        en += f" (standard error {error:.1f})." if error else "."
        zh = f"同样测量时 {other.model or other.weights} 与 {one.model or which} 相差 {apart:+.1f} 个点"
        zh += f"（标准误 {error:.1f}）。" if error else "。"
        data |= {"alike_difference": apart, "alike_error": error}
    return Finding(
        "same-weights-scored-apart",
        Severity.S1,
        f"The same weights ({which}) score {a.value:.1f} and {b.value:.1f}{_errors(z)[0]}, measured "
        f"differently: {said}. The measurement changed, not the model.{en}",
        f"同一权重（{which}）得分 {a.value:.1f} 与 {b.value:.1f}{_errors(z)[1]}，而测量方式不同：{said}。"
        f"变的是评测，不是模型。{zh}",
        (a.evidence, b.evidence, *((alike[0].evidence,) if alike else ())),
        data,
    )


def _incomparable(rows: list[Scored]) -> list[Finding]:
    """Scores of different models that were measured in different ways."""
    for a, b in _alike(rows):
        apart = differing(a, b)
        if apart and abs(a.value - b.value) >= POINTS and (a.evidence.file != b.evidence.file or a.model != b.model):
            said = ", ".join(f"{name} {x} / {y}" for name, x, y in apart[:4])
            return [Finding(
                "eval-settings-differ", Severity.S2,
                f"{a.metric} {a.value:.1f} and {b.value:.1f} were measured differently ({said}): they cannot be "
                "compared.",
                f"{a.metric} {a.value:.1f} 与 {b.value:.1f} 的测量方式不同（{said}），不可直接比较。",
                (a.evidence, b.evidence),
                {"score": a.metric, "before": a.value, "after": b.value, "settings": [list(one) for one in apart]},
            )]  # fmt: skip
    return []


def _different(rows: list[Scored]) -> list[Finding]:
    """The clearest difference of two models on one task, with its interval."""
    pairs = [(z, a, b) for a, b in _alike(rows) if a.model != b.model and a.step == b.step
             and not differing(a, b) and (z := _z(a, b)) >= CLEAR]  # fmt: skip
    if not pairs:
        return []
    z, a, b = max(pairs, key=lambda pair: pair[0])
    return [_difference(a, b, z, (a.value - b.value), abs(a.value - b.value) / z, "")]


def _paired(rows: list[Scored]) -> list[Finding]:
    """Two models over the same items: only the items on which they differ count."""
    by_model: dict[tuple[str, str], dict[str, Scored]] = {}
    for row in rows:
        by_model.setdefault((row.metric, row.model or row.evidence.file or ""), {})[row.item] = row
    found = []
    for (first, a), (second, b) in combinations(list(by_model.items())[:12], 2):
        both = a.keys() & b.keys()
        if first[0] != second[0] or len(both) < 30 or any(differing(a[i], b[i]) for i in list(both)[:1]):
            continue
        apart = np.array([a[i].value - b[i].value for i in sorted(both)])
        error = float(apart.std(ddof=1)) / sqrt(len(apart))
        if error and abs(apart.mean()) >= max(CLEAR * error, POINTS):
            one, other = next(iter(a.values())), next(iter(b.values()))
            named = replace(one, model=first[1]), replace(other, model=second[1])
            z = abs(float(apart.mean())) / error
            found.append(
                _difference(*named, z, float(apart.mean()), error, f" over {len(both)} items that both answered")
            )
    return found[:3]


def _difference(a: Scored, b: Scored, z: float, apart: float, error: float, how: str) -> Finding:
    chance = 1 - erf(z / sqrt(2))
    low, high = apart - 1.96 * error, apart + 1.96 * error
    names = f"{a.model or 'one'} and {b.model or 'the other'}"
    return Finding(
        "score-differs", Severity.S3,
        f"{a.metric} of {names} differs by {apart:+.1f} points{how} (95%: {low:.1f} to {high:.1f}; chance "
        f"{chance:.1g}).",
        f"{names} 的 {a.metric} 相差 {apart:+.1f} 个点（95% 区间 {low:.1f} 到 {high:.1f}）。",
        (a.evidence, b.evidence),
        {"score": a.metric, "task": a.task, "difference": apart, "error": error, "interval": [low, high], "z": z},
    )  # fmt: skip
