"""Evaluation items made ready to be looked for: their n-grams by rarity, and which of them are looked up.

Where an item is found is decided in `leakage`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...findings import TriageError
from ..records.blocks import Stream
from ..records.record import Account, Part
from ..records.shapes import view
from .features import I64, U64, Batch, Grams

MIN_GRAMS = 6
"""Items with fewer n-grams are only matched whole."""
MIN_MASKED = 16
"""n-grams an item needs before its number-masked form is evidence."""
TEMPLATED, OTHERS, OWNERS = 0.6, 2, 50
"""An item is one of a template where this share of its n-grams without numbers stands in each of so many other items;
of a very common n-gram that many items are looked at. Ours."""
RARE_SHARE = 0.01
"""n-grams in at most this share of the items (or 3) are looked up; and each item's `RAREST` in any case."""
RAREST = 8
LOOKED_UP_SHARE = 0.3
"""From this share of an item's looked-up n-grams on, the record is compared with the whole item."""


@dataclass(frozen=True)
class Item:
    """One evaluation item."""

    file: str
    line: int
    text: str


@dataclass
class Table:
    """The n-grams of all items in one unit."""

    unit: Literal["char", "word"]
    masked: bool
    sets: list[U64]
    """Sorted n-grams of each item; empty when the item is not judged by this table."""
    rarity: list[NDArray[np.float64]]
    """For each n-gram of a set, log(1 + items / items that hold it)."""
    keys: U64
    """Sorted n-grams that are looked up."""
    first: I64
    """Shape (keys + 1,): the items that hold key k are `owners[first[k]:first[k + 1]]`."""
    owners: I64
    looked_up: I64
    """Shape (items,): how many of an item's n-grams are keys."""
    templated: int = 0
    """Items that a table without numbers does not judge: others are the same but for a few words."""

    @cached_property
    def sieve(self) -> NDArray[np.bool_]:
        """By the top 22 bits of a hash: false means that it is no key."""
        out = np.zeros(1 << 22, bool)
        out[(self.keys >> np.uint64(42)).astype(np.int64)] = True
        return out

    def grams(self, batch: Batch) -> Grams:
        cut = batch.char_grams if self.unit == "char" else batch.word_grams
        return cut(mask_numbers=self.masked, positions=True)

    def find(self, hashes: U64) -> tuple[I64, I64]:
        """(index in `hashes`, index in `keys`) of the hashes that are keys."""
        maybe = np.flatnonzero(self.sieve.take((hashes >> np.uint64(42)).astype(np.int64)))
        at = np.searchsorted(self.keys, hashes[maybe])
        at[at == len(self.keys)] = 0
        real = self.keys[at] == hashes[maybe] if len(self.keys) else np.zeros(0, bool)
        return maybe[real], at[real]

    def candidates(self, grams: Grams) -> list[tuple[int, int]]:
        """(document, item) pairs that share enough looked-up n-grams."""
        at, key = self.find(grams.hashes)
        if not len(at):
            return []
        counts = np.diff(self.first)[key]
        row = np.repeat(np.searchsorted(grams.starts, at, side="right") - 1, counts)
        slot = np.repeat(self.first[key] - np.concatenate(([0], np.cumsum(counts)))[:-1], counts)
        item = self.owners[slot + np.arange(len(slot))]
        pair = row * len(self.sets) + item
        code = np.unique(pair * len(self.keys) + np.repeat(key, counts))
        pairs, shared = np.unique(code // len(self.keys), return_counts=True)
        enough = shared >= np.maximum(2, LOOKED_UP_SHARE * self.looked_up[pairs % len(self.sets)])
        return [divmod(p, len(self.sets)) for p in pairs[enough].tolist()]


@dataclass
class Index:
    """All evaluation items, ready for lookup; picklable."""

    items: list[Item]
    tables: list[Table]
    whole: dict[int, int]
    """Exact hash of an item's folded text -> item."""
    short: int = 0
    """Items that can only be matched whole."""
    templated: int = 0
    """Items of a template, whose own text is looked for, but not the same with other numbers: all of them are that."""
    threshold: float = 0.8
    account: Account = field(default_factory=Account)


def build_index(paths: Sequence[Path | Part], threshold: float, field: str | None = None) -> Index:
    """The evaluation items under `paths`: the prompt of each record, or its text when it has none.

    Raises:
        TriageError: nothing to read, or no record with text.
    """
    items: list[Item] = []
    stream = Stream(paths)
    for file, line, record in stream:
        seen = view(record.value, field)
        if text := (seen.prompt or seen.text).strip():
            items.append(Item(file, line, text))
    if not items:
        raise TriageError(f"no evaluation item with text in {', '.join(map(str, paths))}; name the field with --field")
    batch = Batch([i.text for i in items])
    by_char = batch.unspaced()
    units: tuple[tuple[Literal["char", "word"], Any], ...] = (("word", ~by_char), ("char", by_char))
    tables = [_table(batch, unit, masked, chosen) for unit, chosen in units if chosen.any() for masked in (False, True)]
    whole = {int(h): n for n, h in reversed(list(enumerate(batch.exact())))}
    judged = {n for t in tables if not t.masked for n, s in enumerate(t.sets) if len(s)}
    templated = sum(t.templated for t in tables)
    return Index(items, tables, whole, len(items) - len(judged), templated, threshold, stream.account)


def _table(batch: Batch, unit: Literal["char", "word"], masked: bool, chosen: NDArray[np.bool_]) -> Table:
    grams = (batch.char_grams if unit == "char" else batch.word_grams)(mask_numbers=masked)
    least = MIN_MASKED if masked else MIN_GRAMS
    sets = [grams.set_of(n) if chosen[n] else np.zeros(0, np.uint64) for n in range(batch.count)]
    sets = [s if len(s) >= least else s[:0] for s in sets]
    alike = _templated(sets) if masked else np.zeros(len(sets), bool)
    sets = [s[:0] if a else s for s, a in zip(sets, alike, strict=True)]
    keys, held = np.unique(np.concatenate(sets), return_counts=True)
    items = int(chosen.sum())
    counts = [held[np.searchsorted(keys, s)] for s in sets]
    looked_up: list[tuple[int, U64]] = []
    for n, (grams_of, count) in enumerate(zip(sets, counts, strict=True)):
        limit = max(3.0, RARE_SHARE * items)
        if (count <= limit).sum() < min(RAREST, len(count)):
            limit = np.sort(count)[min(RAREST, len(count)) - 1]
        looked_up.append((n, grams_of[count <= limit]))
    hashes = np.concatenate([h for _, h in looked_up])
    owners = np.repeat([n for n, _ in looked_up], [len(h) for _, h in looked_up])
    order = np.argsort(hashes, kind="stable")
    chosen_keys, first = np.unique(hashes[order], return_index=True)
    return Table(
        unit,
        masked,
        sets,
        [np.log1p(items / c) for c in counts],
        chosen_keys,
        np.append(first, len(hashes)),
        owners[order],
        np.array([len(h) for _, h in looked_up]),
        int(alike.sum()),
    )


def _templated(sets: Sequence[U64]) -> NDArray[np.bool_]:
    """Which items are of a template: most of each stands in several other items."""
    hashes = np.concatenate(sets)
    owners = np.repeat(np.arange(len(sets)), [len(s) for s in sets])
    order = np.argsort(hashes, kind="stable")
    hashes, owners = hashes[order], owners[order]
    out = np.zeros(len(sets), bool)
    for n, grams in enumerate(sets):
        if not len(grams):
            continue
        first = np.searchsorted(hashes, grams)
        count = np.minimum(np.searchsorted(hashes, grams, side="right") - first, OWNERS)
        at = np.repeat(first - np.concatenate(([0], np.cumsum(count)))[:-1], count) + np.arange(int(count.sum()))
        shared = np.bincount(owners[at], minlength=len(sets))
        shared[n] = 0
        out[n] = np.count_nonzero(shared >= TEMPLATED * len(grams)) >= OTHERS
    return out
