"""The batch fell with the number of devices, the learning rate did not."""

import numpy as np
import pytest

from tests.tools.relate.courses.test_courses import report, told

STEPS = np.arange(0, 8001, 20)


def log(head, noise, rate=6e-4, level=3.0, steps=STEPS, seed=0, form="step {s} loss {v:.4f} lr {r:.3e}"):
    loss = level + 6 * np.exp(-steps / 700) + np.random.default_rng(seed).normal(0, noise, len(steps))
    rates = rate * np.minimum((steps - steps[0] + 20) / 500, 1)
    rows = [form.format(s=s, v=v, r=r) for s, v, r in zip(steps, loss, rates, strict=True)]
    return "\n".join([head, *rows] if head else rows) + "\n"


HEADS = [
    ("gpus: 32, 1.05M tokens/step", "gpus: 4, 131k tokens/step"),
    ("world_size=16 global_batch_size=512", "world_size=2 global_batch_size=64"),
    ("共 32 张卡 mbs 8 ga 1", "共 4 张卡 mbs 8 ga 1"),
]


@pytest.mark.parametrize(("large", "small"), HEADS)
def test_a_run_on_few_devices_at_the_rate_of_many_swings(tmp_path, large, small):
    files = {"many/a.log": log(large, 0.01), "few/a.log": log(small, 0.06, seed=2)}
    assert told(tmp_path, files) == ["batch-fell-rate-kept"]


def test_the_sizes_of_a_folder_and_a_loss_that_is_worse_after_as_many_tokens(tmp_path):
    files = {"big/log.txt": log("", 0.02), "big/conf.py": "n_gpu = 64\nbatch_size = 8\n",
             "small/log.txt": log("", 0.02, level=6.0, seed=3),
             "small/conf.py": "n_gpu = 8\nbatch_size = 8\n"}  # fmt: skip
    assert told(tmp_path, files) == ["batch-fell-rate-kept"]


HF = (
    "Process rank: 0, device: cuda:0, n_gpu: 1, distributed training: True, world_size: {world}\n"
    "  Instantaneous batch size per device = 2\n"
    "  Total train batch size (w. parallel, distributed & accumulation) = {batch}\n  Gradient Accumulation steps = 8"
)
"""What trainers print of sizes where they begin; one process has one device, whatever all have."""


def test_the_heading_of_a_trainer_tells_the_batch_and_the_accumulation_that_gives_it_back(tmp_path):
    found = report(tmp_path, {"six/a.log": log(HF.format(world=48, batch=768), 0.01),
                     "one/a.log": log(HF.format(world=8, batch=128), 0.07, seed=2)})  # fmt: skip
    [finding] = found.findings
    assert (finding.code, finding.data["batch"], finding.data["other"]) == ("batch-fell-rate-kept", 128, 768)
    assert finding.data["proposes"] == {"variable": "grad_accumulation", "new": 48}


@pytest.mark.parametrize(("many", "few"), [(64, 64), (64, 32)], ids=["same", "half"])
def test_the_one_device_of_a_process_is_no_size_of_all(tmp_path, many, few):
    files = {"a/a.log": log(HF.format(world=many, batch=many * 16), 0.01),
             "b/a.log": log(HF.format(world=few, batch=few * 16), 0.07, seed=2)}  # fmt: skip
    assert told(tmp_path, files) == []


@pytest.mark.parametrize(("rate", "speaks"), [("3e-4", True), ("7e-5", False)], ids=["kept", "went along"])
def test_a_rate_that_only_the_files_set(tmp_path, rate, speaks):
    form = "step {s} loss {v:.4f}"
    go = "python t.py --gbs {} --lr {}\n"
    files = {"wide/log.txt": log("", 0.01, form=form), "wide/go.sh": go.format(640, "3e-4"),
             "thin/log.txt": log("", 0.05, form=form, seed=5), "thin/go.sh": go.format(80, rate)}  # fmt: skip
    assert (told(tmp_path, files) == ["batch-fell-rate-kept"]) is speaks


@pytest.mark.parametrize(("level", "speaks"), [(3.0, False), (3.4, True)], ids=["same level", "higher"])
def test_the_noise_of_a_smaller_sample_alone_is_no_trouble(tmp_path, level, speaks):
    files = {"many/a.log": log("world_size=32 global_batch_size=1024", 0.02),
             "few/a.log": log("world_size=8 global_batch_size=256", 0.04, level=level, seed=7)}  # fmt: skip
    assert (told(tmp_path, files) == ["batch-fell-rate-kept"]) is speaks


def test_a_restart_of_one_log_on_fewer_devices(tmp_path):
    again = log("resumed, world_size 2", 0.08, steps=STEPS + 8020, seed=4)
    assert told(tmp_path, {"a.log": log("started, world_size 16", 0.01) + again}) == ["batch-fell-rate-kept"]


@pytest.mark.parametrize(
    ("large", "small", "of"),
    [
        (*HEADS[1], {"rate": 2.1e-4, "noise": 0.06}),  # the rate went with the batch
        (*HEADS[1], {"noise": 0.01}),  # nothing suffers
        ("world_size=16 mbs 2 ga 1", "world_size=2 mbs 2 ga 8", {"noise": 0.06}),  # accumulation keeps the batch
        ("world_size=16", "world_size=8", {"noise": 0.06}),  # half as many
        ("", "", {"noise": 0.06}),
    ],
    ids=["rate", "calm", "accumulation", "half", "unsaid"],
)
def test_a_batch_that_is_kept_a_rate_that_went_along_and_a_calm_loss_say_nothing(tmp_path, large, small, of):
    assert told(tmp_path, {"many/a.log": log(large, 0.01), "few/a.log": log(small, seed=2, **of)}) == []
