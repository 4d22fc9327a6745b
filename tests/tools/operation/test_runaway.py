"""A server that writes answers until the context is full, by the lines in which it counts its work."""

import numpy as np
import pytest

from triage.tools.operation.requests.runaway import run_on
from triage.tools.relate.line import Line
from triage.tools.settings import Setting, Settings

LIMIT = 8192


def settings(limit=LIMIT):
    return Settings({"max_model_len": Setting("max_model_len", limit, str(limit), "max_model_len", "serve.sh", 1)})


def lines(rows):
    """Of (tokens read, tokens written, requests running) for each ten seconds."""
    columns = zip(*rows, strict=True)
    at = np.arange(1, len(rows) + 1)
    names = ("Avg prompt throughput", "tokens_per_second", "Running")
    return [Line(n, n, "vllm.log", at * 1.0, np.array(c, float), at) for n, c in zip(names, columns, strict=True)]


def answers(intervals, running=1, rate=60, times=8):
    """Requests that are read once and written for so many intervals."""
    return [row for _ in range(times) for row in ((500, 40, running), *[(0, rate * running, running)] * intervals)]


def test_answers_that_are_written_until_the_context_is_full_are_told_with_their_share_of_the_time():
    (found,) = run_on(lines(answers(12)), settings())
    assert (found.code, found.severity) == ("answers-run-to-context", "S1")
    assert found.data["stretches"] == 8
    assert found.data["most"] == 7200


@pytest.mark.parametrize("rows", [
    answers(4),
    answers(12, times=3),
    answers(12, times=6) + [(900, 800, 16)] * 400,
    [(400, 60, 1)] * 200,
    [(0, 0, 0)] * 200,
    [(0, 2000, 40), (0, 2000, 39)] * 100,
], ids=["answers end early", "a few long ones", "few beside the rest", "prompts come all the time", "idle", "many end"]
)  # fmt: skip
def test_a_server_whose_answers_end_is_not_told_of(rows):
    assert not [*run_on(lines(rows), settings())]


def test_nothing_is_said_where_the_context_is_not_known():
    assert not [*run_on(lines(answers(12)), Settings())]
