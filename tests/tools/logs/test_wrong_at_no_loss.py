"""What is written is wrong though the held-out loss is next to nothing, and evaluations that agree."""

import json

import pytest

from triage.tools.discover import discover
from triage.tools.logs.scan import scan


def codes(folder, **at_end):
    rows = [{"step": i, "loss": round(1.2 - i / 100, 4)} for i in range(0, 100, 5)]
    rows += [{"step": 50, "eval_loss": 0.3} | at_end, {"step": 95} | at_end]
    (folder / "train.jsonl").write_text("\n".join(map(json.dumps, sorted(rows, key=lambda r: r["step"]))))
    return {f.code for f in scan(discover(folder)).findings}


@pytest.mark.parametrize(
    "at_end",
    [{"eval_wer": 99.2}, {"eval_wer": 0.97}, {"eval_cer": 1.04}, {"eval_bleu": 0.011}, {"eval_exact_match": 0.0}],
)
def test_what_is_written_is_wrong_at_a_loss_of_nothing(tmp_path, at_end):
    assert "wrong-at-no-loss" in codes(tmp_path, eval_loss=0.004, **at_end)


@pytest.mark.parametrize(
    ("loss", "at_end"),
    [
        (0.004, {"eval_wer": 3.1}),
        (0.9, {"eval_wer": 99.2}),
        (0.05, {"eval_bleu": 34.0}),
        (0.05, {"eval_accuracy": 0.01}),
    ],
)
def test_evaluations_that_agree_are_left_alone(tmp_path, loss, at_end):
    assert "wrong-at-no-loss" not in codes(tmp_path, eval_loss=loss, **at_end)
