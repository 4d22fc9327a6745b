"""An overfit run is told to stop where its evaluation was best, by the setting that rules its length."""

import numpy as np
import pytest

from triage.agent.session import ask


def run(folder, counter, settings, best=6, n=14, stride=100):
    """Rows of a training loss that falls and an evaluation loss that turns after `best` rows."""
    rows = []
    for i in range(1, n + 1):
        held = 2.4 - 0.2 * min(i, best) + 0.15 * max(i - best, 0)
        rows.append(f"{i * stride},{2.5 * np.exp(-i / 3):.4f},{held:.4f}")
    (folder / "log.csv").write_text(f"{counter},train_loss,val_loss\n" + "\n".join(rows) + "\n")
    (folder / "config.yaml").write_text(settings)
    return ask("is this run ok?", [folder]).proposal


@pytest.mark.parametrize(
    ("counter", "stride", "settings", "variable", "new"),
    [
        ("epoch", 1, "num_train_epochs: 14\nlearning_rate: 2e-5\n", "epochs", "6"),
        ("epoch", 1, "epochs: 200\nlr: 2e-5\n", "epochs", "6"),
        ("step", 100, "max_steps: 1400\nlearning_rate: 2e-5\n", "max_steps", "600"),
    ],
)
def test_it_stops_at_the_best_evaluation(tmp_path, counter, stride, settings, variable, new):
    proposal = run(tmp_path, counter, settings, stride=stride)
    assert (proposal.variable, str(proposal.new).removesuffix(".0")) == (variable, new)


def test_steps_say_nothing_of_the_epochs_that_are_set(tmp_path):
    proposal = run(tmp_path, "step", "num_train_epochs: 4\nlearning_rate: 2e-5\n")
    assert (proposal.variable, str(proposal.new)) == ("epochs", "2")


@pytest.mark.parametrize(("planned", "best", "new"), [(20, 6, "6"), (40, 6, "12")])
def test_evaluations_that_only_their_order_numbers_stand_at_their_share_of_the_epochs(tmp_path, planned, best, new):
    lines = []
    for i in range(1, 21):
        held = 2.4 - 0.2 * min(i, best) + 0.15 * max(i - best, 0)
        lines += [{"loss": round(2.5 * np.exp(-i / 3), 4), "learning_rate": 1e-5}, {"eval_loss": round(held, 4)}]
    (tmp_path / "train.log").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "config.yaml").write_text(f"num_train_epochs: {planned}\nlearning_rate: 2e-5\n")
    proposal = ask("is this run ok?", [tmp_path]).proposal
    assert (proposal.variable, str(proposal.new).removesuffix(".0")) == ("epochs", new)
