"""A person's own runbooks: Markdown files as passages, and entry files that they made live.

SQLite in the data directory is the truth (files with their hashes, passages with file, headings and line, and which
Chroma store is in force); that store and the BM25 file are made from it. What is written in a file is data to quote:
nothing here follows it, and nothing is read but what a person named.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..tools.keeping import damaged, locked, reason, set_aside
from .draft import REVIEW
from .entry import EntryError, RunbookError, parse
from .markdown import pieces
from .runbook import SHIPPED

SUFFIXES = (".md", ".markdown", ".mdx", ".txt")
"""What is taken from a directory; a file that is named itself may be called anything."""
LARGEST = 5_000_000
"""Bytes of one file."""
BATCH = 40
"""Files between two commits: what an interruption can cost."""
_ENTRY = re.compile(r"---\n(?:.*\n)*?(?:says|check_first):")
SCHEMA = """
begin;
create table if not exists files(
    path text primary key, hash text not null, size integer not null, mtime integer not null, entry text);
create table if not exists passages(
    id integer primary key autoincrement, file text not null references files(path),
    headings text not null, line integer not null, text text not null);
create index if not exists passages_by_file on passages(file);
create table if not exists meta(key text primary key, value text not null);
commit;
"""

Listen = Callable[[int, int], None]
"""Called with (files done, files in all)."""


@dataclass(frozen=True)
class Passage:
    """A stretch of a person's own document, to be quoted with its place."""

    file: str
    headings: tuple[str, ...]
    line: int
    text: str
    """As it stands in the file; untrusted."""
    score: float = 0.0
    """Relevance in [0, 1]; comparable between passages, not a probability."""
    id: str = ""


def indexed(passage: Passage) -> str:
    """What a passage is found by: its headings and text, without marks."""
    return re.sub(r"[|*`#>_~]+", " ", "\n".join([*passage.headings, passage.text]))


@dataclass
class Added:
    """What one `add` did."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    """Files that were known and are gone."""
    passages: int = 0
    """Passages written."""
    skipped: list[tuple[str, str]] = field(default_factory=list)
    """(file, reason)"""


@dataclass(frozen=True)
class File:
    """One known file."""

    path: str
    kind: str
    """`passages` or `entry`."""
    passages: int
    state: str
    """`current`, `changed` or `missing` on disk."""


class Library:
    """The files of one data directory. Cheap to make; opens its database for each use."""

    def __init__(self, home: Path):
        self.folder = home / "runbooks"
        self.path = self.folder / "library.sqlite3"

    @property
    def exists(self) -> bool:
        """Whether something was ever added; true also where that cannot be told, so that it is said."""
        try:
            return self.path.lstat().st_size > 0
        except OSError as error:
            return not isinstance(error, FileNotFoundError)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Made if need be, mended if damaged, and nobody else writes to it meanwhile: the others wait.

        Raises:
            RunbookError: it cannot be written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with locked(self.folder):
                self._prepare()
                yield
        except (sqlite3.Error, OSError) as error:
            raise self._unusable(error) from None

    def _prepare(self) -> None:
        for attempt in (1, 2):
            try:
                with closing(sqlite3.connect(self.path, timeout=10)) as db, db:
                    db.executescript(SCHEMA)
                    db.execute("insert or ignore into meta values('name', ?)", (secrets.token_hex(4),))
                    if db.execute("pragma quick_check(1)").fetchone()[0] == "ok":
                        return
            except sqlite3.DatabaseError as error:
                if not damaged(error) or attempt == 2:
                    raise
            set_aside(self.path)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """To read as well: what a kill has left half done is undone by writing."""
        try:
            with closing(sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=rw", uri=True, timeout=10)) as db:
                yield db
        except RunbookError:
            raise
        except (sqlite3.Error, OSError, ValueError) as error:
            raise self._unusable(error) from None

    def _unusable(self, error: Exception) -> RunbookError:
        return RunbookError(f"{self.path}: cannot be used ({reason(error)}); move it away or pass --home DIR")

    def _meta(self, key: str) -> str:
        with self._open() as db:
            row = db.execute("select value from meta where key = ?", (key,)).fetchone()
        return row[0] if row else ""

    @property
    def name(self) -> str:
        """A random name that keeps the ids of two libraries on one Chroma server apart."""
        return self._meta("name")

    @property
    def store(self) -> str:
        """The name of the Chroma store that is in force; empty before the first one is made."""
        return self._meta("store")

    def set_store(self, name: str) -> None:
        with self._open() as db, db:
            db.execute("insert or replace into meta values('store', ?)", (name,))

    def add(self, paths: Sequence[Path], listen: Listen) -> Added:
        """Bring files and directories up to date: read what is new or changed, drop what is gone.

        Args:
            paths: files or directories; none for everything added before.
            listen: progress.

        Raises:
            RunbookError: a path does not exist.
        """
        for path in paths:
            if not path.exists():
                raise RunbookError(f"{path}: no such file or directory")
        done = Added()
        with self._open() as db:
            known = {row[0]: row[1:] for row in db.execute("select path, hash, size, mtime from files")}
            files = list(_walk(paths)) if paths else [Path(p) for p in known]
            gone = [p for p in known if _inside(p, paths) and not Path(p).is_file()]
            with db:
                self._drop(db, gone)
            done.removed = len(gone)
            files = [f for f in files if str(f) not in gone]
            for at in range(0, len(files), BATCH):
                with db:
                    done.passages += sum(self._file(db, f, known, done) for f in files[at : at + BATCH])
                listen(min(at + BATCH, len(files)), len(files))
        return done

    def _file(self, db: sqlite3.Connection, file: Path, known: dict[str, Any], done: Added) -> int:
        """Read one file if it is not what was read before; returns the number of passages written."""
        name = str(file)
        try:
            stat = file.stat()
            if name in known and known[name][1:] == (stat.st_size, stat.st_mtime_ns):
                done.unchanged += 1
                return 0
            text, digest = _read(file, stat.st_size)
            entry = _entry(text, file.name)
            if entry:
                _alone(db, file)
        except (OSError, RunbookError) as error:
            done.skipped.append((name, error.strerror or "unreadable" if isinstance(error, OSError) else str(error)))
            return 0
        same = name in known and known[name][0] == digest
        if name in known and not same:
            self._drop(db, [name])
        row = (name, digest, stat.st_size, stat.st_mtime_ns, entry)
        db.execute("insert or replace into files values(?, ?, ?, ?, ?)", row)
        done.unchanged += same
        done.changed += name in known and not same
        done.new += name not in known
        return 0 if same or entry else _insert(db, name, text)

    def _drop(self, db: sqlite3.Connection, files: Iterable[str]) -> None:
        """Delete files and their passages."""
        for file in files:
            db.execute("delete from passages where file = ?", (file,))
            db.execute("delete from files where path = ?", (file,))

    def remove(self, paths: Sequence[Path]) -> int:
        """Forget files, and all files below directories; returns how many.

        Raises:
            RunbookError: none of them was added.
        """
        with self._open() as db:
            files = [p for (p,) in db.execute("select path from files") if _inside(p, paths)]
            if not files:
                named = ", ".join(map(str, paths))
                raise RunbookError(f"{named}: not among the added runbooks; `triage runbook list --own` shows them")
            with db:
                self._drop(db, files)
        return len(files)

    def files(self) -> list[File]:
        """Every known file, by path."""
        count = "(select count(*) from passages where file = path)"
        query = f"select path, size, mtime, entry, {count} from files order by path"
        with self._open() as db:
            rows = db.execute(query).fetchall()
        return [File(p, "entry" if e else "passages", n, _state(Path(p), size, mtime)) for p, size, mtime, e, n in rows]

    def entries(self) -> dict[str, str]:
        """File -> text of the entry files that were added."""
        if not self.exists:
            return {}
        with self._open() as db:
            return dict(db.execute("select path, entry from files where entry is not null order by path").fetchall())

    def passages(self) -> list[Passage]:
        """Every passage, in a fixed order."""
        prefix = self.name
        with self._open() as db:
            rows = db.execute("select id, file, headings, line, text from passages order by id").fetchall()
            return [Passage(f, tuple(json.loads(h)), line, t, id=f"{prefix}-{id}") for id, f, h, line, t in rows]

    def revision(self) -> str:
        """Changes whenever a passage does."""
        with self._open() as db:
            row = db.execute("select count(*), coalesce(max(id), 0), coalesce(sum(id), 0) from passages").fetchone()
        return "-".join(map(str, row))


def _walk(paths: Sequence[Path]) -> Iterator[Path]:
    """Files by name; links to directories and hidden directories are not followed."""
    seen: set[str] = set()
    for path in paths:
        found = [path] if path.is_file() else []
        for folder, inner, names in os.walk(path):
            inner[:] = sorted(d for d in inner if not d.startswith("."))
            found += [Path(folder, n) for n in sorted(names) if n.lower().endswith(SUFFIXES)]
        for file in map(Path.absolute, found):
            if str(file) not in seen:
                seen.add(str(file))
                yield file


def _inside(file: str, paths: Sequence[Path]) -> bool:
    """Whether the file is one of the paths or below one; everything is, when there are none."""
    return not paths or any(Path(file).is_relative_to(path.absolute()) for path in paths)


def _read(file: Path, size: int) -> tuple[str, str]:
    """(text, hash); UTF-8, else GB 18030."""
    if size > LARGEST:
        raise RunbookError(f"larger than {LARGEST // 1_000_000} MB; split it")
    content = file.read_bytes()
    if b"\0" in content:
        raise RunbookError("not a text file")
    digest = hashlib.sha256(content).hexdigest()
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            return content.decode(encoding), digest
        except UnicodeDecodeError:
            continue
    raise RunbookError("neither UTF-8 nor GB 18030; convert it to UTF-8")


def _entry(text: str, name: str) -> str | None:
    """The text itself when it is an entry file, checked; None for an ordinary document."""
    if not _ENTRY.match(text.replace("\r\n", "\n")[:20_000]):
        return None
    if marks := text.count(REVIEW):
        raise EntryError(f"{name}: {marks} places are still marked {REVIEW} finish the draft first")
    entry = parse(text.replace("\r\n", "\n"), name)
    if (SHIPPED / f"{entry.id}.md").exists():
        raise EntryError(f"{name}: the runbook has an entry {entry.id} already; give yours another id")
    return text.replace("\r\n", "\n")


def _alone(db: sqlite3.Connection, file: Path) -> None:
    """Refuses a second file with the entry's id, which is its name."""
    for (other,) in db.execute("select path from files where entry is not null and path != ?", (str(file),)):
        if Path(other).stem == file.stem and Path(other).is_file():
            raise EntryError(f"{file.name}: {other} is an entry {file.stem} already; give one of them another id")


def _insert(db: sqlite3.Connection, file: str, text: str) -> int:
    rows = [(file, json.dumps(p.headings, ensure_ascii=False), p.line, p.text) for p in pieces(text)]
    db.executemany("insert into passages(file, headings, line, text) values(?, ?, ?, ?)", rows)
    return len(rows)


def _state(path: Path, size: int, mtime: int) -> str:
    try:
        stat = path.stat()
    except OSError:
        return "missing"
    return "current" if (stat.st_size, stat.st_mtime_ns) == (size, mtime) else "changed"
