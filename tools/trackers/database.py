"""A SQLite file of a stranger, a tracker's or any other: opened for reading only, nothing written beside it, within a
limit of time.

What is still in its write-ahead log or journal counts too: then a copy is opened, in a folder of its own.
"""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from ..findings import TriageError

MAGIC = b"SQLite format 3\0"
COPY = 512 << 20
"""Largest database, with its log, that is copied: seconds, and room that a temporary folder has."""
SECONDS = 30.0
"""How long one question may take: four million rows of a tracker take five."""
ROW = 4 << 20
"""Longest value, in bytes."""
_UNFINISHED = ("-wal", "-journal")


class Database:
    """An open database: its plain tables, and rows of them."""

    def __init__(self, connection: sqlite3.Connection, missing: str) -> None:
        self._connection = connection
        self.missing = missing
        """Why its last writes are not seen; empty where they are."""
        self.tables = {
            str(name): [str(row[1]) for row in connection.execute(f"pragma table_info({_quoted(str(name))})")]
            for name, sql in connection.execute("select name, sql from sqlite_master where type = 'table' limit 1000")
            if not str(name).startswith("sqlite_") and not str(sql).lstrip().lower().startswith("create virtual")
        }
        """Table -> names of its columns, in order."""

    def rows(self, table: str, columns: Sequence[str], order: str = "rowid") -> Iterator[tuple[Any, ...]]:
        """Columns of a table, row by row."""
        names = ", ".join(map(_quoted, columns))
        yield from self._connection.execute(f"select {names} from {_quoted(table)} order by {order}")

    def beginnings(self, table: str, columns: Sequence[str], letters: int) -> Iterator[tuple[Any, ...]]:
        """As `rows`, in the order in which they lie there; of a text only its first letters."""
        shown = (
            f"case when typeof({c}) in ('text', 'blob') then substr({c}, 1, {letters}) else {c} end"
            for c in map(_quoted, columns)
        )
        yield from self._connection.execute(f"select {', '.join(shown)} from {_quoted(table)}")

    def has(self, table: str, *columns: str) -> bool:
        return table in self.tables and set(columns) <= set(self.tables[table])


@contextmanager
def opened(path: Path, file: str) -> Iterator[Database]:
    """The database in a file.

    Raises:
        TriageError: it is none, is damaged, or takes too long.
    """
    try:
        with _settled(path) as (whole, how, missing), closing(_connected(whole, how)) as connection:
            yield Database(connection, missing)
    except (sqlite3.Error, OSError, OverflowError, UnicodeError) as error:
        why = f"a question took over the limit of {SECONDS:g} s" if "interrupted" in str(error) else str(error)
        raise TriageError(f"cannot read {file}: {why}; close the program that writes it, or name a copy") from error


@contextmanager
def _settled(path: Path) -> Iterator[tuple[Path, str, str]]:
    """(file, how, what is missing) to open: itself as it stands, or a copy that may take in its last writes."""
    beside = [p for p in (path.with_name(path.name + end) for end in _UNFINISHED) if _size(p)]
    size = path.stat().st_size + sum(map(_size, beside))
    if not beside:
        yield path, _AS_IT_STANDS, _torn(path)
    elif size > COPY:
        yield path, _AS_IT_STANDS, f"its last writes are in {beside[0].name}: with it over the limit of {COPY} bytes"
    else:
        with TemporaryDirectory(prefix="triage-") as folder:
            for one in (path, *beside):
                shutil.copyfile(one, Path(folder) / one.name)
            yield Path(folder) / path.name, "mode=rw", ""


def _torn(path: Path) -> str:
    """Why rows are missing of a file that is shorter than its head says: SQLite itself may pass over that."""
    with path.open("rb") as stream:
        head = stream.read(100).ljust(100, b"\0")
    page, pages = int.from_bytes(head[16:18], "big"), int.from_bytes(head[28:32], "big")
    said = (65536 if page == 1 else page) * pages
    size = path.stat().st_size
    return f"it was cut off: {size} of {said} bytes are there" if head[24:28] == head[92:96] and size < said else ""


_AS_IT_STANDS = "mode=ro&immutable=1"
"""No lock is taken and no `-shm` file made."""


def _size(path: Path) -> int:
    """Bytes of a plain file; a link or a pipe beside the database is none of its own."""
    return path.stat().st_size if path.is_file() and not path.is_symlink() else 0


def _connected(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{quote(str(path.resolve()))}?{how}", uri=True)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, ROW)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    connection.execute("pragma trusted_schema = off")
    connection.execute("pragma cell_size_check = on")
    connection.set_progress_handler(_clock(SECONDS), 10_000)
    return connection


def _clock(limit: float) -> Callable[[], bool]:
    """Whether the time is over; what a reader does between two rows counts as well."""
    end = time.monotonic() + limit
    return lambda: time.monotonic() > end


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
