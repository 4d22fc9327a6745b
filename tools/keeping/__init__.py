"""Files that triage writes: whole or not at all; and what could not be kept or used: a line about it, not the answer.

It knows nothing of what is in them. Standard library alone: the knowledge wing stands on it too.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from itertools import count
from pathlib import Path

PRIVATE = 0o600
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EMLINK)
"""From a file system without hard links, which alone never replace a file that came meanwhile."""
_HEARING: ContextVar[tuple[list[str], ...]] = ContextVar("losses", default=())
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


@contextmanager
def losses() -> Iterator[list[str]]:
    """What `lost` says within the block, each once; the blocks around it hear it too."""
    heard: list[str] = []
    token = _HEARING.set((*_HEARING.get(), heard))
    try:
        yield heard
    finally:
        _HEARING.reset(token)


def lost(path: Path, what: str, why: object) -> None:
    """Say that something in the data directory is `not kept` or `not used`, and why."""
    text = f"{path}: {what} ({reason(why) if isinstance(why, Exception) else why})"
    for heard in _HEARING.get():
        if text not in heard:
            heard.append(text)


def heard() -> list[str]:
    """What was lost so far in the outermost block."""
    return list(_HEARING.get()[0]) if _HEARING.get() else []


def reason(error: Exception) -> str:
    """One line, without the path, which whoever tells it names."""
    told = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    return told.splitlines()[0]


@contextmanager
def held(*signals: int) -> Iterator[None]:
    """The signals wait until the block is over; a process started in it never sees them, not even while it imports.

    A thread that is not masked may be given one too, and Python then runs the handler in the main thread: so there
    the handlers wait as well.
    """
    waiting: list[int] = []
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    handlers = {}
    try:
        if threading.current_thread() is threading.main_thread():
            handlers = {n: handler for n in signals if callable(handler := signal.getsignal(n))}
            for number in handlers:
                signal.signal(number, lambda number, frame: waiting.append(number))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number in waiting:
            signal.raise_signal(number)


@contextmanager
def whole(*paths: Path, new: bool = False, mode: int = 0o666) -> Iterator[list[Path]]:
    """Drafts to write, which become the files, all of them, when the block ends well, and else are removed.

    Args:
        paths: what they are to be called. A device or pipe is written as it is, a link is followed.
        new: none of the files may be there already.
        mode: of a new file, less the umask.

    Raises:
        OSError: a file cannot be written; its `filename` is the one that was asked for.
    """
    targets = [Path(os.path.realpath(path)) for path in paths]
    drafts = [_draft(target) for target in targets]
    try:
        for path, draft, target in zip(paths, drafts, targets, strict=True):
            if new and os.path.lexists(path):
                raise FileExistsError(errno.EEXIST, "File exists", str(path))
            if draft != target:
                os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        yield drafts
        _flush([d for d, t in zip(drafts, targets, strict=True) if d != t])
        with held(signal.SIGINT, signal.SIGTERM):
            for draft, target in zip(drafts, targets, strict=True):
                _appear(draft, target, new)
    except OSError as error:
        asked = {str(draft): str(path) for draft, path in zip(drafts, paths, strict=True)}
        if error.filename is not None and str(error.filename) not in asked:
            raise  # of something else that the block reads
        named = asked.get(str(error.filename), str(paths[0]))
        raise OSError(error.errno or errno.EIO, reason(error), named) from error
    finally:
        for draft, target in zip(drafts, targets, strict=True):
            if draft != target:
                with suppress(OSError):
                    draft.unlink(missing_ok=True)


def _draft(target: Path) -> Path:
    if target.exists() and not target.is_file() and not target.is_dir():
        return target
    return target.with_name(f".{target.name[:40]}.{os.getpid()}-{secrets.token_hex(2)}.part")


def _flush(drafts: list[Path]) -> None:
    with ExitStack() as open_files:
        for draft in drafts:
            os.fsync(open_files.enter_context(draft.open("rb+")).fileno())


def _appear(draft: Path, target: Path, new: bool) -> None:
    if draft == target:
        return
    if new:
        try:
            return os.link(draft, target)
        except OSError as error:
            if error.errno not in NO_LINKS or target.exists():
                raise
    draft.replace(target)


def append(path: Path, line: bytes, mode: int = PRIVATE) -> None:
    """One more line; one that was torn by a kill or a full disk before it does not take it along."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, mode)
    try:
        append_to(fd, line)
    finally:
        os.close(fd)


def append_to(fd: int, line: bytes) -> None:
    """The same, in one write, to a file that is open for reading and appending."""
    size = os.fstat(fd).st_size
    whole_end = size == 0 or os.pread(fd, 1, size - 1) == b"\n"
    line = line if whole_end else b"\n" + line
    if os.write(fd, line + b"\n") <= len(line):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One process at a time, the others wait; let go of when the process ends, however it ends."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def damaged(error: sqlite3.Error) -> bool:
    """Whether the file itself is at fault, not the disk, the lock or the right to it."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED


def swapped(error: sqlite3.Error) -> bool:
    """Whether the file may have been set aside by somebody else while it was read."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_IOERR


def mend(database: Path) -> None:
    """Set a damaged database aside, under another name and never deleted, so that a new one can begin; says so.

    Raises:
        OSError: it cannot be renamed.
    """
    with locked(database.parent):
        set_aside(database)


def set_aside(database: Path) -> None:
    """The same, for one who has the lock; one that is sound after all stays: somebody else was quicker."""
    if (why := _defect(database)) is None:
        return
    names = (database.with_name(f"{database.name}.damaged-{n}") for n in count(1))
    aside = next(name for name in names if not os.path.lexists(name))
    for suffix in ("-wal", "-shm", "-journal", ""):
        with suppress(FileNotFoundError):
            Path(f"{database}{suffix}").rename(f"{aside}{suffix}")
    lost(database, f"set aside as {aside.name}, a new one was begun", why)


def _defect(database: Path) -> str | None:
    try:
        db = sqlite3.connect(f"{database.absolute().as_uri()}?mode=rw", uri=True, timeout=10)
        try:
            told = str(db.execute("pragma quick_check(1)").fetchone()[0])
        finally:
            db.close()
    except sqlite3.Error as error:
        return str(error) if damaged(error) else None
    return None if told == "ok" else told.splitlines()[0]
