"""Curves of a table, for the detectors."""

import numpy as np
import pytest

from triage.tools.tables.read import read_tables
from triage.tools.tables.series import series_of


def curves(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    (table,) = read_tables(tmp_path / name, name)
    return {(s.metric, s.group): s for s in series_of(table)}


def test_along_the_steps(tmp_path):
    found = curves(tmp_path, "a.csv", "epoch,step,loss,时间\n0,10,2.3,1\n0,20,nan,2\n1,30,,3\n1,40,2.0,4\n")
    loss = found["loss", ""]
    assert loss.steps.tolist() == [10, 20, 40]
    assert np.allclose(loss.values, [2.3, np.nan, 2.0], equal_nan=True)
    assert loss.lines.tolist() == [2, 3, 5]
    assert (loss.axis, loss.step_is) == ("step", "step")


@pytest.mark.parametrize("names", ["game,reward,timesteps", "episode,reward,env_steps", "第几局,reward,num_steps"])
def test_along_what_counts_the_rows_where_the_steps_are_lengths(tmp_path, names):
    rows = "".join(f"{i + 1},{2 * i - 90},{150 - 2 * i + i * 11 % 17}\n" for i in range(40))
    reward = curves(tmp_path, "a.csv", f"{names}\n{rows}")["reward", ""]
    assert reward.steps.tolist() == [*range(1, 41)]


def test_steps_that_rise_are_the_way_beside_what_counts_the_rows(tmp_path):
    rows = "".join(f"{i + 1},{2 * i - 90},{150 * i + i * 11 % 17}\n" for i in range(40))
    assert curves(tmp_path, "a.csv", f"number,reward,timesteps\n{rows}")["reward", ""].steps.max() > 5000


def test_one_curve_for_each_rank(tmp_path):
    rows = "".join(f"{step},{rank},{2.0 - step / 100 + rank}\n" for step in (1, 2, 3) for rank in (0, 1))
    found = curves(tmp_path, "a.csv", "step,rank,loss\n" + rows)
    assert sorted(found) == [("loss", "rank=0"), ("loss", "rank=1")]
    assert [found["loss", f"rank={r}"].rank for r in (0, 1)] == [0, 1]


def test_labels_that_are_rows_split_nothing(tmp_path):
    found = curves(tmp_path, "a.csv", "checkpoint,tag,acc\n100,a,0.1\n200,b,0.2\n300,c,0.3\n")
    assert list(found) == [("accuracy", "")]
    assert found["accuracy", ""].steps.tolist() == [100, 200, 300]


def test_long_form(tmp_path):
    rows = "".join(f"{s},{m},{v}\n" for s in (1, 2, 3) for m, v in (("train/loss", 2.3), ("queue", 7)))
    found = curves(tmp_path, "a.csv", "step,metric,value\n" + rows)
    assert sorted(found) == [("loss", ""), ("queue", "")]
    assert found["loss", ""].key == "train/loss"


def test_over_time_in_whole_seconds(tmp_path):
    found = curves(tmp_path, "a.csv", "time,host,temp\n2024-05-01 00:00:00.5,n1,60\n2024-05-01 00:01:00.5,n1,61\n")
    temp = found["temp", ""]
    assert temp.axis == "time"
    assert np.diff(temp.steps).tolist() == [60]


def test_no_axis_no_curve(tmp_path):
    assert curves(tmp_path, "a.csv", "model,acc\na,0.1\nb,0.2\n") == {}


def test_items_that_were_measured_at_each_place_are_one_mean_a_place_and_steps_written_twice_are_not(tmp_path):
    rated = ((i, ckpt, who, 5 - ckpt / 300 + i % 3 - 1) for i in range(30) for ckpt in (0, 300, 600) for who in "ab")
    rows = "".join("p{},{},{},{}\n".format(*one) for one in rated)
    found = curves(tmp_path, "human.csv", "prompt_id,ckpt,annotator,rating\n" + rows)
    for who in "ab":
        line = found["rating", f"annotator={who}"]
        assert (line.steps.tolist(), line.values.tolist()) == ([0, 300, 600], [5.0, 4.0, 3.0])
    twice = curves(tmp_path, "a.csv", "step,loss\n1,2.0\n2,1.9\n2,1.8\n3,1.7\n")
    assert twice["loss", ""].values.tolist() == [2.0, 1.9, 1.8, 1.7]


@pytest.mark.parametrize("name", ["q", "idx", "编号", "row"])
def test_outcomes_of_single_samples_are_no_curve(tmp_path, name):
    drawn = np.random.default_rng(3).random(60)
    rows = "".join(f"{i},{int(x < 0.4)}\n" for i, x in enumerate(drawn))
    assert curves(tmp_path, "a.csv", f"{name},reward\n{rows}") == {}
    graded = "".join(f'{{"{name}": {i}, "reward": {[-1, 0.1, 1][int(3 * x)]}}}\n' for i, x in enumerate(drawn))
    assert curves(tmp_path, "graded_rewards.jsonl", graded) == {}


@pytest.mark.parametrize(
    ("name", "reward"),
    [
        ("idx", lambda i: 0.2 + 0.01 * i + (i * 7 % 5) / 50),  # a mean goes its way
        ("idx", lambda i: int(i > 30)),  # a switch of its own order
        ("step", lambda i: i * 7 % 5 % 2),  # the steps are numbered
    ],
)
def test_a_reward_along_its_training_is_a_curve(tmp_path, name, reward):
    rows = "".join(f"{i},{reward(i)}\n" for i in range(60))
    assert len(curves(tmp_path, "a.csv", f"{name},reward\n{rows}")["reward", ""]) == 60


def rows(*some):
    return "".join(",".join(f"{v:g}" for v in row) + "\n" for row in some)


@pytest.mark.parametrize(
    ("head", "some"),
    [
        ("sparsity,mean_kl", [(0.9**i, 0.01 * i**2) for i in range(12)]),
        ("kept,kl,top1", [(k, 3 / k, 0.1 * k) for k in (1, 2, 4, 8, 16, 32, 64, 128, 256)]),
        ("beams,width,kl,total_tokens", [(b, w, b / w, 70 * b * w % 97) for b in (1, 2, 4) for w in (8, 16, 32)]),
    ],
)
def test_values_that_were_tried_are_no_way_of_a_training(tmp_path, head, some):
    assert not any(metric == "kl" for metric, _ in curves(tmp_path, "sweep.csv", f"{head}\n{rows(*some)}"))


@pytest.mark.parametrize("load", ["num_requests", "avg_ttft", "并发数"])
def test_tokens_of_a_level_of_load_are_no_way(tmp_path, load):
    some = [(i, 900 * i + 13 * i % 7, 0.4 * i, 30 + i) for i in range(1, 9)]
    text = f"{load},total_tokens,e2e_seconds,response_length\n{rows(*some)}"
    assert curves(tmp_path, "sweep.csv", text) == {}


@pytest.mark.parametrize(
    ("head", "some"),
    [
        ("kl,grad_norm", [(0.02 * i + 0.01 * (i % 3), 1.1 + i % 2) for i in range(12)]),
        ("round,kl", [(i, 0.02 * i) for i in range(12)]),
        ("total_tokens,loss,grad_norm", [(4096 * i, 3 / i, 1 + i % 3) for i in range(1, 12)]),
    ],
)
def test_rows_of_a_training_are_its_way(tmp_path, head, some):
    assert any(m in ("kl", "loss") for m, _ in curves(tmp_path, "sweep.csv", f"{head}\n{rows(*some)}"))


def test_an_epoch_that_begins_again_begins_another_curve(tmp_path):
    (tmp_path / "a.csv").write_text("epoch,val_loss\n" + "".join(f"{e},{v}\n" for e, v in (
        (1, 0.9), (1, 0.8), (2, 0.7), (3, 0.6), (1, 1.9), (2, 1.8), (3, 1.6))))  # fmt: skip
    (table,) = read_tables(tmp_path / "a.csv", "a.csv")
    found = series_of(table)
    assert [(s.attempt, s.values.tolist()) for s in found] == [("#2", [0.8, 0.7, 0.6]), ("#3", [1.9, 1.8, 1.6])]


def test_a_run_that_goes_on_a_little_before_its_end_is_one_curve(tmp_path):
    (tmp_path / "a.csv").write_text("step,loss\n10,2.9\n20,2.5\n30,2.2\n20,2.4\n30,2.1\n40,2.0\n")
    (table,) = read_tables(tmp_path / "a.csv", "a.csv")
    assert [s.attempt for s in series_of(table)] == [""]
