"""Plots that can be looked into, without a browser: what is sent, how much, and under which licence."""

import json
import time
from pathlib import Path

import numpy as np
import pytest

import triage.ui.plots
from triage.tools.findings import Evidence, Finding, Severity
from triage.tools.series import Series, SeriesTable
from triage.ui.plots import live
from triage.ui.plots.series import LINES

FOLDER = Path(triage.ui.plots.__path__[0])
MOST = 2_500_000
"""Bytes of the picture of the largest run."""


def series(metric, values, first=0, **more):
    n = len(values)
    steps = np.arange(first, first + n)
    return Series(metric, metric, steps, np.array(values, float), np.arange(1, n + 1), "a.log", **more)


def broke(step):
    return Finding("loss-nonfinite", Severity.S0, "", "", (Evidence("a.log", 1, step, None, "loss", np.nan),),
                   {"first_step": step})  # fmt: skip


def drawn(*found, findings=()):
    return json.loads(live.series_picture(SeriesTable(found), findings), parse_constant=pytest.fail)


class TestAPicture:
    def test_it_is_strict_json_with_what_is_not_finite_as_stretches(self):
        values = np.ones(200)
        values[150:] = np.nan
        values[20] = np.inf
        (panel,) = drawn(series("loss", values), findings=[broke(150)])["panels"]
        (line,) = panel["lines"]
        assert (line["bad"], line["y"][150], panel["bad"]) == ([[20, 20], [150, 199]], None, 150)

    def test_the_onset_is_shown_closer_and_keeps_every_point(self):
        values = np.random.default_rng(0).random(100_000)
        picture = drawn(series("loss", values), findings=[broke(60_000)])
        first, last = picture["onset"]
        assert 0 < first < 60_000 < last < 100_000
        inside = [x for x in picture["panels"][0]["lines"][0]["x"] if first <= x <= last]
        assert len(inside) == last - first + 1

    def test_a_run_in_which_nothing_went_wrong_at_a_step_has_no_onset(self):
        assert drawn(series("loss", range(500)))["onset"] is None

    def test_what_may_be_smoothed_of_a_thinned_line_are_means(self):
        values = np.tile([0.0, 2.0], 50_000)
        (line,) = drawn(series("loss", values))["panels"][0]["lines"]
        assert np.allclose(line["my"], 1.0, atol=0.05)

    def test_baseline_and_next_run_stand_in_one_panel(self):
        before, after = (SeriesTable((series("loss", range(n)), series("kl", range(n)))) for n in (50, 80))
        loss, kl = json.loads(live.compared_picture(before, after, ()))["panels"]
        for panel in (loss, kl):
            assert [(line["label"], line["colour"], len(line["x"])) for line in panel["lines"]] == [
                ("baseline", 0, 50),
                ("candidate", 1, 80),
            ]

    def test_a_million_points_are_few_kilobytes_at_once(self):
        values = np.random.default_rng(0).random(1_000_000)
        values[777_777] = 50.0
        began = time.perf_counter()
        text = live.series_picture(SeriesTable((series("loss", values),)), [broke(900_000)])
        assert time.perf_counter() - began < 5
        assert len(text) < 120_000
        assert ",50," in text

    def test_the_largest_run_stays_bounded(self):
        values = np.random.default_rng(0).random(20_000)
        metrics = (
            "loss",
            "grad_norm",
            "eval_loss",
            "learning_rate",
            "reward",
            "kl",
            "entropy",
            "accuracy",
            "step_time",
        )
        table = SeriesTable(tuple(series(m, values, rank=r) for m in metrics for r in range(LINES + 8)))
        assert len(live.series_picture(table, [broke(15_000)])) < MOST


def test_the_library_is_shipped_with_its_licence_and_told():
    library, told = (FOLDER / "uplot.min.js").read_text(), (FOLDER.parents[1] / "SECURITY.md").read_text()
    licence = (FOLDER / "uplot.LICENSE.txt").read_text()
    assert "uPlot (v1.6.32)" in library
    assert "uPlot 1.6.32" in told
    assert licence.startswith("The MIT License")
    assert licence in live.script()


def test_the_script_cannot_end_its_own_element():
    assert "</script" not in live.script().lower()
    assert "eval(" not in live.script()
