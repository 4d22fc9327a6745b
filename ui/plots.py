"""Pictures of a run, made once for every interface: panels of its series, drawn in SVG or in terminal characters.

`series_panels` decides what is shown (which metrics, which marks, how many points); `figure` and `text` only draw.
Nothing is judged here: every mark is the evidence of a finding.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..tools.findings import Finding, clean
from ..tools.run import natural
from ..tools.series import Series, SeriesTable
from ..tools.vocabulary import VOCABULARY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KEY_METRICS = (
    "loss", "grad_norm", "eval_loss", "learning_rate", "loss_scale", "reward", "kl", "entropy", "response_length",
    "reward_margin", "reward_accuracy", "accuracy", "clip_fraction", "tokens_per_second", "step_time", "gpu_memory",
)  # fmt: skip
"""What is drawn when it was logged, in this order, after the metrics that a finding names."""
PANELS, LINES, POINTS = 8, 24, 1000
"""Most panels in a picture, lines in a panel and points of a line (twice as many where it jumps)."""
SPIKES = frozenset({"loss-spike", "grad-norm-spike", "throughput-drop", "straggler"})
NONFINITE = ("loss-nonfinite", "loss-hidden-nan", "grad-norm-nonfinite")
WORDS = {
    "first-bad": ("┆ first bad step {step}", "┆ 首个坏步 {step}"),
    "attempt": ("attempt {n}", "第 {n} 次"),
    "rank": ("rank {n}", "rank {n}"),
    "more": ("{n} more lines", "另有 {n} 条"),
    "nothing": ("  no finite value", "  没有有限值"),
    "step": ("step", "步"),
    "line": ("log line", "日志记录"),
    "epoch": ("epoch", "epoch"),
}
INK, BAD = "#6e7781", "#d1242f"
COLOURS = ("#3182bd", "#e08214", "#35978f", "#8e6bbf", "#b8860b", "#c2578f")
"""Told apart by most colour-blind people, and at least 3:1 against white and against near-black."""


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


# What is shown --------------------------------------------------------------------------------------


def series_panels(table: SeriesTable, findings: Sequence[Finding], lang: str = "en") -> list[Panel]:
    """The panels of a run: loss and gradient norm first, then what the findings name, then `KEY_METRICS`.

    Args:
        table: as `read_series` gives it.
        findings: in the order in which they were numbered `F1`, `F2`, ...
    """
    named = [e.metric for f in findings for e in f.evidence[:1] if e.metric]
    wanted = dict.fromkeys([*KEY_METRICS[:2], *named, *KEY_METRICS])
    found = [panel for metric in wanted if (panel := _panel(table, metric, findings, lang))][:PANELS]
    if found and found[0].bad is not None:
        found[0] = replace(found[0], note=_say("first-bad", lang, step=int(found[0].bad)))
    return found


def _panel(table: SeriesTable, metric: str, findings: Sequence[Finding], lang: str) -> Panel | None:
    shown = _shown([s for s in table.all(metric) if len(s) > 1])
    if not shown:
        return None
    attempts = list(dict.fromkeys(s.attempt for s in shown))
    many_ranks = len({s.rank for s in shown}) > 1
    lines = tuple(
        thin(Line(_label(s, attempts, many_ranks, lang), s.steps, _drawable(s.values), attempts.index(s.attempt)))
        for s in shown[:LINES]
    )
    x = shown[0].step_is if shown[0].step_is in ("line", "epoch") else "step"
    metric_unit = VOCABULARY[metric].unit if metric in VOCABULARY else ""
    marks = tuple(_marks(findings, metric, x))
    return Panel(
        clean(metric, 60) + (f" ({metric_unit})" if metric_unit not in ("", "1") else ""),
        lines,
        marks,
        _first_bad(findings, x),
        starts=tuple(float(min(s.steps[0] for s in shown if s.attempt == a)) for a in attempts[1:]),
        x=x,
        note=_say("more", lang, n=len(shown) - LINES) if len(shown) > LINES else "",
    )


def _drawable(values: np.ndarray) -> np.ndarray:
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
        parts.append(_say("attempt", lang, n=attempts.index(s.attempt) + 1))
    if many_ranks and s.rank is not None:
        parts.append(_say("rank", lang, n=s.rank))
    return " ".join(parts)


def _marks(findings: Sequence[Finding], metric: str, x: str) -> Iterator[Mark]:
    for i, finding in enumerate(findings, 1):
        if finding.code == "run-healthy" or not _same_steps(finding, x):
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


def thin(line: Line, most: int = POINTS) -> Line:
    """At most `2 * most` points: the lowest and the highest of each of `most` bins, non-finite ones counting high."""
    n = len(line.steps)
    if n <= 2 * most:
        return line
    keep = {0, n - 1}
    high = np.where(np.isfinite(line.values), line.values, np.inf)
    for part in np.array_split(np.arange(n), most - 1):
        keep |= {int(part[np.argmin(high[part])]), int(part[np.argmax(high[part])])}
    at = np.array(sorted(keep))
    return replace(line, steps=line.steps[at], values=line.values[at])


def _say(key: str, lang: str, **values: Any) -> str:
    return WORDS[key][lang == "zh"].format(**values)


# As a figure ----------------------------------------------------------------------------------------

_DRAWING = threading.Lock()
"""matplotlib is not safe to use from several threads."""


def series_figure(table: SeriesTable, findings: Sequence[Finding], lang: str = "en") -> Figure | None:
    """The series of a run with the findings marked; None when no metric was logged twice."""
    panels = series_panels(table, findings, lang)
    return figure(panels, lang) if panels else None


def figure(panels: Sequence[Panel], lang: str = "en") -> Figure:
    """Panels stacked over one another, transparent, in colours that read on light and dark."""
    drawing = _new_figure(1.0 + 1.35 * len(panels))
    for axes, panel in zip(_axes(drawing, len(panels)), panels, strict=True):
        beside = [p.limits() for p in panels if p.x == panel.x]
        first, last = min(low for low, _ in beside), max(high for _, high in beside)
        axes.set_xlim(first - 0.01 * (last - first), last + 0.01 * (last - first))
        _draw(axes, panel)
        if panel is panels[0]:
            _legend(axes)
        last = panel is panels[-1] or panels[panels.index(panel) + 1].x != panel.x
        axes.tick_params(labelbottom=last)
        if last:
            axes.set_xlabel(_say(panel.x, lang) if panel.x in WORDS else panel.x, color=INK, fontsize=8)
    return drawing


def bars_figure(counts: Mapping[str, int], title: str) -> Figure:
    """Horizontal bars with their counts, the first one on top."""
    drawing = _new_figure(0.7 + 0.24 * len(counts))
    (axes,) = _axes(drawing, 1)
    names = [clean(str(name), 60) for name in counts]
    bars = axes.barh(range(len(names)), list(counts.values()), color=COLOURS[0])
    axes.bar_label(bars, [str(n) for n in counts.values()], padding=3, color=INK, fontsize=8)
    axes.set_yticks(range(len(names)), names, parse_math=False)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_title(title, loc="left", fontsize=9, color=INK, parse_math=False)
    return drawing


def svg(drawing: Figure, label: str = "") -> str:
    """The figure as an SVG element to put into a page: text stays text, and takes the colour of the page."""
    from html import escape
    from io import StringIO

    out = StringIO()
    with _DRAWING:
        drawing.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text[text.index("<svg") :], flags=re.S)
    text = re.sub(r' width="[\d.]+pt"| height="[\d.]+pt"', "", text, count=2)
    return text.replace("<svg", f'<svg role="img" aria-label="{escape(label)}"', 1).replace(INK, "currentColor")


def _new_figure(height: float) -> Figure:
    import warnings

    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "triage", "font.family": "sans-serif"})
    warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)  # the page has the fonts, not matplotlib
    return Figure(figsize=(9, height), layout="constrained")


def _axes(drawing: Figure, count: int) -> Iterable[Axes]:
    for axes in drawing.subplots(count, 1, squeeze=False)[:, 0]:
        axes.set_facecolor("none")
        for side, spine in axes.spines.items():
            spine.set_visible(side in ("left", "bottom"))
            spine.set_color(INK)
        axes.tick_params(colors=INK, labelsize=8)
        yield axes


def _draw(axes: Axes, panel: Panel) -> None:
    from matplotlib.ticker import FuncFormatter

    scale = panel.scale()
    if scale == "symlog":
        axes.set_yscale(scale, linthresh=float(np.median(np.abs(panel.finite()))))
    elif scale == "log":
        axes.set_yscale(scale)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
    axes.grid(axis="y", color=INK, alpha=0.2, linewidth=0.5)
    axes.set_title(panel.title, loc="left", fontsize=9, color=INK, parse_math=False)
    for line in panel.lines:
        _draw_line(axes, line, len(panel.lines))
    _draw_marks(axes, panel)
    if panel.note:
        colour = BAD if panel.bad is not None else INK
        axes.set_title(panel.note, loc="right", fontsize=8, color=colour, parse_math=False)


def _draw_line(axes: Axes, line: Line, beside: int) -> None:
    ok = np.isfinite(line.values)
    colour = COLOURS[line.colour % len(COLOURS)]
    values = np.where(ok, line.values, np.nan)
    (drawn,) = axes.plot(
        line.steps, values, color=colour, alpha=0.9 if beside < 4 else 0.5, linewidth=1.1, markersize=4
    )
    drawn.set_label(line.label or "_")
    drawn.set_linestyle("-" if line.joined else "none")
    drawn.set_marker("o" if not line.joined else "." if ok.sum() < 60 else "")
    if not ok.all():
        top = axes.get_xaxis_transform()
        axes.plot(line.steps[~ok], np.ones((~ok).sum()), "|", color=BAD, markersize=5, transform=top, clip_on=False)


def _draw_marks(axes: Axes, panel: Panel) -> None:
    if panel.band:
        axes.axvspan(*panel.band, color=BAD, alpha=0.12, linewidth=0)
    for step in panel.starts:
        axes.axvline(step, color=INK, linewidth=0.8, linestyle=":")
    if panel.bad is not None:
        axes.axvline(panel.bad, color=BAD, linewidth=1, linestyle="--")
    for mark in panel.marks:
        at, where = _place(axes, mark)
        shape = "^" if mark.spike else "o"
        axes.plot(*at, shape, color=BAD, markersize=5, fillstyle="none", transform=where, clip_on=False)
    for label, mark in _labels(panel):
        at, where = _place(axes, mark)
        axes.annotate(label, at, xycoords=where, xytext=(4, 3), textcoords="offset points", fontsize=8, color=BAD)


def _legend(axes: Axes) -> None:
    """Names the lines, where there are several and not too many."""
    handles, labels = axes.get_legend_handles_labels()
    if len(handles) > 1:
        shown = axes.legend(handles[:8], labels[:8], fontsize=8, frameon=False, labelcolor=INK, loc="best", ncols=2)
        for label in shown.get_texts():
            label.set_parse_math(False)


def _place(axes: Axes, mark: Mark) -> tuple[tuple[float, float], Any]:
    """Where the mark goes and in which coordinates."""
    if np.isfinite(mark.value):
        return (mark.step, mark.value), axes.transData
    return (mark.step, 1.0), axes.get_xaxis_transform()


def _labels(panel: Panel) -> list[tuple[str, Mark]]:
    """Marks that would cover each other share a label: `F1 F2`."""
    first, last = panel.limits()
    groups: list[list[Mark]] = []
    for mark in sorted(panel.marks, key=lambda m: m.step):
        if groups and mark.step - groups[-1][0].step < 0.025 * (last - first):
            groups[-1].append(mark)
        else:
            groups.append([mark])
    return [(" ".join(sorted((m.label for m in group), key=natural)), group[-1]) for group in groups]


# In the terminal ------------------------------------------------------------------------------------

TERMINAL = ("blue", "yellow", "cyan", "magenta")
"""Colours of the attempts."""


def text(panel: Panel, columns: int = 80, rows: int = 10, lang: str = "en", colours: bool = False) -> str:
    """The panel in Braille characters, its first bad step and its band marked with upright lines.

    Args:
        columns: width of the terminal; the picture keeps to it.
        rows: height of the picture, without axis and title.
        colours: whether escape sequences may be used.
    """
    import plotille

    title = f"{panel.title}   {panel.note}".rstrip()
    if not len(panel.finite()):
        return f"{title}\n{_say('nothing', lang)}"
    axis = _Axis(panel)
    drawing = plotille.Figure()
    drawing.width, drawing.height = max(20, columns - 14), rows
    drawing.with_colors, drawing.origin = colours, False
    drawing.x_label = drawing.y_label = ""
    first, last = panel.limits()
    drawing.set_x_limits(first, last)
    drawing.set_y_limits(axis.low, axis.high)
    drawing.y_ticks_fkt = lambda low, _: f"{axis.value(float(low)):10.4g}"  # type: ignore[arg-type]
    drawing.x_ticks_fkt = lambda low, _: f"{float(low):<9.0f}" if last - first > 20 else f"{float(low):<9.3g}"  # type: ignore[arg-type]
    for line in panel.lines[:LINES]:
        ok = np.isfinite(line.values)
        draw = drawing.plot if line.joined else drawing.scatter
        if ok.any():
            draw(line.steps[ok].tolist(), axis.height(line.values[ok]).tolist(), lc=TERMINAL[line.colour % 4])
    for step in (*([panel.bad] if panel.bad is not None else []), *(panel.band or ())):
        drawing.axvline(min(1.0, max(0.0, (step - first) / (last - first))), lc="red")
    return "\n".join(
        [title, *(line.removesuffix("> ()").rstrip("- \u2800") for line in drawing.show().splitlines()[1:])]
    )


class _Axis:
    """The value axis of a terminal picture: straight, or in powers of ten."""

    def __init__(self, panel: Panel):
        self.log = panel.scale() == "log"
        values = panel.finite()
        heights = self.height(values)
        self.low, self.high = float(heights.min()), float(heights.max())
        if self.low == self.high:
            self.low, self.high = self.low - 0.5, self.high + 0.5

    def height(self, values: np.ndarray) -> np.ndarray:
        return np.log10(values) if self.log else values

    def value(self, height: float) -> float:
        return 10**height if self.log else height
