"""One text file of a run into a `Store` of points: cheap line filter, wrapped records, progress bars, ranks.

Metric files (JSON state, JSON lines, CSV) are told from console logs by their first bytes and read by
`tools.logs.tables`. Nothing is judged here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..reading import Chunk, head, iter_chunks, pieces, split_prefix, text_chunks
from .formats import Format, Record, parse, progress, wrapped
from .points import Store
from .tables import read_table

_WORDS = (b"loss", b"step", b"iter", b"reward", b"%|", b"poch", b"e2e latency", b"grad_norm", b"batch")
"""A line without any of these (in lower case) holds no metric."""
JOIN_LIMIT = 5
"""Most lines one wrapped record may take."""


def read_store(path: Path, store: Store, logging_steps: int | None = None) -> None:
    """Read every metric of a log or metric file into `store`.

    Args:
        logging_steps: interval of Trainer lines that carry no step, None if unknown.

    Raises:
        TriageError: the file cannot be read.
    """
    store.logging_steps = logging_steps
    if not read_table(path, head(path, 64 << 10), store):
        _Reader(store).read(iter_chunks(path))


def read_pasted(text: str, store: Store) -> None:
    """The same for pasted text."""
    _Reader(store).read(text_chunks(text))


@dataclass
class _Open:
    """A record that goes on in the next line."""

    form: Format
    text: str
    line: int
    rank: int | None
    left: int = JOIN_LIMIT


@dataclass
class _Reader:
    store: Store
    open: _Open | None = None
    last_step: int | None = None
    bar: int | None = None
    """Steps done by the progress bar since the last record, if it moved."""

    def read(self, chunks: Iterable[Chunk]) -> None:
        for data, first in chunks:
            lower = data.lower().split(b"\n")
            raw: list[bytes] | None = None
            for i, line in enumerate(lower):
                if self.open is None and not any(word in line for word in _WORDS):
                    continue
                if raw is None:
                    raw = data.split(b"\n")
                for piece in pieces(raw[i]):
                    self.piece(first + i, piece)
        self.close()

    def piece(self, line: int, text: str) -> None:
        rank, rest = split_prefix(text)
        if self.open:
            if self.join(rank, rest):
                return
            self.close()
        self.fresh(line, rank, rest)

    def join(self, rank: int | None, rest: str) -> bool:
        """Add the line to the open record; False if it does not belong to it."""
        held = self.open
        assert held and held.form.closes
        if not rest.strip() or held.left == 0 or (rank is not None and rank != held.rank) or parse(rest):
            return False
        glue = "" if rest[0].isspace() or held.text[-1:].isspace() else " "
        self.open = _Open(held.form, held.text + glue + rest, held.line, held.rank, held.left - 1)
        if held.form.closes.search(rest):
            self.close()
        return True

    def close(self) -> None:
        if self.open:
            held, self.open = self.open, None
            record = parse(held.text)
            if record:
                self.add(held.line, held.rank, record)

    def fresh(self, line: int, rank: int | None, rest: str) -> None:
        if not any(c.isdigit() for c in rest) and "nan" not in rest.lower():
            return
        done = progress(rest)
        if done and done[1] > 1:
            self.bar = done[0]
            self.store.bar_after(done[0])
        form = wrapped(rest)
        if form:
            self.open = _Open(form, rest, line, rank)
            return
        record = parse(rest)
        if record:
            self.add(line, rank, record)

    def add(self, line: int, rank: int | None, record: Record) -> None:
        rank = record.rank if rank is None else rank
        values = [(key, value, line) for key, value in record.values]
        name = f"{record.format}:{record.counter}"
        if record.step is not None:
            stream = self.store.stream(name, rank)
            if record.counter == "epoch":
                stream.step_is = "epoch"
            epoch = None if record.format == "dict" or record.counter == "epoch" else record.epoch
            self.store.record(stream, record.step, values, epoch)
            self.last_step = stream.last_step
        elif record.format == "dict":
            self.store.unnumbered(name, rank, values, self.bar)
            self.bar = None
        elif self.last_step is not None:
            self.store.record(self.store.stream(name, rank), self.last_step, values)
