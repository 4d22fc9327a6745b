"""Which run is judged where a path holds several trainings: the one that is told, or the only one that can be meant.

Where nothing tells, nothing is guessed: the trainings are named, and the person says which.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ....tools.findings import TriageError, clean
from ....tools.logs.attempts import same
from ...evidence import Choose, Look, Training, named_or_worst
from ...paths import path_of

NAMED = 12
"""Trainings that are named where one has to be chosen."""


def the_failed(paths: Sequence[Path], run: str = "") -> Choose:
    """The training at the path `run`, else the worst, as a diagnosis chooses it.

    Args:
        paths: the baseline.
        run: the path that a diagnosis was about; empty for none.
    """

    def choose(found: Sequence[Training]) -> Training:
        told = [t for t in found if run and path_of(paths, t.name).absolute() == Path(run).absolute()]
        if len(told) > 1:
            return named_or_worst("")(told)  # side by side in one folder: as the diagnosis chose
        worst = min(t.grade for t in found)
        return _only(told or [t for t in found if t.grade == worst], paths[0], "baseline")

    return choose


def the_next(path: Path, before: Look) -> Choose:
    """The training that is not the baseline's."""

    def choose(found: Sequence[Training]) -> Training:
        others = [t for t in found if not same(t.table, before.table)]
        return _only(others or found, path, "candidate")

    return choose


def _only(found: Sequence[Training], path: Path, role: str) -> Training:
    """The only one, or the one that lies in the path itself and not below it.

    Raises:
        TriageError: several could be meant.
    """
    meant = found if len(found) == 1 else [t for t in found if not t.name]
    if len(meant) == 1:
        return meant[0]
    names = [clean(t.name, 80) for t in found]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    raise TriageError(
        f"{path} holds several runs that could be the {role}: {', '.join(names[:NAMED])}{more}; name one of them, for "
        f"example {path / names[0]}"
    )
