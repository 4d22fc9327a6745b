"""Names of nobody's that mean one thing or another by their whole file: `temperature`, `beta`, `bs` beside `mbs`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..settings import Setting
from .collect import Reading, as_setting
from .keys import normal
from .naming import BATCH, sorting, words
from .syntax.source import Item, Source
from .values import RL, UNSET, convert

ROLLOUTS = frozenset(("num_generations", "rollout_batch_size", "kl_coef", "kl_loss_coef", "kl_reward_coef"))
"""Settings beside which texts are sampled to train on."""
SERVED = frozenset(("max_model_len", "gpu_memory_utilization", "max_num_seqs", "repetition_penalty", "sampling",
                    "max_response_length", "stop_tokens"))  # fmt: skip
HEAT = ("temperature", "temp", "sampling_temperature", "温度", "采样温度")
PREFERENCE = ("dpo", "kto", "orpo", "simpo", "ipo", "cpo", "sigmoid", "hinge")
"""Stages and losses that have a beta."""
OWN = ("", "loss", "algorithm", "rollout", "decode", "length", "model", "engine")
"""What the headings may be about below which a name is still that of the file's own training."""


def temperature_of(values: Mapping[str, Setting]) -> str:
    """Which temperature a file means that calls it so; empty where it may be either, or that of a loss."""
    stage = values.get("stage")
    if not ROLLOUTS.isdisjoint(values) or (stage is not None and stage.value in RL):
        return "rollout_temperature"
    return "sampling_temperature" if not SERVED.isdisjoint(values) and "learning_rate" not in values else ""


def by_company(reading: Reading, items: Iterable[Item], source: Source) -> None:
    """Add what a name means by what else its file sets; nothing that was read is changed."""
    values = reading.values
    own = [i for i in items if i.text and all(sorting(p) in OWN or p == "candidate" for p in i.key.split(".")[:-1])]
    _add(reading, temperature_of(values), HEAT, own, source)
    said = [str(values[v].value).lower() for v in ("stage", "loss_type") if v in values]
    if "kl_coef" not in values and any(one in PREFERENCE for one in said):
        _add(reading, "dpo_beta", ("beta",), own, source)
    _whole_batch(reading)


def _add(reading: Reading, variable: str, names: tuple[str, ...], items: list[Item], source: Source) -> None:
    """The value of the one key of these names, as the variable that it is here."""
    if not variable or variable in reading.values:
        return
    found = [i for i in items if normal(i.key).rpartition(".")[2] in names]
    value = convert(variable, found[0].text, normal(found[0].key)) if len(found) == 1 else UNSET
    if value is not UNSET:
        reading.values[variable] = as_setting(variable, value, found[0], source, reading.framework)
        reading.others.pop(found[0].key, None)


def _whole_batch(reading: Reading) -> None:
    """A plain batch beside a micro-batch of which it is a multiple is that of all devices."""
    micro = reading.values.get("micro_batch_size")
    if micro is None or "global_batch_size" in reading.values:
        return
    for setting in reading.shadowed:
        plain = setting.variable == "micro_batch_size" and words(setting.key.rpartition(".")[2]) == BATCH
        if plain and setting.value > micro.value and setting.value % micro.value == 0:
            reading.values["global_batch_size"] = replace(setting, variable="global_batch_size")
