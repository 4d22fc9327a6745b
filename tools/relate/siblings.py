"""One run against a better one beside it: how far behind it is at the same step, and what is set differently.

The other run is the baseline that a person would take: the same measure, the same steps, another outcome. Which of the
differences is the cause is for the entries to say (`changed(...)` in their signs); of many there is no telling.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..config.diff import Difference, diff
from ..findings import PROPOSES, Check, Evidence, Finding, Report, Severity, declare
from ..series import Series, SeriesTable
from ..settings import Settings
from ..vocabulary import VOCABULARY

CHECK = "the run against a better one beside it"
CODES = declare(
    "siblings",
    ("behind-sibling", CHECK, "another run is better at the same step, with few things set otherwise"),
    ("rate-not-the-cause", CHECK, "a run beside it fails alike at a far lower learning rate, or is sound at the same"),
)
MEASURES = ("eval_loss", "loss", "eval_accuracy", "eval_reward", "reward", "accuracy")
"""What runs are compared by, the first that both have."""
LEAST_POINTS = 20
LAST = 0.2
"""Share of the common way over whose end the runs are compared."""
LEAST_SHARE, CLEAR = 0.03, 5.0
"""Share of the level, and standard errors, by which the other run is better at least."""
FAR_LOWER, ALMOST = 0.6, 0.95
"""Times this run's learning rate at which another is far below it, and about the same or higher."""
PARTS, WORSE = 10, 0.1
"""Parts of a run, and the share of its best part's level by which its last is worse where it fails. Ours."""
LEAST_AFTER = 10
"""Points that the other run must have after the step at which this one fails."""
BATCH = ("global_batch_size", "micro_batch_size", "grad_accumulation", "world_size", "nodes", "gpus_per_node",
         "data_parallel")  # fmt: skip
"""The batch, and the settings that make it."""
DEVICES = ("world_size", "nodes", "gpus_per_node", "data_parallel")
"""Of these what a person has or has not: the batch is given back by another."""
THINGS = ("dataset", "checkpoint", "code", "environment")
"""What is no setting that takes a value."""
UNITS = {"warmup_steps": ("warmup_samples",), "max_steps": ("train_samples",), "decay_steps": ("decay_samples",)}
"""Lengths in steps, and how else a run may give them."""
ALIKE = 1 / 3
"""Share of their distance to this run within which several others end alike."""
MOST_DIFFERENT = 3
"""Differences of settings from which on nothing follows from them."""


@dataclass(frozen=True)
class Sibling:
    """Another training under the same path."""

    name: str
    table: SeriesTable
    settings: Settings
    failed: bool = False
    """Whether its own log shows a failure."""


def gap(table: SeriesTable, other: SeriesTable) -> tuple[Series, Series, int, float, float] | None:
    """(own, other, step, own level, other level) where the other run is clearly better at the same steps."""
    for metric in MEASURES:
        mine, theirs = (_longest(t, metric) for t in (table, other))
        if mine is None or theirs is None:
            continue
        end = min(mine.steps[-1], theirs.steps[-1])
        begin = end - LAST * (end - max(mine.steps[0], theirs.steps[0]))
        if (fell := _fails(mine, theirs)) is not None:
            return mine, theirs, fell, float("nan"), float(np.median(theirs.values[theirs.steps >= fell][:10]))
        a, b = (s.values[(s.steps >= begin) & (s.steps <= end) & np.isfinite(s.values)] for s in (mine, theirs))
        if min(len(a), len(b)) < 3:
            continue
        error = float(np.hypot(a.std(ddof=1) / np.sqrt(len(a)), b.std(ddof=1) / np.sqrt(len(b))))
        worse = -VOCABULARY[metric].better * float(a.mean() - b.mean())
        if worse >= max(LEAST_SHARE * abs(float(b.mean())), CLEAR * error):
            return mine, theirs, int(end), float(a.mean()), float(b.mean())
        return None
    return None


def _fails(mine: Series, theirs: Series) -> int | None:
    """The step from which on this run is no number to its end, while the other goes on past it with numbers."""
    bad = ~np.isfinite(mine.values)
    if not bad.any() or not bad[bad.argmax() :].all() or not np.isfinite(theirs.values).all():
        return None
    first = int(mine.steps[bad.argmax()])
    return first if (theirs.steps >= first).sum() >= LEAST_AFTER else None


def _longest(table: SeriesTable, metric: str) -> Series | None:
    found = [s for s in table if s.metric == metric and len(s) >= LEAST_POINTS and s.step_is in ("step", "cumulative")]
    return max(found, key=len, default=None)


def behind(table: SeriesTable, settings: Settings, siblings: list[Sibling]) -> Finding | None:
    """The one better run beside this one, and what is set differently there; of several the nearest, where all of them
    end alike and have one and the same setting otherwise; nothing in a sweep of which each ends on its own level."""
    some = [s for s in siblings if s.settings.values]
    other, changed = _told_apart(table, settings, some)
    if other is None:
        other = _nearest(table, settings, some) if len(siblings) > 1 else next(iter(some), None)
        changed = [d for d in diff(other.settings, settings) if d.counts] if other is not None else []
    if other is None or not settings.values:
        return None
    found = gap(table, other.table)
    if found is None or not 0 < len(changed) <= MOST_DIFFERENT:
        return None
    mine, theirs, step, own, better = found
    notes = [f" ({d.note})" if d.variable in UNITS and d.note else "" for d in changed]
    pairs = list(zip(changed, notes, strict=True))
    said = "; ".join(f"{d.variable} {d.old} there, {d.new} here{note}" for d, note in pairs)
    said_zh = "；".join(f"{d.variable} 那边为 {d.old}，这里为 {d.new}{note}" for d, note in pairs)
    batch = [s.value(BATCH[0]) for s in (other.settings, settings)]
    parts = {d.variable for d in changed}
    made = parts & {*BATCH} and BATCH[0] not in parts and None not in batch and batch[0] != batch[1]
    if made:  # by the parts that differ
        said += f"; with it the global batch: {batch[0]} there, {batch[1]} here"
        said_zh += f"；全局批随之不同：那边 {batch[0]}，这里 {batch[1]}"
    i, j = (int(np.searchsorted(s.steps, step, "right")) - 1 for s in (mine, theirs))
    en, zh = (f"{own:.4g} up to step {step}", f"到第 {step} 步")
    if not np.isfinite(own):
        en, zh = f"no number from step {step} on", f"从第 {step} 步起"
    return Finding(
        "behind-sibling",
        Severity.S2,
        f"{mine.key} is {en}, where {other.name} had {better:.4g}; set differently: {said}.",
        f"{zh} {mine.key} 为 {own:.4g}，而 {other.name} 为 {better:.4g}；设置不同：{said_zh}。",
        (mine.at(i), *_places(changed), theirs.at(j)),
        {"metric": mine.metric, "step": step, "value": own if np.isfinite(own) else None, "other": better,
         "sibling": other.name,
         "changed": {d.variable: [d.old, d.new] for d in changed} | ({BATCH[0]: batch} if made else {}),
         **({PROPOSES: _put_back(changed[0], settings)} if len(changed) == 1 else {})},
    )  # fmt: skip


def _told_apart(
    table: SeriesTable, settings: Settings, siblings: list[Sibling]
) -> tuple[Sibling | None, list[Difference]]:
    """The better run with the fewest settings of its own, where further runs fail as this one does: what one of those
    has as the better run has it, or another better run as this one, is not what tells them apart."""
    own = _failure(table)
    better = [s for s in siblings if not s.failed and not _failure(s.table) and gap(table, s.table) is not None]
    alike = [s for s in siblings if own and _failure(s.table) == own]
    if not better or not alike:
        return None, []
    apart = {}
    for s in better:
        rest = [x for x in better if x is not s]
        apart[s.name] = [
            d for d in diff(s.settings, settings)
            if d.counts and not any(_has(x, d.variable, d.old) for x in alike)
            and not any(_has(x, d.variable, d.new) for x in rest)
        ]  # fmt: skip
    kept = [s for s in better if apart[s.name]]
    other = min(kept, key=lambda s: len(apart[s.name]), default=None)
    return other, apart[other.name] if other is not None else []


def _failure(table: SeriesTable) -> str:
    """How the measure of a run fails: in no number, or by ending clearly worse than it once was; empty for neither."""
    for metric in MEASURES:
        if (series := _longest(table, metric)) is None:
            continue
        if not np.isfinite(series.values).all():
            return "no number"
        way = VOCABULARY[metric].better
        parts = [float(np.median(part)) for part in np.array_split(series.values, PARTS)]
        best, last = max(parts, key=lambda level: way * level), parts[-1]
        return "worse" if way * (best - last) > WORSE * abs(best) else ""
    return ""


def _has(run: Sibling, variable: str, value: object) -> bool:
    own = run.settings.get(variable) or run.settings.others.get(variable)
    return (own.value if own is not None else None) == value


def exonerated(table: SeriesTable, settings: Settings, siblings: list[Sibling]) -> Finding | None:
    """That the learning rate is not why this run fails: one beside it fails at far less of it, or is sound with it."""
    mine = _peak(table, settings)
    if mine is None:
        return None
    for other in siblings:
        theirs, apart = _peak(other.table, other.settings), gap(table, other.table)
        if theirs is None or not 0 < sum(d.counts for d in diff(other.settings, settings)) <= MOST_DIFFERENT:
            continue  # another training altogether
        how = _failure(other.table)
        if how and how == _failure(table) and theirs[0] <= FAR_LOWER * mine[0]:
            en, zh = "fails in the same way", "以同样的方式失败"
        elif not other.failed and not how and apart is not None and theirs[0] >= ALMOST * mine[0]:
            en, zh = "does not fail", "没有失败"
        else:
            continue
        return Finding(
            "rate-not-the-cause", Severity.S3,
            f"The learning rate is {mine[0]:g} here; {other.name}, beside it, has {theirs[0]:g} and {en}.",
            f"这里的学习率是 {mine[0]:g}；旁边的 {other.name} 为 {theirs[0]:g}，{zh}。",
            (mine[1], theirs[1]), {"value": mine[0], "other": theirs[0], "sibling": other.name},
        )  # fmt: skip
    return None


def _peak(table: SeriesTable, settings: Settings) -> tuple[float, Evidence] | None:
    """The rate that is set, else the highest that was logged, and where: one that fails may never reach what is set."""
    setting = settings.get("learning_rate")
    if setting is not None and setting.value:
        return float(setting.value), setting.evidence()
    logged = [s for s in table if s.metric == "learning_rate" and len(s) and np.isfinite(s.values).all()]
    if not logged:
        return None
    s = max(logged, key=lambda one: float(one.values.max()))
    return float(s.values.max()), s.at(int(np.argmax(s.values)))


def _nearest(table: SeriesTable, settings: Settings, siblings: list[Sibling]) -> Sibling | None:
    """The run whose setting lies nearest, of runs that end alike, far from this one, and differ from it in it alone."""
    gaps = [gap(table, s.table) for s in siblings]
    apart = [[d for d in diff(s.settings, settings) if d.counts] for s in siblings]
    told = [(g[3], g[4]) for g in gaps if g is not None]
    if len(told) < len(siblings) or len({d.variable for some in apart for d in some}) != 1 or not all(apart):
        return None
    levels, own = [other for _, other in told], told[0][0]
    numbers = [some[0].old for some in apart if isinstance(some[0].old, int | float)]
    mine = settings.value(apart[0][0].variable)
    if len(numbers) < len(siblings) or not isinstance(mine, int | float) or not np.isfinite([own, *levels]).all():
        return None
    if max(levels) - min(levels) > ALIKE * min(abs(own - x) for x in levels):
        return None
    return siblings[int(np.argmin([abs(float(x) - float(mine)) for x in numbers]))]


def _put_back(change: Difference, settings: Settings) -> dict[str, object]:
    """The other run's value, in the unit in which this run gives it."""
    batch, steps = settings.value("global_batch_size"), settings.value("grad_accumulation")
    numbers = all(isinstance(n, int) and n > 0 for n in (steps, change.old, change.new))
    if change.variable in DEVICES and numbers and change.old % change.new == 0:
        return {"variable": "grad_accumulation", "new": steps * change.old // change.new}  # as many samples a step
    unit = next((u for u in UNITS.get(change.variable, ()) if u in settings and change.variable not in settings), "")
    if unit.endswith("samples") and isinstance(batch, int) and isinstance(change.old, (int, float)):
        return {"variable": unit, "new": round(change.old * batch)}
    return {"variable": change.variable, "new": change.old}


def taken_from(behind: Finding | None, asked: Iterable[str]) -> dict[str, object]:
    """What to propose, for a sign that asks for the one setting in which the better run differs."""
    meant = behind.data.get(PROPOSES) if behind is not None else None
    if behind is None or meant is None or not any(v in behind.data["changed"] for v in asked):
        return {}
    return {PROPOSES: meant} if meant["new"] is not None and meant["variable"] not in THINGS else {}


def against(table: SeriesTable, settings: Settings, siblings: list[Sibling]) -> Report:
    """The run against the others under its path."""
    found = [f for f in (behind(table, settings, siblings), exonerated(table, settings, siblings)) if f is not None]
    return Report("siblings", tuple(found), (Check(CHECK, "found" if found else "clear"),))


def _places(changed: list[Difference]) -> list[Evidence]:
    out = []
    for d in changed:
        file, _, line = d.where.rpartition(":")
        if file and line.isdecimal():
            out.append(Evidence(file, int(line), text=f"{d.variable} {d.new}"))
    return out
