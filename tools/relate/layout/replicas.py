"""Digests of the weights by rank: copies that were alike, and are not from a place on.

Ranks that share data hold the same weights after every step; a digest of each rank that parts from the others is an
update that went wrong on its way. Shards of one model differ from the first row on, and are left alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...findings import Finding, Severity, clean
from ...tables.table import Column, Table
from ..distributions import shown, texts
from ..line import plain
from ..listed import digests

ALIKE = 2
"""Places at which all ranks agree before one parts from the others."""


def replicas(tables: Sequence[Table]) -> list[Finding]:
    """The first place of a table at which ranks hold other weights, where they held the same before."""
    for table in tables:
        digest = next((c for c in table.columns if digests(c)), None)
        ranks = next((c for c in table.columns if c.of == "rank" or plain(c.name) in ("rank", "gpu", "worker")), None)
        if digest is not None and ranks is not None and 8 <= len(table) <= 100_000:
            found = _parted(table, digest, ranks)
            if found is not None:
                return [found]
    return []


def _parted(table: Table, digest: Column, ranks: Column) -> Finding | None:
    keys = [c for c in table.columns if c not in (digest, ranks)]
    places: dict[tuple[str, ...], list[int]] = {}
    for i, key in enumerate(zip(*(texts(c).tolist() for c in keys), strict=True)):
        places.setdefault(key, []).append(i)
    held, agreed = texts(digest), 0
    for key, rows in places.items():
        by = Counter(held[i] for i in rows)
        (usual, most) = by.most_common(1)[0]
        if len(rows) > 1 and len(by) == 1:
            agreed += 1
        elif len(rows) > 2 and agreed >= ALIKE and most > 1:
            at = ", ".join(f"{c.name} {v}" for c, v in zip(keys, key, strict=True))
            return _told(table, ranks, at, rows, [i for i in rows if held[i] != usual])
        elif len(by) > 1:
            return None  # shards, or two ranks of which neither is in the majority
    return None


def _told(table: Table, ranks: Column, at: str, rows: Sequence[int], other: Sequence[int]) -> Finding:
    names = [texts(ranks)[i] for i in other]
    at, who = clean(at, 120), ", ".join(names[:8])
    return Finding(
        "ranks-differ-in-weights", Severity.S1,
        f"At {at}, {len(other)} of {len(rows)} ranks ({who}) hold other weights than the rest, and before all ranks "
        "held the same: an update went wrong between the ranks.",
        f"在 {at} 处，{len(rows)} 个 rank 中有 {len(other)} 个（{who}）的权重与其余不同，此前各 rank 一致："
        "更新在 rank 之间出了错。",
        shown(table, [other[0], next(i for i in rows if i not in other)], "digest"),
        {"ranks": len(rows), "other": names},
    )  # fmt: skip
