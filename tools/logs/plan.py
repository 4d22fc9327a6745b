"""How long a run was to be, as its trainer's state, its log or its settings say it, and whether the log ends before."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..findings import Evidence, Finding, Severity, clean, declare
from ..patterns import bounded
from ..run import Run
from ..series import SeriesTable
from .detectors.detector import finding, where, where_zh
from .detectors.robust import finite

PLANNED = "planned length"
CODES = declare(
    "plan",
    ("log-ends-before-plan", PLANNED, "the log ends well before the planned number of steps or epochs"),
    ("plan-out-of-reach", PLANNED, "at the measured time a step the planned steps take more than a year"),
    ("warmup-never-ended", PLANNED, "the learning rate still rises at the planned end of the training"),
)

FINISHED = 0.99
"""Share of the plan from which a run counts as finished: the last steps may not be logged. Own judgement."""
PREAMBLE = 1 << 20
"""Bytes of a log in which the plan is looked for: trainers print it before the first step."""
PRINTED = {
    "steps": re.compile(
        rb"(?:Total (?:optimization|training) steps|\|\s*Total steps)\s{0,3}[:=]\s{0,3}(\d[\d,]{0,14})"
    ),
    "epochs": re.compile(rb"Num Epochs\s{0,3}=\s{0,3}(\d[\d,]{0,14})"),
    "samples": re.compile(rb"Num examples\s{0,3}=\s{0,3}(\d[\d,]{0,14})"),
    "batch": re.compile(rb"Total train batch size[^=\n]{0,80}=\s{0,3}(\d[\d,]{0,14})"),
}
"""As transformers, diffusers, Unsloth and verl print it."""
_N = rb"(\d[\d,]{0,11})"
_OF = rb"[ :=#\[(]{0,4}" + _N + rb" ?(?:/|of|out of) ?" + _N + rb"(?![\d./])"
COUNTERS = {
    "epoch": bounded(rb"(?i)\bepochs?" + _OF),
    "step": bounded(
        rb"(?i)(?:\b(?:steps?|iter(?:ation)?s?|updates?|batch(?:es)?)"
        rb"|\bepochs?[ :=#\[(]{0,4}\d{1,6}(?: ?/ ?\d{1,6})?(?:[\])],? ?|[ ,|:]{1,3})(?=[\[(]))" + _OF
    ),
    "bar": bounded(rb"\| ?" + _N + rb"/" + _N + rb" \[\d{1,4}:\d\d"),
}
"""How programs count what they do against what they mean to do; the outer count first."""
BEFORE = 400
"""Bytes before the count of a bar that may say what it counts."""
OTHER_BARS = bounded(
    rb"(?i)map|load|fetch|generat|tokeniz|eval|valid|test|shard|files?\b|captur|sav|predict|infer|process|pack|filter|compil"
)
"""Bars that count something else than training."""
LEFT = bounded(
    r"(?i)(?:\beta|\bepoch_?time|\btime[ _]left|\b(?:time[ _])?remaining(?:[ _]time)?|剩余(?:时间)?|预计(?:还需|剩余)?)"
    r"['\"]?\s?[:=：]?\s?(\d{1,9}(?:\.\d{1,4})?)\s?(seconds?|secs?|s|秒|minutes?|mins?|m|分钟?|hours?|hrs?|h|小时|days?|d|天)(?![A-Za-z:\d])"
)
"""What a program expects to take still."""
UNITS = {"s": 1, "秒": 1, "m": 60, "分": 60, "h": 3600, "小": 3600, "d": 86400, "天": 86400}
"""Seconds of a unit, by how it begins."""
LAST = 64 << 10
"""Bytes at the end of each piece of a log in which its counters are looked for."""
FEWEST = 10
"""Steps below which a bar or a count of steps says nothing about the whole run."""
DONE = bounded(
    r"(?i)\b(?:done|finish\w*|complete\w*|early.?stop\w*|stop\w*.?early|saved|best (?:model|checkpoint)|total time)\b"
    r"|完成|结束"
)
"""What a program says at its end."""
OVER = bounded(
    r"(?i)^(?:\[?[\d:.,/ TZ-]{4,40})?\W{0,4}(?:INFO\W{1,4})?(?:\[?(?:train\w{0,4}|main|run|job|all)\]?\W{1,4})?"
    r"(?:is |has )?(?:done|finished|completed?)\b|^\W{0,4}(?:训练)?(?:全部)?(?:完成|结束)"
)
"""What a program says of itself in one of its last lines, and of no part of its work."""
LAST_LINES = 3
RATES, DECAYED = ("lr", "learning_rate"), 0.2
"""Ends of names of a learning rate, and the part of its peak at which it has come down. Own judgement."""
PACE = bounded(r"(\d{1,7}(?:\.\d{1,6})?) ?s(?:ec(?:onds?)?)?/(?:it|step|iter|batch|update)\b|秒/步")
"""Seconds a step, as bars print them."""
YEAR = 365 * 86400.0
"""Seconds beyond which nobody means a plan. Own judgement."""
BESIDE = ("reward", "grad_norm", "learning_rate", "step_time")
"""What numbers the steps of a run that logs no loss by that name."""
STATE = re.compile(rb'"max_steps"\s*:\s*(\d{1,12})\b')


@dataclass(frozen=True)
class Count:
    """The last count of one kind that a log prints."""

    done: int
    total: int
    line: int
    stride: int = 1
    """How far it had moved since the one before."""


Counts = Mapping[str, Count]
"""By the names of `COUNTERS`."""


@dataclass(frozen=True)
class Plan:
    """Optimizer steps, and epochs for a log that does not number its steps; None for what is not known."""

    steps: float | None = None
    epochs: float | None = None
    least: float | None = None
    """Epochs before which the run cannot be over: of a run of N steps the last epoch may be a part."""


Said = Mapping[str, set[int]]
"""What one log prints of its plan, by the names of `PRINTED`."""


def said(start: bytes) -> Said:
    """What the beginning of a log says."""
    return {
        name: {int(n.replace(b",", b"")) for n in pattern.findall(start, 0, PREAMBLE)}
        for name, pattern in PRINTED.items()
    }


def printed(logs: Iterable[Said]) -> Plan:
    """The plan that the run's logs print; what they print differently (a second attempt) is not known."""
    every = [*logs]
    numbers = ({n for log in every for n in log[name]} for name in PRINTED)
    steps, epochs, samples, batch = (min(v) if len(v) == 1 else None for v in numbers)
    if steps and samples and batch:
        return Plan(steps, steps * batch / samples, FINISHED * steps * batch / samples)
    return Plan(steps, epochs, epochs - 1 if epochs else None)


def counted(data: bytes, number: int, before: Counts) -> Counts:
    """The last counts after another piece of a log, behind which line `number` begins."""
    start = max(0, len(data) - LAST)
    found = dict(before)
    for name, pattern in COUNTERS.items():
        hits = [*pattern.finditer(data, start)]
        pairs = [(*(int(n.replace(b",", b"")) for n in m.groups()), m.end()) for m in hits[-2:]]
        if name == "bar" and hits and OTHER_BARS.search(_line_until(data, hits[-1].end())):
            found.pop(name, None)
        elif len(pairs) > 1 and pairs[0][0] == pairs[1][0] and pairs[0][1] < pairs[1][1]:
            found.pop(name, None)  # the second number counts, and the first is the epoch or task that it is of
        elif pairs:
            done, total, end = pairs[-1]
            last = pairs[-2] if len(pairs) > 1 else None
            stride = done - last[0] if last and last[1] == total and last[0] < done else 1
            found[name] = Count(done, total, number - data.count(b"\n", end), stride)
    return found


def _line_until(data: bytes, end: int) -> bytes:
    """What stands before this place in its line, which may have been redrawn."""
    return data[max(0, end - BEFORE) : end].replace(b"\r", b"\n").rpartition(b"\n")[2]


def stated(run: Run) -> Plan:
    """The plan that the trainer itself keeps in its state; what several states say differently is not known."""
    said: set[int] = set()
    for artifact in run.of("metrics"):
        if artifact.path.name == "trainer_state.json" and artifact.path.is_file():
            with artifact.path.open("rb") as file:
                start = file.read(LAST)
                file.seek(max(0, artifact.path.stat().st_size - LAST))
                said |= {int(n) for n in STATE.findall(start + file.read(LAST))}
    return Plan(min(said)) if len(said) == 1 and min(said) > 0 else Plan()


def planned(run: Run, logs: Iterable[Said], settings: float | None) -> Plan:
    """What the trainer's state says, else the logs, else the settings: a script may not be the one that was run."""
    own, told = stated(run), printed(logs)
    if own.steps:
        return replace(told, steps=own.steps)
    return told if told.steps or not settings or settings <= 0 else replace(told, steps=settings)


def cut_short(
    name: str, counts: Counts, tail: Sequence[tuple[int, str]], over: int = 0, failed: bool = False
) -> Finding | None:
    """A note that the last count of a log is well before its total; None where the program says that it is done.

    Args:
        name: of the log.
        counts: how far it counts.
        tail: its last lines.
        over: a line that sounds like the end of a run; only an epoch after it shows that it went on.
        failed: whether something is known that ended it.
    """
    for kind, count in counts.items():
        if over and (kind != "epoch" or count.line <= over):
            return None
        after = [text for n, text in tail if n > count.line and text.strip()]
        if kind == "bar" and len(after) > 1 and not failed:
            return None  # a bar that something else follows was the bar of a part
        least = count.total - 1 if kind == "epoch" else FINISHED * count.total
        if count.total < (2 if kind == "epoch" else FEWEST):
            continue
        if count.done + count.stride > least:
            if kind == "epoch":
                continue
            return None
        if any(DONE.search(text) for n, text in tail if n >= count.line):
            return None
        unit, unit_zh = ("epoch", "epoch") if kind == "epoch" else ("step", "步")
        line = next((t for n, t in tail if n == count.line), "")
        left, left_zh = _left(line)
        return Finding(
            "log-ends-before-plan",
            Severity.S3,
            f"{name}:{count.line}: the log ends at {unit} {count.done} of {count.total}{_WHY[failed][0]}{left}",
            f"{name}:{count.line}：日志在第 {count.done} {unit_zh}（共 {count.total}）结束{_WHY[failed][1]}{left_zh}",
            (Evidence(name, count.line, text=clean(line)),),
            {"planned_epochs" if kind == "epoch" else "planned_steps": count.total},
        )
    return None


def _left(line: str) -> tuple[str, str]:
    """What the line expects to take still, in both languages; empty where it does not say, or less than a day."""
    told = LEFT.search(line)
    days = float(told[1]) * UNITS[told[2][0].lower()] / 86400 if told else 0.0
    if days < 1:
        return "", ""
    return f" By its own estimate {days:,.0f} days are left.", f"按它自己的估计还需 {days:,.0f} 天。"


_WHY = {
    False: (
        ", with no error: the run goes on, or was stopped from outside.",
        "，且没有报错：运行还在继续，或者是被外部停掉的。",
    ),
    True: (".", "。"),
}
"""What an end before the plan means, without and with a failure."""


def says_over(tail: Sequence[tuple[int, str]], logged: int) -> bool:
    """Whether one of the last lines, after the last line that logs a step, says that the program is done."""
    ends = [(n, text) for n, text in tail if text.strip()][-LAST_LINES:]
    return any(n > logged and OVER.search(text.strip()) for n, text in ends)


def decayed(table: SeriesTable) -> bool:
    """Whether the learning rate has come down to its end: that of a schedule for more steps would still be high."""
    rate = table.get("learning_rate") or next((s for s in table if s.key.lower().endswith(RATES) and len(s) > 2), None)
    values = finite(rate).values if rate is not None else np.empty(0)
    return len(values) > 2 and float(values[-1]) <= DECAYED * float(values.max())


def unfinished(table: SeriesTable, plan: Plan, failed: bool = False) -> Finding | None:
    """A note that the log of a run ends well before its plan, None otherwise.

    The next point, one logging interval on, would still be before the end.
    """
    own = (table.get(name) for name in ("loss", *BESIDE))
    loss, epoch = next((s for s in own if s is not None), None), table.get("epoch")
    numbered = loss is not None and len(loss) and loss.step_is == "step"
    points = loss if numbered else finite(epoch) if epoch is not None else None
    wanted, least = (plan.steps, FINISHED * (plan.steps or 0)) if numbered else (plan.epochs, plan.least)
    if points is None or len(points) < 2 or not wanted or not least:
        return None
    i = len(points) - 1
    done = points.steps if numbered else points.values
    if done[i] + (done[i] - done[i - 1]) >= least:
        return None
    at, at_zh = (where(points, i), where_zh(points, i)) if numbered else (f"epoch {done[i]:g}",) * 2
    unit = "步" if numbered else "个 epoch"
    return finding(
        "log-ends-before-plan",
        Severity.S3,
        [(points, i)],
        f"The log ends at {at} of {wanted:g} planned{_WHY[failed][0]}",
        f"日志在 {at_zh} 结束，计划 {wanted:g} {unit}{_WHY[failed][1]}",
        **{"planned_steps" if numbered else "planned_epochs": wanted},
    )


def out_of_reach(table: SeriesTable, short: Finding | None) -> Finding | None:
    """Planned steps that would take years at the time a step that was measured: the series of it, else the last bar."""
    steps = short.data.get("planned_steps") if short is not None else None
    own = short.evidence[0] if short is not None and short.evidence else None
    if not steps or own is None:
        return None
    times = table.get("step_time")
    measured = finite(times) if times is not None else None
    bar = PACE.search(own.text or "")
    if measured is not None and len(measured):
        last = len(measured) - 1
        pace, place = (
            float(np.median(measured.values)),
            Evidence(measured.file, int(measured.lines[last]), metric="step_time"),
        )
    elif bar is not None and bar[1]:
        pace, place = float(bar[1]), own
    else:
        return None
    takes = steps * pace
    if takes < YEAR:
        return None
    years, day = takes / YEAR, 86400 / pace
    return Finding(
        "plan-out-of-reach", Severity.S2,
        f"At {pace:.4g} s a step the {steps:.0f} steps of the plan take {years:.1f} years (a day makes {day:.0f} of "
        "them): either far fewer are meant, or a step is far too slow.",
        f"每步 {pace:.4g} 秒，计划的 {steps:.0f} 步需要 {years:.1f} 年（一天约 {day:.0f} 步）：要么本意远少于此，"
        "要么每步太慢。",
        (place, own), {"planned_steps": steps, "seconds_per_step": pace, "years": years},
    )  # fmt: skip


def never_peaked(plan: Plan, findings: Iterable[Finding]) -> Finding | None:
    """The rate that still rises at the last point, where that is the planned end, and no log that is cut."""
    rises = next((f for f in findings if f.code == "lr-still-warming"), None)
    last = rises.evidence[0] if rises is not None else None
    if rises is None or last is None or not plan.steps or (last.step or 0) < FINISHED * plan.steps:
        return None
    return Finding(
        "warmup-never-ended", Severity.S2,
        f"The training came to its end (step {last.step} of {plan.steps:g}) while its learning rate was still rising, "
        f"from {rises.data['first']:.3g} to {rises.data['last']:.3g}: all of it was warm-up, the peak was never used.",
        f"训练已到计划的终点（第 {last.step} 步，共 {plan.steps:g} 步），学习率仍在上升（{rises.data['first']:.3g} 到 "
        f"{rises.data['last']:.3g}）：全程都在 warmup，从未用到峰值。",
        rises.evidence, {"first": rises.data["first"], "last": rises.data["last"], "planned_steps": plan.steps},
    )  # fmt: skip
