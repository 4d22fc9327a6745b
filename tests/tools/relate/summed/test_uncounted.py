"""Results of which hardly any answer was counted, and parts that hold an error."""

import json

import pytest

from triage.tools.relate.summed.uncounted import uncounted
from triage.tools.tables.read import read_tables

SCORED = {"score": 1.0, "stereo_chosen": 2, "anti_chosen": 0, "other_chosen": 0, "total": 2106}
OTHER = {"score": 0.8, "stereo_chosen": 700, "anti_chosen": 900, "other_chosen": 400, "total": 2106}


def told(tmp_path, value, name="ood_metrics.json"):
    path = tmp_path / name
    path.write_text(json.dumps(value, indent=1))
    return [f.code for f in uncounted(read_tables(path, name))]


@pytest.mark.parametrize("value", [{"stereoset": SCORED, "second": OTHER}, {"stereoset": SCORED, "n": 3}])
def test_a_total_of_which_hardly_any_answer_was_counted_is_told(tmp_path, value):
    assert told(tmp_path, value) == ["answers-hardly-counted"]


def test_a_part_that_holds_an_error_is_told(tmp_path):
    value = {"a": {"error": "Failed to load the dataset", "note": "hub"}, "b": OTHER, "c": OTHER}
    assert told(tmp_path, value) == ["part-not-evaluated"]


@pytest.mark.parametrize("value", [
    {"stereoset": OTHER, "second": OTHER},
    {"a": {"total": 3000, "http_errors": 3, "client_errors": 1, "read_errors": 0}, "b": {"total": 3000}},
    {"a": {"total": 3000, "reads_failed": 3, "writes_failed": 1, "asks_failed": 0}, "b": {"total": 3000}},
    {"a": {**SCORED, "total": 20}, "b": {**OTHER, "total": 20}},
    {"a": {"error": 0.02, "total": 500}, "b": {"error": 0.01, "total": 500}},
    {"a": {"error": "", "total": 500}, "b": {"error": "none", "total": 500}},
    {"a": {"total": 5000, "x_wins": 20, "y_wins": 30}, "b": {"total": 5000, "x_wins": 20, "y_wins": 30}},
], ids=["counted", "errors", "failures", "few", "error rates", "no error", "two of several"])  # fmt: skip
def test_results_that_rest_on_their_answers_are_not_told_of(tmp_path, value):
    assert not told(tmp_path, value)


def test_errors_of_single_answers_are_no_part_of_an_evaluation(tmp_path):
    rows = {f"q{i}": {"error": "failed to parse", "score": 0.0} for i in range(80)}
    assert not told(tmp_path, rows)
