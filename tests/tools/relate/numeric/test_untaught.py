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
