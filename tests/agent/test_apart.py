"""Parts of a run that differ: a device that is warmer and no slower needs no word, one that pays for it does."""

import numpy as np
import pytest

from triage.agent.signs.apart import explained
from triage.tools.findings import Evidence, Finding, Severity
from triage.tools.series import Series


def each(key, levels, metric="", by="card"):
    steps = np.arange(1, 41)
    return [
        Series(metric or key, key, steps, np.full(40, float(v)), steps, "watch.csv", group=f"{by}={i}")
        for i, v in enumerate(levels)
    ]


def warmer(key="temperature.gpu", value=77.0, group="2"):
    data = {"key": key, "by": "card", "groups": [group], "value": value, "others": 64.0, "gap": 20.0, "alike": True}
    return Finding("group-differs", Severity.S3, "one differs", "", (Evidence("watch.csv", 2),), data)


@pytest.mark.parametrize(
    ("finding", "pace"),
    [
        (warmer(), each("clocks.sm [MHz]", [1965, 1980, 1975, 1970])),
        (warmer("power.draw [W]", 690.0), each("tokens/s", [910, 905, 912, 908], "tokens_per_second")),
        (warmer("gpu_temp"), [*each("util", [97, 96, 98, 97]), *each("step ms", [310, 312, 309, 311], "step_time")]),
    ],
    ids=["clock", "rate", "use and time"],
)
def test_a_device_that_is_warmer_and_as_fast_is_explained(finding, pace):
    assert explained(finding, pace)


@pytest.mark.parametrize(
    ("finding", "pace"),
    [
        (warmer(), each("clocks.sm [MHz]", [1965, 1980, 1410, 1970])),
        (warmer(), [*each("util", [97, 96, 98, 97]), *each("step ms", [310, 312, 388, 311], "step_time")]),
        (warmer(value=88.0), each("clocks.sm [MHz]", [1965, 1980, 1975, 1970])),
        (warmer(), []),
        (warmer(group="9"), each("clocks.sm [MHz]", [1965, 1980, 1975, 1970])),
        (warmer("loss", 3.0), each("clocks.sm [MHz]", [1965, 1980, 1975, 1970])),
    ],
    ids=["slower clock", "slower step", "as hot as they get", "no pace was written", "another device", "no state"],
)
def test_a_device_that_pays_for_it_or_of_which_nobody_knows_is_not(finding, pace):
    assert not explained(finding, pace)
