"""What was changed between two runs: settings in force, those of files that nothing refers to, and programs.

A file of settings that no launch names (`conf/model.yaml` beside `conf/train.yaml`) is in nobody's settings, and may
hold what was changed all the same: each is held against the one of its name in the other run.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....tools.config.combine import settings_of
from ....tools.config.diff import Difference, diff
from ....tools.config.read import read_file
from ....tools.config.syntax.source import Refused
from ....tools.run import Artifact, Run
from ....tools.settings import Settings
from ...evidence import Look
from .programs import edited

MOST_FILES = 40
"""Files of settings that are held against each other."""


def changed(before: Look, after: Look) -> tuple[Difference, ...]:
    """The differences that count, each once; those of files that nothing refers to come last."""
    known = diff(before.settings, after.settings)
    found = [d for d in known if d.counts]
    for d in _of_unused(before, after):
        if all(_name(d) != _name(other) for other in found):
            found.append(d)
    if program := edited(before.run, after.run, (*known, *found)):
        found.append(program)
    return tuple(found)


def _name(d: Difference) -> str:
    """A setting's own name, whatever block it stands in: a tracker's copy of it is no second change."""
    return d.variable.rpartition(".")[2]


def _of_unused(before: Look, after: Look) -> Iterator[Difference]:
    used = {*before.settings.files, *after.settings.files}
    old, new = (_files(look.run) for look in (before, after))
    for name in [n for n in old if n in new and n not in used][:MOST_FILES]:
        sides = _read(old[name]), _read(new[name])
        if None not in sides:
            yield from (d for d in diff(*sides) if d.counts)  # pyright: ignore[reportArgumentType]


def _files(run: Run) -> dict[str, Artifact]:
    return {a.name: a for a in run.of("config") if not a.attempt}


def _read(artifact: Artifact) -> Settings | None:
    try:
        return settings_of(read_file(artifact.path, artifact.name))
    except Refused:
        return None
