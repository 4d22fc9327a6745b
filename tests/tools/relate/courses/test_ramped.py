"""A loss that turns up at the end of a short warm-up, beside a run with a long one to the same peak."""

import numpy as np
import pytest

from tests.tools.relate.courses.test_courses import told

STEPS = np.arange(2, 2401, 2)
COLUMNS = ("step", "loss", "grad_norm", "learning_rate")


def course(ramp, broken=False, peak=6e-4, climbs=None):
    """(step, loss, norm, rate) with a linear warm-up of `ramp` steps."""
    rng = np.random.default_rng(ramp)
    rate = peak * np.minimum(1, STEPS / ramp)
    loss = 3 + 6 * np.exp(-STEPS / 250) + rng.normal(0, 0.02, len(STEPS))
    norm = 0.8 + rng.normal(0, 0.03, len(STEPS))
    if broken:
        loss = np.where(ramp < STEPS, 7.2 + rng.normal(0, 0.03, len(STEPS)), 9 - 2.4 * STEPS / ramp)
    if broken if climbs is None else climbs:
        norm = norm * (1 + 6 * np.exp(-(((STEPS - 1.1 * ramp) / (0.25 * ramp)) ** 2)))
    return np.stack([STEPS, loss, norm, rate], axis=1)


def csv(rows, names=COLUMNS):
    return ",".join(names) + "\n" + "".join(f"{s:.0f},{v:.4f},{g:.4f},{r:.4g}\n" for s, v, g, r in rows)


def log(rows):
    return "".join(f"第 {s:.0f} 步 loss={v:.4f} grad_norm={g:.3f} lr={r:.3e}\n" for s, v, g, r in rows)


@pytest.mark.parametrize(
    "files",
    [
        {"new/train.csv": csv(course(80, broken=True)), "before/train.csv": csv(course(1200))},
        {"b.log": log(course(120, broken=True, peak=3e-3)), "a.log": log(course(1000, peak=3e-3))},
    ],
)
def test_a_ramp_that_is_far_shorter_than_that_of_a_run_that_went_well(tmp_path, files):
    assert "turned-at-end-of-ramp" in told(tmp_path, files)


@pytest.mark.parametrize(
    "files",
    [
        {"b.csv": csv(course(80)), "a.csv": csv(course(1200))},  # short, and went well
        {"b.csv": csv(course(80, broken=True, peak=2e-3)), "a.csv": csv(course(1200))},  # another peak
        {"b.csv": csv(course(700, broken=True)), "a.csv": csv(course(1200))},  # hardly shorter
        {"b.csv": csv(course(80, broken=True, climbs=False)), "a.csv": csv(course(1200))},  # the norm is quiet
        {"b.csv": csv(course(80, broken=True))},  # alone
    ],
)
def test_other_ramps_say_nothing(tmp_path, files):
    assert "turned-at-end-of-ramp" not in told(tmp_path, files)
