"""What of a run's series is shown, once for every interface: which metrics, which marks, how many points.

Nothing is drawn here and nothing is judged: every mark is the evidence of a finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...tools.findings import REASSURING, Finding, clean
from ...tools.phrase import phrases
from ...tools.series import Series, SeriesTable
from ...tools.vocabulary import VOCABULARY

KEY_METRICS = (
    "loss", "grad_norm", "eval_loss", "learning_rate", "loss_scale", "reward", "kl", "entropy", "response_length",
    "reward_margin", "reward_accuracy", "accuracy", "clip_fraction", "tokens_per_second", "step_time", "gpu_memory",
)  # fmt: skip
"""What is drawn when it was logged, in this order, after the metrics that a finding names."""
PANELS, LINES, POINTS = 8, 24, 1000
"""Most panels in a picture, lines in a panel and points of a line (twice as many where it jumps)."""
FULL = 4
"""Lines of a panel that have all their points; more lines share the points of so many, or a page grows to megabytes."""
LEAST_POINTS = 150
"""Points that a line keeps however many there are."""
BEFORE, AFTER = 40, 12
"""Logged points before and after the first bad step that its close-up shows: what led there matters more."""
SERIOUS = ("S0", "S1")
SPIKES = frozenset({"loss-spike", "grad-norm-spike", "throughput-drop", "straggler"})
NONFINITE = ("loss-nonfinite", "loss-hidden-nan", "grad-norm-nonfinite")
WORDS = phrases(
    "words of plots",
    ("first-bad", "┆ first bad step {step}", "┆ 首个坏步 {step}"),
    ("attempt", "attempt {n}", "第 {n} 次"),
    ("rank", "rank {n}", "rank {n}"),
    ("more", "{n} more lines", "另有 {n} 条"),
    ("nothing", "  no finite value", "  没有有限值"),
    ("step", "step", "步"),
    ("line", "log line", "日志记录"),
    ("epoch", "epoch", "epoch"),
)  # fmt: skip


@dataclass(frozen=True)
class Line:
    """Points joined by a line; non-finite values are drawn at the top edge."""

    label: str
    steps: np.ndarray
    """(n,) int64 or float64."""
    values: np.ndarray
    """(n,) float64."""
    colour: int = 0
    """Index into `COLOURS`: one per attempt."""
    joined: bool = True
    usual: tuple[np.ndarray, np.ndarray] | None = None
    """Of a line that was thinned: steps and means of its bins, which is what may be smoothed."""


@dataclass(frozen=True)
class Mark:
    """The place of a finding."""

    label: str
    step: float
    value: float
    """Non-finite marks stand at the top edge."""
    spike: bool = False


@dataclass(frozen=True)
class Panel:
    """One metric."""

    title: str
    lines: tuple[Line, ...]
    marks: tuple[Mark, ...] = ()
    bad: float | None = None
    """The first bad step, a line over the whole height."""
    band: tuple[float, float] | None = None
    """A shaded range of steps."""
    starts: tuple[float, ...] = ()
    """Steps at which later attempts begin."""
    x: str = "step"
    note: str = ""
    onset: tuple[float, float] | None = None
    """The steps around where it begins to go wrong, which are shown closer."""

    def finite(self) -> np.ndarray:
        """All finite values of all lines."""
        values = np.concatenate([line.values for line in self.lines]) if self.lines else np.zeros(0)
        return values[np.isfinite(values)]

    def limits(self) -> tuple[float, float]:
        """First and last step; never equal."""
        steps = np.concatenate([line.steps for line in self.lines])
        first, last = float(steps.min()), float(steps.max())
        return (first, last) if last > first else (first - 0.5, first + 0.5)

    def scale(self) -> str:
        """`log` where the largest value is over twenty times the usual one and all are positive, else `linear`.

        Signed values with such a span are `symlog`. Twenty: on a straight scale, a twentieth of the height would hold
        all that is usual (own judgement).
        """
        values = self.finite()
        if not len(values):
            return "linear"
        usual, most = float(np.median(np.abs(values))), float(np.abs(values).max())
        if not usual or most < 20 * usual:
            return "linear"
        return "log" if values.min() > 0 else "symlog"


def series_panels(table: SeriesTable, findings: Sequence[Finding], lang: str = "en", first: int = 1) -> list[Panel]:
    """The panels of a run: loss and gradient norm first, then what the findings name, then `KEY_METRICS`.

    Args:
        table: as `read_series` gives it.
        findings: in the order in which they were numbered `F1`, `F2`, ...
        lang: en or zh.
        first: the number of the first of them.
    """
    named = [e.metric for f in findings for e in f.evidence[:1] if e.metric]
    wanted = dict.fromkeys([*KEY_METRICS[:2], *named, *KEY_METRICS])
    found = [panel for metric in wanted if (panel := _panel(table, metric, findings, lang, first))][:PANELS]
    if found and found[0].bad is not None:
        found[0] = replace(found[0], note=WORDS["first-bad"].say(lang, step=int(found[0].bad)))
    return found


def _panel(table: SeriesTable, metric: str, findings: Sequence[Finding], lang: str, first: int) -> Panel | None:
    shown = _shown([s for s in table.all(metric) if len(s) > 1])
    if not shown:
        return None
    attempts = list(dict.fromkeys(s.attempt for s in shown))
    many_ranks = len({s.rank for s in shown}) > 1
    x = shown[0].step_is if shown[0].step_is in ("line", "epoch") else "step"
    steps = np.unique(np.concatenate([s.steps for s in shown[:LINES]]))
    onset, most = onset_of(steps, findings, x), points_of(len(shown))
    lines = tuple(
        thin(Line(_label(s, attempts, many_ranks, lang), s.steps, drawable(s.values), attempts.index(s.attempt)),
             most, onset)
        for s in shown[:LINES]
    )  # fmt: skip
    metric_unit = VOCABULARY[metric].unit if metric in VOCABULARY else ""
    marks = tuple(_marks(findings, metric, x, first))
    return Panel(
        clean(metric, 60) + (f" ({metric_unit})" if metric_unit not in ("", "1") else ""),
        lines,
        marks,
        _first_bad(findings, x),
        starts=tuple(float(min(s.steps[0] for s in shown if s.attempt == a)) for a in attempts[1:]),
        x=x,
        note=WORDS["more"].say(lang, n=len(shown) - LINES) if len(shown) > LINES else "",
        onset=onset,
    )


def points_of(lines: int) -> int:
    """Bins of each of so many lines, see `thin`."""
    return POINTS if lines <= FULL else max(LEAST_POINTS, POINTS * FULL // min(lines, LINES))


def onset_of(steps: np.ndarray, findings: Sequence[Finding], x: str) -> tuple[float, float] | None:
    """The stretch around the first bad step, else around the first jump; None where nothing went wrong at a step."""
    bad = _first_bad(findings, x)
    if bad is None:
        jumps = (e.step for f in findings if f.severity in SERIOUS and _same_steps(f, x) for e in f.evidence[:1])
        bad = min((float(step) for step in jumps if step is not None), default=None)
    if bad is None or len(steps) <= BEFORE + AFTER:
        return None
    at = int(np.searchsorted(steps, bad))
    first, last = steps[max(0, at - BEFORE)], steps[min(len(steps) - 1, at + AFTER)]
    return (float(first), float(last)) if last > first else None


def drawable(values: np.ndarray) -> np.ndarray:
    """Values beyond 1e100 overflow when an axis is laid out: they are drawn as not finite."""
    return np.where(np.abs(values) < 1e100, values, np.nan)


def _shown(found: Sequence[Series]) -> list[Series]:
    """Series to draw: one kind of step only, and not what a metric file repeats of the log."""
    numbered = [s for s in found if s.step_is not in ("line", "epoch")]
    same = numbered or [s for s in found if s.step_is == found[0].step_is]
    kept: list[Series] = []
    for s in sorted(same, key=len, reverse=True):
        twins = (k for k in kept if (k.attempt, k.rank) == (s.attempt, s.rank) and k.file != s.file)
        if not any(np.isin(s.steps, k.steps).mean() > 0.95 for k in twins):
            kept.append(s)
    return [s for s in same if any(s is k for k in kept)]


def _label(s: Series, attempts: Sequence[str], many_ranks: bool, lang: str) -> str:
    parts = []
    if len(attempts) > 1:
        parts.append(WORDS["attempt"].say(lang, n=attempts.index(s.attempt) + 1))
    if many_ranks and s.rank is not None:
        parts.append(WORDS["rank"].say(lang, n=s.rank))
    return " ".join(parts)


def _marks(findings: Sequence[Finding], metric: str, x: str, first: int) -> Iterator[Mark]:
    for i, finding in enumerate(findings, first):
        if finding.code in REASSURING or not _same_steps(finding, x):
            continue
        for e in finding.evidence[:1]:
            if e.metric == metric and e.step is not None:
                value = float(e.value) if isinstance(e.value, (int, float)) else float("nan")
                yield Mark(f"F{i}", e.step, value, finding.code in SPIKES)


def _first_bad(findings: Sequence[Finding], x: str) -> float | None:
    """The earliest step at which a value was not finite; else where the loss leaves its level for good."""
    for codes in (NONFINITE, ("loss-divergence",)):
        steps = [f.data.get("first_step") for f in findings if f.code in codes and _same_steps(f, x)]
        if known := [s for s in steps if isinstance(s, (int, float))]:
            return min(known)
    return None


def _same_steps(finding: Finding, x: str) -> bool:
    counted = finding.data.get("step_is", "step")
    return (counted if counted in ("line", "epoch") else "step") == x


def thin(line: Line, most: int = POINTS, onset: tuple[float, float] | None = None) -> Line:
    """At most `2 * most` points: the lowest and the highest of each of `most` bins, non-finite ones counting high.

    The stretch of `onset` keeps as many points again.
    """
    n = len(line.steps)
    if n <= 2 * most:
        return line
    keep = {0, n - 1} | _extremes(line.values, np.arange(n), most - 1)
    if onset:
        close = np.flatnonzero((line.steps >= onset[0]) & (line.steps <= onset[1]))
        keep |= _extremes(line.values, close, most) if len(close) > 2 * most else set(map(int, close))
    at = np.array(sorted(keep))
    return replace(line, steps=line.steps[at], values=line.values[at], usual=_usual(line, 2 * most))


def _usual(line: Line, bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Steps and means of the finite values, bin by bin."""
    ok = np.isfinite(line.values)
    steps, values = line.steps[ok], line.values[ok]
    parts = [(s[len(s) // 2], v.mean()) for s, v in zip(np.array_split(steps, bins), np.array_split(values, bins),
                                                        strict=True) if len(s)]  # fmt: skip
    return np.array([s for s, _ in parts]), np.array([v for _, v in parts])


def _extremes(values: np.ndarray, among: np.ndarray, bins: int) -> set[int]:
    """Where the lowest and the highest of each bin stand."""
    high = np.where(np.isfinite(values), values, np.inf)
    keep: set[int] = set()
    for part in np.array_split(among, bins):
        if len(part):
            keep |= {int(part[np.argmin(high[part])]), int(part[np.argmax(high[part])])}
    return keep
