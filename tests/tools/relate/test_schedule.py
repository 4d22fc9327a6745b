"""A rate that never falls though its schedule does, and the places that count other steps for it."""

import numpy as np
import pytest

from triage.tools.documents.event import Claim
from triage.tools.relate.arithmetic import _floor
from triage.tools.relate.line import Line
from triage.tools.relate.schedule import lingering, undecayed, warming
from triage.tools.series import Series
from triage.tools.settings import Setting, Settings


def settings(**values):
    return Settings({v: Setting(v, n, str(n), v, "config.yaml", i + 1) for i, (v, n) in enumerate(values.items())})


def rate(total, steps=1000, peak=1e-3):
    x = np.arange(10.0, steps + 1, 10)
    values = np.where(x < 50, peak * x / 50, peak * 0.5 * (1 + np.cos(np.pi * x / total)))
    return Line("learning_rate", "lr", "train.log", x, values, np.arange(1, len(x) + 1))


SET = {"lr_schedule": "cosine", "max_steps": 1000, "learning_rate": 1e-3}


def test_a_cosine_that_counts_the_steps_of_all_cards_never_falls():
    claim = Claim("max_steps", 8000, "steps", '"total_steps": 8000', "out/sched.json", 1)
    [found] = undecayed(settings(**SET), [rate(8000)], [claim])
    assert found.severity == "S1"
    assert "out/sched.json:1 counts 8,000" in found.message
    assert found.evidence[0].step == 1000


@pytest.mark.parametrize(("change", "line"), [
    ({}, rate(1000)),  # it falls
    ({}, rate(8000, 500)),  # the run is half way
    ({"lr_schedule": "constant_with_warmup"}, rate(8000)),
    ({"lr_schedule": "cosine_with_restarts"}, rate(8000)),
    ({"min_learning_rate": 9e-4}, rate(8000)),
    ({"max_steps": 500}, rate(8000)),  # goes on beyond what is set: another matter
])  # fmt: skip
def test_rates_that_fall_or_are_meant_to_stay_are_fine(change, line):
    assert list(undecayed(settings(**SET | change), [line])) == []


def long_run(ends=2000, steps=6000, floor=0.01, falls_on=False, by_steps=False):
    """A rate that comes to its floor, and a loss that falls until then."""
    x = np.arange(20.0, steps + 1, 20)
    way = np.clip(x / ends, 0, 1)
    values = 6e-4 * (floor + (1 - floor) * 0.5 * (1 + np.cos(np.pi * way)))
    if by_steps:
        values = 6e-4 * np.where(way < 0.4, 1, np.where(way < 1, 0.1, floor))
    lasting = x if falls_on else np.minimum(x, ends)
    loss = 2.1 + 3 * np.exp(-lasting / 900) + np.random.default_rng(4).normal(0, 0.01, len(x))
    at = np.arange(1, len(x) + 1)
    return [Line("learning_rate", "lr", "t.log", x, values, at), Line("loss", "ce", "t.log", x, loss, at)]


def told(lines):
    at = int(np.flatnonzero(lines[0].values <= lines[0].values[-1] * 1.00001)[0])
    return [*lingering(lines[0], at, lines)]


def test_most_of_a_run_at_the_floor_with_a_loss_that_stands_still_since():
    [found] = told(long_run())
    assert (found.code, found.data["at"]) == ("lr-floor-early", 2000)
    assert "67%" in found.message


@pytest.mark.parametrize("line", [
    long_run(ends=5000),  # a short tail
    long_run(floor=0.1),  # the usual floor of a long run
    long_run(falls_on=True),  # the loss goes on falling
    long_run(by_steps=True),  # a rate that follows the loss
])  # fmt: skip
def test_a_tail_a_usual_floor_and_a_rate_by_steps_are_none(line):
    assert not told(line)


def epochs(last, at):
    steps = np.array([at])
    return Series("epoch", "epoch", steps, np.array([last]), np.array([13]), "trainer_state.json")


def test_a_warm_up_that_is_longer_than_the_epochs_is_told_by_the_log():
    [found] = warming(settings(warmup_steps=20, epochs=3), [epochs(2.5, 5)])
    assert (found.code, found.data["steps"], found.data["variable"]) == ("warmup-exceeds-training", 6, "warmup_steps")


@pytest.mark.parametrize(("change", "epoch"), [
    ({}, epochs(2.5, 500)),
    ({"max_steps": 1000}, epochs(2.5, 5)),  # told by the rule on the configuration
    ({"epochs": 100}, epochs(0.01, 100)),
])  # fmt: skip
def test_a_warm_up_within_the_run_is_not(change, epoch):
    assert list(warming(settings(**{"warmup_steps": 20, "epochs": 3} | change), [epoch])) == []


def curve(file, floor_at, end=2000, key="rate", loss="lm", still=True):
    x = np.arange(10.0, end + 1, 10)
    way = np.clip(x / floor_at, 0, 1)
    values = 3e-6 + (3e-4 - 3e-6) * 0.5 * (1 + np.cos(np.pi * way))
    fall = np.minimum(x, floor_at) if still else x
    losses = 4 - 1.5 * fall / end + np.random.default_rng(2).normal(0, 0.01, len(x))
    at = np.arange(1, len(x) + 1)
    return [Line(key, key, file, x, values, at), Line(loss, loss, file, x, losses, at)]


@pytest.mark.parametrize(("key", "loss"), [("rate", "lm"), ("学习率", "损失"), ("lr_group0", "nll")])
def test_a_floor_that_is_come_to_early_in_one_of_two_curves(key, loss):
    lines = [*curve("old.csv", 2000, key=key, loss=loss, still=False), *curve("new.csv", 600, key=key, loss=loss)]
    [found] = _floor(settings(), lines, {})
    assert found.code == "lr-floor-early"
    assert {e.file for e in found.evidence} == {"new.csv"}


@pytest.mark.parametrize("lines", [
    curve("a.csv", 2000, still=False),
    curve("a.csv", 600, still=False),  # the loss goes on falling at the floor
    curve("a.csv", 1500),  # late enough
    curve("a.csv", 600, key="drop_rate"),  # another rate
    curve("a.csv", 600, loss="acc"),  # no loss to be seen
    [*curve("a.csv", 2000, still=False), *curve("b.csv", 1900, still=False)],
])  # fmt: skip
def test_rates_that_say_nothing(lines):
    assert list(_floor(settings(), lines, {})) == []


def rows_of_epochs(count, step_is):
    steps = np.arange(1, count + 1)
    return Series("epoch", "epoch", steps, steps.astype(float), steps + 1, "history.json", step_is=step_is)


@pytest.mark.parametrize("epoch", [rows_of_epochs(5, "line"), rows_of_epochs(5, "epoch"), rows_of_epochs(3, "step")])
def test_one_row_an_epoch_says_nothing_of_the_steps_of_one(epoch):
    assert list(warming(settings(warmup_steps=100, epochs=5), [epoch])) == []
