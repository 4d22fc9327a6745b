"""The text of one config file with places in it, and the limits every reader keeps.

Readers turn a file into `Item`s: flat dotted keys with the text of the value and where it stands. They know
syntax only; what a key means is the business of `keys`.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

from ...findings import TriageError

MAX_BYTES = {"json": 8_000_000, "yaml": 400_000, "shell": 1_000_000, "toml": 1_000_000, "pairs": 400_000,
             "unit": 200_000, "typed": 200_000, "python": 1_000_000, "makefile": 200_000, "notebook": 20_000_000,
             "braces": 1_000_000, "xml": 400_000, "keyed": 100_000, "notes": 100_000}  # fmt: skip
"""Largest file that is parsed, by syntax: a config beyond this is data, and the YAML reader is slow."""
MAX_DEPTH = 100
"""Deepest nesting that is followed."""
MAX_LINES = 20_000
"""Most lines of a YAML file; its reader takes about 0.1 ms a line."""
MAX_ITEMS = 20_000
"""Most values taken from one file; an alias bomb reaches it at once."""


class Refused(TriageError):
    """A file that is not read, with the reason."""


class TooLarge(Refused):
    """A file beyond the size of what people write in its syntax."""


DEFAULT = "default"
"""Style of what a program's option is where nobody sets it."""
CALL = "call"
"""Style of an argument that a program gives a library: it holds whatever a configuration file says of the rest."""
ALIAS = "alias"
"""Style of a name that a launch may write (`b`, or the number of its place) for the option that is its text."""
PRINTED = "log"
"""Style of what a program printed of its settings: true of the run, and no place to change them."""


@dataclass(frozen=True)
class Item:
    """One value of a config file."""

    key: str
    """Dotted key as the file spells it: `optimizer.params.lr`, `learning-rate`, `NCCL_IB_DISABLE`."""
    text: str | None
    """The scalar without quotes; None for null and for a key without a value."""
    style: str
    """yaml, json, toml, python, call, default, flag, switch, override, env, log."""
    start: int
    """Offset of the value in the file; of the key where there is no value."""
    end: int
    """Offset behind the value; equal to `start` where the value is put together from several pieces."""
    quoted: bool = False
    group: int = 0
    """Number of the command in a script; 0 for a file."""
    means: str = ""
    """The variable, where the place decides it whatever the key is: an argument of a call that a library defines."""


@dataclass(frozen=True)
class Source:
    """A file's text with the starts of its lines."""

    name: str
    text: str
    starts: tuple[int, ...]
    joined: tuple[tuple[int, Source], ...] = ()
    """Files that a script reads in, each with the offset from which on it stands for this file's text."""

    def part(self, offset: int) -> tuple[Source, int]:
        """The file that an offset is in, and the offset there."""
        for begin, other in reversed(self.joined):
            if offset >= begin:
                return other, offset - begin
        return self, offset

    def line(self, offset: int) -> int:
        """One-based line of an offset."""
        return bisect_right(self.starts, max(0, offset))

    def column(self, offset: int) -> int:
        """Zero-based character in its line."""
        return offset - self.starts[self.line(offset) - 1]


def short(path: str) -> str:
    """The last part of a path."""
    return path.rpartition("/")[2]


def source(name: str, text: str) -> Source:
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return Source(name, text, tuple(starts))


def load(path: Path, name: str, syntax: str) -> Source:
    """The file as text, bad UTF-8 replaced, line ends kept.

    Raises:
        Refused: unreadable, binary, or larger than `MAX_BYTES`.
    """
    limit = MAX_BYTES[syntax]
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise Refused(f"{name}: cannot be read: {error.strerror or error}") from None
    if len(data) > limit:
        raise TooLarge(f"{name}: larger than {limit / 1_000_000:g} MB; a {syntax} config of that size is not read")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return source(name, data.decode("utf-16", "replace"))
    if b"\0" in data[:8192]:
        raise Refused(f"{name}: binary file, not a {syntax} config")
    return source(name, data.decode("utf-8-sig" if data.startswith(b"\xef\xbb\xbf") else "utf-8", "replace"))
