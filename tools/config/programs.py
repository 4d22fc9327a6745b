"""Which programs of a run may say what it was set to, and how much of what they say counts.

A program that a launch names, or one that trains, serves or holds nothing but settings. What is written in helpers, models,
tests and evaluations of a repository is about something else, however its constants are called.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ..patterns import bounded
from ..run import Artifact, Run
from ..settings import Setting
from .collect import Reading
from .keys import normal
from .syntax.source import DEFAULT
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
CORE = frozenset(
    "learning_rate micro_batch_size global_batch_size train_batch_size sequence_length max_steps epochs train_tokens "
    "optimizer engine_tensor_parallel max_model_len gpu_memory_utilization max_response_length rollout_batch_size".split()
)
"""Variables of which a program that sets up a run says at least one."""
LEAST = 3
"""Variables that a file says which was not recognised as settings by its first lines."""
OF_SERVER = frozenset(
    "model model_dtype precision engine_tensor_parallel engine_pipeline_parallel engine_data_parallel max_model_len seed "
    "gpu_memory_utilization max_num_seqs sampling_temperature max_response_length repetition_penalty stop_tokens sampling "
    "visible_devices rope_scaling_type rope_scaling_factor num_generations adapter".split()
)
"""What a program that only asks an engine can set."""
CALL = "call"
IMPORTS = bounded(r"^[ \t]{0,8}(?:from[ \t]{1,4}([\w.]{1,200})[ \t]{1,4}import[ \t]{1,4}([\w, \t]{1,200})|import[ \t]{1,4}([\w., \t]{1,200}))", re.M)


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


def chosen(readings: list[Reading], run: Run, launched: set[str]) -> list[Reading]:
    """The readings without programs that the run was not, and without what a configuration file decides instead."""
    unsure = {a.name for a in run.of("code")}
    here = {_short(a.name) for a in run.of("code", "config")}
    named = {_short(name) for name in launched} & here
    files = any(
        r.values and r.role in ("trainer", "generic", "engine") and not r.name.lower().endswith(SUFFIXES) for r in readings
    )
    out: list[Reading] = []
    part = set(named)
    for reading in readings:  # what a launched program imports is part of it
        if _short(reading.name) in named:
            part |= {_short(name) for name in reading.files}
    for reading in readings:
        if not reading.name.lower().endswith(SUFFIXES):
            out.append(reading)
            continue
        short = _short(reading.name)
        if named and short not in part:
            continue
        if reading.name in unsure:
            purpose = _purpose(next(a.path for a in run.of("code") if a.name == reading.name))
            if purpose == "serves":
                reading = _only(reading, lambda s: s.style in (CALL, "env") and s.variable in OF_SERVER)
            if short not in named and (len(reading.values) < LEAST or not CORE.intersection(reading.values)):
                continue
        if files and reading.role == "program":
            reading = _only(reading, lambda s: s.style in (CALL, "env"))
        out.append(reading)
    return out


def launch(readings: list[Reading]) -> None:
    """What a launch gives an option of a program whose use, not its name, says what it decides: `AdamW(lr=args.rate)`."""
    scripts = [r for r in readings if r.role == "script"]
    for reading in readings:
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


def _only(reading: Reading, keep: object) -> Reading:
    def kept(settings: dict[str, Setting]) -> dict[str, Setting]:
        return {key: s for key, s in settings.items() if keep(s)}  # type: ignore[operator]

    return replace(reading, values=kept(reading.values), others=kept(reading.others))


def _short(name: str) -> str:
    return name.rpartition("/")[2]


def together(group: list[Reading], first: Reading) -> list[Reading]:
    """The programs of a group that import the first, or that it imports; the first comes last, for it decides."""
    name = _short(first.name)
    near = [r for r in group if r is not first and (_short(r.name) in first.files or name in r.files)]
    return [*sorted(near, key=lambda r: len(r.values)), first]
