"""What one file sets: each of its keys under the variable that it decides, of two keys the one that is obeyed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ..settings import Setting
from .frameworks import named
from .keys import normal, table
from .syntax import commands
from .syntax.shellvalues import UNKNOWN
from .syntax.source import Item, Source
from .values import UNSET, convert, measured

BOOKKEEPING = re.compile(r"(^|[._])_?(transformers_version|architectures|auto_map|added_tokens_decoder)($|\.)")

_SORTING = """
    args arguments algo algorithm batch batching ckpt checkpoint checkpointing config data dataloader dataset dist
    distributed dpo engine experiment finetune generation grpo hparams hyperparameters hyperparams loader lora
    loss loop lr_schedule model opt optim optimization optimiser optimizer parallel parallelism params parameters peft
    policy ppo precision pretrain ranks rl rope rollout run runtime sampler sampling sched schedule scheduler serve
    serving setup sft system train trainer training vllm actor
"""
PLAIN_SECTIONS = frozenset(_SORTING.split())
"""Headings that only sort the keys of a run; one of another model (critic, reference, evaluation) is none of them."""


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
    programs: list[tuple[str, ...]] = field(default_factory=list)
    """Of each command of the launch the programs it names: `python train.py config/small.py`."""
    hints: list[str] = field(default_factory=list)
    """Program and file names that may tell the stage."""
    broken: list[Setting] = field(default_factory=list)
    """Flags cut off from their command."""
    problems: list[str] = field(default_factory=list)


def take(reading: Reading, items: Iterable[Item], source: Source, names: tuple[str, ...]) -> None:
    """Sort items into canonical values and others; of two keys the better ranked, of two equal ones the last."""
    ranks: dict[str, int] = {}
    items = list(items)
    acting = any(ENVIRONMENTS.search(i.key) for i in items)
    for item in items:
        if item.text is not None and UNKNOWN in item.text:
            item = _without_value(item)
            if item is None:
                continue
        key = normal(item.key)
        _note_file(reading, item)
        variable, rank, framework = _lookup(key, names if item.style != "env" else ("env",))
        if item.means:
            variable, rank, framework = item.means, 0, names[0]
        variable = _of_engine(variable, key)
        if acting and variable == "max_steps" and OF_ROLLOUT.search(key):
            variable = ""
        variable, text = measured(variable, item.text)
        value = convert(variable, text, key, item.style == "switch") if variable else UNSET
        if not variable or value is UNSET:
            if item.style != "env" or key.startswith("nccl_"):
                _other(reading, item, source, names[0])
            continue
        setting = as_setting(variable, value, item, source, framework)
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
    """Variable, rank and framework of a key, of the first framework that knows it."""
    for name in names:
        if hit := table(name).get(key):
            return hit[0], hit[1], name
    if names[0] == "generic" and (hit := _in_section(key)):
        return hit[0], hit[1] + 50, names[0]
    if names[0] != "generic" and "." not in key and named(names[0]).tolerant and (hit := table("generic").get(key)):
        return hit[0], hit[1] + 50, names[0]
    return "", 0, ""


def _in_section(key: str) -> tuple[str, int] | None:
    """What a key of nobody's means under headings that say nothing else of it: `train.optim.lr`, `args.seq_len`."""
    *sections, last = key.split(".")
    if not sections or not PLAIN_SECTIONS.issuperset(sections):
        return None
    return table("generic").get(f"{sections[-1]}.{last}") or table("generic").get(last)


def _of_engine(variable: str, key: str) -> str:
    """`engine.tp` is the size of the inference engine, not that of the trainer."""
    return OF_ENGINE.get(variable, variable) if ENGINE_SECTION.search(key) else variable


ENVIRONMENTS = re.compile(r"(?i)(^|[._-])(n|num)_(envs|environments|steps_per_env|minibatches)$|(^|[._-])gae_lambda$")
"""Keys of a training that acts in environments: there `num_steps` is how far each goes before an update."""
OF_ROLLOUT = re.compile(r"(^|\.)(num_steps|n_steps|steps|nsteps)$")
OF_ENGINE = {
    "tensor_parallel": "engine_tensor_parallel",
    "pipeline_parallel": "engine_pipeline_parallel",
    "data_parallel": "engine_data_parallel",
}
ENGINE_SECTION = re.compile(r"(^|\.)(engine|rollout|vllm|sglang|serve|serving|llm|inference)\.(\w+\.)*\w+$")


def _other(reading: Reading, item: Item, source: Source, framework: str) -> None:
    part_of_list = item.style == "flag" and re.search(r"\.\d+$", item.key)
    if part_of_list or (item.text is None and item.style != "switch") or BOOKKEEPING.search(item.key):
        return
    value = True if item.text is None else item.text
    reading.others[item.key] = as_setting(item.key, value, item, source, framework)


def _note_file(reading: Reading, item: Item) -> None:
    if item.text and len(item.text) < 400:
        reading.files |= {w for w in item.text.split() if commands.CONFIG_FILE.fullmatch(w)}


def as_setting(variable: str, value: object, item: Item, source: Source, framework: str) -> Setting:
    """The item as a setting at its place in the file, with the text that stands there."""
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
