"""Trackers whose files are text, a record a line: LLaMA-Factory, ms-swift, Lightning, folders of MLflow and SwanLab.

A cell that is empty was not logged, and is no point; what a line does not say is not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ..heads import cells, column_key, delimiter, step_column
from ..metrics import step_key
from ..reading import head, iter_lines, parse_json
from .gather import NAN, SYSTEM, TEXT, Gathered, number

_CLOCKS = ("elapsed_time", "remaining_time")
_TIME = re.compile(
    r"(?:(\d{1,6})\s?(?:d|days?),?\s?)?(?:(\d{1,6})h\s?)?(?:(\d{1,6})m\s?)?(?:(\d{1,6}(?:\.\d{1,6})?)s)?$"
)
_COLONS = re.compile(r"(?:(\d{1,6}) days?, )?(\d{1,6}):(\d\d):(\d\d(?:\.\d{1,6})?)$")
_OF_ALL = re.compile(r"(\d{1,15})/\d{1,15}$")
"""`10/500`: how far, of how far."""
_LEFT_OUT = frozenset(("total_steps", "max_steps", "percentage", "remaining_time"))
_STAMPS = ("timestamp", "time", "ts", "wall_time", "create_time")
_DEVICE = ("gpu", "gpu_id", "gpu_index", "index", "device", "id", "rank")


def read_records(path: Path, file: str) -> Iterator[Gathered]:
    """JSON lines of a trainer: a step, and what was logged there."""
    found = Gathered(file)
    broken = 0
    for line in iter_lines(path):
        if not line.text.strip():
            continue
        record = _record(line.text)
        if record is None:
            broken += 1
        else:
            _add(record, line.number, found)
    if broken:
        found.note(f"{broken} of its lines are no records")
    yield found


def _record(text: str) -> dict[str, Any] | None:
    try:
        data = parse_json(text.encode("utf-8", "replace"))
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


def _add(record: Mapping[str, Any], line: int, found: Gathered) -> None:
    counts = sorted((order, key) for key in record if (order := step_key(key)) is not None)
    at = next((step for _, key in counts if (step := _numeric(record[key])) is not None), NAN)
    used = {key for _, key in counts} | _LEFT_OUT
    row = {key: _numeric(value, key) for key, value in record.items() if key not in used}
    found.row({key: value for key, value in row.items() if value is not None}, at, NAN, line)


def _numeric(value: Any, key: str = "") -> float | None:
    """A number, also one written as text, as a share of all (`10/500`) or as a time (`1m 3s`)."""
    if not isinstance(value, str):
        return number(value)
    if key in _CLOCKS:
        return _duration(value)
    share = _OF_ALL.match(value)
    try:
        return float(share.group(1) if share else value)
    except ValueError:
        return None


def _duration(text: str) -> float | None:
    match = _COLONS.match(text.strip()) or _TIME.match(text.strip())
    if not match or not any(match.groups()):
        return None
    scales = (86400, 3600, 60, 1)
    return sum(float(part or 0) * scale for part, scale in zip(match.groups(), scales, strict=True))


def read_devices(path: Path, file: str) -> Iterator[Gathered]:
    """JSON lines of what a monitor saw of each device: one device a line, or a list of them in each."""
    devices: dict[str, Gathered] = {}
    whole = Gathered(file)
    for line in iter_lines(path):
        record = _record(line.text) if line.text.strip() else {}
        if record is None:
            whole.note("some of its lines are no records")
            continue
        time = next((t for key in _STAMPS if (t := _stamp(record.get(key))) is not None), NAN)
        listed = next((v for v in record.values() if isinstance(v, list) and v and isinstance(v[0], Mapping)), [record])
        for place, one in enumerate(item for item in listed if isinstance(item, Mapping)):
            key = next((k for k in _DEVICE if isinstance(one.get(k), (int, str))), None)
            name = f"gpu{one[key]}" if key else f"gpu{place}"
            row = {k: v for k, v in one.items() if k != key and k not in _STAMPS}
            if len(devices) < 1024 or name in devices:
                devices.setdefault(name, Gathered(file, name)).row({SYSTEM: row}, NAN, time, line.number)
    for found in devices.values():
        if whole.cut:
            found.note(whole.cut)
        yield found


def _stamp(value: Any) -> float | None:
    """Seconds since the epoch."""
    from datetime import datetime

    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).timestamp()
        except (ValueError, OverflowError, OSError):
            pass
    found = _numeric(value)
    return found / 1000 if found is not None and found > 1e11 else found


def read_sparse(path: Path, file: str) -> Iterator[Gathered]:
    """A CSV of which each line holds what was logged at that moment, as Lightning's logger writes it."""
    found = Gathered(file)
    columns: list[str] = []
    at: int | None = None
    cut = ","
    ragged = 0
    for line in iter_lines(path):
        if not columns:
            cut = delimiter(line.text)
            columns = [column_key(name.strip()) for name in cells(line.text, cut)]
            at = step_column(columns)
            continue
        row = cells(line.text, cut)
        ragged += len(row) > len(columns)
        values = {
            k: v
            for i, (k, text) in enumerate(zip(columns, row, strict=False))
            if i != at and (v := _cell(text)) is not None
        }
        step = _cell(row[at]) if at is not None and at < len(row) else None
        found.row(values, NAN if step is None else step, NAN, line.number)
    if ragged:
        found.note(f"{ragged} of its lines have more cells than the head names; those were left out")
    yield found


def _cell(text: str) -> float | None:
    try:
        return float(text) if text.strip() else None
    except ValueError:
        return None


def read_mlflow_metric(path: Path, file: str) -> Iterator[Gathered]:
    """`metrics/train/loss`: clock in ms, value, step; newer versions put a data set behind it."""
    found = Gathered(file)
    key = _below("metrics", path, file)
    broken = 0
    for line in iter_lines(path):
        parts = line.text.split()
        numbers = [_cell(part) for part in parts[:3]]
        clock, value, step = (*numbers, None, None, None)[:3]
        if clock is None or value is None:
            broken += bool(parts)
        else:
            found.add(key, value, 0.0 if step is None else step, clock / 1000, line.number)
    if broken:
        found.note(f"{broken} of its lines are no points")
    yield found


def read_mlflow_param(path: Path, file: str) -> Iterator[Gathered]:
    """`params/learning_rate`: the file holds the value."""
    found = Gathered(file)
    found.set(_below("params", path, file), head(path, TEXT).decode("utf-8", "replace").strip())
    yield found


def read_swanlab(path: Path, file: str) -> Iterator[Gathered]:
    """`logs/train%2Floss/1000.log`: the folder is the metric, which newer versions only number."""
    found = Gathered(file)
    folder = path.parent.name
    key = f"metric {folder}" if folder.isdecimal() else unquote(folder)
    for line in iter_lines(path):
        record = _record(line.text) or {}
        step, value = number(record.get("index")), number(record.get("data"))
        if step is not None and value is not None:
            time = _stamp(record.get("create_time"))
            found.add(key, value, step, NAN if time is None else time, line.number)
    yield found


def _below(folder: str, path: Path, file: str) -> str:
    """The name that a file has below a folder of its run."""
    for parts in (file.split("/"), list(path.parts)):
        if folder in parts[:-1]:
            return "/".join(parts[len(parts) - parts[::-1].index(folder) :])
    return path.name
