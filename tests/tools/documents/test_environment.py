"""Versions, hardware, variables and commands out of a run's files, and what must not be taken for one."""

import pytest
from making import fill

from triage.tools.config.combine import read_settings
from triage.tools.discover import discover
from triage.tools.documents.environment import read_environment

LOG = "".join(f"step: {i} loss: 2.0\n" for i in range(20))


@pytest.fixture
def read(tmp_path):
    def seen(**files):
        run = discover(fill(tmp_path, {"train.log": LOG, **files}))
        return read_environment(run, read_settings(run)[0])

    return seen


@pytest.mark.parametrize(
    ("line", "name", "version"),
    [
        ("PyTorch version: 2.3.0+cu121", "torch", "2.3.0+cu121"),
        ("- `transformers` version: 4.41.2", "transformers", "4.41.2"),
        ("INFO 05-01 vLLM API server version 0.5.0.post1", "vllm", "0.5.0.post1"),
        ("Initializing an LLM engine (v0.5.4) with config: model='x'", "vllm", "0.5.4"),
        ("node0:1:1 NCCL version 2.18.1+cuda12.1", "nccl", "2.18.1+cuda12.1"),
        ("[INFO] DeepSpeed info: version=0.14.0, git-hash=x", "deepspeed", "0.14.0"),
        ("torch version .................... 2.1.0", "torch", "2.1.0"),
        ("| NVIDIA-SMI 535.54  Driver Version: 535.54.03  CUDA Version: 12.2 |", "driver", "535.54.03"),
        ('"transformers_version": "4.44.0"', "transformers", "4.44.0"),
    ],
)
def test_versions_are_read_from_a_log(read, line, name, version):
    found = {f.name: f for f in read(**{"train.log": LOG + line + "\n"}).versions}
    assert (found[name].value, found[name].file, found[name].line) == (version, "train.log", 21)


@pytest.mark.parametrize(
    "line",
    ["ray: 0.5", "torch.float16 scale 2.0", "lr/python=0.1", "cuda:0.5 GiB", "step_time=1.5 ray=0.5", "trl 3 of 4"],
)
def test_other_numbers_are_no_versions(read, line):
    assert read(**{"train.log": LOG + line + "\n"}).versions == ()


def test_a_list_of_packages_is_believed_before_the_log(read):
    found = read(**{"requirements.txt": "torch==2.4.1\n", "train.log": LOG + "PyTorch version: 2.3.0\n"}).versions
    assert [(f.name, f.value, f.file) for f in found] == [("torch", "2.4.1", "requirements.txt")]


def test_a_link_out_of_the_run_is_not_read(read, tmp_path, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "requirements.txt"
    outside.write_text("torch==9.9.9\n")
    (tmp_path / "requirements.txt").symlink_to(outside)
    assert read().versions == ()


def test_devices_and_their_memory(read):
    log = "GPU 0: NVIDIA A100-SXM4-80GB\nGPU 0 has a total capacity of 79.15 GiB of which 1.1 MiB is free\n"
    assert {f.value for f in read(**{"train.log": LOG + log}).hardware} == {
        "NVIDIA A100-SXM4-80GB",
        "total capacity of 79.15 GiB",
    }


def test_commands_are_whole_and_variables_have_their_line(read):
    script = (
        "#!/bin/bash\nexport NCCL_DEBUG=INFO\n# torchrun old.py\ntorchrun --nproc_per_node=8 \\\n  train.py --lr 1e-4\n"
    )
    seen = read(**{"launch.sh": script})
    assert [(f.value, f.line) for f in seen.commands] == [("torchrun --nproc_per_node=8 \\\ntrain.py --lr 1e-4", 4)]
    assert ("NCCL_DEBUG", "INFO", 2) in [(f.name, f.value, f.line) for f in seen.variables]
