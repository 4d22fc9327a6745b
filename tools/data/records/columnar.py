"""Records of Parquet, Arrow (and Hugging Face `datasets` folders) and WebDataset tar files.

Only the text of a tar sample is kept: media members are recorded by their size.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from ...packed import BROKEN, Budget, open_plain
from ...reading import parse_json
from .record import BLOCK_RECORDS, MAX_RECORD, Block, Broken, Part, Record

ROWS = 512
TOGETHER = 64 << 20
"""Bytes of values that are turned into records together."""
DICTIONARY = 2 << 20
"""Bytes of a Parquet column's dictionary; writers end theirs at 1 MiB, and a larger one is unfolded row by row."""
WINDOW = 1 << 20
TEXT_MEMBERS = {"txt", "text", "caption", "md", "cls", "transcript"}
JSON_MEMBERS = {"json"}


def row_groups(path: Path) -> int:
    """Number of row groups, 0 when the file cannot be read (its reader will say why)."""
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path).num_row_groups
    except Exception:  # whatever the library makes of a damaged file
        return 0


def parquet_blocks(part: Part) -> Iterator[Block]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(part.path, memory_map=True, pre_buffer=False) as file:
        numbers = list(range(part.start, part.end if part.end >= 0 else file.num_row_groups))
        groups = [file.metadata.row_group(i) for i in numbers]
    columns = [group.column(i) for group in groups for i in range(group.num_columns)]
    with open(part.path, "rb") as raw:
        folded = {c.path_in_schema for c in columns if _dictionary(raw, c) > DICTIONARY}
    mean = sum(g.total_byte_size for g in groups) // max(1, sum(g.num_rows for g in groups))
    rows = max(1, min(ROWS, TOGETHER // (mean + 1)))
    packed = sum(c.total_compressed_size for c in columns)
    with pq.ParquetFile(part.path, memory_map=True, pre_buffer=False, read_dictionary=sorted(folded)) as file:
        yield from _row_blocks(file.iter_batches(batch_size=rows, row_groups=numbers), packed)


def _dictionary(file: IO[bytes], column: Any) -> int:
    """Bytes of the dictionary of a column of texts, 0 without one: from the head of its first page, compact Thrift."""
    if column.physical_type != "BYTE_ARRAY":
        return 0
    file.seek(column.dictionary_page_offset or column.data_page_offset)
    head, at, values = file.read(32), 0, []
    for _ in range(3):  # kind of page, bytes unpacked, bytes packed
        value = shift = 0
        at += 1
        while at < len(head):
            value, shift, at = value | (head[at] & 0x7F) << shift, shift + 7, at + 1
            if not head[at - 1] & 0x80:
                break
        values.append(value >> 1)
    return max(values[1:]) if values[0] == 2 else 0


HOLE = "NUL characters where text should be (a hole in the file)"


def arrow_blocks(part: Part) -> Iterator[Block]:
    """Stream format (what `datasets` writes) or file format."""
    import pyarrow as pa

    with pa.memory_map(part.path) as source:
        try:
            batches: Any = pa.ipc.open_stream(source)
        except pa.ArrowInvalid:
            reader = pa.ipc.open_file(source)
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
        pieces = (batch.slice(start, ROWS) for batch in batches for start in range(0, batch.num_rows, ROWS))
        yield from _row_blocks(pieces, source.size())
        at = source.tell()
        while rest := source.read(WINDOW):
            if rest.strip(b"\0"):
                raise OSError(f"the stream has an end mark at byte {at}, and data after it: it is damaged there")


def _row_blocks(batches: Iterable[Any], packed: int) -> Iterator[Block]:
    """The rows of batches that came out of `packed` bytes."""
    row, budget = 0, Budget()
    for batch in batches:
        for piece, size in _portions(batch):
            budget.spend(size, packed)
            if size > MAX_RECORD and piece.num_rows == 1:
                yield Block(broken=[Broken(row + 1, None, f"row longer than {MAX_RECORD >> 20} MiB, skipped")], lines=1)
            else:
                rows = list(enumerate(piece.to_pylist(), row + 1))
                records = [Record(one, n) for n, one in rows if not _holed(one)]
                yield Block(records, [Broken(n, None, HOLE) for n, one in rows if _holed(one)], len(rows))
            row += piece.num_rows


def _holed(row: dict[str, Any]) -> bool:
    return any(isinstance(value, str) and "\0" in value for value in row.values())


def _portions(batch: Any) -> Iterator[tuple[Any, int]]:
    """The batch in portions whose values fit in memory, each with the bytes of its values."""
    size, rows = sum(map(_bytes, batch.columns)), batch.num_rows
    if size <= TOGETHER or rows == 1:
        yield batch, size
        return
    yield from _portions(batch.slice(0, rows // 2))
    yield from _portions(batch.slice(rows // 2))


def _bytes(array: Any) -> int:
    """Bytes of the values of an array; a value that a dictionary holds once counts wherever it stands."""
    import pyarrow as pa
    import pyarrow.compute

    pc: Any = pyarrow.compute  # its functions are made when it is imported
    kind = array.type
    if pa.types.is_dictionary(kind):
        words = array.dictionary
        if words.type not in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
            return array.nbytes
        lengths = pc.binary_length(words)
        most = (pc.max(lengths).as_py() or 0) * len(array)
        return most if most <= TOGETHER else pc.sum(lengths.take(array.indices)).as_py() or 0
    if kind.num_fields:
        return sum(map(_bytes, array.flatten() if pa.types.is_struct(kind) else [array.flatten()]))
    return array.nbytes


def tar_blocks(part: Part) -> Iterator[Block]:
    """WebDataset: the members that share a name up to the first dot make one sample."""
    block, sample, key, row = Block(), {}, None, 0
    with open_plain(part.path) as raw, tarfile.open(fileobj=cast(Any, end := _End(raw)), mode="r|") as tar:
        try:
            for member in tar:
                if not member.isfile():
                    continue
                stem, _, extension = Path(member.name).name.partition(".")
                name = str(Path(member.name).parent / stem)
                if name != key and sample:
                    row += 1
                    block.records.append(Record(sample, row))
                    block.lines += 1
                    sample = {}
                key = name
                sample["__key__"] = name
                _add_member(tar, member, extension.lower(), sample, block, row + 1)
                if len(block.records) >= BLOCK_RECORDS:
                    yield block
                    block = Block()
        except (tarfile.TarError, *BROKEN):
            yield block  # what came before the damage counts
            raise
        if sample:
            block.records.append(Record(sample, row + 1))
            block.lines += 1
        yield block
        end.check(tar.offset)


class _End:
    """A stream that knows where its last byte is: `tarfile` takes a broken archive for one that ends there."""

    def __init__(self, stream: BinaryIO):
        self._stream = stream
        self._at = self._written = 0
        self._over = False

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        if not data and self._over:  # `tarfile` would go on asking for as much as a member claims
            raise OSError(f"the archive ends at byte {self._at}, inside of a member: it was cut off")
        self._over = not data
        self._written = self._at + len(kept) if (kept := data.rstrip(b"\0")) else self._written
        self._at += len(data)
        return data

    def check(self, closed: int) -> None:
        """Raise unless the archive has an end mark at byte `closed`, and nothing after it."""
        while self.read(WINDOW):
            pass
        if self._at <= closed:
            raise OSError("the archive ends without its closing blocks: it was cut off")
        if self._written > closed:
            left = self._written - closed
            raise OSError(f"{left} bytes follow the zeros at byte {closed} that end the archive, and were not read")


def _add_member(
    tar: tarfile.TarFile, member: tarfile.TarInfo, extension: str, sample: dict[str, Any], block: Block, row: int
) -> None:
    kind = extension.rsplit(".", 1)[-1]
    stream = tar.extractfile(member) if kind in TEXT_MEMBERS | JSON_MEMBERS and member.size <= MAX_RECORD else None
    if stream is None:
        sample[extension] = {"bytes": member.size}
        return
    data = stream.read()
    if kind in TEXT_MEMBERS:
        sample["text" if kind == "txt" else kind] = data.decode("utf-8", "replace")
        return
    try:
        value = parse_json(data)
    except ValueError as error:
        block.broken.append(Broken(row, member.offset_data, f"{member.name}: not JSON: {str(error)[:80]}"))
        return
    sample.update(value if isinstance(value, dict) else {extension: value})
