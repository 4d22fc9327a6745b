"""Plans that no machine reaches, and exceptions with which a program lives."""

from pathlib import Path

import pytest

from triage.agent.evidence import look

FRAMES = (
    "Traceback (most recent call last):\n"
    '  File "/work/env/tools.py", line 88, in call\n    return self.parse(text)\n'
    '  File "/work/env/tools.py", line 31, in parse\n    raise RuntimeError(text)\n'
)
SCRIPT = FRAMES.replace("88, in call", "88, in <module>")


def codes(folder: Path, log: str, **more: str) -> dict[str, str]:
    for name, text in {"train.log": log, **more}.items():
        (folder / name).write_text(text)
    return {f.code: str(f.severity) for f in look([folder]).findings}


def rl(total: int, seconds: float, steps: int = 6) -> str:
    rows = (
        f"step:{i} - actor/grad_norm:0.3{i % 7} - critic/rewards/mean:{0.2 + i / 50:.3f} - timing_s/step:{seconds}\n"
        for i in range(1, steps)
    )
    return f"Total training steps: {total}\n" + "".join(rows)


@pytest.mark.parametrize(
    ("log", "told"),
    [
        (rl(400_000, 640.5), True),
        ("".join(f"\rtrain:   0%|  | {i}/2000000 [00:{i:02d}<, 41.20s/it]" for i in range(1, 9)), True),
        (rl(900, 640.5), False),
        (rl(400_000, 1.5), False),
        (rl(20, 640.5, 21), False),
    ],
)
def test_a_plan_of_years_at_the_measured_pace_is_told(tmp_path, log, told):
    assert ("plan-out-of-reach" in codes(tmp_path, log)) == told


def agents(said: str, rounds: int, each: int, stack: str = FRAMES) -> str:
    """A log of rounds of which each ends in a step, with exceptions in between, that breaks off in a round."""
    out = "workers begin\n"
    for i in range(1, rounds + 1):
        out += "".join(f"{stack}RuntimeError: {said} {i * 10 + n}\n" for n in range(each))
        out += f"step:{i} - actor/grad_norm:0.31 - critic/rewards/mean:{0.1 + i / 40:.3f} - timing_s/step:31.5\n"
    return out + f"{stack}RuntimeError: {said} {rounds * 10 + 9}\n" + "the answer of the model goes on here and\n"


@pytest.mark.parametrize(
    ("log", "fatal"),
    [
        (agents("no tool call in sample", 2, 6), False),
        (agents("动作解析失败：样本", 3, 5), False),
        (agents("no tool call in sample", 2, 6).replace("step:", "sample "), True),
        (agents("no tool call in sample", 2, 0) + FRAMES + "MemoryError: \n", True),
        (agents("no tool call in sample", 2, 6) + SCRIPT + "RuntimeError: no tool call in sample 99\n", True),
    ],
)
def test_an_exception_after_which_steps_were_logged_many_times_ends_nothing(tmp_path, log, fatal):
    assert (codes(tmp_path, log).get("uncaught-exception") in ("S0", "S1")) == fatal


def trained(steps: int, planned: int, floor: float, end: str) -> dict[str, str]:
    """A log of a rate that falls from its peak to a part of it over the steps that were made, and its settings."""
    rows = "".join(
        f"[train] iter {20 * i}: loss {4 - i / steps:.4f} lr {1e-3 * (1 - (1 - floor) * i / steps):.3e} 812 ms/iter\n"
        for i in range(1, steps + 1)
    )
    return {"train.log": rows + end, "conf.yaml": f"train:\n  max_iters: {planned}\n  lr: 1.0e-3\n  batch_size: 8\n"}


@pytest.mark.parametrize(
    ("floor", "end", "told"),
    [
        (0.1, "[train] done. best_val=3.1 ckpt=/data/x.pt\n", False),
        (0.0, "训练完成，模型在 /data/x.pt\n", False),
        (0.7, "[train] done. best_val=3.1 ckpt=/data/x.pt\n", True),
        (0.1, "saving the model\n", True),
    ],
)
def test_a_program_that_says_done_with_its_rate_come_down_was_not_cut_short(tmp_path, floor, end, told):
    files = trained(60, 4000, floor, end)
    assert ("log-ends-before-plan" in codes(tmp_path, files.pop("train.log"), **files)) == told


@pytest.mark.parametrize(
    ("line", "total", "left"),
    [
        ("Epoch:[1/1]({i}/{n}) loss:{x:.3f} lr:0.0002 epoch_Time:{m}.0min", 90_000, 7_200),
        ("Epoch: [0][ {i}/{n}]  Loss {x:.4f}  ETA: {m} min", 90_000, 7_200),
        ("epoch 1 ({i}/{n}) loss={x:.4f}", 90_000, 0),
        ("Epoch:[1/1]({i}/{n}) loss:{x:.3f} lr:0.0002 epoch_Time:{m}.0min", 390, 1),
        ("epoch 30/30 loss={x:.4f} ({i} rows)", 390, 0),
    ],
)
def test_the_count_within_an_epoch_says_how_far_the_log_is_from_its_end(tmp_path, line, total, left):
    text = "".join(line.format(i=i, n=total, x=2 + 4 / (1 + i / 40), m=left) + "\n" for i in range(0, 400, 10))
    (tmp_path / "train.log").write_text(text)
    ends = [f.message for f in look([tmp_path]).findings if f.code == "log-ends-before-plan"]
    assert bool(ends) == (total > 390)
    assert not ends or ("5 days are left" in ends[0]) == (left > 0)
