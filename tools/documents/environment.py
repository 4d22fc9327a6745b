"""What a run ran on, as its own files tell it: versions, hardware, environment variables, launch commands.

For a bug report. Nothing is asked of the machine that triage runs on, which may be another one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..findings import TriageError, clean
from ..patterns import bounded
from ..reading import head
from ..run import Run
from ..settings import Settings

PACKAGES = (
    "torch|pytorch|transformers|trl|peft|accelerate|datasets|tokenizers|deepspeed|vllm|sglang|ray|verl|openrlhf"
    "|llamafactory|axolotl|pytorch.lightning|lightning|megatron.core|nemo.toolkit|torchtune|nanotron|flash.attn"
    "|flash.attention|xformers|triton|bitsandbytes|transformer.engine|apex|numpy|safetensors|unsloth|cuda|cudnn|nccl"
    "|nvcc|rocm|python|driver|flashinfer|liger.kernel|llm.engine"
).replace(".", "[-_. ]")
"""What has a version worth telling, as a pattern."""
SAME = {"pytorch": "torch", "llm-engine": "vllm", "pytorch-lightning": "lightning", "flash-attention": "flash-attn"}
"""Other names of a package."""
LISTS = re.compile(
    r"^(?:requirements[\w.-]*\.txt|pip[_-]?(?:freeze|list)[\w.-]*|environment\.ya?ml|conda[\w.-]*\.ya?ml)$"
)
"""Names of files that list packages."""
HEAD = 4 << 20
"""Bytes of a log in which versions are looked for: they are printed at the start."""
PLACES = ("", "files", "wandb/latest-run/files", "logs")
"""Folders of a run in which a list of packages is looked for."""

_NUMBER = r"(?P<version>\d+\.\d+(?:\.\d+)*(?:[.+-]?(?:a|b|rc|dev|post|cu|git|cuda)[\w.]*)?)"
_SAYS = (
    r"\s*==\s*|=(?=\d+\.\d+\.\d+)|\s+\(?v"
    r"|[\s_-]*(?:(?:api server|engine|info|runtime|library)[\s:.]*)?\(?version\)?['\"]?[\s.:=(v'\"]*"
)
_VERSION = bounded(rf"(?<![\w/.-])(?P<name>{PACKAGES})['\"`]?(?:{_SAYS})\(?{_NUMBER}", re.I)
_DEVICE = re.compile(
    r"\b(?:NVIDIA )?(?:(?:GeForce )?RTX (?:A?\d{4})(?: Ti| SUPER)?(?: Ada)?|Tesla [A-Z]\d{2,3}[\w-]*|MI\d{3}X?"
    r"|(?:A10G?|A30|A40|A100|A800|H100|H800|H20|H200|B100|B200|GB200|L4|L40S?|V100|T4)"
    r"(?:[- ](?:SXM\d?|PCIe|NVL|\d+GB|SXM\d-\d+GB))*)\b"
)
_SIZE = bounded(r"total capaci?ty of [\d.]+ ?[GM]iB|\d+MiB\s*/\s*\d+MiB")
_LAUNCH = re.compile(
    r"\b(?:torchrun|deepspeed|accelerate\s+launch|mpirun|srun|horovodrun|vllm\s+serve|llamafactory-cli|axolotl|swift"
    r"|ray\s+job\s+submit|tune\s+run|python3?\s+(?:-u\s+)?(?:-m\s+\S+|\S+\.py))\b"
)
COMMAND_LIMIT = 60
"""Lines of one command that are kept."""


class Fact(NamedTuple):
    """One thing a file says."""

    name: str
    value: str
    file: str
    line: int


@dataclass(frozen=True)
class Environment:
    versions: tuple[Fact, ...]
    """One per package: a list of packages is believed before a log."""
    hardware: tuple[Fact, ...]
    variables: tuple[Fact, ...]
    commands: tuple[Fact, ...]


def read_environment(run: Run, settings: Settings) -> Environment:
    """What the run's files say about where it ran; what they do not say is missing from the result."""
    versions: dict[str, Fact] = {}
    hardware: dict[str, Fact] = {}
    for name, text in _texts(run):
        for number, line in enumerate(text.splitlines(), 1):
            for found in _VERSION.finditer(line[:1000]):
                key = re.sub(r"[-_. ]", "-", found["name"].lower())
                key = SAME.get(key, key)
                versions.setdefault(key, Fact(key, found["version"], name, number))
            for pattern in (_DEVICE, _SIZE):
                if found := pattern.search(line[:1000]):
                    value = clean(found.group(), 80)
                    hardware.setdefault(value, Fact("device", value, name, number))
    variables = [
        Fact(s.key, clean(s.raw, 200), s.file, s.line)
        for s in (*settings, *settings.others.values())
        if s.style == "env"
    ]
    return Environment(tuple(versions.values()), tuple(hardware.values())[:8], tuple(variables), tuple(_commands(run)))


def _texts(run: Run) -> Iterator[tuple[str, str]]:
    """Name and text of the package lists, then of the heads of the logs."""
    root = run.root.resolve()
    for folder in PLACES if run.root.is_dir() else ():
        for name in sorted(os.listdir(root / folder)) if (root / folder).is_dir() else ():
            path = root / folder / name
            if LISTS.match(name) and path.is_file() and path.resolve().is_relative_to(root):
                yield from _text(path, str(path.relative_to(root)))
    for artifact in run.of("log"):
        yield from _text(artifact.path, artifact.name)


def _text(path: Path, name: str) -> Iterator[tuple[str, str]]:
    try:
        yield name, head(path, HEAD).decode("utf-8", "replace")
    except TriageError:
        return  # the scan says that it cannot be read


def _commands(run: Run) -> Iterator[Fact]:
    """The commands of the launch scripts, continued lines joined, as the script has them."""
    for artifact in run.of("script"):
        for name, text in _text(artifact.path, artifact.name):
            lines = text.splitlines()
            taken = -1
            for i, line in enumerate(lines):
                if i > taken and _LAUNCH.search(line) and not line.lstrip().startswith(("#", "echo")):
                    taken = i
                    while lines[taken].rstrip().endswith("\\") and taken + 1 < len(lines) and taken - i < COMMAND_LIMIT:
                        taken += 1
                    command = "\n".join(clean(part, 400) for part in lines[i : taken + 1])
                    yield Fact("command", command, name, i + 1)
