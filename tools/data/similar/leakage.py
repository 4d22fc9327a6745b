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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...findings import Check, Evidence, Finding, Report, Severity, TriageError, clean, declare
from ..engine import Engine, Local
from ..pii import mask
from ..records.blocks import Stream, blocks, plan
from ..records.record import Broken, Lines, Part, unread
from ..records.shapes import View, view
from .corpus import note_broken
from .features import I64, U64, Batch, Grams, batches

CODES = declare(
    "data leakage",
    ("eval-leakage", "evaluation items in the training data", "evaluation items are in the training data"),
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
MIN_GRAMS = 6
"""Items with fewer n-grams are only matched whole."""
MIN_MASKED = 16
"""n-grams an item needs before its number-masked form is evidence."""
MASKED_THRESHOLD = 0.9
RARE_THRESHOLD = 0.6
"""The n-grams found must also hold this share of the item's rarity: items of one template share much, but not that."""
RARE_SHARE = 0.01
"""n-grams in at most this share of the items (or 3) are looked up; and each item's `RAREST` in any case."""
RAREST = 8
LOOKED_UP_SHARE = 0.3
"""From this share of an item's looked-up n-grams on, the record is compared with the whole item."""
STRETCH = 2.0
"""The matched stretch of a record is at most this many times as long as the item."""
WIDESPREAD = 20
"""An item found in at least this many training records is also listed as widespread (a well-known text)."""
HITS_KEPT = 2000
"""Matches of one part that are kept with their text; the others are only counted."""
SHOWN = 8
BOILERPLATE = re.compile(
    r"licensed under the apache license|permission is hereby granted, free of charge|all rights reserved"
    r"|redistribution and use in source|gnu general public license|without warranties or conditions of any kind"
    r"|lorem ipsum dolor|cookie policy|terms of service"
    r"|版权所有|未经授权|本作品采用|免责声明",
    re.IGNORECASE,
)


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
    threshold: float = 0.8
    unread: tuple[Check, ...] = ()


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
    return Index(items, tables, whole, len(items) - len(judged), threshold, stream.checks())


def _table(batch: Batch, unit: Literal["char", "word"], masked: bool, chosen: NDArray[np.bool_]) -> Table:
    grams = (batch.char_grams if unit == "char" else batch.word_grams)(mask_numbers=masked)
    least = MIN_MASKED if masked else MIN_GRAMS
    sets = [grams.set_of(n) if chosen[n] else np.zeros(0, np.uint64) for n in range(batch.count)]
    sets = [s if len(s) >= least else s[:0] for s in sets]
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
    out = Found(part.number)
    for block in blocks(part):
        note_broken(out, block.broken)
        seen = [view(r.value, chosen_field) for r in block.records]
        for piece in batches([v.text for v in seen]):
            for row, leak in search(index, seen[piece]):
                record = block.records[piece.start + row]
                leak = Leak(**{**leak.__dict__, "line": record.line, "byte": record.byte})
                if len(out.leaks) < HITS_KEPT:
                    out.leaks.append(leak)
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
    need = MASKED_THRESHOLD if table.masked else index.threshold
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
        if share >= need and rare >= RARE_THRESHOLD:
            yield row, _classify(index, item, table.masked, share, texts[row], low, high)


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
    elif share < 0.99:
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
    broken: dict[int, list[Broken]] = field(default_factory=dict)

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
        out.broken[part.number] = found.broken
        out.rows += [(part.name, lines.absolute(part, leak.line), leak) for leak in found.leaks]
    return out


def leak_rows(leaks: Leaks) -> Iterator[dict[str, Any]]:
    """Every match as a row: kind, containment, both places, the stretch and the matched text."""
    for file, line, leak in leaks.rows:
        item = leaks.index.items[leak.item]
        row = {
            "kind": f"leak-{leak.kind}",
            "similarity": leak.containment,
            "measure": "containment",
            "a": {"file": item.file, "line": item.line},
            "b": {"file": file, "line": line, "byte": leak.byte, "start": leak.start, "end": leak.end},
            "text": leak.text,
        }
        yield row | ({"benign": leak.benign} if leak.benign else {})


def leak_report(leaks: Leaks) -> Report:
    items = leaks.items()
    total = len(leaks.index.items)
    kinds: Counter[str] = Counter(leak.kind for leak in items.values())
    benign = Counter(leak.benign for _, _, leak in leaks.rows if leak.benign)
    summary = {
        "leaked": len(items),
        "leak_rate": len(items) / total,
        "eval_items": total,
        "leaked_by_kind": dict(kinds),
        "leak_threshold": leaks.index.threshold,
        "leak_unit": "evaluation items; containment of their word 3-grams "
        "(character 3-5-grams where the script has no spaces) in one stretch of a training record",
        "leak_denominator": "evaluation items with text",
        "train_records_with_leak": len({(f, n) for f, n, _ in leaks.counted()}),
        "widespread_items": sum(n >= WIDESPREAD for n in Counter(k.item for _, _, k in leaks.rows).values()),
        "benign_overlap": dict(benign),
        "eval_items_matched_whole_only": leaks.index.short,
    }
    findings = (_finding(leaks, items, kinds, total),) if items else ()
    return Report("data dedup", findings, (*_checks(leaks, items), *unread(leaks.parts, leaks.broken)), summary)


def _finding(leaks: Leaks, items: dict[int, Leak], kinds: Counter[str], total: int) -> Finding:
    rate = len(items) / total
    counts = ", ".join(f"{k} {n}" for k, n in kinds.items())
    certain = sum(n for k, n in kinds.items() if k != "numbers-changed")
    severity = Severity.S1 if certain / total >= LEAK_ACCEPTED else Severity.S2
    evidence = tuple(_evidence(leaks, items))
    return Finding(
        "eval-leakage",
        severity,
        f"{len(items)} of {total} evaluation items ({rate:.2%}) are in the training data ({counts}); "
        "the runbook accepts less than 0.1%. Scores on these items measure memory.",
        f"{total} 条评测样本中有 {len(items)} 条（{rate:.2%}）出现在训练数据中（{counts}）；手册要求低于 0.1%。",
        evidence,
        {"leaked": len(items), "items": total, "rate": rate, "by_kind": dict(kinds)},
    )


def _evidence(leaks: Leaks, items: Iterable[int]) -> Iterator[Evidence]:
    left = dict.fromkeys(items)
    for file, line, leak in leaks.counted():
        if leak.item in left and len(left):
            del left[leak.item]
            item = leaks.index.items[leak.item]
            yield Evidence(file, line, value=f"{leak.kind} of {item.file}:{item.line}", text=leak.text)
        if len(left) + SHOWN <= len(leaks.items()):
            return


def _checks(leaks: Leaks, items: dict[int, Leak]) -> Iterator[Check]:
    why = (
        f"{len(leaks.index.items)} evaluation items looked for in {leaks.records} training records; translations "
        f"and free paraphrases are not visible to n-grams; {leaks.index.short} short items are only matched whole"
    )
    yield Check("evaluation items in the training data", "found" if items else "clear", why)
    if benign := Counter(leak.benign for _, _, leak in leaks.rows if leak.benign):
        counts = ", ".join(f"{kind} {n}" for kind, n in benign.items())
        yield Check("benign overlap", "clear", f"{counts} matches listed apart (--pairs, --sample), not counted")
    yield from leaks.index.unread
