"""Reinforcement learning of values in an environment, and a policy of a language model beside which it is silent."""

import numpy as np
import pytest

from triage.tools.logs.detectors.detect import detect
from triage.tools.series import Series, SeriesTable


def series(metric: str, values, key: str = "") -> Series:
    steps = np.arange(1, len(values) + 1)
    return Series(metric, key or metric, steps, np.asarray(values, float), steps, "a.log", "", None, "step")


def found(*parts: Series) -> dict[str, str]:
    return {f.code: f.severity for f in detect(SeriesTable(parts))[0]}


REWARD = np.tile([-0.5, 2.0, 0.0, 1.0], 20)


@pytest.mark.parametrize("key", ["epsilon", "rollout/exploration_rate", "ε"])
def test_actions_that_stay_random_are_told(key):
    codes = found(series("reward", REWARD), series("unknown", np.linspace(1, 0.996, 80), key=key))
    assert (codes["values-learned"], codes["actions-stay-random"]) == ("S3", "S2")


@pytest.mark.parametrize(
    ("key", "values"),
    [("epsilon", np.linspace(1, 0.05, 80)), ("agent/td_error", np.linspace(0.3, 0.1, 80)), ("epsilon", np.ones(12))],
)
def test_values_that_are_learned_are_a_note(key, values):
    codes = found(series("reward", REWARD), series("unknown", values, key=key))
    assert codes["values-learned"] == "S3"
    assert "actions-stay-random" not in codes


@pytest.mark.parametrize(
    "more",
    [
        (series("kl", np.linspace(0, 0.1, 80)), series("unknown", np.ones(80), key="epsilon")),
        (series("unknown", np.full(80, 1e-8), key="adam_epsilon"),),
    ],
    ids=["a policy with a KL", "of the optimizer"],
)
def test_a_policy_of_a_language_model_is_none(more):
    assert not {"values-learned", "actions-stay-random"} & found(series("reward", REWARD), *more).keys()
