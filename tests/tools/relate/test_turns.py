"""A plan that turns at the very step at which the loss stops being a number."""

import numpy as np
import pytest

from triage.tools.discover import discover
from triage.tools.documents.stated import stated
from triage.tools.relate.line import Line
from triage.tools.relate.reported.turns import turned


def told(tmp_path, plan, breaks=181, every=1, name="plan.yaml"):
    (tmp_path / name).write_text(plan, encoding="utf-8")
    steps = np.arange(every, 301.0, every)
    values = np.where(steps >= breaks, np.nan, 1 - steps / 1000)
    line = Line("loss", "loss", "metrics.jsonl", steps, values, np.arange(len(steps)) + 1)
    return [f.data["planned"] for f in turned([line], stated(discover(tmp_path)))]


@pytest.mark.parametrize(
    ("plan", "name"),
    [
        ("phases:\n  - {from: 1, score: mixed}\n  - {from: 181, score: exact}\n", "plan.yaml"),
        ("lr: 1e-5\nswitch_step: 181\n", "run.yaml"),
        ('{"stage2": {"start_step": 181}}\n', "conf.json"),
        ("[data]\nmilestone = 180\n", "conf.toml"),
    ],
)
def test_a_plan_that_turns_there(tmp_path, plan, name):
    assert len(told(tmp_path, plan, name=name)) == 1


@pytest.mark.parametrize(
    ("plan", "breaks"),
    [
        ("phases:\n  - {from: 1, score: mixed}\n  - {from: 120, score: exact}\n", 181),  # elsewhere
        ("max_new: 181\nsave_every: 181\n", 181),  # another quantity
        ("switch_step: 181\n", 400),  # the loss stays a number
        ("start_step: 5\n", 5),  # everything begins there
    ],
    ids=["elsewhere", "another", "finite", "early"],
)
def test_other_plans_and_losses_are_silent(tmp_path, plan, breaks):
    assert told(tmp_path, plan, breaks) == []
