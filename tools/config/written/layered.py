"""What a launch does with other files: it lays Hydra's `overrides.yaml` over a configuration."""

from __future__ import annotations

from collections.abc import Sequence

from ..collect import Reading

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
