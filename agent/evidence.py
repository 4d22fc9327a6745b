"""Everything the deterministic tools see in a run, gathered once: what diagnosis, proposal and verification read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..tools.findings import Check, Finding, Report, TriageError, account
from ..tools.kinds import opens
from ..tools.logs.attempts import joined, name_of, named_in, trainings
from ..tools.logs.judged.agents import agents
from ..tools.logs.judged.not_in_force import measured_so, not_in_force
from ..tools.looking.others import tools_of
from ..tools.reading import Chunk
from ..tools.relate.paced.books import prepared
from ..tools.run import Artifact, Run
from ..tools.series import Series, SeriesTable
from ..tools.settings import Settings
from .coverage import Covered, coverage
from .orders import orders
from .paths import gather

if TYPE_CHECKING:
    from ..knowledge.entry import Entry
    from ..tools.documents.event import Claim, Event
    from ..tools.logs.scan import Read
    from ..tools.store.opened import Account, Opened
    from ..tools.tables.table import Table


MOST_BESIDE = 6
"""Trainings beside one that are held against it; more are a sweep."""


@dataclass(frozen=True)
class Other:
    """A training beside the one that was looked at, in one line."""

    run: str
    findings: tuple[Finding, ...]
    """What its logs show, worst first."""

    @property
    def worst(self) -> Finding | None:
        """The finding to name; None where nothing is wrong as far as its logs show."""
        return next((f for f in self.findings if f.severity in ("S0", "S1")), None)


@dataclass(frozen=True)
class Training:
    """One of several trainings under the paths, by its logs alone, before one of them is looked at."""

    run: Run
    table: SeriesTable
    findings: tuple[Finding, ...]

    @property
    def name(self) -> str:
        """Its folder below the path; empty for the path itself."""
        return name_of(self.run)

    @property
    def grade(self) -> str:
        """Of its worst finding that is more than a note."""
        return min((f.severity for f in self.findings if f.severity < "S3"), default="S9")


@dataclass(frozen=True)
class Look:
    """One run as the tools see it."""

    run: Run
    table: SeriesTable
    settings: Settings
    scan: Report
    """What the log scan alone found: the part that verification compares."""
    reports: tuple[Report, ...]
    about: str = ""
    """The training that was looked at where there are several: its folder below the path."""
    others: tuple[Other, ...] = ()
    """The other trainings under the same path."""
    orders: tuple[str, ...] = ()
    """Places in its files that speak to an assistant."""
    opened: Opened | None = None
    """What the open readers gave; None where the run has nothing for them."""
    elsewhere: tuple[Artifact, ...] = ()
    """Files of the other trainings."""
    logs: Mapping[str, Sequence[Chunk]] = field(default_factory=dict)
    """What was kept of its logs: the small ones."""
    beside: Mapping[str, Account] = field(default_factory=dict)
    """What was read in files that have a reader of their own, or in which no table was found but quantities."""

    @property
    def tables(self) -> tuple[Table, ...]:
        """The rows of its tables, trackers, quoted tables and evaluation results."""
        return self.opened.tables if self.opened else ()

    @property
    def series(self) -> tuple[Series, ...]:
        """Everything that was measured, whether its name is known or not."""
        known = {(s.file, s.key) for s in self.table}
        more = self.opened.series if self.opened else ()
        return (*self.table, *(s for s in more if (s.file, s.key) not in known))

    @property
    def events(self) -> tuple[Event, ...]:
        """What its documents tell."""
        return self.opened.events if self.opened else ()

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Quantities that its documents plan or promise."""
        return self.opened.claims if self.opened else ()

    @cached_property
    def coverage(self) -> tuple[Covered, ...]:
        """Every file, and what it was read as."""
        accounts = {**(self.opened.accounts if self.opened else {}), **self.beside}
        return coverage(self.run, self.table, self.settings, self.reports, accounts, self.elsewhere)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Worst first; within one grade, in the order of the tools. Reassurance falls when another tool found harm."""
        found = [f for report in self.reports for f in report.findings]
        related = [f for report in self.reports if report.tool in ("relate", "courses") for f in report.findings]
        if any(f.severity in ("S0", "S1") for f in found) or any(f.severity != "S3" for f in related):
            found = [f for f in found if f.code != "run-healthy"]
        return tuple(sorted(found, key=lambda f: f.severity))

    @property
    def checks(self) -> tuple[Check, ...]:
        return tuple(dict.fromkeys(c for report in self.reports for c in report.checks))


Choose = Callable[[Sequence[Training]], Training]
"""Which of several trainings is looked at."""


def named_or_worst(words: str) -> Choose:
    """The training that the words name, else that of the worst logs, of several that in the path itself, and none that
    is called the earlier one."""

    def choose(found: Sequence[Training]) -> Training:
        from ..tools.relate.earlier.beside import EARLIER
        from ..tools.relate.siblings import gap

        named = next(named_in(words, [t.run for t in found]), None)
        worst = [t for t in found if t.grade == min(t.grade for t in found)]
        worst = [t for t in worst if not EARLIER.search(t.name)] or worst
        own = next((t for t in found if t.run is named), next((t for t in worst if not t.name), None))
        return own or worst[int(len(worst) == 2 and gap(worst[1].table, worst[0].table) is not None)]

    return choose


def look(
    paths: Sequence[Path],
    pasted: str = "",
    told: Callable[[str], object] = lambda tool: None,
    choose: Choose | None = None,
    entries: Iterable[Entry] | None = None,
) -> Look:
    """Run every deterministic tool over the paths and the pasted text.

    Args:
        paths: files and folders, read as one run; where they hold several trainings, one is looked at.
        pasted: log text.
        told: hears the name of each tool before it runs. One that breaks becomes a `failed` check: the others still
            speak.
        choose: which of several trainings; by default the one whose logs are worst.
        entries: whose signs are asked; by default those of the shipped runbook.

    Raises:
        TriageError: a path does not exist or nothing in it can be read.
    """
    from ..tools.config.combine import read_settings
    from ..tools.config.printed.resolved import resolved
    from ..tools.documents.left_out import left_out
    from ..tools.logs.ends.going_on import sizes, still_written
    from ..tools.logs.named import look_up
    from ..tools.logs.scan import scan
    from ..tools.logs.warming import never_warm
    from ..tools.relate.earlier.transport import transported

    with gather(paths, pasted) as run:
        told("scan")
        before = sizes(run)
        settings, setting_checks = read_settings(run)
        read, broken = _read(run, settings)
        whole, opened = run, (all_opened := read_open(run))
        read = every = _together(read, opened.series if opened else ())
        run, others, beside = _chosen(run, read, choose or named_or_worst(""))
        if run.artifacts != whole.artifacts:
            settings, setting_checks = read_settings(run)
        read = read.only(run)
        if opened:
            opened = opened.only(a.name for a in run.artifacts)
            read = _together(read, [s for s in read.table if s.file in opened.accounts])
        clip, planned = (_number(settings.value(name)) for name in ("grad_clip", "max_steps"))
        log = broken or _try("scan", lambda: scan(run, clip, read, planned))
        reports = [log, *([opened.report] if opened else ())]
        logs = {name: text.whole for name, text in read.texts.items()}
        for name, tool in tools_of(run, (settings, (*account(setting_checks), *setting_checks)), logs).items():
            told(name)
            made = measured_so(_try(name, lambda tool=tool: tool(run)), read.table)
            reports.append(not_in_force(resolved(made, read.texts), read.table) if name == "lint" else made)
        named_so = {c.name for t in (opened.tables if opened else ()) for c in t.columns}
        reports.append(_try("agents", lambda: Report("agents", tuple(agents(read.table, read.texts, named_so)))))
        reports.append(_try("books", lambda: prepared(run, opened.tables if opened else (), logs, read.table)))
        reports.append(_try("named", lambda: look_up(run, log.findings)))
        reports += [_try("siblings", lambda: _against(read.table, settings, beside))] if beside else []
        others_of = [(t.name, t.run, t.table) for t in beside[:6]]
        reports.append(_try("transport", lambda: transported(run, read.table, others_of)))
        reports.append(_try("beside", lambda: _beside(run, settings, beside, every, all_opened)))
        reports.append(_try("restarts", lambda: _since(run, read.table)))
        reports.append(_try("warm-up", lambda: Report("warm-up", tuple(never_warm(run, settings, read.table)))))
        reports.append(_try("grown", lambda: _raised(run, read.table, log, opened)))
        reports.append(_try("again", lambda: _again(whole, every.table)))
        reports.append(_try("courses", lambda: _courses(whole, every.table, all_opened)))
        reports.append(_try("going on", lambda: still_written(run, before, read.texts, read.table)))
        about = name_of(run) if others else ""
        spoken = orders(run, (f for report in reports for f in report.findings))
        here = {a.name for a in run.artifacts} | {s.name for s in run.unknown}
        elsewhere = tuple(a for a in whole.artifacts if a.name not in here)
        reports.append(_try("left out", lambda: left_out(run, logs, settings, read.table)))
        seen = Look(run, read.table, settings, log, tuple(reports), about, others, spoken, opened, elsewhere, logs)
        told("relate")
        return related(seen, entries)


def _read(run: Run, settings: Settings) -> tuple[Read, Report | None]:
    """The logs of a run; where their reader breaks, nothing of them and the check that failed."""
    from ..tools.logs.scan import Read, read_run

    read = Read()

    def reading() -> Report:
        nonlocal read
        read = read_run(run, lambda: settings.value("log_steps"))
        return Report("read")

    broken = _try("scan", reading)
    return read, broken if broken.checks else None


def related(seen: Look, entries: Iterable[Entry] | None) -> Look:
    """The look with the relations of what it holds, and the signs of the runbook that they show."""
    from ..knowledge.runbook import load
    from ..tools.code.fact import facts_in
    from ..tools.documents.counted import counted
    from ..tools.documents.phases import phased
    from ..tools.documents.stated import stated
    from ..tools.relate.capacity import cards
    from ..tools.relate.paced.failing import failing
    from ..tools.relate.relate import Related, relate
    from ..tools.relate.results.still import above_base
    from ..tools.store.aside import aside, cases, side_by_side
    from ..tools.store.opened import Opened, accounts_of, said_in
    from .signs.ask import ask

    opened = seen.tables, seen.events, seen.claims
    tables, events, claims = aside(seen.run, {s.file for s in seen.table}, *opened, seen.logs)
    events += phased(seen.run)
    tables += side_by_side(single := cases(seen.run))
    known = {*(seen.opened.accounts if seen.opened else ()), *(s.file for s in seen.table)}
    beside = accounts_of(t for t in tables if t.file not in known)
    beside |= said_in(quantities := stated(seen.run), seen.opened.accounts if seen.opened else {})
    held = [replace(r, findings=above_base(r.findings, seen.series, tables)) for r in seen.reports]
    seen = replace(seen, beside=beside, reports=(*held, Opened(accounts=beside).report))
    failed = [(t, e) for f in seen.findings for t, e in zip(f.data.get("times", ()), f.evidence, strict=False)]
    said = (
        seen.settings, events, [*claims, *cards(seen.findings)], facts_in(seen.reports), failed, quantities,
        counted(seen.run, seen.logs), single,
    )  # fmt: skip
    found = _try("relate", lambda: relate(SeriesTable(seen.series), tables, *said))
    if not isinstance(found, Related):
        return replace(seen, reports=(*seen.reports, found))
    found = replace(found, findings=(*found.findings, *failing(found.onset, seen.findings)))
    asked = _try("signs", lambda: ask(load() if entries is None else entries, found, (*seen.findings, *found.findings)))
    return replace(seen, reports=(*seen.reports, found, asked))


def read_open(run: Run) -> Opened | None:
    """What the open readers give of a run; None, and nothing imported, where it has nothing for them."""
    if not any(opens(a.kind, a.path) for a in run.artifacts):
        return None
    from ..tools.store.opened import read_open as read

    return read(run)


def _together(read: Read, more: Iterable[Series]) -> Read:
    """The series of the logs with those of tables and trackers, which may be among them already."""
    more = list(more)
    files = {s.file for s in more}
    logged = SeriesTable(tuple(s for s in read.table if s.file not in files))
    return replace(read, table=joined(logged, more)) if more else read


def _against(table: SeriesTable, settings: Settings, beside: Sequence[Training]) -> Report:
    from ..tools.config.combine import read_settings
    from ..tools.relate.siblings import Sibling, against

    runs = [Sibling(t.name, t.table, read_settings(t.run)[0], t.grade in ("S0", "S1")) for t in beside[:6]]
    return against(table, settings, runs)


def _beside(run: Run, settings: Settings, others: Sequence[Training], every: Read, opened: Opened | None) -> Report:
    from ..tools.config.combine import read_settings
    from ..tools.relate.earlier.beside import Side, beside
    from ..tools.relate.earlier.printed import heads

    known = {(s.file, s.key) for s in every.table}
    more = [s for s in (opened.series if opened else ()) if (s.file, s.key) not in known]

    def side(one: Run, own: Settings) -> Side:
        files = {a.name for a in one.artifacts}
        table = SeriesTable(tuple(s for s in (*every.table, *more) if s.file in files))
        return Side(name_of(one), table, own, heads(one, every.texts))

    near = others if len(others) <= MOST_BESIDE else ()
    return beside(side(run, settings), [side(t.run, read_settings(t.run)[0]) for t in near])


def _since(run: Run, table: SeriesTable) -> Report:
    from ..tools.relate.earlier.attempts import since_restart

    return since_restart(run, table)


def _raised(run: Run, table: SeriesTable, log: Report, opened: Opened | None) -> Report:
    from ..tools.relate.earlier.grown import since_raised

    return since_raised(run, table, log.findings, opened.events if opened else ())


def _again(run: Run, table: SeriesTable) -> Report:
    from ..tools.relate.earlier.again import trained_again

    return trained_again(run, table)


def _courses(run: Run, table: SeriesTable, opened: Opened | None) -> Report:
    from ..tools.relate.courses.look import side_by_side

    tables, events = (opened.tables, opened.events) if opened else ((), ())
    return side_by_side(run, table, tables, events)


def _chosen(run: Run, read: Read, choose: Choose) -> tuple[Run, tuple[Other, ...], tuple[Training, ...]]:
    """The training to look at, the others in one line each, and the others themselves."""
    from ..tools.logs.scan import scan

    found = trainings(run, read.table)
    if len(found) == 1:
        return found[0], (), ()
    parts = ((part, read.only(part)) for part in found)
    scanned = [
        Training(part, own.table, _try("scan", lambda part=part, own=own: scan(part, None, own)).findings)
        for part, own in parts
    ]
    chosen = choose(scanned)
    beside = tuple(t for t in scanned if t is not chosen)
    return chosen.run, tuple(Other(t.name, t.findings) for t in beside), beside


def read_logs(run: Run) -> Read:
    """As `read_measures`, the series and texts alone."""
    return read_measures(run)[0]


def read_measures(run: Run) -> tuple[Read, Opened | None]:
    """The run's logs and what the open readers give, lines without a step counted as its settings say."""
    from ..tools.logs.scan import read_run

    def every() -> object:
        from ..tools.config.combine import read_settings  # 60 small files, which most logs do not need

        return read_settings(run)[0].value("log_steps")

    opened = read_open(run)
    return _together(read_run(run, every), opened.series if opened else ()), opened


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _try(name: str, tool: Callable[[], Report]) -> Report:
    """The boundary where a tool's exception becomes a `failed` check."""
    try:
        return tool()
    except TriageError as error:
        why = str(error)
    except Exception as error:
        why = f"the tool broke ({type(error).__name__}); this is a defect of triage, not of the run"
    return Report(name, (), (Check(name, "failed", why),))
