"""Trainings of which a step sees a whole factor less than that of another, or than is set."""

import numpy as np
import pytest

from tests.tools.relate.courses.test_courses import report

STEPS = np.arange(4, 401, 4)


def course(form, each, end, noise=0.01, steps=STEPS):
    loss = end + 1.5 * np.exp(-steps / 80) + np.random.default_rng(each).normal(0, noise, len(steps))
    return "".join(form.format(s=s, n=s * each, v=v) + "\n" for s, v in zip(steps, loss, strict=True))


EN = "iter {s} consumed {n} loss {v:.4f}"
ZH = "第 {s} 步 已见样本={n} 损失={v:.4f}"


def found(tmp_path, files):
    return [f for f in report(tmp_path, files).findings if f.code == "step-sees-too-little"]


@pytest.mark.parametrize(
    ("form", "setting"),
    [
        (EN, "pretrain.py pipeline_model_parallel_size=4 grad_acc_steps=2\n"),
        (ZH, "张量并行数：4 梯度累积步数：2\n"),
    ],
)
def test_the_factor_is_named_and_undone_by_accumulation(tmp_path, form, setting):
    files = {"wide.log": setting + course(form, 128, 1.9), "narrow.log": course(form, 512, 1.7)}
    (one,) = found(tmp_path, files)
    assert (one.data["ratio"], one.data["proposes"]["new"]) == (4, 8)
    assert "wide.log:1" in one.message


def test_tables_need_no_settings(tmp_path):
    head = "it,tokens_seen,train_loss\n"
    files = {"b/log.csv": head + course("{s},{n},{v:.4f}", 65536, 1.9)}
    files["a/log.csv"] = head + course("{s},{n},{v:.4f}", 131072, 1.7)
    assert [f.data["ratio"] for f in found(tmp_path, files)] == [2]


@pytest.mark.parametrize(
    ("each", "end", "steps"), [(512, 1.9, STEPS), (128, 1.702, STEPS), (100, 1.9, STEPS), (128, 1.9, STEPS * 4)]
)
def test_as_much_as_good_no_whole_factor_and_more_steps_are_silent(tmp_path, each, end, steps):
    files = {"wide.log": course(EN, each, end, steps=steps), "narrow.log": course(EN, 512, 1.7)}
    assert found(tmp_path, files) == []


SCRIPT = "GBS={0}\nACCUM=$((GBS / (MBS * WORLD)))\npython train.py --tensor-parallel 4 --accum $ACCUM\n"


@pytest.mark.parametrize(("batch", "there"), [(512, True), (128, False), (640, False), (600, False)])
def test_a_run_of_its_own_against_the_batch_that_its_launch_sets(tmp_path, batch, there):
    one = found(tmp_path, {"run.log": course(EN, 128, 1.9), "launch.sh": SCRIPT.format(batch)})
    assert ["launch.sh:2" in f.message for f in one] == [True] * there
