"""Results of one thing after the other, printed without a step, are no curve; what changes its level for good is."""

import numpy as np
import pytest

from triage.tools.logs.detectors.detect import detect
from triage.tools.logs.detectors.robust import is_list
from triage.tools.series import Series, SeriesTable

RNG = np.random.default_rng(5)
EACH = [3.2, 20311.0, 18940.0, 240.0, 11870.0, 0.004, 21.5, 5.9, 2.0, 1.0, 0.0, 0.41, 3.0, 512.0, 0.0, 0.0]


def printed(values, step_is="line", metric="response_length", key="answer_tokens"):
    n = np.arange(1, len(values) + 1)
    return Series(metric, key, n, np.asarray(values, float), n, "report.txt", step_is=step_is)


@pytest.mark.parametrize("values", [EACH, [910, 240, 830, 255, 760, 180, 690, 122, 640, 60], RNG.normal(50, 9, 40)])
def test_a_list_of_different_things(values):
    assert is_list(printed(values))
    assert not is_list(printed(values, "step"))


@pytest.mark.parametrize("values", [
    RNG.normal(400, 30, 30) * np.repeat([1.0, 0.2], 15), np.linspace(900, 90, 20) + RNG.normal(0, 40, 20),
    np.r_[RNG.random(20), np.zeros(8)], np.full(12, 3.0),
])  # fmt: skip
def test_a_curve(values):
    assert not is_list(printed(values))


@pytest.mark.parametrize(("values", "told"), [
    ([910, 240, 830, 255, 760, 180, 690, 122, 640, 60], False),
    ([900, 870, 910, 860, 880, 150, 120, 140, 110, 90], True),
])  # fmt: skip
def test_answers_vanish_along_a_curve_only(values, told):
    found, _ = detect(SeriesTable((printed(values),)))
    codes = {f.code for f in found}
    assert ("response-length-collapse" in codes) is told
