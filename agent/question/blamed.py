"""How people name what they blame, and which entries a clause names so: `blamed.txt` says it, entry by entry.

A clause is compared with every such phrase by its words, with the middle of an entry's phrases by the encoder, and,
with its neighbours and the whole message, with the entries themselves (`knowledge.search`). The weights are fitted by
`evals.fit_blamed`. Whether a
clause blames anything at all is told by `clause`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from math import log
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...knowledge.embedding import encoder, unit
from ...knowledge.search import Hit
from ...knowledge.words import tokens
from .weigh import table

FILE = Path(__file__).parent / "blamed.txt"
FLOOR = 1e-4
"""Probability below which the search tells entries apart no more."""
UNKNOWN = 2.0
"""Weight of a word that no phrase has, beside that of one which every entry's phrases have (0)."""
WEIGHTS = np.array([-0.01, 0.21, 0.39, 6.78, 7.31, 1.97, 4.18])
"""Of the features, as `evals.fit_blamed` fits them on the questions whose suspicions are entries."""
LEAST = 2.5
"""Score below which an entry is not meant."""
BESIDE = 2.0
"""How far below the best score another entry can be meant as well."""
ENCODED = 3
"""Place of what the encoder says among the features; after it the words of the clause."""
MOST = 6
"""Entries of which a clause can at best mean one or two."""
TOGETHER = 3
"""Entries that one clause can name."""
EVERY = 1000
Search = Callable[[str, int], list[Hit]]


@dataclass(frozen=True)
class Phrases:
    """All phrases, entry after entry."""

    entries: tuple[str, ...]
    starts: NDArray[np.int64]
    """Of each entry, the place of its first phrase."""
    holding: dict[str, NDArray[np.int64]]
    """Of each word, the places of the phrases that hold it."""
    weights: dict[str, float]
    """How much a word tells."""
    sizes: NDArray[np.float64]
    """Of each phrase, what its words weigh together."""

    def shared(self, text: str) -> NDArray[np.float64]:
        """`[entries]` weight of the words shared with the phrase of each that shares most, over the lengths of both."""
        said = set(tokens(text))
        size = sum(self.weights.get(word, UNKNOWN) for word in said) or 1.0
        both = np.zeros(len(self.sizes))
        for word in sorted(said & self.holding.keys()):
            both[self.holding[word]] += self.weights[word]
        return np.maximum.reduceat(both / np.sqrt(self.sizes * size), self.starts)


def read() -> dict[str, list[str]]:
    """The phrases of every entry."""
    rows = (line.split(": ", 1) for line in FILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return {id: line.split(" | ") for id, line in rows}


@cache
def often() -> Counter[str]:
    """Word -> how many entries have it in a phrase: cheaper than `phrases`, where no clause is compared with them."""
    return Counter(word for said in read().values() for word in set(tokens("\n".join(said))))


@cache
def phrases() -> Phrases:
    return indexed(read())


def indexed(rows: Mapping[str, list[str]]) -> Phrases:
    """The phrases of each entry, ready to be compared."""
    words = {id: [frozenset(tokens(phrase)) for phrase in said] for id, said in rows.items()}
    held = Counter(word for said in words.values() for word in frozenset().union(*said))
    weights = {word: log(len(rows) / n) for word, n in held.items()}
    every = [each for said in words.values() for each in said]
    holding: dict[str, list[int]] = {}
    for place, each in enumerate(every):
        for word in each:
            holding.setdefault(word, []).append(place)
    return Phrases(
        tuple(rows),
        np.cumsum([0, *(len(said) for said in rows.values())])[:-1],
        {word: np.array(places) for word, places in holding.items()},
        weights,
        np.array([sum(weights[word] for word in sorted(each)) or 1.0 for each in every]),
    )


@cache
def _centres() -> NDArray[np.float32]:
    """`[entries, dimensions]` the mean direction of each entry's phrases, as `evals.fit_blamed` stores it."""
    return unit(table("blamed").astype(np.float32))


@lru_cache(128)
def _shared(text: str) -> NDArray[np.float64]:
    return phrases().shared(text)


def features(clause: str, around: str, message: str, search: Search) -> NDArray[np.float64]:
    """`[entries, 7]` how near a clause, it with its neighbours, and the message are to what people blame."""
    known = phrases()

    def found(text: str) -> NDArray[np.float64]:
        scores = {hit.entry.id: hit.score for hit in search(text, EVERY)}
        return np.log([scores.get(id, 0.0) + FLOOR for id in known.entries])

    searched = [found(text) for text in (clause, around, message)]
    shared = [_shared(text) for text in (clause, around, message)]
    return np.stack([*searched, _centres() @ encoder().encode([clause])[0], *shared], axis=1)


@dataclass(frozen=True)
class Ranking:
    """Every entry with how near a clause is to it."""

    scores: dict[str, float]
    """Best first."""
    best: NDArray[np.float64]
    """The features of the first."""

    @property
    def nearness(self) -> list[float]:
        """Of the first: its score, by how much it is nearer than most, by the encoder, and by the words."""
        first, *_, other = islice(self.scores.values(), MOST)
        return [first, first - other, float(self.best[ENCODED]), float(self.best[ENCODED + 1])]


def ranked(clause: str, around: str, message: str, search: Search) -> Ranking:
    """Every entry with its score for a clause."""
    rows = features(clause, around, message, search)
    scores = rows @ WEIGHTS
    order = np.argsort(-scores, kind="stable")
    return Ranking({phrases().entries[at]: float(scores[at]) for at in order}, rows[order[0]])


def meant(scores: Mapping[str, float]) -> list[str]:
    """The entries that a clause can name, best first; none where nothing is near."""
    best = next(iter(scores.values()))
    return [id for id, score in islice(scores.items(), TOGETHER) if score >= max(best - BESIDE, LEAST)]
