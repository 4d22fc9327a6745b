"""One text file of a run into a `Store` of points: cheap line filter, wrapped records, progress bars, ranks.

Metric files (JSON state, JSON lines, CSV) are told from console logs by their first bytes and read by
`tools.logs.points.tables`. Nothing is judged here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Protocol

import numpy as np

from ...reading import ESCAPES, Chunk, iter_chunks, pieces, split_prefix, unwrapped
from ...series import Series
from .blocks import Blocks, Found
from .format import Format, Record
from .hints import candidates
from .layouts import LARGE
from .parse import progress, wrapped
from .points import Store
from .shapes import Seen, Shapes, plain
from .tables import SAMPLE, read_table
from .templates import Templates
from .together import Bars, Rows, Together, keep

AHEAD = 3
"""Chunks made ready while one is read: so none waits for one that takes long."""
JOIN_LIMIT, KEYS_LIMIT = 5, 100
"""Most lines one wrapped record may take, and one that is printed with a key a line."""


class Watcher(Protocol):
    """Looks at the text of a log beside the reader of metrics, so that it is read once for both."""

    def look(self, chunk: Chunk, points: int) -> None:
        """See the next chunk, after which the reader has this number of points of the file."""
        ...

    def done(self, series: Sequence[Series], why: str = "", starts: tuple[int, ...] = (), whole: int = 0) -> None:
        """The file is read: its series, or `why` it could not be read.

        Args:
            series: what was read.
            why: the reason, empty where it was read.
            starts: lines at which its program was started again.
            whole: the line at which a counter reached its total, 0 for none.
        """
        ...


def read_store(path: Path, store: Store, beside: Watcher | None = None) -> Shapes:
    """Read every metric of a log or metric file into `store`; `beside` sees every chunk of it too.

    Returns:
        The shapes of the lines of a log, whether or not a format reads them.

    Raises:
        TriageError: the file cannot be read.
    """
    chunks = iter_chunks(path)
    first = next(chunks, None)
    if first is None:
        return Shapes()
    seen = _seen(chain((first,), chunks), store, beside)
    if read_table(path, first.data[:SAMPLE], seen, store):
        return Shapes()
    reader = _Reader(store)
    reader.read(chain((first,), chunks), beside)
    return reader.shapes


def read_chunks(chunks: Iterable[Chunk], store: Store) -> Shapes:
    """Read the metrics of text that stands in no file of its own; the shapes of its lines."""
    reader = _Reader(store)
    reader.read(chunks)
    return reader.shapes


_Made = tuple[Chunk, Seen, list[Rows], Bars]
"""A chunk, what it holds, and which of its lines are read together."""


def _ahead(made: Iterator[_Made]) -> Iterator[_Made]:
    """The same; of a large log the next ones are made in a thread, while the one before is read."""
    one = next(made, None)
    if one is None or len(one[0].data) < LARGE:
        yield from chain((one,), made) if one else ()
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as beside:
        later = deque(beside.submit(next, made, None) for _ in range(AHEAD))
        while one:
            later.append(beside.submit(next, made, None))
            yield one
            one = later.popleft().result()


def _seen(chunks: Iterable[Chunk], store: Store, beside: Watcher | None) -> Iterator[Chunk]:
    for chunk in chunks:
        yield chunk
        if beside:
            beside.look(chunk, store.kept)


@dataclass
class _Open:
    """A record that goes on in the next line."""

    form: Format
    rank: int | None
    text: str
    lines: list[tuple[int, int | None, str]]
    """(line, rank, text) of the lines taken in, to read on their own if the record never ends."""


@dataclass
class _Reader:
    store: Store
    templates: Templates = field(default_factory=Templates)
    open: _Open | None = None
    blocks: Blocks = field(default_factory=Blocks)
    shapes: Shapes = field(default_factory=Shapes)
    together: Together = field(default_factory=Together)
    last: tuple[int, str] | None = None
    """The step last read and what counted it."""
    bar: int | None = None
    """Steps done by the progress bar since the last record, if it moved."""

    def read(self, chunks: Iterable[Chunk], beside: Watcher | None = None) -> None:
        for chunk, seen, rows, bars in _ahead(self.made(chunks)):
            if rows:
                self.mixed(seen, rows, bars)
            else:
                self.apart(chunk)
            if beside:
                beside.look(chunk, self.store.kept)
        self.close()
        self.found(self.blocks.end())

    def made(self, chunks: Iterable[Chunk]) -> Iterator[_Made]:
        """Put the lines of chunks into shapes."""
        for chunk in chunks:
            seen = self.shapes.look(plain(chunk))
            rows = self.together.rows(seen)
            yield chunk, seen, rows, self.together.bars(seen, rows)

    def apart(self, chunk: Chunk) -> None:
        """Read a chunk line by line."""
        (data, number), at = chunk, 0
        data = ESCAPES.sub(b"", data) if b"\x1b" in data else data
        for start in candidates(data):
            while (self.open or self.blocks.open) and at < start:
                at, number = self.line(data, at, number)
            if start >= at:
                number += data.count(b"\n", at, start)
                at, number = self.line(data, start, number)
        while (self.open or self.blocks.open) and at < len(data):
            at, number = self.line(data, at, number)

    def mixed(self, seen: Seen, rows: Sequence[Rows], bars: Bars) -> None:
        """Read a chunk of which some lines are read together: each stretch of them between two others."""
        alone = np.ones(len(seen.numbers), bool)
        for one in rows:
            alone[one.at] = False
        alone[bars.at] = False
        others = np.flatnonzero(alone)
        text, ends = seen.lines.joined(others)
        at = self.alone(seen, 0)
        for i in others[np.searchsorted(ends, candidates(text), side="right")].tolist() if len(others) else ():
            if i >= at:
                self.stretch(rows, bars, at, i)
                self.piece(int(seen.numbers[i]), *pieces(seen.lines[i]))
                at = self.alone(seen, i + 1)
        self.stretch(rows, bars, at, len(seen.numbers))

    def alone(self, seen: Seen, at: int) -> int:
        """Read line by line what goes on below a record that is open; where it ends."""
        while (self.open or self.blocks.open) and at < len(seen.numbers):
            self.piece(int(seen.numbers[at]), *pieces(seen.lines[at]))
            at += 1
        return at

    def stretch(self, rows: Sequence[Rows], bars: Bars, low: int, high: int) -> None:
        """Keep the lines between two of a chunk that are read together."""
        if low < high:
            parts = [part for one in rows if (part := one.part(low, high))]
            last, self.bar = keep(self.store, parts, bars.part(low, high), self.bar)
            self.last = last or self.last

    def line(self, data: bytes, start: int, number: int) -> tuple[int, int]:
        """Read the line at `start`; the offset and number of the next one."""
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        for piece in pieces(data[start:end]):
            self.piece(number, piece)
        return end + 1, number + 1

    def piece(self, line: int, text: str) -> None:
        for wrapped_line in unwrapped(text) if text[:1] == "{" else (text,):
            rank, rest = split_prefix(wrapped_line)
            if self.open:
                if self.join(line, rank, rest):
                    continue
                self.close()
            if self.blocks.open:
                self.found(self.blocks.take(line, rest))
            self.fresh(line, rank, rest)

    def join(self, line: int, rank: int | None, rest: str) -> bool:
        """Add the line to the open record; False if it does not belong to it."""
        held = self.open
        if not held or not held.form.closes or not held.form.opens:
            return False
        stranger = rank is not None and rank != held.rank
        a_key = held.form.a_key_a_line
        limit = KEYS_LIMIT if a_key and a_key.match(rest) else JOIN_LIMIT
        if not rest.strip() or stranger or len(held.lines) >= limit or held.form.opens.search(rest):
            return False
        glue = "" if rest[0].isspace() or held.text[-1:].isspace() else " "
        held.lines.append((line, rank, rest))
        held.text += glue + rest
        if held.form.closes.search(rest):
            self.open = None
            self.record(held.lines[0][0], held.rank, held.text)
        return True

    def close(self) -> None:
        """Give an unfinished record up: its first line and the lines taken in stand for themselves."""
        if self.open:
            held, self.open = self.open, None
            for line, rank, text in held.lines:
                self.record(line, rank, text)

    def record(self, line: int, rank: int | None, text: str) -> None:
        record = self.templates.parse(text)
        if record:
            self.found(self.blocks.end() if record.step is not None else ())
            self.add(line, rank, record)
            return
        if not self.blocks.may_begin(text):
            return
        self.found(self.blocks.begin(line, rank, text))
        block = self.blocks.block
        if block and block.step is not None and (block.counter != "epoch" or not self.last or self.last[1] == "epoch"):
            self.last = (block.step, block.counter)

    def found(self, blocks: Iterable[Found]) -> None:
        """Keep the metrics of finished blocks and rows of tables."""
        for one in blocks:
            if one.step is None:
                self.store.unnumbered("block", one.rank, one.values, None)
                continue
            stream = self.store.stream(f"block:{one.counter}", one.rank)
            stream.step_is = "epoch" if one.counter == "epoch" else stream.step_is
            self.store.record(stream, one.step, one.values)
            self.last = (one.step, one.counter)

    def fresh(self, line: int, rank: int | None, rest: str) -> None:
        done = progress(rest)
        if done and done[1] > 1:
            self.bar = done[0]
            self.store.bar_after(done[0])
        form = wrapped(rest)
        if form:
            self.open = _Open(form, rank, rest, [(line, rank, rest)])
            return
        self.record(line, rank, rest)

    def add(self, line: int, rank: int | None, record: Record) -> None:
        rank = record.rank if rank is None else rank
        values = [(key, value, line) for key, value in record.values]
        name = f"{record.format}:{record.counter}"
        if record.step is not None:
            stream = self.store.stream(name, rank)
            if record.counter == "epoch":
                stream.step_is = "epoch"
            epoch = None if record.counts_alone or record.counter == "epoch" else record.epoch
            self.store.record(stream, record.step, values, epoch)
            self.last = (record.step if stream.last_step is None else stream.last_step, record.counter)
        elif record.counts_alone:
            self.store.unnumbered(name, rank, values, self.bar)
            self.bar = None
        elif self.last is not None:
            stream = self.store.stream(f"{name}:{self.last[1]}", rank)
            stream.step_is = "epoch" if self.last[1] == "epoch" else stream.step_is
            self.store.record(stream, self.last[0], values)
