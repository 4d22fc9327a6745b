"""The list of series detectors, and the one function that runs them all.

Importing a family module registers its detectors; each judges the run against its own history. Text of the
log is not looked at here (see `signatures`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ...findings import Check, Finding, Severity, declare
from ...series import Series, SeriesTable
from ...vocabulary import VOCABULARY
from . import (
    attempts,
    evaluation,
    goals,
    levels,
    nonfinite,
    performance,
    preference,
    rising,
    rl,
    schedule,
    skipped,
    spikes,
    staircase,
    trends,
)
from .detector import DETECTORS, Detector, Track, finding, tracks_of, where, where_zh
from .passes import joined
from .robust import finite, head_tail, mann_kendall

FAMILIES = (
    nonfinite,
    attempts,
    rising,
    spikes,
    trends,
    schedule,
    evaluation,
    rl,
    goals,
    preference,
    performance,
    levels,
    staircase,
    skipped,
)

HEALTHY_POINTS = 10
"""Points of loss or reward below which a run is not called healthy. Own judgement."""

FEW, CLEAR, SURE = 5, 0.05, 0.5
"""Of a run that came to its planned end, points that are enough where they show it: the share of its first level that
was gained, and Kendall's tau of the way there. Own judgement."""

LONG = 100
"""Points from which on a series that hardly moves is judged by the detectors of its shape. Own judgement."""
LITTLE = 0.002
"""Share of its first level by which a short series gains at least where something was learned. Own judgement."""
WORSE = 0.1
"""Share of its first level by which a long series may end worse, as one of a policy does. Own judgement."""

MOST_PER_CODE = 4
"""Findings kept for one code; further attempts and ranks are only counted."""

OF_THE_RUN = ("loss-plateau", "loss-slow")
"""Codes of a whole run's shape, said once however often the log counts anew."""

CURVES = ("loss", "reward", "policy_loss")
"""Metrics whose steps tell where a training starts."""

TOO_LITTLE = ("lr-still-warming", "score-perfect", "grad-norm-huge")
"""Notes by which what was read is too little to be called healthy."""

CODES = declare(
    "detectors",
    ("run-healthy", tuple(DETECTORS), "enough points were read and nothing of severity S0 to S2 was found"),
    *(
        (code, tuple(d.name for d in DETECTORS.values() if code in d.codes), text)
        for code, text in {code: text for d in DETECTORS.values() for code, text in d.codes.items()}.items()
    ),
)


def detect(
    table: SeriesTable, grad_clip: float | None = None, classes: int | None = None
) -> tuple[tuple[Finding, ...], tuple[Check, ...]]:
    """Run every detector over the series of a run.

    Args:
        table: all series of the run.
        grad_clip: clipping threshold from the settings; without it the clip rate is not judged.
        classes: classes of the task, where the run's files say them.

    Returns:
        The findings, most severe first, and one check for each detector: found also where another tells the code that
        it is named after.
    """
    tracks = joined(tracks_of(table, grad_clip, classes))
    findings: list[Finding] = []
    checks: list[Check] = []
    for one in DETECTORS.values():
        found, check = _run(one, tracks)
        findings += found
        checks.append(check)
    findings = _of_the_last(findings, tracks)
    codes = {f.code for f in findings}
    told = (replace(c, result="found") if c.result == "clear" and c.name in codes else c for c in checks)
    return tuple(sorted(findings, key=_order)), tuple(told)


def _of_the_last(findings: Sequence[Finding], tracks: Sequence[Track]) -> list[Finding]:
    """The findings; of trainings that one file holds one after the other, each from its own start, what the earlier
    ones show is a note where the last one shows something itself."""
    starts: dict[str, list[tuple[str, Series]]] = {}
    for track in tracks:
        main = next((s for name in CURVES if (s := track.get(name)) is not None and len(s) >= HEALTHY_POINTS), None)
        if main is not None and main.step_is != "line":
            starts.setdefault(track.file, []).append((track.attempt, main))
    earlier: set[tuple[str, str]] = set()
    for file, found in starts.items():
        last, curve = found[-1]
        shown = any(f.severity != Severity.S3 and _place(f) == (file, last) for f in findings)
        if shown and all(curve.steps[0] <= other.steps[0] for _, other in found):
            earlier |= {(file, attempt) for attempt, _ in found[:-1]} - {(file, last)}
    return [noted(f) if f.severity != Severity.S3 and _place(f) in earlier else f for f in findings]


def _place(f: Finding) -> tuple[str, str]:
    return (f.evidence[0].file or "" if f.evidence else ""), str(f.data.get("attempt", ""))


def noted(f: Finding) -> Finding:
    """The finding as a note on an earlier training of the file."""
    return replace(
        f,
        severity=Severity.S3,
        message=f"{f.message} A later training of the file starts anew.",
        zh=f"{f.zh}文件中之后又从头开始了一次训练。",
        data={**f.data, "survived": "a later training of the file starts anew"},
    )


def _order(f: Finding) -> tuple[Severity, float]:
    step = f.data.get("first_step")
    return f.severity, float("inf") if step is None else step


def _run(one: Detector, tracks: Sequence[Track]) -> tuple[list[Finding], Check]:
    if not any(track.get(metric) is not None for track in tracks for metric in one.needs):
        needs = " or ".join(one.needs)
        return [], Check(one.name, "not-applicable", f"{needs} is not logged", f"没有记录 {needs}")
    try:
        found = list(one.judge(tracks))
    except (ArithmeticError, ValueError, IndexError, TypeError) as error:
        why = f"the detector broke: {type(error).__name__}: {error}"
        return [], Check(one.name, "failed", why, f"检测器出错：{type(error).__name__}: {error}")
    kept = _merge(found)
    points = max((len(p) for track in tracks for metric in one.needs if (p := track.points(metric))), default=0)
    if not kept and points < one.least:
        why = f"too short to judge: {points} points, {one.least} are needed"
        return [], Check(one.name, "too-short", why, f"太短，无法判断：{points} 个点，至少需要 {one.least} 个")
    return kept, Check(one.name, "found" if kept else "clear")


def _merge(found: Iterable[Finding]) -> list[Finding]:
    """One finding for each code and event: the same event in a second file or rank becomes evidence of the
    first."""
    groups: dict[tuple[str, object, object], list[Finding]] = {}
    for one in sorted(found, key=lambda f: (f.severity, f.data.get("step_is") != "step", _order(f)[1])):
        attempt = str(one.data.get("attempt", ""))
        attempt = attempt.partition("#")[0] if one.code in OF_THE_RUN else attempt
        groups.setdefault((one.code, one.data.get("metric"), attempt), []).append(one)
    merged: dict[str, list[Finding]] = {}
    for group in groups.values():
        first = group[0]
        if len(group) > 1:
            more = tuple(f.evidence[0] for f in group[1:4])
            data = {**first.data, "occurrences": len(group)}
            first = replace(first, evidence=first.evidence + more, data=data)
        merged.setdefault(first.code, []).append(first)
    return [f for kept in merged.values() for f in kept[:MOST_PER_CODE]]


def healthy(table: SeriesTable, findings: Sequence[Finding], whole: bool = False) -> Finding | None:
    """The reassurance that nothing is wrong, None when something is or when too little was read.

    Args:
        table: all series of the run.
        findings: what was found in them.
        whole: whether the run came to its planned end.
    """
    if any(f.severity != Severity.S3 or f.code in TOO_LITTLE for f in findings):
        return None
    for metric in ("reward",) if table.get("reward") is not None else ("loss", "eval_loss", "eval_accuracy"):
        series = table.get(metric)
        few = series is not None and whole and FEW <= len(series) < HEALTHY_POINTS
        if series is not None and (few or len(series) >= HEALTHY_POINTS):
            if not (_learned_clearly(series) if few else _learned(series)):
                return None
            i = len(series) - 1
            first, last = series.values[0], series.values[i]
            en = (
                f"Nothing wrong in {len(series)} points of {series.key}: {first:.4g} at {where(series, 0)}, "
                f"{last:.4g} at {where(series, i)}."
            )
            zh = (
                f"{series.key} 的 {len(series)} 个点没有问题：{where_zh(series, 0)} {first:.4g}，"
                f"{where_zh(series, i)} {last:.4g}。"
            )
            shown, start = [(series, i), (series, 0)], int(series.steps[0])
            return finding("run-healthy", Severity.S3, shown, en, zh, points=len(series), first_step=start, whole=few)
    return None


def _learned_clearly(series: Series) -> bool:
    """Whether few points leave no doubt that something was learned."""
    points, way = finite(series), VOCABULARY[series.metric].better
    if len(points) < len(series):
        return False
    (first, last), (tau, _) = head_tail(points.values, least=2), mann_kendall(points.values)
    return bool(way * (last - first) > CLEAR * abs(first) and way * tau >= SURE)


def _learned(series: Series) -> bool:
    """Whether the end is better than the start, which a short log must show and no log may contradict."""
    points, way = finite(series), VOCABULARY[series.metric].better
    if not len(points):
        return False
    first, last = head_tail(points.values)
    gain = way * (last - first)
    return bool(gain > LITTLE * abs(first) or (len(points) >= LONG and gain > -WORSE * abs(first)))
