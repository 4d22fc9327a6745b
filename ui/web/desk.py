"""Who may see what: owners, their uploads and their cases.

An owner is a signed-in user or one browser. Uploads live in a folder per owner and go when the owner's last tab has
been closed for a while, or the server stops. No path is opened that is neither an upload of the owner nor under the
roots. Whoever did not say who they are owns nothing: the terminal's cases have no owner and are in nobody's list.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ...agent.casebook import Case, Casebook
from ...agent.evidence import Look
from ...tools.findings import TriageError, clean
from ..roots import Roots
from .line import Turn
from .talk import Talk

FILES_LIMIT = 2_000
"""Most files of one upload, and most that wait to be attached."""
BYTES_LIMIT = 512 << 20
"""Most bytes that one owner's uploads hold together, those under way and those never attached too."""
SERVER_LIMIT = 8 << 30
"""Most bytes of all uploads of one server: a temporary folder is often small."""
LEAST = 4096
"""Bytes that a file counts at least: it takes a block of the disk."""
KEPT = 900.0
"""Seconds that uploads outlive the last tab, so that reloading the page keeps them, or wait to be attached."""
BROWSERS_KEPT = 50
"""Browsers of one owner that may upload; the one that opened its page longest ago goes first."""
LOOKS_KEPT = 16
"""Runs whose series stay in memory, for plots and log lines."""
TURNS = (64, 512)
"""Most turns under way, of one owner and of the server: each holds two threads, watched or not."""
TALKS_KEPT = 128
"""Tabs whose conversation survives that they are loaded again."""
RUNS_SHOWN = 200
"""Most paths offered from the roots."""


@dataclass
class _Owner:
    folder: Path
    tabs: set[str] = field(default_factory=set)
    left: float = 0.0
    """When the last tab was closed, monotonic seconds."""
    held: int = 0
    """Bytes of what is under way, waits and was attached."""
    under_way: int = 0
    """Uploads that have begun and not ended."""
    sent: dict[Path, int] = field(default_factory=dict)
    """Files received and not yet attached, with what each counts."""
    browsers: dict[str, None] = field(default_factory=dict)


class TooMuch(TriageError):
    """An upload that does not fit."""


class Desk:
    """All owners of one server.

    Args:
        home: the data directory, as `casebook.home` gives it.
        roots: folders that may be read by path.
        scratch: an empty folder for uploads; the caller removes it.
        kept: seconds that uploads outlive the owner's last tab.
    """

    def __init__(self, home: Path, roots: Roots, scratch: Path, kept: float = KEPT):
        self.home, self.roots, self.scratch, self.kept = home, roots, scratch.resolve(), kept
        self.book = Casebook(home)
        self.workers = threading.BoundedSemaphore(os.cpu_count() or 2)
        """Held while a question is worked on: more at once would only make each slower."""
        self._looks: deque[Look] = deque(maxlen=LOOKS_KEPT)
        self._owners: dict[str, _Owner] = {}
        self._turns: list[tuple[str, Turn]] = []
        self._talks: dict[tuple[str, str], Talk] = {}
        """(owner, tab) -> what it shows, the last opened last."""
        self._browsers: dict[str, str] = {}
        """Browser -> owner."""
        self._sent: set[Path] = set()
        """Where files were received; others may have sent the same, and share it."""
        self._held = 0
        self._lock = threading.Lock()

    # People -----------------------------------------------------------------------------------------

    @staticmethod
    def owner(user: str | None, browser: str) -> str:
        """The name under which cases are kept: never the browser's own secret."""
        return f"user:{user}" if user else "browser:" + hashlib.sha256(browser.encode()).hexdigest()[:24]

    @staticmethod
    def known(owner: str) -> None:
        """Refuse nobody: a page that has not begun.

        Raises:
            TriageError: there is no owner.
        """
        if not owner:
            raise TriageError("the page has not begun: load it again")

    def enter(self, owner: str, tab: str, browser: str = "") -> None:
        """A tab of the owner is open, in this browser."""
        with self._lock:
            person = self._of(owner)
            person.tabs.add(tab)
            if browser:
                before = self._owners.get(self._browsers.get(browser, ""))
                for one in (person, before or person):
                    one.browsers.pop(browser, None)
                self._browsers[browser], person.browsers[browser] = owner, None
                while len(person.browsers) > BROWSERS_KEPT:
                    oldest = next(iter(person.browsers))
                    del person.browsers[oldest], self._browsers[oldest]

    def talk(self, owner: str, tab: str) -> Talk | None:
        """What a tab of this owner showed before it was loaded again."""
        with self._lock:
            return self._talks.get((owner, tab)) if owner and tab else None

    def keep(self, talk: Talk, tab: str) -> None:
        """Remember what the tab shows, for when it is loaded again."""
        with self._lock:
            if talk.owner and tab:
                self._talks.pop((talk.owner, tab), None)
                self._talks[talk.owner, tab] = talk
                while len(self._talks) > TALKS_KEPT:
                    del self._talks[next(iter(self._talks))]

    def room(self, owner: str) -> bool:
        """Whether one more turn may begin for this owner."""
        with self._lock:
            self._turns = [(whose, turn) for whose, turn in self._turns if not turn.ended]
            mine = sum(whose == owner for whose, _ in self._turns)
            return mine < TURNS[0] and len(self._turns) < TURNS[1]

    def begun(self, owner: str, turn: Turn) -> None:
        with self._lock:
            self._turns.append((owner, turn))

    def leave(self, tab: str) -> None:
        """A tab was closed."""
        with self._lock:
            for person in self._owners.values():
                if tab in person.tabs:
                    person.tabs.discard(tab)
                    person.left = time.monotonic()
        self.sweep()

    def sweep(self) -> None:
        """Remove the uploads of everyone who has been away for long enough."""
        now = time.monotonic()
        with self._lock:
            away = [o for o, p in self._owners.items() if not (p.tabs or p.under_way) and now - p.left >= self.kept]
            gone = [self._owners.pop(o) for o in away]
            for key in [key for key in self._talks if key[0] in away]:
                del self._talks[key]
            for person in gone:
                self._held -= person.held
                for browser in person.browsers:
                    del self._browsers[browser]
            for path in list(self._sent):
                self._forget(path)
        for person in gone:
            shutil.rmtree(person.folder, ignore_errors=True)

    def _forget(self, path: Path) -> None:
        """Remove a received file that nobody has sent again for a while; with the lock held."""
        with suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime < self.kept:
                return
            path.unlink()
        self._sent.discard(path)
        for person in self._owners.values():
            self._charge(person, -person.sent.pop(path, 0))

    def _of(self, owner: str) -> _Owner:
        """With the lock held."""
        self.known(owner)
        if owner not in self._owners:
            folder = self.scratch / secrets.token_hex(16)
            folder.mkdir(mode=0o700, parents=True)
            self._owners[owner] = _Owner(folder, left=time.monotonic())
        return self._owners[owner]

    # Uploads ----------------------------------------------------------------------------------------

    def _charge(self, person: _Owner, size: int) -> None:
        """Count bytes, or with a negative size forget them; with the lock held.

        Raises:
            TooMuch: they do not fit.
        """
        for held, limit, whose in ((person.held, BYTES_LIMIT, "one person"), (self._held, SERVER_LIMIT, "this server")):
            if size > 0 and held + size > limit:
                raise TooMuch(
                    f"over the limit of {limit / 1e6:.0f} MB for the uploads of {whose}: upload the logs and configs "
                    "only, or name a path on the server"
                )
        person.held += size
        self._held += size

    def begin(self, browser: str) -> str:
        """An upload begins; whose it is. `received` ends it.

        Raises:
            TriageError: no page has begun in this browser.
        """
        with self._lock:
            owner = self._browsers.get(browser, "")
            self._of(owner).under_way += 1
        return owner

    def hold(self, owner: str, size: int) -> None:
        """Count bytes of an upload under way.

        Raises:
            TooMuch: they do not fit, or too many files wait to be attached.
        """
        with self._lock:
            person = self._of(owner)
            if len(person.sent) >= FILES_LIMIT:
                raise TooMuch(f"over the limit of {FILES_LIMIT} files that wait to be attached")
            self._charge(person, size)

    def received(self, owner: str, held: int, paths: Sequence[Path]) -> None:
        """An upload has ended: its files count in place of the bytes that were held for it."""
        with self._lock:
            person = self._of(owner)
            person.under_way -= 1
            self._charge(person, -held)
            for path in paths:
                size = max(LEAST, path.stat().st_size) - person.sent.get(path, 0)
                self._sent.add(path)
                person.sent[path] = person.sent.get(path, 0) + size
                person.held += size
                self._held += size

    def take(self, owner: str, files: Sequence[tuple[Path, str]]) -> list[Path]:
        """Put an upload into the owner's folder: one file, or one run of several files.

        Args:
            owner: as `owner` gives it.
            files: where each file is now, and its name, `/` separated within an uploaded folder.

        Returns:
            The path of the run: a file, or the folder that holds the files.

        Raises:
            TriageError: a file that this owner did not send; too many files or bytes, all of them are then removed; or
                nobody knows whose they are.
        """
        with self._lock:
            person = self._of(owner)
            for path, name in files:
                if path not in person.sent:
                    raise TriageError(f"{clean(name, 100)}: not an uploaded file; upload it again")
            sizes = [max(LEAST, path.stat().st_size) for path, _ in files]
            for path in {path for path, _ in files}:
                self._charge(person, -person.sent.pop(path))
            try:
                if len(files) > FILES_LIMIT:
                    raise TooMuch(f"the upload has {len(files)} files; over the limit of {FILES_LIMIT} files")
                self._charge(person, sum(sizes))
            except TooMuch:
                for path in {path for path, _ in files}:
                    if not any(path in other.sent for other in self._owners.values()):
                        path.unlink(missing_ok=True)
                raise
        place = person.folder / secrets.token_hex(4)
        for path, name in files:
            _link(path, place, _parts(name))
        inside = sorted(place.iterdir()) if files else []
        return inside if len(inside) == 1 else [place] if inside else []

    # Paths ------------------------------------------------------------------------------------------

    def allowed(self, owner: str, path: Path) -> bool:
        """Whether the path exists and may be read for this owner: an upload of theirs, or under the roots."""
        try:
            real = path.resolve(strict=True)
        except (OSError, RuntimeError):
            return False
        with self._lock:
            person = self._owners.get(owner)
        mine = person is not None and real.is_relative_to(person.folder)
        return mine or (bool(owner) and any(real.is_relative_to(folder) for folder in self.roots.folders))

    def shown(self, path: Path) -> str:
        """A path as the owner knows it: the name of an upload, or the path from its root on."""
        if not path.is_relative_to(self.scratch):
            root = next((folder for folder in self.roots.folders if path.is_relative_to(folder)), Path("/"))
            return clean(str(path.relative_to(root.parent)), 300)
        parts = path.relative_to(self.scratch).parts[1:]
        return clean("/".join(parts[1:]) or f"upload-{parts[0]}" if parts else path.name, 300)

    def offered(self) -> list[str]:
        """Folders directly under the roots, newest first: what a person would name as a run."""
        found = [(when, str(path)) for folder in self.roots.folders for path, when in _folders(folder)]
        return [path for _, path in sorted(found, reverse=True)[:RUNS_SHOWN]]

    def remember(self, seen: Look | None) -> Callable[[], Look | None]:
        """What the tools saw, to be asked for again: the server keeps the last `LOOKS_KEPT`, a tab keeps none."""
        if seen is None:
            return lambda: None
        if not any(known is seen for known in self._looks):
            self._looks.append(seen)
        return weakref.ref(seen)

    # Cases ------------------------------------------------------------------------------------------

    def cases(self, owner: str, words: str = "") -> list[Case]:
        return self.book.cases(100, owner, words[:200]) if owner else []

    def case(self, owner: str, id: str) -> Case | None:
        """The case, if it is the owner's."""
        try:
            found = self.book.get(id)
        except TriageError:
            return None
        return found if owner and found.owner == owner else None


def _parts(name: str) -> list[str]:
    """The safe parts of an uploaded file's name: nothing that leaves the folder, no control characters."""
    parts = [p for p in PurePosixPath(name.replace("\\", "/")).parts if p not in ("/", "..", ".")]
    return ["".join(c if c.isprintable() else "_" for c in p)[-150:] for p in parts[-8:]] or ["file"]


def _link(path: Path, place: Path, parts: list[str]) -> None:
    """The file under a name of its own in `place`; it stays where it is, for it may have been sent twice."""
    target, count = place.joinpath(*parts), 1
    while target.exists():
        target = place.joinpath(str(count := count + 1), *parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(path, target)
    except OSError:
        shutil.copyfile(path, target)


def _folders(root: Path) -> Iterator[tuple[Path, float]]:
    try:
        with os.scandir(root) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                    yield Path(entry.path), entry.stat().st_mtime
    except OSError:
        return
