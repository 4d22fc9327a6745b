"""The result of a bisection as a report: last good, first bad, what changed between, what going back costs.

`bisect_checkpoints` is the whole of `triage bisect` without its terminal. A report names the runbook entry that the
result supports as data; explaining it is the agent's work.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...findings import Check, Evidence, Finding, Report, Severity, TriageError, declare
from . import drive as bisection
from . import search
from .changes import Change, Changes
from .changes import between as changes_between
from .drive import Outcome, Plan
from .journal import Journal
from .row import Point, find_row

CHECK = "change point"
CODES = declare(
    "bisect",
    ("eval-regression", CHECK, "an evaluated metric changed between two checkpoints, or drifted along them"),
    ("bisect-inconclusive", CHECK, "the evaluations made do not settle where, or whether, a metric changed"),
    ("checkpoint-not-evaluated", CHECK, "the evaluation command gave no number for some checkpoints"),
)  # fmt: skip
ENTRY = "checkpoint-regression"
"""Runbook entry that a change point supports."""
SHARE = 0.95
"""Probability of the interval of first-bad checkpoints that is reported and plotted."""


def bisect_checkpoints(
    plan: Plan, cache: Path, root: Path, retry_failed: bool = False, tell: Callable[[Outcome], object] = lambda _: None
) -> tuple[Report, Outcome]:
    """Bisect and report.

    Args:
        plan: row, command and limits.
        cache: file with the evaluations, made or continued.
        root: directory of the run, for the checkpoints beyond the bad end.
        retry_failed: try again what gave no observation before.
        tell: called after every evaluation.

    Raises:
        TriageError: the command cannot be started, no evaluation gave a number, or the cache cannot be used.
    """
    journal = Journal(cache, plan.command.identity, retry_failed)
    try:
        outcome = bisection.run(plan, journal, tell)
    finally:
        journal.close()
    if outcome.end is None:
        raise TriageError(f"no evaluation gave a number; the last one, of step {outcome.history[-1].step}: "
                          f"{outcome.history[-1].why}" if outcome.history else outcome.stopped)  # fmt: skip
    return report(outcome, find_row(root)), outcome


def report(outcome: Outcome, row: list[Point]) -> Report:
    """The contract form of an outcome.

    Args:
        outcome: at least one observation.
        row: every checkpoint of the run, for the cost of going back.
    """
    summary = _summary(outcome)
    findings: list[Finding] = []
    end, points = outcome.end, outcome.plan.points
    assert end is not None
    if outcome.settled and end.verdict == "step":
        good, bad = points[end.best - 1], points[end.best]
        changes = changes_between(good, bad, row)
        cost = row[-1].step - good.step
        summary |= {"changes": [c.as_json() for c in changes.found], "not_recorded": list(changes.unknown),
                    "rollback_steps": cost}  # fmt: skip
        findings.append(_regression(outcome, good, bad, changes, cost))
    elif outcome.settled and end.verdict in ("drift", "several"):
        findings.append(_no_single_step(outcome))
    elif not outcome.settled:
        findings.append(_inconclusive(outcome))
    if outcome.failures:
        findings.append(_failures(outcome))
    return Report("bisect", tuple(findings), _checks(outcome), summary)


def _summary(outcome: Outcome) -> dict[str, Any]:
    end, points = outcome.end, outcome.plan.points
    assert end is not None
    step = outcome.settled and end.verdict == "step"
    first, last = end.interval(SHARE)
    good_level, bad_level = end.levels()
    return {
        "first_bad": points[end.best].step if step else None,
        "last_good": points[end.best - 1].step if step else None,
        "evaluations": sum(e.value is not None for e in outcome.history),
        "confidence": round(end.confidence, 4),
        "verdict": {"step": "change-point", "none": "no-change-point", "several": "more-than-one", "drift": "drift"}
        [end.verdict] if outcome.settled else "inconclusive",
        "interval": [points[first].step, points[last].step],
        "level_before": good_level,
        "level_after": bad_level,
        "probabilities": {k: round(v, 4) for k, v in end.stories.items()},
        "checkpoints": len(points),
        "predicted": search.predicted(len(points)),
        "from_cache": sum(e.cached for e in outcome.history),
        "no_observation": [{"step": e.step, "why": e.why} for e in outcome.failures],
        "stopped": outcome.stopped,
        "history": [{"step": e.step, "repeat": e.repeat, "value": e.value, "seconds": round(e.seconds, 2),
                     "cached": e.cached} for e in outcome.history],
    }  # fmt: skip


def _regression(outcome: Outcome, good: Point, bad: Point, changes: Changes, cost: int) -> Finding:
    end = outcome.end
    assert end is not None
    before, after = end.levels()
    counted = [c for c in changes.found if c.counts]
    proposal = _proposal(good, bad, counted)
    told = "; ".join(_told(c) for c in counted) or "no setting that is recorded"
    message = (f"the metric changed between step {good.step} (last good, about {before:.4g}) and step {bad.step} "
               f"(first bad, about {after:.4g}), probability {_sure(end.confidence)}. Changed in between: {told}. "
               f"Going back to step {good.step} gives up {cost} steps")  # fmt: skip
    told_zh = "；".join(_told(c) for c in counted) or "没有记录到任何设置变化"
    zh = (f"指标在第 {good.step} 步（最后一个好的，约 {before:.4g}）与第 {bad.step} 步"
          f"（第一个坏的，约 {after:.4g}）之间发生变化，概率 {_sure(end.confidence)}。"
          f"两者之间的变化：{told_zh}。回退到第 {good.step} 步要放弃 {cost} 步")  # fmt: skip
    data = {"kind": "change-point", "last_good": good.step, "first_bad": bad.step, "confidence": end.confidence,
            "level_before": before, "level_after": after, "supports": ENTRY, "rollback_steps": cost,
            "changes": [c.as_json() for c in changes.found], "not_recorded": list(changes.unknown),
            "another_change": round(end.stories["several"], 4), "proposal": proposal}  # fmt: skip
    evidence = (Evidence(bad.name, step=bad.step, metric="eval", value=round(after, 6)),
                Evidence(good.name, step=good.step, metric="eval", value=round(before, 6)))  # fmt: skip
    return Finding("eval-regression", Severity.S1, message, zh, evidence, data)


def _sure(probability: float) -> str:
    """Never 100%: the model of the noise is a model."""
    return f"{min(probability, 0.999):.1%}"


def _told(change: Change) -> str:
    return f"{change.what} {change.before} -> {change.after}" + (f" ({change.where})" if change.where else "")


def _proposal(good: Point, bad: Point, counted: list[Change]) -> dict[str, Any]:
    """One variable: the only setting that changed, else the data of the window; both start from the last good one."""
    settings = [c for c in counted if c.kind == "setting"]
    if len(settings) == 1:
        only = settings[0]
        return {"variable": only.what, "old": only.after, "new": only.before, "resume_from": good.step,
                "why": "the only recorded setting that changed at the first bad checkpoint"}  # fmt: skip
    if not settings:
        return {"variable": "dataset", "old": f"data of steps {good.step + 1} to {bad.step}", "new": "left out",
                "resume_from": good.step, "why": "no recorded setting changed; the data of the window did"}  # fmt: skip
    return {"variable": "checkpoint", "old": bad.step, "new": good.step, "resume_from": good.step,
            "why": f"{len(settings)} settings changed at once; resume and undo one of them"}  # fmt: skip


def _no_single_step(outcome: Outcome) -> Finding:
    end, points = outcome.end, outcome.plan.points
    assert end is not None
    if end.verdict == "drift":
        slope = float(next(f for f in end.fits if f.story == "drift").slope[0])
        message = (
            f"the metric drifts by about {slope:+.4g} from step {points[0].step} to {points[-1].step}, without "
            f"a step (probability {_sure(end.confidence)}): no checkpoint broke it, something acts all along"
        )
        zh = (
            f"指标从第 {points[0].step} 步到第 {points[-1].step} 步持续漂移约 {slope:+.4g}，没有突变"
            f"（概率 {_sure(end.confidence)}）：不是某个检查点造成的，而是一直在起作用的因素"
        )
        data: dict[str, Any] = {"kind": "drift", "change": slope}
    else:
        likely = [points[i].step for i in end.change.argsort()[::-1][:2]]
        message = (
            f"the metric changed more than once between step {points[0].step} and {points[-1].step} "
            f"(probability {_sure(end.confidence)}), most probably at steps {sorted(likely)}: "
            "bisect each stretch by itself"
        )
        zh = (
            f"指标在第 {points[0].step} 步和第 {points[-1].step} 步之间变化不止一次"
            f"（概率 {_sure(end.confidence)}），最可能在第 {sorted(likely)} 步：请分段二分"
        )
        data = {"kind": "more-than-one", "steps": sorted(likely)}
    data |= {"confidence": end.confidence, "supports": ENTRY}
    evidence = (Evidence(points[-1].name, step=points[-1].step),)
    return Finding("eval-regression", Severity.S2, message, zh, evidence, data)


def _inconclusive(outcome: Outcome) -> Finding:
    end, points = outcome.end, outcome.plan.points
    assert end is not None
    first, last = (points[i].step for i in end.interval(SHARE))
    change = end.stories["step"] + end.stories["several"]
    message = (
        f"not settled: {outcome.stopped}. A change is {change:.0%} probable, its first bad checkpoint with "
        f"{SHARE:.0%} between steps {first} and {last}. Continue with a larger --budget; "
        "what was measured is kept"
    )
    zh = (
        f"未能确定：存在突变的概率 {change:.0%}，第一个坏检查点有 {SHARE:.0%} 的概率在第 {first} "
        f"到 {last} 步之间。加大 --budget 可继续，已测结果保留"
    )
    data = {"interval": [first, last], "confidence": end.confidence}
    return Finding("bisect-inconclusive", Severity.S3, message, zh, (), data)


def _failures(outcome: Outcome) -> Finding:
    steps = sorted({e.step for e in outcome.failures})
    last = outcome.failures[-1]
    shown = ", ".join(map(str, steps[:8])) + (" ..." if len(steps) > 8 else "")
    message = (
        f"no observation at {len(steps)} checkpoints (steps {shown}); step {last.step}: {last.why}. "
        "They count neither as good nor as bad; --retry-failed tries them again"
    )
    zh = (
        f"{len(steps)} 个检查点没有得到观测值（第 {shown} 步）；第 {last.step} 步：{last.why}。"
        "它们既不算好也不算坏；--retry-failed 可重试"
    )
    return Finding("checkpoint-not-evaluated", Severity.S2, message, zh,
                   (Evidence(step=last.step, text=last.why),), {"steps": steps})  # fmt: skip


def _checks(outcome: Outcome) -> tuple[Check, ...]:
    end = outcome.end
    assert end is not None
    made = sum(e.value is not None for e in outcome.history)
    if not outcome.settled:
        return (Check(CHECK, "failed", f"not settled after {made} evaluations: {outcome.stopped}"),)
    if end.verdict == "none":
        why = (f"no change point in {made} evaluations of {len(outcome.plan.points)} checkpoints, probability "
               f"{_sure(end.confidence)}")  # fmt: skip
        return (Check(CHECK, "clear", why, f"{made} 次评测中没有突变点，概率 {_sure(end.confidence)}"),)
    return (Check(CHECK, "found", f"{made} evaluations, probability {_sure(end.confidence)}"),)
