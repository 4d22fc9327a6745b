"""TensorBoard's event files: scalars of both generations, texts that hold settings, the hyperparameters of a session.

Pictures, histograms, graphs and profiles are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..packed import open_plain
from ..reading import parse_json
from .framing import tf_records
from .gather import Gathered
from .wire import Value, each, fields, floating, inside, parts, signed, text, varint

_WALL_TIME, _STEP, _SUMMARY = 1, 2, 5
_TAG, _SIMPLE, _TENSOR, _METADATA = 1, 2, 8, 9
_NUMBERS = {1: 5, 2: 6, 3: 7, 9: 10}
"""Type of a tensor -> the field of its values: float, double, int32, int64."""
_CONTENT = {1: np.dtype("<f4"), 2: np.dtype("<f8"), 3: np.dtype("<i4"), 9: np.dtype("<i8"), 19: np.dtype("<f2")}
_BFLOAT16, _STRING = 14, 7
NOT_METRICS = ("_hparams_/",)


def read(path: Path, file: str) -> Iterator[Gathered]:
    """The scalars and settings of one event file."""
    found = Gathered(file)
    with open_plain(path) as stream:
        each(tf_records(stream, found.note), lambda record: _event(record, found), found.note, "events")
    yield found


def _event(record: bytes, found: Gathered) -> None:
    time, step, summary = 0.0, 0, None
    for number, value in fields(record):
        if number == _WALL_TIME:
            time = floating(value)
        elif number == _STEP:
            step = signed(value)
        elif number == _SUMMARY:
            summary = value
    if summary is not None:
        for one in parts(summary, 1):
            _value(one, step, time, found)


def _value(message: memoryview, step: int, time: float, found: Gathered) -> None:
    """One tag of one summary."""
    held = dict(fields(message))  # of a field that comes twice the last one counts
    tag = text(held.get(_TAG, 0))
    if _METADATA in held and tag.startswith(NOT_METRICS):
        _session(held[_METADATA], found)
    elif _SIMPLE in held:
        found.add(tag, floating(held[_SIMPLE]), step, time)
    elif _TENSOR in held:
        value = _tensor(held[_TENSOR])
        if isinstance(value, float):
            found.add(tag, value, step, time)
        elif isinstance(value, str) and value:
            _text(tag, value, found)


def _tensor(message: Value) -> float | str | None:
    """The only number of a tensor, or its first text; None for anything else."""
    held: dict[int, Value] = {}
    for number, value in inside(message):
        held.setdefault(number, value)
    kind = held.get(1, 0)
    if kind == _STRING:
        return text(held.get(8, 0))
    if any(signed(size) > 1 for dim in parts(held.get(2, 0), 2) for n, size in inside(dim) if n == 1):
        return None
    field = _NUMBERS.get(kind, 0) if isinstance(kind, int) else 0
    value = held.get(4) or held.get(field)
    if isinstance(value, memoryview):
        return float(signed(varint(value))) if field in (7, 10) and 4 not in held else _packed(kind, value)
    return None if value is None else float(signed(value))


def _packed(kind: Value, content: memoryview) -> float | None:
    if kind == _BFLOAT16 and len(content) == 2:
        return floating(memoryview(b"\0\0" + bytes(content)))
    dtype = _CONTENT.get(kind) if isinstance(kind, int) else None
    return float(np.frombuffer(content, dtype)[0]) if dtype and len(content) == dtype.itemsize else None


def _text(tag: str, value: str, found: Gathered) -> None:
    """A text is a setting; one that is a JSON object (as the Hugging Face Trainer's arguments) is several."""
    name = tag.removesuffix("/text_summary")
    try:
        data: Any = parse_json(value.encode()) if value.lstrip().startswith("{") else None
    except ValueError:
        data = None
    found.set(
        "" if isinstance(data, dict) and name in ("args", "model_config") else name, value if data is None else data
    )


def _session(metadata: Value, found: Gathered) -> None:
    """The hyperparameters that a session of the `hparams` plugin starts with."""
    for plugin in parts(metadata, 1):
        for content in parts(plugin, 2):
            for start in parts(content, 3):
                for entry in parts(start, 1):
                    held = dict(fields(entry))
                    value = next(iter(inside(held.get(2, 0))), None)
                    if value:
                        found.set(text(held.get(1, 0)), _setting(*value))


def _setting(kind: int, value: Value) -> Any:
    """A `google.protobuf.Value` that is a number, a text or a truth value."""
    if kind == 4:
        return bool(value)
    return floating(value) if kind == 2 else text(value)
