"""Scores that the lines of small logs print, each with the name beside it: `domain_qa acc 0.312`, `'eval_pope': 0.51`.

A score that is printed once is no series. It is read only to say back to a person that it stands there; nothing is
judged by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..tools.patterns import bounded
from ..tools.reading import Chunk
from ..tools.scores import GENERAL, NOT_A_SCORE, QUALITY

MOST_NAMES = 200
"""Names of one log that are kept, the last value of each."""
_HELD_OUT = bounded(r"(?i)^(?:eval|val|valid|validation|test|dev|bench|评测|验证)[_/.-]")
_PAIR = bounded(
    r"(?<![\w./-])['\"]?([A-Za-z\u3400-\u9fff][\w/@.-]{1,60})['\"]?"
    r"(?:\s{1,3}([A-Za-z][\w@]{0,15}))?(\s{0,3}[:=|：]\s{0,3}|\s{1,3})(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?![\w:/-]|\.\d)"
)
"""A name, perhaps what of it was measured, and a number."""
Printed = tuple[str, float, str, int]
"""Name, value as it is written, file, line."""


def printed_scores(logs: Mapping[str, Sequence[Chunk]]) -> list[Printed]:
    """The last value of each score that a log prints, in the order of files."""
    return [one for file, chunks in logs.items() for one in _of(file, chunks)]


def _of(file: str, chunks: Sequence[Chunk]) -> Iterator[Printed]:
    last: dict[str, Printed] = {}
    for data, first in chunks:
        for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), first):
            for name, value in _pairs(line[:2000]):
                if name in last or len(last) < MOST_NAMES:
                    last[name] = (name, value, file, number)
    yield from last.values()


def _pairs(line: str) -> Iterator[tuple[str, float]]:
    """The scores of one line: what is named as one, or stands before the word for one."""
    for found in _PAIR.finditer(line):
        name, what, between, number = found.groups()
        name = name.strip("._-/")
        if NOT_A_SCORE.search(name) or NOT_A_SCORE.search(what or ""):
            continue
        quality = what is not None and QUALITY.fullmatch(what) is not None
        own = (
            what is None
            and between.strip()
            and (_HELD_OUT.search(name) or QUALITY.search(name) or GENERAL.search(name))
        )
        if quality or own:
            yield name, float(number)
