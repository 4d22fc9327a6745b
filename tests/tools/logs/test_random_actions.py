"""Actions in an environment that stay random, and a policy of a language model beside which that is no matter."""

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
    assert codes["actions-stay-random"] == "S2"


@pytest.mark.parametrize("values", [np.linspace(1, 0.05, 80), np.ones(12)], ids=["falls", "a beginning"])
def test_actions_that_grow_less_random_are_fine(values):
    assert "actions-stay-random" not in found(series("reward", REWARD), series("unknown", values, key="epsilon"))


@pytest.mark.parametrize(
    "more",
    [
        (series("kl", np.linspace(0, 0.1, 80)), series("unknown", np.ones(80), key="epsilon")),
        (series("unknown", np.full(80, 1e-8), key="adam_epsilon"),),
    ],
    ids=["a policy with a KL", "of the optimizer"],
)
def test_a_policy_of_a_language_model_is_none(more):
    assert "actions-stay-random" not in found(series("reward", REWARD), *more)
