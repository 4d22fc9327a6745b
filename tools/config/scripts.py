"""From the commands that a script would run to its `Reading`: which of them leads, and what stands around it.

Sizes of the job (`#SBATCH`, the limits of a container) fill what no command says.
"""

from __future__ import annotations

from dataclasses import replace

from ..patterns import bounded
from ..settings import Setting
from . import telling
from .collect import Reading, as_setting, take
from .keys import normal
from .syntax import commands
from .syntax.shell import Script
from .syntax.shell import run as run_script
from .syntax.shellvalues import UNKNOWN
from .syntax.shellwords import Traced
from .syntax.source import Item, Source

PROGRAM = bounded(r"[^\s,=]{1,200}\.(?:py|ipynb)(?=\s|$)")
CLEARLY_MORE = 3
"""Settings that a file must say in names of nobody's, beyond those of the framework that a key of it told, to be
nobody's: a hand-written file may borrow a name."""
DEEPSPEED_WINS = ("loss_scale",)
"""Where the DeepSpeed file is obeyed although the command line says something else."""


def read_script(script: Script, source: Source) -> Reading:
    """A launch script: the command with most settings leads, the others fill what it leaves open."""
    found = commands.read(script)
    reading = Reading(source.name, "script", "", problems=found.problems)
    reading.read_in = {other.name for _, other in source.joined}
    reading.broken = [_broken(source, offset) for offset in found.broken]
    parts = []
    for command in found.commands:
        keys = {normal(i.key) for i in command.items if i.style != "env"}
        part = _spelled(command, source, telling.of_command(command.program, keys))
        if part.framework != "generic" and telling.of_command(command.program, ()) != part.framework:
            nobodys = _spelled(command, source, "generic")
            part = nobodys if len(nobodys.values) >= len(part.values) + CLEARLY_MORE else part
        part.files |= {w for w in command.program.split() if commands.CONFIG_FILE.fullmatch(w)}
        given = [i.text for i in command.items if i.text and PROGRAM.fullmatch(i.text)]
        reading.words.append(_behind(command.program))
        reading.programs.append((*PROGRAM.findall(command.program), *given))
        _program_model(part, command, source)
        _one_machine(part, command)
        _adapter_program(part, command, source)
        parts.append(part)
    for items in found.embedded:
        framework = telling.of_file("", {normal(i.key) for i in items})
        part = Reading(source.name, "embedded", framework)
        take(part, items, source, (framework,))
        parts.append(part)
    parts.sort(key=lambda p: (p.role == "script", _weight(p)), reverse=True)
    for part in parts:
        _join(reading, part, main=part is parts[0])
    take(reading, found.environment, source, ("env",))
    _environment(reading, script, found, source)
    _directives(reading, script.directives, source)
    return reading


def _behind(program: str) -> tuple[str, ...]:
    """The words of a command behind the program that it runs."""
    said = program.split()
    at = next((n for n, word in enumerate(said) if PROGRAM.fullmatch(word)), len(said))
    return tuple(word for word in said[at + 1 :] if UNKNOWN not in word)


def _spelled(command: commands.CommandLine, source: Source, framework: str) -> Reading:
    """A command as one framework spells its arguments; a launcher's own are its, where the program is nobody's."""
    part = Reading(source.name, "script", framework, hints=[command.program])
    names = (framework, "launcher") if framework != "generic" else ("launcher", framework)
    take(part, command.items, source, names if telling.LAUNCHER.search(command.program) else (framework,))
    return part


def _environment(reading: Reading, script: Script, found: commands.ScriptItems, source: Source) -> None:
    """What programs read from the environment, or a file of nothing but variables, where no argument says it."""
    if script.launches:
        items = [i for i in found.environment if any(not c.items for c in found.commands)]
        items += commands.environment(script.declared, script.spans)
    else:
        items = commands.environment(script.variables, script.spans)
        reading.role = "generic"
    part = Reading(source.name, "script", "generic")
    take(part, items, source, ("generic",), spoken=True)
    taken = {(s.file, s.line, s.column) for s in (*reading.values.values(), *reading.others.values())}
    for variable, setting in part.values.items():
        if variable not in reading.values and (setting.file, setting.line, setting.column) not in taken:
            reading.values[variable] = setting


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


def _adapter_program(part: Reading, command: commands.CommandLine, source: Source) -> None:
    """A program that is called after LoRA means the adapter's rank by `--rank`; every other may mean a process."""
    if "lora" not in command.program.lower() or "lora_rank" in part.values:
        return
    for item in command.items:
        if normal(item.key) == "rank" and item.style == "flag" and (item.text or "").isdigit():
            part.values["lora_rank"] = as_setting("lora_rank", int(item.text or 0), item, source, part.framework)


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
        if value is not None and variable not in reading.values and _agrees(reading, int(value.text)):
            item = Item(f"SBATCH --{name}", value.text, "flag", value.start, value.start + len(value))
            reading.values[variable] = as_setting(variable, int(value.text), item, source, "slurm")


def _agrees(reading: Reading, number: int) -> bool:
    """Whether a size of a job divides the processes that its launcher is told of; where it is told of none, it does."""
    world = reading.values.get("world_size")
    if world is None:
        return True
    rest = reading.values.get("nodes") or reading.values.get("gpus_per_node")
    return rest is not None and rest.value * number == world.value


def job(items: list[Item], source: Source) -> Reading | None:
    """A job description, if its commands set anything."""
    from .syntax import manifests

    script = manifests.script(items, source, _variables(source))
    reading = read_script(script, source) if script else None
    if reading:
        reading.read_in.clear()  # what a service is given says more than its command takes
        limits = [i for i in items if i.key.endswith("limits.nvidia.com/gpu") and (i.text or "").isdigit()]
        if len(limits) == 1 and "gpus_per_node" not in reading.values and "nodes" in reading.values:
            one = as_setting("gpus_per_node", int(limits[0].text or 0), limits[0], source, reading.framework)
            reading.values["gpus_per_node"] = one
    return reading if reading and reading.values else None


def behind_variables(script: Traced, source: Source) -> Traced:
    """A script behind the files of variables that it is given."""
    for begin, other in source.joined:
        script = Traced(other.text + "\n", [*range(begin, begin + len(other.text)), -1]) + script
    return script


def _variables(source: Source) -> dict[str, Traced]:
    """The variables of the files that a composition is given."""
    if not source.joined:
        return {}
    return dict(run_script(behind_variables(Traced("", []), source)).variables)
