"""From files to `Settings`: what each file sets, and which files are in force together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..findings import Check
from ..run import Artifact, Run
from ..settings import Setting, Settings
from . import commands, frameworks, jsonfile, yamlfile
from .keys import normal, table
from .shell import UNKNOWN
from .shell import run as run_script
from .source import Item, Refused, Source, load
from .values import STAGES, UNSET, convert

SYNTAX = {
    ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".jsonc": "json", ".conf": "json", ".sh": "shell",
    ".bash": "shell", ".slurm": "shell", ".sbatch": "shell", ".cmd": "shell", ".run": "shell", ".toml": "toml",
}
ROLES = {
    "model": "model", "tokenizer": "tokenizer", "generation": "generation", "adapter": "adapter",
    "deepspeed": "deepspeed", "accelerate": "launcher", "vllm": "engine", "sglang": "engine", "generic": "generic",
}
"""Framework -> what such a file is for; every other framework's file configures a trainer."""
PRECEDENCE = ("model", "tokenizer", "generation", "adapter", "deepspeed", "launcher", "engine", "generic", "trainer",
              "script")
"""Roles from weak to strong: the command line wins over the trainer's file, that over what it includes."""
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
    """yaml, json, shell or toml, by the file's suffix, else by its first characters."""
    if known := SYNTAX.get(path.suffix.lower()):
        return known
    try:
        with path.open("rb") as file:
            head = file.read(400).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    except OSError as error:
        raise Refused(f"{name}: cannot be read: {error.strerror or error}") from None
    if head.startswith("#!") and "python" not in head.splitlines()[0]:
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
        return _script(source)
    items = _parse(source, syntax)
    framework = frameworks.of_file(source.name, {normal(i.key) for i in items})
    reading = Reading(source.name, ROLES.get(framework, "trainer"), framework, hints=[source.name])
    _take(reading, items, source, (framework,))
    return reading


def _parse(source: Source, syntax: str) -> list[Item]:
    if syntax == "json":
        try:
            return jsonfile.read(source)
        except Refused:
            if not source.name.endswith(".conf"):
                raise
            return yamlfile.read(source)
    if syntax == "toml":
        from . import tomlfile

        return tomlfile.read(source)
    return yamlfile.read(source)


def _script(source: Source) -> Reading:
    """A launch script: the command with most settings leads, the others fill what it leaves open."""
    script = run_script(source.text)
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
    flag = source.text[offset:offset + 200].split(None, 1)[0].split("=")[0]
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
        after = words[words.index("serve") + 1:]
        if after and UNKNOWN not in after[0]:
            part.values["model"] = Setting("model", after[0], after[0], "serve", source.name,
                                           source.line(command.start), -1, "flag", "vllm")


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
        value = convert(variable, item.text, key, item.style == "switch") if variable else UNSET
        if variable == "warmup_steps" and isinstance(value, float | int) and 0 < value < 1:
            variable = "warmup_ratio"
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
    reading.others[item.key] = _setting(item.key, item.text if item.text is not None else True, item, source,
                                        framework)


def _note_file(reading: Reading, item: Item) -> None:
    if item.text and len(item.text) < 400:
        reading.files |= {w for w in item.text.split() if commands.CONFIG_FILE.fullmatch(w)}


def _setting(variable: str, value: object, item: Item, source: Source, framework: str) -> Setting:
    raw = source.text[item.start:item.end]
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


# Several files

def read_run(run: Run, attempt: str = "") -> tuple[Settings, tuple[Check, ...]]:
    """See `settings.read_settings`."""
    checks: list[Check] = []
    readings: list[Reading] = []
    for artifact in _chosen(run, attempt):
        try:
            readings.append(read_file(artifact.path, artifact.name))
        except Refused as error:
            checks.append(Check(f"read {artifact.name}", "failed", str(error)))
    readings = [r for r in readings if r.values]
    for reading in readings:
        checks += [Check(f"read {reading.name}", "failed", f"{reading.name}: {p}") for p in reading.problems]
    if not readings:
        why = "no config file or launch script with training or serving settings is visible here; settings made " \
              "inside a program cannot be seen"
        checks.append(Check("settings", "not-applicable", why))
        return Settings(), tuple(checks)
    settings, unused = combine(readings)
    checks.append(_summary(settings, unused))
    return settings, tuple(checks)


def _summary(settings: Settings, unused: list[str]) -> Check:
    why = f"{len(settings.values)} settings from {', '.join(settings.files)}"
    if unused:
        why += f"; not used because nothing refers to them: {', '.join(unused[:8])}"
        why += f" and {len(unused) - 8} more" if len(unused) > 8 else ""
    if settings.conflicts:
        pairs = [f"{a.variable} ({a.file}: {a.raw}, {b.file}: {b.raw})" for a, b in settings.conflicts[:3]]
        why += f"; files disagree on {', '.join(pairs)}"
    return Check("settings", "found" if settings.conflicts else "clear", why)


def _chosen(run: Run, attempt: str) -> list[Artifact]:
    """Artifacts of the attempt, the run's own first; without a named attempt and own configs, the last attempt's.
    """
    found = [a for a in run.of("config", "script", "tokenizer") if _readable(a)]
    base = [a for a in found if not a.attempt]
    if not attempt and not base and found:
        attempt = max({a.attempt for a in found}, key=_natural)
    own = [a for a in found if a.attempt == attempt and attempt]
    shared = [] if any(a.kind == "config" or a.kind == "script" for a in own) else base
    return [*(shared if attempt else base), *own]


def _readable(artifact: Artifact) -> bool:
    if artifact.kind != "tokenizer":
        return True
    return artifact.path.name in ("tokenizer_config.json", "config.json", "generation_config.json",
                                  "adapter_config.json")


def _natural(text: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", text)]


def combine(readings: list[Reading]) -> tuple[Settings, list[str]]:
    """One `Settings` out of several files, and the names of files that were left out."""
    chosen, unused, conflicts = _pick(readings)
    chosen.sort(key=lambda r: PRECEDENCE.index(r.role))
    values: dict[str, Setting] = {}
    others: dict[str, Setting] = {}
    shadowed: list[Setting] = []
    for reading in chosen:
        for variable, setting in reading.values.items():
            if (old := values.get(variable)) and old.value != setting.value:
                shadowed.append(old)
            values[variable] = setting
        shadowed += reading.shadowed
        if reading.role not in ("model", "tokenizer", "generation"):
            others |= reading.others
    leader = max(chosen, key=lambda r: (r.role in ("script", "trainer"), r.framework != "generic", len(r.values)))
    hints = [h for r in chosen if r.role in ("script", "trainer", "generic") for h in r.hints]
    _resolve(values, others, leader.framework, hints)
    settings = Settings(values, tuple(shadowed), others, tuple(conflicts), tuple(b for r in chosen for b in r.broken),
                        leader.framework, tuple(r.name for r in chosen))
    return settings, [r.name for r in unused]


def _pick(readings: list[Reading]) -> tuple[list[Reading], list[Reading], list[tuple[Setting, Setting]]]:
    """One file per role: the one that the others point to, else the one that says most, nearest to the root."""
    chosen: list[Reading] = []
    unused: list[Reading] = []
    conflicts: list[tuple[Setting, Setting]] = []
    pointed: set[str] = set()
    for role in reversed(PRECEDENCE):
        group = [r for r in readings if r.role == role]
        if not group:
            continue
        named = [r for r in group if any(_same_file(r.name, f) for f in pointed)]
        if len(group) > 1 and role in ("model", "tokenizer", "generation"):
            group.sort(key=lambda r: r.name.count("/"))
        ranked = sorted(named or group, key=lambda r: (-_interest(r), r.name.count("/"), r.name))
        kept = ranked if named and role != "script" else ranked[:1]
        chosen += kept
        pointed |= {f for r in kept for f in r.files}
        rest = [r for r in group if r not in kept]
        unused += rest
        if not named:
            conflicts += [pair for r in rest for pair in _disagreements(kept[0], r)]
    return chosen, unused, conflicts


def _interest(reading: Reading) -> int:
    return len(reading.values) if reading.framework != "generic" else len(reading.values) // 3


def _same_file(name: str, mentioned: str) -> bool:
    short = mentioned.rsplit("/", 1)[-1]
    return name == mentioned or name.rsplit("/", 1)[-1] == short


def _disagreements(used: Reading, other: Reading) -> list[tuple[Setting, Setting]]:
    """Different values of one public variable, only between files that could both have configured this run."""
    if used.framework != other.framework or used.role not in ("trainer", "script", "deepspeed", "engine"):
        return []
    shared = used.values.keys() & other.values.keys()
    if len(shared) < 3:
        return []
    return [(used.values[v], other.values[v]) for v in sorted(shared)
            if v in JUDGED and used.values[v].value != other.values[v].value]


JUDGED = ("learning_rate", "micro_batch_size", "grad_accumulation", "global_batch_size", "precision", "max_steps",
          "warmup_steps", "warmup_ratio", "sequence_length", "grad_clip", "weight_decay", "kl_coef", "dpo_beta")
"""Variables whose disagreement matters enough to be told."""
RL = ("grpo", "ppo", "rl")


def _resolve(values: dict[str, Setting], others: dict[str, Setting], framework: str, hints: list[str]) -> None:
    """Variables that several keys decide together: precision, stage, beta, KL."""
    _resolve_precision(values)
    _resolve_stage(values, others, hints)
    stage = values["stage"].value if "stage" in values else ""
    if "beta" in values:
        target = "kl_coef" if stage in RL else "dpo_beta"
        values.setdefault(target, replace(values["beta"], variable=target))
    if loss := [values[v] for v in ("kl_loss_coef", "kl_reward_coef") if v in values]:
        in_reward = values.get("use_kl_in_reward")
        in_loss = values.get("use_kl_loss")
        reward = in_reward is not None and in_reward.value and not (in_loss is not None and in_loss.value)
        pick = values.get("kl_reward_coef") if reward else None
        values.setdefault("kl_coef", replace(pick or loss[0], variable="kl_coef"))
    if "min_lr_ratio" in values and "learning_rate" in values and "min_learning_rate" not in values:
        ratio = values["min_lr_ratio"]
        values["min_learning_rate"] = replace(ratio, variable="min_learning_rate", column=-1,
                                              value=ratio.value * values["learning_rate"].value)
    if framework == "hf" and stage in ("dpo", "grpo", "kto", "orpo") and "rollout_temperature" in values \
            and stage != "grpo":
        del values["rollout_temperature"]


def _resolve_precision(values: dict[str, Setting]) -> None:
    """The switch that is on names the precision; fp8 computes on top of bf16."""
    on = [values[v] for v in ("fp8", "bf16", "fp16") if v in values and values[v].value is True]
    if on:
        values["precision"] = replace(on[0], variable="precision", value=on[0].variable)
    elif "precision" not in values and (dtype := values.get("model_dtype")) and dtype.framework not in (
            "model", "generation"):
        values["precision"] = replace(dtype, variable="precision")


def _resolve_stage(values: dict[str, Setting], others: dict[str, Setting], hints: list[str]) -> None:
    """The kind of training: written down, else spoken of by losses and names, else shown by its own keys."""
    if "stage" in values:
        return
    word = ""
    near = next(iter(values.values()), None)
    if "num_generations" in values or any("reward_funcs" in k for k in others):
        word = "grpo"
        near = values.get("num_generations", near)
    else:
        loss = values.get("loss_type")
        word = frameworks.stage_in([str(loss.value)] if loss else []) or frameworks.stage_in(hints)
        if not word and "beta" in values and "max_prompt_length" in values:
            word = "dpo"
    if word and near:
        values["stage"] = Setting("stage", STAGES.get(word, word), word, near.key, near.file, near.line, -1)


def one_file(path: Path, name: str = "") -> tuple[Settings, Reading]:
    """The settings of a single file, resolved; what tools that judge one config use."""
    return settings_of(reading := read_file(path, name)), reading


def settings_of(reading: Reading) -> Settings:
    """One file's settings with the variables that several keys decide together."""
    if not reading.values and not reading.others:
        return Settings(framework=reading.framework, files=(reading.name,))
    return combine([reading])[0]


def counts(settings: Settings) -> Counter[str]:
    """How many settings each file gives."""
    return Counter(s.file for s in settings)
