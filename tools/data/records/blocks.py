"""Records of training data, streamed with bounded memory, each with its file, line and byte.

A file is cut into `Part`s that any process can read on its own (`blocks`); line numbers are relative to the
part and made absolute by `Lines` once the parts before are counted. Broken records are counted and located,
never fatal. Nothing is unpickled; links are not followed out of a folder; formats that need a library are in
`columnar`.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from ...findings import Check, TriageError
from ...reading import head, parse_json

PART_BYTES = 2 << 20
"""Size of one part of a plain line file."""
BLOCK_BYTES = 1 << 20
"""About how much raw data one block of records holds."""
BLOCK_RECORDS = 1024
MAX_RECORD = 64 << 20
"""A record longer than this many bytes is reported as broken and skipped."""
JSON_BYTES = 32 << 20
"""Largest file that is parsed as one JSON value."""

FORMATS = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".tsv": "tsv",
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".tar": "tar",
    ".txt": "text", ".text": "text",
}  # fmt: skip
COMPRESSION = {".gz", ".zst", ".zstd", ".bz2", ".xz"}
TRUNCATED = (EOFError, zlib.error, lzma.LZMAError)
"""What the standard library raises in the middle of a damaged compressed file, besides `OSError`."""


@dataclass(frozen=True)
class Record:
    """One parsed record."""

    value: Any
    """Parsed JSON, a row as a dict, or a line of text."""
    line: int
    """One-based line or row, relative to the part."""
    byte: int | None = None
    """Absolute offset of the first byte in the (decompressed) file; unknown for columnar formats."""
    recoded: bool = False
    """The bytes were not valid UTF-8 and were replaced."""


@dataclass(frozen=True)
class Broken:
    """One record that could not be parsed."""

    line: int
    byte: int | None
    why: str
    ends_file: bool = False
    """Nothing after this place could be read."""


@dataclass
class Block:
    """A run of consecutive records of one part."""

    records: list[Record] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    lines: int = 0
    """Lines or rows consumed by this block."""


@dataclass(frozen=True)
class Part:
    """A piece of one file that can be read on its own."""

    number: int
    path: str
    name: str
    """What evidence cites."""
    format: str
    start: int = 0
    """First byte (line files) or first row group (parquet)."""
    end: int = -1
    """Byte or row group after the last; -1: to the end."""
    size: int = 0
    """Bytes on disk, for progress."""


class Lines:
    """Absolute line numbers, once the parts before have been counted (`add` in order)."""

    def __init__(self) -> None:
        self._before: dict[int, int] = {}
        self._total: dict[str, int] = {}

    def add(self, part: Part, lines: int) -> None:
        self._before[part.number] = self._total.get(part.path, 0)
        self._total[part.path] = self._before[part.number] + lines

    def absolute(self, part: Part, line: int) -> int:
        return self._before.get(part.number, 0) + line


def plan(paths: Iterable[Path | Part], part_bytes: int = PART_BYTES) -> list[Part]:
    """The parts of all data files under `paths`, in a stable order; parts given instead are numbered anew.

    Raises:
        TriageError: a path does not exist, or holds no data file of a known format.
    """
    parts: list[Part] = []
    for path in paths:
        if isinstance(path, Part):
            parts.append(replace(path, number=len(parts)))
            continue
        path = Path(path)
        files = list(_files(path))
        if not files:
            raise TriageError(
                f"no data file in {path}: known are {', '.join(sorted(FORMATS))}, plain or compressed "
                "(.gz .zst .bz2 .xz), and folders of them"
            )
        root = path if path.is_dir() else path.parent
        for file, format in files:
            name = file.relative_to(root).as_posix()
            for start, end, size in _cuts(file, format, part_bytes):
                parts.append(Part(len(parts), str(file), name, format, start, end, size))
    return parts


def format_of(path: Path) -> str | None:
    """`jsonl`, `csv`, ... from the name, looking below a compression suffix; None when it is not data."""
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSION:
        suffixes.pop()
    return FORMATS.get(suffixes[-1]) if suffixes else None


def _files(path: Path) -> Iterator[tuple[Path, str]]:
    if path.is_file():
        yield path, _sniff(path, format_of(path) or "jsonl")
        return
    if not path.is_dir():
        raise TriageError(f"no such file or folder: {path}")
    for file in sorted(path.rglob("*")):
        inside = file.resolve().is_relative_to(path.resolve())
        if file.name.startswith((".", "cache-")) or file.name in METADATA or not (inside and file.is_file()):
            continue
        if format := format_of(file):
            yield file, _sniff(file, format)


METADATA = {"dataset_info.json", "state.json", "dataset_dict.json", "dataset_infos.json"}
"""Files beside the data in a Hugging Face `datasets` folder."""


def _sniff(path: Path, format: str) -> str:
    """`.json` that holds one object per line is JSON lines, and `.jsonl` that holds one array is JSON."""
    if format not in ("json", "jsonl"):
        return format
    try:
        with open_plain(path) as stream:
            head = stream.read(1 << 16)
    except (OSError, *TRUNCATED):
        return format
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"["):
        return "json" if format == "json" or not _parses(head.split(b"\n", 1)[0]) else "jsonl"
    first, newline, rest = head.partition(b"\n")
    return "jsonl" if format == "jsonl" or (newline and rest.strip() and _parses(first)) else "json"


def _parses(line: bytes) -> bool:
    try:
        parse_json(line)
    except ValueError:
        return False
    return True


def _cuts(path: Path, format: str, part_bytes: int) -> Iterator[tuple[int, int, int]]:
    size = path.stat().st_size
    if path.suffix.lower() in COMPRESSION or format not in ("jsonl", "text", "parquet") or _wide(path):
        yield 0, -1, size
    elif format == "parquet":
        from .columnar import row_groups

        groups = row_groups(path)
        yield from ((i, i + 1, size // max(groups, 1)) for i in range(groups)) if groups else ((0, -1, size),)
    else:
        for start in range(0, max(size, 1), part_bytes):
            yield start, min(start + part_bytes, size), min(part_bytes, size - start)


def _wide(path: Path) -> bool:
    """UTF-16: lines cannot be found by bytes."""
    with path.open("rb") as stream:
        return stream.read(2) in (b"\xff\xfe", b"\xfe\xff")


def open_plain(path: Path | str) -> BinaryIO:
    """The decompressed bytes of a file; several gzip members or zstd frames are read as one."""
    suffix = Path(path).suffix.lower()
    if suffix in (".zst", ".zstd"):
        return io.BufferedReader(_ZstdFile(path), 1 << 18)  # type: ignore[return-value]
    openers = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    return openers.get(suffix, open)(path, "rb")


class _ZstdFile(io.RawIOBase):
    """Zstandard frames as one stream; unlike the library's reader it says when the last frame is cut off."""

    PIECE = 2048
    """Compressed bytes decoded at a time: at most some 70 MB come out of them, however hostile the file."""

    def __init__(self, path: Path | str):
        import zstandard

        self._frame = lambda: zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()
        self._error = zstandard.ZstdError
        self._file = open(path, "rb")  # noqa: SIM115 closed in `close`
        self._decoder: Any = None
        self._ahead = self._plain = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._plain and (raw := self._ahead or self._file.read(self.PIECE)):
            self._decoder = self._decoder or self._frame()
            try:
                self._plain = self._decoder.decompress(raw)
            except self._error as error:
                raise OSError(str(error)) from None
            self._ahead = b""
            if self._decoder.eof:
                self._ahead, self._decoder = self._decoder.unused_data, None
        if not self._plain and self._decoder:
            raise EOFError("compressed file ended before the end of its last frame")
        count = min(len(buffer), len(self._plain))
        buffer[:count], self._plain = self._plain[:count], self._plain[count:]
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def load_json(path: Path) -> Any:
    """The parsed file, or None where it is no JSON, too large or unreadable."""
    try:
        if path.stat().st_size > JSON_BYTES:
            return None
        return parse_json(head(path, JSON_BYTES + 1))
    except (OSError, ValueError, TriageError):
        return None


def blocks(part: Part) -> Iterator[Block]:
    """The records of one part, about `BLOCK_BYTES` at a time.

    Every failure of the file becomes a `Broken` with `ends_file`, so that the caller can say what was not read.
    """
    from . import columnar, structured

    readers = {
        "jsonl": _line_blocks,
        "text": _line_blocks,
        "json": structured.json_blocks,
        "csv": structured.csv_blocks,
        "tsv": structured.csv_blocks,
        "parquet": columnar.parquet_blocks,
        "arrow": columnar.arrow_blocks,
        "tar": columnar.tar_blocks,
    }
    seen = 0
    try:
        for block in readers[part.format](part):
            seen += block.lines
            yield block
    except (OSError, *TRUNCATED) as error:
        yield Block(broken=[Broken(seen + 1, None, _damage(error), ends_file=True)])
    except Exception as error:
        if type(error).__name__ not in ("ArrowInvalid", "ArrowException", "ReadError"):
            raise
        yield Block(broken=[Broken(seen + 1, None, _damage(error), ends_file=True)])


def _damage(error: BaseException) -> str:
    return f"the file cannot be read any further: {type(error).__name__}: {str(error)[:160]}"


def _line_blocks(part: Part) -> Iterator[Block]:
    block = Block()
    size = 0
    try:
        for line, byte, raw in lines_of(part):
            block.lines += 1
            size += len(raw)
            _add_line(block, part.format, line, byte, raw)
            if size > BLOCK_BYTES or len(block.records) >= BLOCK_RECORDS:
                yield block
                block, size = Block(), 0
    except (OSError, *TRUNCATED):
        yield block  # what came before the damage counts
        raise
    if block.lines:
        yield block


def _add_line(block: Block, format: str, line: int, byte: int, raw: bytes) -> None:
    if len(raw) > MAX_RECORD:
        block.broken.append(Broken(line, byte, f"line longer than {MAX_RECORD >> 20} MiB, skipped"))
        return
    if line == 1 and byte == 0:
        raw = raw.removeprefix(b"\xef\xbb\xbf")
    if not raw.strip():
        return
    recoded = False
    try:
        text = raw.decode() if format == "text" or not raw.isascii() else ""
    except UnicodeDecodeError:
        recoded, text = True, raw.decode("utf-8", "replace")
        raw = text.encode()
    try:
        value = text.rstrip("\r\n") if format == "text" else parse_json(raw)
    except ValueError as error:
        block.broken.append(Broken(line, byte, f"not JSON: {str(error)[:120]}"))
        return
    block.records.append(Record(value, line, byte, recoded))


def lines_of(part: Part) -> Iterator[tuple[int, int, bytes]]:
    """(relative line, absolute byte, raw line) of one part; a line belongs to the part where it begins.

    A line past `MAX_RECORD` comes back cut just past that length, so that memory stays bounded.
    """
    if _is_wide_file(part):
        yield from _wide_lines(part)
        return
    with open_plain(part.path) as stream:
        byte = part.start
        if byte:
            stream.seek(byte - 1)
            byte += _skip_line(stream) - 1
        line = 0
        while part.end < 0 or byte < part.end:
            raw = stream.readline(MAX_RECORD + 1)
            if not raw:
                return
            line += 1
            yield line, byte, raw
            byte += len(raw)
            if len(raw) > MAX_RECORD and not raw.endswith(b"\n"):
                byte += _skip_line(stream)


def _skip_line(stream: BinaryIO) -> int:
    """Read to the end of the line; returns how many bytes that was."""
    skipped = 0
    while piece := stream.readline(1 << 20):
        skipped += len(piece)
        if piece.endswith(b"\n"):
            break
    return skipped


def _is_wide_file(part: Part) -> bool:
    return part.end == -1 and Path(part.path).suffix.lower() not in COMPRESSION and _wide(Path(part.path))


def _wide_lines(part: Part) -> Iterator[tuple[int, int, bytes]]:
    byte = 0
    with open(part.path, encoding="utf-16", errors="replace", newline="") as stream:
        line = 0
        while text := stream.readline(MAX_RECORD):
            line += 1
            yield line, byte, text.encode("utf-8", "replace")
            byte += 2 * len(text)


class Stream:
    """All records under some paths, one after another: (file, absolute line, record)."""

    def __init__(self, paths: Iterable[Path | Part]):
        self._parts = plan(paths)
        self.broken: dict[int, list[Broken]] = {}
        self.read = 0

    def __iter__(self) -> Iterator[tuple[str, int, Record]]:
        lines = Lines()
        for part in self._parts:
            lines.add(part, 0)
            count, broken = 0, self.broken.setdefault(part.number, [])
            for block in blocks(part):
                broken += block.broken
                self.read += len(block.records)
                for record in block.records:
                    yield part.name, lines.absolute(part, record.line), record
                count += block.lines
            lines.add(part, count)

    def checks(self) -> tuple[Check, ...]:
        """After the last record: what could not be read."""
        count = sum(len(b) for b in self.broken.values())
        if not count:
            return ()
        some = Check("parsing", "failed", f"{count} records could not be parsed; `triage data check` locates them")
        rest = (Check("the other records", "clear", f"{self.read} read"),) if self.read else ()
        return (some, *rest, *unread(self._parts, self.broken))


def unread(parts: Iterable[Part], broken: dict[int, list[Broken]]) -> tuple[Check, ...]:
    """A failed check for every file that ends early, so that it is never taken for a clean one."""
    return tuple(
        Check(f"read {part.name}", "failed", b.why, "文件无法继续读取")
        for part in parts
        for b in broken.get(part.number, ())
        if b.ends_file
    )
