"""Panels and bars as matplotlib figures and SVG, in colours that read on light and dark."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...tools.findings import Finding, clean
from ...tools.run import natural
from ...tools.series import SeriesTable
from .series import WORDS, Line, Mark, Panel, series_panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, BAD = "#6e7781", "#d1242f"
COLOURS = ("#3182bd", "#e08214", "#35978f", "#8e6bbf", "#b8860b", "#c2578f")
"""Told apart by most colour-blind people, and at least 3:1 against white and against near-black."""
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
            axes.set_xlabel(WORDS[panel.x].say(lang) if panel.x in WORDS else panel.x, color=INK, fontsize=8)
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
    text = re.sub(r"<metadata>(?:[^<]++|<(?!/?metadata>))*+</metadata>\s*", "", text[text.index("<svg") :])
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
