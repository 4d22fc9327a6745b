"""What an interface may read when somebody else names the path: everything outside its folders does not exist for it.

The command line needs none of this (the person is on the machine); web, Slack and MCP do.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from contextlib import suppress
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from ..tools.findings import TriageError, clean
from ..tools.patterns import bounded

ENTRIES = 500
"""Of a folder, looked through for one of a name."""
_PATH = bounded(r"/?(?:[\w.~@+=-]+/)+[\w.@+=-]*|[\w@+=-][\w.@+=-]*\.[A-Za-z]\w*")
_NAME = bounded(r"(?a)(?<![\w./@+=-])(?=[A-Za-z]*[\d_-])[\w@+=-]{3,80}(?![\w/@+=-]|\.\w)")
"""A word that is no plain word: of a folder's name, as `run-1` or `exp42`."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Addresses at which nobody else is; for any other, a server asks who is there."""


def listening(host: str, port: int) -> None:
    """Try the address for a moment, before anything heavy is loaded.

    Raises:
        TriageError: another program listens there, or the address is not of this machine.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in found[:1]:
            with socket.socket(family, kind, protocol) as one:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                one.bind(address)
    except OSError as error:
        why = error.strerror or error
        raise TriageError(f"cannot listen on {host}:{port} ({why}); choose another --host or --port") from None


def installed(module: str) -> bool:
    """Whether an optional part is there, without loading it."""
    try:
        return find_spec(module) is not None
    except ValueError:
        return False


class Roots:
    """Allowed folders.

    Raises:
        TriageError: a folder does not exist.
    """

    def __init__(self, folders: Iterable[Path]):
        self.folders = tuple(map(_existing, folders))

    def path(self, text: str) -> Path:
        """The absolute path, links followed; a relative one is looked for under each folder in turn.

        A path outside is refused in the same words whether it exists or not.

        Raises:
            TriageError: the path, or what it links to, is outside every folder.
        """
        given = text.strip()
        if "\0" not in given and len(given) < 4096:
            inside = [p for p in (self._resolved(folder, given) for folder in self.folders) if p]
            if inside:
                return next((p for p in inside if p.exists()), inside[0])
        allowed = ", ".join(map(str, self.folders)) or "none"
        raise TriageError(f"{clean(given, 200)!r} is outside the allowed folders ({allowed}); name a path inside one")

    def named(self, said: str) -> list[str]:
        """The paths inside an allowed folder that the first line of a message names, as it writes them; a folder that
        lies directly in one may be named by a word alone."""
        line, found = next(iter(said.splitlines()), ""), list[str]()
        words = [(match[0], Path.is_dir) for match in _NAME.finditer(line)]
        for text, there in [*((match[0], Path.exists) for match in _PATH.finditer(line)), *words]:
            name = text.rstrip(".")
            with suppress(TriageError):
                if ".." not in Path(name).parts and name not in found and there(self.path(name)):
                    found.append(name)
        return found

    def called(self, name: str) -> list[Path]:
        """The folders of this name below an allowed folder or one folder deeper; links that lead out are none."""
        found: list[Path] = []
        for folder in self.folders:
            with suppress(OSError):
                beside = [p.name for p in islice(folder.iterdir(), ENTRIES) if p.is_dir()]
                tried = [self._resolved(folder, f"{above}{name}") for above in ("", *(f"{b}/" for b in beside))]
                found += [p for p in tried if p and p.is_dir() and p not in self.folders]
        return list(dict.fromkeys(found))

    @staticmethod
    def _resolved(folder: Path, given: str) -> Path | None:
        try:
            path = (folder / given).resolve()
        except (OSError, RuntimeError):
            return None
        return path if path.is_relative_to(folder) else None


def _existing(folder: Path) -> Path:
    try:
        path = folder.expanduser().resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise TriageError(f"{folder}: the allowed folder cannot be opened ({error}); name another") from None
    if not path.is_dir():
        raise TriageError(f"{folder}: an allowed folder must be a directory")
    return path
