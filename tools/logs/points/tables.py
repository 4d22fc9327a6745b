"""Metric files that are tables: `trainer_state.json`, JSON lines, CSV.

Each is streamed in bounded memory: no file is parsed as a whole, so that neither 100 MB nor 10,000 levels of JSON
matter.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...metrics import canonical
from ...reading import Line, iter_chunks, iter_lines, unwrapped
from .grammar import STEP_KEYS, number, step_key
from .points import Store

ENTRY_LIMIT = 256 << 10
"""Longest entry of a log history, in characters."""
_SCALAR = re.compile(
    r'"([^"\\\n]{1,100})"\s*:\s*"?([-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|NaN|nan|Infinity|inf))"?(?=\s*[,}\]]|\s*$)'
)
_METRIC_KEYS = re.compile(rb"loss|reward|grad_norm|learning_rate|accuracy|\"lr\"|entropy|tokens_per|ppl|_acc")


def read_table(path: Path, sample: bytes, store: Store) -> bool:
    """Read the file if its first bytes are those of a table of metrics, else say False."""
    sample = sample.removeprefix(b"\xef\xbb\xbf").replace(b"\0", b"")
    start = sample.lstrip()
    first = start.split(b"\n", 1)[0].strip()
    if csv_header(first):
        _read_csv(path, store)
    elif SCALAR_TABLE.match(first) or TRACKED.match(first):
        _read_scalars(path, store)
    elif start.startswith((b"{", b"[")) and _is_state(path, start):
        _read_objects(path, store)
    elif first.startswith(b"{") and first.endswith(b"}") and b'"' in first and b"'" not in first[:2]:
        text = first.decode("utf-8", "replace")
        if unwrapped(text) != [text]:
            return False  # lines of a console log, each in an object
        _read_json_lines(path, store)
    else:
        return False
    return True


def cut_short(path: Path) -> bool:
    """Whether a plain JSON document ends before its last bracket, as when a run died while saving it."""
    if path.suffix.lower() != ".json" or not path.is_file() or not path.stat().st_size:
        return False
    with path.open("rb") as file:
        file.seek(-min(4096, path.stat().st_size), 2)
        end = file.read().rstrip()
    return not end.endswith((b"}", b"]"))


def _is_state(path: Path, start: bytes) -> bool:
    """A JSON document (not JSON lines) that holds a list of entries with metrics."""
    if b'"log_history"' in start or path.name == "trainer_state.json":
        return True
    return start.startswith(b"[") and b"{" in start[:200] and _METRIC_KEYS.search(start) is not None and b'"' in start


def csv_header(first: bytes) -> list[str] | None:
    """The columns if the line is the head of a metrics table: a step-like and a metric column."""
    text = first.decode("utf-8", "replace").strip()
    if len(text) > 100_000 or ("," not in text and "\t" not in text and ";" not in text):
        return None
    columns = [c.strip().strip('"') for c in _cells(text, _delimiter(text))]
    if not columns or any(re.fullmatch(r"[-+]?[\d.]+(?:e[-+]?\d+)?", c) for c in columns):
        return None
    known = {hit[0] for c in columns if (hit := canonical(_column(c)))} - {"epoch"}
    return columns if known and _step_column(columns) is not None else None


SCALAR_TABLE = re.compile(rb"\"?wall[_ ]time\"?,\"?step\"?,\"?value\"?\s*$", re.I)
"""The head of a TensorBoard download: one metric, named by the file."""
TRACKED = re.compile(rb"\d{13} [-+\d.eEnaif]{1,40} \d{1,12}\s*$")
"""A line of an MLflow metric file (clock in ms, value, step), named by the file."""


def _read_scalars(path: Path, store: Store) -> None:
    key = scalar_name(path)
    stream = store.stream("scalars", None)
    for line in iter_lines(path):
        cells = line.text.replace(",", " ").split()
        order = (2, 1) if b"," not in line.text.encode() else (1, 2)
        step, value = (_number(cells[i]) if len(cells) == 3 else None for i in order)
        if step is not None and value is not None and step == step and abs(step) < 1e15:
            store.record(stream, int(step), [(key, value, line.number)])


def scalar_name(path: Path) -> str:
    """The metric that a file of one metric is named after: `run-1-tag-train_loss.csv`, `metrics/eval/loss`."""
    if path.suffix.lower() == ".csv":
        return path.stem.rsplit("tag-", 1)[-1]
    parts = path.parts
    below = len(parts) - 1 - parts[::-1].index("metrics") if "metrics" in parts[:-1] else len(parts) - 2
    return "/".join(parts[below + 1 :])


def _delimiter(text: str) -> str:
    return max(",\t;", key=text.count)


def _column(name: str) -> str:
    """The key of a column; exports of experiment trackers put the name of the run before it."""
    return name.rsplit(" - ", 1)[-1]


def _step_column(columns: list[str]) -> int | None:
    plain = [c.lower() for c in columns]
    for key in (*STEP_KEYS, "epoch"):
        if key in plain:
            return plain.index(key)
    return None


def _read_csv(path: Path, store: Store) -> None:
    columns: list[str] = []
    wanted: list[tuple[int, str]] = []
    delimiter, at = ",", None
    stream = store.stream("csv", None)
    for line in iter_lines(path):
        if not line.text.strip():
            continue
        if not columns:
            columns = csv_header(line.text.encode()) or []
            delimiter, at = _delimiter(line.text), _step_column(columns)
            stream.step_is = "epoch" if at is not None and columns[at].lower() == "epoch" else "step"
            wanted = [(i, _column(c)) for i, c in enumerate(columns) if i != at and not c.endswith(("__MIN", "__MAX"))]
            continue
        cells = _cells(line.text, delimiter)
        step = _number(cells[at]) if at is not None and at < len(cells) else None
        if step is None or step != step or abs(step) > 1e15:
            continue
        values = [
            (key, value, line.number)
            for i, key in wanted
            if i < len(cells) and cells[i] and (value := _number(cells[i])) is not None
        ]
        store.record(stream, int(step), values)


def _cells(text: str, delimiter: str) -> list[str]:
    if '"' not in text:
        return text.split(delimiter)
    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:
        return []


def _number(text: Any) -> float | None:
    if isinstance(text, bool) or text is None:
        return None
    try:
        return float(text)
    except (TypeError, ValueError, OverflowError):
        return None


def _read_json_lines(path: Path, store: Store) -> None:
    for line in iter_lines(path):
        entry = _json(line)
        if entry:
            _add_entry(store, "json-lines", {k: (v, line.number) for k, v in entry.items()})


def _json(line: Line) -> dict[str, float]:
    """The numbers of one JSON line."""
    import json

    import orjson

    text = line.text.strip()
    if not text.startswith("{"):
        return {}
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            return {}
    return dict(_leaves(data, "", 4)) if isinstance(data, dict) else {}


def _leaves(data: dict[Any, Any], above: str, depth: int) -> Iterator[tuple[str, float]]:
    """The numbers of nested dictionaries, keys joined with `/`."""
    for key, value in data.items():
        name = f"{above}{key}"
        if isinstance(value, dict) and depth:
            yield from _leaves(value, f"{name}/", depth - 1)
        elif isinstance(value, (int, float, str)) and len(name) < 200:
            numeric = _number(value)
            if numeric is not None:
                yield name, numeric


def _add_entry(store: Store, name: str, entry: dict[str, tuple[float, int]]) -> None:
    """One entry of a history: key -> value and line."""
    counts = [(order, k) for k in entry if (order := step_key(k)) is not None]
    step = entry[min(counts)[1]][0] if counts else None
    summary = "train_runtime" in entry
    values = [
        ("train_loss_mean" if summary and k == "train_loss" else k, v, at)
        for k, (v, at) in entry.items()
        if step_key(k) is None
    ]
    if not any(canonical(k) for k, _, _ in values):
        return
    if step is not None and step == step and abs(step) < 1e15:
        store.record(store.stream(name, None), int(step), values)
    else:
        store.unnumbered(name, None, values, None)


def _read_objects(path: Path, store: Store) -> None:
    """Every flat object of a JSON document (the entries of `log_history`), with the line of each value."""
    for entry in _objects(path):
        found = {}
        for match in _SCALAR.finditer(entry[0]):
            line = entry[1] + entry[0].count("\n", 0, match.start())
            found[match.group(1)] = (number(match.group(2)), line)
        if found:
            _add_entry(store, "state", found)


def _objects(path: Path) -> Iterator[tuple[str, int]]:
    """(text, line) of each innermost `{...}`, in order, bounded in length."""
    rest, line = "", 1
    for chunk in iter_chunks(path, 1 << 20):
        if not rest:
            line = chunk.first_line
        text = rest + chunk.data.decode("utf-8", "replace")
        done = 0
        for match in re.finditer(r"\{[^{}]*\}", text):
            line += text.count("\n", done, match.start())
            yield match.group(), line
            line += match.group().count("\n")
            done = match.end()
        cut = max(text.rfind("{"), done)
        if cut < done or len(text) - cut > ENTRY_LIMIT or text.find("{", done) < 0:
            cut = len(text)
        line += text.count("\n", done, cut)
        rest = text[cut:]
