"""Panels as a picture that can be looked into: hover, zoom, the onset beside the whole, log scale, smoothing.

`uplot.min.js` draws (MIT, see `uplot.LICENSE.txt`), `plots.js` is ours and makes the page of what is given here: an
element whose data stand in an attribute, so that nothing of a run is ever script. Nothing is fetched.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ...tools.findings import Finding
from ...tools.phrase import phrases
from ...tools.secrets import visible
from ...tools.series import SeriesTable
from .figure import COLOURS, bars_figure, figure, svg
from .series import LINES, Line, Panel, series_panels
from .series import WORDS as SERIES_WORDS

HERE = Path(__file__).parent
WORDS = phrases(
    "words of a picture that can be looked into",
    ("whole", "Whole run", "全程"),
    ("onset", "Onset", "起始处"),
    ("both", "Both", "并排"),
    ("log", "log", "对数"),
    ("smooth", "Smoothing", "平滑"),
    ("reset", "Reset", "还原"),
    ("hint", "Drag to zoom, double-click for all.", "拖动放大，双击还原。"),
    ("baseline", "baseline", "基线"),
    ("candidate", "candidate", "新运行"),
    ("show", "Show in the plot", "在曲线中查看"),
    ("plot", "plot", "曲线"),
)  # fmt: skip


@dataclass(frozen=True)
class Picture:
    """What a page shows: a drawing that needs no script, and the data of one that can be looked into."""

    caption: str
    svg: str
    live: str = ""


def of_series(
    caption: str, table: SeriesTable, findings: Sequence[Finding], lang: str = "en", first: int = 1
) -> list[Picture]:
    """The series of a run; none when no metric was logged twice.

    Args:
        caption: what stands under it.
        table: as `read_series` gives it.
        findings: in the order in which they were numbered.
        lang: en or zh.
        first: the number of the first of them.
    """
    return of_panels(caption, series_panels(table, findings, lang, first), lang)


def of_panels(caption: str, panels: Sequence[Panel], lang: str = "en") -> list[Picture]:
    """The panels as one picture; none without any."""
    return [Picture(caption, svg(figure(panels, lang), caption), live_picture(panels, lang))] if panels else []


def of_bars(caption: str, counts: Mapping[str, int]) -> Picture:
    return Picture(caption, svg(bars_figure(counts, ""), caption))


@cache
def script() -> str:
    """The two scripts as one, with the licence of the first."""
    parts = ("uplot.LICENSE.txt", "uplot.min.js", "plots.js")
    licence, library, ours = ((HERE / name).read_text(encoding="utf-8") for name in parts)
    return f"/*\n{licence}\n*/\n{library}\n{ours}"


@cache
def style() -> str:
    return "\n".join((HERE / name).read_text(encoding="utf-8") for name in ("uplot.min.css", "plots.css"))


def permit() -> str:
    """What a page's policy says to allow this script and no other."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(script().encode()).digest()).decode() + "'"


def live_picture(panels: Sequence[Panel], lang: str) -> str:
    """The data of one picture, as JSON for the attribute `data-plot`."""
    onset = next((p.onset for p in panels if p.onset), None)
    words = {key: phrase.say(lang) for key, phrase in WORDS.items()}
    shown = {
        "panels": [_panel(p, lang) for p in panels],
        "onset": onset,
        "colours": COLOURS,
        "words": words,
    }
    return json.dumps(shown, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def series_picture(table: SeriesTable, findings: Sequence[Finding], lang: str = "en") -> str:
    """The series of a run with the findings marked; empty when no metric was logged twice."""
    panels = series_panels(table, findings, lang)
    return live_picture(panels, lang) if panels else ""


def compared_picture(before: SeriesTable, after: SeriesTable, findings: Sequence[Finding], lang: str = "en") -> str:
    """The baseline with its findings, and the next run in the same panels."""
    panels = compared_panels(before, after, findings, lang)
    return live_picture(panels, lang) if panels else ""


def compared_panels(
    before: SeriesTable, after: SeriesTable, findings: Sequence[Finding], lang: str = "en"
) -> list[Panel]:
    """The panels of the baseline with the lines of the next run in them."""
    others = {p.title: p for p in series_panels(after, (), lang)}
    return [_named(p, others.get(p.title), lang) for p in series_panels(before, findings, lang)]


def _named(panel: Panel, other: Panel | None, lang: str) -> Panel:
    """The panel with the lines of both runs, each run in its own colour."""
    colours = 1 + max((line.colour for line in panel.lines), default=0)
    lines = [replace(line, label=_label("baseline", line, lang)) for line in panel.lines]
    if other and other.x == panel.x:
        for line in other.lines[: LINES - 1]:
            lines.append(replace(line, label=_label("candidate", line, lang), colour=line.colour + colours))
    return replace(panel, lines=tuple(lines))


def _label(run: str, line: Line, lang: str) -> str:
    return " ".join(filter(None, (WORDS[run].say(lang), line.label)))


def _panel(panel: Panel, lang: str) -> dict[str, Any]:
    x = SERIES_WORDS[panel.x].say(lang) if panel.x in SERIES_WORDS else panel.x
    return {
        "title": visible(panel.title),
        "x": visible(x),
        "axis": panel.x,
        "log": panel.scale() != "linear",
        "note": visible(panel.note),
        "lines": [_line(line) for line in panel.lines],
        "marks": [{"id": m.label, "x": _number(m.step), "y": _number(m.value), "spike": m.spike} for m in panel.marks],
        "bad": _number(panel.bad),
        "band": panel.band and [_number(at) for at in panel.band],
        "starts": [_number(at) for at in panel.starts],
    }


def _line(line: Line) -> dict[str, Any]:
    """Its points, and the stretches that are not finite."""
    order = np.argsort(line.steps, kind="stable")
    steps, values = line.steps[order], line.values[order]
    out: dict[str, Any] = {
        "label": visible(line.label),
        "colour": line.colour % len(COLOURS),
        "joined": line.joined,
        "x": [_number(step) for step in steps],
        "y": [_number(value) for value in values],
        "bad": _stretches(steps, ~np.isfinite(values)),
    }
    if line.usual:
        out |= {"mx": [_number(step) for step in line.usual[0]], "my": [_number(value) for value in line.usual[1]]}
    return out


def _stretches(steps: np.ndarray, bad: np.ndarray) -> list[list[Any]]:
    """First and last step of each stretch in which every value is bad."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], bad, [False]]).astype(np.int8)))
    return [[_number(steps[a]), _number(steps[b - 1])] for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _number(value: object) -> int | float | None:
    """Six figures of it; None for what is no finite number."""
    if not isinstance(value, int | float | np.number) or not np.isfinite(value):
        return None
    whole = int(value)
    return whole if whole == value and abs(whole) < 2**53 else float(f"{value:.6g}")
