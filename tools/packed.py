"""The bytes of a packed file within a budget, and the holes of a sparse one: what readers of logs and of data open.

Real text shrinks 3 to 50 times, so a file of any size is read whole; one that unpacks to far more than its size is a
bomb, and is read until that is certain. What the bytes mean, and plain files without holes, are for the readers.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, BinaryIO

RATIO = 200
"""Times its own size that a packed file may unpack to: real logs and records stay below 50."""
FREE = 128 << 20
"""Bytes that may come out whatever the ratio: what a small file gives, however it repeats itself."""
HOLE = 64 << 20
"""Bytes of a hole that are read as the zeros they stand for; a disk that was full leaves less."""
BUFFER = 128 << 10
BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError)
"""What reading a damaged, cut or bomb file raises."""


class Budget:
    """What may come out of `packed` bytes; counted as it comes."""

    def __init__(self, free: int = FREE) -> None:
        self.free = free
        self.out = 0

    def spend(self, out: int, packed: int) -> None:
        """Note that `out` more bytes came out of the first `packed` bytes.

        Raises:
            OSError: no honest file gives that much.
        """
        self.out += out
        if self.out > self.free and self.out > RATIO * packed:
            raise OSError(
                f"it unpacks to over {self.free >> 20} MiB and {RATIO} times its size and is not read further"
            )


class Unpacked(io.RawIOBase):
    """The bytes of a gzip, bzip2, xz or zstd file (all its members), as far as the budget goes."""

    def __init__(self, file: IO[bytes], packing: str, free: int = FREE) -> None:
        self._file = file
        self._stream = PACKINGS[packing](file)
        self._budget = Budget(free)

    def readable(self) -> bool:
        return True

    def read1(self, size: int) -> bytes:
        """Up to `size` bytes, fewer where a broken file gives no more; none at the end."""
        piece = self._stream.read1(size)
        self._budget.spend(len(piece), self._file.tell())
        return piece

    def readinto(self, buffer: Any) -> int:
        piece = self.read1(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        self._file.close()
        super().close()


class Sparse(io.FileIO):
    """A plain file that ends, with the reason, at a hole too large to be inside a record."""

    def readinto(self, buffer: Any) -> int | None:
        at = self.tell()
        if (hole := next_written(self, at) - at) > HOLE:
            raise OSError(f"a hole of {hole} bytes from byte {at} on, where nothing was ever written")
        return super().readinto(buffer)


class _Frames:
    """Zstandard frames as one stream; unlike the library's reader it says when the last frame is cut off."""

    PIECE = 2048
    """Compressed bytes decoded at a time: at most some 70 MB come out of them, however hostile the file."""

    def __init__(self, file: IO[bytes]) -> None:
        import zstandard

        self._frame = lambda: zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()
        self._error = zstandard.ZstdError
        self._file = file
        self._decoder: Any = None
        self._ahead = b""
        self._plain = memoryview(b"")

    def read1(self, size: int) -> bytes:
        while not self._plain and (raw := self._ahead or self._file.read(self.PIECE)):
            self._decoder = self._decoder or self._frame()
            try:
                self._plain = memoryview(self._decoder.decompress(raw))
            except self._error as error:
                raise OSError(str(error)) from None
            self._ahead = b""
            if self._decoder.eof:
                self._ahead, self._decoder = self._decoder.unused_data, None
        if not self._plain and self._decoder:
            raise EOFError("compressed file ended before the end of its last frame")
        piece, self._plain = bytes(self._plain[:size]), self._plain[size:]
        return piece


PACKINGS: dict[str, Callable[[Any], Any]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file),
    ".zst": _Frames,
    ".zstd": _Frames,
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}
"""By suffix."""
MAGIC = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}
"""First bytes of the packings that logs are in."""


def packing_of(file: IO[bytes]) -> str | None:
    """The packing of a file by its first bytes, None for a plain file; it is left at its start."""
    start = file.read(4)
    file.seek(0)
    return next((packing for magic, packing in MAGIC.items() if start.startswith(magic)), None)


def open_plain(path: Path | str) -> BinaryIO:
    """The bytes of a data file, unpacked as its name says: within the budget, and up to the first large hole."""
    file, suffix = open(path, "rb", BUFFER), Path(path).suffix.lower()  # noqa: SIM115 closed by its reader
    if suffix in PACKINGS:
        return io.BufferedReader(Unpacked(file, suffix), BUFFER)  # type: ignore[return-value]
    if not is_sparse(file):
        return file
    file.close()
    return io.BufferedReader(Sparse(path), BUFFER)  # type: ignore[return-value]


def written_size(path: Path) -> int:
    """The size of a plain file, or where its first large hole has begun."""
    with path.open("rb") as file:
        size, at = os.fstat(file.fileno()).st_size, 0
        while is_sparse(file) and at < size:
            begin = os.lseek(file.fileno(), at, os.SEEK_HOLE)
            at = next_written(file, begin)
            if at - begin > HOLE:
                return begin + 1
        return size


def is_sparse(file: IO[bytes]) -> bool:
    """Whether the file takes less room than it is long; some file systems pack, so it need not have a hole."""
    facts = os.fstat(file.fileno())
    return facts.st_blocks * 512 < facts.st_size


def next_written(file: IO[bytes], at: int) -> int:
    """The first byte from `at` on that was ever written: `at` itself, or the end of the hole that is there."""
    number = file.fileno()
    here = os.lseek(number, 0, os.SEEK_CUR)
    try:
        return os.lseek(number, at, os.SEEK_DATA)
    except OSError as error:  # a hole up to the end, or a file system that knows none
        return max(at, os.fstat(number).st_size) if error.errno == errno.ENXIO else at
    finally:
        os.lseek(number, here, os.SEEK_SET)  # a buffered file must not notice
