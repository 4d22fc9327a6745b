"""Measures of one log that several starts wrote one behind the other."""

import numpy as np
import pytest

from triage.agent.signs.ask import holds, read
from triage.agent.signs.held import Asked
from triage.tools.relate.relate import relate
from triage.tools.series import Series, SeriesTable
from triage.tools.settings import Settings

N = 120


def course(metric: str, way: float, attempt: str, first: int) -> Series:
    values = (2 + way * np.linspace(0, 1, N)) * np.random.default_rng(len(metric)).normal(1, 0.005, N)
    return Series(metric, metric, np.arange(1, N + 1), values, np.arange(first, first + 2 * N, 2), "all.log", attempt)


@pytest.mark.parametrize(
    ("attempt", "first", "together"),
    [("", 11, True), ("#2", 500, False), ("#2", 11, True)],
    ids=["one start", "another start behind it", "lines of both in turn"],
)
def test_a_fall_and_a_rise_go_together_only_within_one_start(attempt: str, first: int, together: bool):
    table = SeriesTable((course("loss", -1, "", 10), course("eval_loss", 1, attempt, first)))
    run = Asked(relate(table, [], Settings({}), ()), ())
    assert (holds(read("falls(loss) with rises(eval_loss)"), run) is not None) == together
