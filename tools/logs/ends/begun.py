"""Where one log begins with another training: the epochs that its headings number fall, and with them the steps of one.

Two trainings that write to one log one after the other are no course of one: what the later one scores first is no
fall. A training that only counts on prints its epochs rising.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from ..points.columns import Column

OFTEN = 0.2
"""Share of the headings that may fall; more are those of several writers. Own judgement."""


class Tabled(Protocol):
    """What is asked of the rows of one shape."""

    @property
    def lines(self) -> np.ndarray: ...
    @property
    def columns(self) -> Sequence[Column]: ...
    @property
    def step(self) -> Column | None: ...
    @property
    def epoch(self) -> Column | None: ...
    @property
    def writer(self) -> Column | None: ...
    @property
    def label(self) -> Column | None: ...


def begun(tables: Sequence[Tabled]) -> tuple[int, ...]:
    """The lines at which another training begins, in order."""
    totals = [whole for table in tables if (whole := _totals(table)) is not None]
    found: set[int] = set()
    for table in tables:
        if table.epoch is None or table.step is not None or table.writer or table.label:
            continue
        values, lines = table.epoch.values, table.lines
        falls = np.flatnonzero(np.diff(values) < 0) + 1
        if len(falls) <= max(1, OFTEN * len(values)):
            found |= {_first(int(lines[i - 1]), int(lines[i]), totals) for i in falls.tolist()}
    return tuple(sorted(found))


def _totals(table: Tabled) -> tuple[np.ndarray, np.ndarray] | None:
    """Lines, and how many steps an epoch has by them: the `289` of `step=20/289`."""
    after = table.columns.index(table.step) + 1 if table.step else len(table.columns)
    if after >= len(table.columns) or not table.columns[after].total:
        return None
    return table.lines, table.columns[after].values


def _first(before: int, heading: int, totals: Sequence[tuple[np.ndarray, np.ndarray]]) -> int:
    """The first line behind the last heading of the one training at which an epoch has another number of steps, or
    the heading that fell."""
    return min([heading, *_changes(before, heading, totals)])


def _changes(before: int, heading: int, totals: Sequence[tuple[np.ndarray, np.ndarray]]) -> Iterator[int]:
    for lines, total in totals:
        within = np.flatnonzero((lines[1:] > before) & (lines[1:] < heading) & (np.diff(total) != 0)) + 1
        yield from lines[within[:1]].tolist()
