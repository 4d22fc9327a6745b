"""Files of one experiment and of two, and what is joined of them."""

import numpy as np
import pytest

from triage.agent.signs.ask import holds, read
from triage.agent.signs.held import Asked
from triage.tools.config.combine import read_settings
from triage.tools.discover import discover
from triage.tools.relate.joined.experiment import experiments, one_row
from triage.tools.relate.line import lines_of
from triage.tools.relate.relate import relate
from triage.tools.series import Series, SeriesTable

N = 60
STEPS = np.arange(1, N + 1)


def log(file, metric, values, step_is="step"):
    return Series(metric, metric, STEPS[: len(values)], np.asarray(values, float), STEPS[: len(values)], file,
                  step_is=step_is)  # fmt: skip


def noisy(level, seed):
    return level * np.random.default_rng(seed).normal(1, 0.02, N)


def fallen(seed):
    return np.where(STEPS < 20, 1.0, 0.3) * noisy(1, seed)


def two(first, second):
    """In the first file the entropy falls and the reward rises, in the second both stay."""
    return SeriesTable((
        log(first, "entropy", fallen(1)), log(first, "reward", noisy(1, 2) + STEPS / 20),
        log(second, "entropy", noisy(1, 3)), log(second, "reward", noisy(1, 4)),
    ))  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("short_kl.log", "plain.log", False),
        ("rank0.log", "rank1.log", True),
        ("tuned/eval_0.csv", "tuned/log.csv", True),
    ],
)
def test_measures_of_two_trainings_are_not_joined(first, second, told):
    asked = Asked(relate(two(first, second)), ())
    assert (holds(read("falls(entropy, 0.5) with flat(reward)"), asked) is not None) == told


def test_a_log_and_a_table_of_one_training_are_joined():
    loss = noisy(2, 5)
    whole = [log("a.log", "loss", loss), log("a.log", "grad_norm", noisy(1, 6)), log("b.csv", "loss", loss),
             log("b.csv", "grad_norm", noisy(1, 7))]  # fmt: skip
    assert not experiments(lines_of(whole, ())).apart(("a.log",), ("b.csv",))


def test_grades_of_single_samples_are_no_curve():
    found = lines_of([log("a.log", "reward", [0, 1, 1, 0, 1, 0, 1, 1, 0, 1, 0, 0], "line")], ())
    assert found == ()
    assert len(lines_of([log("a.log", "reward", np.linspace(0, 1, 12), "line")], ())) == 1


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("r/step_10.json", "r/step_20.json", True), ("a/sum.json", "b/sum.json", True),
     ("r/hold.json", "r/repo_hold.json", False),
     ("a/sum.json", "b/c/sum.json", False)],
)  # fmt: skip
def test_rows_of_files(one, other, same):
    assert one_row(one, other) == same


@pytest.mark.parametrize(("begins", "told"), [(0.004, True), (1.5, False)])
def test_a_loss_that_is_all_but_gone_has_no_onset(begins, told):
    values = noisy(0.0005, 8) + np.where(STEPS > 40, 0.0015, 0)
    values[:2] = begins
    found = relate(SeriesTable((log("a.log", "loss", values),)))
    assert (found.onset is not None) == told


def test_a_policy_loss_about_zero_has_no_onset():
    values = np.where(STEPS < 30, -0.1, 0.0) + 0.002 * np.random.default_rng(9).normal(0, 1, N)
    assert relate(SeriesTable((log("a.log", "loss", values),))).onset is None


CONFIG = "learning_rate: {}\nper_device_train_batch_size: 4\nnum_train_epochs: 2\nmax_steps: 900\n"


@pytest.mark.parametrize(("named", "rate"), [("wide.yaml", 3e-5), ("long.yaml", 1e-5)])
def test_the_configuration_that_the_results_name_is_in_force(tmp_path, named, rate):
    (tmp_path / "long.yaml").write_text(CONFIG.format("1.0e-5"))
    (tmp_path / "wide.yaml").write_text(CONFIG.format("3.0e-5"))
    (tmp_path / "results.json").write_text(f'{{"config": "/home/me/{named}", "accuracy": 0.4, "n": 80}}')
    settings, _ = read_settings(discover(tmp_path))
    assert settings.value("learning_rate") == rate
    assert "learning_rate" not in settings.unsure


def test_of_two_configurations_that_nothing_names_none_is_sure(tmp_path):
    (tmp_path / "long.yaml").write_text(CONFIG.format("1.0e-5"))
    (tmp_path / "wide.yaml").write_text(CONFIG.format("3.0e-5"))
    assert "learning_rate" in read_settings(discover(tmp_path))[0].unsure
