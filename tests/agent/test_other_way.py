"""A setting that is taken to be too small is not borne out by a cause that says it is too large."""

import json

import pytest

from triage.agent.session import ask

HIGH = "learning_rate: 8.0e-5\nstage: dpo\nbeta: 0.1\nmax_steps: 300\n"


def verdict(tmp_path, question: str) -> str:
    (tmp_path / "train.yaml").write_text(HIGH)
    rows = (
        {
            "step": s, "loss": 0.69 - 0.001 * s, "rewards/accuracies": 0.5 + 0.001 * s,
            "kl": 0.05 + 0.02 * s, "logps/chosen": -100.0 - 0.9 * s,
        }
        for s in range(300)
    )  # fmt: skip
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return next(
        j.verdict for j in ask(question, [tmp_path]).reply.suspicions if j.suspicion.topic.id == "learning-rate"
    )


@pytest.mark.parametrize("question", ["KL goes up. is the learning rate too low?", "KL 涨上去了，是不是学习率太小？"])
def test_the_contrary_of_the_cause_is_not_supported(tmp_path, question):
    assert verdict(tmp_path, question) != "supported"


@pytest.mark.parametrize("question", ["KL goes up. is the learning rate too high?", "KL 涨上去了，是不是学习率太大？"])
def test_the_cause_itself_is(tmp_path, question):
    assert verdict(tmp_path, question) == "supported"
