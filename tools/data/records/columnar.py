"""Records of Parquet, Arrow (and Hugging Face `datasets` folders) and WebDataset tar files.

Only the text of a tar sample is kept: media members are recorded by their size.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from ...packed import BROKEN, open_plain
from ...reading import parse_json
from .record import BLOCK_RECORDS, MAX_RECORD, Block, Broken, Part, Record

ROWS = 512
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
        groups = range(part.start, part.end if part.end >= 0 else file.num_row_groups)
        row = 0
        for batch in file.iter_batches(batch_size=ROWS, row_groups=list(groups)):
            block = _rows_block(batch.to_pylist(), row)
            row += block.lines
            yield block


def arrow_blocks(part: Part) -> Iterator[Block]:
    """Stream format (what `datasets` writes) or file format."""
    import pyarrow as pa

    row = 0
    with pa.memory_map(part.path) as source:
        try:
            batches: Any = pa.ipc.open_stream(source)
        except pa.ArrowInvalid:
            reader = pa.ipc.open_file(source)
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
        for batch in batches:
            for start in range(0, batch.num_rows, ROWS):
                block = _rows_block(batch.slice(start, ROWS).to_pylist(), row)
                row += block.lines
                yield block


def _rows_block(rows: list[dict[str, Any]], before: int) -> Block:
    return Block([Record(row, before + i) for i, row in enumerate(rows, 1)], [], len(rows))


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
