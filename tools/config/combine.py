"""From the files of a run to the settings in force: which files belong together, and what several keys decide."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ..findings import Check
from ..run import Artifact, Run, natural
from ..settings import Setting, Settings
from . import programs
from .collect import Reading
from .frameworks import named
from .launched import as_in_file, chosen_sections, layered, with_parts, without_overridden
from .printed.logged import with_logs
from .printed.reported import named_by_results
from .read import NOT_READ, read_file
from .syntax.notebook import idle
from .syntax.source import Refused, TooLarge, short
from .telling import stage_in
from .values import RL, STAGES
from .written import beside

PRECEDENCE = ("notes", "log", "model", "tokenizer", "generation", "adapter", "deepspeed", "launcher", "engine",
              "request", "program", "generic", "trainer", "script")  # fmt: skip
"""Roles from weak to strong: the command line wins over the trainer's file, that over what it includes."""


def read_settings(
    run: Run, attempt: str = "", read: Callable[[Path, str], Reading] = read_file
) -> tuple[Settings, tuple[Check, ...]]:
    """The settings in force in one attempt of a run, and what was looked at.

    Precedence, low to high: model and tokenizer files, DeepSpeed and accelerate files, the trainer's config,
    the launch script. Files that disagree without anything telling which was used end in `Settings.conflicts`.

    Args:
        run: what `discover` found.
        attempt: directory of the attempt; empty for the run itself or, where only attempts have configs, the
            last of them.
        read: reads one of its files.
    """
    checks: list[Check] = []
    readings: list[Reading] = []
    refused: list[tuple[Artifact, Refused]] = []
    for artifact in _chosen(run, attempt):
        try:
            readings.append(read(artifact.path, artifact.name))
        except Refused as error:
            refused.append((artifact, error))
    checks += _refused(refused, readings)
    inside = {name for r in readings for name in r.read_in}
    readings = chosen_sections([r for r in readings if r.name not in inside])
    readings = programs.chosen(readings, run)
    programs.launch(readings)
    readings = [r for r in without_overridden(readings, run) if r.values or (r.role == "script" and r.files)]
    near = _of_attempt(run.artifacts, run, attempt)
    readings = layered([*readings, *beside.tables(near, read)])
    readings = with_parts(readings)
    as_in_file(readings)
    readings = with_logs(run, attempt, readings)
    readings += beside.told(near, readings)
    for reading in readings:
        checks += [Check(f"read {reading.name}", "failed", f"{reading.name}: {p}") for p in reading.problems]
    if not any(r.values for r in readings):
        why = (
            "no config file or launch script with training or serving settings is visible here; settings made "
            "inside a program cannot be seen"
        )
        checks.append(Check("settings", "not-applicable", why))
        return Settings(), tuple(checks)
    settings, unused = combine(readings, named_by_results(run, readings))
    checks.append(_summary(settings, unused))
    return settings, tuple(checks)


def _refused(refused: Iterable[tuple[Artifact, Refused]], readings: Sequence[Reading]) -> Iterator[Check]:
    """What was not read. A program so long that no person wrote it is none of the run's if no launch names it."""
    launched = {short(name) for r in readings for command in r.programs for name in command}
    for artifact, error in refused:
        suffix = artifact.path.suffix.lower()
        bundled = isinstance(error, TooLarge) and suffix == ".py" and short(artifact.name) not in launched
        result = "not-applicable" if bundled or suffix in NOT_READ else "failed"
        yield Check(f"read {artifact.name}", result, str(error))


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

    Where everything that was logged lies in one folder, its files and those above it are one run's.
    """
    found = [a for a in run.of("config", "script", "tokenizer") if _readable(a) and not beside.is_notes(a)]
    found += programs.candidates(run.of("code"))
    left = idle(a.path for a in found)
    return _of_attempt([a for a in found if a.path not in left], run, attempt)


def _of_attempt(found: Sequence[Artifact], run: Run, attempt: str) -> list[Artifact]:
    base = [a for a in found if not a.attempt]
    logged = {a.attempt for a in run.of("log", "metrics")}
    if not attempt and len(logged) == 1:
        return [a for a in found if a.attempt in ("", *logged)]
    if not attempt and not base and found:
        attempt = max({a.attempt for a in found}, key=natural)
    own = [a for a in found if a.attempt == attempt and attempt]
    shared = [] if any(a.kind == "config" or a.kind == "script" for a in own) else base
    return [*(shared if attempt else base), *own]


def _readable(artifact: Artifact) -> bool:
    if artifact.kind != "tokenizer":
        return True
    return artifact.path.name in (
        "tokenizer_config.json",
        "config.json",
        "generation_config.json",
        "adapter_config.json",
    )


def combine(readings: list[Reading], named_so: Iterable[str] = ()) -> tuple[Settings, list[str]]:
    """One `Settings` out of several files, and the names of files that were left out.

    Args:
        readings: the files.
        named_so: names of files that something of the run says it was given.
    """
    chosen, unused, conflicts, unsure = _pick(readings, {*named_so})
    chosen.sort(key=lambda r: PRECEDENCE.index(r.role))
    values: dict[str, Setting] = {}
    others: dict[str, Setting] = {}
    shadowed = [s for r in unused if r.role == "request" for s in r.values.values()]  # of several, each was meant
    for reading in chosen:
        for variable, setting in reading.values.items():
            if (old := values.get(variable)) and _only_a_label(setting, old, reading):
                shadowed.append(setting)
                continue
            if old and old.value != setting.value:
                shadowed.append(old)
            values[variable] = setting
        shadowed += reading.shadowed
        plain = reading.role not in ("model", "tokenizer", "generation", "request")
        others |= {k: s for k, s in reading.others.items() if plain or k.startswith("eos_token_id.")}
    conflicts += _refused_by_trainer(chosen, values)
    leader = max(
        _leading(chosen), key=lambda r: (r.role in ("script", "trainer"), r.framework != "generic", len(r.values))
    )
    hints = [h for r in chosen if r.role in ("script", "trainer", "generic", "log") for h in r.hints]
    hints += [h for r in chosen if r.role == "program" for h in r.hints]
    _resolve(values, others, leader.framework, hints)
    settings = Settings(
        values,
        tuple(shadowed),
        others,
        tuple(conflicts),
        tuple(b for r in chosen for b in r.broken),
        leader.framework,
        tuple(r.name for r in chosen),
        named(leader.framework).defaults,
        named(leader.framework).train_batch,
        frozenset(unsure),
    )
    return settings, [r.name for r in unused]


def _leading(chosen: list[Reading]) -> list[Reading]:
    """The files that may say whose settings they are: a log only where none but those of models do."""
    files = [r for r in chosen if r.role not in ("log", "model", "tokenizer", "generation")]
    return files or [r for r in chosen if r.role == "log"] or chosen


def _only_a_label(setting: Setting, old: Setting, reading: Reading) -> bool:
    """Whether a script that does not name the trainer's file says under a common name what that file knows better."""
    plain = setting.variable in ("model", "dataset") and setting.framework == "generic" and reading.role == "script"
    shorter = "/" in old.raw and "/" not in setting.raw
    pointed = any(_same_file(old.file, f) for f in reading.files)
    return plain and old.framework != "generic" and (shorter or not pointed)


def _pick(
    readings: list[Reading], pointed: set[str]
) -> tuple[list[Reading], list[Reading], list[tuple[Setting, Setting]], set[str]]:
    """One file per role: the one that the others point to, else the one that says most, nearest to the root; and the
    variables that others of its kind set too, where nothing points to any."""
    chosen: list[Reading] = []
    unused: list[Reading] = []
    conflicts: list[tuple[Setting, Setting]] = []
    unsure: set[str] = set()
    for role in reversed(PRECEDENCE):
        group = [r for r in readings if r.role == role]
        if not group:
            continue
        named = [r for r in group if any(_same_file(r.name, f) for f in pointed)]
        if len(group) > 1 and role in ("model", "tokenizer", "generation"):
            group.sort(key=lambda r: r.name.count("/"))
        ranked = sorted(named or group, key=lambda r: (_second(r, group), *_interest(r), r.name.count("/"), r.name))
        kept = ranked if named and role != "script" else ranked[:1]
        if role == "program":
            kept = programs.together(group, ranked[0], [c for r in readings for c in r.programs])
        chosen += kept
        pointed |= {f for r in kept for f in r.files}
        rest = [r for r in group if r not in kept]
        unused += rest
        if not named:
            conflicts += [pair for r in rest for pair in _disagreements(kept[0], r)]
            unsure |= {v for v in kept[0].values if any(v in r.values for r in rest)}
    return chosen, unused, conflicts, unsure


def _second(reading: Reading, group: list[Reading]) -> bool:
    """Whether it is a program whose constants stand beside a file of settings that says enough."""
    if not (reading.role == "generic" and reading.name.endswith(PROGRAMS)):
        return False
    return any(len(r.values) >= ENOUGH and "learning_rate" in r.values and not r.name.endswith(PROGRAMS) for r in group)


PROGRAMS, ENOUGH = (".py", ".ipynb"), 4


def _interest(reading: Reading) -> tuple[int, bool]:
    """What says most comes first; of equals the one that trains."""
    said = len(reading.values) if reading.framework != "generic" else len(reading.values) // 3
    return -said, "learning_rate" not in reading.values


def _same_file(name: str, mentioned: str) -> bool:
    return short(name) == short(mentioned)


def _disagreements(used: Reading, other: Reading) -> list[tuple[Setting, Setting]]:
    """Different values of one public variable, only between files that could both have configured this run."""
    if used.framework != other.framework or used.role not in ("trainer", "script", "deepspeed", "engine"):
        return []
    shared = used.values.keys() & other.values.keys()
    if len(shared) < 3:
        return []
    return [
        (used.values[v], other.values[v])
        for v in sorted(shared)
        if v in JUDGED and used.values[v].value != other.values[v].value
    ]


def _refused_by_trainer(chosen: list[Reading], values: dict[str, Setting]) -> list[tuple[Setting, Setting]]:
    """What the DeepSpeed file of an HF trainer writes out otherwise than the trainer's own arguments."""
    theirs = [r for r in chosen if r.role == "deepspeed"]
    if not theirs or not any(named(r.framework).checks_deepspeed for r in chosen):
        return []
    return [
        (values[v], r.values[v])
        for r in theirs
        for v in MATCHED
        if v in r.values and values[v].value != r.values[v].value and named(values[v].framework).checks_deepspeed
    ]


MATCHED = ("micro_batch_size", "grad_accumulation", "grad_clip", "learning_rate", "weight_decay", "fp16", "bf16")
"""What the HF Trainer compares with its DeepSpeed file (`trainer_config_process`); it stops where they differ."""
JUDGED = ("learning_rate", "micro_batch_size", "grad_accumulation", "global_batch_size", "precision", "max_steps",
          "warmup_steps", "warmup_ratio", "sequence_length", "grad_clip", "weight_decay", "kl_coef",
          "dpo_beta")  # fmt: skip
"""Variables whose disagreement matters enough to be told."""


def _resolve(values: dict[str, Setting], others: dict[str, Setting], framework: str, hints: list[str]) -> None:
    """Variables that several keys decide together: precision, stage, beta, KL."""
    _resolve_precision(values)
    _leave_tokens(values)
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
        values["min_learning_rate"] = replace(
            ratio, variable="min_learning_rate", column=-1, value=ratio.value * values["learning_rate"].value
        )
    engine = values.get("deepspeed")
    named = re.fullmatch(r"zero([0-3])(_offload)?", str(engine.value)) if engine else None
    if engine and named and "zero_stage" not in values:
        values["zero_stage"] = replace(engine, variable="zero_stage", value=int(named[1]), column=-1)
    if (
        framework == "hf"
        and stage in ("dpo", "grpo", "kto", "orpo")
        and "rollout_temperature" in values
        and stage != "grpo"
    ):
        del values["rollout_temperature"]


def _resolve_precision(values: dict[str, Setting]) -> None:
    """The switch that is on names the precision; fp8 computes on top of bf16."""
    on = [values[v] for v in ("fp8", "bf16", "fp16") if v in values and values[v].value is True]
    if on:
        values["precision"] = replace(on[0], variable="precision", value=on[0].variable)
    elif (
        "precision" not in values
        and (dtype := values.get("model_dtype"))
        and dtype.framework not in ("model", "generation")
    ):
        values["precision"] = replace(dtype, variable="precision")


MOST_SEQUENCES = 2**15
"""More sequences in a step than any text model is trained on, where their length divides the number (own judgement)."""


def _leave_tokens(values: dict[str, Setting]) -> None:
    """A batch of half a million that is a multiple of the sequence's length counts tokens under a name of sequences."""
    batch, length = values.get("global_batch_size"), values.get("sequence_length")
    if batch and length and length.value >= 64 and batch.value >= MOST_SEQUENCES and batch.value % length.value == 0:
        del values["global_batch_size"]


ALGORITHM = frozenset(("algo", "algorithm", "algo_name", "rl_algo", "算法"))
"""Keys whose value names the kind of training."""


def _resolve_stage(values: dict[str, Setting], others: dict[str, Setting], hints: list[str]) -> None:
    """The kind of training: written down, else spoken of by losses and names, else shown by its own keys."""
    if "stage" in values:
        return
    word = ""
    near = next(iter(values.values()), None)
    if _grouped(values) or any("reward_funcs" in k for k in others):
        word = "ppo" if any("critic_pretrain" in k for k in others) else "grpo"
        near = values.get("num_generations", near)
    else:
        loss = values.get("loss_type")
        said = [str(s.value) for k, s in others.items() if k.rpartition(".")[2] in ALGORITHM]
        word = stage_in([*([str(loss.value)] if loss else []), *said]) or stage_in(hints)
        if not word and "beta" in values and "max_prompt_length" in values:
            word = "dpo"
    if word and near:
        values["stage"] = Setting("stage", STAGES.get(word, word), word, near.key, near.file, near.line, -1)


def _grouped(values: dict[str, Setting]) -> bool:
    """Several answers are drawn for a prompt; a single one says so only under a name of a trainer's own."""
    several = values.get("num_generations")
    return several is not None and (several.value > 1 or several.framework != "generic")


def settings_of(reading: Reading) -> Settings:
    """One file's settings with the variables that several keys decide together."""
    if not reading.values and not reading.others:
        return Settings(framework=reading.framework, files=(reading.name,))
    return combine(layered([reading]))[0]
