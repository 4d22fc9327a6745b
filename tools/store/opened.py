"""What the open readers give of a run: rows, series, events and claims of the files that no known format fits.

Each file is read once, bounded by its reader; a file that gives nothing has a reason. Who uses it decides what it
means: detectors see known metrics (`tools.logs.attempts.joined`), `tools.relate` and the store see everything.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from ..documents.event import Claim, Event
from ..documents.stated import Stated
from ..findings import Check, Report, TriageError, unread
from ..heads import holds_rows
from ..kinds import OPEN, Kind
from ..logs.company import in_company
from ..reading import head, iter_lines
from ..run import Artifact, Run
from ..series import Series
from ..tables.table import Table
from ..vocabulary import VOCABULARY

FILES = 500
"""Most files that the open readers look into: a table of each of a thousand prompts says no more."""
SECONDS = 60.0
"""Time after which no further file is begun: an answer is waited for."""
ALSO: tuple[Kind, ...] = ("eval",)
"""Kinds with readers of their own whose rows are wanted as well."""


@dataclass(frozen=True)
class Account:
    """What one file gave."""

    why: str = ""
    """Why it was not read, or what of it was not; empty for a file that was read."""
    read: bool = True
    rows: int = 0
    points: int = 0
    lines: int = 0
    """Dated or stepped lines and quantities of a document."""
    judged: bool = False
    """Whether there are curves of a known metric in it, which the detectors look at; having read it clears nothing."""
    broken: bool = False
    """Whether a reader gave up on it, rather than finding nothing."""

    def checks(self, name: str) -> Iterator[Check]:
        """The account as checks, of which what was not read has its own; none where there was nothing to read."""
        if self.points:
            why, zh = f"read {self.points} points in {self.rows} rows", f"读到 {self.rows} 行 {self.points} 个点"
            yield Check(f"metrics in {name}", "clear" if self.judged else "not-applicable", why, zh)
        elif self.rows or self.lines:
            told = f"{self.rows} rows, {self.lines} dated lines and quantities"
            yield Check(f"read {name}", "not-applicable", told, f"{self.rows} 行，{self.lines} 条事件和数量")
        if self.broken or (self.read and self.why):
            yield Check(f"read {'the rest of ' if self.read else ''}{name}", "failed", self.why)


@dataclass(frozen=True)
class Opened:
    """Everything that the open readers gave."""

    tables: tuple[Table, ...] = ()
    series: tuple[Series, ...] = ()
    events: tuple[Event, ...] = ()
    claims: tuple[Claim, ...] = ()
    accounts: Mapping[str, Account] = field(default_factory=dict)
    """By the name of the file."""

    @property
    def report(self) -> Report:
        """What was read and what could not be, as checks."""
        return Report("open", (), tuple(c for name, a in self.accounts.items() for c in a.checks(name)))

    def only(self, names: Iterable[str]) -> Opened:
        """What of it comes from these files; the accounts stay whole."""
        kept = set(names)
        return Opened(
            tuple(t for t in self.tables if t.file in kept),
            tuple(s for s in self.series if s.file in kept),
            tuple(e for e in self.events if e.file in kept),
            tuple(c for c in self.claims if c.file in kept),
            self.accounts,
        )


def read_open(run: Run, kinds: Sequence[Kind] = (*OPEN, *ALSO)) -> Opened:
    """Read the tables, trackers' files and documents of a run, and the rows of its evaluation results."""
    end, accounts, found = time.monotonic() + SECONDS, dict[str, Account](), list[_Found]()
    within = [a for a in run.of("config") if "table" in kinds and holds_rows(a.path)]
    for i, artifact in enumerate((*run.of(*kinds), *within)):
        if i >= FILES:
            accounts[artifact.name] = Account(f"over the limit of {FILES} tables, trackers and documents", False)
        elif time.monotonic() > end:
            accounts[artifact.name] = Account(f"over the limit of {SECONDS:.0f} s for such files", False)
        else:
            one = replace(_read(artifact), artifact=artifact)
            found.append(one)
            accounts[artifact.name] = one.account()
    found = _in_order(found)
    return Opened(
        tuple(t for one in found for t in one.tables),
        tuple(s for one in found for s in one.series),
        tuple(e for one in found for e in one.events),
        tuple(c for one in found for c in one.claims),
        accounts,
    )


def _in_order(found: list[_Found]) -> list[_Found]:
    """What was found, with the tables of files that are pieces of one as one table and its curves in the first."""
    from ..tables.series import series_of
    from .pieces import together

    plain = [t for one in found if not one.tracked for t in one.tables]
    made = together(plain)
    kept = {id(t) for t in made}
    if len(kept) == len(plain):
        return found
    was = {id(t) for t in plain}
    whole = {t.file: t for t in made if id(t) not in was}
    out = []
    for one in found:
        if one.tracked or all(id(t) in kept for t in one.tables):
            out.append(one)
            continue
        tables = [t for t in one.tables if id(t) in kept] + [t for n, t in whole.items() if n == one.tables[0].file]
        series = in_company(_placed(one.artifact, tables, series_of)) if one.artifact else ()
        out.append(replace(one, tables=tuple(tables), series=tuple(series)))
    return out


@dataclass(frozen=True)
class _Found:
    """What one file gave."""

    tables: tuple[Table, ...] = ()
    series: tuple[Series, ...] = ()
    events: tuple[Event, ...] = ()
    claims: tuple[Claim, ...] = ()
    failed: str = ""
    none: str = "no table was found in it"
    """What is said of a file without rows."""
    cut: str = ""
    whole: bool = True
    """Whether having read it needs no rows: prose."""
    tracked: bool = False
    """Whether a tracker wrote it."""
    artifact: Artifact | None = None

    def account(self) -> Account:
        rows, points = counted(self.tables)
        points, lines = max(sum(map(len, self.series)), points), len(self.events) + len(self.claims)
        cut = self.cut or next((t.cut for t in self.tables if t.cut), "")
        if self.failed or not (self.whole or rows):
            return Account(self.failed or self.none, False, broken=bool(self.failed))
        return Account(cut, True, rows, points, lines, any(s.metric in VOCABULARY for s in self.series))


def accounts_of(tables: Iterable[Table]) -> dict[str, Account]:
    """The accounts of files of which only rows were read, by name."""
    rows: dict[str, list[Table]] = {}
    for table in tables:
        rows.setdefault(table.file, []).append(table)
    made = (counted(own) for own in rows.values())
    return {name: Account(rows=n, points=points) for name, (n, points) in zip(rows, made, strict=True)}


def said_in(quantities: Iterable[Stated], accounts: Mapping[str, Account]) -> dict[str, Account]:
    """The accounts of JSON files that hold no table, and quantities by name."""
    lines = Counter(q.file for q in quantities if q.how == "said" and q.file.endswith(".json"))
    empty = {name for name, account in accounts.items() if not account.read and not account.broken}
    return {name: Account(lines=n) for name, n in lines.items() if name in empty}


def counted(tables: Iterable[Table]) -> tuple[int, int]:
    """(rows, numbers that were measured) of tables."""
    tables = list(tables)
    measures = (c.values for t in tables for c in t.of("measure") if c.values.dtype.kind == "f")
    return sum(map(len, tables)), sum(int(np.isfinite(values).sum()) for values in measures)


def _read(artifact: Artifact) -> _Found:
    """The boundary where a reader's exception becomes the reason why a file was not read."""
    try:
        return _BY_KIND.get(artifact.kind, _rows)(artifact)
    except (Exception, MemoryError) as error:
        return _Found(failed=unread(error).removeprefix(f"{artifact.name}: "))


def _document(artifact: Artifact) -> _Found:
    """Prose, and the tables that it quotes; a value that a tracker keeps in a file of its own is rows alone."""
    from ..documents.read import read_document

    rows = _Found()
    with suppress(TriageError):
        rows = _rows(artifact)
    if rows.tracked:
        return rows
    said = read_document(artifact.path, artifact.name)
    if said.left:
        return replace(rows, none=said.cut)
    return replace(rows, events=said.events, claims=said.claims, cut=said.cut, whole=True)


def _load(artifact: Artifact) -> _Found:
    """What a server's log says of its load, or results that a log prints; of any other nothing, which is no fault."""
    from ..tables.read import read_results
    from ..trackers.serving import read_server_lines

    served = read_server_lines(artifact.path, artifact.name)
    return _Found(served or read_results(iter_lines(artifact.path), artifact.name))


def _within(artifact: Artifact) -> _Found:
    """The rows that stand among settings, and what a notebook printed; a single row is settings itself, or results."""
    from ..tables.read import is_scored
    from .printed import printed

    found = _rows(artifact)
    series = found.series + tuple(in_company(printed(artifact)))
    tables = tuple(t for t in found.tables if len(t) > 1 or is_scored(t))
    return replace(found, tables=tables, series=series, whole=True)


_BY_KIND: Mapping[Kind, Callable[[Artifact], _Found]] = {"document": _document, "log": _load, "config": _within}


def _rows(artifact: Artifact) -> _Found:
    """The tables of a file, by its tracker's reader where one wrote it."""
    from ..tables.read import read_tables
    from ..tables.series import series_of
    from ..trackers.read import SNIFF, is_tracker, read_tracker

    tables: tuple[Table, ...] = ()
    tracked = is_tracker(artifact.name, head(artifact.path, SNIFF))
    if tracked:
        tables = read_tracker(artifact.path, artifact.name)
    tables = tables or read_tables(artifact.path, artifact.name)
    series = tuple(in_company(_placed(artifact, tables, series_of)))
    if not tracked and not any(s.metric in VOCABULARY for s in series):
        from .messages import messages

        series += tuple(messages(artifact, tables))
    return _Found(tables, series, whole=False, tracked=tracked and bool(tables))


def _placed(
    artifact: Artifact, tables: Iterable[Table], series_of: Callable[[Table], tuple[Series, ...]]
) -> Iterator[Series]:
    """The series with the attempt and rank of their file; a metric that a later part gives again is another attempt."""
    given = dict[str, int]()
    for table in tables:
        series = series_of(table)
        nth = 1 + max((given.get(s.metric, 0) for s in series), default=0)
        given |= {s.metric: nth for s in series}
        attempt = artifact.attempt + (f"#{nth}" if nth > 1 else "")
        yield from (replace(s, attempt=attempt, rank=artifact.rank if s.rank is None else s.rank) for s in series)
