"""Turns that go on whoever watches: a reload joins them again, and what is asked meanwhile waits in line.

A turn is a generator whose frames say whether the panels changed. Nothing is known here of what it does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

LONGEST = 5
"""Most questions that wait behind the one being answered: more is a mistake, or somebody else's server."""
Frames = Iterator[bool]


@dataclass(frozen=True)
class Waiting:
    """What is asked next."""

    label: str
    """As it is shown while it waits."""
    begin: Callable[[], Frames]


class Turn:
    """One thread that works through what it was given and through its line."""

    def __init__(self, first: Frames, line: list[Waiting] | None = None):
        self._line, self._stopped, self.over = list(line or ()), False, False
        self._frames = self._panels = 0
        """How many there were so far, and how many of them changed the panels."""
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, args=(first,), name="web turn", daemon=True)
        self._thread.start()

    @property
    def labels(self) -> list[str]:
        """What waits, in order."""
        with self._changed:
            return [one.label for one in self._line]

    def add(self, waiting: Waiting) -> bool | None:
        """Put it in line. False when the line is full, None when the turn is over and there is no line."""
        with self._changed:
            if self.over or self._stopped:
                return None
            if len(self._line) >= LONGEST:
                return False
            self._line.append(waiting)
            return True

    def stop(self) -> list[Waiting]:
        """Work on no further frame; what waited in line is given back."""
        with self._changed:
            self._stopped, rest, self._line = True, self._line, []
            self.over = True
            self._changed.notify_all()
        return rest

    def watch(self) -> Frames:
        """A frame now and whenever something is new, until all is done; several may watch."""
        frames = panels = 0
        while True:
            with self._changed:
                self._changed.wait_for(lambda seen=frames: self.over or self._frames > seen)
                frames, before, panels, over = self._frames, panels, self._panels, self.over
            yield panels > before
            if over:
                return

    @property
    def ended(self) -> bool:
        """Whether its thread has ended too: one that was stopped goes on until its next frame."""
        return not self._thread.is_alive()

    def join(self, timeout: float | None = None) -> None:
        self._thread.join(timeout)

    def _work(self, frames: Frames | None) -> None:
        try:
            while frames is not None:
                for panels in frames:
                    if not self._tell(panels):
                        return
                frames = self._next()
        finally:
            with self._changed:
                self.over = True
                self._changed.notify_all()

    def _tell(self, panels: bool) -> bool:
        """Whether to go on."""
        with self._changed:
            self._frames += 1
            self._panels += panels
            self._changed.notify_all()
            return not self._stopped

    def _next(self) -> Frames | None:
        """What comes next; where nothing does, nothing can be put in line any more."""
        with self._changed:
            if self._stopped or not self._line:
                self.over = True
                return None
            return self._line.pop(0).begin()
