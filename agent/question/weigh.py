"""How a cause is meant, weighed: what the phrases of `cues` say of it, and every word around it.

The phrases know whole expressions and miss the ones that nobody wrote down; a linear model over the words, their
neighbours and their place beside the cause knows many weak signs. The phrases' verdict is one of its features. It is
trained by `evals.train_question`; nothing here decides what a cause is called (`topics`) or who said it (`polarity`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...knowledge.words import places
from ...tools.patterns import bounded
from .cues import Polarity
from .phrases import OTHER, X

FILE = Path(__file__).parent / "weights.npz"
BITS = 15
"""Places of the table of weights, as a power of two: 16 is no better, 13 is worse."""
MANY_BITS = 17
"""The same for the table of clauses, which are told by many more features."""
SCALE = 24
"""Steps of a stored weight in one of the trained."""
MEANT: tuple[Polarity | None, ...] = (None, "suspects", "denies", "doubts", "suspects")
"""What the columns of the tables say; by the last one somebody else suspects."""
TOLD = len(MEANT) - 1
NOTHING = 10
"""What speaks for nothing beside the words: one opinion too many is worse than one missed."""
AROUND = 60
"""Tokens on each side of a cause that are read."""
_TOKEN = bounded(
    rf"[a-z]{{1,30}}(?:n't|'[a-z]{{1,2}})?|\d[\d.,]*%?|[\u3400-\u9fff]|{X}|{OTHER}|[?？!！,，.。;；:：、…\n]|[-–—]{{1,3}}(?=\s)",
    re.IGNORECASE,
)
_CAUSE, _AND = f"(?:{X}|{OTHER})", "(?: ?[,，、/&+]| and| or| nor|和|或者?|还是|跟|与){1,2}"
_LIST = bounded(rf"(?:{_CAUSE}{_AND} ?(?:the |a |our |my )?){{1,8}}{_CAUSE}")
"""Causes of which one thing is said."""
_PLAIN = str.maketrans("？！，。；：", "?!,.;:")
_ENDS = frozenset("?!,.;:\n")
_TURNS = frozenset(("but", "because", "since", "although", "though", "so", "yet", "however"))
_ARTICLES = ("the", "a", "an", "this", "that", "these", "those", "some", "of", "to", "in")
_SMALL = frozenset((*_ARTICLES, "my", "our", "your", "their", "his", "her", "its"))


def meant(features: Sequence[str], clause: NDArray[np.int64]) -> tuple[Polarity | None, bool]:
    """What the features of one cause say, with what is said by the clause that names it (`clause.weighed`); and whether
    others say it."""
    scores = table("meant")[places(features, BITS)].sum(0, dtype=np.int64) + clause
    scores[0] += NOTHING
    best = int(scores.argmax())
    return MEANT[best], best == TOLD


@cache
def table(name: str) -> NDArray[np.int8]:
    """The weights of named causes (`meant`), of clauses (`clauses`), of what tells opinions (`held`), the middles of
    phrases (`blamed`, `acted`), or of what tells plans (`plans`, `goes`, `planned`, `nearest`)."""
    with np.load(FILE, allow_pickle=False) as stored:
        return stored[name]


def words(masked: str) -> Iterator[str]:
    """Words in lower case, single Chinese characters, marks; a number is 0."""
    for found in _TOKEN.finditer(masked):
        word = found[0].translate(_PLAIN).lower()
        yield "0" if word[0].isdigit() else "and" if word == "、" else word


def around(masked: str) -> list[str]:
    """The features of the cause that stands as `X` in a message."""
    joined = _LIST.sub(lambda m: X if X in m[0] else OTHER, masked)
    said = list(words(joined))
    if X not in said:
        return []
    first = said.index(X)
    said = said[max(0, first - AROUND) : first + AROUND]
    clauses, at = list[int](), 0
    for place, word in enumerate(said):
        at += word in _TURNS and place > 0
        clauses.append(at)
        at += word in _ENDS
    own = [w for w, c in zip(said, clauses, strict=True) if c == clauses[said.index(X)]]
    return [f"list{joined != masked:d}", *_runs(said, clauses), *_beside(said), *_shape(said, own)]


def _runs(said: list[str], clauses: list[int]) -> Iterator[str]:
    """Words in a row, up to three (Chinese: four), with the side of the cause or the clause that they stand in."""
    first = said.index(X)
    mine = {c for w, c in zip(said, clauses, strict=True) if w == X}
    sides: list[str] = []
    for place, clause in enumerate(clauses):
        far = min((clause - c for c in mine), key=abs)
        sides.append(
            ("L" if place < first else "R") if far == 0 else {1: "N", -1: "P"}.get(far, "M" if far > 0 else "Q")
        )
    for size in (1, 2, 3, 4):
        for place in range(len(said) - size + 1):
            row = said[place : place + size]
            if clauses[place] != clauses[place + size - 1] or (
                size == 4 and not any("\u3400" <= w <= "\u9fff" for w in row)
            ):
                continue
            run, side = " ".join(row), "X" if X in row else sides[place]
            yield side + run
            if side != "X":
                yield "*" + run
                if size == 1 and len(run) > 5:
                    yield f"{side}~{run[:5]}"


def _beside(said: list[str]) -> Iterator[str]:
    """The next words before and behind the cause that say something."""
    for place in (n for n, word in enumerate(said) if word == X):
        before = [w for w in said[:place] if w not in _SMALL][-3:]
        behind = [w for w in said[place + 1 :] if w not in _SMALL][:3]
        yield from ("l" + " ".join(before[-n:]) for n in range(1, len(before) + 1))
        yield from ("r" + " ".join(behind[:n]) for n in range(1, len(behind) + 1))
        if before and behind:
            yield f"lr{before[-1]}_{behind[0]}"


def _shape(said: list[str], own: list[str]) -> Iterator[str]:
    """How long the message is, how it begins and ends, what else is named, whether the cause stands alone."""
    yield from ("b", f"len{min(len(said) // 4, 6)}", "end" + said[-1], "start" + said[0], "start" + " ".join(said[:2]))
    yield f"others{min(said.count(OTHER), 3)}"
    yield f"q{int('?' in own)}"
    yield f"bare{min(sum(w not in _SMALL and w not in _ENDS for w in own), 3)}"
