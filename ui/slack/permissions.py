"""Who may ask, where, and which folders may be read there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..roots import Roots
from .inbox import Request

EVERYWHERE = ""
DIRECT = "dm"
"""In place of a channel: direct messages and the assistant pane."""


@dataclass(frozen=True)
class Permissions:
    """Empty sets allow every channel the app was invited to, and every member of its own workspace."""

    channels: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()
    roots: Mapping[str, Roots] = ()  # pyright: ignore[reportAssignmentType]
    """Channel id, `dm` or empty for everywhere -> folders."""

    @classmethod
    def given(cls, channels: Iterable[str], users: Iterable[str], roots: Iterable[str]) -> Permissions:
        """From the command line: a root is `PATH` for everywhere, `C0123=PATH` for a channel, `dm=PATH`.

        Raises:
            TriageError: a folder does not exist.
        """
        folders: dict[str, list[Path]] = {}
        for text in roots:
            place, equals, path = text.partition("=")
            named = bool(equals) and "/" not in place
            folders.setdefault(place if named else EVERYWHERE, []).append(Path(path if named else text))
        return cls(frozenset(channels), frozenset(users), {place: Roots(f) for place, f in folders.items()})

    def allows(self, request: Request, team: str) -> bool:
        """Whether the person may ask here; somebody of another workspace must be named."""
        if self.users and request.user not in self.users:
            return False
        if request.team and request.team != team and request.user not in self.users:
            return False
        return request.direct or not self.channels or request.channel in self.channels

    def folders(self, request: Request) -> Roots:
        """The folders that may be read in answer to a request."""
        places = (DIRECT if request.direct else request.channel, EVERYWHERE)
        return Roots([folder for place in places if place in self.roots for folder in self.roots[place].folders])
