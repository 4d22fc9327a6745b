"""Does a pattern's time grow faster than the text? Processor time, and only ratios of it.

Processor time is counted in steps of 4 ms on many machines, so what is short is repeated until it can be told.
"""

import signal
import time
from collections.abc import Callable, Iterator
from itertools import islice

from attack.patterns import AT_THE_START, Found, attacks

SHORT, LONG = 1 << 10, 16 << 10
GROWTH = 64.0
"""Of the time, from SHORT to LONG: 16 is linear, 256 is a square."""
AT_ONCE = 0.004
"""Seconds for LONG that need no other proof: a square takes ten times as long, letter by letter in C."""
AT_LEAST = 0.03
"""Processor seconds over which a time is taken."""
MOST = 2.0
"""Processor seconds after which a search is stopped: a line takes less for LONG on any machine."""


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


def at_once(use: Callable, text: str | bytes) -> bool:
    """Whether one of a few uses is short; what is far from it is not tried again."""
    for _ in range(3):
        start = time.perf_counter()
        use(text)
        if (spent := time.perf_counter() - start) < AT_ONCE or spent > 10 * AT_ONCE:
            return spent < AT_ONCE
    return False


def seconds(use: Callable, text: str | bytes) -> float:
    """Processor seconds of one use."""
    start, times = time.process_time(), 0
    while (spent := time.process_time() - start) < AT_LEAST:
        use(text)
        times += 1
    return spent / times


def pumped(attack: tuple[str, str, str], size: int) -> str:
    before, pump, end = attack
    return before + pump * (size // len(pump)) + end


def too_fast(use: Callable, made: Callable[[int], str | bytes]) -> bool:
    """Whether the time grows faster than the text."""
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST)
    try:
        if at_once(use, made(LONG)):
            return False
        return seconds(use, made(LONG)) > GROWTH * seconds(use, made(SHORT))
    except Stopped:
        return True
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


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
