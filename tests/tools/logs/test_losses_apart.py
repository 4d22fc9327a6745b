"""Held-out losses that do not fit what is written, or the training loss, and evaluations that agree."""

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


def log(train, held):
    rows = [f"Step {i}:\n  Train Loss: {loss:.3f}\n  Learning Rate: 0.0003\n" for i, loss in enumerate(train, 1)]
    return "\n".join(rows) + f"  Validation Loss: {held}\n"


LEARNED = [4.1 * 0.7**i for i in range(14)]


@pytest.mark.parametrize("held", [8.45, 3.1])
def test_a_held_out_loss_far_above_the_training_s_is_told(tmp_path, held):
    (tmp_path / "train.txt").write_text(log(LEARNED, held))
    assert "held-out-far-above" in {f.code for f in scan(discover(tmp_path)).findings}


@pytest.mark.parametrize(
    ("train", "held"), [(LEARNED, 0.4), (LEARNED, 812.0), ([4.1 - i / 20 for i in range(14)], 8.4), ([0.1] * 14, 3.0)]
)
def test_losses_that_belong_together_or_are_counted_otherwise_are_left_alone(tmp_path, train, held):
    (tmp_path / "train.txt").write_text(log(train, held))
    assert "held-out-far-above" not in {f.code for f in scan(discover(tmp_path)).findings}
