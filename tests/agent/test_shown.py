"""What a person describes and the files show is never called open."""

import json

import numpy as np
import pytest
from making import fill

from triage.agent.question.symptoms import symptoms
from triage.agent.session import ask

OPEN = ("neither shows nor excludes", "不能证实也不能排除")
DISK = "OSError: [Errno 28] No space left on device\n"
BROKEN = "RuntimeError: [enforce fail at inline_container.cc:603] . unexpected pos 64 vs 0\n"
SAVED = (
    "Traceback (most recent call last):\n"
    '  File "/venv/lib/python3.11/site-packages/torch/serialization.py", line 850, in save\n' + BROKEN
)


def steps(count, **held_out):
    """Rows of a training, with an evaluation every ten of them."""
    for i in range(count):
        row = {"step": 10 * i, "loss": round(1.9 - i / 200, 4), "grad_norm": 0.8}
        yield json.dumps(row)
        if i % 10 == 9:
            yield json.dumps({"step": 10 * i} | {name: at(i // 10) for name, at in held_out.items()})


def verdicts(folder, question, text):
    reply = ask(question, [fill(folder, {"train.log": text})]).reply
    return {s.symptom.kind.id: s.verdict for s in reply.symptoms}


@pytest.mark.parametrize("question", ["it crashed", "训练崩溃了", "the job died at night"])
@pytest.mark.parametrize(
    "end", [SAVED + DISK, "torch.distributed.DistBackendError: NCCL error: remote process exited\n"]
)
def test_a_crash_is_shown_by_the_error_that_stopped_the_run(tmp_path, question, end):
    assert verdicts(tmp_path, question, "\n".join(steps(60)) + "\n" + end).get("crash") == "shown"


def test_a_crash_is_not_shown_by_a_loss_that_is_no_number(tmp_path):
    rows = "\n".join(json.dumps({"step": i, "loss": 2.0 if i < 40 else float("nan")}) for i in range(80))
    assert verdicts(tmp_path, "it crashed", rows)["crash"] != "shown"


@pytest.mark.parametrize("question", ["eval accuracy stuck", "the accuracy does not improve", "准确率不涨，为什么"])
@pytest.mark.parametrize("name", ["eval_accuracy", "eval_rewards/accuracies"])
@pytest.mark.parametrize("at", [lambda i: 0.61, lambda i: round(0.64 - 0.006 * i, 4)], ids=["flat", "falls"])
def test_a_score_that_stands_still_is_shown_by_its_series(tmp_path, question, name, at):
    found = verdicts(tmp_path, question, "\n".join(steps(50, **{name: at})))
    assert found == {"score-flat": "shown"}


@pytest.mark.parametrize("question", ["the eval loss is nan after every epoch", "验证 loss 变成 nan"])
@pytest.mark.parametrize(("at", "shown"), [(lambda i: float("nan"), True), (lambda i: 1.9 - 0.03 * i, False)])
def test_an_evaluation_that_is_no_number_is_shown_beside_a_sound_training(tmp_path, question, at, shown):
    found = verdicts(tmp_path, question, "\n".join(steps(60, eval_loss=at)))
    assert (found["nonfinite-loss"] == "shown") is shown


def test_a_score_that_gets_better_is_not(tmp_path):
    text = "\n".join(steps(150, eval_accuracy=lambda i: round(0.4 + 0.03 * i, 4)))
    assert verdicts(tmp_path, "eval accuracy stuck", text)["score-flat"] == "contradicted"


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("the job is stuck at the first step", {"hang"}),
        ("training got stuck after the evaluation", {"hang"}),
        ("win rate is stuck at 50%", {"score-flat"}),
        ("the kl is stuck", set()),
        ("loss is stuck", {"loss-flat"}),
        ("eval loss stays flat", {"loss-flat"}),
    ],
)
def test_a_measure_that_is_stuck_is_no_run_that_is(text, kinds):
    assert {s.kind.id for s in symptoms(text)} == kinds


def rewards(end, at=60):
    """Rows of a reward that rises up to a step, and by `end` each step from there on."""
    values = (0.2 + 0.004 * min(i, at) + end * max(i - at, 0) + 0.004 * (i * 7 % 5 - 2) for i in range(400))
    return "\n".join(json.dumps({"step": i, "reward": round(v, 4), "kl": 0.01}) for i, v in enumerate(values))


@pytest.mark.parametrize("question", ["reward is stuck since step 60", "奖励一直不涨"])
def test_a_reward_that_rose_at_first_and_then_stands_is_as_the_person_says(tmp_path, question):
    found = ask(question, [fill(tmp_path, {"train.log": rewards(0.0)})])
    (seen,) = found.reply.symptoms
    assert seen.verdict == "stands"
    assert 25 <= seen.step <= 110


def test_a_reward_that_goes_on_rising_is_not(tmp_path):
    assert verdicts(tmp_path, "reward is stuck", rewards(0.004))["reward-flat"] == "contradicted"


def test_one_speed_that_keeps_its_level_denies_a_fall_and_not_that_it_is_slow(tmp_path):
    text = "\n".join(steps(200, tokens_per_second=lambda i: 610 + i * 7 % 5))
    assert verdicts(tmp_path, "our new engine is slower than plain decoding", text)["slow"] == "level"
    assert verdicts(tmp_path / "b", "training slowed down over time", text)["slow"] == "contradicted"


def paced(key, level, slow, every=300, length=30, n=1200):
    """Rows of a measure at a level, and at another one for a while now and then."""
    values = (slow if every and i % every < length and i >= every else level for i in range(n))
    return "\n".join(
        f"upd={20 * i} loss={1.9 - i / 2000:.4f} {key}={v + i % 7 * level / 90:.3f}" for i, v in enumerate(values)
    )


@pytest.mark.parametrize(
    ("question", "key", "level", "slow"),
    [("训练每天变慢一阵", "step_time", 2.9, 5.4), ("training gets slow every night", "tokens_per_second", 8100, 4300)],
)
def test_what_is_slow_at_times_is_shown_and_not_judged_by_its_last_point(tmp_path, question, key, level, slow):
    answer = ask(question, [fill(tmp_path, {"train.log": paced(key, level, slow)})])
    (seen,) = (s for s in answer.reply.symptoms if s.symptom.kind.id == "slow")
    assert seen.verdict in ("at-times", "shown")
    assert seen.verdict == "shown" or seen.times == 3
    assert answer.diagnosis.state != "healthy"


@pytest.mark.parametrize(("slow", "every", "length"), [(5.4, 0, 0), (5.4, 900, 40), (5.4, 300, 3), (3.1, 300, 30)])
def test_one_stretch_single_steps_and_a_little_are_not_slow_at_times(slow, every, length):
    from triage.tools.logs.detectors.robust import stretches

    text = paced("step_time", 2.9, slow, every, length)
    values = np.array([float(line.rpartition("=")[2]) for line in text.splitlines()])
    assert stretches(values, 1) == []
