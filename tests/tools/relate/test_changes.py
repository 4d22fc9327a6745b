import numpy as np
import pytest

from triage.tools.relate.changes import _step, changes
from triage.tools.relate.line import Line
from triage.tools.relate.moves import described, moves, told

STEPS = np.arange(400)


def noisy(way, size=0.05, seed=0):
    return way + np.random.default_rng(seed).normal(0, size, len(way))


def test_a_step_is_found_at_its_place_with_an_interval_and_both_levels():
    found = changes(noisy(np.where(STEPS < 250, 10.0, 9.6)))
    assert [c.kind for c in found] == ["step"]
    assert found[0].low <= 250 <= found[0].high
    assert (found[0].before, found[0].after) == pytest.approx((10.0, 9.6), abs=0.05)


def test_a_small_step_has_a_wider_interval():
    small, large = (changes(noisy(np.where(STEPS < 250, 10.0, 10 - h)))[0] for h in (0.15, 0.6))
    assert small.high - small.low > large.high - large.low


def test_two_levels_without_any_noise_change_at_one_place():
    found = changes(np.array([61.0] * 10 + [66.0] * 9))
    assert [(c.i, c.low, c.high) for c in found] == [(10, 10, 10)]


def test_a_drift_begins_where_the_row_leaves_its_level():
    found = changes(noisy(10 + np.maximum(STEPS - 200, 0) * 0.01))
    assert [c.kind for c in found] == ["drift"]
    assert found[0].low <= 200 <= found[0].high


def test_a_point_that_sticks_out_is_a_needle_and_no_step():
    row = noisy(np.full(400, 10.0))
    row[123] += 3
    assert [(c.kind, c.i) for c in changes(row)] == [("needle", 123)]


RESTLESS = np.where(STEPS < 40, 70 + 12 * np.sin(STEPS * 2.1) + 30 * (STEPS == 0), 0.01)


@pytest.mark.parametrize(("height", "at"), [(1700.0, 34), (900.0, 31)])
def test_a_row_that_is_restless_only_at_first_has_the_needles_that_stick_out_there(height, at):
    row = noisy(RESTLESS, 0.001)
    assert not [c for c in changes(row) if c.kind == "needle"]
    row[at] = height
    assert [c.i for c in changes(row) if c.kind == "needle"] == [at]


@pytest.mark.parametrize(
    "row",
    [
        noisy(np.full(400, 10.0)),
        noisy(2 + 8 * (STEPS + 1.0) ** -0.4, 0.03),
        noisy(1 + STEPS / 100, 0.2),
        3e-4 * np.minimum((STEPS + 1) / 20, 0.5 * (1 + np.cos(np.pi * STEPS / 400))),
        np.exp(noisy(np.zeros(400), 0.5)),
        np.full(400, 3.0),
        np.arange(5.0),
    ],
    ids=["level", "loss", "trend", "cosine", "heavy tails", "constant", "too few"],
)
def test_healthy_rows_have_no_change(row):
    assert changes(row) == ()


def line(values, name="tokens_per_second", every=1):
    n = len(values)
    return Line(name, name, "log.csv", np.arange(n) * float(every), values, np.arange(2, n + 2))


def test_a_row_goes_up_down_or_stays():
    ways = [m.way for m in moves([line(noisy(way)) for way in (STEPS / 100, -STEPS / 100, np.full(400, 10.0))])]
    assert ways == ["rises", "falls", "flat"]


def test_missing_and_infinite_values_are_told_and_left_out():
    values = noisy(np.full(400, 10.0))
    values[[5, 300]] = np.nan, np.inf
    move = moves([line(values)])[0]
    assert len(move.line) == 398
    assert move.nonfinite is not None
    assert move.nonfinite.step == 5


def test_where_known_changes_leave_no_room_there_is_no_further_step():
    assert _step(noisy(np.where(STEPS < 250, 10.0, 9.6)), 250, 250) is None


def ramp(width, tilt=0.0, n=600, at=350):
    way = np.clip((np.arange(n) - at) / width, 0, 1) * -4.0
    return noisy(2 + way + tilt * np.arange(n) / n, 0.1)


@pytest.mark.parametrize(("width", "tilt"), [(10, 0.0), (16, 0.4)])
def test_a_step_that_takes_a_few_points_of_many_is_dated_where_it_happened(width, tilt):
    found = [c for c in changes(ramp(width, tilt)) if c.kind == "step"]
    assert len(found) == 1
    assert found[0].low <= 350 <= found[0].high <= 350 + width
    assert (found[0].before, found[0].after) == pytest.approx((2, -2), abs=0.5)


@pytest.mark.parametrize("row", [ramp(300), ramp(120), noisy(2 - 4 / (1 + np.exp(-(STEPS - 200) / 60)))])
def test_a_way_that_takes_long_is_no_step(row):
    assert not [c for c in changes(row) if c.kind == "step"]


@pytest.mark.parametrize("at", [3, 8, 15, 30, 60])
@pytest.mark.parametrize("n", [200, 900, 3000])
def test_counts_that_fall_to_nothing_within_the_first_points_break_nothing(n, at):
    for width in (1, 4, 10, 25, 50):
        counts = np.round(20 * np.clip(1 - (np.arange(n) - at) / width, 0, 1))
        counts[:at] += np.random.default_rng(0).integers(0, 3, at)
        assert all(np.isfinite(c.strength) for c in changes(counts))


def test_a_fall_of_any_height_without_noise_has_a_strength():
    found = changes(np.r_[[65536.0] * 1900, 2.0 ** np.arange(15, 0, -1).repeat(3), [1.0] * 1100])
    assert found
    assert all(np.isfinite(c.strength) for c in found)


@pytest.mark.parametrize(
    "way",
    [
        1e-5 * (1 - np.cos(2 * np.pi * STEPS / 400)) / 2,
        np.where(STEPS < 150, 4.0, 4.0 * np.exp(-(STEPS - 150) / 25)),
        np.minimum(STEPS, 120) ** 2 * 1.0,
    ],
    ids=["a schedule", "decay", "growth"],
)
def test_levels_that_are_told_were_measured(way):
    (move,) = moves([Line("lr", "lr", "a.log", STEPS.astype(float), way, STEPS)])
    for change in move.lasting:
        said = described(move, change)[0].split()
        for word in said:
            if word[-1].isdigit():
                assert way.min() - 1e-3 * abs(way).max() <= float(word) <= 1.001 * way.max(), said


RAMP = np.minimum(np.arange(60) / 5, 1) * np.clip((60 - np.arange(60)) / 55, 0, 1)


@pytest.mark.parametrize("values", [2e-4 * RAMP, 5e-6 * np.repeat(RAMP, 8)], ids=["steps", "long"])
def test_what_a_schedule_does_is_no_change(values):
    line = Line("learning_rate", "lr", "a.log", np.arange(float(len(values))), values, np.arange(len(values)) + 1)
    assert [f for f in told(moves([line])) if f.data["kind"] == "drift"] == []


@pytest.mark.parametrize("down", [True, False])
def test_a_drift_is_told_from_the_level_at_its_place_to_that_of_the_end(down):
    x = np.arange(300.0)
    values = 10.0 + np.where(x > 150, (x - 150) * 0.04, 0) * (-1 if down else 1) + 0.01 * np.sin(x * 7)
    (finding,) = told(moves([Line("reward", "reward", "a.log", x, values, x.astype(int) + 1)]))
    verb, end = ("falls", 4.6) if down else ("rises", 15.4)
    first, last = (float(w) for w in finding.message.split(f"{verb} from ")[1].split(",")[0].split(" to "))
    assert abs(first - 10) < 0.6
    assert abs(last - end) < 0.8
