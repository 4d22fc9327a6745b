"""Records of JSON arrays, JSON documents and CSV, streamed: formats whose records are not lines.

A JSON array is read element by element through a window. One JSON object is taken as its longest list of
objects, or as one record.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from ...packed import open_plain
from .plain import lines_of
from .record import BLOCK_RECORDS, MAX_RECORD, Block, Broken, Part, Record

WINDOW = 1 << 20
WHITESPACE = " \t\r\n"


def json_blocks(part: Part) -> Iterator[Block]:
    """Blocks of a `.json` file: a top-level array is streamed, an object is loaded when it is small enough."""
    with open_plain(part.path) as stream:
        yield from _window_blocks(_Window(stream))


def _window_blocks(window: _Window) -> Iterator[Block]:
    if window.peek() == "[":
        yield from _array_blocks(window)
        return
    text = window.rest(MAX_RECORD * 4)
    if text is None:
        yield _cut(window, f"one JSON object of over {MAX_RECORD >> 18} MiB; write it as JSON lines")
        return
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        yield _cut(window, f"not JSON: {str(error)[:120]}")
        return
    rows = _rows(value)
    for i in range(0, len(rows), BLOCK_RECORDS):
        piece = [Record(row, i + j + 1, None) for j, row in enumerate(rows[i : i + BLOCK_RECORDS])]
        yield Block(piece, [], len(piece))


def _cut(window: _Window, why: str) -> Block:
    return Block(broken=[Broken(window.line, window.byte, why, ends_file=True)], lines=1)


def _rows(value: Any) -> list[Any]:
    """The records in one JSON object: its longest list of objects, parallel columns, or the object itself."""
    if not isinstance(value, dict):
        return value if isinstance(value, list) else [value]
    lists = {k: v for k, v in value.items() if isinstance(v, list) and len(v) > 1}
    tables = [v for v in lists.values() if all(isinstance(row, dict) for row in v[:50])]
    if tables and not {"messages", "conversations"} & value.keys():
        return max(tables, key=len)
    return [value]


class _Window:
    """A sliding piece of a text file that knows the line and byte of its start."""

    def __init__(self, stream: BinaryIO):
        self._stream = stream
        self._rest = b""
        self.text = ""
        self.at = 0
        self.line = 1
        self.byte = 0
        self.ended = False
        self.grow()
        if self.text.startswith("\ufeff"):
            self.drop(1)

    def grow(self) -> None:
        piece = self._stream.read(WINDOW)
        if not piece:
            self.ended = True
            self.text += self._rest.decode("utf-8", "replace")
            self._rest = b""
            return
        piece = self._rest + piece
        cut = len(piece)
        while cut and cut > len(piece) - 4 and (piece[cut - 1] & 0xC0) == 0x80:
            cut -= 1
        if cut and piece[cut - 1] >= 0xC0:
            cut -= 1
        elif cut < len(piece):
            cut = len(piece)
        self._rest = piece[cut:]
        self.text += piece[:cut].decode("utf-8", "replace")

    def drop(self, count: int) -> None:
        end = self.at + count
        self.line += self.text.count("\n", self.at, end)
        piece = self.text[self.at : end]
        self.byte += count if piece.isascii() else len(piece.encode("utf-8", "replace"))
        self.at = end
        if self.at > WINDOW:
            self.text, self.at = self.text[self.at :], 0

    def skip(self, characters: str) -> None:
        while True:
            end = self.at
            while end < len(self.text) and self.text[end] in characters:
                end += 1
            self.drop(end - self.at)
            if self.at < len(self.text) or self.ended:
                return
            self.grow()

    @property
    def left(self) -> int:
        return len(self.text) - self.at

    def peek(self) -> str:
        self.skip(WHITESPACE)
        return self.text[self.at : self.at + 1]

    def rest(self, limit: int) -> str | None:
        while not self.ended and self.left <= limit:
            self.grow()
        return self.text[self.at :] if self.ended else None


def _array_blocks(window: _Window) -> Iterator[Block]:
    decoder = json.JSONDecoder()
    window.drop(1)
    block = Block()
    while True:
        window.skip(WHITESPACE + ",")
        if not window.left:
            block.broken.append(Broken(window.line, window.byte, "the array is not closed", ends_file=True))
        if not window.left or window.text[window.at] == "]":
            break
        element = _element(window, decoder)
        block.lines += 1
        if isinstance(element, str):
            block.broken.append(Broken(window.line, window.byte, element, ends_file=True))
            break
        value, length = element
        block.records.append(Record(value, window.line, window.byte))
        window.drop(length)
        if len(block.records) >= BLOCK_RECORDS:
            yield block
            block = Block()
    yield block


def _element(window: _Window, decoder: json.JSONDecoder) -> tuple[Any, int] | str:
    """(value, characters) of the next element, or why there is none."""
    while True:
        try:
            value, end = decoder.raw_decode(window.text, window.at)
            if end < len(window.text) or window.ended:
                return value, end - window.at
        except RecursionError:
            return "nested too deeply"
        except ValueError as error:
            if window.ended:
                return f"not JSON: {str(error)[:120]}"
        if window.left > MAX_RECORD:
            return f"an element is broken or longer than {MAX_RECORD >> 20} MiB"
        before = window.left
        while not window.ended and window.left < 2 * before:
            window.grow()  # doubled, so that one long element is not parsed again for every window


def csv_blocks(part: Part) -> Iterator[Block]:
    """Rows as dicts of the header's names; a row of another width is broken."""
    csv.field_size_limit(MAX_RECORD)
    place = _Place()
    reader = csv.reader(place.text(part), delimiter="\t" if part.format == "tsv" else _delimiter(part))
    header: list[str] | None = None
    block, row = Block(), 0
    while True:
        start = place.line + 1, place.byte
        try:
            cells = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            block.lines = place.line
            block.broken.append(Broken(start[0], start[1], f"not CSV: {error}"))
            continue
        if header is None:
            header = [c.strip().lstrip("\ufeff") or f"column{i}" for i, c in enumerate(cells, 1)]
        elif place.zeros:
            block.broken.append(Broken(start[0], start[1], "not CSV: it holds zero bytes"))
        elif len(cells) == len(header):
            block.records.append(Record(dict(zip(header, cells, strict=True)), start[0], start[1]))
        elif cells:
            why = f"{len(cells)} columns where the header has {len(header)}"
            block.broken.append(Broken(start[0], start[1], why))
        place.zeros = False
        if len(block.records) >= BLOCK_RECORDS:
            block.lines, row = place.line - row, place.line
            yield block
            block = Block()
    block.lines = place.line - row
    yield block


def _delimiter(part: Part) -> str:
    first = next((raw for _, _, raw in lines_of(part)), b"")[:4096].decode("utf-8", "replace")
    return max(",;\t|", key=first.count)


class _Place:
    """Where the CSV reader has got to, counted under it."""

    def __init__(self) -> None:
        self.line = 0
        self.byte = 0
        self.zeros = False
        """Whether this row holds zero bytes."""

    def text(self, part: Part) -> Iterator[str]:
        for line, byte, raw in lines_of(part):
            self.line, self.byte, self.zeros = line, byte + len(raw), self.zeros or b"\0" in raw
            yield raw.decode("utf-8", "replace").replace("\0", "")
