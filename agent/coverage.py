"""Every file of a run exactly once: read as what, or why not; and which of the unread could have shown a fault.

An answer calls a run healthy only where nothing that could show the trouble was left unread.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from ..tools.findings import Report
from ..tools.run import Artifact, Run, files_below
from ..tools.series import SeriesTable
from ..tools.settings import Settings

LISTED = 5000
"""Files of checkpoint folders that are listed one by one."""
SHOWING = frozenset(
    [
        ".csv",
        ".tsv",
        ".json",
        ".jsonl",
        ".ndjson",
        ".md",
        ".txt",
        ".rst",
        ".diff",
        ".patch",
        ".parquet",
        ".arrow",
        ".db",
        ".sqlite",
        ".sqlite3",
        ".wandb",
        ".xlsx",
        ".npz",
        ".prom",
    ]
)
"""Ends of names of files in which a fault may be written down: tables, results, notes, trackers."""
_TRACKER = re.compile(r"^events\.out\.tfevents|\.wandb$")
_PAPERS = re.compile(
    r"^(?:README|LICEN[CS]E|COPYING|NOTICE|AUTHORS|CONTRIBUTING|CODE_OF_CONDUCT|SECURITY|CITATION|MODEL_CARD"
    r"|Dockerfile|robots)"
    r"(?:[._-].*)?$|^requirements[\w.-]*\.txt$|^package(?:-lock)?\.json$|^tsconfig.*\.json$|^\."
    r"|^generation_config\.json$"
    r"|(?:^|_)index\.json$|^(?:dataset_infos?|manifest|state|preprocessor_config|processor_config)\.json$",
    re.IGNORECASE,
)
"""Papers of a repository or a model, which tell nothing of one run."""


@dataclass(frozen=True)
class Covered:
    """One file of the run."""

    file: str
    read_as: str | None
    """What it was read as, None for not at all."""
    why: str
    """Why it was not read, or how little of it; empty for a file that was read."""
    evidence: bool = True
    """Whether whoever refused it thinks that it could have shown a fault."""

    @property
    def missed(self) -> bool:
        """Whether it was not read though it could have shown a fault."""
        name = PurePosixPath(self.file).name
        shows = PurePosixPath(name).suffix.lower() in SHOWING or _TRACKER.search(name)
        return self.read_as is None and self.evidence and bool(shows) and not _PAPERS.search(name)


def coverage(run: Run, table: SeriesTable, settings: Settings, reports: Iterable[Report]) -> tuple[Covered, ...]:
    """The account of every file under the path, in the order of names."""
    measured = {s.file for s in table}
    nothing = {
        c.name.removeprefix("metrics in "): c.why for r in reports for c in r.checks if c.result == "not-applicable"
    }
    found = [c for a in run.artifacts for c in _artifact(a, measured, settings, nothing)]
    found += [Covered(s.name, None, s.why, s.evidence) for s in (*run.skipped, *run.unknown)]
    return tuple({c.file: c for c in sorted(found, key=lambda c: (c.read_as is None, c.file))}.values())


def _artifact(a: Artifact, measured: set[str], settings: Settings, nothing: dict[str, str]) -> Iterator[Covered]:
    if a.path.is_dir():
        inside = (f.relative_to(a.path).as_posix() for f in files_below(a.path, LISTED))
        yield from (Covered(f"{a.name}/{name}", a.kind, "") for name in inside)
    elif a.kind == "log" and a.name not in measured:
        yield Covered(a.name, "log", "only error lines were looked for: no line in a known metric format")
    elif a.kind == "metrics" and a.name not in measured:
        yield Covered(a.name, None, nothing.get(a.name, "no metric in it is known"))
    elif a.kind in ("config", "script") and a.name not in settings.files:
        yield Covered(a.name, a.kind, "no known setting in it is in force")
    elif a.kind == "stack":
        yield Covered(a.name, a.kind, "only whether the dump is whole was looked at")
    else:
        yield Covered(a.name, a.kind, "")
