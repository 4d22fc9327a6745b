"""A loss that falls while the share of tokens that are right stays, and what looks like it."""

import json
from pathlib import Path

import pytest

from triage.agent.evidence import look

N = 9


def told(folder: Path, rows: list[dict]) -> bool:
    (folder / "trainer_state.json").write_text(json.dumps({"log_history": rows, "global_step": rows[-1]["step"]}))
    return "right-tokens-stay" in {f.code for f in look([folder]).findings}


def rows(loss, right, key: str = "mean_token_accuracy", held: str = "") -> list[dict]:
    return [{"step": 20 * (i + 1), f"{held}loss": loss(i), f"{held}{key}": right(i)} for i in range(N)]


@pytest.mark.parametrize(
    ("key", "held"), [("mean_token_accuracy", ""), ("mean_token_accuracy", "eval_"), ("token_acc", "")]
)
def test_a_share_that_stays_is_told(tmp_path, key, held):
    assert told(tmp_path, rows(lambda i: 9.0 - 0.6 * i, lambda i: 0.21 + 0.004 * (i % 3), key, held))


@pytest.mark.parametrize(
    ("loss", "right"),
    [
        (lambda i: 9.0 - 0.6 * i, lambda i: 0.21 + 0.03 * i),  # it rises
        (lambda i: 2.0 - 0.02 * i, lambda i: 0.41),  # the loss hardly falls
        (lambda i: 1.2 - 0.07 * i, lambda i: 0.86 + 0.001 * i),  # nearly all is right already
    ],
)
def test_what_learns_has_little_left_or_does_not_fall_is_not(tmp_path, loss, right):
    assert not told(tmp_path, rows(loss, right))


def test_an_accuracy_of_answers_is_another_thing(tmp_path):
    assert not told(tmp_path, rows(lambda i: 9.0 - 0.6 * i, lambda i: 0.21, "accuracy"))


def log(folder: Path, peak: float, steps: int, loss: float, more: str = "") -> set[str]:
    """DPO whose loss goes from ln 2 to `loss`; the rate falls to nothing."""
    every = max(steps // 10, 1)
    shown = range(every, steps + 1, every)
    lines = [
        f"step {s} loss {0.6931 - (0.6931 - loss) * s / steps:.4f} learning_rate {peak * (1 - s / steps):.3e}"
        for s in shown
    ]
    (folder / "train.log").write_text("\n".join(lines) + "\n")
    (folder / "dpo.yaml").write_text(f"beta: 0.1\nlearning_rate: {peak}\nmax_steps: {steps}\n{more}")
    return {f.code for f in look([folder]).findings}


@pytest.mark.parametrize(("peak", "steps"), [(4e-8, 40), (2e-8, 100), (1e-9, 900)])
def test_rates_that_move_no_weight_are_told_with_a_loss_that_stays(tmp_path, peak, steps):
    assert "weights-cannot-move" in log(tmp_path, peak, steps, 0.6905)


@pytest.mark.parametrize(
    ("peak", "steps", "loss", "more"),
    [
        (5e-7, 900, 0.6905, ""),  # a usual rate: the data teach little
        (4e-8, 40, 0.45, ""),  # it learns, whatever the log calls a rate
        (4e-8, 40, 0.6905, "optimizer: sgd\n"),
    ],
)
def test_other_rates_losses_and_optimizers_are_not(tmp_path, peak, steps, loss, more):
    assert "weights-cannot-move" not in log(tmp_path, peak, steps, loss, more)
