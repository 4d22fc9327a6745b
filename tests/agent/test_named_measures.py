"""What a question names of measures is read wherever it stands, its value is said, and it is weighed: at the floor of a
score, or where guessing lies, no run is healthy; a symptom that is only said again is no diagnosis."""

import json
from random import Random

import pytest
from making import fill

from triage.agent.session import ask

SOUND = "".join(
    f"step {i} loss {0.9 + 2 / (1 + i / 12) + 0.01 * (i * 7 % 5):.4f} grad_norm 0.8 lr 2e-4\n" for i in range(160)
)


def asked(folder, question, **more):
    return ask(question, [fill(folder, {"train.log": SOUND, **more})])


def results(**scores):
    sides = {name: {"by_set": {"holdout": scores | {"utterances": 40}}} for name in ("small", "large")}
    return {"results/scores.json": json.dumps({"runs": sides})}


def line(answer):
    return " ".join(part.strip() for part in answer.short.splitlines())


@pytest.mark.parametrize(
    ("question", "score", "value", "state", "said"),
    [
        ("is the WER in order?", "wer", 1.0, "inconclusive", "hardly anything was recognised"),
        ("WER正常吗？", "wer", 1.0, "inconclusive", "几乎什么都没有识别出来"),
        ("is the WER in order?", "wer", 0.18, "healthy", "wer` 0.18"),
        ("is the CER in order?", "cer", 100.0, "inconclusive", "hardly anything was recognised"),
        ("is the accuracy in order?", "accuracy", 0.0, "inconclusive", "nothing is right"),
        ("is the accuracy in order?", "accuracy", 0.64, "healthy", "accuracy` 0.64"),
        ("is the loss in order?", "wer", 1.0, "healthy", "`loss` 2.9"),  # it is not what was asked about
    ],
)
def test_a_score_that_is_named_is_read_at_any_depth_and_no_run_is_healthy_at_its_floor(
    tmp_path, question, score, value, state, said
):
    answer = asked(tmp_path, question, **results(**{score: value}))
    assert (answer.diagnosis.state, said in line(answer)) == (state, True)


@pytest.mark.parametrize(
    ("question", "absent"),
    [
        ("what about the BLEU?", "called `bleu`"),
        ("BLEU怎么样", "没有你提到的 `bleu`"),
        ("how is the p95 latency?", "called `p95`"),
        ("what about the WER?", ""),
        ("how is the loss?", ""),
        ("how did it go?", ""),
    ],
)
def test_a_measure_that_is_named_and_stands_nowhere_is_said_to(tmp_path, question, absent):
    said = line(asked(tmp_path, question, **results(wer=0.2)))
    assert (absent in said) if absent else ("Nothing that was read is called" not in said)


def test_a_kind_of_the_score_is_the_score(tmp_path):
    said = line(asked(tmp_path, "is the rouge plausible?", **results(**{"test_rouge-L": 0.31})))
    assert "test_rouge-L` 0.31" in said
    assert "is called" not in said


@pytest.mark.parametrize(
    ("accuracy", "loss", "told"), [(0.53, 0.69, 2), (0.81, 0.42, 0), (0.79, 0.688, 1), (None, 0.69, 0)]
)
def test_pairs_that_are_ranked_as_by_guessing_are_told_whatever_is_asked(tmp_path, accuracy, loss, told):
    notes = "# Results\n\nPreferences from two raters, tuned for one epoch on a single card.\n\n"
    notes += f"## Training\n\n- Final training loss: {loss}\n- Mean toxicity: 0.02\n- Mean length: 131\n"
    notes += "" if accuracy is None else f"- Reward accuracy (on held-out pairs): {accuracy}\n"
    answer = ask(
        "did the alignment work?", [fill(tmp_path, {"RESULTS.md": notes, "config.yaml": "learning_rate: 5.0e-7\n"})]
    )
    assert sum(m.told for m in answer.diagnosis.missing) == told


SWEEP = "concurrency,p99_ttft_ms,output_tok_s\n1,21,140\n4,24,540\n8,26,1010\n16,31,1900\n32,520,1925\n"


@pytest.mark.parametrize(
    ("question", "told"),
    [("Why is the TTFT so at 32 clients?", True), ("Why is the power so at 8 clients?", False)],
)
def test_a_note_on_the_measure_of_which_is_asked_why_keeps_the_run_from_being_healthy(tmp_path, question, told):
    answer = ask(question, [fill(tmp_path, {"sweep.csv": SWEEP})])
    assert any(m.told for m in answer.diagnosis.missing) == told


LUCK = Random(5)
FLAT = "".join(f'{{"step": {i}, "reward": {LUCK.gauss(0.31, 0.02):.4f}, "kl": 0.021}}\n' for i in range(200))


@pytest.mark.parametrize(
    ("question", "state"),
    [
        ("my GRPO reward does not go up, why?", "inconclusive"),
        ("GRPO 奖励为什么不涨？", "inconclusive"),
        ("is this GRPO run ok?", "diagnosed"),  # nobody has said it yet
    ],
)
def test_a_symptom_that_the_person_told_is_no_diagnosis(tmp_path, question, state):
    answer = ask(question, [fill(tmp_path, {"train.jsonl": FLAT})])
    top = answer.diagnosis.top
    assert (answer.diagnosis.state, top and top.entry.id) == (state, "rl-no-convergence")
    assert ("Trouble was seen" in answer.text or "看到了异常" in answer.text) == (state == "inconclusive")


SLOWER = "".join(
    f"step {i} img/s {(1120 if i < 120 else 790) + LUCK.gauss(0, 9):.1f} sec/step "
    f"{(0.91 if i < 120 else 1.29) + LUCK.gauss(0, 0.01):.4f} loss {2.4 - i / 800 + LUCK.gauss(0, 0.01):.4f}\n"
    for i in range(240)
)


@pytest.mark.parametrize(
    ("question", "state"),
    [("img/s is down by a third since step 120, root cause?", "inconclusive"), ("is this ok?", "diagnosed")],
)
def test_a_step_that_takes_longer_says_no_more_than_the_rate_that_fell(tmp_path, question, state):
    answer = ask(question, [fill(tmp_path, {"train.log": SLOWER})])
    top = answer.diagnosis.top
    assert (answer.diagnosis.state, top and top.entry.id) == (state, "low-throughput")


PROGRAM = """
from transformers import Trainer
trainer = Trainer(model=model, args=args, train_dataset=rows, eval_dataset=rows)
trainer.train()
"""


@pytest.mark.parametrize(("measured", "state"), [(True, "diagnosed"), (False, "inconclusive")])
def test_an_evaluation_on_the_training_data_is_the_cause_once_its_score_was_logged(tmp_path, measured, state):
    history = [{"step": 60, "epoch": 3.0, "loss": 0.3}]
    history += [{"step": 60, "epoch": 3.0, "eval_loss": 0.19, "eval_accuracy": 0.93}] * measured
    state_file = json.dumps({"global_step": 60, "max_steps": 60, "log_history": history})
    files = {"train.py": PROGRAM, "trainer_state.json": state_file}
    found = ask("the accuracy is 93%, is the run ok?", [fill(tmp_path, files)]).diagnosis
    assert (found.state, found.top and found.top.entry.id) == (state, "eval-leakage")


@pytest.mark.parametrize(("score", "first"), [(1.0, "eval-leakage"), (0.71, "lr-schedule-misconfig")])
def test_a_perfect_score_on_rows_that_were_trained_on_comes_before_another_fault(tmp_path, score, first):
    rows = [f"the ticket number {i} was closed by operator {i * 7 % 11} on day {i},class{i % 3}" for i in range(60)]
    log = [{"step": s, "learning_rate": 1e-7 * s, "loss": 1.4 - s / 200} for s in range(10, 201, 10)]
    log += [
        {"step": s, "eval_loss": 0.6 * (1 - score * s / 201), "eval_accuracy": score * s / 200}
        for s in (80, 120, 160, 200)
    ]
    files = {
        "rows_train.csv": "\n".join(rows) + "\n",
        "rows_test.csv": "\n".join(rows[10:20]) + "\n",
        "trainer_state.json": json.dumps({"global_step": 200, "max_steps": 200, "log_history": log}),
        "args.yaml": "max_steps: 200\nwarmup_steps: 500\nlearning_rate: 5.0e-5\n",
    }
    assert ask("can I trust the score?", [fill(tmp_path, files)]).diagnosis.top.entry.id == first
