"""Words decide nothing: each bundled run is asked every rewording; the whole measure is `evals.suites.rewordings`."""

from pathlib import Path

import pytest

from triage.evals.suites.rewordings import counted, reword

EXAMPLE = Path(__file__).parents[2] / "evals" / "example"


@pytest.mark.parametrize("run", ["run-1", "run-2", "run-3", "run-4"])
def test_no_rewording_moves_a_run_and_each_idea_is_spoken_to(run):
    asked = list(reword(EXAMPLE / run))
    assert not [(r.text, r.outcome) for r in asked if not r.same]
    assert not [r.id for r in asked if r.spoken_to is False]
    assert counted(asked)["answers"] == 30


def test_a_measure_that_cannot_fail_would_show_nothing():
    """The run that is spoken of decides, so another run's answers differ."""
    failed, healthy = (next(reword(EXAMPLE / name)).outcome for name in ("run-1", "run-2"))
    assert (failed.state, failed.variable, failed.value) == ("diagnosed", "learning_rate", "0.15")
    assert (healthy.state, healthy.leader, healthy.variable) == ("healthy", "", "")
