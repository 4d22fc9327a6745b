"""What a tracker's file says, point by point, as tables: metrics that were logged at the same steps stand side by side.

No cell of such a table is empty: a NaN in it was logged. A metric that was logged at other steps is in another table.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..metrics import named
from ..tables.table import Column, Table
from ..vocabulary import VOCABULARY

POINTS = 4_000_000
"""Most points of one file: 32 bytes each, and seconds of decoding for every hundred thousand."""
KEYS = 10_000
"""Most metrics of one file: a sweep of a large model's layers has hundreds."""
SETTINGS = 5_000
NAME = 200
"""Longest name of a metric, in characters."""
TEXT = 4_000
"""Longest value of a setting, in characters."""
NAN = float("nan")
SYSTEM = "system"
"""Begins, with a dot, the names of what was measured of the machine: its `memory` is not that of the training."""


class _Points:
    """Step, time, value and line of each point of one metric, in file order."""

    def __init__(self) -> None:
        self.steps, self.times, self.values, self.lines = array("d"), array("d"), array("d"), array("q")

    def add(self, step: float, time: float, value: float, line: int) -> None:
        self.steps.append(step)
        self.times.append(time)
        self.values.append(value)
        self.lines.append(line)


class Gathered:
    """The points and settings of one run in one file, and why they are not all."""

    def __init__(self, file: str, run: str = "") -> None:
        self.file = file
        self.run = run
        """Name of the run where the file holds several."""
        self.settings: dict[str, str] = {}
        self._metrics: dict[str, _Points] = {}
        self._notes: list[str] = []
        self._count = 0

    def add(self, key: str, value: float, step: float = NAN, time: float = NAN, line: int = 0) -> None:
        """One point; steps and times (in seconds since the epoch) that are not known are not numbers."""
        if len(key) > NAME:
            return self.note(f"names of metrics are over the limit of {NAME} characters, and were left out")
        if self._count >= POINTS:
            return self.note(f"over the limit of {POINTS} points: the later ones were not read")
        points = self._metrics.get(key)
        if points is None:
            if len(self._metrics) >= KEYS:
                return self.note(f"over the limit of {KEYS} metrics: the later ones were not read")
            points = self._metrics[key] = _Points()
        points.add(step, time, value, line)
        self._count += 1
        return None

    def row(self, record: Mapping[str, Any], step: float, time: float = NAN, line: int = 0) -> None:
        """The numbers of one record."""
        for key, value in leaves(record):
            self.add(key, value, step, time, line)

    def set(self, key: str, value: Any) -> None:
        """One setting; a mapping is several."""
        if isinstance(value, Mapping):
            for inner, one in value.items():
                self.set(f"{key}.{inner}" if key else str(inner), one)
        elif len(self.settings) < SETTINGS and 0 < len(key) <= NAME:
            self.settings[key] = str(value)[:TEXT]

    def note(self, why: str) -> None:
        """Why not all was read; said once."""
        if why not in self._notes:
            self._notes.append(why)

    @property
    def cut(self) -> str:
        return "; ".join(self._notes)

    def tables(self) -> tuple[Table, ...]:
        """Its metrics, those of the same steps and lines together, and its settings."""
        groups: dict[tuple[bytes, bytes], list[str]] = {}
        for key, points in self._metrics.items():
            groups.setdefault((points.steps.tobytes(), points.lines.tobytes()), []).append(key)
        meanings = _meanings(self._metrics)
        folders = Counter(_folder(keys) for keys in groups.values())
        found = [
            self._table(keys, meanings, _folder(keys) if folders[_folder(keys)] == 1 else keys[0])
            for keys in groups.values()
        ]
        return (*found, *self._settings())

    def _table(self, keys: list[str], meanings: Mapping[str, tuple[str, float]], part: str) -> Table:
        first = self._metrics[keys[0]]
        columns = [*self._run(len(first.lines))]
        for of, unit, values in (("step", "", first.steps), ("time", "s", first.times)):
            if not all(map(math.isnan, values)):
                columns.append(Column(of, "axis", of, unit, np.frombuffer(values)))
        columns += [_column(key, *meanings[key], np.frombuffer(self._metrics[key].values)) for key in keys]
        part = "/".join(filter(None, (self.run, part)))
        return Table(self.file, part, tuple(columns), np.frombuffer(first.lines, np.int64), self.cut)

    def _settings(self) -> Iterable[Table]:
        if not self.settings:
            return
        pairs = (
            Column("setting", "identifier", "setting", "", _texts(self.settings)),
            Column("value", "text", "value", "", _texts(self.settings.values())),
        )
        count = len(self.settings)
        part = "/".join(filter(None, (self.run, "settings")))
        yield Table(self.file, part, (*self._run(count), *pairs), np.zeros(count, np.int64), self.cut)

    def _run(self, count: int) -> Iterable[Column]:
        if self.run:
            yield Column("run", "group", "run", "", _texts([self.run] * count))


def leaves(record: Mapping[str, Any], above: str = "", depth: int = 4) -> Iterable[tuple[str, float]]:
    """The numbers of a record, keys of what is nested joined with a dot."""
    for key, value in record.items():
        if isinstance(value, Mapping) and depth:
            yield from leaves(value, f"{above}{key}.", depth - 1)
        elif (found := number(value)) is not None:
            yield f"{above}{key}", found


_NAMES = {
    "nan": NAN,
    "inf": math.inf,
    "infinity": math.inf,
    "+inf": math.inf,
    "-inf": -math.inf,
    "-infinity": -math.inf,
}


def number(value: Any) -> float | None:
    """A number, or the text that stands for one that JSON has not; None for anything else."""
    if isinstance(value, str):
        return _NAMES.get(value.lower())
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def joined(found: Iterable[Gathered]) -> tuple[Table, ...]:
    """The tables of all of them."""
    return tuple(table for gathered in found for table in gathered.tables())


def _column(key: str, of: str, scale: float, values: np.ndarray) -> Column:
    if of == "epoch":
        return Column(key, "axis", of, "epochs", values)
    metric = VOCABULARY.get(of)
    scaled = values if scale == 1 else values * scale
    return Column(key, "measure", of, metric.unit if metric else "", scaled, np.flatnonzero(np.isnan(values)))


def _meanings(keys: Iterable[str]) -> dict[str, tuple[str, float]]:
    """Key -> canonical metric and scale to its unit; a second key of the same metric keeps its own name."""
    found = {key: None if key.startswith(f"{SYSTEM}.") else named(key) for key in keys}
    best: dict[str, str] = {}
    for key, hit in sorted(((k, h) for k, h in found.items() if h), key=lambda pair: pair[1][2]):
        best.setdefault(hit[0], key)
    return {k: (h[0], h[1]) if h and best[h[0]] == k else (k, 1.0) for k, h in found.items()}


def _folder(keys: list[str]) -> str:
    """The folder that the keys share, else the first of them."""
    folders = {key.rpartition("/")[0] for key in keys}
    return folders.pop() or keys[0] if len(folders) == 1 else keys[0]


def _texts(values: Iterable[str]) -> np.ndarray:
    return np.array(list(values), dtype=object)
