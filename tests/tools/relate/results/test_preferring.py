"""Preference trainings whose pairs are told apart at once, never, or against another reference."""

import numpy as np
import pytest

from triage.agent.evidence import look
from triage.agent.session import ask

AT = np.arange(1, 31)
FALLS = 0.6931 * np.exp(-AT / 3) + 1e-4
LEARNS = 0.69 - 0.3 * (1 - np.exp(-AT / 12))


def rows(loss, right, name="rewards/accuracies"):
    pairs = zip(AT * 10, loss, right, strict=True)
    return "".join(f'{{"step": {s}, "loss": {a:.5f}, "{name}": {b:.3f}, "learning_rate": 5e-6}}\n' for s, a, b in pairs)


def codes(folder, text, config="stage: dpo\npref_beta: 0.1\n"):
    (folder / "trainer_log.jsonl").write_text(text)
    (folder / "dpo.yaml").write_text(config)
    return {f.code for f in look([folder]).findings}


@pytest.mark.parametrize("name", ["rewards/accuracies", "accuracy"])
def test_pairs_that_are_never_told_apart(tmp_path, name):
    right = 0.5 + 0.03 * np.sin(AT)
    assert "pairs-never-told-apart" in codes(tmp_path, rows(0.69 + 0.002 * np.cos(AT), right, name))


def test_pairs_that_are_told_apart_at_once_are_learned_by_heart(tmp_path):
    assert "pairs-told-apart-at-once" in codes(tmp_path, rows(FALLS, np.minimum(1, 0.5 + AT / 6)))
    found = ask("the loss fell at once, is it good?", [tmp_path]).diagnosis
    assert found.top.entry.id == "overfitting"


def test_a_loss_far_above_that_of_the_reference_tells_of_another_one(tmp_path):
    assert "starts-off-its-reference" in codes(tmp_path, rows(1.9 - AT / 100, 0.5 + 0.02 * np.cos(AT)))


@pytest.mark.parametrize(
    ("loss", "right", "config"),
    [
        (LEARNS, np.minimum(0.78, 0.5 + AT / 60), "stage: dpo\n"),
        (FALLS, np.minimum(1, 0.5 + AT / 6), "stage: sft\n"),  # an accuracy of classes
        (1.9 - AT / 100, 0.5 + 0.02 * np.cos(AT), "stage: dpo\npref_loss: ipo\n"),
    ],
)
def test_a_training_that_learns_its_pairs_is_none(tmp_path, loss, right, config):
    name = "accuracy" if "sft" in config else "rewards/accuracies"
    found = codes(tmp_path, rows(loss, right, name), config)
    assert not found & {"pairs-told-apart-at-once", "starts-off-its-reference"}
