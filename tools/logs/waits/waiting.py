"""A log that waits: the same words of waiting again and again at its end, or silence until somebody stops the run.

Told of logs without steps and without a server; a log whose steps stop is left to the clocks in `scan`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from ...findings import Evidence, Finding, Severity, clean, declare
from ...patterns import bounded
from ...reading import split_prefix
from ..signatures.causes import STOPPED
from ..signatures.signature import CHECK
from ..texts import Text
from .clock import CLOCK, DAY, between, day, seconds

CODES = declare(
    "waiting", ("log-stands-still", CHECK, "the log only waits, or says nothing for minutes until the run is stopped")
)

TIMES = 5
"""Lines of waiting, one after the other, from which on nothing else is expected. Own judgement."""
USUAL = 10
"""Times the usual distance of its lines that a log which somebody stopped was silent, to have stood still before."""
FROM_OUTSIDE = (*STOPPED, "process-killed")
"""How a run is stopped from outside: why, the silence before it may tell."""
QUIET, LONGEST = 5 * 60, DAY
"""Seconds without a line before a stop that are told, and those from which on the clocks may be of two runs. Loading a
model may take some minutes, so the stop is needed too. Own judgement."""
WAITS = bounded(
    r"(?i)\bwaiting\b(?!\s?[:=]?\s?\d{1,9}\b(?!\s?(?:s|sec\w*|min\w*|m|h\w*)\b))"
    r"|\bstill (?:waiting|pending|queued)\b|\bno (?:batch|data|response|progress)\b.{0,20}\byet\b|等待"
)
"""What says that it waits; `waiting 0` counts requests."""
STOPS = bounded(
    r"SIGINT|SIGTERM|KeyboardInterrupt|\bKilling (?:sub)?process|\bCANCELLED\b|\b[Tt]erminated\b|[Rr]eceived signal|\^C"
)
"""Somebody ends the run."""
_DIGITS = re.compile(r"[\d.,:%/|<>?\-\s]+")


def waiting(texts: Mapping[str, Text], found: Iterable[Finding]) -> Iterator[Finding]:
    """One finding for each log that ends in waiting, and that nothing else explains.

    Args:
        texts: what each log says, by its name.
        found: what else was found.
    """
    blamed = {e.file for f in found if f.severity < Severity.S2 and f.code not in FROM_OUTSIDE for e in f.evidence}
    stopped = {e.file for f in found if f.code in FROM_OUTSIDE for e in f.evidence}
    for name, text in texts.items():
        begun = max(text.life.starts, default=0)
        trained = text.life.attempts and name not in stopped
        if name in blamed or max(text.life.alive, text.life.serves) > begun or trained:
            continue
        lines = [(n, split_prefix(said)[1].strip()) for n, said in text.tail if n >= begun and said.strip()]
        finding = _silent(name, lines, USUAL) if text.life.attempts else _again(name, lines) or _silent(name, lines)
        if finding:
            yield finding


def _again(name: str, lines: list[tuple[int, str]]) -> Finding | None:
    """The same words of waiting at the end, whatever the numbers and the clock in them."""
    while lines and STOPS.search(lines[-1][1]):
        lines = lines[:-1]
    words = _DIGITS.sub(" ", lines[-1][1]) if lines else ""
    same = next((i for i, (_, said) in enumerate(reversed(lines)) if _DIGITS.sub(" ", said) != words), len(lines))
    if same < TIMES or not WAITS.search(lines[-1][1]):
        return None
    line, said = lines[-same]
    return _finding(
        name, line, said,
        f"from here on the log only says that it waits ({same} lines)",
        f"从这里起日志只在等待（{same} 行）",
    )  # fmt: skip


def _silent(name: str, lines: list[tuple[int, str]], usual: int = 0) -> Finding | None:
    """A long silence, after which the run is stopped; so many times longer than the log is silent otherwise."""
    clocks = [(n, said, (day(said, m), seconds(m))) for n, said in lines if (m := CLOCK.search(said[:80]))]
    gaps = sorted(between(before, then) for (*_, before), (*_, then) in pairwise(clocks))
    if usual and len(gaps) < TIMES:
        return None
    least = max(QUIET, usual * gaps[len(gaps) // 2]) if gaps else QUIET
    for (line, said, before), (after, _, then) in reversed([*pairwise(clocks)]):
        gap = between(before, then)
        stopped = any(STOPS.search(s) for n, s in lines if after <= n < after + TIMES)
        if not least <= gap < LONGEST or after - line > TIMES or not stopped:
            continue
        if gap < gaps[-1]:
            return None  # it was silent for longer and went on
        minutes = f"{gap // 60} min {gap % 60:02d} s"
        return _finding(
            name, line, said,
            f"after this nothing is logged for {minutes}, then the run is stopped: it stood still",
            f"此后 {minutes} 没有任何日志，随后运行被停止：它当时停滞不前",
        )  # fmt: skip
    return None


def _finding(name: str, line: int, said: str, en: str, zh: str) -> Finding:
    evidence = (Evidence(name, line, text=clean(said)),)
    return Finding("log-stands-still", Severity.S2, f"{name}:{line}: {en}.", f"{name}:{line}：{zh}。", evidence)
