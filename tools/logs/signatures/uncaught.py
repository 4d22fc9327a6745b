"""What an exception that ended a program says of itself: its type, its message, the program's own last frame.

Also where the same script ends a second time: then an earlier exception belongs to an earlier start. Which of several
exceptions is the cause is decided in `causes`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from ...findings import Severity, clean
from ...patterns import bounded
from ...reading import split_prefix
from .match import Hit
from .phases import frames

EXCEPTION = bounded(
    r"^\s{0,8}((?:[A-Za-z_]\w{0,80}\.){0,8}[A-Za-z_]\w{0,80}(?:Error|Exception))(?::\s{0,4}(.{0,2000}))?$"
)
PLACE = bounded(r'^\s{0,16}File "([^"]{1,400})", line (\d{1,9})(?:, in (\S{1,120}))?')
FOREIGN = bounded(
    r"(?:site|dist)-packages[/\\]|[/\\]lib(?:64)?[/\\]python\d|[/\\]Lib[/\\]|^<(?!stdin|string|module)|[/\\]bin[/\\]\w{1,40}$"
)
"""Files of libraries, of Python itself and of launchers."""
CHAINED = re.compile(r"During handling of the above exception|direct cause of the following exception")
ASIDE = bounded(r"--- Logging error ---\s{0,9}$|(?:^|[\s\]])Exception ignored in\b")
"""What heads a traceback that Python prints beside the program, which goes on."""
CHAIN = 4
"""Lines above a traceback in which it says that it follows from the one before."""
SAID = 300
"""Characters of the message that are quoted."""


@dataclass(frozen=True)
class Stop:
    """How a program ended."""

    type: str
    message: str
    file: str = ""
    line: int = 0
    inside: str = ""
    """The program's own last frame; empty where no traceback stands above."""

    @property
    def words(self) -> str:
        return f"{self.type}: {self.message}" if self.message else self.type

    @property
    def place(self) -> tuple[str, str]:
        """In both languages, empty where it is not known."""
        if not self.file:
            return "", ""
        inside = f" ({self.inside})" if self.inside else ""
        return f", in {self.file}, line {self.line}{inside}", f"，位于 {self.file} 第 {self.line} 行{inside}"


def stop(hit: Hit) -> Stop | None:
    """What the exception says, None where its own line is missing."""
    told = EXCEPTION.match(hit.text.rstrip())
    if told is None:
        return None
    places = [m for _, text in frames(hit, PLACE) if (m := PLACE.match(text))]
    own = [m for m in places if not FOREIGN.search(m[1])] or places
    message = clean((told[2] or "").strip())[:SAID]
    if not own:
        return Stop(told[1], message)
    last = own[-1]
    return Stop(told[1], message, clean(last[1]), int(last[2]), clean(last[3] or ""))


def aside(hit: Hit) -> bool:
    """Whether the traceback that ends in the hit is of an exception that Python prints and drops."""
    found = frames(hit)
    above = hit.above.split("\n")[: -(hit.line - found[0][0] + 1)] if found else []
    return bool(above) and ASIDE.search(above[-1].rstrip("\r")) is not None


def handled(hit: Hit) -> Iterator[int]:
    """Lines of the exceptions that the hit was raised from or while handling, as far as they are of one chain.

    Nothing where the hit is an echo or a note: what it says is less than what it was raised from.
    """
    if hit.signature.role == "echo" or hit.signature.severity > Severity.S1:
        return
    above = [split_prefix(text.rstrip("\r"))[1] for text in hit.above.split("\n")]
    told = False  # an exception line has to have the sentence of its chain below it
    for back, text in enumerate(reversed(above), 1):
        if CHAINED.search(text):
            told = True
        elif text[:1].strip() and not text.startswith("Traceback"):
            if not told:
                return
            told = False
            yield hit.line - back


def restarts(hits: Iterable[Hit]) -> tuple[int, ...]:
    """Lines at which a script that an exception ended has another traceback, which does not follow from the first.

    Nothing is told where processes run beside each other: ranks, or a process that reports another's failure.
    """
    kept = sorted({h.line: h for h in hits}.values(), key=lambda h: h.line)
    if any(h.rank is not None or h.signature.role == "echo" for h in kept):
        return ()
    ends = [end for end in map(_end, kept) if end]
    return tuple(_starts(ends))


def _starts(ends: list[tuple[int, int, str, bool]]) -> Iterator[int]:
    begun = ends[0][0] if ends else 0
    seen: dict[str, int] = {}
    for before, end in pairwise([(0, 0, "", False), *ends]):
        first, line, script, chained = end
        begun = begun if chained and before[1] else first
        if script and seen.get(script, begun) < begun:
            yield begun
        if script:
            seen[script] = line


def _end(hit: Hit) -> tuple[int, int, str, bool] | None:
    """First line of the traceback that ends in the hit, the hit's line, the script, whether it follows from another."""
    found = frames(hit, PLACE)
    if not found:
        return None
    first = found[0][0] - 1
    above = hit.above.split("\n")[: -(hit.line - first)]
    chained = any(CHAINED.search(text) for text in above[-CHAIN:])
    scripts = (
        m[1] for _, text in found if (m := PLACE.match(text)) and m[3] == "<module>" and not FOREIGN.search(m[1])
    )
    return first, hit.line, next(scripts, ""), chained
