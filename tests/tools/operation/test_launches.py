"""How the processes of a job are started: devices, heads and ranks."""

import json

import pytest
from making import fill

from triage.agent.paths import gather
from triage.tools.operation.launches import check_launches

SLURM = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gres=gpu:a100:{n}\nsrun torchrun --nproc_per_node={m} train.py\n"
SHELL = "#!/bin/bash\nexport CUDA_VISIBLE_DEVICES=0,1\nNP={m}\n# torchrun --nproc-per-node=99\n"
SHELL += "torchrun --nproc-per-node $NP sft.py\n"
POD = """apiVersion: v1
kind: Pod
spec:
  containers:
  - command: [deepspeed, --num_gpus={m}, run.py]
    resources: {{limits: {{nvidia.com/gpu: {n}}}}}
"""


def boot(heads=40, ways=12, size=None):
    size = size or heads * 128 * 5120
    return {
        "model/config.json": json.dumps(
            {"model_type": "x", "num_attention_heads": heads, "hidden_size": 5120}, indent=1
        ),
        "serve.log": "10:00:01 INFO start\n10:00:02 INFO loading\n10:00:09 ERROR RuntimeError: "
        f"shape '[{ways}, {heads // ways}, 128, -1]' is invalid for input of size {size}\n",
    }


def ranks(machines=(0, 0, 1, 3), each=2, said="rank={r} world_size={w} local_rank={l}", world=8):
    return {
        f"node{i}.log": "".join(
            f"10:00:0{i} INFO env {said.format(r=m * each + k, w=world, l=k)}\n10:00:1{i} INFO joining the group\n"
            for k in range(each)
        )
        for i, m in enumerate(machines)
    }


def found(folder, files):
    with gather([fill(folder, files)], "") as run:
        return [f.code for f in check_launches(run).findings]


@pytest.mark.parametrize(("files", "code"), [
    ({"job.sbatch": SLURM.format(n=4, m=8)}, "processes-exceed-devices"),
    ({"go.sh": SHELL.format(m=4)}, "processes-exceed-devices"),
    ({"pod.yaml": POD.format(n=1, m=2)}, "processes-exceed-devices"),
    (boot(), "heads-cut-unevenly"),
    (boot(28, 8), "heads-cut-unevenly"),
    (boot(14, 4), "heads-cut-unevenly"),
    (ranks(), "ranks-given-twice"),
    (ranks(said="r={r} w={w} l={l}"), "ranks-given-twice"),
    (ranks((1, 2, 2), world=6, said="RANK={r}, WORLD_SIZE={w}"), "ranks-given-twice"),
])  # fmt: skip
def test_what_cannot_start_is_told(tmp_path, files, code):
    assert found(tmp_path, files) == [code]


@pytest.mark.parametrize("files", [
    {"job.sbatch": SLURM.format(n=8, m=8)},
    {"job.sbatch": SLURM.format(n=8, m=4)},  # fewer than there are
    {"job.sbatch": SLURM.format(n=1, m=8) + "export BACKEND=gloo\n"},
    {"go.sh": "torchrun --nproc_per_node=8 train.py\n"},  # nobody says how many there are
    {"go.sh": SHELL.format(m="$1")},
    boot(40, 8, size=40 * 128 * 5120 // 2),  # divides: half of the file is there
    boot(size=12345),  # of another matrix
    ranks((0, 1, 2, 3)),  # complete
    ranks((0, 0, 0)),  # three attempts of one machine
    ranks((0, 1, 2)),  # one log is missing
    ranks((0, 0), world=4),  # two attempts
])  # fmt: skip
def test_what_can_start_is_none(tmp_path, files):
    assert not found(tmp_path, files)
