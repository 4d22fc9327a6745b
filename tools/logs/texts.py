"""What the text of a log says beside its metrics: error signatures, signs of life, clocks, the printed plan.

The text is looked at chunk by chunk while the metrics are read from it (`Watch`); nothing is judged here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain

from ..reading import BREAKS_OFF, Chunk, iter_chunks, line_ends, pieces, split_prefix
from ..run import Artifact
from ..series import Series
from .answered import HINTS, NOTHING, Served, heard
from .ends.repeated import HINTS as ERRS
from .ends.repeated import Errors
from .plan import Counts, Said, counted, said
from .signatures.causes import ALIVE, EARLY, SERVES, SHUTS, STARTED, Timeline, cut_traceback, timelines
from .signatures.match import TABLE, Hit, Hits, Matcher
from .signatures.phases import FRAME
from .signatures.software import GENERIC
from .warned import Heard, Message

CLOCK = re.compile(r"(20\d\d-\d\d-\d\d)[ T_](\d\d:\d\d:\d\d)|(?:^|\[)(\d\d:\d\d:\d\d)\]")

FILE = b'  File "'
"""Begins a frame of a traceback."""
EDGE, WIDE = 16 << 10, 400
"""Bytes at the beginning and the end of a log of which the lines are kept, and the most of one line."""
ENDING = 40
"""Lines kept of its end."""
SMALL, SMALL_LOGS = 1 << 20, 40
"""Bytes up to which a log is kept whole for who looks at its lines once more, and how many logs are."""


@dataclass(frozen=True)
class Text:
    """What one log says."""

    hits: dict[int, Hits]
    life: Timeline
    stopped: tuple[float, float, float] | None = None
    """Clock (s) at the first metric line, the last one, and the end of the log, where all are printed."""
    broken: str = ""
    """Why a packed file could not be read to its end."""
    lines: int = 0
    said: Said | None = None
    head: tuple[tuple[int, str], ...] = ()
    tail: tuple[tuple[int, str], ...] = ()
    """The first and the last lines with their numbers, shortened."""
    end: float | None = None
    """The last clock (s); without a date it lies before the year 2001."""
    written: float = 0.0
    """When the file was last changed."""
    counts: Counts = field(default_factory=dict)
    """How far it counts."""
    served: Served = NOTHING
    """What a server answered."""
    warned: Mapping[str, Message] = field(default_factory=dict)
    """What its programs say of what they were given."""
    errors: Errors = field(default_factory=Errors)
    """Its lines of error, whatever they say."""
    whole: tuple[Chunk, ...] = ()
    """All of a small log, else nothing."""


class Watch:
    """Looks at the chunks of one log on their way; `text` or `failed` is there when it is done."""

    text: Text | None = None
    failed = ""

    def __init__(self, artifact: Artifact, keeps: bool = False):
        self.artifact = artifact
        self.room = SMALL if keeps else 0
        self.whole: list[Chunk] = []
        plain = artifact.path.suffix not in (".gz", ".zst") and artifact.path.is_file()
        known = (*ALIVE, *EARLY, *SHUTS, *HINTS, *ERRS, FILE)
        self.matcher = Matcher(artifact.path.stat().st_size if plain else None, known)
        self.alive = self.early = self.serves = self.shut = self.lines = self.points = 0
        self.frame: tuple[int, str] | None = None
        self.end: float | None = None
        self.broken = ""
        self.said: Said | None = None
        self.counts: Counts = {}
        self.served = NOTHING
        self.warned = Heard(artifact.name)
        self.errors = Errors()
        self.head: tuple[tuple[int, str], ...] = ()
        self.last = (b"", 0)
        """The end of the chunk last seen, and its first line."""
        self.kept: list[Chunk] = []
        """The first and the last chunk with metrics: in them stand the clocks that matter, nearly always."""

    def look(self, chunk: Chunk, points: int) -> None:
        self.matcher.look(chunk)
        data, number = chunk
        self.room -= len(data)
        self.whole = [*self.whole, chunk] if self.room >= 0 else []
        if self.said is None:
            self.said = said(data)
            self.head = _few(data[:EDGE], number)
        last, ends = data[-EDGE:], line_ends(data)
        self.last = last, number + ends - last.count(b"\n")
        self.counts = counted(data, number + ends, self.counts)
        if self.matcher.heard.intersection(HINTS):
            self.served = heard(data, number, self.served)
        self.warned.look(data, number)
        self.errors.look(data, number, self.matcher.heard.intersection(ERRS))
        if points != self.points:
            self.points = points
            self.kept = [*self.kept[:1], chunk]
        self.lines = number + ends - data.endswith(b"\n")
        self._hear(data, number)
        cut = data.rfind(BREAKS_OFF.encode(), len(data) - 1000)
        self.broken = data[cut + 1 :].decode("utf-8", "replace").strip(" ]\n") if cut >= 0 else ""
        clock = _clock_near(data[-8192:].split(b"\n"))
        self.end = self.end if clock is None else clock

    def _hear(self, data: bytes, number: int) -> None:
        """Signs of life, of a server and its end, and the last frame of a traceback."""
        heard = self.matcher.heard
        if alive := heard.intersection(ALIVE):
            self.alive = number + data.count(b"\n", 0, max(map(data.rfind, alive)))
        if early := heard.intersection(EARLY):
            self.early = number + data.count(b"\n", 0, max(map(data.rfind, early)))
        if not self.serves and (serves := heard.intersection(SERVES)):
            self.serves = number + data.count(b"\n", 0, min(map(data.find, serves)))
        begun = max((data.rfind(word) for word in heard.intersection(STARTED)), default=-1)
        self.shut = 0 if begun >= 0 else self.shut
        shut = [at for word in heard.intersection(SHUTS) if (at := data.find(word, max(begun, 0))) >= 0]
        if not self.shut and shut:
            self.shut = number + data.count(b"\n", 0, min(shut))
        if FILE in heard:
            spot = data.rfind(FILE)
            self.frame = (number + data.count(b"\n", 0, spot), line_at(data, spot))

    def done(self, series: Sequence[Series], why: str = "", starts: tuple[int, ...] = (), whole: int = 0) -> None:
        self.failed = why
        if why:
            return
        life = timelines(series).get(self.artifact.name, Timeline())
        hits = self.matcher.hits()
        _add_cut_traceback(hits, self.frame)
        early = self.early if life.attempts and self.early > life.attempts[-1][1] else 0
        ends = (max(self.alive, whole, early), self.serves, starts, self.shut, self.lines)
        alive = Timeline(life.attempts, life.lines, *ends)
        told = (
            self.broken,
            self.lines,
            self.said,
            self.head,
            _few(*self.last)[-ENDING:] if self.lines else (),
            self.end,
            self._written(),
            self.counts,
            self.served,
            self.warned.found,
            self.errors,
            tuple(self.whole),
        )
        self.text = Text(hits, alive, self._stopped(life), *told)
        self.kept = []

    def _written(self) -> float:
        try:
            return self.artifact.path.stat().st_mtime
        except OSError:
            return 0.0

    def _stopped(self, life: Timeline) -> tuple[float, float, float] | None:
        if not life.attempts or self.end is None:
            return None
        first = self._clock_at(min(first for _, first, _ in life.attempts))
        last = self._clock_at(max(last for _, _, last in life.attempts))
        return None if first is None or last is None else (first, last, self.end)

    def _clock_at(self, line: int) -> float | None:
        """The clock of a line; should its chunk not be kept, the log is read again."""
        for chunk in chain(self.kept, iter_chunks(self.artifact.path)):
            before = line - chunk.first_line
            if 0 <= before <= chunk.data.count(b"\n") - chunk.data.endswith(b"\n"):
                return _clock_near(chunk.data.split(b"\n", before + 1)[: before + 1])
        return None


def _few(data: bytes, number: int) -> tuple[tuple[int, str], ...]:
    """The lines of a piece of a log; of a redrawn one the last state."""
    lines = data.removesuffix(b"\n").split(b"\n")
    return tuple((number + i, ([*pieces(raw)] or [""])[-1][-WIDE:]) for i, raw in enumerate(lines))


def line_at(data: bytes, spot: int) -> str:
    """The line that holds the offset, without its prefix."""
    start, stop = data.rfind(b"\n", 0, spot) + 1, data.find(b"\n", spot)
    raw = data[start : stop if stop >= 0 else len(data)][:2000]
    return split_prefix(next(pieces(raw), ""))[1]


def _clock_near(lines: Sequence[bytes]) -> float | None:
    """The clock of the last of these lines, or of one of the 20 before it, in seconds."""
    for raw in reversed(lines[-20:]):
        match = CLOCK.search(raw[:300].decode("utf-8", "replace"))
        if match:
            day = match.group(1) or "2000-01-01"
            try:
                return datetime.fromisoformat(f"{day} {match.group(2) or match.group(3)}").timestamp()
            except ValueError:
                return None
    return None


def _add_cut_traceback(hits: dict[int, Hits], frame: tuple[int, str] | None) -> None:
    """An exception whose own line is missing, above the first watchdog line: the cause of the time-out."""
    timeouts = [h.first[0].line for row, h in hits.items() if TABLE[row].code == "nccl-timeout"]
    row = TABLE.index(GENERIC)
    if timeouts and row not in hits and frame:
        cut = cut_traceback([frame], min(timeouts))
        if cut is not None and FRAME.match(cut[1]):
            hits[row] = Hits()
            hits[row].add(Hit(row, cut[0], None, cut[1]))
