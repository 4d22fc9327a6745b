"""Lines of one shape, whatever they say: what a line is without its numbers, and its numbers as columns.

Two lines are of one shape if they differ in their numbers alone. A chunk is put into shapes by a few passes in C, not
line by line. What the columns mean is judged in `mined`.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...patterns import bounded
from ...reading import Chunk

NUMBERS = b"0123456789. \t"
"""What a shape leaves out: the bytes of numbers and the blanks that make room for them."""
SHAPES = 2_048
"""Shapes followed in one file; text that never repeats must not fill the memory."""
ONCE = 8_192
"""Shapes seen in one line so far that are remembered; then they are forgotten together."""
CELLS = 6_000_000
"""Numbers kept of one file (8 bytes each); past it every second line of each shape goes."""
WIDEST, LONGEST = 40, 2_000
"""Most numbers, and most bytes, of a line whose numbers are looked at."""
HEADS = 3
"""Lines above the first of a shape of which one may be the head of its columns."""
TOGETHER = 16
"""Lines of one shape in a chunk from which on they are read together."""
TRIAL = 64
"""Lines after which a shape whose numbers never change is dropped."""

OPENING = 12
"""Different lines at the beginning of a file by which its program is known again."""
TELLING = 1
"""Words of three letters that such a line has at least."""
RESTARTS = 10_000
"""Starts of one file that are told apart."""
STARTS = bounded(
    rb"start|launch|initiali|run\s?run|loading|usingdevice|device|argument|args|config|namespace|seed|begin|command"
    rb"|torchrun|python|\xe5\xbc\x80\xe5\xa7\x8b|\xe5\x90\xaf\xe5\x8a\xa8|runrun",
    re.IGNORECASE,
)
"""What a line says with which a program starts (blanks are gone; the bytes are two Chinese words for it)."""

_LETTER = re.compile(rb"[A-Za-z\x80-\xff]")
_WORD = re.compile(rb"[A-Za-z\x80-\xff]{3,200}")
_BAR = bounded(rb"%\|[^|\n]{0,400}\|")
_ANSI = bounded(rb"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_NOISE = (
    r"\d{4}[-/]\d\d[-/]\d\d(?:[ T_]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)?"  # a date
    r"|\d{1,2}/\d{1,2}/\d{4}|\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?"  # another, an address
    r"|\d{1,6}(?::\d\d){1,3}(?:[.,]\d{1,9})?(?![\d.])"  # a clock
)
"""Numbers that are no measure."""
_NUMBER = (
    r"[-+]?(?:\d{1,3}(?:,\d{3}){1,6}(?![\d,])(?:\.\d{1,25})?|\d{1,25}(?:\.\d{0,25})?|\.\d{1,25})(?:[eE][-+]?\d{1,4})?"
    r"|[-+]?(?:nan|inf(?:inity)?)(?=\s?(?:$|[,;|)\]}%]))|(?<=[:=])\s?[-+]?(?:nan|inf(?:inity)?)(?!\w)"
)
TOKEN = re.compile(rf"(?:(?<![\w.])(?<![A-Za-z][-@])|(?<=\brank)|(?<=\bdefault))(?:{_NOISE}|{_NUMBER})", re.IGNORECASE)
NOISE, ANY_NOISE = re.compile(rf"(?:{_NOISE})\Z"), re.compile(_NOISE)
_END = b"\x01"
_CELLS = bytes(c if chr(c) in "0123456789.+-eE\x01" else 32 for c in range(256))
"""Everything that cannot belong to a number becomes a blank: a line is cut into cells without a search."""


@dataclass
class Shape:
    """The lines of one shape so far."""

    text: str
    """The first of them."""
    above: str
    """The last line with letters and without a number that stands above it."""
    spans: list[tuple[int, int]]
    """Where the numbers stand in `text`, dates, clocks and addresses left out."""
    cells: list[int]
    """Which cell of a line each number is; empty where a number is no cell (`nan`)."""
    width: int
    """Cells of a line."""
    numbers: array = field(default_factory=lambda: array("q"))
    """Line numbers."""
    columns: list[array] = field(default_factory=list)
    """The numbers of each line."""
    every: int = 1
    """Of how many lines one is kept."""

    def size(self) -> int:
        return len(self.numbers) * (len(self.columns) + 1)

    def changes(self) -> bool:
        return any(len(set(column[-TRIAL:])) > 1 for column in self.columns)

    def thin(self) -> None:
        self.every *= 2
        self.numbers = self.numbers[::2]
        self.columns = [column[::2] for column in self.columns]

    def take(self, lines: Sequence[bytes], numbers: Sequence[int]) -> tuple[list[bytes], list[np.ndarray]]:
        """Read the numbers of these lines.

        Returns:
            The cells, where all at once fitted, with an end behind each line; the columns.
        """
        step = self.width + 1
        found = (b" " + _END + b" ").join(lines).translate(_CELLS).split() if self.cells else []
        try:
            if len(found) != len(lines) * step - 1 or set(found[self.width :: step]) - {_END}:
                raise ValueError
            read = [_floats(found[cell::step]) for cell in self.cells]
        except ValueError:
            rows = [(n, row) for n, line in zip(numbers, lines, strict=True) if (row := self._one(line))]
            numbers, found = [n for n, _ in rows], []
            read = [np.array(values) for values in zip(*(row for _, row in rows), strict=True)]
        for column, values in zip(self.columns, read, strict=False):
            column.frombytes(values.tobytes())
        self.numbers.extend(numbers)
        return found, read

    def _one(self, line: bytes) -> list[float] | None:
        found = [t for t in TOKEN.findall(line.decode("utf-8", "replace")) if not NOISE.match(t)]
        return [float(t.replace(",", "")) for t in found] if len(found) == len(self.columns) else None


@dataclass(frozen=True)
class Group:
    """The lines of one shape in one chunk, read all at once."""

    shape: Shape
    at: list[int]
    """Which lines of the chunk."""
    cells: list[bytes]
    columns: list[np.ndarray]


@dataclass(frozen=True)
class Seen:
    """What one chunk holds."""

    lines: list[bytes]
    groups: dict[bytes, Group]


class Opening:
    """The first lines of a file, and where they come again: each time a program starts that prints them."""

    def __init__(self) -> None:
        self.places: dict[bytes, list[int]] = {}
        self.begun = False

    def begin(self, keys: Sequence[bytes]) -> None:
        """Take the first lines that say something."""
        if not self.begun:
            self.begun = True
            told = [key for key in keys[: 4 * OPENING] if len(key) <= LONGEST and len(_WORD.findall(key)) >= TELLING]
            self.places = {key: [] for key in [*dict.fromkeys(told)][:OPENING]}

    def add(self, key: bytes, first: int, at: Sequence[int], numbers: Sequence[int] | None) -> None:
        places = self.places[key]
        places += (first + i if numbers is None else numbers[i] for i in at[: RESTARTS - len(places)])

    def starts(self, before: int) -> tuple[int, ...]:
        """Lines at which the opening comes again, of which only lines above `before` count: the first metric.

        Two lines or less that come again are a start only if they say so: a loop may print them too.
        """
        opening = [(places[0], key) for key, places in self.places.items() if places and places[0] < before]
        if not opening:
            return ()
        opening.sort()
        first, end = opening[0][0], opening[-1][0]
        lead = [key for _, key in opening[:3]]
        reach, found = 2 * (end - first) + OPENING, list[int]()
        if len(opening) < 3 and not any(STARTS.search(key) for _, key in opening):
            return ()
        for line in sorted({n for _, key in opening for n in self.places[key] if n > end}):
            if found and line <= found[-1] + (end - first):
                continue
            again = sum(self._within(key, line, reach) for _, key in opening)
            led = sum(self._within(key, line, OPENING) for key in lead)
            if again > len(opening) / 2 and led > len(lead) / 2:
                found.append(line)
        return tuple(found)

    def _within(self, key: bytes, line: int, reach: int) -> bool:
        places = self.places[key]
        at = bisect_left(places, line)
        return at < len(places) and places[at] <= line + reach


class Shapes:
    """The shapes of one file."""

    def __init__(self) -> None:
        self.known: dict[bytes, Shape | None] = {}
        """By what is left of a line without numbers; None for a shape that is not followed."""
        self.once: dict[bytes, tuple[int, bytes, list[bytes]]] = {}
        """Number and text of the only line of a shape, and the lines above it."""
        self.size = 0
        self.opening = Opening()

    def look(self, chunk: Chunk) -> Seen | None:
        """Read the next chunk; None where its lines are not those of the file: redrawn, or with escape sequences."""
        data, numbers = _plain(chunk)
        lines = data.split(b"\n")
        whole = numbers is None and b"\x1b" not in chunk.data
        seen = (
            Seen(chunk.data.removesuffix(b"\n").split(b"\n") if b"%|" in chunk.data else lines, {}) if whole else None
        )
        keys = data.translate(None, NUMBERS).split(b"\n")
        self.opening.begin(keys)
        known, opening = self.known, self.opening.places
        for key, at in _groups(keys):
            if key in opening:
                self.opening.add(key, chunk.first_line, at, numbers)
            if known.get(key, 0) is None:
                continue
            if key in known or len(known) < SHAPES:
                here = range(chunk.first_line, chunk.first_line + len(lines)) if numbers is None else numbers
                group = self._group(key, at, lines, here)
                if group and seen and len(at) >= TOGETHER:
                    seen.groups[key] = group
        if self.size > CELLS:
            self._thin()
        return seen

    def _group(self, key: bytes, at: list[int], lines: list[bytes], numbers: Sequence[int]) -> Group | None:
        at = at if key else [i for i in at if lines[i].strip()]
        shape, before = self.known.get(key), self.once.pop(key, None)
        if shape is None:
            if len(at) + (before is not None) < 2:
                if at and len(key) <= LONGEST:
                    self._remember(key, numbers[at[0]], lines, at[0])
                return None
            _, text, above = before or (0, lines[at[0]], lines[max(0, at[0] - HEADS) : at[0]])
            shape = _shape(text, _head_above(above))
            if shape is None:
                self.known[key] = None
                return None
            self.known[key] = shape
            if before:
                shape.take([before[1]], [before[0]])
        old = shape.size()
        cells, columns = shape.take([lines[i] for i in at], [numbers[i] for i in at])
        self.size += shape.size() - old
        group = Group(shape, at, cells, columns) if cells else None
        if len(shape.numbers) >= TRIAL and not shape.changes():
            self.size -= shape.size()
            self.known[key] = None
        return group

    def _remember(self, key: bytes, number: int, lines: list[bytes], at: int) -> None:
        if len(self.once) >= ONCE:
            self.once.clear()
        if len(lines[at]) <= LONGEST:
            bare = not _LETTER.search(key)  # numbers alone may have a head
            above = [line for line in lines[max(0, at - HEADS) : at] if len(line) <= LONGEST] if bare else []
            self.once[key] = (number, lines[at], above)

    def _thin(self) -> None:
        for shape in self.known.values():
            if shape is not None and len(shape.numbers) > 10_000:
                shape.thin()
        self.size = sum(shape.size() for shape in self.known.values() if shape is not None)

    def repeated(self, least: int) -> list[Shape]:
        """The shapes of at least so many lines, in the order in which they began."""
        return [s for s in self.known.values() if s is not None and len(s.numbers) * s.every >= least]


def _floats(cells: list[bytes]) -> np.ndarray:
    """The cells as numbers: as JSON, which takes half as long as one by one, where it knows their form.

    Raises:
        ValueError: one is no number.
    """
    import orjson

    try:
        return np.array(orjson.loads(b"[" + b",".join(cells) + b"]"), float)
    except orjson.JSONDecodeError:
        return np.array([*map(float, cells)])


class _Numbered(dict[bytes, int]):
    """A number for each key, in the order in which they are asked for."""

    def __missing__(self, key: bytes) -> int:
        self[key] = number = len(self)
        return number


def _groups(keys: list[bytes]) -> Iterator[tuple[bytes, list[int]]]:
    """Each key with the places at which it stands, in the order of the first ones."""
    numbered = _Numbered()
    ids = np.fromiter(map(numbered.__getitem__, keys), np.int64, len(keys))
    order = np.argsort(ids, kind="stable").tolist()
    ends = np.cumsum(np.bincount(ids)).tolist()
    for key, begin, end in zip(numbered, [0, *ends], ends, strict=False):
        yield key, order[begin:end]


def _plain(chunk: Chunk) -> tuple[bytes, list[int] | None]:
    """The chunk without bars and escape sequences, redrawn lines apart; the line numbers, where those repeat."""
    data = chunk.data.removesuffix(b"\n")
    if b"\x1b" in data:
        data = _ANSI.sub(b"", data)
    if b"%|" in data:
        data = _BAR.sub(b"%||", data)
    if b"\r" not in data:
        return data, None
    data = data.replace(b"\r\n", b"\n")
    if b"\r" not in data:
        return data, None
    numbers = [
        number for number, line in enumerate(data.split(b"\n"), chunk.first_line) for _ in range(line.count(b"\r") + 1)
    ]
    return data.replace(b"\r", b"\n"), numbers


def _head_above(lines: Sequence[bytes]) -> str:
    """The nearest line above that has letters and no number: the head of the columns."""
    for line in reversed(lines):
        text = line.decode("utf-8", "replace")
        if len(text) <= LONGEST and re.search(r"[^\W\d_]", text):
            return "" if TOKEN.search(text) else text
    return ""


def cells_of(line: bytes) -> Iterator[re.Match[bytes]]:
    """What of a line could be numbers, in order."""
    return re.finditer(rb"\S+", line.translate(_CELLS))


def _shape(line: bytes, above: str) -> Shape | None:
    """The shape of a line, None where it has no number."""
    text = line.decode("utf-8", "replace")
    spans = [m.span() for m in TOKEN.finditer(text) if not NOISE.match(m[0])] if len(line) <= LONGEST else []
    if not 0 < len(spans) <= WIDEST:
        return None
    cells = {m.span(): i for i, m in enumerate(cells_of(line))}
    places = [(len(text[:a].encode()), len(text[:b].encode())) for a, b in spans]
    whole = all(place in cells for place in places)
    columns = [array("d") for _ in spans]
    return Shape(text, above, spans, [cells[p] for p in places] if whole else [], len(cells), columns=columns)
