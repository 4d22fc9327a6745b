"""A file that is one list of numbers and nothing else: its name says what they are."""

import json

import pytest

from triage.tools.tables.read import read_tables
from triage.tools.tables.series import series_of


def curves(tmp_path, name, value, indent=2):
    (tmp_path / name).write_text(json.dumps(value, indent=indent), encoding="utf-8")
    return [
        (s.metric, len(s.values), int(s.lines[0])) for t in read_tables(tmp_path / name, name) for s in series_of(t)
    ]


FALLS = [6 - i / 9 + (i % 4) / 50 for i in range(40)]


@pytest.mark.parametrize(("name", "metric"), [
    ("loss_history.json", "loss"), ("train_losses.json", "loss"), ("val_loss_log.json", "eval_loss"),
    ("loss.per_step.json", "loss"), ("grad_norm-history.json", "grad_norm"),
])  # fmt: skip
def test_the_file_is_named_after_what_it_lists(tmp_path, name, metric):
    assert curves(tmp_path, name, FALLS) == [(metric, 40, 2)]


def test_a_list_in_one_line_has_no_lines(tmp_path):
    assert curves(tmp_path, "loss_history.json", FALLS, None) == [("loss", 40, 0)]


@pytest.mark.parametrize("name", ["ids.json", "token_list.json", "prices.json", "history.json"])
def test_other_lists_are_no_curves(tmp_path, name):
    assert curves(tmp_path, name, FALLS) == []
