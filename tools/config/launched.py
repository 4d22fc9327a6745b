"""What a launch does with the files that it starts from: overrides laid over them, a part chosen, defaults replaced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..run import Run
from .collect import Reading
from .keys import normal
from .syntax.commands import CONFIG_FILE
from .syntax.source import DEFAULT, short

CONFIG = ("config", "c", "cfg", "conf", "config_path", "config-path")
"""Flags by which a launch names the configuration of its program."""
OVERRIDES = "overrides"
"""Role of a file that holds nothing but `key=value` of a command line."""


def layered(readings: Sequence[Reading]) -> list[Reading]:
    """The readings with each list of overrides laid over the configuration of its folder, which it wins over."""
    lists = [r for r in readings if r.role == OVERRIDES]
    rest = [r for r in readings if r.role != OVERRIDES]
    for given in lists:
        folder = given.name.rpartition("/")[0]
        below = [r for r in rest if r.name.rpartition("/")[0] == folder and r.role in ("trainer", "generic", "engine")]
        target = max(below, key=lambda r: len(r.values), default=None)
        if target is None:
            given.role = "script"
            rest.append(given)
            continue
        target.shadowed += [
            old for v, s in given.values.items() if (old := target.values.get(v)) and old.value != s.value
        ]
        target.values.update(given.values)
        target.others.update(given.others)
    return rest


def without_overridden(readings: list[Reading], run: Run) -> list[Reading]:
    """The readings without the defaults of programs where a launch names a configuration file that is not here.

    Such a file says otherwise than the defaults, or it would not be; what it says is not visible.
    """
    here = {short(one.name) for one in (*run.artifacts, *run.skipped)}
    given = (s.raw for r in readings if r.role == "script" for key, s in r.others.items() if key in CONFIG)
    launched = {short(raw) for raw in given if CONFIG_FILE.fullmatch(raw)}
    if launched <= here:
        return readings
    return [r.only(lambda s: s.style != DEFAULT) for r in readings]


def chosen_sections(readings: list[Reading]) -> list[Reading]:
    """Files of which a launch chooses a part (`--phase anneal`), with what stands there winning over the rest."""
    said = {s.raw for r in readings if r.role == "script" for s in (*r.values.values(), *r.others.values())}
    pointed = {short(f) for r in readings if r.role == "script" for f in r.files}
    out = []
    for reading in readings:
        parts = [reading.sections[name] for name in reading.sections if name in said]
        if len(parts) == 1 and short(reading.name) in pointed:
            reading = replace(reading, values=reading.values | parts[0])
        out.append(reading)
    return out


def as_in_file(readings: Sequence[Reading]) -> None:
    """What a launch gives under a name of the configuration means what it means there: the `bs` beside an `mbs` is no
    micro-batch."""
    others = {normal(key) for r in readings if r.role in ("generic", "trainer") for key in r.others}
    read = {normal(s.key) for r in readings if r.role in ("generic", "trainer") for s in r.values.values()}
    for reading in readings if others - read else ():
        if reading.role != "script":
            continue
        for variable, setting in list(reading.values.items()):
            if setting.style == "override" and normal(setting.key) in others - read:
                del reading.values[variable]
                reading.others[setting.key] = replace(setting, variable=setting.key)
