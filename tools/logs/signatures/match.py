"""Error signatures in the text of a log: the table, a fast first pass over chunks, and the proof on the line itself.

A hit is a place in one file. Which hit is the cause and which the echo is decided in `causes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain

from ...findings import Code
from ...patterns import bounded, words_of
from ...reading import Chunk, split_prefix, unwrapped
from ...registry import table
from . import checks, engines, gpu, joining, loading, misfits, programs, ranks, refused, software
from .signature import CHECK, Signature

TABLE: tuple[Signature, ...] = (
    *gpu.ROWS, *ranks.ROWS, *programs.ROWS, *refused.ROWS, *misfits.ROWS, *software.ROWS,
    *joining.ROWS, *engines.ROWS, *checks.ROWS, *loading.ROWS,
)  # fmt: skip
table("error signatures", ((f"{row.code} {row.pattern}", row) for row in TABLE))

CODES = {row.code: Code((CHECK,), row.en) for row in reversed(TABLE)}

RECORD = 160
"""Characters at most that a record says before its message."""
FIRST_HITS = 3
"""Hits of one row kept from the start of a file; the last one is kept too, the others are counted."""
PROOFS = 2_000
"""Candidates of one row that are checked on their line in one file; later ones are not looked at."""
AROUND = 600
"""Bytes on either side of a candidate that count as its line when the line is longer."""
ABOVE = 16 << 10
"""Bytes above a hit that are kept with it: the traceback says more than the error."""
LEAD = 64 << 10
"""Bytes back from a hit in which the beginning of its line is looked for: a dump of arguments can be that long."""
OPENS = 200
"""Bytes of that beginning that are looked at."""
SMALL = 512 << 10
"""Bytes up to which compiling the hyperscan database (0.85 s for this table) costs more than plain `re` (0.3 to 1.4 us
a byte, of 34 logs of 0.25 to 4 MB)."""

SOURCE_CODE = re.compile(
    r"^\s*(?:#(?!\d)|//|/\*|\*\s|raise\b|except\b|if\b|elif\b|else\b|return\b|assert\b|print\(|def |class |import "
    r"|from \S+ import|with |try:|for |while |self\.|logg(?:er|ing)\.|warnings\.|echo |export |parser\."
    r"|\"\"\"|'''|>>> |[-+]{3} |@@|\w+\s*=\s)"
)
"""Program text: tracebacks and some trainers print it, and it talks about failures that did not happen."""
PROGRAM = re.compile(
    rb"[ \t]{0,80}(?:def \w{1,80}\(|class \w{1,80}[:(]|return\b|import \w|from \S{1,80} import |self\.\w|@\w"
    rb"|super\(\)|# |(?:el)?if .{1,200}:$|else:$|for .{1,100} in .{1,100}:$|with .{1,200}:$|raise \w{1,80}\("
    rb"|[\w, .\[\]]{1,80} = .{0,200}(?:\w\(|\w\.[a-z]\w{0,40}$))"
)
"""A line that is a program's beyond doubt."""
BESIDE, PRINTED = 6, 5
"""Lines above and below a hit that are looked at, and those of them that are a program's where one was printed."""
COMMENT = re.compile(r"^\s*#\s")
"""A comment line of a program; looked at before `split_prefix`, which cuts the mark off pasted logs."""
QUOTED = bounded(r"""^\s*(?:[\[{]\s*)*["'](?!level|severity)[^"']{0,60}["']?\s*[:,]|^\s*["']""")
"""A record of data (a model's answer, a prompt) that quotes an error."""
TALK = bounded(
    r"(?i)\breceived request\b|\bprompts?: ?['\"]|\bif you (?:see|get|encounter|run into|hit)\b|\bto avoid\b"
    r"|\bfor example\b|\be\.g\.|(?-i:^\s*\[Error\](?!\[))"
    r"|\bnon-default args:|\bNamespace\(|\b\w{0,30}(?:Arguments|Args)\(|\bargs?(?:uments)? ?[:=] ?\{"
    r"|^\s*(?:user|human|assistant|prompt|question|answer) ?[:>]|chat[_-]template['\"]? ?[:=] ?['\"{]|\{%"
    r"|\bengine\b.{0,40} with config:"
)
"""Advice, answers, logged requests, dumps of arguments and templates that mention an error."""
DEBUGGER = bounded(r"^\s*(?:warning: )?\d{1,6}\s{1,8}\S{1,200}: No such file or directory\.?$")
"""A debugger that does not find the source of a frame."""
ABSOLVED = bounded(
    r"(?i)\baccepting this\b|\bfall(?:s|ing)? ?back (?:to|on)\b|\bfallback to\b|\b(?:will be|is|are) ignored\b"
    r"|\bignoring\b|\b(?:is|are|was|be|been) disabled because\b|\bproceeding without\b"
    r"|\bcontinuing (?:without|anyway)\b|\bskipping (?:it|this)\b"
    r"|\b(?:un|not )(?:supported|available|installed)\b[^.;\n]{0,30}[,;:(]\s?(?:so )?(?:using|defaulting to)\b"
    r"|\busing [\w./ -]{1,40} instead\b"
)
"""A line that says itself that the program goes on without what failed, or what it uses instead."""
WARNS = bounded(r"\b(?:User|Future|Deprecation|Runtime|Resource|Import)Warning: ")
"""A warning of Python: the program goes on."""
LEVEL = bounded(
    r"^[\[(]?\d{2,4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d[^A-Za-z]{0,16}"
    r"(?:[\w.]{1,60}[\s:|\]-]{1,6}){0,3}\[?WARNING\]?\s{0,8}[:|\]-]"
)
"""A dated record that the program's own logging gives the level of a warning: it caught what failed, and goes on."""
NOTED = bounded(r"(?:^|[\s\[(|])(?:INFO|DEBUG)(?:$|[\s\])|:])")
"""The level of a note, in what a record says before its message."""
KEYS = bounded(r"(?i)\b(?:missing|unexpected)[ _]keys?(?:\(s\))?|not initialized from|缺失的?键|多余的?键")
NAMES = bounded(r"[\"'`]([A-Za-z_][\w.]{2,160})[\"'`]")
DERIVED = bounded(
    r"(?i)(?:^|\.)(?:(?:\w{1,24}_)?inv_freq|cos_cached|sin_cached|freqs_cis|rotary_emb\.\w{1,24}|position_ids|token_type_ids"
    r"|masked_bias|causal_mask|attn_mask|attn\.bias|attention\.bias|num_batches_tracked|_extra_state)$"
)
"""Names of buffers that a program makes anew from its configuration, and of states that hold nothing learned."""
ENOUGH = 6
"""Names of a cut line from which on the rest is taken to be of their kind. Own judgement."""
BAR = bounded(r"\d\s?(?:\w{1,12}/s|s/\w{1,12})(?:,[^\]]{0,300})?\]|\?\s?it/s\]")
"""The end of a progress bar, which writes no line end: what is said next stands behind it."""


@dataclass(frozen=True)
class Hit:
    """One proven match."""

    row: int
    """Index in `TABLE`."""
    line: int
    rank: int | None
    text: str
    above: str = ""
    """What stands above the line, whole lines."""
    absolved: str = ""
    """Why it is no failure by its own line: it says that the program goes on, or names what nobody has to load."""
    warns: bool = False
    """Its line is a warning, see `WARNS`."""
    noted: bool = False
    """Its line is a record of the level of a note."""

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
    undone: int = 0
    """The last line that takes it back, see `Signature.undone`."""

    above: Callable[[], str] | None = None
    """Gives what stands above the last hit while its chunk is there."""

    def add(self, hit: Hit, above: Callable[[], str] | None = None) -> None:
        self.count += 1
        if len(self.first) < FIRST_HITS:
            hit = replace(hit, above=above()) if above else hit
            self.first.append(hit)
            above = None
        self.last, self.above = hit, above

    def settle(self) -> None:
        """Keep what stands above the last hit: its chunk is about to go."""
        if self.last is not None and self.above is not None:
            self.last, self.above = replace(self.last, above=self.above()), None


class Matcher:
    """Scans one file, chunk by chunk."""

    def __init__(self, size: int | None = None, words: tuple[bytes, ...] = ()):
        """`size` of the file in bytes chooses the way of the first pass; unknown means large.

        `words` are looked for in the same pass.
        """
        self._find, self._words = _finder(size, words), words
        self.heard: set[bytes] = set()
        """The words that the last chunk holds."""
        self._found: dict[int, Hits] = {}
        self._commented: bool | None = None

    def look(self, chunk: Chunk) -> None:
        """Scan the next chunk: whole lines, see `tools.reading.iter_chunks`."""
        if self._commented is None:
            self._commented = _is_commented(chunk.data)
        spots = [*self._find(chunk.data)]
        self.heard = {self._words[row - len(TABLE)] for row, _ in spots if row >= len(TABLE)}
        for row, spot, number in _numbered(chunk, (spot for spot in spots if spot[0] < len(TABLE))):
            hits = self._found.setdefault(row, Hits())
            hits.candidates += 1
            if hits.candidates > PROOFS or (hits.last is not None and hits.last.line == number):
                continue
            hit = prove(row, _line_at(chunk.data, spot), number, self._commented, _opens(chunk.data, spot))
            if hit is not None and not _in_program(chunk.data, spot):
                hits.add(hit, lambda spot=spot: _above(chunk.data, spot))
        for row, hits in self._found.items():
            hits.undone = max(hits.undone, _undone(row, chunk))
            hits.settle()

    def hits(self) -> dict[int, Hits]:
        """Row index -> its hits, only rows that were hit."""
        return {row: hits for row, hits in self._found.items() if hits.count}


def prove(row: int, line: str, number: int = 0, commented: bool = False, opens: str = "") -> Hit | None:
    """The hit, if the line really shows the signature and is neither program text, nor data, nor advice.

    Args:
        row: index in `TABLE`.
        line: the line, or the part of a long one around the candidate.
        number: its number.
        commented: the whole log is pasted as comments.
        opens: the beginning of a long line.
    """
    texts = (text for whole in unwrapped(line) for text in _parts(whole))
    hits = (_proved(row, text, number, commented, opens) for text in texts)
    return next((hit for hit in hits if hit is not None), None)


def says(line: str) -> bool:
    """Whether any row is proven by this line."""
    return any(prove(row, line) is not None for row, _ in find_plain(line.encode()))


def _parts(line: str) -> Iterator[str]:
    """What stands behind a progress bar, then the whole line."""
    end = 0
    for bar in BAR.finditer(line) if "/" in line else ():
        end = bar.end()
    if end and line[end:].strip():
        yield line[end:].strip()
    yield line


def _proved(row: int, line: str, number: int, commented: bool, opens: str) -> Hit | None:
    if not commented and COMMENT.match(line):
        return None
    rank, text = split_prefix(line)
    signature = TABLE[row]
    match = bounded(signature.pattern).search(text)
    if match is None or SOURCE_CODE.match(text) or QUOTED.match(text) or DEBUGGER.match(text):
        return None
    before = opens + text[: match.start() + 1]
    if TALK.search(before) or (signature.must_not and bounded(signature.must_not).search(text)):
        return None
    warns, noted = WARNS.search(text) or LEVEL.match(line), NOTED.search(line[: line.find(match[0])][-RECORD:])
    return Hit(row, number, rank, text, "", _absolved(text), bool(warns), bool(noted))


def _absolved(text: str) -> str:
    """Why the line is no failure; of a line that is too long to be seen whole, nothing is said of what it lists."""
    if ABSOLVED.search(text):
        return "the line itself says that the program goes on"
    told = text.partition("key")[2]
    names = NAMES.findall(told) if KEYS.search(text) else []
    whole = len(text) < AROUND or told.count(",") >= ENOUGH
    if names and whole and all(DERIVED.search(name) for name in names):
        return "only what a program computes anew is missing or left over, nothing that is learned"
    return ""


def _in_program(data: bytes, spot: int) -> bool:
    """Whether the line stands inside a program that the log begins with, as some trainers print their own text."""
    above = data[max(0, spot - 4 * AROUND) : max(0, data.rfind(b"\n", 0, spot))].split(b"\n")
    below = data[spot : spot + 4 * AROUND].split(b"\n")[1:]
    lines = [*[x for x in above if x.strip()][-BESIDE:], *[x for x in below if x.strip()][:BESIDE]]
    traced = any(_TRACED.search(line) for line in lines)
    return not traced and sum(PROGRAM.match(line.rstrip()) is not None for line in lines) >= PRINTED


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


def _opens(data: bytes, spot: int) -> str:
    """The beginning of the line that holds the offset, if it is too far away to be in `_line_at`."""
    start = max(data.rfind(cut, max(0, spot - LEAD), spot) for cut in (b"\n", b"\r")) + 1
    low = spot - AROUND
    return (
        split_prefix(_ANSI.sub("", data[start : min(start + OPENS, low)].decode("utf-8", "replace")))[1]
        if start < low
        else ""
    )


def _undone(row: int, chunk: Chunk) -> int:
    """The last line of the chunk that takes hits of the row back, 0 for none."""
    if not TABLE[row].undone:
        return 0
    spots = [match.start() for match in bounded(TABLE[row].undone.encode()).finditer(chunk.data)]
    return chunk.first_line + chunk.data.count(b"\n", 0, spots[-1]) if spots else 0


def _above(data: bytes, spot: int) -> str:
    """The whole lines above the one that holds the offset, `ABOVE` bytes at most, as far as the chunk has them."""
    end = max(0, data.rfind(b"\n", 0, spot))
    start = data.find(b"\n", end - ABOVE) + 1 if end > ABOVE else 0
    return _ANSI.sub("", data[start:end].decode("utf-8", "replace"))


_TRACED = re.compile(rb'File "|^[^"#\n]{0,80}(?:Error|Exception): ')
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])")

Find = Callable[[bytes], Iterable[tuple[int, int]]]
"""Data -> (row, offset of the last matched byte); rows past the table are words."""


def _finder(size: int | None, words: tuple[bytes, ...]) -> Find:
    if size is None or size > SMALL:
        with suppress(ImportError):
            return _hyperscan_finder(words)
    return lambda data: chain(find_plain(data), _plain_words(data, words))


def _plain_words(data: bytes, words: tuple[bytes, ...]) -> Iterator[tuple[int, int]]:
    return ((row, at) for row, word in enumerate(words, len(TABLE)) if (at := data.find(word)) >= 0)


def find_plain(data: bytes) -> Iterator[tuple[int, int]]:
    """First pass with `re`, for small files and where hyperscan is not installed."""
    low = data.lower()
    for row in range(len(TABLE)):
        words, cased = _words(row)
        text = data if cased else low
        if words and not any(word in text for word in words):
            continue
        for match in _byte_pattern(row).finditer(data):
            yield row, max(match.start(), match.end() - 1)


@cache
def _byte_pattern(row: int) -> re.Pattern[bytes]:
    return bounded(_unanchored(TABLE[row].pattern))


@cache
def _words(row: int) -> tuple[tuple[bytes, ...], bool]:
    """Words of which every match of the row holds one, empty if that cannot be told, and whether their case counts.

    Compiling all rows takes longer than all the rest of a small scan: a row whose words are absent is not compiled.
    """
    pattern = TABLE[row].pattern
    words, cased = words_of(pattern, 3), "(?i" not in pattern
    return tuple(word.encode() if cased else word.encode().lower() for word in words), cased


def _unanchored(pattern: str) -> bytes:
    """The pattern without `^` and `$`: a chunk has prefixes and carriage returns, the proof sees the bare line."""
    return re.sub(r"(?<![\\\[])\^|(?<!\\)\$", "", pattern).encode()


@cache
def _hyperscan_finder(words: tuple[bytes, ...]) -> Find:
    """First pass with hyperscan. Anchors are left to the proof on the line; a word is told once of a chunk.

    Raises:
        ImportError: hyperscan is not installed.
    """
    import hyperscan

    database = hyperscan.Database()
    patterns = [*(_unanchored(row.pattern) for row in TABLE), *map(re.escape, words)]
    once = [0] * len(TABLE) + [hyperscan.HS_FLAG_SINGLEMATCH] * len(words)
    database.compile(expressions=patterns, ids=list(range(len(patterns))), elements=len(patterns), flags=once)

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
