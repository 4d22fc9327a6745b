"""Does a pattern's time grow faster than the text? Processor time, and only ratios of it.

One long text is compared with the same length in short pieces: where time grows with the text, both take the same.
So neither a slow machine nor its other work is taken for growth. A suspect is tried again on longer texts: short pieces
may end early at a match, and a counted repeat no longer grows once the text is longer than it.
"""

import signal
import time
from collections.abc import Callable, Iterator
from itertools import islice

from attack.patterns import AT_THE_START, Found, attacks

PIECES = 8
"""Times that a long text is as long as a short one."""
LENGTHS = (8 << 10, 64 << 10)
"""Of a long text, and of one that confirms what it showed: its pieces are as long as the first."""
GROWTH = 3.0
"""Times as long as its pieces: 1 is linear, 8 is a square."""
AT_ONCE = 0.002
"""Seconds for a long text that need no other proof: a square takes fifty times as long, letter by letter in C."""
SURE = 0.04
"""Seconds for the pieces of a suspect, tried as often as that needs: some machines count processor time in steps of 4
ms, and a shorter time is none or a whole step by chance."""
AGAIN = 3
"""Times that a suspect and its pieces are tried, and the quickest counts."""
MOST = 1.0
"""Processor seconds after which a search is stopped: a line takes a tenth of it on a slow machine. The timer counts in
steps, and on a busy machine in large ones: nothing shorter is left to it."""


class Stopped(Exception):
    pass


def _stop(*_) -> None:
    raise Stopped


def user(found: Found) -> Callable[[str | bytes], object]:
    """What is done with it at worst: all its finds in a text, the first, or one at the beginning."""
    pattern = found.compiled()
    if set(found.ways) <= AT_THE_START:
        return lambda text: (pattern.match(text), pattern.fullmatch(text))
    if set(found.ways) <= {*AT_THE_START, "search"}:
        return pattern.search
    return lambda text: [None for _ in pattern.finditer(text)]


def seconds(use: Callable, text: str | bytes, limit: float, times: int = 1) -> float:
    """Processor seconds of so many uses; without end where they go beyond the limit."""
    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    try:
        start = time.process_time()
        for _ in range(times):
            use(text)
        return time.process_time() - start
    except Stopped:
        return float("inf")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def pumped(attack: tuple[str, str, str], size: int) -> str:
    before, pump, end = attack
    return before + pump * (size // len(pump)) + end


def too_fast(use: Callable, made: Callable[[int], str | bytes]) -> bool:
    """Whether the time grows faster than the text."""
    text = made(LENGTHS[0])
    for _ in range(AGAIN):
        if (first := seconds(use, text, MOST)) < AT_ONCE:
            return False
        if first > MOST:
            return True
    return all(grows(use, made(length), made(length // PIECES)) for length in LENGTHS)


def grows(use: Callable, long: str | bytes, piece: str | bytes) -> bool:
    """Whether the long text takes longer than its pieces, however often both are tried."""
    times = 1
    while seconds(use, piece, MOST, times * PIECES) < SURE:
        times *= 2
    pieces = min(seconds(use, piece, MOST, times * PIECES) for _ in range(AGAIN))
    limit = GROWTH * min(pieces, MOST)
    return all(seconds(use, long, MOST, times) > limit for _ in range(AGAIN))


def super_linear(found: Found, often: int = 1) -> Iterator[tuple[str, str, str]]:
    """The attacks under which a pattern grows too fast; with `often`, only every so many are tried."""
    use = user(found)
    old = signal.signal(signal.SIGVTALRM, _stop)
    try:
        for attack in islice(attacks(found), 0, None, often):

            def made(size: int, attack=attack) -> str | bytes:
                text = pumped(attack, size)
                return text.encode("latin-1", "replace") if found.bytes else text

            if too_fast(use, made):
                yield attack
    finally:
        signal.signal(signal.SIGVTALRM, old)
