"""What a launch does with the files that it starts from: overrides laid over them, a part chosen, defaults replaced."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ..patterns import bounded
from ..run import Run
from .collect import Reading
from .keys import normal
from .syntax.commands import CONFIG_FILE
from .syntax.source import DEFAULT, short
from .values import UNSET, convert

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
    meant = {
        normal(s.key): s.variable
        for r in readings
        if r.role in ("generic", "trainer")
        for v, s in r.values.items()
        if s.variable == v
    }
    for reading in readings:
        if reading.role != "script":
            continue
        for variable, setting in list(reading.values.items()):
            key = normal(setting.key)
            elsewhere = key in others - read or meant.get(key, variable) != variable
            if setting.style != "override" or not elsewhere:
                continue
            del reading.values[variable]
            value = convert(meant[key], setting.raw, key) if key in meant else UNSET
            if value is not UNSET:
                reading.values[meant[key]] = replace(setting, variable=meant[key], value=value)
            else:
                reading.others[setting.key] = replace(setting, variable=setting.key)


def with_parts(readings: Sequence[Reading]) -> list[Reading]:
    """The readings with what belongs to one configuration put together: the values of a chart with those laid over
    them, and small files of one folder that share no setting (`conf/model.yaml`, `conf/optim.ini`)."""
    return _beside_each_other(_charts(list(readings)))


CHART, LAID_OVER = re.compile(r"values\.ya?ml$"), re.compile(r"values[-_.][\w-]{1,40}\.ya?ml$")
"""What Helm starts from, and what it is given over that."""


def _charts(readings: list[Reading]) -> list[Reading]:
    """Without the values of a chart, which the only file laid over them keeps where it says nothing else."""
    for base in [r for r in readings if CHART.match(short(r.name))]:
        folder = base.name.rpartition("/")[0]
        over = [r for r in readings if r.name.rpartition("/")[0] == folder and LAID_OVER.match(short(r.name))]
        if len(over) == 1:
            over[0].shadowed += [s for v, s in base.values.items() if v in over[0].values]
            over[0].values = base.values | over[0].values
            over[0].others = base.others | over[0].others
            readings = [r for r in readings if r is not base]
    return readings


MOST_PARTS = 4
ANOTHER = bounded(
    r"(?i)(?:^|[^a-z])(?:eval\w*|test\w*|val|infer\w*|serve?\w*|deploy\w*|generat\w*|sampling|teacher|critic|reward|judge|sweep"
    r"|old|bak|backup|examples?|templates?|debug|smoke|prev\w*|base ?line)(?=[^a-z]|$)|评测|推理|教师|旧|示例"
)
"""Names of files that set something else than the training beside them."""


def _beside_each_other(readings: list[Reading]) -> list[Reading]:
    """Files of nobody's in one folder that all say different things are parts of what the largest begins."""
    folders: dict[str, list[Reading]] = {}
    for reading in readings:
        program = reading.name.lower().endswith((".py", ".ipynb"))
        if reading.role == "generic" and reading.framework == "generic" and reading.values and not program:
            folders.setdefault(reading.name.rpartition("/")[0], []).append(reading)
    for group in folders.values():
        said = [variable for r in group for variable in r.values]
        lead = max(group, key=lambda r: ("learning_rate" in r.values, len(r.values)))
        parts = [r for r in group if r is not lead]
        if not 1 < len(group) <= MOST_PARTS or len(said) != len(set(said)) or "learning_rate" not in lead.values:
            continue
        if any(ANOTHER.search(short(r.name)) for r in parts):
            continue
        for part in parts:
            lead.values.update(part.values)
            lead.others = part.others | lead.others
        readings = [r for r in readings if r not in parts]
    return readings
