"""From files to `Settings`: what each file sets, and which files are in force together."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..settings import Setting
from . import frameworks
from .keys import normal, table
from .syntax import commands, jsonfile, structure, yamlfile
from .syntax.shell import Script
from .syntax.shell import run as run_script
from .syntax.shellvalues import UNKNOWN
from .syntax.source import Item, Refused, Source, load
from .values import STAGES, UNSET, convert, measured

SYNTAX = {
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "json",
    ".jsonc": "json",
    ".conf": "json",
    ".sh": "shell",
    ".bash": "shell",
    ".slurm": "shell",
    ".sbatch": "shell",
    ".cmd": "shell",
    ".run": "shell",
    ".toml": "toml",
    ".pbs": "shell",
    ".lsf": "shell",
    ".zsh": "shell",
    ".py": "python",
    ".ipynb": "notebook",
    ".mk": "makefile",
}
NAMES = re.compile(r"(GNU)?[Mm]akefile$")
NOT_READ = (".ini", ".cfg", ".bat", ".ps1", ".jinja")
"""Formats that hold no settings of trainers we know; said to be unread."""
ROLES = {
    "model": "model",
    "tokenizer": "tokenizer",
    "generation": "generation",
    "request": "request",
    "adapter": "adapter",
    "deepspeed": "deepspeed",
    "accelerate": "launcher",
    "vllm": "engine",
    "sglang": "engine",
    "tgi": "engine",
    "lmdeploy": "engine",
    "tensorrt-llm": "engine",
    "llama-cpp": "engine",
    "generic": "generic",
}
"""Framework -> what such a file is for; every other framework's file configures a trainer."""
PROGRAMMED = ("torchtitan", "xtuner", "nemo", "megatron-bridge", "olmo-core")
"""Frameworks whose configuration files are Python."""
BOOKKEEPING = re.compile(r"(^|[._])_?(transformers_version|architectures|auto_map|added_tokens_decoder)($|\.)")


DEEPSPEED_WINS = ("loss_scale",)
"""Where the DeepSpeed file is obeyed although the command line says something else."""


@dataclass
class Reading:
    """What one file sets."""

    name: str
    role: str
    framework: str
    values: dict[str, Setting] = field(default_factory=dict)
    others: dict[str, Setting] = field(default_factory=dict)
    shadowed: list[Setting] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    """Names of config files that this one points to."""
    hints: list[str] = field(default_factory=list)
    """Program and file names that may tell the stage."""
    broken: list[Setting] = field(default_factory=list)
    """Flags cut off from their command."""
    problems: list[str] = field(default_factory=list)


def syntax_of(path: Path, name: str) -> str:
    """yaml, json, shell, toml or python, by the file's suffix, else by its first characters."""
    if path.suffix.lower() in NOT_READ:
        raise Refused(f"{name}: {path.suffix} files are not read")
    if NAMES.match(path.name):
        return "makefile"
    if known := SYNTAX.get(path.suffix.lower()):
        return known
    try:
        with path.open("rb") as file:
            head = file.read(400).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    except OSError as error:
        raise Refused(f"{name}: cannot be read: {error.strerror or error}") from None
    first = head.splitlines()[0] if head else ""
    if first.startswith("#!"):
        return "python" if "python" in first else "shell"
    if re.match(r"(--?\w|[A-Z_]+=|(torchrun|python3?|accelerate|deepspeed|vllm|srun|export)\s)", first):
        return "shell"
    return "json" if head.startswith("{") else "yaml"


def read_file(path: Path, name: str = "") -> Reading:
    """The settings of one file.

    Args:
        path: the file.
        name: what evidence calls it; the file's own name if empty.

    Raises:
        Refused: not readable as a config, with file and reason.
    """
    name = name or path.name
    syntax = syntax_of(path, name)
    return read_source(load(path, name, syntax), syntax)


def read_source(source: Source, syntax: str) -> Reading:
    """The settings of a text that is in memory; see `read_file`."""
    if syntax == "shell":
        return _script(run_script(source.text), source)
    if syntax == "makefile":
        from .syntax import makefile

        return _script(run_script(makefile.as_shell(source.text)), source)
    written = _parse(source, syntax)
    items = structure.resolved(written)
    framework = _framework(source.name, items)
    if framework == "generic" and syntax in ("yaml", "json") and (job := _job(written, source)):
        return job
    program = syntax in ("python", "notebook") and framework not in PROGRAMMED
    reading = Reading(source.name, "generic" if program else ROLES.get(framework, "trainer"), framework)
    reading.hints += [source.name, *(i.key.split(".")[0] for i in items if i.key.split(".")[0] in STAGES)]
    _take(reading, [i for i in items if i.style != "env"], source, (framework,))
    _take(reading, [i for i in items if i.style == "env"], source, ("env",))
    return reading


def _job(items: list[Item], source: Source) -> Reading | None:
    """A job description, if its commands set anything."""
    from .syntax import manifests

    script = manifests.script(items, source)
    reading = _script(script, source) if script else None
    return reading if reading and reading.values else None


def _framework(name: str, items: list[Item]) -> str:
    keys = {normal(i.key) for i in items}
    if items and all(i.style == "override" for i in items):
        return frameworks.of_command("", keys)
    return frameworks.of_file(name, keys)


def _parse(source: Source, syntax: str) -> list[Item]:
    if syntax == "json":
        try:
            return jsonfile.read(source)
        except Refused:
            if not source.name.endswith(".conf"):
                raise
            return yamlfile.read(source)
    if syntax == "toml":
        from .syntax import tomlfile

        return tomlfile.read(source)
    if syntax == "python":
        from .syntax import pythonfile

        return pythonfile.read(source)
    if syntax == "notebook":
        from .syntax import notebook

        return notebook.read(source)
    return yamlfile.read(source)


def _script(script: Script, source: Source) -> Reading:
    """A launch script: the command with most settings leads, the others fill what it leaves open."""
    found = commands.read(script)
    reading = Reading(source.name, "script", "", problems=found.problems)
    reading.broken = [_broken(source, offset) for offset in found.broken]
    parts = []
    for command in found.commands:
        keys = {normal(i.key) for i in command.items if i.style != "env"}
        framework = frameworks.of_command(command.program, keys)
        names = (framework, "launcher") if frameworks.LAUNCHER.search(command.program) else (framework,)
        part = Reading(source.name, "script", framework, hints=[command.program])
        _take(part, command.items, source, names)
        part.files |= {w for w in command.program.split() if commands.CONFIG_FILE.fullmatch(w)}
        _program_model(part, command, source)
        _one_machine(part, command)
        parts.append(part)
    for items in found.embedded:
        framework = frameworks.of_file("", {normal(i.key) for i in items})
        part = Reading(source.name, "embedded", framework)
        _take(part, items, source, (framework,))
        parts.append(part)
    parts.sort(key=lambda p: (p.role == "script", _weight(p)), reverse=True)
    for part in parts:
        _join(reading, part, main=part is parts[0])
    _take(reading, found.environment, source, ("env",))
    _directives(reading, script.directives, source)
    return reading


def _broken(source: Source, offset: int) -> Setting:
    flag = source.text[offset : offset + 200].split(None, 1)[0].split("=")[0]
    return Setting(flag.lstrip("-"), None, flag, flag, source.name, source.line(offset), source.column(offset), "flag")


def _weight(part: Reading) -> tuple[bool, int]:
    """Commands of a known framework first, then by how much they set."""
    return part.framework != "generic", len(part.values)


def _join(reading: Reading, part: Reading, main: bool) -> None:
    if main:
        reading.framework = part.framework
        reading.hints += part.hints
        reading.others |= part.others
    for variable, setting in part.values.items():
        old = reading.values.get(variable)
        if old is None or (part.framework == "deepspeed" and variable in DEEPSPEED_WINS):
            reading.values[variable], setting = setting, old
        if setting is not None:
            reading.shadowed.append(setting)
    reading.shadowed += part.shadowed
    if main or part.framework != "generic":
        reading.files |= part.files


def _program_model(part: Reading, command: commands.CommandLine, source: Source) -> None:
    """`vllm serve MODEL`: the model is a word without a flag."""
    words = command.program.split()
    if part.framework == "vllm" and "serve" in words and "model" not in part.values:
        after = words[words.index("serve") + 1 :]
        if after and UNKNOWN not in after[0]:
            part.values["model"] = Setting(
                "model", after[0], after[0], "serve", source.name, source.line(command.start), -1, "flag", "vllm"
            )


def _one_machine(part: Reading, command: commands.CommandLine) -> None:
    """torchrun and deepspeed start one machine unless told otherwise; a size that is not visible is not one."""
    devices = part.values.get("gpus_per_node")
    told = {normal(i.key) for i in command.items} & {"nnodes", "num_nodes", "hostfile", "num_machines"}
    if devices is not None and devices.framework == "launcher" and not told and "nodes" not in part.values:
        part.values["nodes"] = replace(devices, variable="nodes", value=1, raw="1", column=-1)


def _directives(reading: Reading, directives: dict, source: Source) -> None:
    """`#SBATCH` sizes, where the launcher does not say."""
    for name, variable in (("nodes", "nodes"), ("gpus", "gpus_per_node")):
        value = directives.get(name)
        if value is not None and variable not in reading.values and "world_size" not in reading.values:
            item = Item(f"SBATCH --{name}", value.text, "flag", value.start, value.start + len(value))
            reading.values[variable] = _setting(variable, int(value.text), item, source, "slurm")


def _take(reading: Reading, items: Iterable[Item], source: Source, names: tuple[str, ...]) -> None:
    """Sort items into canonical values and others; of two keys the better ranked, of two equal ones the last."""
    ranks: dict[str, int] = {}
    for item in items:
        if item.text is not None and UNKNOWN in item.text:
            item = _without_value(item)
            if item is None:
                continue
        key = normal(item.key)
        _note_file(reading, item)
        variable, rank, framework = _lookup(key, names if item.style != "env" else ("env",))
        variable, text = measured(variable, item.text)
        value = convert(variable, text, key, item.style == "switch") if variable else UNSET
        if not variable or value is UNSET:
            if item.style != "env" or key.startswith("nccl_"):
                _other(reading, item, source, names[0])
            continue
        setting = _setting(variable, value, item, source, framework)
        loser = reading.values.get(variable)
        if loser is None or rank <= ranks.get(variable, 99):
            reading.values[variable] = setting
            ranks[variable] = rank
        else:
            loser = setting
        if loser is not None:
            reading.shadowed.append(loser)
            if normal(loser.key) != normal(reading.values[variable].key):
                reading.others[loser.key.lstrip("-")] = replace(loser, variable=loser.key.lstrip("-"))


def _without_value(item: Item) -> Item | None:
    """A flag whose value is not visible: kept as a switch if it can be one."""
    if item.style == "flag" and normal(item.key) in commands.BARE:
        return Item(item.key, None, "switch", item.start, item.end, group=item.group)
    return None


def _lookup(key: str, names: tuple[str, ...]) -> tuple[str, int, str]:
    for name in names:
        if hit := table(name).get(key):
            return hit[0], hit[1], name
    if names[0] != "generic" and "." not in key and names[0] in TOLERANT and (hit := table("generic").get(key)):
        return hit[0], hit[1] + 50, names[0]
    return "", 0, ""


TOLERANT = ("hf", "trl", "open-instruct")
"""Frameworks whose scripts add arguments of their own, so that common names are believed."""


def _other(reading: Reading, item: Item, source: Source, framework: str) -> None:
    part_of_list = item.style == "flag" and re.search(r"\.\d+$", item.key)
    if part_of_list or (item.text is None and item.style != "switch") or BOOKKEEPING.search(item.key):
        return
    reading.others[item.key] = _setting(item.key, item.text if item.text is not None else True, item, source, framework)


def _note_file(reading: Reading, item: Item) -> None:
    if item.text and len(item.text) < 400:
        reading.files |= {w for w in item.text.split() if commands.CONFIG_FILE.fullmatch(w)}


def _setting(variable: str, value: object, item: Item, source: Source, framework: str) -> Setting:
    raw = source.text[item.start : item.end]
    column = source.column(item.start) if item.end > item.start else -1
    start = item.start
    if item.quoted and len(raw) >= 2 and raw[0] in "'\"" and raw[0] == raw[-1]:
        raw, column, start = raw[1:-1], column + 1, start + 1
    if "\n" in raw:
        column = -1
    if column < 0:
        raw = (item.text or "")[:4000]
    key = item.key if item.style != "flag" and item.style != "switch" else f"--{item.key}"
    if item.key.startswith("SBATCH"):
        key = item.key
    return Setting(variable, value, raw, key, source.name, source.line(start), column, item.style, framework)
