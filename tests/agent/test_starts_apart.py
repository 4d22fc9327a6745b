"""What belongs to one start: measures of a log that several wrote, and the error of one that logged nothing."""

import numpy as np
import pytest

from triage.agent.leads.starts import of_the_asked
from triage.agent.question.understand import understand
from triage.agent.signs.ask import holds, read
from triage.agent.signs.held import Asked
from triage.tools.findings import Evidence, Finding, Severity
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


def died(file: str) -> Finding:
    return Finding("checkpoint-load-error", Severity.S0, "it died", "它挂了", (Evidence(file, 9),))


def scored(file: str) -> Series:
    arrays = (np.arange(1, 6), np.full(5, 0.5), np.arange(1, 6))
    return Series("eval_accuracy", "val acc", *arrays, file, "")


@pytest.mark.parametrize(
    ("question", "file", "severity"),
    [
        ("Validation accuracy hardly moves, what is wrong?", "out/wide.err", "S3"),
        ("Validation accuracy hardly moves, what is wrong?", "out/deep.err", "S0"),
        ("Validation accuracy hardly moves, what is wrong?", "stderr.txt", "S0"),
        ("It crashed, and the validation accuracy is low", "out/wide.err", "S0"),
        ("What went wrong?", "out/wide.err", "S0"),
    ],
    ids=["another start", "the other stream of one that logged it", "no start's own", "it ended", "nothing is named"],
)
def test_the_error_of_a_start_that_logged_nothing_is_a_note_for_who_asks_about_a_measure(question, file, severity):
    found = of_the_asked([died(file)], understand(question), [scored("out/deep.out"), scored("out/thin.out")])
    assert str(found[0].severity) == severity
