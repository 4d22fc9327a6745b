"""A process that is still at work, and getting on, when the others give up waiting for it.

The time limit of a collective tells that nobody came; a bar that moves up to that moment tells why: the work on one
process is longer than the limit, and nothing hangs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...findings import Evidence, Finding, Severity, clean, declare
from ...patterns import bounded
from ...reading import Line, lines_of
from ..signatures.signature import CHECK
from ..texts import Text
from .clock import CLOCK, DAY, seconds

CODES = declare(
    "working", ("rank-works-on", CHECK, "a process is still at work, and getting on, when the others' wait runs out")
)

WAITED = bounded(r"Timeout\(ms\)=(\d{4,9})|ran for (\d{4,9}) milli")
BAR = bounded(
    r"(?P<what>[^%|\n]{0,120}?)(?P<share>\d{1,3}(?:\.\d{1,3})?)%\|?(?:[^\n|]{0,80}\|)? ?(?P<done>\d[\d,.]{0,15}[kMG]?)/"
    r"(?P<all>\d[\d,.]{0,15}[kMG]?) ?\[(?P<spent>(?:\d{1,3}:)?\d{1,3}:\d\d)[<,]"
)
"""A bar as tqdm draws it."""
COUNTED = bounded(
    r"(?P<what>[^\d\n]{0,120})(?P<done>\d{1,9}) ?(?:/|of) ?(?P<all>\d{1,9})\b[^\n]{0,60}?"
    r"(?:elapsed|spent|took|用时|已用|耗时)[ :=]{0,3}(?:(?P<h>\d{1,3})(?:h|:(?=\d\d:)))? ?"
    r"(?:(?P<m>\d{1,3})(?:m|min|:(?=\d\d)) ?)?(?P<s>\d{1,6})(?:\.\d{1,6})? ?(?:s|sec)?\b"
)
"""So many of so many, and how long it has taken: `shard 3/8 ... elapsed 4m10s`."""
AFTER = 60
"""Lines after the end of the wait in which the work is seen to go on."""
NEAR = 400
"""Lines before the end of the wait among which the bar is looked for: a bar that is redrawn has many."""
DRAWN = 4
"""Times that the bar was drawn with more done each time, or nearly: it moves."""
AS_LONG = 0.8, 1.25
"""Share of the limit that the bar has been drawn for: it began when the others began to wait, and moved to the end."""
AT_ONCE = 120
"""Seconds between the last bar and the end of the wait, where both have a clock."""


@dataclass(frozen=True)
class Bar:
    """How far a piece of work had got, and for how long it had been going on."""

    line: Line
    what: str
    share: float
    spent: int
    """Seconds."""
    done: str


def working(texts: Mapping[str, Text], found: Iterable[Finding]) -> Iterator[Finding]:
    """One finding for each log in which a wait ran out while a bar moved, and was not at its end.

    Args:
        texts: what each log says, by its name; of large ones nothing is looked at.
        found: what else was found.
    """
    for ended in (f.evidence[0] for f in found if f.code == "nccl-timeout"):
        name = ended.file or ""
        lines = [*lines_of(texts[name].whole)] if name in texts and ended.line else []
        over = next((line for line in lines if line.number == ended.line), None)
        waited = WAITED.search(over.text) if over is not None else None
        if over is None or waited is None:
            continue
        limit = int(waited[1] or waited[2]) // 1000
        bars = _moving([line for line in lines if over.number - NEAR <= line.number <= over.number + AFTER], over)
        if bars and _until(bars[-1], over, limit):
            yield _finding(name, bars[-1], over, limit)


def _moving(lines: Sequence[Line], over: Line) -> list[Bar]:
    """The bars before the end of the wait of the work that was drawn last, where it got on and was not done.

    Where it is drawn once more after the end of the wait, with more done, once before is enough.
    """
    every = [bar for line in lines if (bar := _bar(line)) is not None]
    before = [bar for bar in every if bar.line.number < over.number]
    bars = [bar for bar in before if bar.what == before[-1].what]
    later = [bar for bar in every if bar.line.number > over.number and bars and bar.what == bars[-1].what]
    drawn = [*bars, *later]
    enough = len(bars) >= DRAWN or (bars and later)
    further = enough and (drawn[-1].share, drawn[-1].done) != (drawn[0].share, drawn[0].done)
    moved = further and drawn[-1].spent > drawn[0].spent and drawn[-1].share >= drawn[0].share
    return bars if moved and bars[-1].share < 100 else []


def _bar(line: Line) -> Bar | None:
    found = BAR.search(line.text)
    if found is None:
        return _count(line)
    parts = [int(p) for p in found["spent"].split(":")]
    what = CLOCK.sub("", found["what"].rpartition("]")[2]).strip(" :-")
    return Bar(line, what, float(found["share"]), sum(p * 60**i for i, p in enumerate(reversed(parts))), found["done"])


def _count(line: Line) -> Bar | None:
    found = COUNTED.search(line.text)
    if found is None or not 0 < int(found["all"]) >= int(found["done"]):
        return None
    spent = 3600 * int(found["h"] or 0) + 60 * int(found["m"] or 0) + int(found["s"])
    what = found["what"].rpartition("]")[2].strip(" :-")
    return Bar(line, what, round(100 * int(found["done"]) / int(found["all"]), 1), spent, found["done"])


def _until(bar: Bar, over: Line, limit: int) -> bool:
    """Whether the work went on for about as long as the wait, and to its end."""
    at, end = CLOCK.search(bar.line.text[:120]), CLOCK.search(over.text[:120])
    if at is not None and end is not None:
        apart = (seconds(end) - seconds(at)) % DAY
        return min(apart, DAY - apart) <= AT_ONCE and bar.spent >= AS_LONG[0] * limit
    return AS_LONG[0] * limit <= bar.spent <= AS_LONG[1] * limit


def _finding(name: str, bar: Bar, over: Line, limit: int) -> Finding:
    what, minutes = clean(bar.what, 60) or "work", bar.spent // 60
    return Finding(
        "rank-works-on", Severity.S1,
        f"{name}:{bar.line.number}: `{what}` had got to {bar.share:g}% after {minutes} min and was getting on when the "
        f"others' wait of {limit} s ran out (line {over.number}): it is slow, nothing hangs.",
        f"{name}:{bar.line.number}：其他进程等满 {limit} 秒超时（第 {over.number} 行）时，`{what}` 在 {minutes} "
        f"分钟后做到 {bar.share:g}%，仍在推进：是慢，不是卡死。",
        (Evidence(name, bar.line.number, text=clean(bar.line.text, 200)), Evidence(name, over.number)),
        {"share": bar.share, "seconds": bar.spent, "limit": limit, "lines_apart": over.number - bar.line.number},
    )  # fmt: skip
