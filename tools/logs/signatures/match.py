"""Error signatures in the text of a log: the table, a fast first pass over chunks, and the proof on the line itself.

A hit is a place in one file. Which hit is the cause and which the echo is decided in `causes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache

from ...findings import Code
from ...patterns import bounded, words_of
from ...reading import Chunk, split_prefix, unwrapped
from ...registry import table
from . import gpu, ranks, software
from .signature import CHECK, Signature

TABLE: tuple[Signature, ...] = (*gpu.ROWS, *ranks.ROWS, *software.ROWS)
table("error signatures", ((f"{row.code} {row.pattern}", row) for row in TABLE))

CODES = {row.code: Code((CHECK,), row.en) for row in reversed(TABLE)}

FIRST_HITS = 3
"""Hits of one row kept from the start of a file; the last one is kept too, the others are counted."""
PROOFS = 2_000
"""Candidates of one row that are checked on their line in one file; later ones are not looked at."""
AROUND = 600
"""Bytes on either side of a candidate that count as its line when the line is longer."""
ABOVE = 16 << 10
"""Bytes above a hit that are kept with it, for the codes of which the traceback says more than the error."""
WITH_TRACEBACK = ("cuda-oom",)
SMALL = 256 << 10
"""Bytes up to which compiling the hyperscan database (0.35 s for this table) costs more than plain
`re` (1.3 us a byte)."""

SOURCE_CODE = re.compile(
    r"^\s*(?:#(?!\d)|//|/\*|\*\s|raise\b|except\b|if\b|elif\b|else\b|return\b|assert\b|print\(|def |class |import "
    r"|from \S+ import|with |try:|for |while |self\.|logg(?:er|ing)\.|warnings\.|echo |export |parser\."
    r"|\"\"\"|'''|>>> |[-+]{3} |@@|\w+\s*=\s)"
)
"""Program text: tracebacks and some trainers print it, and it talks about failures that did not happen."""
COMMENT = re.compile(r"^\s*#\s")
"""A comment line of a program; looked at before `split_prefix`, which cuts the mark off pasted logs."""
QUOTED = bounded(r"""^\s*(?:[\[{]\s*)*["'](?!level|severity)[^"']{0,60}["']?\s*[:,]|^\s*["']""")
"""A record of data (a model's answer, a prompt) that quotes an error."""
TALK = bounded(
    r"(?i)\breceived request\b|\bprompts?: ?['\"]|\bif you (?:see|get|encounter|run into|hit)\b|\bto avoid\b"
    r"|\bfor example\b|\be\.g\.|^\s*\[Error\]"
)
"""Advice, answers and logged requests that mention an error."""


@dataclass(frozen=True)
class Hit:
    """One proven match."""

    row: int
    """Index in `TABLE`."""
    line: int
    rank: int | None
    text: str
    above: str = ""
    """What stands above the line, whole lines, where `WITH_TRACEBACK` asks for it."""

    @property
    def signature(self) -> Signature:
        return TABLE[self.row]


@dataclass
class Hits:
    """The hits of one row in one file: the first few, the last, and how many."""

    first: list[Hit] = field(default_factory=list)
    last: Hit | None = None
    count: int = 0
    candidates: int = 0

    def add(self, hit: Hit) -> None:
        self.count += 1
        self.last = hit
        if len(self.first) < FIRST_HITS:
            self.first.append(hit)


class Matcher:
    """Scans one file, chunk by chunk."""

    def __init__(self, size: int | None = None):
        """`size` of the file in bytes chooses the way of the first pass; unknown means large."""
        self._find = _finder(size)
        self._found: dict[int, Hits] = {}
        self._commented: bool | None = None

    def look(self, chunk: Chunk) -> None:
        """Scan the next chunk: whole lines, see `tools.reading.iter_chunks`."""
        if self._commented is None:
            self._commented = _is_commented(chunk.data)
        for row, spot, number in _numbered(chunk, self._find(chunk.data)):
            hits = self._found.setdefault(row, Hits())
            hits.candidates += 1
            if hits.candidates > PROOFS or (hits.last is not None and hits.last.line == number):
                continue
            hit = prove(row, _line_at(chunk.data, spot), number, self._commented)
            if hit is not None:
                hits.add(replace(hit, above=_above(chunk.data, spot)) if hit.signature.code in WITH_TRACEBACK else hit)

    def hits(self) -> dict[int, Hits]:
        """Row index -> its hits, only rows that were hit."""
        return {row: hits for row, hits in self._found.items() if hits.count}


def prove(row: int, line: str, number: int = 0, commented: bool = False) -> Hit | None:
    """The hit, if the line really shows the signature and is neither program text, nor data, nor advice."""
    hits = (_proved(row, text, number, commented) for text in unwrapped(line))
    return next((hit for hit in hits if hit is not None), None)


def _proved(row: int, line: str, number: int, commented: bool) -> Hit | None:
    if not commented and COMMENT.match(line):
        return None
    rank, text = split_prefix(line)
    signature = TABLE[row]
    match = bounded(signature.pattern).search(text)
    if match is None or SOURCE_CODE.match(text) or QUOTED.match(text):
        return None
    if TALK.search(text[: match.start() + 1]) or (signature.must_not and bounded(signature.must_not).search(text)):
        return None
    return Hit(row, number, rank, text)


def _is_commented(data: bytes) -> bool:
    """Whether a whole log was pasted as comments (`# ` before most lines)."""
    lines = [line for line in data[: 64 << 10].split(b"\n") if line.strip()]
    return len(lines) >= 3 and sum(line.lstrip().startswith(b"#") for line in lines) > 0.5 * len(lines)


def _numbered(chunk: Chunk, spots: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Row, offset, line number of candidates, each line of a row once, in the order of the file."""
    at, number = 0, chunk.first_line
    seen: dict[int, int] = {}
    for spot, row in sorted((spot, row) for row, spot in spots):
        number += chunk.data.count(b"\n", at, spot)
        at = spot
        if seen.get(row) != number:
            seen[row] = number
            yield row, spot, number


def _line_at(data: bytes, spot: int) -> str:
    """The line (or the `\\r` piece) that holds the last matched byte, at most `AROUND` bytes to either side."""
    low, high = max(0, spot - AROUND), min(len(data), spot + AROUND)
    starts = [data.rfind(cut, low, spot) for cut in (b"\n", b"\r")]
    ends = [end for cut in (b"\n", b"\r") if (end := data.find(cut, spot, high)) >= 0]
    piece = data[max(low, max(starts) + 1) : min(ends, default=high)]
    return _ANSI.sub("", piece.decode("utf-8", "replace"))


def _above(data: bytes, spot: int) -> str:
    """The whole lines above the one that holds the offset, `ABOVE` bytes at most, as far as the chunk has them."""
    end = max(0, data.rfind(b"\n", 0, spot))
    start = data.find(b"\n", end - ABOVE) + 1 if end > ABOVE else 0
    return _ANSI.sub("", data[start:end].decode("utf-8", "replace"))


_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])")

Find = Callable[[bytes], Iterable[tuple[int, int]]]
"""Data -> (row, offset of the last matched byte)."""


def _finder(size: int | None) -> Find:
    if size is not None and size <= SMALL:
        return find_plain
    try:
        return _hyperscan_finder()
    except ImportError:
        return find_plain


def find_plain(data: bytes) -> Iterator[tuple[int, int]]:
    """First pass with `re`, for small files and where hyperscan is not installed."""
    for row in range(len(TABLE)):
        words = _words(row)
        if words and not any(word in data for word in words):
            continue
        for match in _byte_pattern(row).finditer(data):
            yield row, max(match.start(), match.end() - 1)


@cache
def _byte_pattern(row: int) -> re.Pattern[bytes]:
    return bounded(_unanchored(TABLE[row].pattern))


@cache
def _words(row: int) -> tuple[bytes, ...]:
    """Words of which every match of the row holds one; empty if that cannot be told.

    Compiling all rows takes longer than all the rest of a small scan: a row whose words are absent is not compiled.
    """
    pattern = TABLE[row].pattern
    return () if "(?i" in pattern else tuple(word.encode() for word in words_of(pattern, 3))


def _unanchored(pattern: str) -> bytes:
    """The pattern without `^` and `$`: a chunk has prefixes and carriage returns, the proof sees the bare line."""
    return re.sub(r"(?<![\\\[])\^|(?<!\\)\$", "", pattern).encode()


@cache
def _hyperscan_finder() -> Find:
    """First pass with hyperscan. Anchors are left to the proof on the line.

    Raises:
        ImportError: hyperscan is not installed.
    """
    import hyperscan

    database = hyperscan.Database()
    patterns = [_unanchored(row.pattern) for row in TABLE]
    database.compile(expressions=patterns, ids=list(range(len(patterns))), elements=len(patterns), flags=0)

    def find(data: bytes) -> Iterable[tuple[int, int]]:
        spots: list[tuple[int, int]] = []
        last = [-AROUND] * len(patterns)

        def keep(row: int, start: int, end: int, flags: int, context: object) -> None:
            if end - last[row] > 8 or b"\n" in data[last[row] : end]:  # every possible end of one match is reported
                last[row] = end
                spots.append((row, end - 1))

        # A scratch of its own: one database in several threads needs one each.
        database.scan(data, match_event_handler=keep, scratch=hyperscan.Scratch(database))
        return spots

    return find
