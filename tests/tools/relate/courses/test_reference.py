"""A restless loss that follows another run's."""

import numpy as np
import pytest

from tests.tools.relate.courses.test_courses import told

STEPS = np.arange(10, 8001, 10)


def way(steps, level=2.0, slow=3000):
    return level + 4 * np.exp(-steps / 300) + 1.2 * np.exp(-steps / slow)


def log(loss, form="step {s} loss {v:.4f} lr 3e-4", seed=0):
    noisy = loss + np.random.default_rng(seed).normal(0, 0.08, len(loss))
    return "".join(form.format(s=s, v=v) + "\n" for s, v in zip(STEPS, noisy, strict=True))


def smoothed(loss=way, every=200, key="ema_loss"):
    steps = np.arange(every, 8001, every)
    return f"step,{key}\n" + "".join(f"{s},{v:.4f}\n" for s, v in zip(steps, loss(steps), strict=True))


@pytest.mark.parametrize(
    "files",
    [
        {"a.log": log(way(STEPS)), "before.csv": smoothed()},
        {
            "a.log": log(way(STEPS), "步={s} 损失={v:.4f} 学习率=3e-4"),
            "before.csv": smoothed(key="loss_ma100", every=100),
        },
    ],
)
def test_a_loss_that_falls_as_another_run_did(tmp_path, files):
    assert told(tmp_path, files) == ["loss-follows-other-run"]


@pytest.mark.parametrize(
    "files",
    [
        {"a.log": log(way(STEPS) + 0.15), "before.csv": smoothed()},  # it is behind
        {"a.log": log(np.full(len(STEPS), 2.0)), "before.csv": smoothed(lambda s: np.full(len(s), 2.0))},  # both stand
        {"a.log": log(way(STEPS)), "before.csv": smoothed(lambda s: way(s)[::-1])},
        {"a.log": log(way(STEPS))},
    ],
    ids=["behind", "stands", "rises", "alone"],
)
def test_a_loss_that_is_behind_or_stands_says_nothing(tmp_path, files):
    assert told(tmp_path, files) == []


def begun(first, last=1.2, rate=2e-6, every=1):
    values = last + (first - last) * np.exp(-np.arange(120) / 30)
    return "".join(f"step {i * every + 1} loss {v:.4f} lr {rate * (i + 1):.2e}\n" for i, v in enumerate(values))


@pytest.mark.parametrize(
    ("files", "told_"),
    [
        ({"a.log": begun(5.1), "b.log": begun(1.7)}, True),
        ({"june/out.log": begun(3.4, every=10), "may/out.log": begun(2.1, every=10)}, True),
        ({"a.log": begun(2.1), "b.log": begun(1.7)}, False),
        ({"a.log": begun(14.9), "b.log": begun(9.8)}, False),  # untrained weights
        ({"a.log": begun(5.1, rate=2e-6), "b.log": begun(1.7, rate=2e-5)}, False),  # another rate
        ({"a.log": begun(5.1), "b.log": begun(1.7, every=50)}, True),
        ({"a.log": begun(5.1)}, False),
    ],
)
def test_a_loss_that_begins_far_above_another_at_one_rate(tmp_path, files, told_):
    assert ("starts-above-other" in told(tmp_path, files)) is told_
