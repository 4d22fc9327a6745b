"""How the containers of a job are started: a training in one with the runtime's default of shared memory, 64 MB.

Read from manifests of Kubernetes, compose files and commands of docker and podman, as text: one document or command at
a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from ..findings import STANDING, Check, Evidence, Finding, Report, Severity, declare
from ..heads import beginning
from ..patterns import bounded
from ..run import Run

CHECK = "shared memory of the containers"
CODES = declare(
    "containers",
    ("shm-left-at-default", CHECK, "a container with GPUs is started with the default size of shared memory"),
)
FILES, BYTES, COMMAND = 60, 128 << 10, 4000
POD = bounded(r"^\s{0,40}(?:- )?containers[\"']?:", re.MULTILINE)
COMPOSE = bounded(r"^services:", re.MULTILINE)
GPUS = bounded(
    r"(?:nvidia|amd|habana|huawei)\.com/\w{1,30}[\"']?\s?:|driver: ?[\"']?nvidia|runtime: ?[\"']?nvidia|--gpus\b"
    r"|^\s{0,20}gpus:", re.MULTILINE
)  # fmt: skip
LARGER = bounded(
    r"/dev/shm|--shm-size|shm_size|--ipc\b|\bipc: ?[\"']?(?:host|shareable)|hostIPC: ?true|medium: ?[\"']?Memory"
)
"""What gives a container other shared memory than the default."""
RUNS = bounded(r"\b(?:docker|podman|nerdctl|nvidia-docker)(?: container)? run\b")
NO_JOB = bounded(
    r"\s(?:\.{3}|…|\[options\])(?=\s|$)|\s(?:install|nvidia-smi(?: -L)?|--version|--help|hostname|env|ls)\s{0,9}$"
)
"""A command that stands for many and leaves words out, or one that does something small and ends: no job."""
SUFFIXES = frozenset((".yaml", ".yml", ".sh", ".bash", ".txt", ".md", ".sbatch", ".slurm", ".service", ""))


def check_containers(run: Run) -> Report:
    """Manifests and commands that start a container with GPUs and leave its shared memory as it is."""
    looked, found = False, list[Finding]()
    for artifact in islice((a for a in run.artifacts if a.path.suffix.lower() in SUFFIXES), FILES):
        if not artifact.path.is_file():
            continue
        for line, text in _started(beginning(artifact.path, BYTES), artifact.path.suffix in (".yaml", ".yml")):
            looked = True
            if GPUS.search(text) and not LARGER.search(text):
                found.append(_told(artifact.name, line, text))
    return Report("containers", tuple(found[:1]),
                  (Check(CHECK, "found" if found else "clear" if looked else "not-applicable"),))  # fmt: skip


def _started(text: str, is_yaml: bool) -> Iterator[tuple[int, str]]:
    """(line, text) of each document that describes containers, and of each command that runs one."""
    at = 0
    for document in re.split(r"^---.*$", text, flags=re.MULTILINE) if is_yaml else ():
        mark = POD.search(document) or COMPOSE.search(document)
        if mark:
            yield text.count("\n", 0, at + mark.start()) + 1, document
        at = text.find(document, at) + len(document)
    for match in RUNS.finditer(text):
        begin = text.rfind("\n", 0, match.start()) + 1
        if not text[begin : match.start()].lstrip().startswith("#"):
            command = re.split(r"(?<!\\)\n", text[begin : begin + COMMAND], maxsplit=1)[0]
            if not NO_JOB.search(command):
                yield text.count("\n", 0, begin) + 1, command


def _told(file: str, line: int, text: str) -> Finding:
    said = next((s.strip() for s in text.splitlines() if GPUS.search(s)), "")
    return Finding(
        "shm-left-at-default", Severity.S3,
        f"{file}:{line} starts a container with GPUs and gives it no shared memory (no volume at /dev/shm, no shm "
        "size, no ipc of the host): it has the runtime's default, 64 MB.",
        f"{file}:{line} 启动带 GPU 的容器时没有设置共享内存（没有挂到 /dev/shm 的卷、shm 大小或主机 ipc）："
        "只有运行时默认的 64 MB。",
        (Evidence(file, line, text=said[:200]),), {STANDING: "set"},
    )  # fmt: skip
