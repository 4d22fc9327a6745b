"""What happens in a turn, in the order it happens: every interface shows these, and nothing else tells it anything.

A turn reports to a `Listen` callback; `stream` turns that into an iterator for interfaces that pull.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from ..tools.findings import Finding


class Event:
    """One thing that happened; what carries a proposal, a verdict or an answer stands with those who make it."""


@dataclass(frozen=True)
class ToolStarted(Event):
    name: str


@dataclass(frozen=True)
class FindingMade(Event):
    id: str
    """`F1`, `F2`, ... as the answer numbers them."""
    finding: Finding


@dataclass(frozen=True)
class Token(Event):
    """The next piece of the answer."""

    text: str
    lines: bool = False
    """Whether its lines stand as they are; else it is Markdown."""


@dataclass(frozen=True)
class Notice(Event):
    """One line about the turn itself, in the person's language: a model that did not answer, words left out."""

    text: str


@dataclass(frozen=True)
class Stands(Event):
    """triage's own answer, told whole; a model that is asked now can only add to it."""

    answer: Any


Listen = Callable[[Event], None]


def ignore(event: Event) -> None:
    """For a turn that nobody watches."""


class Cancelled(Exception):
    """Raised inside a turn, at its next event, after its reader has gone."""


def stream(turn: Callable[[Listen], object]) -> Generator[Event]:
    """The events of `turn(listen)`, which runs in a thread of its own; closing the iterator cancels it.

    Raises:
        Exception: whatever the turn raised, after the events that came before it.
    """
    events: queue.SimpleQueue[Event | BaseException | None] = queue.SimpleQueue()
    gone = threading.Event()

    def listen(event: Event) -> None:
        if gone.is_set():
            raise Cancelled
        events.put(event)

    def work() -> None:
        try:
            turn(listen)
            events.put(None)
        except BaseException as error:
            events.put(error)

    threading.Thread(target=work, name="turn", daemon=True).start()
    try:
        while (event := events.get()) is not None:
            if isinstance(event, BaseException):
                raise event
            yield event
    finally:
        gone.set()
