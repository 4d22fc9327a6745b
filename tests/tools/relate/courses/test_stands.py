"""A loss that stands far above that of a run like it, and what differs between the two."""

import numpy as np
import pytest

from tests.tools.relate.courses.test_courses import told

STEPS = np.arange(10, 6001, 10)
EN, ZH = "step {s} loss {v:.4f} lr 3e-4 upd_ratio {u:.2e}", "步={s} 损失={v:.4f} 学习率=3e-4 更新比={u:.2e}"
STUCK = 6.1 + 5 * np.exp(-STEPS / 120)
LEARNS = 3.2 + 5 * np.exp(-STEPS / 120) + 2.9 * np.exp(-STEPS / 1500)


def log(loss, form=EN, update=1e-3, head="", seed=0):
    noisy = loss + np.random.default_rng(seed).normal(0, 0.03, len(loss))
    rows = [form.format(s=s, v=v, u=update) for s, v in zip(STEPS, noisy, strict=True)]
    return "\n".join([*([head] if head else []), *rows]) + "\n"


GO = "torchrun --nproc-per-node 8 fit.py --layers 24 --lr 3e-4 --wd 0.1{} 2>&1 | tee {}\n"


@pytest.mark.parametrize("form", [EN, ZH])
def test_a_loss_that_stands_beside_one_that_learns(tmp_path, form):
    files = {"b7.log": log(STUCK, form, 1e-5), "old/b5.log": log(LEARNS, form, seed=1)}
    assert told(tmp_path, files) == ["loss-stands-above-other"]


@pytest.mark.parametrize(
    "files",
    [
        {"go.sh": GO.format(" --body-lr-mult 0.005", "b7.log"), "old/go.sh": GO.format("", "b5.log")},
        {"history.txt": f"  41  {GO.format('', 'b5.log')}  42  {GO.format(' --freeze-body', 'b7.log')}"},
        {"cmd_b7.txt": "python fit.py --layers 24 --lr 3e-4 \\\n  --qk-scale 0 --wd 0.1\n",
         "cmd_b5.txt": "python fit.py --layers 24 --lr 3e-4 --wd 0.1\n"},
    ],
    ids=["scripts", "history", "named"],
)  # fmt: skip
def test_what_the_two_commands_set_otherwise(tmp_path, files):
    logs = {"b7.log": log(STUCK, update=1e-5), "old/b5.log": log(LEARNS, seed=1)}
    assert told(tmp_path, {**logs, **files}) == ["loss-stands-with-setting"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (4.3 + 5 * np.exp(-STEPS / 120) + 2.9 * np.exp(-STEPS / 2500), LEARNS),  # a smaller model that learns
        (STUCK, STUCK - 2.0),  # two that have learned what they can, of other data
        (STUCK, 5.2 + 5 * np.exp(-STEPS / 120)),  # a little above
        (LEARNS, LEARNS),
    ],
    ids=["small", "other-data", "near", "alike"],
)
def test_a_smaller_model_and_two_that_stand_say_nothing(tmp_path, one, other):
    files = {"a.log": log(one), "b.log": log(other, seed=1), "go.sh": GO.format(" --x 2", "a.log")}
    assert told(tmp_path, files) == []
