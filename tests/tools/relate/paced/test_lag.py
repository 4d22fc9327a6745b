"""Samples that get old while a policy goes on, and ages that are no trouble or of another thing."""

import json

import numpy as np
import pytest

from triage.tools.relate.paced.frames import frames_of
from triage.tools.relate.paced.lag import lagging
from triage.tools.series import SeriesTable
from triage.tools.tables.read import read_tables

N = 200
U = np.arange(1, N + 1)
R = np.random.default_rng(3)


def ages(high=14.0, first=1.0, begins=40, ends=120):
    return np.interp(U, [1, begins, ends, N], [first, first, high, high]) + R.normal(0, 0.1, N)


def follows(age, low=0.005, each=0.01):
    return low + each * np.maximum(age - 1, 0) + R.uniform(0, 0.001, N)


def rewards(turns=True):
    up = np.interp(U, [1, 110, N], [0.3, 0.55, 0.2 if turns else 0.65])
    return up + R.normal(0, 0.01, N)


def found(tmp_path, **files):
    tables = []
    for name, columns in files.items():
        header, rows = list(columns), zip(*columns.values(), strict=True)
        if name.startswith("j_"):
            path = tmp_path / f"{name}.jsonl"
            lines = [json.dumps(dict(zip(header, map(float, row), strict=True))) for row in rows]
        else:
            path = tmp_path / f"{name}.csv"
            lines = [",".join(header), *(",".join(f"{v:.5g}" for v in row) for row in rows)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        tables += read_tables(path, path.name)
    return list(lagging(frames_of(SeriesTable(()), tables)))


def test_two_versions_that_part_with_clipping_and_a_reward_that_turns(tmp_path):
    age = ages()
    [f] = found(tmp_path, log={"update": U, "learner_version": U, "sampler_version_avg": U - age,
                               "clip_fraction": follows(age), "mean_reward": rewards()})  # fmt: skip
    assert f.code == "samples-too-old"
    assert f.severity == "S2"
    assert "14" in f.message
    assert f.data["rises"] == "clip_fraction"


def test_a_column_of_ages_beside_a_run_in_lockstep(tmp_path):
    age = ages(first=0.0)
    late = {"upd": U, "rew": rewards(), "staleness_mean": np.maximum(age, 0), "ratio_p99": 1.1 + 0.1 * age}
    lock = {"upd": U, "rew": rewards(False), "staleness_mean": np.zeros(N), "ratio_p99": 1.1 + R.uniform(0, 0.02, N)}
    [f] = found(tmp_path, j_overlap=late, j_lock=lock)
    assert f.code == "samples-too-old"
    assert f.data["sibling"] == "j_lock.jsonl"


def test_chinese_names_and_the_way_itself_as_the_version(tmp_path):
    age = ages(high=20)
    columns = {"更新": U, "样本版本均值": U - age, "裁剪比例": follows(age), "奖励": rewards()}
    [f] = found(tmp_path, 训练=columns)
    assert f.code == "samples-too-old"
    assert "次更新之前的策略" in f.zh


def test_a_reward_that_has_not_turned_is_only_a_hint(tmp_path):
    age = ages()
    [f] = found(tmp_path, log={"step": U, "policy_lag": age, "clip_frac": follows(age), "reward": rewards(False)})
    assert (f.code, f.severity) == ("samples-older", "S3")


FLAT = 1 + R.uniform(0, 0.2, N)


@pytest.mark.parametrize("columns", [
    {"step": U, "policy_lag": FLAT, "clip_frac": follows(FLAT), "reward": rewards()},  # always fresh: another trouble
    {"step": U, "policy_lag": ages(), "clip_frac": R.uniform(0.005, 0.006, N), "reward": rewards()},  # nothing follows
    {"step": U, "lag_s": ages(), "clip_frac": follows(ages()), "reward": rewards()},  # seconds
    {"step": U, "stale_frac": ages(0.9, 0.1), "clip_frac": follows(ages()), "reward": rewards()},  # a share
    {"step": U, "trainer_version": U, "engine_version": np.where(U < 20, U - 1, 19.0),
     "clip_frac": follows(ages()), "reward": rewards()},  # no weights arrive at all
    {"step": U, "policy_age": np.where(U < 20, 1.0, U - 19.0), "clip_frac": follows(ages()), "reward": rewards()},
    {"step": U, "epoch": U / 50, "tokens_seen": U * 1000.0, "clip_frac": follows(ages()), "reward": rewards()},
])  # fmt: skip
def test_silent(tmp_path, columns):
    assert found(tmp_path, log=columns) == []


def test_too_few_rows_say_nothing(tmp_path):
    age = ages()
    columns = {"step": U, "policy_lag": age, "clip_frac": follows(age), "reward": rewards()}
    assert found(tmp_path, log={k: v[::10] for k, v in columns.items()}) == []
