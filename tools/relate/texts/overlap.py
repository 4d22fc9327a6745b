"""Texts of an evaluation that stand, nearly whole, in a text of the training, by their names in the run.

Records that a reader of data knows are compared in `tools.data.similar`; this is for texts under any name of a column.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...answered import called_results, is_answered
from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Table
from ..distributions import texts

HELD = bounded(r"(?i)(?:^|[/_.-])(?:eval(?:uation)?|valid(?:ation)?|val|dev|test|held_?out|holdout|bench\w*)"
               r"(?:[/_.-]|$)|评测|验证|测试")  # fmt: skip
SEEN = bounded(r"(?i)(?:^|[/_.-])(?:train(?:ing)?|sft|corpus|pretrain\w*|shards?)(?:[/_.-]|$)|训练|语料")
LEAST, LONG = 20, 60
"""Texts on each side, and characters of a usual one, below which nothing is said."""
ITEMS, DOCS, GRAMS = 3000, 30_000, 400
"""Texts of each side, and pieces of each, that are looked at."""
KNOWN, FEW = 0.8, 0.001
"""002: overlap of 3-grams above 80%; 000: leaked items below 0.1%."""
PIECES, OWN = 12, 0.8
"""Pieces of a text that is compared, and share of a column's texts that are different ones: others are forms."""
COMMON = 20
"""Training texts from which on a piece is common and points to none."""


@dataclass(frozen=True)
class _Text:
    table: Table
    row: int
    grams: frozenset[str]


def overlapping(tables: Sequence[Table]) -> Iterator[Finding]:
    """The share of the evaluation's texts that a text of the training holds."""
    held = [x for t in tables if HELD.search(t.file) for x in _texts(t, ITEMS)][:ITEMS]
    learned = [t for t in tables if SEEN.search(t.file) and not HELD.search(t.file) and not _answers(t)]
    seen = [x for t in learned for x in _texts(t, DOCS)][:DOCS]
    if min(len(held), len(seen)) < LEAST:
        return
    by: dict[str, list[int]] = defaultdict(list)
    wanted = {g for x in held for g in x.grams}
    for i, x in enumerate(seen):
        for gram in x.grams & wanted:
            by[gram].append(i)
    found = [(share, x, y) for x in held if (best := _best(x, seen, by)) is not None for share, y in [best]]
    if len(found) <= FEW * len(held):
        return
    share, x, y = max(found, key=lambda one: one[0])
    places = tuple(Evidence(z.table.file, int(z.table.lines[z.row]) or None) for z in (x, y))
    yield Finding(
        "eval-leakage", Severity.S1,
        f"{len(found)} of {len(held)} texts of {x.table.file} share more than {KNOWN:.0%} of their 3-grams with "
        f"one text of {y.table.file} ({share:.0%} in the clearest case): they were trained on.",
        f"{x.table.file} 的 {len(held)} 条文本中有 {len(found)} 条与 {y.table.file} 的某条文本共享超过 {KNOWN:.0%} 的 "
        f"3-gram（最明显的为 {share:.0%}）：它们已在训练数据里。",
        places, {"items": len(held), "leaked": len(found), "share": len(found) / len(held)},
    )  # fmt: skip


def _answers(table: Table) -> bool:
    """Whether a file holds what a model said to the evaluation, whatever its training was called."""
    return called_results(table.file) or is_answered([re.split(r"[./]", c.name)[-1] for c in table.columns])


def _texts(table: Table, most: int) -> Iterator[_Text]:
    """The texts of its longest column of words."""
    words = [c for c in table.columns if c.values.dtype.kind == "O" and len(c.values)]
    sized = [(float(np.median([len(v) for v in texts(c)[:200].tolist()])), i) for i, c in enumerate(words)]
    size, i = max(sized, default=(0.0, 0))
    if size >= LONG and len(set(texts(words[i]).tolist())) >= OWN * len(table):
        for row, text in enumerate(texts(words[i])[:most].tolist()):
            if len(grams := frozenset(_grams(text))) >= PIECES:
                yield _Text(table, row, grams)


def _grams(text: str) -> list[str]:
    """Three words together, or three characters where there are no spaces."""
    low = re.sub(r"[^\w\s]", "", text.lower())
    parts = low.split() if low.count(" ") > len(low) / 20 else list(low.replace(" ", ""))
    return ["\x00".join(parts[i : i + 3]) for i in range(min(len(parts) - 2, GRAMS))]


def _best(x: _Text, seen: Sequence[_Text], by: dict[str, list[int]]) -> tuple[float, _Text] | None:
    """The training text that holds most of it."""
    count = Counter(i for g in x.grams if len(by.get(g, ())) <= COMMON for i in by.get(g, ()))
    for i in sorted(count, key=lambda i: (-count[i], i))[:3]:  # of equals the first, not what a set gives first
        share = len(x.grams & seen[i].grams) / max(1, len(x.grams))
        if share > KNOWN:
            return share, seen[i]
    return None
