"""What ends a stream of the model that has no end of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler

MOST_CHARACTERS = 60_000
"""Of everything that a model says in one turn, its thoughts included."""


class Endless(Exception):
    """A model says more than any answer is long."""


class Watch(BaseCallbackHandler):
    """Ends a model call from inside, at its next token: when the turn is late or long, or nobody listens any more."""

    raise_error = True

    def __init__(self, seconds: float, beat: Callable[[], object]):
        self._end, self._stopped, self._beat, self._size = time.monotonic() + seconds, threading.Event(), beat, 0

    @property
    def late(self) -> bool:
        return time.monotonic() > self._end

    @property
    def long(self) -> bool:
        return self._size > MOST_CHARACTERS

    def stop(self) -> None:
        self._stopped.set()

    def on_llm_new_token(self, token: Any, **kwargs: Any) -> None:
        self._size += len(str(token)) + 1
        if self.late or self._stopped.is_set():
            raise TimeoutError("the turn is over")
        if self.long:
            raise Endless(f"over the limit of {MOST_CHARACTERS} characters")
        self._beat()
