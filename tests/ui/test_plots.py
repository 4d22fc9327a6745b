"""Pictures of a run: what is shown, what is marked, how much, and that a run's text cannot break them."""

import re
import threading
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from triage.tools.discover import discover
from triage.tools.findings import Evidence, Finding, Severity
from triage.tools.logs.scan import read_run, scan
from triage.tools.series import Series, SeriesTable
from triage.ui.plots.figure import bars_figure, series_figure, svg
from triage.ui.plots.series import LINES, POINTS, Line, Panel, series_panels, thin
from triage.ui.plots.terminal import symptom, text

EXAMPLE = Path(__file__).parents[2] / "evals" / "example"


def looked(path):
    run = discover(path)
    read = read_run(run)
    return read.table, scan(run, read=read).findings


def series(metric, values, first=0, **more):
    n = len(values)
    steps = np.arange(first, first + n)
    return Series(
        metric, metric, steps, np.array(values, float), np.arange(1, n + 1), more.pop("file", "a.log"), **more
    )


def spike(step, value, file="a.log", **data):
    return Finding("loss-spike", Severity.S2, "", "", (Evidence(file, 1, step, None, "loss", value),), data)


@pytest.fixture(scope="module")
def broken():
    return looked(EXAMPLE / "run-1")


class TestWhatIsShown:
    def test_loss_and_gradient_norm_come_first_and_the_first_bad_step_is_marked(self, broken):
        panels = series_panels(*broken)
        assert [p.title for p in panels] == ["loss", "grad_norm", "learning_rate"]
        assert {p.bad for p in panels} == {3450}
        assert "3450" in panels[0].note

    def test_every_finding_with_a_place_in_a_series_is_marked(self, broken):
        table, findings = broken
        marked = {m.label for p in series_panels(table, findings) for m in p.marks}
        assert marked == {f"F{i}" for i in range(1, len(findings) + 1)}

    def test_a_healthy_run_has_no_mark(self):
        panels = series_panels(*looked(EXAMPLE / "run-2"))
        assert [(p.marks, p.bad) for p in panels] == [((), None)] * len(panels)

    def test_what_a_metric_file_repeats_is_drawn_once(self, broken):
        assert [len(p.lines) for p in series_panels(*broken)] == [1, 1, 1]

    def test_attempts_and_ranks_are_told_apart(self):
        table = SeriesTable(
            (
                series("loss", range(10), attempt="1", rank=0),
                series("loss", range(10), attempt="1", rank=1),
                series("loss", range(10), first=5, attempt="2", rank=0),
            )
        )
        (panel,) = series_panels(table, ())
        assert [(line.label, line.colour) for line in panel.lines] == [
            ("attempt 1 rank 0", 0),
            ("attempt 1 rank 1", 0),
            ("attempt 2 rank 0", 1),
        ]
        assert panel.starts == (5.0,)

    def test_log_lines_are_not_mixed_with_steps(self):
        table = SeriesTable((series("loss", range(100, 109), step_is="line"), series("loss", range(20), file="b.csv")))
        (panel,) = series_panels(table, [spike(3, 103.0, step_is="line")])
        assert (len(panel.lines), len(panel.lines[0].steps), panel.marks, panel.x) == (1, 20, (), "step")

    def test_the_number_of_lines_and_of_points_is_bounded(self):
        table = SeriesTable(tuple(series("loss", np.random.rand(50_000), rank=r) for r in range(64)))
        (panel,) = series_panels(table, ())
        assert len(panel.lines) == LINES
        assert max(len(line.steps) for line in panel.lines) <= 2 * POINTS
        assert "40" in panel.note

    def test_one_value_is_no_series(self):
        assert series_figure(SeriesTable((series("loss", [1.0]),)), ()) is None


class TestThinning:
    def test_one_spike_and_one_nan_in_a_million_points_survive(self):
        values = np.ones(1_000_000)
        values[123_456], values[777_777] = 50.0, np.nan
        line = thin(Line("", np.arange(len(values)), values))
        assert 50.0 in line.values
        assert 777_777 in line.steps[np.isnan(line.values)]
        assert (line.steps[0], line.steps[-1]) == (0, 999_999)

    def test_a_short_line_is_left_alone(self):
        line = Line("", np.arange(5), np.ones(5))
        assert thin(line) is line


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ([1.0, 1.1, 0.9, 1.2], "linear"),
        ([1.0, 1.1, 0.9, 400.0], "log"),
        ([0.0, 1.0, -1.0, 400.0], "symlog"),
        ([np.nan, np.inf], "linear"),
        ([0.0, 0.0, 0.0, 5.0], "linear"),
    ],
)
def test_the_scale_follows_the_values(values, scale):
    assert Panel("loss", (Line("", np.arange(len(values)), np.array(values)),)).scale() == scale


class TestSvg:
    def test_it_is_one_well_formed_element_that_asks_for_nothing(self, broken):
        text = svg(series_figure(*broken), 'a "label"')
        root = ElementTree.fromstring(text)
        assert root.get("aria-label") == 'a "label"'
        links = re.findall(r'(?:href|src)="([^"]*)"|url\(([^)]*)\)', text)
        assert all((a or b).startswith("#") for a, b in links)
        assert "currentColor" in text
        assert "first bad step 3450" in text

    def test_chinese_text_stays_text(self, broken):
        assert "首个坏步 3450" in svg(series_figure(*broken, lang="zh"))

    @pytest.mark.parametrize("name", ["<script>alert(1)</script>", "$\\frac{$", "_under", "a&b", "\x1b[31mred"])
    def test_names_from_a_run_are_only_text(self, name):
        table = SeriesTable((series("loss", range(9), attempt=name), series("loss", range(9), 9, attempt=name + "#2")))
        finding = Finding("x", Severity.S2, "", "", (Evidence("a.log", 1, 3, None, name, 2.0),))
        extra = SeriesTable((*table, series(name, range(9))))
        text = svg(series_figure(extra, [finding]))
        assert "<script" not in text
        assert ElementTree.fromstring(text) is not None

    @pytest.mark.parametrize(
        "values", [[np.nan] * 4, [np.inf, -np.inf, 1.0, 2.0], [0.0] * 4, [1e308, -1e308, 1.0, 2.0]]
    )
    def test_any_values_can_be_drawn(self, values):
        table = SeriesTable((series("loss", values),))
        assert svg(series_figure(table, [spike(2, float("nan"))])).startswith("<svg")
        (panel,) = series_panels(table, ())
        assert text(panel)

    def test_many_threads_draw_at_once(self, broken):
        made = []
        threads = [threading.Thread(target=lambda: made.append(svg(series_figure(*broken)))) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert len(made) == 4
        assert len(set(made)) == 1


def test_bars_show_their_counts():
    text = svg(bars_figure({"0-128": 7, "<b>": 41}, "records"))
    assert ">41<" in text
    assert "<b>" not in text


class TestTerminal:
    def test_the_picture_keeps_to_the_width_and_uses_no_escapes(self, broken):
        panel = series_panels(*broken)[0]
        lines = text(panel, columns=60, rows=8).splitlines()
        assert max(map(len, lines)) <= 60
        assert not any("\x1b" in line for line in lines)
        assert lines[0] == "loss   ┆ first bad step 3450"

    def test_the_first_bad_step_is_an_upright_line(self, broken):
        panel = series_panels(*broken)[0]
        body = text(panel, columns=80, rows=8).splitlines()[2:10]
        assert len({line.rfind("⡇") for line in body}) == 1

    def test_a_series_without_a_finite_value_says_so(self):
        (panel,) = series_panels(SeriesTable((series("loss", [np.nan, np.nan]),)), ())
        assert "no finite value" in text(panel)


class TestTheSymptomInAnAnswer:
    def test_it_is_the_first_series_in_which_a_finding_is_seen(self, broken):
        drawn = symptom(*broken, columns=80, room=30)
        assert drawn.startswith("loss   ┆ first bad step 3450")
        assert len(drawn.splitlines()) <= 30

    @pytest.mark.parametrize("room", [-5, 0, 8])
    def test_without_room_there_is_none(self, broken, room):
        assert symptom(*broken, columns=80, room=room) == ""

    @pytest.mark.parametrize("room", [9, 10, 13, 40])
    def test_it_keeps_to_its_room(self, broken, room):
        assert 0 < len(symptom(*broken, columns=80, room=room).splitlines()) < room

    def test_a_healthy_run_has_none(self):
        assert symptom(*looked(EXAMPLE / "run-2"), columns=80, room=30) == ""
