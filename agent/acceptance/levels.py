"""What the run itself reached, as the bound of the next one: the step at which it stopped, the speed that was too low,
the loss that it began with.

A criterion without a number ("increases", "no such error") cannot tell a good run from a bad one before the two lie
side by side; the failed run has the number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...knowledge.entry import Criterion, Entry
from ...tools.findings import Finding, Severity
from ...tools.logs.signatures import causes, holders, match, parts, phases
from ...tools.patterns import bounded
from ...tools.series import SeriesTable
from ...tools.vocabulary import VOCABULARY
from .subject import COUNTED, TOO_SHORT, Observation, Subject, early, last_step, metric, missing, seen

FARTHER = (20, 0.02)
"""Steps, and share of the steps so far, by which the next run must get beyond the place where this one stopped."""
HUNG = frozenset(("hang-no-progress", "rank-missing", "collective-mismatch", "ranks-at-different-collectives"))
"""Findings that say that a run stands still, beside the errors of a log."""
ELSEWHERE = frozenset((
    "sizes-not-divisible", "batch-not-divisible", "data-schema-mismatch", "data-empty", "data-parse-error",
    "loss-scale-collapse", "vocab-embedding-mismatch", "context-length-exceeded", "group-of-one",
    "groups-without-signal", "processes-exceed-devices", "empty-tensors",
))  # fmt: skip
"""Errors of a log that checks of settings, data or checkpoints find as well, in runs that never stopped."""
STOPPED = HUNG.union(*(module.CODES for module in (causes, holders, match, parts, phases))) - ELSEWHERE
"""Findings that, where they are serious, say that a run stopped. The catalogue would tell, and imports every tool."""
FASTER = 0.1
"""Share by which a speed must leave the level that is complained of. Own judgement."""
BACK = 0.05
"""Share of the level that a run had before it became slow, by which the next may miss it."""
SPEEDS = ("tokens_per_second", "samples_per_second", "mfu", "step_time")
"""Measures of speed, of which the first that is logged is asked for."""
SMOOTHLY, LEARNING = "loss_decreases_smoothly", ("loss", "eval_loss", "perplexity", "reward", "accuracy")
LEAST_STILL, BLOCKS, STILL, UNSTEADY = 60, 20, 0.02, 0.1
"""Points and parts of a curve, share of its level within which it stands still, and share by which the parts of its
later half vary where it has no level. Own judgement."""
TRAINED = bounded(r"(?i)loss|reward|nll|learning_rate|grad|损失|奖励")
"""In the name of a measure that only a training has."""
AGAINST = "_against_baseline"
SETTLED = 3
"""Points before which a speed is not looked at: the first steps compile, warm caches up and connect."""


def asked(metric: str, is_: str, bound: float | str, unit: str, en: str, zh: str) -> Criterion:
    """The criterion, with what its number comes from in both languages."""
    where = {"at-least": "low", "at-most": "high", "equals": "value"}[is_]
    number = float(f"{bound:.4g}") if is_ != "equals" and isinstance(bound, float) else bound
    said = {"en": f"from this run's numbers: {en}", "zh": f"由本次运行的数字得出：{zh}"}
    return Criterion.model_validate(
        {"metric": metric, "is": is_, where: number, "unit": unit, "basis": "proposed", "definition": said}
    )


def reached(held: Sequence[Finding], table: SeriesTable) -> Iterator[Criterion]:
    """Beyond the step at which a training stopped with an error or stood still."""
    stopped = [f for f in held if f.severity is Severity.S0 and f.code in STOPPED]
    if not stopped or not any(s.step_is in COUNTED and TRAINED.search(f"{s.metric} {s.key}") for s in table):
        return
    files = {e.file for f in stopped for e in f.evidence[:1]}
    of_log = [s for s in table if s.file in files and len(s) and s.step_is in COUNTED]
    last = max((int(s.steps[-1]) for s in of_log), default=None)
    least = 1 if last is None else last + max(FARTHER[0], round(FARTHER[1] * last))
    en = "this run stopped before its first step" if last is None else f"this run's log ends at step {last}"
    zh = "本次运行在第一步之前就停了" if last is None else f"本次运行的日志止于第 {last} 步"
    counted = [s for s in table if len(s) and s.step_is in COUNTED and s.file not in files]
    if last is not None and any(last / 2 < int(s.steps[0]) <= least <= int(s.steps[-1]) for s in counted):
        return  # another log goes on from there and is beyond it already
    yield asked("steps_reached", "at-least", least, "steps", en, zh)


def left(entry: Entry, table: SeriesTable) -> Iterator[Criterion]:
    """The speed that the run had before it became slow, else beyond the one that it had throughout, where the entry
    asks for more of it without a number."""
    wanted = [c.metric.removesuffix(AGAINST) for c in entry.acceptance if c.is_ in ("increases", "decreases", "stable")]
    if not any(name in SPEEDS for name in wanted):
        return
    for name in SPEEDS:
        series = table.get(name)
        values = series.values[SETTLED:][np.isfinite(series.values[SETTLED:])] if series is not None else np.empty(0)
        if len(values) < SETTLED or not (level := float(np.median(values))) > 0:
            continue
        more = VOCABULARY[name].better > 0
        unit = "" if VOCABULARY[name].unit == "1" else VOCABULARY[name].unit
        early, late = (float(np.median(part)) for part in (values[: len(values) // 4 + 1], values[-len(values) // 4 :]))
        if (early > (1 + FASTER) * late) if more else (late > (1 + FASTER) * early):
            is_, bound = ("at-least", (1 - BACK) * early) if more else ("at-most", (1 + BACK) * early)
            yield asked(name, is_, bound, unit, f"{early:.4g} at first, {late:.4g} at the end",
                        f"开始时为 {early:.4g}，末尾为 {late:.4g}")  # fmt: skip
            return
        is_, bound = ("at-least", (1 + FASTER) * level) if more else ("at-most", level / (1 + FASTER))
        yield asked(name, is_, bound, unit, f"{level:.4g} in this run (median)",
                         f"本次运行为 {level:.4g}（中位数）")  # fmt: skip
        return


def beyond(entry: Entry, table: SeriesTable) -> Iterator[Criterion]:
    """Better than the run ever was, of a measure of learning that stood still in its later half, where the entry asks
    that it gets better without a number: in as many steps, for a level of another step is no target."""
    for wanted in entry.acceptance:
        name = "loss" if wanted.metric == SMOOTHLY else wanted.metric
        if name not in LEARNING or not (wanted.metric == SMOOTHLY or wanted.is_ in ("increases", "decreases")):
            continue
        series = table.get(name)
        values = series.values[np.isfinite(series.values)] if series is not None else np.empty(0)
        if series is None or len(values) < LEAST_STILL:
            continue
        better = VOCABULARY[name].better
        blocks = np.array([np.median(part) for part in np.array_split(values, BLOCKS)])
        late, level = blocks[BLOCKS // 2 :], float(np.median(blocks[BLOCKS // 2 :]))
        best = float((better * blocks).max() * better)
        noise = float(np.std(late))
        gained = better * (float(np.median(late[-3:])) - float(np.median(late[:3])))
        if level <= 0 or noise > UNSTEADY * level or gained > max(STILL * level, noise):
            continue
        bound = best + better * max(STILL * abs(best), 3 * noise)
        last = int(series.steps[-1])
        yield asked(name, "at-least" if better > 0 else "at-most", bound, "",
                    f"stands at {level:.4g} in the later half of {last} steps, and was {best:.4g} at best",
                    f"{last} 步的后半程停在 {level:.4g}，最好时为 {best:.4g}")  # fmt: skip


def begun(data: Mapping[str, Any]) -> Iterator[Criterion]:
    """A loss that begins where guessing lies."""
    if data.get("guessing"):
        guess, first = float(data["guessing"]), float(data["first"])
        yield asked("first_loss", "at-most", 1.1 * guess, "nats", f"guessing is {guess:.4g}, this run began at "
                         f"{first:.4g}", f"随机猜测为 {guess:.4g}，本次从 {first:.4g} 开始")  # fmt: skip


@metric("steps_reached")
def steps_reached(subject: Subject, criterion: Criterion) -> Observation:
    """The last optimizer step that any log of the run shows; one that is on its way there has not failed."""
    last = last_step(subject.table)
    if last is None:
        return missing("no step is logged")
    if last < (criterion.low or 0) and not subject.found(*STOPPED):
        return early(f"{TOO_SHORT}the run must reach step {criterion.low:.10g}, it ends at {last}", last, "", last)
    return seen(last, criterion, "last logged step", last)


@metric("first_loss")
def first_loss(subject: Subject, criterion: Criterion) -> Observation:
    """The first loss that is logged, at the first step or the few behind it."""
    loss = subject.table.get("loss")
    if loss is None or not len(loss):
        return missing("loss is not logged in this run")
    return seen(float(loss.values[0]), criterion, f"loss at step {int(loss.steps[0])}", 1)


@metric("lr_floor_step")
def lr_floor_step(subject: Subject, criterion: Criterion) -> Observation:
    """The first step behind its peak at which the learning rate is as low as it gets; its last where it still falls."""
    rate = subject.table.get("learning_rate")
    if rate is None or not np.isfinite(rate.values).any():
        return missing("learning_rate is not logged in this run")
    top = int(np.nanargmax(rate.values))
    low = np.flatnonzero(rate.values[top:] <= 1.01 * float(np.nanmin(rate.values[top:])))
    words = "step at which the learning rate reaches its lowest value"
    return seen(int(rate.steps[top + int(low[0])]), criterion, words, len(rate))
