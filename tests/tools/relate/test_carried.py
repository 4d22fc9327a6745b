"""A reward that is a sum of measures is told where one of them rises at another's cost, and nowhere else."""

import json

import numpy as np
import pytest

from triage.agent.session import ask


def run(folder, task, bonus, n=120, **more):
    rng = np.random.default_rng(3)
    with (folder / "metrics.jsonl").open("w") as out:
        for i in range(n):
            a, b = task(i / n) + rng.normal(0, 0.004), bonus(i / n) + rng.normal(0, 0.004)
            extra = {k: f(i / n) + rng.normal(0, 0.004) for k, f in more.items()}
            row = {"step": 10 * i, "reward": round(a + b, 6), "task_score": round(a, 6), "style_bonus": round(b, 6)}
            out.write(json.dumps({**row, **extra}) + "\n")
    return {f.code for f in ask("is it learning?", (folder,), keep=False).diagnosis.findings}


CODE = "reward-carried-by-part"


def test_a_part_that_pays_for_the_fall_of_another_is_named(tmp_path):
    assert CODE in run(tmp_path, lambda x: 0.4 - 0.2 * x, lambda x: 0.05 + 0.5 * x)


@pytest.mark.parametrize(
    ("task", "bonus"),
    [
        (lambda x: 0.2 + 0.3 * x, lambda x: 0.05 + 0.2 * x),
        (lambda x: 0.4, lambda x: 0.05 + 0.5 * x),
        (lambda x: 0.4 - 0.3 * x, lambda x: 0.3 - 0.1 * x),
        (lambda x: 0.2 + 0.5 * x, lambda x: -0.02 - 0.1 * x),
    ],
    ids=["both rise", "one stays", "both fall", "a cost grows"],
)
def test_it_is_silent_where_no_part_is_lost_for_another(tmp_path, task, bonus):
    assert CODE not in run(tmp_path, task, bonus)


def test_measures_that_do_not_make_the_reward_are_no_parts(tmp_path):
    rng = np.random.default_rng(3)
    with (tmp_path / "metrics.jsonl").open("w") as out:
        for i in range(120):
            row = {"step": i, "reward": 0.1 + 0.004 * i, "task_score": 0.5 - 0.002 * i, "style_bonus": 0.003 * i}
            out.write(json.dumps({k: v + rng.normal(0, 0.004) * (k != "step") for k, v in row.items()}) + "\n")
    assert CODE not in {f.code for f in ask("is it learning?", (tmp_path,), keep=False).diagnosis.findings}


def weighted(folder, right, style, names=("rewards/answer_check/mean", "rewards/layout/mean"), weights=(1.0, 3.0)):
    """Rows whose reward is averaged otherwise than its two named parts."""
    rng = np.random.default_rng(5)
    with (folder / "metrics.jsonl").open("w") as out:
        for i in range(120):
            a, b = right(i / 120), style(i / 120)
            row = {"reward": weights[0] * a + weights[1] * b, names[0]: a, names[1]: b, "reward_std": 0.4 - a / 9}
            out.write(json.dumps({"step": i} | {k: v + rng.normal(0, 0.01) for k, v in row.items()}) + "\n")
    return {f.code for f in ask("is it learning?", (folder,), keep=False).diagnosis.findings}


@pytest.mark.parametrize("names", [("rewards/answer_check/mean", "rewards/layout/mean"), ("r_correct", "r_tags")])
def test_named_parts_of_a_weighted_reward_are_told_where_being_right_is_lost(tmp_path, names):
    assert CODE in weighted(tmp_path, lambda x: 0.4 - 0.25 * x, lambda x: 0.2 + 0.7 * x, names)


@pytest.mark.parametrize(
    ("right", "style", "names"),
    [
        (lambda x: 0.2 + 0.3 * x, lambda x: 0.2 + 0.7 * x, ("r_correct", "r_tags")),
        (lambda x: 0.4 - 0.25 * x, lambda x: 0.2 + 0.7 * x, ("r_brevity", "r_tags")),
        (lambda x: 0.4 - 0.25 * x, lambda x: 0.2 + 0.7 * x, ("answer_entropy", "layout")),
    ],
    ids=["both rise", "not of being right", "no parts by their names"],
)
def test_named_parts_that_lose_nothing_that_was_meant_are_left_alone(tmp_path, right, style, names):
    assert CODE not in weighted(tmp_path, right, style, names)
