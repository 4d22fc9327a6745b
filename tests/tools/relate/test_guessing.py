"""Losses above those of guessing, and trainings in which nothing was processed."""

import json

import numpy as np
import pytest

from triage.agent.evidence import look
from triage.tools.relate.joined.guessing import above_guessing, nothing_counted, rate_far_below, times_accumulation
from triage.tools.relate.line import Line
from triage.tools.settings import Setting, Settings

WORDS = {"vocab_size": 32000}


def line(name, values, attempt=""):
    values = np.asarray(values, float)
    n = len(values)
    return Line(name, name, "log", np.arange(1.0, n + 1), values, np.arange(1, n + 1), attempt=attempt)


def told(values, settings=WORDS, *more):
    made = Settings({k: Setting(k, v, str(v), k, "config.json", 1) for k, v in settings.items()})
    return [f.code for f in above_guessing([line("loss", values), *more], made)]


def test_a_loss_above_guessing_that_hardly_moves_or_that_falls_is_told_apart():
    assert told([83.0, 82.1, 81.7, 80.9]) == ["loss-above-guessing"]
    assert told([83.0, 60.0, 42.0, 33.0]) == ["loss-summed"]


@pytest.mark.parametrize(
    ("values", "settings"),
    [([10.6, 9.0, 7.0, 5.0], WORDS), ([83.0, 40.0, 9.0, 5.0], WORDS), ([83.0, 82.0], WORDS), ([83.0, 82.0, 81.0], {}),
     ([11.3, 11.2, 11.3], WORDS), ([8.0, 7.9, 8.0], {"vocab_size": 65})],
    ids=["usual", "falls below", "short", "no vocabulary", "at guessing", "letters"],
)  # fmt: skip
def test_other_losses_are_left_alone(values, settings):
    assert told(values, settings) == []


def test_a_reward_beside_it_makes_the_loss_no_cross_entropy():
    assert told([83.0, 82.0, 81.0], WORDS, line("reward", [0.1, 0.2, 0.3])) == []


def test_a_training_that_counted_nothing_is_told_with_the_start_that_did_learn():
    lines = [line("loss", [3.0, 2.0, 1.5]), line("loss", [0, 0, 0, 0], "#2"), line("samples_per_second", [0] * 4, "#2")]
    (found,) = nothing_counted(lines)
    assert (found.code, found.severity) == ("nothing-was-processed", "S1")
    assert "3 to 1.5" in found.message


@pytest.mark.parametrize(
    ("loss", "rate"), [([0, 0, 0], [120, 130, 128]), ([0.3, 0.2, 0.1], [0, 0, 0]), ([0, 0, 0, 0.1], [0, 0, 0, 12])]
)
def test_a_zero_loss_alone_or_a_rounded_rate_is_not_nothing(loss, rate):
    assert [*nothing_counted([line("loss", loss), line("tokens_per_second", rate)])] == []


def state(steps, history):
    return json.dumps({"global_step": steps, "logging_steps": 50, "log_history": history}, indent=1)


def test_an_empty_history_beside_one_that_is_not_says_nothing(tmp_path):
    for name, steps, history in (("a", 12, []), ("b", 150, [{"step": s, "loss": 3 - s / 100} for s in (50, 100, 150)])):
        folder = tmp_path / f"checkpoint-{name}"
        folder.mkdir()
        (folder / "trainer_state.json").write_text(state(steps, history))
    assert "never written" not in " ".join(f.message for f in look([tmp_path]).findings)
    (tmp_path / "checkpoint-b" / "trainer_state.json").write_text(state(30, []))
    assert "no loss was ever written" in " ".join(f.message for f in look([tmp_path]).findings)


def times(train, held, k):
    made = Settings({"grad_accumulation": Setting("grad_accumulation", k, str(k), "grad_accumulation", "c.yaml", 1)})
    return [f.code for f in times_accumulation([line("loss", train), line("eval_loss", held)], made)]


def test_a_training_loss_that_is_the_sum_over_accumulation_is_told():
    held = np.array([3.0, 2.4, 2.1, 1.9, 1.8, 1.75])
    assert times(4.3 * held, held, 4) == ["loss-times-accumulation"]
    assert times(1.3 * held, held, 4) == times(4.3 * held, held, 1) == times(8.8 * held, held, 4) == []
    assert times(held * [2, 3, 4, 5, 6, 7], held, 4) == []


SMALL = {"vocab_size": 32000, "hidden_size": 512, "num_layers": 8, "learning_rate": 2e-6}


def far(values, *more, **settings):
    made = Settings({k: Setting(k, v, str(v), k, "c.yaml", 1) for k, v in {**SMALL, **settings}.items()})
    return [*rate_far_below([line("loss", values), *more], made)]


def test_a_training_from_scratch_that_stays_at_guessing_at_a_tiny_rate_is_told_which_rate_its_size_takes():
    (found,) = far(np.linspace(10.4, 10.3, 40))
    assert found.code == "rate-far-below-size"
    assert found.data["proposes"]["variable"] == "learning_rate"
    assert 5e-4 < found.data["proposes"]["new"] < 1e-3


def test_a_usual_rate_a_trained_model_an_adapter_or_a_policy_is_not_held_against_its_size():
    still = np.linspace(10.4, 10.3, 40)
    assert not far(still, learning_rate=3e-4)
    assert not far(np.linspace(2.4, 2.3, 40))
    assert not far(np.linspace(10.4, 5.0, 40))
    assert [f.code for f in far(still, adapter="lora")] == ["rate-far-below-stage"]  # which its size does not explain
    assert not far(still, line("reward", np.zeros(40)))
    assert not far(still, optimizer="sgd")


def tuned(values, rates, *more, x=None, **settings):
    """What is told of a loss over 40 steps each, and the rates that were logged beside it."""
    made = Settings({k: Setting(k, v, str(v), k, "c.yaml", 1) for k, v in settings.items()})
    return [f.code for f in rate_far_below([line("loss", values), line("learning_rate", rates), *more], made)]


SLOWLY = np.linspace(2.6, 2.1, 40) + 0.02 * np.cos(np.arange(40))


@pytest.mark.parametrize(
    ("loss", "rates", "settings"),
    [
        (SLOWLY, np.full(40, 2e-7), {}),
        (SLOWLY, np.linspace(3e-8, 2.8e-7, 40), {"learning_rate": 2.8e-7, "stage": "sft"}),
        (SLOWLY, np.full(40, 1e-6), {"adapter": "lora"}),
        (np.full(40, 1.9) + 0.003 * np.sin(np.arange(40)), np.full(40, 5e-8), {}),
    ],
)
def test_a_rate_far_below_that_of_any_fine_tuning_is_told_where_the_loss_has_not_levelled_off(loss, rates, settings):
    assert tuned(loss, rates, **settings) == ["rate-far-below-stage"]


def test_a_low_rate_is_left_alone_where_the_loss_is_done_or_another_rate_or_stage_explains_it():
    done = 2.0 + 0.6 * np.exp(-np.arange(40) / 4.0)
    assert not tuned(done, np.full(40, 2e-7))
    assert not tuned(SLOWLY, np.full(40, 3e-6))
    assert not tuned(SLOWLY, np.full(40, 2e-7), learning_rate=2e-5)
    assert not tuned(SLOWLY, np.full(40, 2e-7), line("lr_head", np.full(40, 1e-3)))
    assert not tuned(SLOWLY, np.full(40, 2e-7), line("rewards/margins", np.zeros(40)))
    assert not tuned(SLOWLY, np.full(40, 2e-7), stage="dpo")
    assert not tuned(np.linspace(0.693, 0.55, 40), np.full(40, 2e-7))
    assert not tuned(SLOWLY, np.full(40, 2e-7), optimizer="sgd")
