"""SwanLab's `run-*.swanlab`: its scalars and configuration's place. What it logs is framed as W&B's log is.

The folder of a run also holds `files/config.yaml` (a configuration) and, in local mode, the same points once more
under `logs/`, which are not read twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .framing import run_records
from .gather import SYSTEM, Gathered
from .wire import Value, each, fields, floating, inside, parts, seconds, signed, text

HEADER = 7
MAGIC = b":SWL"
_SCALAR = 13
_KEY, _STEP, _TIME, _VALUE = 1, 2, 4, 5
_MACHINE = "__swanlab__."
"""Begins SwanLab's own names of what it measures of the machine."""


def read(path: Path, file: str) -> Iterator[Gathered]:
    """The points of the run in one `.swanlab` file.

    Raises:
        TriageError: it is no such file.
    """
    found = Gathered(file)
    records = run_records(path, file, MAGIC, HEADER, "SwanLab", found.note)
    each(records, lambda record: _scalars(record, found), found.note, "messages")
    yield found


def _scalars(record: bytes, found: Gathered) -> None:
    for message in parts(memoryview(record), _SCALAR):
        _scalar(message, found)


def _scalar(message: memoryview, found: Gathered) -> None:
    held: dict[int, Value] = dict(fields(message))
    value = next((v for n, v in inside(held.get(_VALUE, 0)) if n == 1), None)
    number = 0.0 if value is None else floating(value)  # proto3 does not write a zero
    key = text(held.get(_KEY, 0))
    key = f"{SYSTEM}.{key.removeprefix(_MACHINE)}" if key.startswith(_MACHINE) else key
    found.add(key, number, signed(held.get(_STEP, 0)), seconds(held.get(_TIME, 0)))
