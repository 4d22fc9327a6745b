"""Which programs of a run may say what it was set to, and how much of what they say counts.

A program that a launch names, or one that trains, serves or holds nothing but settings. What is written in helpers,
models, tests and evaluations of a repository is about something else, however its constants are called.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ..patterns import bounded
from ..run import Artifact, Run
from ..settings import Setting
from .collect import COUNTED, Reading, variable_of
from .keys import normal
from .syntax.source import CALL, DEFAULT, short
from .values import UNSET, convert

SUFFIXES = (".py", ".ipynb")
MOST_PROGRAMS = 40
"""Programs that are looked into; the ones nearest to the top of the run's folder."""
MOST_BYTES = 200_000
"""A larger program is generated, or a library."""
VENDORED = bounded(
    r"(?i)(?:^|/)(?:third_?party|vendor(?:ed)?|external|site-packages|dist-packages|build|dist|\.?v?env|submodules"
    r"|tests?|__pycache__|transformers|deepspeed|Megatron-LM)/|(?:^|/)(?:test_\w{1,80}|\w{1,80}_test|conftest|setup|__init__)\.py$"
)
"""Folders and files of other people's programs, and of tests."""
TRAINS = bounded(
    rb"\.backward\(|Trainer\s?\(|TrainingArguments\s?\(|\.fit\(|\.learn\(|\boptim(?:izers)?\.[A-Z]|optax\.|_schedule_with_warmup"
    rb"|get_scheduler\(|clip_grad_norm|\btrain_step\b|optimizer\.step\("
)
SERVES = bounded(rb"\b(?:LLM|SamplingParams|Async\w{0,20}EngineArgs|EngineArgs|sgl\.Engine)\s?\(")
JUDGES = bounded(rb"no_grad\(|inference_mode|\.eval\(\)|\.generate\(|lm_eval|load_state_dict\(")
"""What a program does with a model that it does not train."""
DEFINES = bounded(rb"^(?:def|async def|for|while|with|try)\b", re.M)
TRAINING = bounded(rb"manual_seed|init_process_group|\bepochs?\b|\btrain", re.I)
"""Words of a training in a program that was cut off before its loop, or that only sets things up."""
_CORE = """
    learning_rate micro_batch_size global_batch_size train_batch_size sequence_length max_steps epochs train_tokens
    optimizer engine_tensor_parallel max_model_len gpu_memory_utilization max_response_length rollout_batch_size
"""
CORE = frozenset(_CORE.split())
"""Variables of which a program that sets up a run says at least one."""
LEAST = 3
"""Variables that a file says which was not recognised as settings by its first lines."""
_OF_SERVER = """
    model model_dtype precision engine_tensor_parallel engine_pipeline_parallel engine_data_parallel max_model_len
    seed gpu_memory_utilization max_num_seqs sampling_temperature max_response_length repetition_penalty stop_tokens
    sampling visible_devices rope_scaling_type rope_scaling_factor adapter
"""
OF_SERVER = frozenset(_OF_SERVER.split())
"""What a program that only asks an engine can set."""
IMPORTS = bounded(
    r"^[ \t]{0,8}(?:from[ \t]{1,4}([\w.]{1,200})[ \t]{1,4}import[ \t]{1,4}([\w, \t]{1,200})"
    r"|import[ \t]{1,4}([\w., \t]{1,200}))",
    re.M,
)


def candidates(artifacts: Iterable[Artifact]) -> list[Artifact]:
    """The programs that may hold settings although their first lines do not tell, nearest to the top first."""
    own = [a for a in artifacts if a.path.suffix.lower() in SUFFIXES and not VENDORED.search(a.name)]
    own.sort(key=lambda a: (a.name.count("/"), a.name))
    return [a for a in own[:MOST_PROGRAMS] if _purpose(a.path)]


def _purpose(path: Path) -> str:
    """trains, serves or settings; empty for a program that is none of them."""
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError:
        return ""
    if len(text) > MOST_BYTES:
        return ""
    if TRAINS.search(text):
        return "trains"
    if SERVES.search(text):
        return "serves"
    if JUDGES.search(text):
        return ""
    return "settings" if not DEFINES.search(text) or TRAINING.search(text) else ""


def imported(text: str) -> set[str]:
    """Names of the files that a program's imports may mean."""
    out: set[str] = set()
    for match in IMPORTS.finditer(text):
        stem = match[1] or ""
        parts = [p.split()[0] for p in (match[2] or match[3]).split(",") if p.split()]
        modules = [stem, *parts] if stem else parts
        out |= {module.strip(".").rpartition(".")[2] + ".py" for module in modules if module.strip(".")}
    return out


def chosen(readings: list[Reading], run: Run) -> list[Reading]:
    """The readings without programs that the run was not, and without what a configuration file decides instead."""
    own = [r for r in readings if _is_program(r)]
    here = {short(a.name) for a in run.of("code", "config")}
    launches = [command for r in readings for command in r.programs]
    named = {short(name) for command in launches for name in command} & here
    part = named.union(*({short(f) for f in r.files} for r in own if short(r.name) in named))
    files = any(r.values and r.role in ("trainer", "generic", "engine") and r not in own for r in readings)
    alone = bool(named) or not _apart(own)
    unsure = {a.name: a.path for a in run.of("code")}
    out: list[Reading] = []
    for reading in readings:
        if reading in own:
            if named and short(reading.name) not in part and (reading.name in unsure or _trains(reading)):
                continue
            if not named and VENDORED.search(reading.name) and reading.role == "program":
                continue
            if reading.name in unsure:
                reading = _certain(reading, unsure[reading.name], short(reading.name) in named)
            if files and reading.role == "program":
                reading = reading.only(lambda s: alone and s.style in (CALL, "env"))
            reading = replace(reading, programs=launches)
        out.append(reading)
    return out


def _certain(reading: Reading, path: Path, named: bool) -> Reading:
    """What counts of a program whose first lines do not tell that it sets anything; nothing where it says little."""
    if _purpose(path) == "serves":
        reading = reading.only(lambda s: s.style in (CALL, "env") and s.variable in OF_SERVER)
    little = len(reading.values) < LEAST or not CORE.intersection(reading.values)
    return reading.only(lambda s: False) if little and not named else reading


def _is_program(reading: Reading) -> bool:
    return reading.name.lower().endswith(SUFFIXES)


def _trains(reading: Reading) -> bool:
    """Whether a program gives a library what it trains or serves with."""
    return any(s.style == CALL and s.variable in CORE for s in reading.values.values())


def _apart(group: list[Reading]) -> bool:
    """Whether two programs give a library what it trains with, and neither is part of the other."""
    own = [r for r in group if r.role in ("program", "generic") and _trains(r)]
    return any(
        short(b.name) not in a.files and short(a.name) not in b.files for i, a in enumerate(own) for b in own[i + 1 :]
    )


def launch(readings: list[Reading]) -> None:
    """What a launch gives an option of which its use, not its name, says what it decides: `AdamW(lr=args.rate)`."""
    scripts = [r for r in readings if r.role == "script"]
    for reading in readings:
        for script in scripts:
            _as_declared(reading, script)
        for variable, setting in list(reading.values.items()):
            if setting.style != DEFAULT:
                continue
            key = normal(setting.key)
            given = next((s for r in scripts for s in r.others.values() if normal(s.key) == key), None)
            taken = any(normal(s.key) == key and s.variable != variable for r in scripts for s in r.values.values())
            if given is None and not taken:
                continue
            del reading.values[variable]
            value = UNSET if given is None or taken else convert(variable, str(given.value), key)
            home = next((r for r in scripts if given in r.others.values()), None)
            if given is not None and home is not None and value is not UNSET:
                home.values.setdefault(variable, replace(given, variable=variable, value=value))


def _as_declared(program: Reading, script: Reading) -> None:
    """What a launch gives under a short name or by its place, under the option that the program declares so.

    A number of which the program says that it counts no steps is none of steps in the launch either.
    """
    if not any(short(name) == short(program.name) for command in script.programs for name in command):
        return
    for variable, setting in list(script.values.items()):
        if variable in COUNTED and normal(setting.key) in program.units:
            del script.values[variable]
    for written, option in program.options.items():
        given = script.others.get(written) if not written.isdigit() else _placed(program, script, int(written))
        if given is None or given.value is True:
            continue
        known = next((v for v, s in program.values.items() if normal(s.key) == normal(option)), "")
        variable = known or variable_of(option, str(given.value))
        value = convert(variable, str(given.value), normal(option)) if variable else UNSET
        if value is not UNSET:
            script.values.setdefault(variable, replace(given, variable=variable, value=value))


def _placed(program: Reading, script: Reading, place: int) -> Setting | None:
    """The word at a place behind the program; none where some of them may belong to a switch before them."""
    for names, words in zip(script.programs, script.words, strict=True):
        if any(short(name) == short(program.name) for name in names):
            expected = sum(written.isdigit() for written in program.options)
            if len(words) != expected:
                return None
            near = next(iter(script.values.values()), None)
            line = near.line if near else 1
            return Setting("", words[place], words[place], words[place], script.name, line, -1, "flag", "generic")
    return None


def together(group: list[Reading], first: Reading, commands: Iterable[tuple[str, ...]]) -> list[Reading]:
    """The programs that belong to one, what decides last: its imports, itself, what its launch names behind it.

    Args:
        group: all programs.
        first: the one that says most.
        commands: of each command of the launches the programs it names, in their order.
    """
    name = short(first.name)
    line = next((names for c in commands if name in (names := [short(one) for one in c])), [])
    rank = {r.name: line.index(short(r.name)) + 1 if short(r.name) in line else 0 for r in group}
    near = [
        r for r in group
        if r is first or rank[r.name] or short(r.name) in first.files or name in r.files
    ]  # fmt: skip
    over = {r.name: 2 if name in r.files and r is not first else int(r is first) for r in near}
    return sorted(near, key=lambda r: (rank[r.name], over[r.name], len(r.values)))
