"""The journal of cases: question, diagnosis, each attempt with its one change and its verdict.

One SQLite file (WAL) under the user's data directory. It holds answers, redacted on their way in, and paths; never
file contents.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..tools.findings import TriageError
from ..tools.secrets import visible_in

SCHEMA = """
create table if not exists cases(
    id text primary key, opened text not null, question text not null, runs text not null, status text not null,
    owner text not null default '');
create table if not exists events(
    case_id text not null references cases(id), at text not null, kind text not null, content text not null);
create index if not exists events_by_case on events(case_id);
"""
COLUMNS = "id, opened, question, runs, status, owner"
OURS = (
    *("bisect", "cache", "chat-history", "chroma*", "lab", "runbooks", "slack", "slack.lock", "traces"),
    *(f"{name}.sqlite3*" for name in ("cases", "conversations", "slack")),
)
"""What triage keeps directly in the data directory; everything else there is the person's own."""
_MAKING = threading.Lock()
"""Held while a file is made: closing a database lets go of the locks that other threads have on it."""


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
    """`{"at", "kind": "answer" | "verdict" | "feedback" | "note", "content"}`"""
    owner: str = ""
    """Whose case it is, where an interface has several people; empty for whoever uses the machine."""


def home(path: Path | None = None) -> Path:
    """The data directory: `--home`, else `TRIAGE_HOME`, else the platform's own; made on first use.

    A folder that was there keeps its mode; what triage keeps in it is closed to others all the same.
    """
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
    for kept in (p for pattern in OURS for p in path.glob(pattern)):
        with suppress(OSError):  # another person's, or read-only
            mode = kept.lstat().st_mode
            if not stat.S_ISLNK(mode) and mode & 0o077:
                kept.chmod(mode & 0o700)
    return path


def private(path: Path) -> Path:
    """The file in the data directory, made if need be, for its owner only; what else is wrong, its opener says."""
    with _MAKING, suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
    return path


def new_id() -> str:
    """The id of a case that is not in the book yet: a turn that is cancelled leaves no empty case."""
    return secrets.token_hex(3)


class Casebook:
    """Open for each use and close at once: many processes may write at the same time."""

    def __init__(self, folder: Path):
        self._path = folder / "cases.sqlite3"
        with self._open() as db:
            db.executescript(SCHEMA)
            if "owner" not in {row[1] for row in db.execute("pragma table_info(cases)")}:
                db.execute("alter table cases add column owner text not null default ''")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(private(self._path), timeout=10)) as db, db:
                db.execute("pragma journal_mode=wal")
                yield db
        except sqlite3.Error as error:
            raise TriageError(
                f"{self._path}: the casebook cannot be used ({error}); move it away or pass --home DIR"
            ) from None

    def open_case(self, question: str, runs: list[str], id: str = "") -> str:
        """Enter a new case, under `id` if its turn began with one; returns its id."""
        id = id or new_id()
        with self._open() as db:
            db.execute(
                "insert into cases(id, opened, question, runs, status) values(?, ?, ?, ?, 'open')",
                (id, _now(), question, _paths(runs)),
            )
        return id

    def set_runs(self, case: str, runs: list[str]) -> None:
        """The paths that the case is about by now."""
        with self._open() as db:
            db.execute("update cases set runs = ? where id = ?", (_paths(runs), case))

    def claim(self, case: str, owner: str) -> None:
        """Say whose case it is; it is no longer in the lists of others."""
        with self._open() as db:
            db.execute("update cases set owner = ? where id = ?", (owner, case))

    def record(self, case: str, kind: str, content: Any, status: str | None = None) -> None:
        """Append one event; with `status`, also set the case's.

        Raises:
            TriageError: there is no such case.
        """
        with self._open() as db:
            if not db.execute("select 1 from cases where id = ?", (case,)).fetchone():
                raise TriageError(f"no case {case!r}; `triage cases` lists them")
            db.execute("insert into events values(?, ?, ?, ?)", (case, _now(), kind, _dump(visible_in(content))))
            if status:
                db.execute("update cases set status = ? where id = ?", (status, case))

    def get(self, case: str) -> Case:
        with self._open() as db:
            row = db.execute(f"select {COLUMNS} from cases where id = ?", (case,)).fetchone()
            if not row:
                raise TriageError(f"no case {case!r}; `triage cases` lists them")
            events = db.execute("select at, kind, content from events where case_id = ? order by rowid", (case,))
            return _case(row, [{"at": at, "kind": kind, "content": _load(content)} for at, kind, content in events])

    def cases(self, limit: int = 50, owner: str | None = None, words: str = "") -> list[Case]:
        """The newest cases, without their events.

        Args:
            limit: how many.
            owner: only this owner's; None for all.
            words: only cases in whose id, question, runs, status or answers this text occurs, whatever its case.
        """
        like = "%" + re.sub(r"([\\%_])", r"\\\1", words.strip()) + "%"
        with self._open() as db:
            rows = db.execute(
                f"select {COLUMNS} from cases where (:owner is null or owner = :owner) and (:words = '%%'"
                " or id || ' ' || question || ' ' || runs || ' ' || status like :words escape '\\'"
                " or exists (select 1 from events where case_id = id"
                " and json_extract(content, '$.answer') like :words escape '\\'))"
                " order by rowid desc limit :limit",
                {"owner": owner, "words": like, "limit": limit},
            ).fetchall()
        return [_case(row, []) for row in rows]


def _case(row: tuple[str, ...], events: list[dict[str, Any]]) -> Case:
    id, opened, question, runs, status, owner = row
    return Case(id, opened, question, json.loads(runs), status, events, owner)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _paths(runs: list[str]) -> str:
    """As they are, for they are opened again: a byte of a name that is not UTF-8 is kept as an escape of JSON."""
    return json.dumps(runs, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()


def _dump(value: Any) -> str:
    import orjson

    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()


def _load(text: str) -> Any:
    import orjson

    return orjson.loads(text)
