"""Every file of a run exactly once: read as what, or why not; and which of the unread could have shown a fault.

An answer calls a run healthy only where nothing that could show the trouble was left unread.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING

from ..tools.findings import Report
from ..tools.kinds import OPEN, shows
from ..tools.run import Artifact, Run, Skipped, files_below
from ..tools.series import SeriesTable
from ..tools.settings import Settings

if TYPE_CHECKING:
    from ..tools.store.opened import Account

PASSED = 200
"""Files of a folder that is no part of a run, named one by one."""
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
_TRACKER = re.compile(r"^events\.out\.tfevents|\.(?:wandb|swanlab)$")
_PAPERS = re.compile(
    r"^(?:README|LICEN[CS]E|COPYING|NOTICE|AUTHORS|CONTRIBUTING|CODE_OF_CONDUCT|SECURITY|CITATION|MODEL_CARD"
    r"|Dockerfile|robots)"
    r"(?:[._-]|$)|^requirements[\w.-]*\.txt$|^package(?:-lock)?\.json$|^tsconfig.*\.json$|^\."
    r"|^generation_config\.json$|^(?:wandb|swanlab)-metadata\.json$"
    r"|(?:^|[_.])index\.json$|^(?:dataset_infos?|manifest|state|preprocessor_config|processor_config)\.json$",
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
    rows: int = 0
    points: int = 0
    """Rows of tables and points of series that it gave."""

    @property
    def missed(self) -> bool:
        """Whether it was not read though it could have shown a fault."""
        name = PurePosixPath(self.file).name
        shows = PurePosixPath(name).suffix.lower() in SHOWING or _TRACKER.search(name)
        return self.read_as is None and self.evidence and bool(shows) and not _PAPERS.search(name)


def coverage(
    run: Run,
    table: SeriesTable,
    settings: Settings | None,
    reports: Iterable[Report],
    accounts: Mapping[str, Account] = MappingProxyType({}),
    elsewhere: Iterable[Artifact] = (),
) -> tuple[Covered, ...]:
    """The account of every file under the path, each once, in the order of names; unread ones last.

    Args:
        run: what was looked at.
        table: its series.
        settings: what is set; None where nobody asked.
        reports: what the tools said of the files that they read.
        accounts: what the open readers said of theirs.
        elsewhere: files of other trainings under the same path.
    """
    points, reports = Counter[str](), tuple(reports)
    for series in table:
        points[series.file] += len(series)
    nothing = {
        c.name.removeprefix("metrics in "): c.why for r in reports for c in r.checks if c.result == "not-applicable"
    }
    cited = {e.file for r in reports for f in r.findings for e in f.evidence}
    cut = {c.cut: c.why for r in reports for c in r.checks if c.cut}
    nothing = {file: cut.get(file, why) for file, why in nothing.items() if file not in cited}
    judged = frozenset(name for r in reports if r.tool == "code" for name in r.summary.get("judged", ()))
    account = _Account(points, settings, nothing, accounts, judged)
    found = [Covered(s.name, None, s.why, s.evidence) for s in (*run.skipped, *run.unknown) if s.folder is None]
    held = (account.of(a) for a in run.artifacts if not a.path.is_dir())
    found += [c if c.points or c.rows or c.file not in cut else replace(c, read_as=None, why=cut[c.file]) for c in held]
    found += [Covered(a.name, a.kind, OTHER, False) for a in elsewhere if not a.path.is_dir()]
    named = {c.file: c for c in reversed(found)}
    for s in (*run.skipped, *run.unknown):
        if s.folder is not None:
            named = {c.file: c for c in _unlooked(s, s.folder)} | named
    for a in (*run.artifacts, *elsewhere):
        if a.path.is_dir():
            named = {c.file: c for c in _inside(a)} | named
    return tuple(sorted(named.values(), key=lambda c: (c.read_as is None, c.file)))


UNNAMED = "a program that no log, script or configuration of this run names"
OTHER = "belongs to another training under the same path, of which only the logs were judged"


def _inside(a: Artifact) -> Iterator[Covered]:
    """The files of a checkpoint folder; of one with weights beside other files, the weights."""
    for file in files_below(a.path, LISTED):
        name = file.relative_to(a.path).as_posix()
        yield Covered(name if a.name == "." else f"{a.name}/{name}", a.kind, "")


def _unlooked(s: Skipped, folder: Path) -> Iterator[Covered]:
    """The files of a folder that was not looked into, or the folder itself where they are many."""
    inside = files_below(folder, PASSED + 1)
    if not inside or len(inside) > PASSED:
        yield Covered(f"{s.name}/", None, s.why, s.evidence)
        return
    for file in inside:
        yield Covered(f"{s.name}/{file.relative_to(folder).as_posix()}", None, s.why, s.evidence and shows(file.name))


@dataclass(frozen=True)
class _Account:
    """What was read in a file, by those who read it."""

    points: Mapping[str, int]
    settings: Settings | None
    nothing: Mapping[str, str]
    opened: Mapping[str, Account]
    judged: frozenset[str]
    """Programs that the rules went through."""

    def of(self, a: Artifact) -> Covered:
        points, opened = self.points.get(a.name, 0), self.opened.get(a.name)
        rows = opened.rows if opened else 0
        if a.kind in OPEN and opened:
            read = a.kind if opened.read else None
            return Covered(a.name, read, opened.why, True, rows, max(points, opened.points))
        if a.kind == "metrics" and not points and not rows and a.name in self.nothing:
            return Covered(a.name, None, self.nothing[a.name])
        if a.kind == "code" and a.name not in self.judged:
            return Covered(a.name, None, UNNAMED, False)
        points = max(points, opened.points if opened else 0)
        return Covered(a.name, a.kind, self._little(a, points, rows), True, rows, points)

    def _little(self, a: Artifact, points: int, rows: int) -> str:
        """How little of a file was looked at, empty for one that was read."""
        if a.kind == "log" and not points and a.name in self.nothing:
            return "only error lines were looked for: no line in a known metric format"
        known = self.settings is None or rows or a.name in self.settings.files
        if a.kind in ("config", "script") and not known:
            return "no known setting in it is in force"
        return "only whether the dump is whole was looked at" if a.kind == "stack" else ""


def as_json(covered: Iterable[Covered]) -> list[dict[str, object]]:
    """The public form of an account."""
    return [
        {"file": c.file, "read_as": c.read_as, "why": c.why or None, "rows": c.rows, "points": c.points}
        for c in covered
    ]
