"""The passes over the data that duplicate detection makes: sign every document, then fetch a chosen few.

A document's id is its part's number and its place in the part, so that ids need no agreement between
processes. Kernels here are what the local and the Ray engine both run.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine import Engine
from ..records.blocks import blocks
from ..records.record import Account, Broken, Lines, Part
from ..records.shapes import view
from .features import EMPTY, SLOTS, U64, Batch, Unit, bands, batches, sketch
from .longtext import LongText, is_long
from .matching import band_rows

ID_SHIFT = 32
BROKEN_KEPT = 20
"""Broken records of a part that are located; the others are only counted."""
SAMPLE_DOCUMENTS = 2000
"""Documents whose n-grams are kept to learn the corpus's templates."""


@dataclass(frozen=True)
class Options:
    """How duplicates are looked for."""

    threshold: float = 0.8
    unit: Unit = "auto"
    field: str | None = None
    """Compare this field instead of the recognised text."""

    @property
    def rows(self) -> int:
        return band_rows(self.threshold)


@dataclass
class Signed:
    """What is kept of one part's documents (those with any n-gram): about 190 bytes each."""

    part: int
    lines: int = 0
    records: int = 0
    empty: int = 0
    by_char: int = 0
    """Documents cut by characters; the others by words."""
    unspaced: int = 0
    """Documents in a script without spaces, however they were cut."""
    broken: list[Broken] = field(default_factory=list)
    broken_count: int = 0
    ids: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    line: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    byte: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """-1 where the format has no byte positions."""
    exact: U64 = field(default_factory=lambda: np.zeros(0, np.uint64))
    keys: U64 = field(default_factory=lambda: np.zeros((0, 0), np.uint64))
    """Shape (bands, documents)."""
    sample: list[U64] = field(default_factory=list)


@dataclass(frozen=True)
class SignTask:
    part: Part
    options: Options
    sample: int
    """How many documents' n-grams to keep."""

    @property
    def size(self) -> int:
        return self.part.size


def sign(task: SignTask) -> Signed:
    """Exact hash and band keys of every document of one part."""
    out = Signed(task.part.number)
    places: list[tuple[int, int, int]] = []
    exact, keys = [], []
    for block in blocks(task.part):
        note_broken(out, block.broken)
        texts = []
        for record in block.records:
            texts.append(view(record.value, task.options.field).text)
            places.append((out.records, record.line, -1 if record.byte is None else record.byte))
            out.records += 1
        signatures = [np.zeros((0, SLOTS), np.uint32)]
        for piece in batches(texts):
            hashes, signature = _sign_batch(texts[piece], task, out)
            exact.append(hashes)
            signatures.append(signature)
        keys.append(bands(np.concatenate(signatures), task.options.rows))
        out.lines += block.lines
    if not places:
        return out
    table = np.array(places, np.int64)
    out.exact = np.concatenate(exact)
    out.keys = np.concatenate(keys, axis=1)
    full = out.exact != 0
    out.ids, out.line, out.byte = (task.part.number << ID_SHIFT) + table[full, 0], table[full, 1], table[full, 2]
    out.exact, out.keys = out.exact[full], out.keys[:, full]
    out.empty = int((~full).sum())
    return out


def _sign_batch(texts: list[str], task: SignTask, out: Signed) -> tuple[U64, NDArray[np.uint32]]:
    """(exact hash, signature); hash 0 marks a document without letters."""
    if is_long(texts):
        return _sign_long(LongText(texts[0], task.options.unit), out)
    batch = Batch(texts)
    cut = batch.grams(texts, task.options.unit)
    full = np.diff(cut.starts) > 0
    unspaced = int((batch.unspaced() & full).sum())
    out.unspaced += unspaced
    out.by_char += {"auto": unspaced, "char": int(full.sum()), "word": 0}[task.options.unit]
    for d in np.flatnonzero(full)[: max(0, task.sample - len(out.sample))]:
        out.sample.append(cut.set_of(int(d)))
    return np.where(full, np.maximum(batch.exact(), np.uint64(1)), np.uint64(0)), sketch(cut)


def _sign_long(text: LongText, out: Signed) -> tuple[U64, NDArray[np.uint32]]:
    """As `_sign_batch`, of one text; it is no sample of a template, which would be short."""
    signature = text.sketch()
    full = bool((signature != EMPTY).any())
    out.unspaced += full and text.unspaced
    out.by_char += full and text.by_char
    return np.array([max(text.exact(), 1) if full else 0], np.uint64), signature


def note_broken(out: Any, broken: Iterable[Broken]) -> None:
    """Count broken records, keep the first few, and always those that end a file."""
    for b in broken:
        out.broken_count += 1
        if len(out.broken) < BROKEN_KEPT or b.ends_file:
            out.broken.append(b)


@dataclass(frozen=True)
class PickTask:
    part: Part
    wanted: tuple[int, ...]
    """Places in the part, ascending."""
    field: str | None = None
    whole: bool = False
    """The record itself instead of its text."""
    size: int = 0


def pick(task: PickTask) -> list[Any]:
    """The texts (or whole values) of chosen documents of one part."""
    wanted, out, seen = set(task.wanted), [], 0
    for block in blocks(task.part):
        for i, record in enumerate(block.records, seen):
            if i in wanted:
                out.append(record.value if task.whole else view(record.value, task.field).text)
        seen += len(block.records)
        if len(out) == len(wanted):
            break
    return out


def pick_tasks(parts: Sequence[Part], ids: NDArray[np.int64], field: str | None) -> list[PickTask]:
    """One task per part that holds any of the sorted ids."""
    if not len(ids):
        return []
    numbers, begin = np.unique(ids >> ID_SHIFT, return_index=True)
    ends = [*begin[1:].tolist(), len(ids)]
    low = (1 << ID_SHIFT) - 1
    return [
        PickTask(parts[n], tuple((ids[b:e] & low).tolist()), field)
        for n, b, e in zip(numbers.tolist(), begin.tolist(), ends, strict=True)
    ]


class Spill:
    """Texts of chosen documents in a temporary file that worker processes can read."""

    def __init__(self, path: Path):
        self.path = path
        self._at: dict[int, tuple[int, int]] = {}
        self._file = path.open("wb")
        self._end = 0

    def add(self, ids: Sequence[int], texts: Sequence[str]) -> None:
        for id, text in zip(ids, texts, strict=True):
            raw = text.encode("utf-8", "surrogatepass")
            self._file.write(raw)
            self._at[id] = (self._end, len(raw))
            self._end += len(raw)

    def close(self) -> None:
        self._file.close()

    def where(self, ids: Iterable[int]) -> dict[int, tuple[int, int]]:
        return {id: self._at[id] for id in ids}

    def texts(self, ids: Iterable[int]) -> dict[int, str]:
        return read_spill(self.path, self.where(ids))


def read_spill(path: Path, where: dict[int, tuple[int, int]]) -> dict[int, str]:
    with path.open("rb") as file:
        return {
            id: os.pread(file.fileno(), size, at).decode("utf-8", "surrogatepass") for id, (at, size) in where.items()
        }


@contextmanager
def spilled(engine: Engine, parts: Sequence[Part], ids: NDArray[np.int64], field: str | None) -> Iterator[Spill]:
    """The texts of the sorted ids, until the block ends."""
    with tempfile.TemporaryDirectory(prefix="triage-") as folder:
        spill = Spill(Path(folder) / "texts")
        tasks = pick_tasks(parts, ids, field)
        for task, texts in zip(tasks, engine.map(pick, tasks), strict=True):
            first = task.part.number << ID_SHIFT
            spill.add([first + i for i in task.wanted], texts)
        spill.close()
        yield spill


class Corpus:
    """All signed documents, as arrays in the order of their ids, and where each one is."""

    def __init__(self, parts: Sequence[Part], signed: Iterable[Signed], options: Options):
        self.parts = parts
        self.lines = Lines()
        self.records = self.empty = self.by_char = self.unspaced = self.broken_count = 0
        self.account = Account()
        self.sample: list[U64] = []
        kept: list[Signed] = []
        for one in signed:
            self.lines.add(parts[one.part], one.lines)
            self.records += one.records
            self.empty += one.empty
            self.by_char += one.by_char
            self.unspaced += one.unspaced
            self.broken_count += one.broken_count
            self.account.add(parts[one.part].name, one.records, one.broken, one.broken_count)
            self.sample += one.sample
            one.sample = []
            if len(one.ids):
                kept.append(one)
        self.ids = _joined([s.ids for s in kept], np.int64)
        self._line = _joined([s.line for s in kept], np.int64)
        self._byte = _joined([s.byte for s in kept], np.int64)
        self.exact = _joined([s.exact for s in kept], np.uint64)
        self.keys = np.empty((SLOTS // options.rows, len(self.ids)), np.uint64)
        at = 0
        for one in kept:
            self.keys[:, at : at + len(one.ids)] = one.keys if one.keys.size else 0
            at += len(one.ids)
            one.keys = np.zeros((0, 0), np.uint64)

    def place(self, id: int) -> tuple[str, int, int | None]:
        """(file, absolute line or row, byte) of a document."""
        at = int(np.searchsorted(self.ids, id))
        part = self.parts[id >> ID_SHIFT]
        byte = int(self._byte[at])
        return part.name, self.lines.absolute(part, int(self._line[at])), byte if byte >= 0 else None


def _joined(arrays: list[Any], dtype: Any) -> Any:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype)
