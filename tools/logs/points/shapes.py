"""Lines of one shape, whatever they say: what a line is without its numbers, and its numbers as columns.

Two lines are of one shape if they differ in their numbers alone. A chunk is put into shapes by a few passes in C, not
line by line. What the columns mean is judged in `mined`.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ...patterns import bounded
from ...reading import ESCAPES, Chunk
from .cells import MANY, Block, Cells, Pile, cells_of
from .layouts import Layouts, Lines

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
ROUNDS = 4
"""Distances between starts, from which on equal ones are told."""
RESTARTS = 10_000
"""Starts of one file that are told apart."""
STARTS = bounded(
    rb"start|launch|initiali|build|run\s?run|loading|usingdevice|device|argument|args|config|namespace|seed|begin|command"
    rb"|torchrun|python|\xe5\xbc\x80\xe5\xa7\x8b|\xe5\x90\xaf\xe5\x8a\xa8|runrun",
    re.IGNORECASE,
)
"""What a line says with which a program starts (blanks are gone; the bytes are two Chinese words for it)."""

_SPELLED = re.compile(rb"(?<![\w.])(?:nan|inf(?:inity)?)(?!\w)", re.IGNORECASE)
_LETTER = re.compile(rb"[A-Za-z\x80-\xff]")
_WORD = re.compile(rb"[A-Za-z\x80-\xff]{3,200}")
BAR = bounded(rb"%\|[^|\n]{0,400}\|")
_EMPTY = re.compile(rb"\r++(?=\n)|(?<![^\r\n])\r+")
"""Returns that end no text: before a line end, and behind it or another."""
_NOISE = (
    r"(?:\d{4}[-/]\d\d[-/]\d\d(?:[ T_]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)?"  # a date
    r"|(?<![\d-])(?:0\d|1[0-2])-[0-3]\d[ T_]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)"  # without its year
    r"|\d{2,4}年\d{1,2}月\d{1,2}日(?:\s?\d{1,2}时\d{1,2}分(?:\d{1,2}秒)?)?"
    r"|\d{1,2}/\d{1,2}/\d{4}|\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?"  # another, an address
    r"|\d{1,6}(?::\d\d){1,3}(?:[.,]\d{1,9})?(?![\d.])"  # a clock
    r"|(?=\d{0,40}[a-f]\d{0,40}[a-f])[\da-f]{7,64}(?![\w.])"  # a digest
    r"|\d{1,7}\s[\w./-]{1,60}\.(?:cc|cpp|cu|py|go|rs):\d{1,6}\]"  # a process and a place in its program
)
"""Numbers that are no measure."""
_NUMBER = (
    r"[-+]?(?:\d{1,3}(?:,\d{3}){1,6}(?![\d,])(?:\.\d{1,25})?|\d{1,25}(?:\.\d{0,25})?|\.\d{1,25})(?:[eE][-+]?\d{1,4})?"
    r"|[-+]?(?:nan|inf(?:inity)?)(?=\s?(?:$|[,;|)\]}%▏▎│┃·•，；、）】]))|(?<=\s\s)[-+]?(?:nan|inf)(?=\s)"
    r"|(?<=[\w|]\s)[-+]?(?:nan|inf)(?=\s(?:\|\s|\w{1,24}\s?[:=]?\s?(?:[-+]?\d|nan\b|inf\b)))"
    r"|(?:(?<=[:=：])|(?<=[:=：]\s))[-+]?(?:nan|inf(?:inity)?)(?!\w)"
)
_GLUED = "|".join(f"(?<=(?<![\\w.@-]){word})" for word in ("epoch", "step", "iter", "ep", "it", "e", "b", "u"))
"""Short words to which people glue a count: `ep1 b0007 u8`."""
TOKEN = re.compile(
    r"(?:(?<![A-Za-z0-9_.])(?<![A-Za-z][-@])|(?<=\brank)|(?<=\bdefault)"
    rf"|(?=\d)(?<=[beprtuh])(?:{_GLUED})(?!\d{{4}}\s\d\d:)(?=\d{{1,12}}(?:[\s,;:|/\])]|$)))(?:{_NOISE}|{_NUMBER})",
    re.IGNORECASE,
)
NOISE, ANY_NOISE = re.compile(rf"(?:{_NOISE})\Z", re.IGNORECASE), re.compile(_NOISE, re.IGNORECASE)


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
    """Which cell of a line each number is; empty where a number is no cell (`1,024`)."""
    width: int
    """Cells of a line."""
    words: tuple[bytes, ...] = ()
    """How the numbers without digits in `text` are spelled (`nan`, `Infinity`), the longest first."""
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

    def take(self, lines: Lines, parts: Sequence[np.ndarray], numbers: np.ndarray) -> Group | None:
        """Read the numbers of some lines; what was read, where all fitted.

        Args:
            lines: of a chunk.
            parts: which of them, those of one layout together.
            numbers: of all of them.
        """
        at = np.sort(np.concatenate(parts))
        try:
            cells, columns = self._columns(lines, parts)
        except ValueError:
            rows = [(i, row) for i in at.tolist() if (row := self._one(lines[i]))]
            read = [np.array(values) for values in zip(*(row for _, row in rows), strict=True)]
            self._keep(numbers[np.array([i for i, _ in rows], int)], read)
            return None
        self._keep(numbers[at], columns)
        return Group(self, at, cells, columns)

    def _columns(self, lines: Lines, parts: Sequence[np.ndarray]) -> tuple[tuple[Cells, ...], list[np.ndarray]]:
        """The cells, and the columns in the order of the lines."""
        if not self.cells:
            raise ValueError("a number that is no cell")
        alike = [part for part in parts if len(part) >= MANY]
        rest = [part for part in parts if len(part) < MANY]
        how = self.width, self.cells, self.words
        cells: list[Cells] = [Block(lines.block(part), *how) for part in alike]
        cells += [Pile(lines.of(np.concatenate(rest)), *how)] if rest else []
        columns = [np.concatenate(columns) for columns in zip(*(c.columns for c in cells), strict=True)]
        order = np.argsort(np.concatenate(alike + rest), kind="stable")
        return tuple(cells), [column[order] for column in columns]

    def _keep(self, numbers: np.ndarray, columns: Sequence[np.ndarray]) -> None:
        for column, values in zip(self.columns, columns, strict=False):
            column.frombytes(values.astype(float, copy=False).view(np.uint8).data)
        self.numbers.frombytes(numbers.astype(np.int64, copy=False).view(np.uint8).data)

    def _one(self, line: bytes) -> list[float] | None:
        found = [t for t in TOKEN.findall(line.decode("utf-8", "replace")) if not NOISE.match(t)]
        return [float(t.replace(",", "")) for t in found] if len(found) == len(self.columns) else None


@dataclass(frozen=True)
class Group:
    """The lines of one shape in one chunk, read all at once."""

    shape: Shape
    at: np.ndarray
    """Which lines of the chunk."""
    cells: tuple[Cells, ...]
    columns: list[np.ndarray]


@dataclass(frozen=True)
class Seen:
    """What one chunk holds."""

    lines: Lines
    numbers: np.ndarray
    """Of each line."""
    groups: dict[bytes, Group]


def _evenly(starts: Sequence[int]) -> bool:
    """Whether so many places lie as far apart as each other that one program prints them in turn: a round, no start."""
    gaps = [b - a for a, b in pairwise(starts)]
    return len(gaps) >= ROUNDS and gaps.count(max(set(gaps), key=gaps.count)) * 5 >= len(gaps) * 4


class Opening:
    """The first lines of a file, and where they come again: each time a program starts that prints them."""

    def __init__(self) -> None:
        self.places: dict[bytes, list[int]] = {}
        self.begun = False

    def begin(self, lines: Lines) -> None:
        """Take the first lines that say something."""
        if not self.begun:
            self.begun = True
            keys = [line.translate(None, NUMBERS) for line in lines.of(range(min(len(lines), 4 * OPENING)))]
            told = [key for key in keys if len(key) <= LONGEST and len(_WORD.findall(key)) >= TELLING]
            self.places = {key: [] for key in [*dict.fromkeys(told)][:OPENING]}

    def add(self, key: bytes, numbers: np.ndarray, parts: Sequence[np.ndarray]) -> None:
        places = self.places[key]
        if room := RESTARTS - len(places):
            places += numbers[np.sort(np.concatenate(parts))[:room]].tolist()

    def starts(self, before: int) -> tuple[int, ...]:
        """Lines at which the opening comes again, of which only lines above `before` count: the first metric.

        Two lines or less that come again are a start only if they say so: a loop may print them too.
        """
        opening = [(places[0], key) for key, places in self.places.items() if places and places[0] < before]
        if not opening:
            return ()
        opening.sort()
        if anew := next(filter(None, (self._over_again(key, opening) for _, key in opening[:3])), None):
            return anew
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
        return () if _evenly(found) else tuple(found)

    def _over_again(self, lead: bytes, opening: Sequence[tuple[int, bytes]]) -> tuple[int, ...]:
        """The starts of a program whose first ones got less far than the opening goes: each has a line of the lead, if
        that says so. As many of that line each time, before others follow, are one program's own."""
        places, end = self.places[lead], opening[-1][0]
        if len(places) < 2 or not places[1] <= end < places[-1] or not STARTS.search(lead):
            return ()
        further = sorted(n for first, key in opening if first > places[1] for n in self.places[key])
        rounds = Counter(bisect_left(further, line) for line in places)
        return tuple(places[1:]) if len({*rounds.values()}) > 1 else ()

    def _within(self, key: bytes, line: int, reach: int) -> bool:
        places = self.places[key]
        at = bisect_left(places, line)
        return at < len(places) and places[at] <= line + reach


@dataclass(frozen=True)
class Plain:
    """The lines of a chunk without escape sequences, redrawn ones apart."""

    lines: Lines
    """With bars of no length, so that those of one program are alike."""
    layouts: Layouts
    """By shape."""
    numbers: np.ndarray
    """Of each line; the pieces of a redrawn one have the same."""
    whole: Lines
    """The same with their bars."""


class Shapes:
    """The shapes of one file."""

    def __init__(self) -> None:
        self.known: dict[bytes, Shape | None] = {}
        """By what is left of a line without numbers; None for a shape that is not followed."""
        self.once: dict[bytes, tuple[int, bytes, Sequence[bytes]]] = {}
        """Number and text of the only line of a shape, and the lines above it."""
        self.size = 0
        self.opening = Opening()

    def look(self, chunk: Plain) -> Seen:
        """Read the next chunk."""
        here = chunk.numbers
        seen = Seen(chunk.whole, here, {})
        self.opening.begin(chunk.lines)
        known, opening = self.known, self.opening.places
        for key, layout in chunk.layouts.by.items():
            if key in opening:
                self.opening.add(key, here, [*map(chunk.layouts.lines, chunk.layouts.like(layout))])
            if known.get(key, 0) is None:
                continue
            if key in known or len(known) < SHAPES:
                group = self._group(key, layout, chunk)
                if group and len(group.at) >= TOGETHER:
                    seen.groups[key] = group
        if self.size > CELLS:
            self._thin()
        return seen

    def _group(self, key: bytes, layout: int, chunk: Plain) -> Group | None:
        lines, layouts = chunk.lines, chunk.layouts
        which = layouts.like(layout) if key else [i for i in layouts.like(layout) if layouts.texts[i].strip()]
        if not which:
            return None
        shape, before = self.known.get(key), self.once.pop(key, None)
        if shape is None:
            first, line = layouts.firsts[which[0]], layouts.texts[which[0]]
            if before is None and len(which) == layouts.ends[which[0]] - layouts.begins[which[0]] == 1:
                self._remember(key, int(chunk.numbers[first]), lines, first, line)
                return None
            _, text, above = before or (0, line, lines.of(range(max(0, first - HEADS), first)))
            shape = self.known[key] = _shape(text, _head_above(above))
            if shape is None:
                return None
            if before:
                shape.take(Lines(before[1] + b"\n"), [np.array([0])], np.array([before[0]]))
        old = shape.size()
        group = shape.take(lines, [*map(layouts.lines, which)], chunk.numbers)
        self.size += shape.size() - old
        if len(shape.numbers) >= TRIAL and not shape.changes():
            self.size -= shape.size()
            self.known[key] = None
        return group

    def _remember(self, key: bytes, number: int, lines: Lines, at: int, line: bytes) -> None:
        if len(self.once) >= ONCE:
            self.once.clear()
        if len(line) <= LONGEST:
            bare = not _LETTER.search(key)  # numbers alone may have a head
            above = lines.of(range(max(0, at - HEADS), at)) if bare else ()
            self.once[key] = (number, line, tuple(line for line in above if len(line) <= LONGEST) if bare else ())

    def _thin(self) -> None:
        for shape in self.known.values():
            if shape is not None and len(shape.numbers) > 10_000:
                shape.thin()
        self.size = sum(shape.size() for shape in self.known.values() if shape is not None)

    def repeated(self, least: int) -> list[Shape]:
        """The shapes of at least so many lines, in the order in which they began."""
        return [s for s in self.known.values() if s is not None and len(s.numbers) * s.every >= least]

    def lone(self) -> Iterator[Shape]:
        """Shapes of one line in which a number is none (`inf`): the first bad step, which is written like no other."""
        for number, line, above in self.once.values():
            if _SPELLED.search(line) and (shape := _shape(line, _head_above(above))):
                shape.take(Lines(line + b"\n"), [np.array([0])], np.array([number]))
                yield shape


def _ended(data: bytes) -> bytes:
    return data if data.endswith(b"\n") else data + b"\n"


def plain(chunk: Chunk) -> Plain:
    """A chunk made ready to be looked at; what of that takes long is done here."""
    data, numbers = _ended(chunk.data), None
    if b"\x1b" in data:
        data = ESCAPES.sub(b"", data)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    if b"\r" in data:
        data = _EMPTY.sub(b"", data)
        text = np.frombuffer(data, np.uint8)
        over = text[(text == 10) | (text == 13)] == 10
        numbers = chunk.first_line + np.cumsum(over) - over
        data = data.replace(b"\r", b"\n")
    whole = lines = Lines(data)
    if b"%" in data and b"%|" in data:  # the second search alone takes far longer
        lines = Lines(BAR.sub(b"%||", data))
    if numbers is None:
        numbers = np.arange(chunk.first_line, chunk.first_line + len(lines))
    return Plain(lines, lines.without(NUMBERS), numbers, whole)


def _head_above(lines: Sequence[bytes]) -> str:
    """The nearest line above that has letters and no number: the head of the columns."""
    for line in reversed(lines):
        text = line.decode("utf-8", "replace")
        if len(text) <= LONGEST and re.search(r"[^\W\d_]", text):
            return "" if TOKEN.search(text) else text
    return ""


def _shape(line: bytes, above: str) -> Shape | None:
    """The shape of a line, None where it has no number."""
    text = line.decode("utf-8", "replace")
    spans = [m.span() for m in TOKEN.finditer(text) if not NOISE.match(m[0])] if len(line) <= LONGEST else []
    if not 0 < len(spans) <= WIDEST:
        return None
    words = tuple(sorted({*_SPELLED.findall(line)}, key=lambda word: (-len(word), word)))
    cells = {m.span(): i for i, m in enumerate(cells_of(line, words))}
    places = [(len(text[:a].encode()), len(text[:b].encode())) for a, b in spans]
    whole = all(place in cells for place in places)
    columns = [array("d") for _ in spans]
    return Shape(text, above, spans, [cells[p] for p in places] if whole else [], len(cells), words, columns=columns)
