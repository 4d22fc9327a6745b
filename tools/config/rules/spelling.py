"""Rules on keys that no program reads, because they are spelled nearly as one that it does."""

from __future__ import annotations

from collections.abc import Iterator

from ...settings import Setting, Settings
from ..frameworks import named
from ..keys import normal, table
from ..spelled import misspelt
from .rule import Fault, rule

FILES = ("json", "yaml", "toml")
"""Forms of files in which an unknown key is passed over; a command line with one is refused."""
NAMES = ("model", "dataset", "chat_template", "eval_dataset")
"""Variables whose keys a script of one's own has in the plural too."""


@rule("deepspeed-key-misspelt", "S1")
def deepspeed_key_misspelt(settings: Settings) -> Iterator[Fault]:
    """A key of the DeepSpeed file is spelled nearly as one that DeepSpeed reads, which is absent: it is passed over.

    Why: DeepSpeed says nothing of keys that it does not know, so the whole block has no effect: no ZeRO, no offload,
        no clipping.
    Bad: `{"train_micro_batch_size_per_gpu": 2, "zero_optimisation": {"stage": 3}}` in `ds.json`;
        `{"train_micro_batch_size_per_gpu": 2, "gradient_cliping": 1.0}` in `ds.json`;
        `{"zero_optimization": {"stage": 2, "offload_optimiser": {"device": "cpu"}}}` in `ds.json`.
    Good: `{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 3}}` in `ds.json`; a key of one's own
        that is like none of them, `{"train_micro_batch_size_per_gpu": 2, "team_note": {"stage": 3}}` in `ds.json`.
    Known gaps: keys that are more than two letters of one word away.
    Source: DeepSpeed's configuration reference; runbook entry `deepspeed-zero-misconfig`.
    """
    yield from _faults(settings, ("deepspeed",))


@rule("key-misspelt", "S2")
def key_misspelt(settings: Settings) -> Iterator[Fault]:
    """A key of a configuration file is spelled nearly as one that the program reads, which is absent.

    Why: most loaders pass over a key that they do not know, and the default is in force.
    Bad: `per_device_train_batch_size: 4`, `learning_rate: 1.0e-5` and `gradient_acumulation_steps: 8`;
        `per_device_train_batch_size: 4`, `learning_rate: 1.0e-5` and `warm_up_steps: 100`.
    Good: `per_device_train_batch_size: 4`, `learning_rate: 1.0e-5` and `gradient_accumulation_steps: 8`; the right
        key beside the other, `per_device_train_batch_size: 4`, `warmup_steps: 100`, `learning_rate: 1.0e-5` and
        `warmup_step: 7`.
    Known gaps: programs of one's own, whose keys nobody knows; a loader that refuses unknown keys stops by itself.
    Source: own judgement; runbook entry `renamed-argument`.
    """
    frameworks = {s.framework for s in settings.others.values()} - {"", "generic", "deepspeed", "env", "launcher"}
    yield from _faults(settings, tuple(sorted(frameworks)))


def _faults(settings: Settings, frameworks: tuple[str, ...]) -> Iterator[Fault]:
    written = (*settings.values.values(), *settings.shadowed, *settings.others.values())
    told = set[tuple[str, str]]()
    for setting in settings.others.values():
        if setting.framework not in frameworks or setting.style not in FILES or named(setting.framework).programmed:
            continue
        others = {normal(s.key) for s in written if s.file == setting.file}
        pair = misspelt(setting.framework, setting.key, others)
        if pair is None or (setting.file, pair[0]) in told or _said_elsewhere(settings, setting, pair[1]):
            continue
        if pair[0].lstrip("_") == pair[1]:
            continue  # underscores before a name are meant: what a library keeps for itself
        told.add((setting.file, pair[0]))
        yield _fault(setting, *pair)


def _said_elsewhere(settings: Settings, setting: Setting, right: str) -> bool:
    """Whether the variable is set all the same, or is one whose name scripts have in several forms."""
    variable = table(setting.framework).get(right, ("", 0))[0]
    return variable in NAMES or (variable != "" and settings.get(variable) is not None)


def _fault(setting: Setting, wrong: str, right: str) -> Fault:
    whose = setting.framework
    return Fault(
        setting.variable,
        f"{setting.file} writes {wrong}, which {whose} does not know: the key that it reads is {right}, which is "
        "absent, so what stands there has no effect",
        f"{setting.file} 写的是 {wrong}，{whose} 不认识这个键；它读取的键是 {right}，文件里没有："
        "拼写错误，这里写的内容不生效",
    )
