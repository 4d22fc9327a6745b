"""From band keys to groups of duplicates: candidate pairs, their true similarity, union-find.

Every pair that leaves here has been compared on its real n-gram sets, so precision does not depend on the
sketch; only recall does. Kernels are pure functions shared by the local and the Ray engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .features import I64, SLOTS, U64, Unit
from .longtext import gram_sets

FULL_BUCKET = 32
"""Up to this many documents with one band key are compared all with all; beyond, with the first and the next."""
RECALL = 0.995
"""Chance, at the threshold itself, that a pair becomes a candidate; above the threshold it is higher."""
TEMPLATE_REST = 0.08
"""A pair is a template's when at least this share of each text is outside the template ..."""
TEMPLATE_ALIKE = 0.3
"""... and those rests are less similar than this."""


def band_rows(threshold: float) -> int:
    """Most slots per band with which a pair at the threshold is still found with probability `RECALL`."""
    fitting = [r for r in range(1, 17) if 1 - (1 - threshold**r) ** (SLOTS // r) >= RECALL]
    return max(fitting, default=1)


def candidate_pairs(keys: U64, documents: I64, exact: U64) -> I64:
    """Pairs of documents that share a key, shape (pairs, 2), smaller id first, sorted, unique.

    Args:
        keys: one band's key of each document, shape (documents,).
        documents: their ids.
        exact: hash of the folded text; of equal texts only the smallest id is compared.
    """
    order = np.lexsort((documents, exact, keys))
    keys, documents, exact = keys[order], documents[order], exact[order]
    first = np.ones(len(keys), bool)
    first[1:] = (keys[1:] != keys[:-1]) | (exact[1:] != exact[:-1])
    order = np.lexsort((documents[first], keys[first]))
    return _pairs_of_runs(keys[first][order], documents[first][order])


def equal_pairs(exact: U64, documents: I64) -> I64:
    """(smallest id, id) of all documents with the same folded text, shape (pairs, 2), by the second."""
    order = np.lexsort((documents, exact))
    exact, documents = exact[order], documents[order]
    begin = np.flatnonzero(np.concatenate(([True], exact[1:] != exact[:-1]))) if len(exact) else np.zeros(0, int)
    leader = np.repeat(documents[begin], np.diff(np.concatenate((begin, [len(exact)]))))
    other = leader != documents
    pairs = np.stack((leader[other], documents[other]), axis=1)
    return pairs[np.argsort(pairs[:, 1])]


def _pairs_of_runs(keys: U64, documents: I64) -> I64:
    begin = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else np.zeros(0, int)
    length = np.diff(np.concatenate((begin, [len(keys)])))
    pieces = [np.zeros((0, 2), np.int64)]
    for step in range(1, FULL_BUCKET):
        runs = (length > step) & ((length <= FULL_BUCKET) | (step == 1))
        if not runs.any():
            break
        left = _spread(begin[runs], length[runs] - step)
        pieces.append(np.stack((documents[left], documents[left + step]), axis=1))
    large = length > FULL_BUCKET
    others = _spread(begin[large] + 1, length[large] - 1)
    leaders = np.repeat(documents[begin[large]], length[large] - 1)
    pieces.append(np.stack((leaders, documents[others]), axis=1))
    return unique_pairs(pieces)


def _spread(begin: I64, counts: I64) -> I64:
    shift = begin - np.concatenate(([0], np.cumsum(counts)))[: len(begin)]
    return np.arange(int(counts.sum())) + np.repeat(shift, counts)


def unique_pairs(pieces: Sequence[I64]) -> I64:
    """All pairs of the pieces, sorted, each once."""
    pairs = np.concatenate(pieces) if pieces else np.zeros((0, 2), np.int64)
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    fresh = np.ones(len(pairs), bool)
    fresh[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
    return pairs[fresh]


def jaccard(a: U64, b: U64) -> float:
    """Of two sorted unique arrays; two empty sets have similarity 0, not 1."""
    shared = len(np.intersect1d(a, b, assume_unique=True))
    return shared / (len(a) + len(b) - shared) if shared else 0.0


@dataclass(frozen=True)
class Compared:
    """The true similarity of each pair that was asked for."""

    similarity: NDArray[np.float64]
    """Not a number where the sizes alone are far from the threshold."""
    template: NDArray[np.bool_]
    """Alike only by a text frame that much of the corpus shares."""


def compare(pairs: I64, texts: Mapping[int, str], unit: Unit, threshold: float, frame: U64) -> Compared:
    """Jaccard similarity of the real n-gram sets of each pair.

    Args:
        pairs: shape (pairs, 2), sorted by the first id.
        texts: the text of every document in the pairs.
        unit: how texts are cut.
        threshold: from here on a pair is also asked whether it is alike only by a template.
        frame: sorted n-gram hashes that much of the corpus shares.
    """
    ids = sorted(texts)
    sets = dict(zip(ids, gram_sets([texts[i] for i in ids], unit), strict=True))
    similarity = np.full(len(pairs), np.nan)
    template = np.zeros(len(pairs), bool)
    for n, (left, right) in enumerate(pairs.tolist()):
        a, b = sets[left], sets[right]
        if min(len(a), len(b)) < threshold / 2 * max(len(a), len(b)):
            continue  # their sizes alone rule the threshold out
        similarity[n] = jaccard(a, b)
        template[n] = similarity[n] >= threshold and _by_template(a, b, frame)
    return Compared(similarity, template)


def _by_template(a: U64, b: U64, frame: U64) -> bool:
    if not len(frame):
        return False
    rests = [s[~np.isin(s, frame, assume_unique=True)] for s in (a, b)]
    enough = all(len(rest) >= max(5, TEMPLATE_REST * len(s)) for rest, s in zip(rests, (a, b), strict=True))
    return enough and jaccard(rests[0], rests[1]) < TEMPLATE_ALIKE


def common_grams(sample: Sequence[U64]) -> U64:
    """n-grams in at least 2 percent (and 5) of the sampled documents, sorted: the corpus's templates."""
    if len(sample) < 50:
        return np.zeros(0, np.uint64)
    values, counts = np.unique(np.concatenate(sample), return_counts=True)
    return values[counts >= max(5, 0.02 * len(sample))]


class Groups:
    """Union-find over document ids; the smallest id leads."""

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}

    def join(self, pairs: Iterable[tuple[int, int]]) -> None:
        for a, b in pairs:
            low, high = sorted((self.leader(a), self.leader(b)))
            if low != high:
                self._parent[high] = low

    def leader(self, id: int) -> int:
        root = id
        while (up := self._parent.get(root, root)) != root:
            root = up
        while (up := self._parent.get(id, id)) != root:
            self._parent[id], id = root, up
        return root

    def members(self) -> dict[int, list[int]]:
        """Leader -> all members, leader first, in order; only groups of two or more."""
        out: dict[int, list[int]] = {}
        for id in sorted(self._parent):
            root = self.leader(id)
            out.setdefault(root, [root])
            if id != root:
                out[root].append(id)
        return out
