"""Which of several configurations a run was given: the one that its results and logs name, and no other.

Only the beginning of a file is read, where a program writes what it was started with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...findings import TriageError
from ...kinds import Kind
from ...reading import head
from ...run import Run
from ..collect import Reading
from ..syntax.source import short

BEGINNING, MOST = 8192, 200
"""Bytes of a file that are read, and files."""
TOLD: tuple[Kind, ...] = ("log", "metrics", "eval", "table", "document", "data", "generations")
"""What a run writes."""


def named_by_results(run: Run, readings: Iterable[Reading]) -> set[str]:
    """The name of the one configuration that what the run wrote names; empty for none and for several."""
    names = {short(r.name) for r in readings if r.role in ("trainer", "generic", "engine")}
    if len(names) < 2:
        return set()
    pattern = re.compile(rf"(?<![\w.-])({'|'.join(re.escape(n) for n in sorted(names))})(?![\w.-])")
    found = set[str]()
    for artifact in [a for a in run.of(*TOLD) if short(a.name) not in names][:MOST]:
        try:
            found.update(pattern.findall(head(artifact.path, BEGINNING).decode("utf-8", "replace")))
        except TriageError:
            continue
    return found if len(found) == 1 else set()
