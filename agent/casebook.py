"""The journal of cases: question, diagnosis, each attempt with its one change and its verdict.

One SQLite file (WAL) under the user's data directory. It holds answers, redacted on their way in, and paths; never
file contents. A damaged one is set aside by whoever meets it, and a new one begins.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import sqlite3
import stat
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from ..tools.findings import TriageError
from ..tools.keeping import PRIVATE, damaged, lost, mend, reason, swapped, whole
from ..tools.secrets import visible_in

SCHEMA = """
create table if not exists cases(
    id text primary key, opened text not null, question text not null, runs text not null, status text not null,
    owner text not null default '');
create table if not exists events(
    case_id text not null references cases(id), at text not null, kind text not null, content text not null);
create index if not exists events_by_case on events(case_id);
"""
BOOK = "cases.sqlite3"
Result = TypeVar("Result")
COLUMNS = "id, opened, question, runs, status, owner"
CAUSE = (
    "(select case json_extract(content, '$.state') when 'diagnosed' then json_extract(content, '$.hypotheses[0].entry')"
    " end from events where case_id = id and kind = 'answer' and json_valid(content) order by rowid desc limit 1)"
)
OURS = (
    *("bisect", "cache", "chat-history", "chroma*", "lab", "runbooks", "slack", "slack.lock", "traces", "watched"),
    *(f"{name}.sqlite3*" for name in ("cases", "conversations", "slack")),
)
"""What triage keeps directly in the data directory; everything else there is the person's own."""
_MAKING = threading.Lock()
"""Held while a file is made: closing a database lets go of the locks that other threads have on it."""


class Unusable(TriageError):
    """The casebook cannot be read or written; an answer does without it."""

    def __init__(self, path: Path, why: str):
        super().__init__(f"{path}: the casebook cannot be used ({why}); move it away or pass --home DIR")
        self.why = why


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
    cause: str = ""
    """The entry that its last answer leads with, where that is a diagnosis; only in lists of cases."""


def home(path: Path | None = None) -> Path:
    """The data directory: `--home`, else `TRIAGE_HOME`, else the platform's own; made on first use.

    A folder that was there keeps its mode; what triage keeps in it is closed to others all the same. Where none can be
    made, nothing is kept, and whoever needs it says so.
    """
    if path is None:
        if env := os.environ.get("TRIAGE_HOME"):
            path = Path(env)
        else:
            from platformdirs import user_data_path

            path = user_data_path("triage", appauthor=False)
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        there = [p for pattern in OURS for p in path.glob(pattern)]
    except OSError as error:
        lost(path, "not kept", error)
        there = []
    for kept in there:
        with suppress(OSError):  # another person's, or read-only
            mode = kept.lstat().st_mode
            if not stat.S_ISLNK(mode) and mode & 0o077:
                kept.chmod(mode & 0o700)
    return path


def private(path: Path) -> Path:
    """The file in the data directory, made if need be, for its owner only; what else is wrong, its opener says."""
    with _MAKING, suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, PRIVATE))
    return path


def new_id() -> str:
    """The id of a case that is not in the book yet: a turn that is cancelled leaves no empty case."""
    return secrets.token_hex(3)


class Casebook:
    """Open for each use and close at once: many processes may write at the same time."""

    def __init__(self, folder: Path):
        self._path = folder / BOOK
        self._do(lambda db: None)

    def _do(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """What the work gives, in one transaction; done again in a new book if this one is damaged.

        Raises:
            Unusable: the book cannot be opened, read or written.
        """
        try:
            try:
                return self._once(work)
            except sqlite3.DatabaseError as error:
                if not damaged(error) and not swapped(error):
                    raise
                mend(self._path)  # waits for whoever mends it now; a sound book stays
                return self._once(work)
        except (sqlite3.Error, OSError) as error:
            raise Unusable(self._path, reason(error)) from None

    def _once(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        if not os.path.lexists(self._path):
            with suppress(FileExistsError), whole(self._path, new=True, mode=PRIVATE) as [draft]:
                _with_tables(draft, lambda db: None)  # before anybody else opens it: SQLite refuses many that begin it
        return _with_tables(self._path, work)

    def open_case(self, question: str, runs: list[str], id: str = "") -> str:
        """Enter a new case, under `id` if its turn began with one, unless it is there; returns its id."""
        row = (id or new_id(), _now(), question, _paths(runs))
        query = "insert or ignore into cases(id, opened, question, runs, status) values(?, ?, ?, ?, 'open')"
        self._do(lambda db: db.execute(query, row))
        return row[0]

    def set_runs(self, case: str, runs: list[str]) -> None:
        """The paths that the case is about by now."""
        self._do(lambda db: db.execute("update cases set runs = ? where id = ?", (_paths(runs), case)))

    def claim(self, case: str, owner: str) -> None:
        """Say whose case it is; it is no longer in the lists of others."""
        self._do(lambda db: db.execute("update cases set owner = ? where id = ?", (owner, case)))

    def record(self, case: str, kind: str, content: Any, status: str | None = None) -> None:
        """Append one event; with `status`, also set the case's.

        Raises:
            TriageError: there is no such case.
        """
        event = (case, _now(), kind, _dump(visible_in(content)))

        def work(db: sqlite3.Connection) -> None:
            _case_row(db, case)
            db.execute("insert into events values(?, ?, ?, ?)", event)
            if status:
                db.execute("update cases set status = ? where id = ?", (status, case))

        self._do(work)

    def get(self, case: str) -> Case:
        query = "select at, kind, content from events where case_id = ? order by rowid"
        row, events = self._do(lambda db: (_case_row(db, case), db.execute(query, (case,)).fetchall()))
        read = ((at, kind, _load(content)) for at, kind, content in events)
        return _case(row, [{"at": at, "kind": kind, "content": content} for at, kind, content in read if content])

    def latest(self, owner: str = "") -> str:
        """The case that this owner worked on last, empty where there is none."""
        query = (
            "select cases.id from cases left join events on case_id = cases.id where owner = ?"
            " order by coalesce(events.at, opened) desc, events.rowid desc, cases.rowid desc limit 1"
        )
        row = self._do(lambda db: db.execute(query, (owner,)).fetchone())
        return row[0] if row else ""

    def cases(self, limit: int = 50, owner: str | None = None, words: str = "") -> list[Case]:
        """The newest cases, without their events.

        Args:
            limit: how many.
            owner: only this owner's; None for all.
            words: only cases in whose id, question, runs, status or answers this text occurs, whatever its case.
        """
        like = "%" + re.sub(r"([\\%_])", r"\\\1", words.strip()) + "%"
        query = (
            f"select {COLUMNS}, {CAUSE} from cases where (:owner is null or owner = :owner) and (:words = '%%'"
            " or id || ' ' || question || ' ' || runs || ' ' || status like :words escape '\\'"
            " or exists (select 1 from events where case_id = id"
            " and json_extract(content, '$.answer') like :words escape '\\'))"
            " order by rowid desc limit :limit"
        )
        asked = {"owner": owner, "words": like, "limit": limit}
        return [_case(row, []) for row in self._do(lambda db: db.execute(query, asked).fetchall())]


def _with_tables(book: Path, work: Callable[[sqlite3.Connection], Result]) -> Result:
    with closing(sqlite3.connect(book, timeout=10)) as db, db:
        db.execute("pragma journal_mode=wal")
        if "owner" not in {row[1] for row in db.execute("pragma table_info(cases)")}:
            db.executescript(SCHEMA)
            _add_owner(db)
        return work(db)


def _add_owner(db: sqlite3.Connection) -> None:
    """To a book of an earlier version."""
    if "owner" not in {row[1] for row in db.execute("pragma table_info(cases)")}:
        db.execute("alter table cases add column owner text not null default ''")


def _case_row(db: sqlite3.Connection, case: str) -> tuple[str, ...]:
    row = db.execute(f"select {COLUMNS} from cases where id = ?", (case,)).fetchone()
    if not row:
        raise TriageError(f"no case {case!r}; `triage cases` lists them")
    return row


def _case(row: tuple[str, ...], events: list[dict[str, Any]]) -> Case:
    id, opened, question, runs, status, owner, *cause = row
    return Case(id, opened, question, _paths_of(runs), status, events, owner, *(c or "" for c in cause))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _paths(runs: list[str]) -> str:
    """As they are, for they are opened again: a byte of a name that is not UTF-8 is kept as an escape of JSON."""
    return json.dumps(runs, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()


def _paths_of(text: str) -> list[str]:
    """None of them for a row that a bad disk has changed."""
    try:
        return json.loads(text)
    except ValueError:
        return []


def _dump(value: Any) -> str:
    import orjson

    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()


def _load(text: str) -> Any:
    """None for a row that a bad disk has changed."""
    import orjson

    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
