"""Weights of the sampler that stop at one version while training goes on, and versions that only come late."""

import numpy as np
import pytest

from triage.tools.relate.paced.frames import frames_of
from triage.tools.relate.paced.stuck import standing
from triage.tools.series import SeriesTable
from triage.tools.tables.read import read_tables

N = 240
U = np.arange(1, N + 1)
R = np.random.default_rng(5)


def found(folder, **columns):
    columns = {name: np.asarray(v, float) for name, v in columns.items()}
    rows = [",".join(columns), *(",".join(f"{v:.6g}" for v in row) for row in zip(*columns.values(), strict=True))]
    (folder / "m.csv").write_text("\n".join(rows) + "\n")
    return standing(frames_of(SeriesTable(), read_tables(folder / "m.csv", "m.csv")))


def stops(at, every=1):
    return np.minimum(U, at) // every * every


RATIO = 1 + np.maximum(U - 90, 0) * 0.004 + R.normal(0, 0.001, N)
REWARD = np.interp(U, [1, 90, N], [0.2, 0.4, 0.4]) + R.normal(0, 0.01, N)


@pytest.mark.parametrize(
    "columns",
    [
        {"step": U, "actor_policy_version": stops(90), "reward": REWARD, "ratio_max": RATIO},
        {"update": U, "rollout_v": stops(120, 4), "奖励": REWARD},
        {"iter": U, "rollout_staleness": np.maximum(U - 90, 0), "score": REWARD},
    ],
    ids=["version", "every four", "age"],
)
def test_weights_that_never_arrive_again_are_told(tmp_path, columns):
    (told,) = found(tmp_path, **columns)
    assert told.code == "sampler-weights-stand-still"
    assert 89 <= told.data["since"] <= 120


@pytest.mark.parametrize(
    "columns",
    [
        {"step": U, "actor_policy_version": U // 40 * 40, "reward": REWARD},
        {"step": U, "actor_policy_version": stops(232), "reward": REWARD},
        {"step": U, "rollout_staleness": np.minimum(U // 10, 4), "reward": REWARD},
        {"step": U, "rollout_weights_version": np.ones(N), "reward": REWARD},
        {"step": U, "checkpoint_step": stops(90), "reward": REWARD},
        {"step": U, "rollout_tokens": stops(90), "reward": REWARD},
    ],
    ids=["seldom", "the last few", "an age that is bounded", "one version", "what was saved", "a count"],
)
def test_weights_that_come_seldom_and_other_counters_are_left_alone(tmp_path, columns):
    assert not found(tmp_path, **columns)
