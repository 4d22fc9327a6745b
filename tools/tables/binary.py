"""Tables in binary files: Parquet, Arrow and Feather, SQLite, NumPy. Nothing is written beside them."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..findings import TriageError
from ..trackers.database import opened
from .raw import CELL, CELLS, COLUMNS, LETTERS, TABLES, Raw, Records, short

BATCH, ROWS = 20_000, 512
"""Rows read at a time, and turned into objects at a time."""
TOGETHER = 64 << 20
"""Bytes of values read at a time."""
ARRAY = 256 << 20
"""Bytes of one array of NumPy."""


def read_arrow(path: Path) -> Iterator[Raw]:
    """A Parquet, Arrow or Feather file.

    Raises:
        TriageError: it is damaged.
    """
    import pyarrow as pa

    try:
        names, batches = _parquet(path) if _starts(path, b"PAR1") else _ipc(path)
        columns: list[list[Any]] = [[] for _ in names]
        left, cut = CELLS, ""
        for batch in batches:
            for piece in (batch.slice(i, ROWS) for i in range(0, batch.num_rows, ROWS)):
                for into, column in zip(columns, piece.columns, strict=True):
                    into.extend(_cell(v) for v in _shortened(column).to_pylist())
                letters = sum(len(c[-1]) for c in columns if c and isinstance(c[-1], str))
                left -= piece.num_rows * (len(names) + letters // LETTERS)
                if left < 0:
                    break
            if left < 0:
                cut = f"over the limit of {CELLS:,} cells from row {len(columns[0]) + 1:,} on"
                break
        yield Raw("", names, columns, [0] * len(columns[0] if columns else []), cut=cut)
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise TriageError(f"cannot read {path.name}: {str(error)[:200]}") from None


def _shortened(column: Any) -> Any:
    """The values without the rest of long texts, and without bytes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        return pa.nulls(len(column))
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return pc.call_function("utf8_slice_codeunits", [column], pc.SliceOptions(0, CELL))
    return column


def _starts(path: Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def _parquet(path: Path) -> tuple[list[str], Iterator[Any]]:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path, memory_map=True, pre_buffer=False)
    names = file.schema_arrow.names[:COLUMNS]
    mean = sum(file.metadata.row_group(i).total_byte_size for i in range(file.num_row_groups)) // max(
        1, file.metadata.num_rows
    )
    return names, file.iter_batches(max(1, min(BATCH, TOGETHER // (mean + 1))), columns=names)


def _ipc(path: Path) -> tuple[list[str], Iterator[Any]]:
    import pyarrow as pa

    if _starts(path, b"ARROW1"):
        file = pa.ipc.open_file(pa.memory_map(str(path)))
        return file.schema.names, (file.get_batch(i) for i in range(file.num_record_batches))
    if _starts(path, b"FEA1"):
        import pyarrow.feather as feather

        table = feather.read_table(path)
        return table.schema.names, iter(table.to_batches(BATCH))
    stream = pa.ipc.open_stream(pa.memory_map(str(path)))
    return stream.schema.names, iter(stream)


def _cell(value: Any) -> Any:
    """A plain cell; whatever else a file can hold is written as text."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return short(value)
    if isinstance(value, bytes):
        return ""
    return short(str(value))


def read_sqlite(path: Path) -> Iterator[Raw]:
    """Every table of a database, also of one that is being written.

    Raises:
        TriageError: it is damaged.
    """
    with opened(path, path.name) as base:
        left = CELLS
        for name, columns in islice(base.tables.items(), TABLES):
            table = Records(name, left)
            names = columns[:COLUMNS]
            for row in base.beginnings(name, names, CELL):
                if not table.add(dict(zip(names, map(_cell, row), strict=True))):
                    break
            left -= len(table.raw) * len(table.raw.names)
            table.raw.cut = table.raw.cut or base.missing
            yield table.raw


def read_numpy(path: Path) -> Iterator[Raw]:
    """The one-dimensional arrays of an archive as columns of tables, one for each length; or one array.

    Raises:
        TriageError: it is damaged, or holds objects of Python.
    """
    try:
        if path.suffix.lower() == ".npy":
            yield from _arrays({path.stem: np.load(path, mmap_mode="r", allow_pickle=False)})
            return
        with zipfile.ZipFile(path) as archive:
            small = {i.filename for i in archive.infolist() if i.file_size <= ARRAY}
        with np.load(path, allow_pickle=False) as archive:
            chosen = [n for n in archive.files[:1000] if f"{n}.npy" in small]
            yield from _arrays({n: a for n in chosen if (a := _member(archive, n)) is not None})
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, KeyError, MemoryError) as error:
        raise TriageError(f"cannot read {path.name}: {str(error)[:200]}") from None


def _member(archive: Any, name: str) -> np.ndarray | None:
    try:
        array = archive[name]
    except ValueError:  # objects, which would have to be unpickled
        return None
    return array if array.ndim == 1 else None


def _arrays(arrays: dict[str, np.ndarray]) -> Iterator[Raw]:
    by_size: dict[int, dict[str, np.ndarray]] = {}
    for name, array in arrays.items():
        if array.dtype.names and array.ndim == 1:
            by_size.setdefault(len(array), {}).update({n: array[n] for n in array.dtype.names if array[n].ndim == 1})
        elif array.ndim == 1 and array.dtype.kind in "biufUSM" and len(array) > 1:
            by_size.setdefault(len(array), {})[name] = array
        elif array.ndim == 2 and 1 < array.shape[1] <= 64 and array.dtype.kind in "iuf":
            by_size.setdefault(len(array), {}).update({str(i): array[:, i] for i in range(array.shape[1])})
    for size, columns in by_size.items():
        rows = min(size, CELLS // len(columns))
        cut = f"over the limit of {CELLS:,} cells from row {rows + 1:,} on" if rows < size else ""
        cells = [[_cell(v) for v in column[:rows].tolist()] for column in columns.values()]
        yield Raw("" if len(by_size) == 1 else f"{size} rows", list(columns), cells, [0] * rows, cut=cut)
