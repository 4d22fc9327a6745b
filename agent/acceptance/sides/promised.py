"""What a proposal promised of the next run: the numbers it asked for, and the settings it said to leave alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ....knowledge.entry import Criterion, Entry
from ....tools.config.diff import Difference
from ....tools.series import Series, SeriesTable
from ...evidence import Look
from ..demands import LEARNED, demands
from ..observe import known, observe
from ..subject import MIN_POINTS, TOO_SHORT, Observation, Subject, early, last_step, missing
from ..symptoms import Judged, judged

END = 0.1
"""Share of the points, at the end, that tell the level of what moves as a model learns."""


def asked_for(subject: Subject, before: Look, entry: Entry) -> Iterator[Judged]:
    """The criteria that the failed run's own numbers gave, as the proposal listed them.

    One that the failed run itself cannot answer either (it names a thing that is read off by hand) holds up no verdict.
    """
    old = Subject(before.run, before.table, before.settings, before.scan, 0, before.findings, before.checks)
    for wanted in demands(entry, before.findings, before.table):
        got = _answer(subject, wanted)
        if got.ok is None and _answer(old, wanted).ok is None:
            got = replace(got, applies=False)
        yield judged(wanted, got)


def _answer(subject: Subject, wanted: Criterion) -> Observation:
    series = subject.table.get(wanted.metric)
    if series is None and not known(wanted):
        said = f": {wanted.definition.en}" if wanted.definition else ""
        return missing(f"to be read off the next run{said}")
    if series is None or wanted.metric not in LEARNED:
        return observe(subject, wanted)
    last, old = last_step(subject.table) or 0, last_step(subject.baseline.table) or 0 if subject.baseline else 0
    if last < old:  # the level of another step is no target
        return early(f"{TOO_SHORT}the run must reach step {old}, it ends at {last}", len(series))
    return observe(replace(subject, table=_end(subject.table, series), shared={}), wanted)


def _end(table: SeriesTable, series: Series) -> SeriesTable:
    """The table with only the last points of this series."""
    n = max(MIN_POINTS, round(END * len(series)))
    cut = {name: np.asarray(getattr(series, name))[-n:] for name in ("steps", "values", "lines")}
    return SeriesTable((*(s for s in table if s.metric != series.metric), replace(series, **cut)))


def left_alone(entry: Entry, before: Look, told: Sequence[str] | None) -> frozenset[str]:
    """What was not to be changed: as the proposal told it, else by the entry, less what a cause that the failed run
    shows asks for."""
    if told is not None:
        return frozenset(told)
    found = {f.code for f in before.findings}
    fixes = [c.fix for c in entry.causes if c.fix and (not c.for_ or found & c.for_.keys())]
    asked = {fix.variable for fix in (entry.fix, *fixes) if fix}
    return frozenset(entry.stays) - asked


def only_what_stays(changed: Sequence[Difference], stays: frozenset[str]) -> bool:
    """Whether all that was changed is what the proposal said to leave alone."""
    return bool(changed) and all(d.variable in stays for d in changed)
