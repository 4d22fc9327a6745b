"""Metric files that are tables: `trainer_state.json`, JSON lines, CSV.

Each is streamed in bounded memory: no file is parsed as a whole, so that neither 100 MB nor 10,000 levels of JSON
matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ...heads import (
    SCALAR_TABLE,
    TRACKED,
    cells,
    column_key,
    csv_header,
    delimiter,
    head_lengths,
    names_metric,
    step_column,
)
from ...metrics import canonical, held_out, of_split, split_named, splits, step_key, tag_of
from ...patterns import bounded
from ...reading import Chunk, Line, lines_of, parse_json, unwrapped
from .grammar import number
from .points import Store

ENTRY_LIMIT = 256 << 10
"""Longest entry of a log history, in characters."""
SAMPLE = 64 << 10
"""Bytes by which a table is told."""
PARTS = 2
"""Held-out measures of one row that are those of parts of the data, whatever the parts are called."""
_SCALAR = bounded(
    r'"([^"\\\n]{1,100})"\s*:\s*"?([-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|NaN|nan|Infinity|inf))"?(?=\s*[,}\]]|\s*$)'
)

_SPLIT = bounded(rf'"[^"\\\n]{{1,40}}"\s*:\s*"({splits()})"(?=\s*[,}}\]])', re.IGNORECASE)


def read_table(path: Path, sample: bytes, chunks: Iterable[Chunk], store: Store) -> bool:
    """Read the chunks if the first bytes of the file are those of a table of metrics, else say False."""
    start = sample.lstrip()
    first = start.split(b"\n", 1)[0].strip()
    if csv_header(first):
        _read_csv(chunks, store, head_lengths(sample))
    elif SCALAR_TABLE.match(first) or TRACKED.match(first):
        _read_scalars(scalar_name(path), chunks, store)
    elif start.startswith((b"{", b"[")) and _is_state(path, start):
        _read_objects(chunks, store, head_lengths(sample))
    elif first.startswith(b"{") and first.endswith(b"}") and b'"' in first and b"'" not in first[:2]:
        text = first.decode("utf-8", "replace")
        if unwrapped(text) != [text]:
            return False  # lines of a console log, each in an object
        _read_json_lines(chunks, store, head_lengths(sample))
    else:
        return False
    return True


def _is_state(path: Path, start: bytes) -> bool:
    """A JSON document (not JSON lines) that holds a list of entries with metrics."""
    if b'"log_history"' in start or path.name == "trainer_state.json":
        return True
    return re.match(rb"\[\s*\{", start) is not None and names_metric(start)


def _read_scalars(key: str, chunks: Iterable[Chunk], store: Store) -> None:
    stream = store.stream("scalars", None)
    for line in lines_of(chunks):
        parts = line.text.replace(",", " ").split()
        order = (2, 1) if "," not in line.text else (1, 2)
        step, value = (_number(parts[i]) if len(parts) == 3 else None for i in order)
        if step is not None and value is not None and step == step and abs(step) < 1e15:
            store.record(stream, int(step), [(key, value, line.number)])


def scalar_name(path: Path) -> str:
    """The metric that a file of one metric is named after: `run-1-tag-train_loss.csv`, `metrics/eval/loss`."""
    if path.suffix.lower() == ".csv":
        return tag_of(path.stem)
    parts = path.parts
    below = len(parts) - 1 - parts[::-1].index("metrics") if "metrics" in parts[:-1] else len(parts) - 2
    return "/".join(parts[below + 1 :])


def _read_csv(chunks: Iterable[Chunk], store: Store, lengths: frozenset[str] = frozenset()) -> None:
    columns: list[str] = []
    wanted: list[tuple[int, str]] = []
    worded: list[int] | None = None
    cut, at = ",", None
    stream = store.stream("csv", None)
    for line in lines_of(chunks):
        if not line.text.strip():
            continue
        if not columns:
            columns = csv_header(line.text.encode()) or []
            cut, at = delimiter(line.text), step_column(columns, lengths)
            stream.step_is = "epoch" if at is not None and columns[at].lower() == "epoch" else "step"
            keys = [(i, column_key(c)) for i, c in enumerate(columns) if not c.endswith(("__MIN", "__MAX"))]
            wanted = [(i, key) for i, key in keys if i != at]
            continue
        row = cells(line.text, cut)
        if cut == ";":
            row = [
                f"{c[0]}.{c[2]}" if (c := cell.partition(","))[1] and i != at else cell for i, cell in enumerate(row)
            ]
        step = stream.records + 1.0 if at is None else _number(row[at]) if at < len(row) else None
        if step is None or step != step or abs(step) > 1e15:
            continue
        worded = [i for i, cell in enumerate(row) if _number(cell) is None] if worded is None else worded
        split = next((name for i in worded if i < len(row) and (name := split_named(row[i]))), "")
        values = [
            (of_split(key, split), value, line.number)
            for i, key in wanted
            if i < len(row) and row[i] and (value := _number(row[i])) is not None
        ]
        store.record(stream, int(step), values)


def _number(text: Any) -> float | None:
    if isinstance(text, bool) or text is None:
        return None
    try:
        return float(text)
    except (TypeError, ValueError, OverflowError):
        return None


def _read_json_lines(chunks: Iterable[Chunk], store: Store, lengths: frozenset[str]) -> None:
    """What begins as a record and cannot be read is counted, but for the last line, which may be being written."""
    broken = False
    for line in lines_of(chunks):
        store.unread += broken
        entry = _json(line)
        broken = entry is None
        store.rows += 1
        if entry:
            _add_entry(store, "json-lines", {k: (v, line.number) for k, v in entry.items()}, lengths)


def _json(line: Line) -> dict[str, float] | None:
    """The numbers of one JSON line, None where it cannot be read."""
    text = line.text.strip()
    try:
        data = parse_json(text.encode("utf-8", "replace")) if text.startswith("{") else None
    except ValueError:
        return None
    if not isinstance(data, dict):
        return {}
    split = next((name for value in data.values() if isinstance(value, str) and (name := split_named(value))), "")
    found = _leaves(data, "", 4)
    return {of_split(key, split): value for key, value in found} if split else dict(found)


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


def _add_entry(store: Store, name: str, entry: dict[str, tuple[float, int]], lengths: frozenset[str]) -> None:
    """One entry of a history: key -> value and line; counts that are `lengths` of the entries are no steps."""
    counts = [(order, k) for k in entry if (order := step_key(k)) is not None and k not in lengths]
    step = entry[min(counts)[1]][0] if counts else None
    summary = "train_runtime" in entry
    values = [
        ("train_loss_mean" if summary and k == "train_loss" else k, v, at)
        for k, (v, at) in entry.items()
        if step_key(k) is None or k in lengths
    ]
    parts = step is not None and sum(held_out(k) for k, _, _ in values) >= PARTS
    if not parts and not any(canonical(k) for k, _, _ in values):
        return
    if step is not None and step == step and abs(step) < 1e15:
        store.record(store.stream(name, None), int(step), values)
    else:
        store.unnumbered(name, None, values, None)


def _read_objects(chunks: Iterable[Chunk], store: Store, lengths: frozenset[str]) -> None:
    """Every flat object of a JSON document (the entries of `log_history`), with the line of each value."""
    for entry in _objects(chunks):
        found, said = {}, _SPLIT.search(entry[0])
        split = said[1].lower() if said else ""
        for match in _SCALAR.finditer(entry[0]):
            line = entry[1] + entry[0].count("\n", 0, match.start())
            found[of_split(match.group(1), split)] = (number(match.group(2)), line)
        if found:
            _add_entry(store, "state", found, lengths)


def _objects(chunks: Iterable[Chunk]) -> Iterator[tuple[str, int]]:
    """(text, line) of each innermost `{...}`, in order, bounded in length."""
    rest, line = "", 1
    for chunk in chunks:
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
