"""The journal of cases: question, diagnosis, each attempt with its one change and its verdict.

One SQLite file (WAL) under the user's data directory. It holds answers, which are redacted already, and paths; never
file contents.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..tools.findings import TriageError

SCHEMA = """
create table if not exists cases(
    id text primary key, opened text not null, question text not null, runs text not null, status text not null);
create table if not exists events(
    case_id text not null references cases(id), at text not null, kind text not null, content text not null);
create index if not exists events_by_case on events(case_id);
"""


@dataclass(frozen=True)
class Case:
    """One case with its events in order."""

    id: str
    opened: str
    """UTC, ISO 8601."""
    question: str
    runs: list[str]
    status: str
    """`open`, or the last verdict."""
    events: list[dict[str, Any]]
    """`{"at", "kind": "answer" | "verdict" | "note", "content"}`"""


def home(path: Path | None = None) -> Path:
    """The data directory: `--home`, else `TRIAGE_HOME`, else the platform's own; made on first use."""
    import os

    if path is None:
        if env := os.environ.get("TRIAGE_HOME"):
            path = Path(env)
        else:
            from platformdirs import user_data_path

            path = user_data_path("triage", appauthor=False)
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise TriageError(f"{path}: cannot make the data directory ({error.strerror}); pass --home DIR") from None
    return path


class Casebook:
    """Open for each use and close at once: many processes may write at the same time."""

    def __init__(self, folder: Path):
        self._path = folder / "cases.sqlite3"
        with self._open() as db:
            db.executescript(SCHEMA)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self._path, timeout=10)) as db, db:
                db.execute("pragma journal_mode=wal")
                yield db
        except sqlite3.Error as error:
            raise TriageError(
                f"{self._path}: the casebook cannot be used ({error}); move it away or pass --home DIR"
            ) from None

    def open_case(self, question: str, runs: list[str]) -> str:
        id = secrets.token_hex(3)
        with self._open() as db:
            db.execute("insert into cases values(?, ?, ?, ?, 'open')", (id, _now(), question, _dump(runs)))
        return id

    def record(self, case: str, kind: str, content: Any, status: str | None = None) -> None:
        """Append one event; with `status`, also set the case's.

        Raises:
            TriageError: there is no such case.
        """
        with self._open() as db:
            if not db.execute("select 1 from cases where id = ?", (case,)).fetchone():
                raise TriageError(f"no case {case!r}; `triage cases` lists them")
            db.execute("insert into events values(?, ?, ?, ?)", (case, _now(), kind, _dump(content)))
            if status:
                db.execute("update cases set status = ? where id = ?", (status, case))

    def get(self, case: str) -> Case:
        with self._open() as db:
            row = db.execute("select * from cases where id = ?", (case,)).fetchone()
            if not row:
                raise TriageError(f"no case {case!r}; `triage cases` lists them")
            events = db.execute("select at, kind, content from events where case_id = ? order by rowid", (case,))
            return Case(
                row[0],
                row[1],
                row[2],
                _load(row[3]),
                row[4],
                [{"at": at, "kind": kind, "content": _load(content)} for at, kind, content in events],
            )

    def cases(self, limit: int = 50) -> list[Case]:
        """The newest cases, without their events."""
        with self._open() as db:
            rows = db.execute("select * from cases order by rowid desc limit ?", (limit,)).fetchall()
        return [Case(r[0], r[1], r[2], _load(r[3]), r[4], []) for r in rows]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _dump(value: Any) -> str:
    import orjson

    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()


def _load(text: str) -> Any:
    import orjson

    return orjson.loads(text)
