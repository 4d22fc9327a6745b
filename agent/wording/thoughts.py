"""What a reasoning model thinks aloud is no part of its answer."""

from __future__ import annotations

from collections.abc import Iterator


class Thoughts:
    """Takes `<think>...</think>` out of a stream; thoughts that never end are never shown."""

    OPEN, CLOSE = "<think>", "</think>"

    def __init__(self):
        self._buffer, self._inside = "", False

    def feed(self, text: str) -> str:
        self._buffer += text
        return "".join(self._pieces())

    def _pieces(self) -> Iterator[str]:
        while True:
            mark = self.CLOSE if self._inside else self.OPEN
            before, found, after = self._buffer.partition(mark)
            if not found:
                break
            if not self._inside:
                yield before
            self._buffer, self._inside = after, not self._inside
        held = next((n for n in range(len(mark) - 1, 0, -1) if self._buffer.endswith(mark[:n])), 0)
        ready, self._buffer = self._buffer[: len(self._buffer) - held], self._buffer[len(self._buffer) - held :]
        if not self._inside:
            yield ready

    def close(self) -> str:
        rest, self._buffer = self._buffer, ""
        return "" if self._inside else rest
