"""What is called flat beside a symptom: not what goes up and down with it, nor what was read in few of its lines."""

import numpy as np
import pytest

from triage.tools.relate.line import Line
from triage.tools.relate.onset import _goes_with

N = 300
RNG = np.random.default_rng(8)
MODE = RNG.random(N) < np.where(np.arange(N) < 150, 0.2, 0.7)
SPEED = np.where(MODE, 1100.0, 2300.0) + RNG.normal(0, 40, N)


def line(key, values, keep=slice(None), axis="step", file="serve.log"):
    at = np.arange(10, N + 10)[keep]
    x = np.arange(len(at), dtype=float) if axis == "line" else at.astype(float)
    return Line(key, key, file, x, np.asarray(values, float)[keep], at, axis=axis)


@pytest.mark.parametrize("axis", ["step", "line"])
@pytest.mark.parametrize("values", [np.where(MODE, 58.0, 24.0) + RNG.normal(0, 0.5, N), 3 * SPEED + 100])
def test_what_goes_with_the_symptom_is_not_flat(values, axis):
    assert _goes_with(line("itl", values, axis=axis), line("tok/s", SPEED, axis=axis))


@pytest.mark.parametrize(("keep", "file"), [(MODE, "serve.log"), (slice(None, None, 3), "serve.log")])
def test_without_steps_what_was_read_in_few_of_its_lines_is_not(keep, file):
    assert _goes_with(line("itl", RNG.normal(58, 1, N), keep, "line", file), line("tok/s", SPEED, axis="line"))


@pytest.mark.parametrize("axis", ["step", "line"])
@pytest.mark.parametrize("values", [RNG.normal(0.4, 0.01, N), np.zeros(N)])
def test_what_stays_as_it_was_is(values, axis):
    assert not _goes_with(line("kv", values, axis=axis), line("tok/s", SPEED, axis=axis))


def test_what_is_logged_seldom_with_steps_may_be_flat():
    assert not _goes_with(line("norm", RNG.normal(1, 0.1, N), slice(None, None, 5)), line("tok/s", SPEED))
