"""A rate that never falls though its schedule does, and the places that count other steps for it."""

import numpy as np
import pytest

from triage.tools.documents.event import Claim
from triage.tools.relate.line import Line
from triage.tools.relate.schedule import undecayed
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
