"""Every request from Slack, kept before it is acknowledged, so that none is lost and none is answered twice.

One SQLite file. A request is `waiting`, then `working`, then `done` or `failed`; after a crash what was `working` waits
again and knows that a reply may already stand in the thread. Texts are dropped once answered. It knows nothing of the
Slack API.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ...agent.casebook import private
from ...tools.findings import TriageError

SCHEMA = """
create table if not exists requests(
    id text primary key, about text unique, thread text not null, at real not null, state text not null,
    tries integer not null default 0, reply text not null default '', body text not null, kept real not null);
create index if not exists waiting on requests(thread, at) where state = 'waiting';
create table if not exists threads(thread text primary key, case_id text not null, runs text not null);
create table if not exists files(id text primary key, thread text not null, kept real not null);
"""
KEEP_DAYS = 30
"""Slack repeats an event for about an hour; attachments stay this long, so that their lines can be shown."""


@dataclass(frozen=True)
class Request:
    """One thing somebody asked for."""

    id: str
    """Slack's `event_id`, or the `trigger_id` of a button or shortcut."""
    kind: str
    """`ask`, `verify`, or a button's name."""
    channel: str
    thread: str
    """Timestamp of the thread's first message."""
    ts: str
    """Timestamp of the message that asks."""
    user: str
    text: str = ""
    files: tuple[dict[str, Any], ...] = ()
    direct: bool = False
    """In a direct message or the assistant pane."""
    message: bool = False
    """A message, which Slack may announce as several events (`app_mention` and `message`)."""
    team: str = ""
    """Workspace of the person, where Slack says it."""
    lang: str = ""
    """Empty: by the language of the text."""
    tries: int = 0
    """How often it was begun, this time included."""
    reply: str = ""
    """Timestamp of our message, once it stands."""

    @property
    def where(self) -> str:
        return f"{self.channel}:{self.thread}"


class Inbox:
    """Opened for each use; one process a file, which `ui.slack.app` sees to."""

    def __init__(self, folder: Path):
        self._path = folder / "slack.sqlite3"
        with self._open() as db:
            db.executescript(SCHEMA)
            db.execute("update requests set state = 'waiting' where state = 'working'")
            db.execute("delete from requests where state = 'done' and kept < ?", (time.time() - KEEP_DAYS * 86400,))

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(private(self._path), timeout=10)) as db, db:
                db.executescript("pragma journal_mode=wal; pragma secure_delete=on")
                yield db
        except sqlite3.Error as error:
            raise TriageError(f"{self._path}: cannot be used ({error}); move it away or pass --home DIR") from None

    def add(self, request: Request) -> bool:
        """Keep a request; False when it, or another event about the same message, is kept already."""
        about = f"{request.channel}:{request.ts}" if request.message else None
        row = (request.id, about, request.where, float(request.ts or time.time()), json.dumps(asdict(request)))
        with self._open() as db:
            added = db.execute(
                "insert or ignore into requests(id, about, thread, at, body, state, kept) "
                "values(?, ?, ?, ?, ?, 'waiting', ?)",
                (*row, time.time()),
            )
            return added.rowcount == 1

    def claim(self, where: str) -> Request | None:
        """The earliest request that waits in a thread, by the time of its message; it is `working` from now on."""
        with self._open() as db:
            row = db.execute(
                "update requests set state = 'working', tries = tries + 1 where id = (select id from requests "
                "where thread = ? and state = 'waiting' order by at limit 1) returning body, tries, reply",
                (where,),
            ).fetchone()
        if row is None:
            return None
        body = json.loads(row[0])
        return replace(Request(**body), files=tuple(body["files"]), tries=row[1], reply=row[2])

    def waiting(self) -> list[str]:
        """The threads in which something waits."""
        with self._open() as db:
            return [where for (where,) in db.execute("select distinct thread from requests where state = 'waiting'")]

    def replied(self, id: str, ts: str) -> None:
        with self._open() as db:
            db.execute("update requests set reply = ? where id = ?", (ts, id))

    def settle(self, id: str, state: str) -> None:
        """`done` or `failed`, which forget the text, or `waiting` to try again."""
        with self._open() as db:
            db.execute("update requests set state = ? where id = ?", (state, id))
            if state != "waiting":
                db.execute("update requests set body = '{}' where id = ?", (id,))

    def counts(self) -> dict[str, int]:
        """How many requests are in each state."""
        with self._open() as db:
            return dict(db.execute("select state, count(*) from requests group by state").fetchall())

    def case(self, where: str) -> tuple[str, tuple[Path, ...]]:
        """The case of a thread and the runs named in it; empty for a new one."""
        with self._open() as db:
            row = db.execute("select case_id, runs from threads where thread = ?", (where,)).fetchone()
        return (row[0], tuple(map(Path, json.loads(row[1])))) if row else ("", ())

    def set_case(self, where: str, case: str, runs: tuple[Path, ...]) -> None:
        with self._open() as db:
            db.execute(
                "insert or replace into threads values(?, ?, ?)", (where, case, json.dumps(list(map(str, runs))))
            )

    def has_file(self, id: str) -> bool:
        with self._open() as db:
            return db.execute("select 1 from files where id = ?", (id,)).fetchone() is not None

    def add_file(self, id: str, where: str) -> None:
        with self._open() as db:
            db.execute("insert or ignore into files values(?, ?, ?)", (id, where, time.time()))
