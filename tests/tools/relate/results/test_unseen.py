"""A result on rows kept apart against the evaluations of the training beside it."""

import json

import pytest

from triage.agent.evidence import look


def told(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return [f.code for r in look([folder]).reports for f in r.findings if f.code == "unseen-as-before-training"]


def history(first=1.4, last=0.06, n=30, name="valid_loss"):
    way = [first * (last / first) ** (i / (n - 1)) for i in range(n)]
    rows = "".join(f"{i + 1},{v * 0.9:.5f},{v:.5f}\n" for i, v in enumerate(way))
    return f"epoch,loss,{name}\n{rows}"


@pytest.mark.parametrize(
    ("log", "name", "text"),
    [
        ("m/history.csv", "m/unseen/result.txt", "loss: 3.210000\nacc: 0.310000\n"),
        ("m/history.csv", "m/test_metrics.json", json.dumps({"test_loss": 1.93, "test_accuracy": 0.31})),
        ("log.csv", "holdout_eval.json", json.dumps({"loss": 2.2, "f1": 0.2})),
    ],
)
def test_a_result_as_bad_as_the_first_evaluation_is_told(tmp_path, log, name, text):
    assert told(tmp_path, {log: history(), name: text}) == ["unseen-as-before-training"]


@pytest.mark.parametrize(
    ("log", "name", "text"),
    [
        ("m/history.csv", "m/unseen/result.txt", "loss: 0.110000\nacc: 0.960000\n"),  # a little worse
        ("m/history.csv", "m/base_model/test_metrics.json", json.dumps({"test_loss": 1.93})),  # before training
        ("m/history.csv", "m/test_metrics.json", json.dumps({"test_loss": 4210.5})),  # a sum over rows
        ("m/history.csv", "other/test_metrics.json", json.dumps({"test_loss": 1.93})),  # of another model
    ],
)
def test_a_result_near_the_last_one_of_the_base_or_of_another_model_is_not(tmp_path, log, name, text):
    assert told(tmp_path, {log: history(), name: text}) == []


def test_where_the_training_gained_nothing_there_is_nothing_to_lose(tmp_path):
    flat = {"m/history.csv": history(last=1.2), "m/test_metrics.json": json.dumps({"test_loss": 4.0})}
    assert told(tmp_path, flat) == []
