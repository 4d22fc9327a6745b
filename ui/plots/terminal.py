"""A panel in Braille characters, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...tools.findings import Finding
from ...tools.series import SeriesTable
from .series import LINES, WORDS, Panel, series_panels

ROWS = (4, 9)
"""Least and most height of the plot that stands in an answer; below that a curve cannot be told from a line."""
AROUND = 5
"""Lines of a picture beside its rows: title, axes, what stands under them, and a blank one."""
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
        return f"{title}\n{WORDS['nothing'].say(lang)}"
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


def symptom(
    table: SeriesTable,
    findings: Sequence[Finding],
    columns: int,
    room: int,
    lang: str = "en",
    colours: bool = False,
) -> str:
    """The first series in which a finding is seen; empty where there is none, or no room for it.

    Args:
        table: as `read_series` gives it.
        findings: in the order in which they were numbered.
        columns: width of the terminal.
        room: lines that are left.
        lang: en or zh.
        colours: whether escape sequences may be used.
    """
    rows = min(room - AROUND, ROWS[1])
    seen = (p for p in series_panels(table, findings, lang) if p.marks or p.bad is not None)
    panel = next(seen, None) if rows >= ROWS[0] else None
    return text(panel, min(columns, 100), rows, lang, colours) if panel else ""


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
