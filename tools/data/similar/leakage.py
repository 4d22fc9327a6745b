"""Evaluation items inside training data: verbatim, reformatted, embedded in longer text, or with changed numbers.

Each item's n-grams are looked for in every training record (no sketch: nothing is missed by chance), then the
best stretch of the record is compared again, so that long documents do not match by accident. n-grams weigh by how
few items hold them, so that items of one template are not taken for each other; matches of known boilerplate, or of
the public passage that a question is about, are listed apart. Translations and free paraphrases are not found:
they share no n-grams.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

import numpy as np

from ...findings import clean, declare
from ..engine import Engine, Local
from ..pii import mask
from ..records.blocks import blocks, plan
from ..records.record import Account, Broken, Lines, Part
from ..records.shapes import View, view
from .corpus import note_broken
from .features import I64, U64, Batch, Grams, batches
from .items import Index, Table, build_index

CODES = declare(
    "data leakage",
    ("eval-leakage", "evaluation items in the training data", "evaluation items are in the training data"),
    ("eval-items-renumbered", "evaluation items in the training data",
     "evaluation items are in the training data with other numbers, and none with its own"),
    ("eval-items-alike", "evaluation items in the training data",
     "a few short or altered evaluation items resemble rows of the training data, as chance and common phrases give"),
)  # fmt: skip

Match = Literal["verbatim", "normalised", "embedded", "partial", "numbers-changed"]
KIND_MEANING: dict[Match, str] = {
    "verbatim": "the same characters",
    "normalised": "the same text after folding case, width, punctuation and spaces",
    "embedded": "the item's text inside a longer record",
    "partial": "most n-grams of the item, with small changes",
    "numbers-changed": "the same text once numbers are masked",
}
LEAK_ACCEPTED = 0.001
"""Leaked items / items stays below 0.1 percent: runbook 000, `eval-leakage`."""
FEW, LONG = 0.01, 24
"""Share of items below which short or altered ones are those that any two sets of one language have in common, and
letters of an item that nobody writes twice by chance, where one of Chinese counts twice. Ours."""
MASKED_THRESHOLD = 0.9
RARE_THRESHOLD = 0.6
"""The n-grams found must also hold this share of the item's rarity: items of one template share much, but not that."""
OWN_THRESHOLD = 0.7
"""The same share where n-grams count the less the more training records hold them: a template says nothing."""
WHOLE = 0.99
"""Share of an item's n-grams from which on it is there as a whole."""
STRETCH = 2.0
"""The matched stretch of a record is at most this many times as long as the item."""
WIDESPREAD = 20
"""An item found in at least this many training records is also listed as widespread (a well-known text)."""
HITS_KEPT = 2000
"""Matches of one part that are kept with their text, and those that are an item's clearest; the others are counted."""
SHOWN = 8
BOILERPLATE = re.compile(
    r"licensed under the apache license|permission is hereby granted, free of charge|all rights reserved"
    r"|redistribution and use in source|gnu general public license|without warranties or conditions of any kind"
    r"|lorem ipsum dolor|cookie policy|terms of service"
    r"|版权所有|未经授权|本作品采用|免责声明",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Leak:
    """One training record that holds one evaluation item."""

    item: int
    line: int
    """Relative to the part."""
    byte: int | None
    kind: Match
    containment: float
    """Share of the item's n-grams that the stretch holds."""
    start: int
    end: int
    """The stretch, as characters of the record's text."""
    text: str
    """The stretch, masked and bounded."""
    benign: str = ""
    """Why it is no leak, when it is none."""


@dataclass
class Found:
    """The leaks of one part."""

    part: int
    lines: int = 0
    records: int = 0
    leaks: list[Leak] = field(default_factory=list)
    more: int = 0
    broken: list[Broken] = field(default_factory=list)
    broken_count: int = 0


def search_part(index: Index, chosen_field: str | None, part: Part) -> Found:
    """All evaluation items in one part of the training data."""
    out, order, known = Found(part.number), {kind: n for n, kind in enumerate(KIND_MEANING)}, dict[int, int]()
    for block in blocks(part):
        note_broken(out, block.broken)
        seen = [view(r.value, chosen_field) for r in block.records]
        for piece in batches([v.text for v in seen]):
            for row, leak in search(index, seen[piece]):
                record = block.records[piece.start + row]
                clearer = order[leak.kind] < known.get(leak.item, len(order))
                if clearer or len(out.leaks) < HITS_KEPT:
                    known[leak.item] = min(order[leak.kind], known.get(leak.item, len(order)))
                    out.leaks.append(replace(leak, line=record.line, byte=record.byte))
                else:
                    out.more += 1
        out.records += len(block.records)
        out.lines += block.lines
    return out


def search(index: Index, views: Sequence[View]) -> Iterator[tuple[int, Leak]]:
    """(row, leak) for every record of a small batch."""
    texts = [v.text for v in views]
    found: dict[tuple[int, int], Leak] = {}
    _match_whole(index, views, texts, found)
    batch = Batch(texts)
    for table in index.tables:
        for row, leak in _match_table(index, table, batch, texts):
            found.setdefault((row, leak.item), leak)
    for (row, _), leak in sorted(found.items()):
        yield row, leak


def _match_whole(index: Index, views: Sequence[View], texts: list[str], found: dict[tuple[int, int], Leak]) -> None:
    for pieces in ([v.prompt for v in views], texts):
        for row, key in enumerate(Batch([p.strip() for p in pieces]).exact()):
            item = index.whole.get(int(key))
            if item is None or not pieces[row].strip():
                continue
            start = texts[row].find(pieces[row].strip())
            kind: Match = "verbatim" if index.items[item].text in texts[row] else "normalised"
            found.setdefault(
                (row, item),
                _leak(index, item, kind, 1.0, texts[row], max(start, 0), max(start, 0) + len(pieces[row].strip())),
            )


def _leak(index: Index, item: int, kind: Match, share: float, text: str, start: int, end: int) -> Leak:
    stretch = text[start:end]
    benign = _benign(index.items[item].text, stretch, kind)
    return Leak(item, 0, None, kind, round(share, 4), start, end, clean(mask(stretch[:1200]), 300), benign)


def _benign(item: str, stretch: str, kind: Match) -> str:
    """Why a match is no leak: boilerplate, or only the public passage that a question is about."""
    if len(item) < 400 and BOILERPLATE.search(item) and BOILERPLATE.search(stretch):
        return "boilerplate"
    question = item.rstrip().rsplit("\n", 1)[-1]
    if kind == "partial" and len(question) < 0.5 * len(item):
        batch = Batch([question, stretch])
        grams = batch.char_grams() if batch.unspaced()[0] else batch.word_grams()
        asked = grams.set_of(0)
        if len(asked) >= 4 and np.isin(asked, grams.of(1)).mean() < 0.2:
            return "quotation"
    return ""


def _match_table(index: Index, table: Table, batch: Batch, texts: list[str]) -> Iterator[tuple[int, Leak]]:
    grams = table.grams(batch)
    assert grams.positions is not None
    need, wording = MASKED_THRESHOLD if table.masked else index.threshold, _Wording(grams, batch)
    for row, item in table.candidates(grams):
        begin, end = grams.starts[row], grams.starts[row + 1]
        wanted, hashes = table.sets[item], grams.hashes[begin:end]
        at = np.minimum(np.searchsorted(wanted, hashes), len(wanted) - 1)
        hit = np.flatnonzero(wanted[at] == hashes)
        spots, which = grams.positions[begin:end][hit], at[hit]
        if np.count_nonzero(np.bincount(which)) < need * len(wanted):
            continue
        low, high, found = _best_stretch(spots, which, len(index.items[item].text))
        share = len(found) / len(wanted)
        rare = table.rarity[item][found].sum() / table.rarity[item].sum()
        if share >= need and rare >= RARE_THRESHOLD and (share >= WHOLE or wording.own(wanted, found)):
            yield row, _classify(index, item, table.masked, share, texts[row], low, high)


@dataclass(frozen=True)
class _Wording:
    """What the records of a batch say, each different one once."""

    grams: Grams
    batch: Batch

    @cached_property
    def known(self) -> tuple[U64, I64]:
        """The n-grams, sorted, and in how many places each stands."""
        grams = self.grams
        _, rows = np.unique(self.batch.exact(), return_index=True)
        hashes = np.concatenate([grams.hashes[grams.starts[row] : grams.starts[row + 1]] for row in rows])
        return np.unique(hashes, return_counts=True)

    def own(self, wanted: U64, found: I64) -> bool:
        """Whether what was found of an item is its own, and not the wording that many different training records share.

        Of a template, what is missing is what no other record has. Copies of one record count once.
        """
        known, counts = self.known
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        weights = 1 / np.where(known[at] == wanted, counts[at], 1)
        return bool(weights[found].sum() >= OWN_THRESHOLD * weights.sum())


def _best_stretch(spots: I64, which: I64, length: int) -> tuple[int, int, I64]:
    """(first, last position, n-grams found) of the stretch that holds the most different n-grams of an item."""
    order = np.argsort(spots, kind="stable")
    spots, which = spots[order], which[order]
    limit = STRETCH * length + 20
    if spots[-1] - spots[0] <= limit:
        return int(spots[0]), int(spots[-1]), np.unique(which)
    held: Counter[int] = Counter()
    best, low, span = 0, 0, (0, 0)
    for high, gram in enumerate(which.tolist()):
        held[gram] += 1
        while spots[high] - spots[low] > limit:
            held[int(which[low])] -= 1
            if not held[int(which[low])]:
                del held[int(which[low])]
            low += 1
        if len(held) > best:
            best, span = len(held), (low, high)
    return int(spots[span[0]]), int(spots[span[1]]), np.unique(which[span[0] : span[1] + 1])


def _classify(index: Index, item: int, masked: bool, share: float, text: str, low: int, high: int) -> Leak:
    wanted = index.items[item].text
    at = text.find(wanted)
    if at >= 0:
        kind: Match = "verbatim" if len(text) <= 1.5 * len(wanted) else "embedded"
        return _leak(index, item, kind, share, text, at, at + len(wanted))
    end = min(len(text), max(high + 12, low + min(len(wanted), high - low + 40)))
    if masked:
        kind = "numbers-changed"
    elif share < WHOLE:
        kind = "partial"
    else:
        kind = "normalised" if len(text) <= 1.5 * len(wanted) else "embedded"
    return _leak(index, item, kind, share, text, max(low, 0), end)


@dataclass
class Leaks:
    """All leaks of a training set."""

    index: Index
    parts: Sequence[Part]
    rows: list[tuple[str, int, Leak]]
    """(training file, absolute line, leak)."""
    records: int = 0
    more: int = 0
    account: Account = field(default_factory=Account)

    def counted(self) -> list[tuple[str, int, Leak]]:
        return [row for row in self.rows if not row[2].benign]

    def items(self) -> dict[int, Leak]:
        """Leaked item -> its clearest leak."""
        order = list(KIND_MEANING)
        out: dict[int, Leak] = {}
        for _, _, leak in self.counted():
            if leak.item not in out or order.index(leak.kind) < order.index(out[leak.item].kind):
                out[leak.item] = leak
        return out


def find_leaks(
    train: Sequence[Path | Part],
    against: Sequence[Path | Part],
    *,
    threshold: float = 0.8,
    field: str | None = None,
    engine: Engine | None = None,
) -> Leaks:
    """Evaluation items of `against` in the training data under `train`.

    Raises:
        TriageError: a path does not exist or holds no data.
    """
    index = build_index(against, threshold, field)
    parts = plan(train)
    lines, out = Lines(), Leaks(index, parts, [])
    for part, found in zip(parts, (engine or Local()).map(partial(search_part, index, field), parts), strict=True):
        lines.add(part, found.lines)
        out.records += found.records
        out.more += found.more
        out.account.add(part.name, found.records, found.broken, found.broken_count)
        out.rows += [(part.name, lines.absolute(part, leak.line), leak) for leak in found.leaks]
    return out
