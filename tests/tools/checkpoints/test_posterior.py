"""The posterior of the change point and the search that follows it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.tools.checkpoints.bisect.observations import Observations, resolution
from triage.tools.checkpoints.bisect.posterior import posterior
from triage.tools.checkpoints.bisect.search import bisect_values, halving, next_index, predicted


def noisy(levels, noise: float, seed: int):
    rng = np.random.default_rng(seed)
    return lambda i: float(levels[i] + noise * rng.normal())


@pytest.mark.parametrize("count", [8, 9, 33, 64, 1000, 4096])
def test_without_noise_within_one_of_plain_bisection(count):
    rng = np.random.default_rng(count)
    for first_bad in {1, 2, count // 2, count - 1, *rng.integers(1, count, 5).tolist()}:
        good, bad = rng.normal(size=2)
        end = bisect_values(lambda i, k=first_bad, g=good, b=bad: g if i < k else b, count)
        assert (end.verdict, end.best) == ("step", first_bad)
        assert len(end.seen) <= math.ceil(math.log2(count)) + 1


@pytest.mark.parametrize("count", [8, 100, 4096])
def test_pass_and_fail_without_flakes(count):
    for first_bad in {1, count // 3, count - 1}:
        end = bisect_values(lambda i, k=first_bad: float(i < k), count, family="pass")
        assert end.best == first_bad
        assert end.confidence >= 0.95
        assert len(end.seen) <= math.ceil(math.log2(count)) + 4


def test_a_step_of_five_noise_widths_is_found():
    levels = np.where(np.arange(200) < 137, 0.7, 0.6)
    ends = [bisect_values(noisy(levels, 0.02, seed), 200) for seed in range(8)]
    assert sum(e.best == 137 and e.settled(0.95) for e in ends) >= 7
    assert max(len(e.seen) for e in ends) < 40


def test_nothing_changed_is_a_result():
    exact = bisect_values(lambda i: 0.71, 50)
    assert (exact.verdict, exact.settled(0.95)) == ("none", True)
    levels = np.full(30, 2.5)
    ends = [bisect_values(noisy(levels, 0.1, seed), 30) for seed in range(6)]
    assert not any(e.settled(0.95) and e.verdict == "step" for e in ends)
    assert sum(e.verdict == "none" and e.settled(0.95) for e in ends) >= 3


def test_a_drift_is_not_a_step():
    levels = np.linspace(0, 1, 100)
    ends = [bisect_values(noisy(levels, 0.05, seed), 100) for seed in range(5)]
    assert [e.verdict for e in ends] == ["drift"] * 5


def test_three_levels_are_more_than_one_change():
    levels = np.select([np.arange(60) < 20, np.arange(60) < 40], [0.0, 10.0], 0.0)
    seen = Observations(60)
    for i in (59, 0, 30, 10, 50, 25, 35, 5, 55, 15):
        seen = seen.add(i, float(levels[i] + 0.1 * math.sin(i * 7)))
    assert posterior(seen).stories["several"] > 0.9


def test_flaky_verdicts_do_not_mislead():
    rng = np.random.default_rng(1)
    right = 0
    for _ in range(10):
        first_bad = int(rng.integers(1, 64))
        end = bisect_values(lambda i, k=first_bad: float((i < k) ^ (rng.random() < 0.1)), 64, budget=150, family="pass")
        right += end.best == first_bad
    assert right >= 8


def test_probabilities_sum_to_one_and_match_a_hand_computed_case():
    seen = Observations(10).add(9, 0.31).add(0, 0.82).add(5, 0.30)
    now = posterior(seen)
    assert sum(now.stories.values()) == pytest.approx(1)
    assert now.change[0] == 0
    assert now.change[1:6].sum() > 0.7 > 0.1 > now.change[6:].sum()
    # an unmeasured stretch is flat: nothing tells its checkpoints apart
    assert np.allclose(now.change[1:6], now.change[1])


@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(2, 300),
    data=st.lists(st.tuples(st.floats(0, 1), st.floats(-1e6, 1e6)), min_size=1, max_size=25),
    family=st.sampled_from(["number", "pass"]),
)
def test_any_observations_give_finite_probabilities_and_a_valid_next_index(count, data, family):
    seen = Observations(count, family=family)
    for place, value in data:
        seen = seen.add(round(place * (count - 1)), float(value > 0) if family == "pass" else value)
    now = posterior(seen)
    assert np.isfinite(now.change).all()
    assert all(0 <= p <= 1 + 1e-9 for p in now.stories.values())
    first, last = now.interval(0.95)
    assert 0 <= first <= last < count
    index = next_index(now)
    assert index is None or 0 <= index < count


@settings(max_examples=30, deadline=None)
@given(scale=st.sampled_from([1e-6, 1.0, 1e6]), shift=st.sampled_from([0.0, -3.0]), seed=st.integers(0, 50))
def test_the_answer_does_not_depend_on_units(scale, shift, seed):
    rng = np.random.default_rng(seed)
    plain = Observations(20)
    changed = Observations(20)
    for i in rng.integers(0, 20, 8):
        value = float((i >= 7) * 3 + rng.normal())
        plain, changed = plain.add(int(i), value), changed.add(int(i), value * scale + shift * scale)
    assert posterior(plain).change == pytest.approx(posterior(changed).change, abs=0.02)


def test_blocked_checkpoints_are_walked_around():
    seen = Observations(64).add(63, 0.1)
    assert halving(seen) == 31
    assert halving(seen, blocked={31, 30}) in (29, 32)


def test_jobs_are_spread_around_what_is_under_way():
    now = posterior(Observations(64).add(63, 0.1).add(0, 0.9))
    first = next_index(now)
    assert first is not None
    second, third = next_index(now, [first]), next_index(now, [first, 48])
    assert len({first, second, third, 48}) == 4


@pytest.mark.parametrize(
    ("values", "step"),
    [([0.71, 0.69], 0.01), ([1.0, 0.0], 1.0), ([5 / 7, 2 / 7], 1 / 7), ([2.3456789012345, 2.1], 2.3456789012345e-9)],
)
def test_resolution_of_a_metric(values, step):
    assert resolution(values) == pytest.approx(step)


def test_prediction_grows_with_the_row():
    assert predicted(8)["no noise"] == 4
    assert all(predicted(4096)[k] > v for k, v in predicted(8).items())
