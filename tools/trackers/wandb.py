"""W&B's `run-*.wandb`: the history of a run, its configuration and what was measured of the machine; its summary.

The console (`output.log`) is a log, and `config.yaml` a configuration; both are read as such. The newer spelling of an
item (a value of its own kind) is read beside the older (a value as JSON).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..findings import TriageError
from ..reading import parse_json
from .framing import run_records
from .gather import NAN, SYSTEM, Gathered, number
from .wire import Value, each, fields, floating, inside, parts, seconds, signed, text

HEADER = 7
"""Bytes before the first record: `:W&B`, a number that is always the same, the version."""
MAGIC = b":W&B"
_HISTORY, _CONFIG, _STATS, _RUN = 2, 5, 7, 17
_RUN_CONFIG = 4


def read(path: Path, file: str) -> Iterator[Gathered]:
    """The history and configuration of the run in one `.wandb` file, and the measurements of its machine.

    Raises:
        TriageError: it is no such file.
    """
    history = Gathered(file)
    records = run_records(path, file, MAGIC, HEADER, "W&B", history.note)
    each(records, lambda record: _record(record, history), history.note, "messages")
    yield history


def _record(record: bytes, history: Gathered) -> None:
    for kind, body in fields(record):
        if kind == _HISTORY:
            _row(body, history)
        elif kind == _CONFIG:
            _config(body, history)
        elif kind == _RUN:
            for inner in parts(body, _RUN_CONFIG):
                _config(inner, history)
        elif kind == _STATS:
            held = dict(inside(body))
            history.row({SYSTEM: dict(_items(body, 3))}, NAN, seconds(held.get(2, 0)))


def _row(body: Value, history: Gathered) -> None:
    """One step: what W&B itself counts (`_step`, `_timestamp`) is where it stands, not what was measured."""
    row = dict(_items(body, 1))
    step = row.pop("_step", None)
    if step is None:
        step = next((signed(value) for part in parts(body, 2) for n, value in inside(part) if n == 1), NAN)
    time = number(row.pop("_timestamp", None))
    row.pop("_runtime", None)
    found = number(step)
    history.row(row, NAN if found is None else found, NAN if time is None else time)


def _config(body: Value, history: Gathered) -> None:
    for key, value in _items(body, 1):
        if not key.startswith("_wandb"):
            history.set(key, value)


def _items(body: Value, field: int) -> Iterator[tuple[str, Any]]:
    """(key, value) of the items of a record."""
    for item in parts(body, field):
        names, value = [], None
        for number_, raw in fields(item):
            if number_ in (1, 2):
                names.append(text(raw))
            elif number_ in _OF:
                value = _OF[number_](raw)
        if names:
            yield ".".join(names), value


def _json(raw: Value) -> Any:
    try:
        return parse_json(text(raw).encode())
    except ValueError:
        return None


_OF = {4: bool, 5: signed, 6: floating, 7: text, 8: _json, 16: _json}
"""Field of an item's value -> how it is read."""


def read_summary(path: Path, file: str) -> Iterator[Gathered]:
    """`wandb-summary.json`: the last value of each metric, at the last step."""
    data = _summary(path, file)
    found = Gathered(file)
    step, time = (number(data.pop(key, None)) for key in ("_step", "_timestamp"))
    data = {key: value for key, value in data.items() if not key.startswith("_")}
    found.row(data, NAN if step is None else step, NAN if time is None else time)
    yield found


def _summary(path: Path, file: str) -> dict[str, Any]:
    from ..data.records.plain import load_json

    data = load_json(path)
    if not isinstance(data, dict):
        raise TriageError(f"cannot read {file}: it is no JSON object")
    return dict(data)
