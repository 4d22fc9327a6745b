"""Scores of several tasks before and after training, however a file lays them out: a column for each model, a row for
each model or epoch, or a file for each. Which abilities were lost, and whether others were won at the same time.

What result files of known harnesses say is judged in `tools.scores`, by the same limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from math import sqrt

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...scores import CLEAR, FOLLOWING, GENERAL, KNOWING, LIMIT, TARGET
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means, plain
from ..summed.words import TOTAL, WHOLE

BEFORE = bounded(
    r"(?:^|_)(?:base|before|pre|orig(?:inal)?|initial|old|without|wo|no|baseline|step_?0)(?:_|$)"
    r"|^(?:基座|底座|原模型|原始|微调前|训练前|之前|前|不含|不加|无)"
)
AFTER = bounded(
    r"(?:^|_)(?:after|tuned|finetuned|fine_tuned|sft|ft|dpo|rlhf|rl|now|post|final|new|with|plus|cpt)(?:_|$)"
    r"|^(?:微调后|训练后|之后|后|加入|加了|含)"
)
TASK = bounded(
    r"^(?:task|tasks|benchmark|bench|dataset|eval(?:uation)?|metric|test|ability)(?:_?name)?s?$|任务|评测|能力|基准"
)
EVERYDAY = bounded(r"通用|综合|常识|数学|推理|general|reasoning|math")
"""General abilities by what they are called where no public benchmark is named."""
FOLLOWS, KNOWS = bounded(r"指令|格式遵循|format|instruct"), bounded(r"知识|fact|knowledge|通用")
ASIDE = bounded(
    r"std_?err|(?:^|_)(?:n|num|count|size|loss|ppl|time|seconds|lr|learning_rate|tokens|kl|reward|train\w*|diff|delta|change)"
    r"(?:_|$)|题数|样本|条数|损失|学习率|奖励|训练"
)
"""Columns that are no score of an ability that is tested."""
MOST, LEAST_LOST = 60, 2


@dataclass(frozen=True)
class Stage:
    """The scores of one model."""

    name: str
    scores: dict[str, tuple[float, float | None, Evidence]]
    """Task -> points, items, where."""
    setup: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Change:
    """One task from the earlier to the later model."""

    task: str
    before: float
    after: float
    error: float | None
    places: tuple[Evidence, Evidence]

    @property
    def fell(self) -> bool:
        return self._beyond(self.before - self.after)

    @property
    def rose(self) -> bool:
        return self._beyond(self.after - self.before)

    def _beyond(self, by: float) -> bool:
        return by > LIMIT if self.error is None else by > TARGET and by > CLEAR * self.error

    def __str__(self) -> str:
        return f"{self.task} {self.before:.1f} -> {self.after:.1f}"


def traded(tables: Sequence[Table]) -> list[Finding]:
    """What was lost while something else was won; or what alone was lost."""
    for before, after in (*(p for t in tables[:200] for p in _of(t)), *_of_files(tables)):
        changes = _changes(before, after)
        if found := [*_traded(before, after, changes), *_alone(before, after, changes)]:
            return found
    return []


def _of(table: Table) -> Iterator[tuple[Stage, Stage]]:
    """The first and the last model of one table."""
    if not 2 <= len(table) <= MOST:
        return
    yield from _columns(table)
    yield from _rows(table)


def _scores(table: Table) -> list[Column]:
    out = []
    for c in table.columns:
        finite = c.values[np.isfinite(c.values)] if c.values.dtype.kind == "f" else np.empty(0)
        if (
            len(finite)
            and c.role == "measure"
            and not means(ASIDE, c.name)
            and 0 <= finite.min() <= finite.max() <= 100
        ):
            out.append(c)
    return out


def _size(table: Table) -> Column | None:
    return next((c for c in table.columns if means(WHOLE, c.name) and c.values.dtype.kind == "f"), None)


def _task(table: Table) -> Column | None:
    """The column that names a task in each row: by its name, or by public benchmarks in its cells."""
    for column in table.columns:
        if column.values.dtype.kind == "O":
            said = texts(column).tolist()
            known = sum(bool(GENERAL.search(v)) for v in said)
            if len(set(said)) == len(said) and (
                means(TASK, column.name) or column.of == "task" or 2 * known >= len(said)
            ):
                return column
    return None


def _columns(table: Table) -> Iterator[tuple[Stage, Stage]]:
    """A row for each task, a column for each model."""
    task, scores = _task(table), _scores(table)
    old = next((c for c in scores if means(BEFORE, c.name) and not means(AFTER, c.name)), None)
    new = next((c for c in reversed(scores) if means(AFTER, c.name) and not means(BEFORE, c.name)), None)
    if task is not None and old is not None and new is not None:
        scale = _scale(np.concatenate([old.values, new.values]))
        yield _stage(table, old, task, scale), _stage(table, new, task, scale)


def _scale(values: np.ndarray) -> float:
    return 100.0 if np.nanmax(values) <= 1 else 1.0


def _stage(table: Table, column: Column, task: Column, scale: float, name: str = "") -> Stage:
    size = _size(table)
    scores = {}
    for i, said in enumerate(texts(task).tolist()):
        if np.isfinite(column.values[i]) and not TOTAL.search(said):
            n = float(size.values[i]) if size is not None and np.isfinite(size.values[i]) else None
            scores[said] = (float(column.values[i]) * scale, n, _place(table, column, i))
    return Stage(name or column.name, scores)


def _place(table: Table, column: Column, i: int) -> Evidence:
    return Evidence(
        table.file, int(table.lines[i]) or None, metric="eval", value=float(column.values[i]), text=column.name
    )


def _rows(table: Table) -> Iterator[tuple[Stage, Stage]]:
    """A row for each model or epoch, a column for each task."""
    scores, size = _scores(table), _size(table)
    axis = next(
        (c for c in table.of("axis") if c.values.dtype.kind == "f" and c.of in ("epoch", "step", "checkpoint")), None
    )
    first, last, names = None, None, ["", ""]
    if axis is not None and len(set(axis.values.tolist())) == len(table):
        first, last = int(axis.values.argmin()), int(axis.values.argmax())
        names = [f"{axis.name} {axis.values[i]:g}" for i in (first, last)]
    else:
        label = next(
            (c for c in table.columns if c.values.dtype.kind == "O" and len(set(texts(c))) == len(table)), None
        )
        said = texts(label).tolist() if label is not None else []
        first = next((i for i, v in enumerate(said) if BEFORE.search(plain(v))), None)
        last = next((i for i, v in reversed([*enumerate(said)]) if i != first and AFTER.search(plain(v))), None)
        names = [said[i] if i is not None else "" for i in (first, last)]
    if first is None or last is None or len(scores) < 2:
        return
    made = []
    for i, name in zip((first, last), names, strict=True):
        n = float(size.values[i]) if size is not None and np.isfinite(size.values[i]) else None
        made.append(Stage(name, {c.name: (float(c.values[i]) * _scale(c.values), n, _place(table, c, i))
                                 for c in scores if np.isfinite(c.values[i])}))  # fmt: skip
    yield made[0], made[1]


def _of_files(tables: Sequence[Table]) -> Iterator[tuple[Stage, Stage]]:
    """The same tasks in a file of the earlier and one of the later model, measured alike."""
    said = [(t, task, scores[0]) for t in tables if 2 <= len(t) <= MOST
            and (task := _task(t)) is not None and (scores := _scores(t))]  # fmt: skip
    setup: dict[str, dict[str, str]] = {}
    for t in tables:
        if len(t) == 1:
            setup.setdefault(t.file, {}).update({plain(c.name): str(c.values[0]) for c in t.columns})
    for (a, of_a, old), (b, of_b, new) in permutations(said[:12], 2):
        named = means(BEFORE, a.file.rpartition(".")[0]) and not means(BEFORE, b.file.rpartition(".")[0])
        mine, theirs = setup.get(a.file, {}), setup.get(b.file, {})
        apart = [k for k in mine.keys() & theirs.keys() if mine[k] != theirs[k] and MEASURED.search(k)]
        if a.file != b.file and named and not apart and plain(old.name) == plain(new.name):
            scale = _scale(np.concatenate([old.values, new.values]))
            yield _stage(a, old, of_a, scale, a.file), _stage(b, new, of_b, scale, b.file)


MEASURED = bounded(r"harness|shots?|template|version|judge|decod|temperature|prompt")


def _changes(before: Stage, after: Stage) -> list[Change]:
    out = []
    for task, (a, n, place) in before.scores.items():
        if task in after.scores:
            b, m, there = after.scores[task]
            p, q = (min(max(x / 100, 0.01), 0.99) for x in (a, b))
            error = 100 * sqrt(p * (1 - p) / n + q * (1 - q) / m) if n and m else None
            out.append(Change(task, a, b, error, (place, there)))
    return out


def _general(name: str) -> bool:
    return bool(GENERAL.search(name) or EVERYDAY.search(name.lower()))


def _follows(name: str) -> bool:
    return bool(FOLLOWING.search(name) or FOLLOWS.search(name.lower()))


def _traded(before: Stage, after: Stage, changes: Sequence[Change]) -> Iterator[Finding]:
    lost = sorted((c for c in changes if c.fell and _general(c.task)), key=lambda c: c.after - c.before)
    won = [c for c in changes if c.rose]
    if len(lost) < LEAST_LOST or not won or all(_follows(c.task) for c in lost):
        return
    fell, rose = (", ".join(map(str, some[:3])) for some in (lost, won))
    yield Finding(
        "abilities-traded", Severity.S1,
        f"From {before.name} to {after.name} {fell} are lost and {rose} won, each beyond its error.",
        f"从 {before.name} 到 {after.name}：{fell} 下降，{rose} 上升，均超出各自的误差。",
        (*lost[0].places, *won[0].places), {"fell": len(lost), "rose": len(won)},
    )  # fmt: skip


def _alone(before: Stage, after: Stage, changes: Sequence[Change]) -> Iterator[Finding]:
    """The model knows what it knew and no longer does as it is told."""
    lost = [c for c in changes if c.fell]
    kept = [c for c in changes if not c.fell and (KNOWING.search(c.task) or KNOWS.search(c.task.lower()))
            and not _follows(c.task)]  # fmt: skip
    if not lost or not kept or not all(_follows(c.task) for c in lost):
        return
    yield Finding(
        "instructions-lost-alone", Severity.S2,
        f"From {before.name} to {after.name} only following instructions is lost ({lost[0]}); knowledge is not "
        f"({', '.join(map(str, kept[:3]))}).",
        f"从 {before.name} 到 {after.name}，只有指令遵循下降（{lost[0]}），知识没有（"
        f"{'，'.join(map(str, kept[:3]))}）。",
        (*lost[0].places, kept[0].places[1]), {"score": lost[0].task, "kept": len(kept)},
    )  # fmt: skip
