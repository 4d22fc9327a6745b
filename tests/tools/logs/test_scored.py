"""Scores that a log ends with: a classifier that answers one class, and others."""

import pytest
from making import fill

from triage.tools.discover import discover
from triage.tools.logs.scan import scan

STEPS = "".join(f"step {i} | loss {3 - i / 50:.3f} | lr 2e-4\n" for i in range(1, 61))


def codes(folder, end):
    return {f.code for f in scan(discover(fill(folder, {"train.log": STEPS + end}))).findings}


@pytest.mark.parametrize(
    "end",
    [
        "INFO Accuracy Score: 41.20%\nINFO Precision Score: 41.20%\nINFO Recall Score: 100.00%\n",
        "准确率：0.537\n精确率：0.537\n召回率：1.0\n",
        "test acc = 0.288 | test precision = 0.288 | test recall = 1.000 | test f1 = 0.447\n",
    ],
    ids=["percent", "Chinese", "one line"],
)
def test_every_item_is_taken_for_positive(tmp_path, end):
    assert "one-class-predicted" in codes(tmp_path, end)


@pytest.mark.parametrize(
    "end",
    [
        "Accuracy: 0.93\nPrecision: 0.88\nRecall: 1.00\n",
        "Accuracy: 1.0\nPrecision: 1.0\nRecall: 1.0\n",
        "accuracy: 0.61\nprecision: 0.61\nrecall: 0.61\n",
        "recall: 1.0\n" + STEPS[:400] + "accuracy: 0.5\nprecision: 0.5\n",
    ],
    ids=["few false alarms", "all right", "averages", "of two evaluations"],
)
def test_other_scores(tmp_path, end):
    assert "one-class-predicted" not in codes(tmp_path, end)
