"""How a signal stops a command: as one exception, so that every `finally` runs."""

from __future__ import annotations

import signal
import time
from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
DEAF = 10.0
"""Seconds after a stopping signal in which further ones are not heard, so that nothing stays half cleaned up."""


class Stopped(BaseException):
    """A signal asks to stop. No KeyboardInterrupt, which Typer would turn into a silent status of its own."""


class Stop:
    """The handler of Ctrl-C, SIGTERM and a closed terminal."""

    heard = 0.0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if not self.heard or time.monotonic() - self.heard > DEAF:
            self.heard = time.monotonic()
            raise Stopped
