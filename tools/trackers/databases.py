"""Trackers that keep their runs in SQLite: MLflow and Trackio, told by their tables.

A database of anything else has no runs here: it is one for the reader of tables.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from ..reading import parse_json
from .database import Database, opened
from .gather import NAN, SYSTEM, Gathered, number

RUNS = 500
"""Most runs of one database: each is a set of tables."""


def read(path: Path, file: str) -> Iterator[Gathered]:
    """Every run of the database, none where it is no tracker's.

    Raises:
        TriageError: the file is no database, is damaged, or takes too long.
    """
    with opened(path, file) as database:
        runs = _Runs(file, database)
        if database.has("metrics", "key", "value", "timestamp", "run_uuid", "step", "is_nan"):
            _mlflow(database, runs)
        elif database.has("metrics", "run_name", "step", "timestamp", "metrics"):
            _trackio(database, runs)
        yield from runs.found()


class _Runs:
    """The runs of a database, each under its name."""

    def __init__(self, file: str, database: Database) -> None:
        self._file = file
        self._runs: dict[str, Gathered] = {}
        self._missing = database.missing
        self._over = False
        self.names: dict[str, str] = {}
        """Identifier -> name, where they are not the same."""

    def of(self, identifier: str) -> Gathered | None:
        """The run, None past the limit."""
        found = self._runs.get(identifier)
        if found is None and len(self._runs) < RUNS:
            name = self.names.get(identifier) or identifier
            taken = any(run.run == name for run in self._runs.values())
            found = self._runs[identifier] = Gathered(self._file, f"{name} {identifier[:8]}" if taken else name)
        self._over |= found is None
        return found

    def found(self) -> Iterator[Gathered]:
        """Each run with what is missing; the only one of a file needs no name."""
        for run in self._runs.values():
            if len(self._runs) == 1:
                run.run = ""
            if self._missing:
                run.note(self._missing)
            if self._over:
                run.note(f"over the limit of {RUNS} runs: the others were not read")
            yield run


def _mlflow(database: Database, runs: _Runs) -> None:
    if database.has("runs", "run_uuid", "name"):
        runs.names = {str(uuid): str(name or "")[:100] for uuid, name in database.rows("runs", ("run_uuid", "name"))}
    for key, value, clock, uuid, step, nan in database.rows(
        "metrics", ("key", "value", "timestamp", "run_uuid", "step", "is_nan")
    ):
        run, found, at = runs.of(str(uuid)), number(value), number(clock)
        if run and found is not None:
            run.add(str(key), NAN if nan else _infinite(found), number(step) or 0.0, NAN if at is None else at / 1000)
    if database.has("params", "key", "value", "run_uuid"):
        for key, value, uuid in database.rows("params", ("key", "value", "run_uuid")):
            if run := runs.of(str(uuid)):
                run.set(str(key), value)


def _infinite(value: float) -> float:
    """The largest number of a database is how MLflow writes infinity."""
    return math.copysign(math.inf, value) if abs(value) == sys.float_info.max else value


def _trackio(database: Database, runs: _Runs) -> None:
    for name, step, clock, record in database.rows("metrics", ("run_name", "step", "timestamp", "metrics")):
        if run := runs.of(str(name)):
            run.row(_mapping(record), number(step) or 0.0, _time(clock))
    if database.has("system_metrics", "run_name", "timestamp", "metrics"):
        for name, clock, record in database.rows("system_metrics", ("run_name", "timestamp", "metrics")):
            if run := runs.of(str(name)):
                run.row({SYSTEM: _mapping(record)}, NAN, _time(clock))
    if database.has("configs", "run_name", "config"):
        for name, record in database.rows("configs", ("run_name", "config")):
            if run := runs.of(str(name)):
                run.set("", {k: v for k, v in _mapping(record).items() if not str(k).startswith("_")})


def _mapping(record: Any) -> dict[str, Any]:
    """The JSON object in a cell; broken ones are empty."""
    try:
        data = parse_json(record if isinstance(record, bytes) else str(record).encode())
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _time(text: Any) -> float:
    """Seconds since the epoch of an ISO time."""
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except (ValueError, OverflowError, OSError):
        return NAN
