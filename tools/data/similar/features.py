"""Texts as sets of n-gram hashes and as sketches, for many documents at once with numpy.

`Batch` folds text (case, width, accents; punctuation separates words) and cuts it into character n-grams
(3 to 5 together) where the script does not put spaces between words, else into word n-grams. `sketch` makes a
signature of 128 slots: two documents agree in a slot with probability equal to the Jaccard similarity of their
n-gram sets, as with 128 permutations, but each n-gram is hashed about once instead of 128 times (Fast Similarity
Sketching, Dahlgaard, Knudsen and Thorup, FOCS 2017).

Hashes have 64 bits: at a million n-grams the chance of any collision is 3e-8. Nothing here reads files.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Unit = Literal["auto", "char", "word"]
U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]

SLOTS = 128
WORD_N = 3
"""Words per n-gram; 3-grams are what the runbook's 80 percent overlap criterion is stated for (002 §4)."""
CHAR_N = (3, 4, 5)
"""Character n-gram lengths, all in one set (000: Chinese needs character 3-5-grams)."""
UNSPACED_SHARE = 0.2
"""From this share of characters in scripts without spaces, a text is cut by characters."""
EMPTY = np.uint32(0xFFFFFFFF)

SEPARATOR, WORD, UNSPACED = 0, 1, 2
SPACE = np.uint32(32)

_UNSPACED_RANGES = ((0x0E00, 0x0EFF), (0x0F00, 0x0FFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF),
                    (0x31F0, 0x31FF), (0x3400, 0x9FFF), (0xAC00, 0xD7A3), (0xF900, 0xFAFF),
                    (0x20000, 0x3FFFF))  # fmt: skip
"""Thai, Lao, Tibetan, Burmese, Khmer, Japanese, Chinese, and Korean (spaced, but agglutinating)."""


KIND_SHIFT = 24
FOLDED = np.uint32((1 << KIND_SHIFT) - 1)


@cache
def tables() -> NDArray[np.uint32]:
    """Folded code point and class (in the bits from `KIND_SHIFT`) of every code point; zero vanishes.

    Folding is compatibility decomposition without the accents U+0300..036F and lower case, where that is one
    character; whitespace becomes a space. Outside the basic plane code points stay as they are.
    """
    fold = np.arange(0x110000, dtype=np.uint32)
    kind = np.full(0x110000, WORD, np.uint32)
    for code in range(0x10000):
        fold[code], kind[code] = _fold_one(chr(code))
    for low, high in _UNSPACED_RANGES:
        ranged = kind[low : high + 1]
        ranged[ranged == WORD] = UNSPACED
    return fold | (kind << np.uint32(KIND_SHIFT))


def _fold_one(char: str) -> tuple[int, int]:
    category = unicodedata.category(char)
    if category[0] == "Z" or char in "\t\n\r\v\f\x1c\x1d\x1e\x1f\x85":
        return 32, SEPARATOR
    if "\u0300" <= char <= "\u036f" or category == "Cf":
        return 0, SEPARATOR
    if category[0] in "PC" and category != "Co":
        wide = unicodedata.normalize("NFKC", char)
        return ord(wide) if len(wide) == 1 else ord(char), SEPARATOR
    plain = [c for c in unicodedata.normalize("NFKD", char) if not "\u0300" <= c <= "\u036f"]
    lower = (plain[0] if len(plain) == 1 else char).lower()
    symbol = category[0] == "S"
    return ord(lower[0]) if len(lower) == 1 else ord(char), SEPARATOR if symbol else WORD


def mix(x: U64) -> U64:
    """A bijective 64-bit finaliser, in place: every bit of the sums below reaches the high and the low bits."""
    shifted = x >> np.uint64(32)
    x ^= shifted
    x *= np.uint64(0xD6E8FEB86659FD93)
    np.right_shift(x, np.uint64(32), out=shifted)
    x ^= shifted
    return x


_rng = np.random.default_rng(20240607)
GRAM = np.uint64(0xA3C59AC2F0ED4F6B)
_ROW = _rng.integers(0, 2**63, SLOTS, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
_BASE = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Grams:
    """The n-gram hashes of some documents, document after document."""

    hashes: U64
    starts: I64
    """Shape (documents + 1,): document d owns `hashes[starts[d]:starts[d + 1]]`, duplicates included."""
    positions: I64 | None = None
    """Shape of `hashes`: the character of its document at which the n-gram begins, when asked for."""

    def of(self, document: int) -> U64:
        return self.hashes[self.starts[document] : self.starts[document + 1]]

    def set_of(self, document: int) -> U64:
        return np.unique(self.of(document))


BATCH_CHARS = 96_000
"""Characters hashed together: few enough that the arrays stay in the cache and are not given back to the system."""


def batches(texts: Sequence[str], limit: int = BATCH_CHARS) -> Iterator[slice]:
    """Runs of consecutive texts of about `limit` characters together."""
    ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
    begin = 0
    while begin < len(ends):
        before = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + limit, side="right")))
        yield slice(begin, end)
        begin = end


class Batch:
    """Some texts as one array of code points, folded and classified once; characters that vanish are gone."""

    def __init__(self, texts: Sequence[str]):
        self.count = len(texts)
        raw = "\n".join((*texts, "")).encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(raw, np.uint32).astype(np.intp)
        lengths = np.fromiter((len(t) + 1 for t in texts), np.int64, len(texts))
        self.starts = np.concatenate(([0], np.cumsum(lengths)))
        self._origin: I64 | None = None
        self._text_starts = self.starts
        self._coded = tables().take(codes)
        if not self._coded.all():
            self._origin = np.flatnonzero(self._coded)
            self.starts = np.searchsorted(self._origin, self.starts)
            self._coded = self._coded[self._origin]

    @cached_property
    def kind(self) -> NDArray[np.uint8]:
        """Class of each code point."""
        return (self._coded >> np.uint32(KIND_SHIFT)).astype(np.uint8)

    @cached_property
    def folded(self) -> NDArray[np.uint32]:
        """Folded code points."""
        return self._coded & FOLDED

    def unspaced(self) -> NDArray[np.bool_]:
        """Which documents are cut by characters, shape (documents,)."""
        return self.is_unspaced(*self.letters())

    def letters(self) -> tuple[I64, I64]:
        """Characters of words, and those of scripts without spaces, of each document."""
        if not self.count:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        words = np.add.reduceat((self.kind != SEPARATOR).view(np.uint8), self.starts[:-1], dtype=np.int64)
        return words, np.add.reduceat((self.kind == UNSPACED).view(np.uint8), self.starts[:-1], dtype=np.int64)

    @staticmethod
    def is_unspaced(words: Any, scripts: Any) -> Any:
        """Whether documents of so many characters of words are cut by characters."""
        return scripts > UNSPACED_SHARE * words

    def exact(self) -> U64:
        """64-bit hash of each text after folding case, width and whitespace; punctuation counts."""
        out = np.empty(self.count, np.uint64)
        space = self.folded == SPACE
        kept = np.ones(len(space), bool)
        kept[1:] = ~(space[1:] & space[:-1])
        folded = self.folded[kept]
        at = np.concatenate(([0], np.cumsum(kept)))[self.starts]
        for i in range(self.count):
            piece = folded[at[i] : at[i + 1]]
            lead = 1 if len(piece) and piece[0] == SPACE else 0
            digest = hashlib.blake2b(
                piece[lead : -1 if len(piece) and piece[-1] == SPACE else None].tobytes(), digest_size=8
            ).digest()
            out[i] = int.from_bytes(digest, "little")
        return out

    def grams(self, texts: Sequence[str], unit: Unit) -> Grams:
        """The n-grams in the unit of each text; `texts` are the ones this batch was made of."""
        by_char = self.unspaced() if unit == "auto" else np.full(self.count, unit == "char")
        if by_char.all() or not by_char.any():
            return self.char_grams() if by_char.any() else self.word_grams()
        chars = Batch([t for t, c in zip(texts, by_char, strict=True) if c]).char_grams()
        words = Batch([t for t, c in zip(texts, by_char, strict=True) if not c]).word_grams()
        counts = np.empty(len(texts), np.int64)
        counts[by_char], counts[~by_char] = np.diff(chars.starts), np.diff(words.starts)
        starts = np.concatenate(([0], np.cumsum(counts)))
        hashes = np.empty(starts[-1], np.uint64)
        for chosen, part in ((by_char, chars), (~by_char, words)):
            hashes[_ranges(starts[:-1][chosen], counts[chosen])] = part.hashes
        return Grams(hashes, starts)

    def char_grams(self, lengths: Sequence[int] = CHAR_N, mask_numbers: bool = False, positions: bool = False) -> Grams:
        """Hashes of the character n-grams of each document, over letters and digits only."""
        tokens, at = self.chars()
        if mask_numbers:
            number = _is_number_char(tokens)
            keep = ~self._continues(number, at)
            tokens, at = np.where(number, np.uint64(48), tokens)[keep], at[keep]
        return self._grams(tokens, at, tuple(lengths), positions)

    def word_grams(self, n: int = WORD_N, mask_numbers: bool = False, positions: bool = False) -> Grams:
        """Hashes of the word n-grams of each document."""
        words, at = self.words()
        if mask_numbers:
            number = _is_number_word(self, words, at)
            keep = ~self._continues(number, at)
            words, at = np.where(number, np.uint64(48), words)[keep], at[keep]
        return self._grams(words, at, (n,), positions)

    def chars(self) -> tuple[U64, I64]:
        """(folded code point, index) of every letter and digit of every document."""
        at = np.flatnonzero(self._coded > FOLDED)
        tokens = self._coded.take(at)
        tokens &= FOLDED
        return tokens.astype(np.uint64), at

    def words(self) -> tuple[U64, I64]:
        """(hash, index of the first code point) of every word of every document."""
        inside = self.kind != SEPARATOR
        edge = np.flatnonzero(inside[1:] != inside[:-1]) + 1
        if len(inside) and inside[0]:
            edge = np.concatenate(([0], edge))
        first, last = edge[::2], edge[1::2]  # the text ends with a separator, so edges come in pairs
        letters = self.folded.astype(np.uint64) * _BASE
        letters ^= letters >> np.uint64(29)
        power = _powers(len(letters))
        total = np.concatenate((np.zeros(1, np.uint64), np.cumsum(letters * power[0])))
        words = (total[last] - total[first]) * power[1].take(first)
        return mix(words), first

    def _continues(self, masked: NDArray[np.bool_], at: I64) -> NDArray[np.bool_]:
        """Which masked tokens follow a masked token of their document ("3.5" and "thirty five" are one number)."""
        out = np.zeros(len(masked), bool)
        out[1:] = masked[1:] & masked[:-1]
        first = np.searchsorted(at, self.starts[:-1])
        out[first[first < len(at)]] = False
        return out

    def _grams(self, tokens: U64, at: I64, lengths: tuple[int, ...], positions: bool) -> Grams:
        """n-grams of a token sequence; a document shorter than the shortest n is one n-gram."""
        total, shortest, longest = len(tokens), min(lengths), max(lengths)
        starts = np.searchsorted(at, self.starts)
        sizes = np.diff(starts)
        padded = np.concatenate((tokens, np.zeros(longest, np.uint64)))
        table = np.empty((total, len(lengths)), np.uint64)
        valid = np.ones((total, len(lengths)), bool)
        hashes = tokens.copy()
        for k in range(1, longest):
            hashes *= GRAM
            hashes += padded[k : k + total]
            if k + 1 in lengths:
                column = lengths.index(k + 1)
                if len(lengths) == 1:
                    table = hashes[:, None]
                else:
                    table[:, column] = hashes
                last = (starts[1:, None] - np.arange(1, k + 1)).ravel()  # n-grams that would run into the next text
                valid[last[last >= 0], column] = False
        for d in np.flatnonzero((sizes > 0) & (sizes < shortest)):
            few = tokens[starts[d] : starts[d + 1]].tolist()
            table[starts[d], 0] = reduce(lambda a, b: a * int(GRAM) + b, few) % 2**64
            valid[starts[d], 0] = True
        counts = np.sum([np.maximum(sizes - n + 1, 0) for n in lengths], axis=0)
        counts[(sizes > 0) & (sizes < shortest)] = 1
        where = None
        if positions:
            where = np.repeat(self._characters(at), len(lengths)).reshape(valid.shape)[valid]
        return Grams(mix(table[valid]), np.concatenate(([0], np.cumsum(counts))), where)

    def _characters(self, at: I64) -> I64:
        """The place of each kept code point in its own document's text."""
        origin = at if self._origin is None else self._origin[at]
        return origin - self._text_starts[np.searchsorted(self._text_starts, origin, side="right") - 1]


def _ranges(begin: I64, counts: I64) -> I64:
    """begin[0], begin[0]+1, ... counts[0] of them, then begin[1], ..."""
    total = int(counts.sum())
    shift = begin - np.concatenate(([0], np.cumsum(counts)))[:-1]
    return np.arange(total) + np.repeat(shift, counts)


@cache
def _power_table(size: int) -> tuple[U64, U64]:
    base = np.full(size, _BASE, np.uint64)
    inverse = np.full(size, np.uint64(pow(int(_BASE), -1, 2**64)), np.uint64)
    base[:1] = inverse[:1] = 1
    return np.cumprod(base), np.cumprod(inverse)


def _powers(size: int) -> tuple[U64, U64]:
    """Powers of an odd base and of its inverse modulo 2^64, at least `size` of them."""
    base, inverse = _power_table(max(1 << 16, 1 << max(size - 1, 1).bit_length()))
    return base[:size], inverse


def _is_number_char(tokens: U64) -> NDArray[np.bool_]:
    chinese = np.array([ord(c) for c in "零〇一二两三四五六七八九十百千万亿"], np.uint64)
    return ((tokens >= np.uint64(48)) & (tokens <= np.uint64(57))) | np.isin(tokens, chinese)


@cache
def _number_words() -> U64:
    names = (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand"
    )
    return np.sort(Batch([names]).words()[0])


def _is_number_word(batch: Batch, words: U64, at: I64) -> NDArray[np.bool_]:
    first = batch.folded.take(at)
    return ((first >= 48) & (first <= 57)) | np.isin(words, _number_words())


def grams(texts: Sequence[str], unit: Unit = "auto") -> Grams:
    """The n-grams of each text, cut by characters or words as its script asks (or as `unit` says)."""
    return Batch(texts).grams(texts, unit)


ROUNDS = 4
"""Rounds in which every n-gram throws one ball at the slots, each steered by 7 other bits of its hash above the 32 that
are its value; slots still empty then are filled directly."""


def sketch(grams: Grams) -> NDArray[np.uint32]:
    """Signatures, shape (documents, 128), dtype uint32; rows without any n-gram stay `EMPTY`."""
    counts = np.diff(grams.starts)
    out = np.full((len(counts), SLOTS), EMPTY, np.uint32)
    chosen, hashes = np.flatnonzero(counts), grams.hashes
    for round in range(ROUNDS):
        throw(out, hashes, np.repeat(chosen * SLOTS, counts[chosen]), round)
        unfilled = (out[chosen] == EMPTY).any(axis=1)
        if not unfilled.any():
            return out
        if unfilled.mean() < MOSTLY:
            hashes = hashes[np.repeat(unfilled, counts[chosen])]
            chosen = chosen[unfilled]
    fill(out, grams, chosen)
    return out


MOSTLY = 0.8
"""From this share of documents with an empty slot on, leaving the others out costs more than throwing for them too."""


def throw(out: NDArray[np.uint32], hashes: U64, row: I64, round: int) -> None:
    """Lower each n-gram's slot to its value; values of a later round are above all earlier ones."""
    slot = hashes >> np.uint64(57 - 7 * round)
    if round:
        slot &= np.uint64(SLOTS - 1)
    slot |= row.view(np.uint64)
    value = hashes.astype(np.uint32)
    value >>= np.uint32(2)
    if round:
        value |= np.uint32(round << 30)
    np.minimum.at(out.reshape(-1), slot.view(np.int64), value)


def fill(out: NDArray[np.uint32], grams: Grams, chosen: I64) -> None:
    """Give each empty slot of the chosen documents its own permutation."""
    rows, slots = np.nonzero(out[chosen] == EMPTY)
    rows = chosen[rows]
    for begin in range(0, len(rows), 1 << 14):
        row, slot = rows[begin : begin + (1 << 14)], slots[begin : begin + (1 << 14)]
        counts = np.diff(grams.starts)[row]
        x = grams.hashes[_ranges(grams.starts[row], counts)]
        x = mix(x + np.repeat(_ROW[slot], counts)).astype(np.uint32)
        out[row, slot] = np.minimum.reduceat(x, np.concatenate(([0], np.cumsum(counts)))[:-1])


def bands(signatures: NDArray[np.uint32], rows: int) -> U64:
    """One key per band of `rows` slots, shape (bands, documents); equal keys make a candidate pair."""
    count = SLOTS // rows
    slots = signatures[:, : count * rows].astype(np.uint64) * _ROW[: count * rows]
    return mix(np.ascontiguousarray(slots.reshape(-1, count, rows).sum(axis=2).T))
