"""A record of training data, and the parts and blocks in which records travel; reading them is for `blocks`.

Line numbers are relative to the part, and made absolute by `Lines` once the parts before are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...findings import RECORDS_READ, Check, Report

BLOCK_BYTES = 1 << 20
"""About how much raw data one block of records holds."""
BLOCK_RECORDS = 1024
MAX_RECORD = 64 << 20
"""A record longer than this many bytes is reported as broken and skipped."""
UNREAD_ACCEPTED = 0.01
"""Above this share of records that could not be read, nothing is said of the data as a whole; our choice."""


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
    shut: str = ""
    """Why the file or folder could not be opened."""


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


class Account:
    """What was read of some data, and what was not: whether "nothing found" may be said of it."""

    def __init__(self) -> None:
        self.files = self.records = self.unread = 0
        self.ended: list[tuple[str, str]] = []
        """(file or folder, why) of all that could not be read to its end."""

    def add(self, name: str, records: int, broken: Sequence[Broken], unread: int | None = None) -> None:
        """A part of a file: `broken` may be the first of `unread` and all that end the file."""
        self.files += 1
        self.records += records
        self.unread += len(broken) if unread is None else unread
        self.ended += [(name, b.why) for b in broken if b.ends_file]

    def on(self, report: Report, of: str = "", accepted: float = UNREAD_ACCEPTED) -> Report:
        """The report with the check `records read`; nothing is clear where nothing was read.

        `of` names data that the first is compared with.
        """
        if not self.files:
            return report
        checks = report.checks
        if not (self.records or of):
            checks = tuple(replace(c, result="not-applicable") if c.result == "clear" else c for c in checks)
        summary = report.summary if of else {**report.summary, "unread": self.unread}
        return replace(report, checks=(*checks, *self._checks(of, accepted)), summary=summary)

    def _checks(self, of: str, accepted: float) -> tuple[Check, ...]:
        total, name = self.records + self.unread, f"{RECORDS_READ} of the {of}" if of else RECORDS_READ
        why = f"{self.unread} of {total} records could not be read" if total else "no record"
        if self.ended:
            why += f"; not read to the end: {', '.join(dict.fromkeys(name for name, _ in self.ended[:5]))}"
        if self.unread > len(self.ended):
            why += "; `triage data check` locates them"
        read = self.records and not self.ended and self.unread <= accepted * total
        if read and not self.unread:
            return ()
        ended = (Check(f"read {name}", "failed", why, "文件无法继续读取") for name, why in self.ended)
        return (Check(name, "clear" if read else "failed", why), *ended)
