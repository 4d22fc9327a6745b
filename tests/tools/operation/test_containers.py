"""Containers with GPUs whose shared memory nobody set, and those in which somebody did."""

import pytest
from making import fill

from triage.tools.discover import discover
from triage.tools.operation.containers import check_containers

POD = """apiVersion: batch/v1
kind: Job
spec:
  template:
    spec:
      containers:
        - name: t
          image: r/t:1
          resources: {limits: {nvidia.com/gpu: "4"}}
"""
SHM = """          volumeMounts: [{name: dshm, mountPath: /dev/shm}]
      volumes: [{name: dshm, emptyDir: {medium: Memory, sizeLimit: 32Gi}}]
"""
COMPOSE = "services:\n  train:\n    image: a\n    gpus: all\n    command: python t.py\n"


def codes(tmp_path, files):
    return [
        f.code for f in check_containers(discover(fill(tmp_path, {"train.log": "step 1 loss 2.0\n", **files}))).findings
    ]


@pytest.mark.parametrize(
    "files",
    [
        {"job.yaml": POD},
        {"compose.yml": COMPOSE},
        {"go.sh": "set -e\ndocker run --rm --gpus all \\\n  -v /d:/d img python t.py\n"},
        {"notes.md": "started with\n    podman run --gpus 2 img torchrun t.py\n"},
    ],
)
def test_a_container_with_the_default_is_told(tmp_path, files):
    assert codes(tmp_path, files) == ["shm-left-at-default"]


@pytest.mark.parametrize(
    "files",
    [
        {"job.yaml": POD + SHM},
        {"job.yaml": POD.replace("      containers", "      hostIPC: true\n      containers")},
        {"job.yaml": POD.replace('{limits: {nvidia.com/gpu: "4"}}', '{limits: {cpu: "4"}}')},  # no training on GPUs
        {"compose.yml": COMPOSE + "    shm_size: 16gb\n"},
        {"setup.sh": "docker run --rm --gpus all \\\n  -v /lib:/lib \\\n  $PLUGIN \\\n  install\n"},
        {"README.md": "    docker run --gpus all -v $PWD:/w ... python w.py\n    podman run --gpus 1 img nvidia-smi\n"},
        {"go.sh": "docker run --rm --gpus all --ipc=host img python t.py\n"},
        {"go.sh": "# docker run --gpus all img\npython t.py\n"},
    ],
)
def test_a_container_whose_shared_memory_is_set_or_that_has_no_gpu_is_not(tmp_path, files):
    assert codes(tmp_path, files) == []
