"""Records of a binary tracker file: TFRecord (TensorBoard) and LevelDB's log (W&B, SwanLab), with their checksums.

A file that breaks off gives what is whole before that, and `note` is told why the rest is missing. What a record says
is `wire` and its reader.
"""

from __future__ import annotations

import struct
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..findings import TriageError
from ..packed import open_plain

RECORD = 4 << 20
"""Largest record that is kept: a longer one holds pictures or a model's graph, and is passed over."""
CHECKED = 4096
"""Bytes up to which a TFRecord's content is checked: scalars and short texts; of a longer one only the length is."""
BATCH = 2048
"""Records whose checksums are made together."""
BATCH_BYTES = 8 << 20
BLOCK = 32 << 10
"""Bytes of a block of LevelDB's log; no piece of a record crosses its end."""
PIECE = 1 << 20
"""Bytes passed over at a time."""
SECONDS = 60.0
"""Longest time that the records of one file may take, with what is made of them: an answer is waited for."""
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4

Note = Callable[[str], object]
_HEAD = struct.Struct("<QI")
_PIECE = struct.Struct("<IHB")


def _castagnoli() -> np.ndarray:
    """Table of CRC-32C, which TFRecord uses and `zlib` does not have."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(0x82F63B78), table >> 1).astype(np.uint32)
    return table


_TABLE = _castagnoli()
_ROWS = _TABLE.tolist()


def crc32c(data: bytes) -> int:
    """CRC-32C of a few bytes."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _ROWS[(crc ^ byte) & 255] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def crc32c_of(records: Sequence[bytes]) -> np.ndarray:
    """CRC-32C of records of at least four bytes, all at once.

    They stand at the right end of a matrix. Zeros before a record change nothing while the register is zero, and its
    usual start is the same as inverting the first four bytes.
    """
    width = max(map(len, records), default=0)
    matrix = np.zeros((len(records), width), np.uint8)
    for row, record in zip(matrix, records, strict=True):
        at = width - len(record)
        row[at:] = np.frombuffer(record, np.uint8)
        row[at : at + 4] ^= 255
    crc = np.zeros(len(records), np.uint32)
    for column in matrix.T.copy():
        crc = _TABLE[(crc ^ column) & 255] ^ (crc >> 8)
    return crc ^ np.uint32(0xFFFFFFFF)


def masked(crc: int) -> int:
    """As TFRecord stores a checksum."""
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def tf_records(stream: BinaryIO, note: Note) -> Iterator[bytes]:
    """The records of a TFRecord file whose checksums hold."""
    batch: list[tuple[bytes, int]] = []
    size = bad = 0
    for record in _framed(stream, note):
        batch.append(record)
        size += len(record[0])
        if len(batch) >= BATCH or size >= BATCH_BYTES:
            whole = _sound(batch)
            bad += len(batch) - len(whole)
            yield from whole
            batch, size = [], 0
    whole = _sound(batch)
    bad += len(batch) - len(whole)
    yield from whole
    if bad:
        note(f"{bad} of its records have a wrong checksum and were left out")


def _sound(batch: list[tuple[bytes, int]]) -> list[bytes]:
    short = [i for i, (data, _) in enumerate(batch) if 4 <= len(data) <= CHECKED]
    made = crc32c_of([batch[i][0] for i in short]).tolist()
    wrong = {i for i, crc in zip(short, made, strict=True) if masked(crc) != batch[i][1]}
    return [data for i, (data, _) in enumerate(batch) if i not in wrong]


def _framed(stream: BinaryIO, note: Note) -> Iterator[tuple[bytes, int]]:
    """(content, its stored checksum) of each record up to the first whose length cannot be right."""
    at, end = 0, time.monotonic() + SECONDS
    while head := stream.read(_HEAD.size):
        if len(head) < _HEAD.size:
            return _torn(note, at)
        if time.monotonic() > end:
            return _late(note, at)
        length, check = _HEAD.unpack(head)
        if masked(crc32c(head[:8])) != check:
            note(f"the record at byte {at} has a wrong checksum of its length: nothing from there on was read")
            return None
        data = _kept(stream, length)
        tail = stream.read(4) if data is not None else b""
        if data is None or len(tail) < 4:
            return _torn(note, at)
        if len(data) == length:
            yield data, int.from_bytes(tail, "little")
        at += _HEAD.size + length + 4
    return None


def _torn(note: Note, at: int) -> None:
    note(f"it ends in the middle of a record, at byte {at}: it was cut off, or is being written")


def _late(note: Note, at: int) -> None:
    note(f"over the limit of {SECONDS:g} s: nothing from byte {at} on was read")


def _kept(stream: BinaryIO, length: int) -> bytes | None:
    """The next bytes, none of them where there are too many to keep, None where the file has not that many."""
    if length <= RECORD:
        data = stream.read(length)
        return data if len(data) == length else None
    left = length
    while left > 0:
        piece = stream.read(min(PIECE, left))
        if not piece:
            return None
        left -= len(piece)
    return b""


def log_records(stream: BinaryIO, header: int, note: Note) -> Iterator[bytes]:
    """The records of a file in the format of LevelDB's log, after a header of some bytes in its first block.

    The rest of a block with a wrong checksum is left out with the record that it is part of.
    """
    held: _Held | None = None
    at = bad = 0
    torn, end = "", time.monotonic() + SECONDS
    while block := stream.read(BLOCK):
        if time.monotonic() > end:
            return _late(note, at)
        pieces, wrong = _pieces(block, 0 if at else header)
        for kind, data in pieces:
            if kind in (FULL, FIRST):
                held = _Held()
            if held is None:
                continue  # its beginning is lost
            held.add(data)
            if kind in (FULL, LAST):
                if held.size <= RECORD:
                    yield b"".join(held.pieces)
                held = None
        at += len(block)
        torn = wrong if wrong == "torn" and len(block) < BLOCK else ""
        if wrong:
            bad += not torn
            held = None
    if torn or held is not None:
        _torn(note, at)
    if bad:
        note(f"{bad} of its blocks of {BLOCK >> 10} KiB have a wrong checksum, and the rest of them was left out")


def run_records(path: Path, file: str, magic: bytes, header: int, of: str, note: Note) -> Iterator[bytes]:
    """The records of a run's file in the format of LevelDB's log.

    Raises:
        TriageError: it does not begin with `magic`, as every file `of` that tracker does.
    """
    with open_plain(path) as stream:
        if not stream.read(header).startswith(magic):
            raise TriageError(f"cannot read {file}: it does not begin as a {of} run does, or is empty")
        stream.seek(0)
        yield from log_records(stream, header, note)


class _Held:
    """The pieces of a record so far; those of one that is too large are only counted."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.size = 0

    def add(self, data: bytes) -> None:
        self.size += len(data)
        if data and self.size <= RECORD:
            self.pieces.append(data)


def _pieces(block: bytes, at: int) -> tuple[list[tuple[int, bytes]], str]:
    """(kind, content) of the pieces of one block, and why it was not read to its end."""
    found: list[tuple[int, bytes]] = []
    while len(block) - at >= _PIECE.size:
        check, length, kind = _PIECE.unpack_from(block, at)
        if not check and not length and not kind:
            return found, ""  # room that was set aside and never written
        data = block[at + _PIECE.size : at + _PIECE.size + length]
        if len(data) < length:
            return found, "torn"
        if zlib.crc32(data, zlib.crc32(bytes((kind,)))) != check or not FULL <= kind <= LAST:
            return found, "checksum"
        found.append((kind, data))
        at += _PIECE.size + length
    rest = block[at:]
    return found, "torn" if len(block) < BLOCK and rest.strip(b"\0") else ""
