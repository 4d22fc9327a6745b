"""An engine whose digest is the same after all pushes, while an adapter or the model is trained; and one that moves."""

# ruff: noqa: E501  one sentence, pattern or case on one line

import pytest
from making import fill

from triage.tools.discover import discover
from triage.tools.operation.handed.look import check_handed

ARGS = {"train_args.txt": "--base m/coder-7b\n--lora_rank 16 --lora_alpha 32\n"}


def codes(folder, files):
    return {f.code for f in check_handed(discover(fill(folder, files))).findings}


def pushes(form, digest=lambda i: "77ac01e9", n=12):
    return "".join(form.format(i=i, d=digest(i), own=f"{0xA1B2C3D4 + i:08x}") + "\n" for i in range(n))


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"rl.log": pushes("sync v{i}: 210 tensors pushed, skipped 392; rollout engine sha {d}"), **ARGS}, "adapter-left-behind"),
        ({"rl.log": pushes("[{i}] 权重同步 完成，跳过 392 个；推理引擎 校验值 {d}"), **ARGS}, "adapter-left-behind"),
        ({"rl.log": pushes("update_weights step={i} vllm checksum={d}")}, "engine-never-changes"),
    ],
)  # fmt: skip
def test_an_engine_that_never_changes(tmp_path, files, code):
    assert code in codes(tmp_path, files)


@pytest.mark.parametrize(
    "files",
    [
        {"rl.log": pushes("sync v{i}: rollout engine sha {d}", lambda i: f"{0x77AC01E9 + i:08x}"), **ARGS},
        {"rl.log": pushes("sync v{i}: rollout engine sha {d}", n=3), **ARGS},  # too few to say
        {"rl.log": pushes("step {i} tokenizer hash {d}, engine ready"), **ARGS},  # of something else
        {"rl.log": pushes("actor digest 5511ee22\nsync v{i}: rollout engine sha {d}"), **ARGS},  # nothing to send
    ],
)
def test_an_engine_that_moves_says_nothing(tmp_path, files):
    assert not codes(tmp_path, files) & {"adapter-left-behind", "engine-never-changes"}
