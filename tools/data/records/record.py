"""A record of training data, and the parts and blocks in which records travel; reading them is for `blocks`.

Line numbers are relative to the part, and made absolute by `Lines` once the parts before are counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ...findings import Check

BLOCK_BYTES = 1 << 20
"""About how much raw data one block of records holds."""
BLOCK_RECORDS = 1024
MAX_RECORD = 64 << 20
"""A record longer than this many bytes is reported as broken and skipped."""


@dataclass(frozen=True)
class Record:
    """One parsed record."""

    value: Any
    """Parsed JSON, a row as a dict, or a line of text."""
    line: int
    """One-based line or row, relative to the part."""
    byte: int | None = None
    """Absolute offset of the first byte in the (decompressed) file; unknown for columnar formats."""
    recoded: bool = False
    """The bytes were not valid UTF-8 and were replaced."""


@dataclass(frozen=True)
class Broken:
    """One record that could not be parsed."""

    line: int
    byte: int | None
    why: str
    ends_file: bool = False
    """Nothing after this place could be read."""


@dataclass
class Block:
    """A run of consecutive records of one part."""

    records: list[Record] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    lines: int = 0
    """Lines or rows consumed by this block."""


@dataclass(frozen=True)
class Part:
    """A piece of one file that can be read on its own."""

    number: int
    path: str
    name: str
    """What evidence cites."""
    format: str
    start: int = 0
    """First byte (line files) or first row group (parquet)."""
    end: int = -1
    """Byte or row group after the last; -1: to the end."""
    size: int = 0
    """Bytes on disk, for progress."""


class Lines:
    """Absolute line numbers, once the parts before have been counted (`add` in order)."""

    def __init__(self) -> None:
        self._before: dict[int, int] = {}
        self._total: dict[str, int] = {}

    def add(self, part: Part, lines: int) -> None:
        self._before[part.number] = self._total.get(part.path, 0)
        self._total[part.path] = self._before[part.number] + lines

    def absolute(self, part: Part, line: int) -> int:
        return self._before.get(part.number, 0) + line


def unread(parts: Iterable[Part], broken: dict[int, list[Broken]]) -> tuple[Check, ...]:
    """A failed check for every file that ends early, so that it is never taken for a clean one."""
    return tuple(
        Check(f"read {part.name}", "failed", b.why, "文件无法继续读取")
        for part in parts
        for b in broken.get(part.number, ())
        if b.ends_file
    )
