"""An accuracy that stands still: in training too, or only where the evaluation looks at something else."""

import json

import pytest

from triage.tools.discover import discover
from triage.tools.logs.scan import scan

KERAS = (
    "Epoch {e}/8\n412/412 [==============================] - 1s 62us/step - loss: {l:.4f} - accuracy: {t} "
    "- val_loss: {v:.4f} - val_accuracy: {h}\n"
)
JSON = '{{"epoch": {e}, "train_loss": {l:.4f}, "train_acc": {t}, "val_loss": {v:.4f}, "val_acc": {h}}}\n'


def told(tmp_path, form, train, held):
    name = "log.jsonl" if form is JSON else "train.log"
    rows = [form.format(e=e, l=2 - e / 20, v=2 - e / 21, t=t, h=held) for e, t in enumerate(train, 1)]
    (tmp_path / name).write_text("".join(rows))
    found = {f.code for f in scan(discover(tmp_path)).findings}
    return found & {"eval-score-constant", "same-answer-everywhere"}


@pytest.mark.parametrize("form", [KERAS, JSON], ids=["keras", "json"])
@pytest.mark.parametrize(
    ("train", "held", "code"),
    [
        ([0.0312] * 8, 0.0301, {"same-answer-everywhere"}),
        ([0.201, 0.2, 0.2, 0.2, 0.2, 0.201, 0.2], 0.21, {"same-answer-everywhere"}),
        ([0.1, 0.3, 0.5, 0.6, 0.7, 0.72, 0.75], 0.0301, {"eval-score-constant"}),
        ([0.62] * 8, 0.1, {"eval-score-constant"}),
    ],
)
def test_what_a_constant_score_says_is_told_by_the_one_in_training(tmp_path, form, train, held, code):
    assert told(tmp_path, form, train, held) == code


@pytest.mark.parametrize(("train", "held"), [([1.0] * 8, 1.0), ([0.3, 0.5, 0.6, 0.7, 0.75, 0.8], 0)])
def test_a_solved_task_is_no_answer_that_is_always_the_same(tmp_path, train, held):
    assert "same-answer-everywhere" not in told(tmp_path, KERAS, train, held)


def test_the_cause_names_what_to_try(tmp_path):
    from triage.agent.session import ask

    rows = [json.loads(JSON.format(e=e, l=2 - e / 20, v=2 - e / 21, t=0.0312, h=0.0301)) for e in range(1, 9)]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    answer = ask("is this ok?", [tmp_path])
    top = answer.diagnosis.hypotheses[0]
    assert (top.entry.id, top.cause.id) == ("loss-stagnation", "one-answer-for-all")
