"""What a server was measured to do: benchmark results of vLLM and SGLang, and the lines that their servers print.

A server's log is a log, and is read as one for its errors; `read_server_lines` takes only its numbers.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from ..data.records.plain import JSON_BYTES
from ..findings import TriageError
from ..patterns import bounded
from ..reading import Chunk, head, iter_chunks, parse_json
from ..tables.table import Column, Role, Table
from .gather import NAME, NAN, TEXT, number

REQUESTS = 1_000_000
"""Most requests of one benchmark."""
ROWS = 1_000_000
"""Most lines of a server with numbers: one in ten seconds, for months."""
_LOAD = frozenset(("request_rate", "max_concurrency", "num_prompts", "concurrency", "burstiness"))
"""What a benchmark turns to see how the server bears it."""
_GROUPS = {"model_id": "model", "model": "model", "backend": "backend", "dataset_name": "source", "label": "variant"}
_UNITS = (("_ms", "ms"), ("request_throughput", "requests/s"), ("_throughput", "tokens/s"), ("duration", "s"))


def read_benchmark(path: Path, file: str) -> tuple[Table, ...]:
    """The result file of `vllm bench serve`, or the lines of SGLang's `bench_serving`, a row a benchmark.

    Raises:
        TriageError: it is no such file, or too large.
    """
    records = [(line, record) for line, record in _records(path, file) if isinstance(record, Mapping)]
    if not records:
        raise TriageError(f"cannot read {file}: it holds no result of a benchmark, or is over {JSON_BYTES} bytes")
    requests = (
        t for i, (line, r) in enumerate(records) for t in _requests(file, r, line, i if len(records) > 1 else None)
    )
    return (_benchmarks(file, records), *requests)


def _records(path: Path, file: str) -> list[tuple[int, Any]]:
    data = head(path, JSON_BYTES + 1)
    if len(data) > JSON_BYTES:
        raise TriageError(f"cannot read {file}: over the limit of {JSON_BYTES} bytes for one JSON value")
    try:
        whole = parse_json(data)
        return [(1, one) for one in (whole if isinstance(whole, list) else [whole])]
    except ValueError:
        pass
    found = []
    for place, line in enumerate(data.splitlines(), 1):
        try:
            found.append((place, parse_json(line)))
        except ValueError:
            continue  # a line that is being written
    return found


def _benchmarks(file: str, records: list[tuple[int, Mapping[str, Any]]]) -> Table:
    keys = list(dict.fromkeys(key for _, record in records for key in record if len(key) <= NAME))
    columns = []
    for key in keys:
        cells = [record.get(key) for _, record in records]
        numbers = [number(cell) for cell in cells]
        if any(n is not None for n in numbers):
            role: Role = "axis" if key in _LOAD else "measure"
            unit = next((unit for end, unit in _UNITS if key.endswith(end)), "")
            columns.append(Column(key, role, key, unit, np.array([NAN if n is None else n for n in numbers])))
        elif any(isinstance(cell, str) for cell in cells):
            texts = np.array([str(cell)[:TEXT] if isinstance(cell, str) else "" for cell in cells], dtype=object)
            columns.append(Column(key, "group" if key in _GROUPS else "text", _GROUPS.get(key, key), "", texts))
    return Table(file, "benchmark", tuple(columns), np.array([line for line, _ in records], np.int64))


def _requests(file: str, record: Mapping[str, Any], line: int, place: int | None) -> Iterator[Table]:
    """One row a request, of the lists that have a value for each."""
    lists = {k: v for k, v in record.items() if isinstance(v, list) and v and len(k) <= NAME}
    sizes = Counter(len(v) for k, v in lists.items() if k in ("input_lens", "output_lens", "ttfts"))
    if not sizes:
        return
    size = min(sizes.most_common(1)[0][0], REQUESTS)
    columns = [Column("request", "identifier", "request", "", np.array([str(i) for i in range(size)], dtype=object))]
    for key, values in lists.items():
        if len(values) < size:
            continue
        numbers = [number(value) for value in values[:size]]
        if any(n is not None for n in numbers):
            unit = "s" if key in ("ttfts", "itls", "tpots", "e2els", "latencies") else ""
            columns.append(Column(key, "measure", key, unit, np.array([NAN if n is None else n for n in numbers])))
        elif any(isinstance(value, str) and value for value in values) and key != "generated_texts":
            columns.append(Column(key, "text", key, "", np.array([str(v)[:TEXT] for v in values[:size]], dtype=object)))
    part = "requests" if place is None else f"requests/{place}"
    cut = f"over the limit of {REQUESTS} requests" if size == REQUESTS else ""
    yield Table(file, part, tuple(columns), np.full(size, line, np.int64), cut)


_SAID = {
    b"avg prompt throughput": ("prompt_throughput", "tokens/s"),
    b"avg generation throughput": ("generation_throughput", "tokens/s"),
    b"running": ("requests_running", ""),
    b"waiting": ("requests_waiting", ""),
    b"pending": ("requests_waiting", ""),
    b"swapped": ("requests_swapped", ""),
    b"preempted": ("requests_preempted", ""),
    b"gpu kv cache usage": ("kv_cache_usage", "1"),
    b"cpu kv cache usage": ("cpu_cache_usage", "1"),
    b"prefix cache hit rate": ("prefix_cache_hit_rate", "1"),
    b"external prefix cache hit rate": ("external_prefix_cache_hit_rate", "1"),
    b"mm cache hit rate": ("mm_cache_hit_rate", "1"),
    b"total_num_cumulative_preemption": ("preemptions", ""),
    b"#running-req": ("requests_running", ""),
    b"#queue-req": ("requests_waiting", ""),
    b"#new-seq": ("new_sequences", ""),
    b"#new-token": ("new_tokens", ""),
    b"#cached-token": ("cached_tokens", ""),
    b"#token": ("tokens", ""),
    b"token usage": ("kv_cache_usage", "1"),
    b"full token usage": ("kv_cache_usage", "1"),
    b"gen throughput (token/s)": ("generation_throughput", "tokens/s"),
    b"input throughput (token/s)": ("prompt_throughput", "tokens/s"),
    b"accept len": ("accept_length", "tokens"),
    b"#retracted_reqs": ("requests_preempted", ""),
    b"cache hit rate": ("prefix_cache_hit_rate", "1"),
}
"""What the servers print, in lower case -> name and unit; a share in percent is one of 1."""
_PAIR = bounded(rb"(?:^|[,\]:.]|\s)\s*(#?[A-Za-z][A-Za-z_ #/()-]{1,40}?)\s?[:=] ?(\d+(?:\.\d+)?)\s?(%)?")
_CLOCK = bounded(
    rb"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)|\b(?:INFO|WARNING) (\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)"
)
_LINE = bounded(
    rb"\"(GET|POST|PUT|DELETE) ([^ \"?\n]{1,100})[^\"\n]{0,200}\" (\d{3})\b"
    rb"|[Aa]vg prompt throughput:|(?:Prefill|Decode) batch[.,]|#retracted_reqs:|total_num_cumulative_preemption="
)
"""What a line is told by: an answer (method, path, status), or the load that a server prints now and then."""
_MARKS = (b" HTTP/", b"prompt throughput:", b" batch", b"#retracted_reqs:", b"cumulative_preemption=")
"""One of them is in every chunk that has such a line: most logs have none."""
ENDPOINTS = 200


class _Lines:
    """The numbers of a server's lines, those of one shape together, and the answers that it gave."""

    def __init__(self, file: str, year: int) -> None:
        self.file = file
        self._year = year
        self._shapes: dict[tuple[str, ...], tuple[array[float], array[int]]] = {}
        self._answers: Counter[tuple[str, str]] = Counter()
        self._first: dict[tuple[str, str], int] = {}
        self._rows = 0

    def add(self, text: bytes, line: int) -> None:
        pairs: dict[str, float] = {}
        for name, value, percent in _PAIR.findall(text):
            if said := _SAID.get(name.strip().lower()):
                pairs.setdefault(said[0], float(value) / (100 if percent else 1))
        if not pairs or self._rows >= ROWS:
            return
        values, lines = self._shapes.setdefault(tuple(pairs), (array("d"), array("q")))
        values.append(self._time(text))
        values.extend(pairs.values())
        lines.append(line)
        self._rows += 1

    def answer(self, method: bytes, path: bytes, status: bytes, line: int) -> None:
        key = f"{method.decode()} {path.decode('utf-8', 'replace')}", status.decode()
        if key in self._first or len(self._first) < ENDPOINTS:
            self._first.setdefault(key, line)
            self._answers[key] += 1

    def _time(self, text: bytes) -> float:
        """Seconds since the epoch; vLLM leaves out the year, which is that of the file."""
        match = _CLOCK.search(text)
        if not match:
            return NAN
        numbers = [int(g) for g in match.groups() if g is not None]
        try:
            return datetime(*(numbers if len(numbers) == 6 else (self._year, *numbers))).timestamp()  # type: ignore[arg-type]
        except (ValueError, OverflowError, OSError):
            return NAN

    def tables(self) -> Iterator[Table]:
        cut = f"over the limit of {ROWS} lines" if self._rows >= ROWS else ""
        units = dict(_SAID.values())
        for names, (values, lines) in self._shapes.items():
            rows = np.frombuffer(values).reshape(-1, len(names) + 1)
            time = Column("time", "axis", "time", "s", rows[:, 0])
            columns = (Column(name, "measure", name, units[name], rows[:, i]) for i, name in enumerate(names, 1))
            known = () if np.isnan(rows[:, 0]).all() else (time,)
            yield Table(self.file, f"server/{names[0]}", (*known, *columns), np.frombuffer(lines, np.int64), cut)
        if self._answers:
            keys = list(self._answers)
            yield Table(self.file, "server/answers", (
                Column("endpoint", "group", "endpoint", "", np.array([k[0] for k in keys], dtype=object)),
                Column("status", "group", "status", "", np.array([k[1] for k in keys], dtype=object)),
                Column("count", "measure", "count", "", np.array([float(self._answers[k]) for k in keys])),
            ), np.array([self._first[k] for k in keys], np.int64))  # fmt: skip


def of_server(chunks: Iterable[Chunk]) -> bool:
    """Whether a log holds lines that a vLLM or SGLang server prints of its load or its answers."""
    return any(_LINE.search(c.data) for c in chunks if any(mark in c.data for mark in _MARKS))


def read_server_lines(path: Path, file: str) -> tuple[Table, ...]:
    """Load, throughput, use of the cache and answers that a vLLM or SGLang server printed; none of another log."""
    found = _Lines(file, datetime.fromtimestamp(path.stat().st_mtime).year)
    for chunk in iter_chunks(path):
        if not any(mark in chunk.data for mark in _MARKS):
            continue
        line, at = chunk.first_line, 0
        for match in _LINE.finditer(chunk.data):
            line += chunk.data.count(b"\n", at, match.start())
            at = match.start()
            begin = chunk.data.rfind(b"\n", 0, at) + 1
            end = chunk.data.find(b"\n", at)
            text = chunk.data[begin : end if end >= 0 else len(chunk.data)]
            if match.group(1):
                found.answer(match.group(1), match.group(2), match.group(3), line)
            else:
                found.add(text[:2000], line)
    return tuple(found.tables())
