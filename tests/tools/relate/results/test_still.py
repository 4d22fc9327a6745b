"""Short runs of reinforcement learning in one file, and a reward that rises while the goal stays."""

import json

import numpy as np
import pytest

from triage.tools.discover import discover
from triage.tools.logs.scan import read_run
from triage.tools.relate.line import lines_of
from triage.tools.relate.results.checkpointed import sought_stays
from triage.tools.relate.results.still import goal_stays, never_raised, never_scored
from triage.tools.tables.read import read_tables
from triage.tools.tables.series import series_of


def lines(folder, records, name="history.json"):
    (folder / name).write_text("\n".join(map(json.dumps, records)) + "\n")
    return lines_of(read_run(discover(folder)).table, ())


def short_runs(rises, lengths=(4, 7, 5, 6), key="eval/win_rate"):
    """Runs that begin again at their first iteration, each with noise, and a rise in each."""
    noise = np.random.default_rng(3)
    for length in lengths:
        for i in range(1, length + 1):
            level = 0.3 + rises * i / length + 0.05 * float(noise.standard_normal())
            yield {"iteration": i, "train/loss": round(2.0 / i, 4), key: round(level, 4)}


@pytest.mark.parametrize("key", ["eval/win_rate", "reward/mean"])
def test_several_short_runs_that_gain_nothing_are_told_together(tmp_path, key):
    told = never_raised(lines(tmp_path, short_runs(0.0, key=key)))
    assert [f.code for f in told] == ["reward-flat"]
    assert told[0].data["runs"] == 4


@pytest.mark.parametrize(("rises", "lengths"), [(0.3, (4, 7, 5, 6)), (0.0, (22,))], ids=["they rise", "a single run"])
def test_runs_that_rise_and_a_single_one_are_not(tmp_path, rises, lengths):
    assert never_raised(lines(tmp_path, short_runs(rises, lengths))) == []


def paid(goal, key):
    noise = np.random.default_rng(5)
    for i in range(24):
        yield {"step": 100 * i, "reward": 1.2 + 0.02 * i + 0.01 * float(noise.standard_normal()),
               key: goal + 0.004 * float(noise.standard_normal())}  # fmt: skip


@pytest.mark.parametrize(("goal", "key"), [(0.41, "val_solved_rate"), (37.0, "eval/accuracy")])
def test_a_reward_that_rises_while_the_goal_stays_is_told(tmp_path, goal, key):
    assert [f.code for f in goal_stays(lines(tmp_path, paid(goal, key)))] == ["goal-stays-while-reward-rises"]


@pytest.mark.parametrize(("goal", "key"), [(0.97, "val_solved_rate"), (0.41, "val_suboptimal_rate")])
def test_a_goal_that_is_reached_or_none_is_not(tmp_path, goal, key):
    assert goal_stays(lines(tmp_path, paid(goal, key))) == []


def test_a_goal_that_rises_with_its_reward_is_not(tmp_path):
    rising = [r | {"val_success_rate": 0.2 + 0.015 * i} for i, r in enumerate(paid(0.4, "other"))]
    assert goal_stays(lines(tmp_path, rising)) == []


def passing(key, gain, first="val_easy_acc"):
    """A reward that rises, a test that stays, and another one."""
    return [r | {key: 0.3 + gain * i} for i, r in enumerate(paid(0.85, first))]


@pytest.mark.parametrize(
    ("key", "first"), [("val_hard_acc", "val_easy_acc"), ("eval/olympiad/pass@1", "eval/gsm/pass@1")]
)
def test_a_test_that_stays_beside_one_that_is_passed_more_often_is_not(tmp_path, key, first):
    assert goal_stays(lines(tmp_path, passing(key, 0.006, first))) == []


@pytest.mark.parametrize(("key", "gain"), [("val_hard_acc", -0.006), ("train_solved_rate", 0.02)])
def test_a_test_that_stays_beside_one_that_falls_and_trained_problems_is_told(tmp_path, key, gain):
    assert [f.code for f in goal_stays(lines(tmp_path, passing(key, gain)))] == ["goal-stays-while-reward-rises"]


STAYS = [0.44, 0.46, 0.42, 0.45, 0.43, 0.47, 0.44, 0.43]


def scored(folder, text, name, rewards=None):
    (folder / name).write_text(text)
    tables = read_tables(folder / name, name)
    return sought_stays(tables, lines(folder, rewards or paid(0.4, "aside"), "train.jsonl"))


def nested(values, key="pearson_with_raters"):
    return json.dumps({key: {"base": values[0]} | {f"ckpt-{300 * i}": v for i, v in enumerate(values[1:], 1)}})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("raters.json", nested(STAYS)),
        ("after.csv", "checkpoint,exam_accuracy\n" + "".join(f"step_{300 * i},{v}\n" for i, v in enumerate(STAYS))),
        ("after.json", json.dumps({"runs": {k: {f"step_{300 * i}": v + o for i, v in enumerate(STAYS)}
                                            for k, o in (("kappa", 0.1), ("length", 9.0))}})),
    ],
)  # fmt: skip
def test_checkpoints_that_are_scored_afterwards_and_gain_nothing_are_told(tmp_path, name, text):
    assert [f.code for f in scored(tmp_path, text, name)] == ["goal-stays-while-reward-rises"]


@pytest.mark.parametrize(
    ("text", "rewards"),
    [
        (nested(sorted(STAYS)), None),
        (nested([v + 0.5 for v in STAYS]), None),
        (nested(STAYS, "mean_length"), None),
        (nested(STAYS[:4]), None),
        (nested(STAYS), [{"step": 100 * i, "reward": 1.2 + 0.05 * (-1) ** i} for i in range(24)]),
    ],
    ids=["they gain", "nothing left to gain", "no goal", "few", "the reward stays"],
)
def test_checkpoints_that_gain_and_rewards_that_stay_are_not(tmp_path, text, rewards):
    assert scored(tmp_path, text, "raters.json", rewards) == []


def played(tmp_path, scores, rewards=(4.0, -2.0, 9.5, 1.0, -3.0, 6.0, 2.0, -1.0, 5.0, 0.5), key="eval_scores"):
    (tmp_path / "history.json").write_text(json.dumps({"episode_rewards": rewards, key: scores}))
    tables = read_tables(tmp_path / "history.json", "history.json")
    return never_scored(tables, lines_of([s for t in tables for s in series_of(t)], tables))


def test_evaluations_that_score_nothing_every_time_are_told(tmp_path):
    (told,) = played(tmp_path, [0.0, 0.0, 0.0, 0.0])
    assert (told.code, told.data["points"]) == ("goal-never-reached", 4)


@pytest.mark.parametrize(("scores", "key"), [
    ([0.0, 0.0, 0.25, 0.0], "eval_scores"), ([0.0, 0.0], "eval_scores"), ([0.0] * 4, "eval_fails"),
], ids=["one scores", "too few", "no score"])  # fmt: skip
def test_those_of_which_one_scores_or_that_are_few_are_not(tmp_path, scores, key):
    assert played(tmp_path, scores, key=key) == []


def test_nothing_is_said_of_a_training_whose_rewards_stand_still(tmp_path):
    assert played(tmp_path, [0.0] * 4, rewards=[0.0] * 10) == []
