"""A few epochs as lists in one file are curves: a held-out loss that is left behind, and rows that are no epochs."""

import json

import numpy as np
import pytest

from triage.agent.evidence import look
from triage.tools.logs.detectors.detect import detect
from triage.tools.metrics import canonical
from triage.tools.series import Series, SeriesTable

TRAIN, HELD = [1.9, 1.41, 1.12, 0.88, 0.7, 0.55], [1.52, 1.31, 1.44, 1.49, 1.43, 1.46]


def found(tmp_path, lists):
    (tmp_path / "history.json").write_text(json.dumps(lists, indent=1))
    return {f.code: f for f in look([tmp_path]).findings}


@pytest.mark.parametrize("names", [("train_loss", "val_loss"), ("train_losses", "val_losses")])
def test_a_held_out_loss_that_stays_above_its_best_as_the_other_falls_is_told(tmp_path, names):
    told = found(tmp_path, dict(zip(names, (TRAIN, HELD), strict=True)))["eval-loss-rising"]
    assert (told.data["baseline"], told.data["last"]) == (1.31, 1.46)


@pytest.mark.parametrize("lists", [
    {"train_loss": TRAIN, "val_loss": [1.52, 1.31, 1.34, 1.3, 1.33, 1.32]},
    {"train_loss": [1.9, 1.41, 1.12, 1.3, 0.9, 1.1], "val_loss": HELD},
    {"train_loss": TRAIN[:3], "val_loss": [1.2, 1.4, 1.5]},
    {"train_loss": TRAIN, "test_time": HELD},
], ids=["it stays near its best", "both bounce", "three epochs", "no held-out loss"])  # fmt: skip
def test_one_that_stays_near_it_or_goes_with_the_other_is_not(tmp_path, lists):
    assert "eval-loss-rising" not in found(tmp_path, lists)


@pytest.mark.parametrize(("name", "one"), [
    ("episode_rewards", "reward"), ("val_accuracies", "eval_accuracy"), ("grad norms", "grad_norm"), ("prizes", None),
])  # fmt: skip
def test_a_list_is_called_after_what_it_lists(name, one):
    assert (canonical(name) or (None,))[0] == one


def grades(**curves):
    n = np.arange(1, 101)
    made = [Series("kl" if k == "kl" else "loss" if k == "loss" else "reward" if k == "reward" else "", k, n,
                   np.asarray(v, float), n, "log.csv") for k, v in curves.items()]  # fmt: skip
    return {f.code: f.severity for f in detect(SeriesTable(tuple(made)))[0]}


def test_a_divergence_that_is_a_term_of_a_loss_is_a_note():
    kl, loss = np.linspace(0.1, 7, 100), np.linspace(9, 8, 100)
    assert grades(kl=kl, loss=loss, recon_loss=loss - kl)["kl-above-range"] == "S3"
    assert grades(kl=kl, loss=loss, recon_loss=loss - kl, reward=loss)["kl-above-range"] == "S1"
    assert grades(kl=kl, loss=loss)["kl-above-range"] == "S1"
