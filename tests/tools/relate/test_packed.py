"""Trainings with and without packing side by side."""

import json

import pytest

from triage.tools.relate.trials.packed import worse_packed
from triage.tools.tables.read import read_tables

ROWS = [
    {"name": "a", "packing": True, "step": 800, "lr": 2e-5, "val_loss": 1.62, "exact_match": 41.0, "n": 900},
    {"name": "b", "packing": False, "step": 800, "lr": 2e-5, "val_loss": 1.49, "exact_match": 49.5, "n": 900},
]


def told(folder, name, text):
    (folder / name).write_text(text)
    return bool([*worse_packed(read_tables(folder / name, name))])


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, True),
        ({"step": 2400}, False),  # trained longer
        ({"lr": 1e-5}, False),
        ({"val_loss": 1.66}, False),  # worse by one, better by the other
        ({"val_loss": 1.61, "exact_match": 42.0}, False),  # within noise
        ({"packing": True}, False),
    ],
)
def test_two_trainings_that_differ_in_packing_alone(tmp_path, changed, expected):
    assert told(tmp_path, "ab.json", json.dumps([ROWS[0], ROWS[1] | changed])) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run,packed,epochs,nll,off_topic_rate\nx,yes,2,1.80,0.09\ny,no,2,1.64,0.01\n", True),
        ("实验,打包,轮数,损失,准确率\n甲,是,2,1.80,0.52\n乙,否,2,1.64,0.61\n", True),
        ("run,packed,epochs,nll,off_topic_rate\nx,yes,2,1.60,0.01\ny,no,2,1.64,0.01\n", False),
        ("run,packed,epochs,tokens_per_second,memory\nx,yes,2,41000,61\ny,no,2,23000,52\n", False),
    ],
    ids=["words", "zh", "as good", "speed"],
)
def test_in_other_words_and_where_packing_does_no_harm(tmp_path, text, expected):
    assert told(tmp_path, "ab.csv", text) is expected
