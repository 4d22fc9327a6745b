"""When the changes of a diff came into force: a patch has no step, the line that tells of its merging has one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from ..documents.event import Event

SHORTEST = 5
"""Letters of a file's name from which on to write it is to mean it."""


def placed(events: Sequence[Event]) -> tuple[Event, ...]:
    """The events, those of a file that a stepped or dated line names at that line's place."""
    told = [e for e in events if e.step is not None or e.at is not None]
    named: dict[str, Event | None] = {}

    def place(event: Event) -> Event:
        if event.file not in named:
            name = PurePath(event.file).name
            named[event.file] = next((t for t in told if len(name) >= SHORTEST and t.file != event.file
                                      and name in t.text), None)  # fmt: skip
        found = named[event.file]
        return event if found is None else replace(event, step=found.step, at=found.at)

    return tuple(e if e.step is not None or e.at is not None else place(e) for e in events)
