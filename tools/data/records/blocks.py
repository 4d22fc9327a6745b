"""Records of training data, streamed with bounded memory, each with its file, line and byte.

A file is cut into `Part`s that any process can read on its own (`blocks`). Broken records are counted and located,
never fatal. Nothing is unpickled; links are not followed out of a folder. Formats whose records are not lines are in
`structured`, those that need a library in `columnar`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from ...findings import TriageError
from ...kinds import Recognised, recognise
from ...packed import BROKEN, PACKINGS, open_plain, written_size
from ...reading import parse_json
from . import columnar, structured
from .plain import is_wide, lines_of
from .record import BLOCK_BYTES, BLOCK_RECORDS, MAX_RECORD, Account, Block, Broken, Lines, Part, Record

PART_BYTES = 2 << 20
"""Size of one part of a plain line file."""
SNIFF = 8 << 10
"""Bytes of a file in a folder by which it is told from a file of metrics."""
FORMATS = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".tsv": "tsv",
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".tar": "tar",
    ".txt": "text", ".text": "text",
}  # fmt: skip


def plan(paths: Iterable[Path | Part], part_bytes: int = PART_BYTES) -> list[Part]:
    """The parts of all data files under `paths`, in a stable order; parts given instead are numbered anew.

    Raises:
        TriageError: a path does not exist, or holds no data file of a known format, or nothing can be opened.
    """
    parts: list[Part] = []
    for path in paths:
        if isinstance(path, Part):
            parts.append(replace(path, number=len(parts)))
            continue
        path = Path(path)
        files, shut = _files(path)
        if not (files or shut):
            raise TriageError(
                f"no data file in {path}: known are {', '.join(sorted(FORMATS))}, plain or compressed "
                "(.gz .zst .bz2 .xz), and folders of them; files of metrics are none"
            )
        root = path if path.is_dir() else path.parent
        for file in files:
            name = file.relative_to(root).as_posix()
            try:
                file.open("rb").close()
                format, cuts = _cuts(file, part_bytes)
            except OSError as error:
                shut.append((file, _reason(error)))
                continue
            parts += [Part(len(parts) + i, str(file), name, format, *cut) for i, cut in enumerate(cuts)]
        for file, why in sorted(shut):
            parts.append(Part(len(parts), str(file), file.relative_to(root).as_posix(), "shut", shut=why))
    if parts and all(part.shut for part in parts):
        raise TriageError("; ".join(f"{part.path} cannot be opened: {part.shut}" for part in parts[:3]))
    return parts


def format_of(path: Path) -> str | None:
    """`jsonl`, `csv`, ... from the name, looking below a compression suffix; None when it is not data."""
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] in PACKINGS:
        suffixes.pop()
    return FORMATS.get(suffixes[-1]) if suffixes else None


def _files(path: Path) -> tuple[list[Path], list[tuple[Path, str]]]:
    """The data files of a path, and what of it cannot be looked at, with the reason."""
    try:
        if path.is_file():
            return [path], []
        if not path.is_dir():
            raise TriageError(f"no such file or folder: {path}")
    except OSError as error:
        return [], [(path, _reason(error))]
    files, shut = walk(path)
    found, root = [], path.resolve()
    for file in files:
        if file.name.startswith((".", "cache-")) or file.name in METADATA or not format_of(file):
            continue
        try:
            if file.resolve().is_relative_to(root) and file.is_file() and not measures(file):
                found.append(file)
        except (OSError, RuntimeError) as error:  # a link to itself, before Python 3.13
            shut.append((file, _reason(error)))
    return found, shut


def measures(file: Path) -> bool:
    """Whether a file of rows holds what a training measured of itself, by its first bytes: that is no data."""
    if format_of(file) not in ("json", "jsonl", "csv", "tsv"):
        return False
    try:
        with open_plain(file) as stream:
            found = recognise(file.name, stream.read(SNIFF))
    except BROKEN:
        return False
    return isinstance(found, Recognised) and found.kind == "metrics"


def walk(folder: Path) -> tuple[list[Path], list[tuple[Path, str]]]:
    """All that is no folder under a folder, and the folders that cannot be listed and why; no link is followed."""
    files, shut, todo = [], [], [str(folder)]
    while todo:
        here = todo.pop()
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
                    else:
                        files.append(Path(entry.path))
        except OSError as error:
            shut.append((Path(here), _reason(error)))
    return sorted(files), shut


def _reason(error: BaseException) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or f"{type(error).__name__}: {str(error)[:160]}"


METADATA = {"dataset_info.json", "state.json", "dataset_dict.json", "dataset_infos.json"}
"""Files beside the data in a Hugging Face `datasets` folder."""


def _sniff(path: Path, format: str) -> str:
    """`.json` that holds one object per line is JSON lines, and `.jsonl` that holds one array is JSON."""
    if format not in ("json", "jsonl"):
        return format
    try:
        with open_plain(path) as stream:
            head = stream.read(1 << 16)
    except BROKEN:
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


def _cuts(path: Path, part_bytes: int) -> tuple[str, list[tuple[int, int, int]]]:
    """(format, [(start, end, size) of each part]) of a file."""
    format, size = _sniff(path, format_of(path) or "jsonl"), path.stat().st_size
    if path.suffix.lower() in PACKINGS or format not in ("jsonl", "text", "parquet") or is_wide(path):
        return format, [(0, -1, size)]
    if format == "parquet":
        groups = columnar.row_groups(path)
        return format, [(i, i + 1, size // groups) for i in range(groups)] or [(0, -1, size)]
    size = written_size(path)
    starts = range(0, max(size, 1), part_bytes)
    return format, [(start, min(start + part_bytes, size), min(part_bytes, size - start)) for start in starts]


def blocks(part: Part) -> Iterator[Block]:
    """The records of one part, about `BLOCK_BYTES` at a time.

    Every failure of the file becomes a `Broken` with `ends_file`, so that the caller can say what was not read.
    """
    readers = {
        "jsonl": _line_blocks,
        "text": _line_blocks,
        "json": structured.json_blocks,
        "csv": structured.csv_blocks,
        "tsv": structured.csv_blocks,
        "parquet": columnar.parquet_blocks,
        "arrow": columnar.arrow_blocks,
        "tar": columnar.tar_blocks,
        "shut": _shut,
    }
    seen = 0
    try:
        for block in readers[part.format](part):
            seen += block.lines
            yield block
    except TriageError:
        raise
    except Exception as error:  # whatever a reader library makes of a damaged file
        why = part.shut or f"could not be read any further: {type(error).__name__}: {str(error)[:160]}"
        yield Block(broken=[Broken(seen + 1, None, why, ends_file=True)])


def _shut(part: Part) -> Iterator[Block]:
    raise OSError(part.shut)


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
    except BROKEN:
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
    if format == "text" and b"\0" in raw:
        block.broken.append(Broken(line, byte, "not text: it holds zero bytes"))
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


class Stream:
    """All records under some paths, one after another: (file, absolute line, record)."""

    def __init__(self, paths: Iterable[Path | Part]):
        self._parts = plan(paths)
        self.account = Account()
        """After the last record: what was read, and what was not."""

    def __iter__(self) -> Iterator[tuple[str, int, Record]]:
        lines = Lines()
        for part in self._parts:
            lines.add(part, 0)
            count = 0
            for block in blocks(part):
                self.account.add(part.name, len(block.records), block.broken)
                for record in block.records:
                    yield part.name, lines.absolute(part, record.line), record
                count += block.lines
            self.account.add(part.name, 0, ())
            lines.add(part, count)
