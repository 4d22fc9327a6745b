"""A run that had room, was started again with more set, and ran out of memory."""

import pytest

from triage.agent.evidence import look
from triage.agent.session import ask
from triage.tools.relate.earlier.grown import needs_more

FULL = (
    '  File "train.py", line 90, in step\n    loss = model(x)\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.00 GiB. GPU 0 has a total capacity of 79.10 GiB "
    "of which 1.20 GiB is free.\n"
)
CONFIG = "per_device_train_batch_size: {micro}\ngradient_accumulation_steps: {accum}\nmax_seq_length: {length}\nlearning_rate: 2e-5\n"  # noqa: E501
SHOW = """commit 9be01f2c4d (origin/main)
Author: Ada <ada@example.org>
Date:   Mon Mar 2 10:00:00 2026 +0000

    {title}

diff --git a/conf/train.yaml b/conf/train.yaml
@@ -1,4 +1,4 @@
-{old}
+{new}
 learning_rate: 2e-5
"""


def steps(n, start=1):
    return "".join(f"step {i} loss {3 - i / 900:.4f} grad_norm 0.9\n" for i in range(start, start + n))


def found(path, **files):
    path.mkdir(exist_ok=True)
    for name, text in files.items():
        (path / name.replace("__", ".")).write_text(text)
    return [f for f in look([path]).findings if f.code == "memory-setting-raised"]


def show(old, new):
    return SHOW.format(title="throughput", old=old, new=new)


TORCHRUN = "launch: torchrun --nproc_per_node 8 train.py --config c.yaml --max_seq_length {} --resume last\n"


@pytest.mark.parametrize(
    ("variable", "old", "files"),
    [
        ("micro_batch_size", 6, {
            "train__yaml": CONFIG.format(micro=12, accum=4, length=2048),
            "show__txt": show("per_device_train_batch_size: 6", "per_device_train_batch_size: 12"),
            "train__log": steps(300) + "resuming from checkpoint-300\n" + FULL,
        }),
        ("sequence_length", 4096, {
            "train__yaml": CONFIG.format(micro=2, accum=4, length=8192),
            "changes__md": "# Changes\n\n- 2026-03-02: max_seq_length from 4096 to 8192, num_workers 2 -> 8\n",
            "train__log": steps(200) + "重启，从检查点续训\n" + FULL,
        }),
        ("sequence_length", 3000, {
            "train__log": TORCHRUN.format(3000) + steps(150) + TORCHRUN.format(6000) + FULL,
        }),
    ],
)  # fmt: skip
def test_what_needs_more_memory_than_in_the_start_that_ran_is_taken_back(tmp_path, variable, old, files):
    [raised] = found(tmp_path / "run", **files)
    assert raised.data["proposes"] == {"variable": variable, "new": old}
    assert raised.data["steps"] == files["train__log"].count(" grad_norm ")


def test_it_is_the_one_change_that_is_proposed(tmp_path):
    files = {
        "train.yaml": CONFIG.format(micro=12, accum=4, length=2048),
        "show.txt": show("per_device_train_batch_size: 6", "per_device_train_batch_size: 12"),
        "train.log": steps(300) + "resuming from checkpoint-300\n" + FULL,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    answer = ask("out of memory right after the restart, why?", [tmp_path])
    assert (answer.proposal.variable, answer.proposal.old, answer.proposal.new) == ("micro_batch_size", "12", "6")


@pytest.mark.parametrize(
    "files",
    [
        {  # only what needs no memory changed
            "train__yaml": CONFIG.format(micro=12, accum=4, length=2048),
            "show__txt": show("dataloader_num_workers: 2", "dataloader_num_workers: 8"),
            "train__log": steps(300) + "resuming from checkpoint-300\n" + FULL,
        },
        {  # it was lowered
            "train__yaml": CONFIG.format(micro=6, accum=4, length=2048),
            "show__txt": show("per_device_train_batch_size: 12", "per_device_train_batch_size: 6"),
            "train__log": steps(300) + "resuming from checkpoint-300\n" + FULL,
        },
        {  # the process that ran ran out of it itself
            "train__yaml": CONFIG.format(micro=12, accum=4, length=2048),
            "show__txt": show("per_device_train_batch_size: 6", "per_device_train_batch_size: 12"),
            "train__log": steps(300) + FULL,
        },
        {  # what the diff set is not in force
            "train__yaml": CONFIG.format(micro=3, accum=4, length=2048),
            "show__txt": show("per_device_train_batch_size: 6", "per_device_train_batch_size: 12"),
            "train__log": steps(300) + "resuming from checkpoint-300\n" + FULL,
        },
        {  # it never ran
            "train__yaml": CONFIG.format(micro=12, accum=4, length=2048),
            "show__txt": show("per_device_train_batch_size: 6", "per_device_train_batch_size: 12"),
            "train__log": "launching torchrun train.py\n" + FULL,
        },
        {  # nothing ran out
            "train__yaml": CONFIG.format(micro=12, accum=4, length=2048),
            "show__txt": show("per_device_train_batch_size: 6", "per_device_train_batch_size: 12"),
            "train__log": steps(300) + "resuming from checkpoint-300\n" + steps(300, 301),
        },
    ],
)
def test_otherwise_nothing_is_said_of_what_was_raised(tmp_path, files):
    assert found(tmp_path / "run", **files) == []


@pytest.mark.parametrize(
    ("variable", "old", "new", "more"),
    [
        ("activation_checkpointing", "full", "none", True), ("offload_optimizer", "true", "false", True),
        ("zero_stage", "3", "1", True), ("precision", "bf16", "fp32", True), ("tensor_parallel", "8", "4", True),
        ("activation_checkpointing", "false", "true", False), ("learning_rate", "1e-5", "1e-4", False),
        ("micro_batch_size", "x", "8", False), ("precision", "fp32", "bf16", False),
    ],
)  # fmt: skip
def test_which_way_of_a_setting_needs_more(variable, old, new, more):
    assert needs_more(variable, old, new) is more
