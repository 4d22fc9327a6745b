"""Text of a run as chunks and lines, in bounded memory, whatever is inside the file.

Plain, gzip and zstd files (all frames) are read alike. What comes out is clean UTF-8: byte order marks and NUL bytes
are dropped, UTF-16 and GB18030 are converted, bad bytes become U+FFFD, pieces of megabytes are shortened in the
middle. Line numbers are those of the (unpacked) file, one-based, counted by `\\n` alone.

It does not follow the meaning of a line: that is `tools.logs`.
"""

from __future__ import annotations

import codecs
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, NamedTuple

from .findings import TriageError
from .packed import BROKEN, Unpacked, next_written, packing_of
from .patterns import bounded

CHUNK_SIZE = 4 << 20
"""Bytes read at a time; a chunk is cut at a line end, so it is about this long."""
HEAD_LIMIT = 64 << 10
"""Bytes kept from the start of an overlong piece of a line."""
TAIL_LIMIT = 4 << 10
"""Bytes kept from its end: a traceback glued to a long line stands there."""
TRIED = 128 << 10
"""Bytes decoded at a time only to see whether they can be: what comes out stays in the processor's cache."""
SMALL, BEGINNING = 64 << 10, 1 << 20
"""Bytes of the beginning of a file that are kept while a run is looked at: of most, and where more is asked for."""
FREE = 12 << 20
"""Bytes that a packed log may give whatever their ratio: seconds of reading where every line is a step."""

NUL_HEAD, NUL_LIMIT = 64, 1 << 20
"""NUL bytes at the beginning of a file from which on they are a hole that a crash left, and the most passed over."""

UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
ESCAPES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n\r]*(?:\x07|\x1b\\)?|[@-Z\\-_])")

BREAKS_OFF = "[triage: the packed data of"
"""Start of the line that ends what could be read of a broken packed file."""
_NULS = bytes(CHUNK_SIZE)
_Heard = tuple[Callable[[int], object], Callable[[str], object]]
_listener: ContextVar[_Heard | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listen: Callable[[int], object], opened: Callable[[str], object] = lambda name: None) -> Iterator[None]:
    """Call `opened(name)` for every file that is read as chunks meanwhile, and `listen(bytes)` for every piece of it,
    packed bytes of a packed one."""
    token = _listener.set((listen, opened))
    try:
        yield
    finally:
        _listener.reset(token)


class Line(NamedTuple):
    """One piece of a line: a progress bar redrawn with `\\r` gives several pieces of one number."""

    number: int
    """One-based line in the file."""
    text: str
    """Without line end, escape sequences, NUL bytes."""


class Chunk(NamedTuple):
    """Whole lines (or whole `\\r` pieces of an endless line) as UTF-8 bytes; escape sequences are still in."""

    data: bytes
    first_line: int
    """Line number of the first byte."""


def iter_lines(path: Path) -> Iterator[Line]:
    """Every line of the file, progress bars piece by piece.

    Raises:
        TriageError: the file cannot be opened, or its packed data is broken before the first byte.
    """
    return lines_of(iter_chunks(path))


def lines_of(chunks: Iterable[Chunk]) -> Iterator[Line]:
    """The lines of chunks that `iter_chunks` made."""
    for data, number in chunks:
        body = data[:-1] if data.endswith(b"\n") else data
        for i, raw in enumerate(body.split(b"\n")):
            for piece in pieces(raw):
                yield Line(number + i, piece)


def pieces(raw: bytes) -> Iterator[str]:
    """The `\\r` separated pieces of one line, decoded; an empty line is one empty piece."""
    raw = raw.rstrip(b"\r")
    if b"\r" not in raw:
        yield _text(raw)
        return
    for piece in raw.split(b"\r"):
        if piece:
            yield _text(piece)


def iter_chunks(path: Path, size: int = CHUNK_SIZE) -> Iterator[Chunk]:
    """The file in chunks of about `size` bytes that end at a line end; what is appended meanwhile is not read.

    A packed file that breaks off yields what could be unpacked; the last line then says so.

    Raises:
        TriageError: the file cannot be opened, or its packed data is broken before the first byte.
    """
    return _cut(_blocks(path, size), size)


def head(path: Path, size: int = 4096) -> bytes:
    """The first bytes after unpacking, as they are: what a file is recognised by.

    Raises:
        TriageError: as `iter_chunks`.
    """
    try:
        file = path, (stat := os.stat(path)).st_mtime_ns, stat.st_size
        first = _beginning(*file, SMALL)
        if size <= SMALL or len(first) < SMALL:
            return first[:size]
        return (_beginning if size <= BEGINNING else _read_beginning)(*file, max(size, BEGINNING))[:size]
    except BROKEN as error:
        raise _unreadable(path, error) from error


def _read_beginning(path: Path, changed: int, length: int, size: int) -> bytes:
    with open_unpacked(path) as stream:
        return stream.read(size)


_beginning = lru_cache(64)(_read_beginning)
"""What many readers ask of one file, read once as long as it stays as it is."""


def parse_json(data: bytes) -> Any:
    """JSON of one record; `NaN` and `Infinity`, which trainers write, and integers past 64 bits are let through.

    Raises:
        ValueError: not JSON, or nested too deeply.
    """
    import json

    import orjson

    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as first:
        if b"NaN" not in data and b"Infinity" not in data and not _LONG_DIGITS.search(data):
            raise ValueError(str(first)) from None
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None


_LONG_DIGITS = re.compile(rb"\d{19}")

POINTER = b"version https://git-lfs.github.com/spec/"
"""Beginning of what Git leaves in place of a large file that was not fetched."""
POINTER_WHY = "Git LFS pointer, the file itself was not fetched; run `git lfs pull`"


def is_binary(sample: bytes) -> bool:
    """Whether the first bytes of a file are not text in any encoding read here.

    Threshold: more than one control character in 30 after NUL bytes are dropped, or mostly NUL in a sample
    without any line end (a log may hold a hole of NUL bytes where a disk was full).
    """
    if not sample or sample[:2] in UTF16:
        return False
    rest = sample.replace(b"\0", b"")
    if not rest:
        return True
    control = sum(rest.count(bytes((c,))) for c in range(32) if c not in (7, 8, 9, 10, 11, 12, 13, 27))
    if len(rest) < len(sample) / 2 and b"\n" not in rest:
        return True
    return control > len(rest) / 30 or (_undecodable(rest) > len(rest) / 4 and b"\n" not in rest)


_CARRIED = re.compile(r"^\s*\{\s*\"")
_CARRIERS = ("log", "message", "msg", "text", "line")
_CARRIED_WITH = frozenset((
    "stream", "time", "timestamp", "ts", "asctime", "level", "levelname", "severity", "record", "@timestamp",
    "logger", "name",
))  # fmt: skip


def unwrapped(text: str) -> list[str]:
    """The lines that a logger or a container put into a JSON object, else the text itself.

    >>> unwrapped('{"log": "step 3 loss 2.1\\\\n", "stream": "stdout"}')
    ['step 3 loss 2.1']
    """
    if text[:1] != "{" or not _CARRIED.match(text) or not any(f'"{name}"' in text for name in _CARRIERS):
        return [text]
    import orjson

    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError:
        return [text]
    if not isinstance(data, dict) or _CARRIED_WITH.isdisjoint(data):
        return [text]
    carried = next((data[name] for name in _CARRIERS if isinstance(data.get(name), str)), None)
    return carried.rstrip("\n").split("\n") if carried else [text]


def split_prefix(text: str) -> tuple[int | None, str]:
    """Cut rank, process, clock and paste prefixes off a line.

    >>> split_prefix("[default7]: iteration 5/ 10")
    (7, 'iteration 5/ 10')
    """
    rank = None
    if text[:1] not in _PREFIX_STARTS:
        return None, text
    for _ in range(4):
        match = _PREFIX.match(text)
        if not match or match.end() == 0:
            break
        named = next((g for g in match.groups() if g is not None), None)
        rank = int(named) if named is not None else rank
        text = text[match.end() :]
    return rank, text


_PREFIX_STARTS = frozenset("[(#>rRE0123456789 \t")
_PREFIX = bounded(
    r"""\s{0,16}(?:
      \[ (?:rank|default)\ ?(\d{1,5}) \] :? \s?                     # [rank2]:  [Rank 2]  [default7]:
    | rank\ ?(\d{1,5}) \s?[:|] \s                                   # rank2: text
    | (\d{1,5}) :\ (?!\d+\s{0,4}/)                                       # srun --label
    | \[ (\d{1,5}) \] : \s?                                         # torchrun --tee
    | \[ \d+,(\d{1,5}) \] < \w+ > : \s?                             # mpirun --tag-output
    | \( (?:[\w.:@-]*_DP(\d{1,5}) | [\w.:@-]*) (?:\ [\w.:-]+)? \ ?\(?(?:pid|PID)=\d+ [^)\n]{0,80} \)+ \s?  # ray
    | \[ \d\d:\d\d:\d\d \] \s (?: \w+ \s » \s?)?                    # [10:58:53] progress »
    | ERROR \s \d\d-\d\d \s [\d:]{8} \s \[? [\w./]{1,80}:\d+ \] \s              # vLLM's errors of a worker
    | (?:\#|>) \s+                                                  # pasted as a comment or a quote
    | \[ \d{4}-[\d\-:,.\ T]+ \] \s{0,4} (?:\[[A-Z]+\] \s{0,4})? (?:\[[\w./]+:\d+:\w+\] \s{0,4})?
      \[ Rank \s? (\d{1,5}) \] \s?                                    # DeepSpeed log_dist
    )""",
    re.VERBOSE | re.IGNORECASE,
)


@contextmanager
def open_unpacked(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a plain, gzip or zstd file, told apart by their first bytes."""
    with open(path, "rb") as raw:
        packing = packing_of(raw)
        yield io.BufferedReader(Unpacked(raw, packing, FREE)) if packing else raw  # type: ignore[misc]


def _unreadable(path: Path, error: BaseException) -> TriageError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return TriageError(f"cannot read {path.name}: {reason}; check that the file is whole and you may read it")


def _blocks(path: Path, size: int) -> Iterator[bytes]:
    """Unpacked blocks, UTF-16 already turned into UTF-8."""
    decoder, started = None, False
    held, length = list[bytes](), 0
    (listen, opened), told = _listener.get() or (None, None), 0
    if opened:
        opened(path.name)
    try:
        with open(path, "rb") as raw:
            packing = packing_of(raw)
            for block in _packed(raw, packing, size) if packing else _plain(raw, size):
                here = raw.tell()
                if listen and here != told:
                    listen(here - told)
                    told = here
                if not decoder and block == _NULS[: len(block)]:
                    continue  # a hole of a sparse file
                held.append(block)
                length += len(block)
                if length < size:
                    continue
                whole, held, length = b"".join(held), [], 0  # one block alone is not copied
                decoder, started = decoder or (None if started else _utf16_decoder(whole)), True
                yield _recoded(whole, decoder)
        if whole := b"".join(held):
            yield _recoded(whole, decoder or (None if started else _utf16_decoder(whole)))
    except BROKEN as error:
        if not started and not held:
            raise _unreadable(path, error) from error
        yield b"".join(held)
        yield f"\n{BREAKS_OFF} {path.name} breaks off here: {error}]\n".encode("utf-8", "replace")


def _packed(raw: IO[bytes], packing: str, size: int) -> Iterator[bytes]:
    stream = Unpacked(raw, packing, FREE)
    while block := stream.read1(size):  # read1 gives the sound part of a broken file
        yield block


def _plain(raw: IO[bytes], size: int) -> Iterator[bytes]:
    """Up to where the file ends now; holes of a sparse file are passed over."""
    end = os.fstat(raw.fileno()).st_size
    while (at := next_written(raw, raw.tell())) < end:
        raw.seek(at)
        if not (block := raw.read(min(size, end - at))):
            return
        yield block


def _recoded(block: bytes, decoder: codecs.IncrementalDecoder | None) -> bytes:
    return decoder.decode(block).encode("utf-8", "replace") if decoder else block


def _utf16_decoder(block: bytes) -> codecs.IncrementalDecoder | None:
    encoding = UTF16.get(block[:2])
    return codecs.getincrementaldecoder(encoding)("replace") if encoding else None


def _cut(blocks: Iterable[bytes], size: int) -> Iterator[Chunk]:
    """Cut at the last `\\n` of each block, or at `\\r` where there is none, or shorten an endless line.

    A last line without its end goes with the lines before it: the error at the end with its traceback.
    """
    rest, number, held = b"", 1, None
    first = True
    for block in blocks:
        if first:
            block, first = block.removeprefix(codecs.BOM_UTF8).removeprefix("\ufeff".encode()), False
        block = block.translate(None, b"\0") if b"\0" in block else block
        if cut := block.rfind(b"\n") + 1:
            data, rest = b"".join((rest, memoryview(block)[:cut])), block[cut:]
        else:
            rest += block
            cut = rest.rfind(b"\r", 0, len(rest) - 1) + 1
            data, rest = rest[:cut], rest[cut:]
        if data:
            if held:
                yield held
            held = Chunk(_utf8(data), number)
            number += line_ends(data)
        elif len(rest) > size:
            rest = _shorten(rest)
    if held:
        yield Chunk(held.data + _utf8(rest), held.first_line)
    elif rest:
        yield Chunk(_utf8(rest), number)


def line_ends(data: bytes) -> int:
    """As `count` says, in a quarter of the time for data of many lines."""
    import numpy as np

    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == 10))


def _utf8(data: bytes) -> bytes:
    """Valid UTF-8; GB18030 where more than a third of the non-ASCII bytes are not UTF-8 but are that."""
    if data.isascii():
        return data
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for at in range(0, len(data), TRIED):
            decoder.decode(data[at : at + TRIED], at + TRIED >= len(data))
        return data
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    foreign = len(data.translate(None, bytes(range(128))))
    if _undecodable(data) > foreign / 3:
        chinese = data.decode("gb18030", "replace")
        if chinese.count("\ufffd") * 10 < foreign:
            text = chinese
    return text.encode("utf-8")


def _undecodable(data: bytes) -> int:
    """How many bytes (about) are not UTF-8."""
    return data.decode("utf-8", "replace").count("\ufffd")


def _text(raw: bytes) -> str:
    if len(raw) > HEAD_LIMIT + TAIL_LIMIT:
        raw = _shorten(raw)
    if b"\x1b" in raw:
        raw = ESCAPES.sub(b"", raw)
    return raw.decode("utf-8", "replace")


def _shorten(raw: bytes) -> bytes:
    """First 64 KiB and last 4 KiB with a note of what was left out; the notes of earlier cuts are kept."""
    left = len(raw) - HEAD_LIMIT - TAIL_LIMIT
    return raw[:HEAD_LIMIT] + f" …[{left} bytes left out]… ".encode() + raw[-TAIL_LIMIT:]
