"""A text too long to be hashed at once, hashed piece by piece: the same n-grams, sketch and hash in less memory.

Memory is that of a piece for the hash and the sketch, that of the different n-grams for their set; a looped text has
few. Only a word longer than `CUT` characters may come out as two.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from .features import (
    BATCH_CHARS,
    CHAR_N,
    EMPTY,
    GRAM,
    ROUNDS,
    SLOTS,
    SPACE,
    U64,
    WORD_N,
    Batch,
    Grams,
    Unit,
    batches,
    fill,
    grams,
    mix,
    throw,
)

CUT = 1 << 14
"""Characters at the end of a piece among which a blank is looked for, so that no word is cut in two."""
FEW = 4096
"""From this many different n-grams on every slot of a sketch has met one (all but once in 10**50 texts)."""


def gram_sets(texts: Sequence[str], unit: Unit = "auto") -> list[U64]:
    """The sorted set of n-grams of each text, however long."""
    out: list[U64] = []
    for piece in batches(texts):
        if is_long(texts[piece]):
            out.append(LongText(texts[piece][0], unit).gram_set())
            continue
        cut = grams(texts[piece], unit)
        out += [cut.set_of(d) for d in range(len(cut.starts) - 1)]
    return out


def is_long(texts: Sequence[str]) -> bool:
    """Whether a piece of `batches` is one text that needs to be hashed piece by piece."""
    return len(texts) == 1 and len(texts[0]) > BATCH_CHARS


@dataclass(frozen=True)
class LongText:
    text: str
    unit: Unit

    def _pieces(self) -> Iterator[Batch]:
        at = 0
        while at < len(self.text):
            end = at + BATCH_CHARS
            if end < len(self.text):
                end = max(self.text.rfind(blank, end - CUT, end) for blank in " \n\t\u3000") + 1 or end
            yield Batch([self.text[at:end]])
            at = end

    @cached_property
    def unspaced(self) -> bool:
        return Batch.is_unspaced(*np.sum([[one[0] for one in batch.letters()] for batch in self._pieces()], axis=0))

    @property
    def by_char(self) -> bool:
        return self.unspaced if self.unit == "auto" else self.unit == "char"

    def exact(self) -> int:
        """As `Batch.exact`."""
        digest = hashlib.blake2b(digest_size=8)
        after_space, pending = True, b""
        for batch in self._pieces():
            folded = batch.folded[:-1]  # without the end that a batch puts after each text
            space = folded == SPACE
            kept = folded[~(space & np.concatenate(([after_space], space[:-1])))] if len(folded) else folded
            if len(kept):
                digest.update(pending)
                pending = SPACE.tobytes() if kept[-1] == SPACE else b""
                digest.update(kept[: -1 if pending else None].tobytes())
            after_space = bool(space[-1]) if len(space) else after_space
        return int.from_bytes(digest.digest(), "little")

    def hashes(self) -> Iterator[U64]:
        """The different n-grams of each piece, with those that run into it from the piece before."""
        lengths = CHAR_N if self.by_char else (WORD_N,)
        tokens, whole = np.zeros(0, np.uint64), False
        for batch in self._pieces():
            new = batch.chars()[0] if self.by_char else batch.words()[0]
            tokens = np.concatenate((tokens, new))
            whole = whole or len(tokens) >= min(lengths)
            yield np.unique(_windows(tokens, lengths))
            tokens = tokens[-max(lengths) + 1 :]
        if len(tokens) and not whole:  # a text shorter than the shortest n-gram is one n-gram
            few = reduce(lambda a, b: a * int(GRAM) + b, tokens.tolist()) % 2**64
            yield mix(np.array([few], np.uint64))

    def sketch(self) -> NDArray[np.uint32]:
        """As `features.sketch`, shape (1, 128)."""
        out = np.full((1, SLOTS), EMPTY, np.uint32)
        few = np.zeros(0, np.uint64)
        for hashes in self.hashes():
            for round in range(ROUNDS):
                if round and out.max() < round << 30:
                    break  # no slot would be lowered by a later round
                throw(out, hashes, np.zeros(len(hashes), np.int64), round)
            if len(few) < FEW:
                few = np.union1d(few, hashes)
        if len(few):
            fill(out, Grams(few, np.array([0, len(few)])), np.array([0]))
        return out

    def gram_set(self) -> U64:
        """The sorted set of its n-grams."""
        kept, waiting, count = np.zeros(0, np.uint64), [], 0
        for hashes in self.hashes():
            waiting.append(hashes)
            count += len(hashes)
            if count > max(len(kept), 1 << 18):
                kept, waiting, count = np.unique(np.concatenate((kept, *waiting))), [], 0
        return np.unique(np.concatenate((kept, *waiting)))


def _windows(tokens: U64, lengths: Sequence[int]) -> U64:
    """The hash of every run of so many tokens."""
    out, hashes = [], tokens
    for k in range(1, max(lengths)):
        hashes = hashes[:-1] * GRAM + tokens[k:]
        if k + 1 in lengths:
            out.append(hashes)
    return mix(np.concatenate(out))
