"""A score over all items that moves because other items were asked: no slice of it moved that way.

Each version's whole is the mean of its slices by how many items each has. Where the easy slices have grown, the whole
rises though every slice fell (Simpson); with the items of the version before it would have fallen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import sqrt
from typing import NamedTuple

import numpy as np

from ...findings import Evidence, Finding, Severity, clean
from ...run import natural
from ...tables.table import Table
from ..distributions import texts
from ..line import plain
from ..results.read import is_score
from ..scores.read import SIZE
from ..summed.words import TOTAL
from .cells import Measured

LEAST, MOST, ITEMS = 2, 60, 20
"""Slices of a version, and items of each."""
MOVED, CLEAR = 0.01, 2.0
"""Share of the whole by which the score over all moves at least, and standard errors of that. Own judgement."""
SHOWN = 4


class Slice(NamedTuple):
    """One slice of one version."""

    n: float
    share: float
    place: Evidence


Slices = dict[str, Slice]


def by_mix(tables: Sequence[Table], measured: Sequence[Measured]) -> Iterator[Finding]:
    """The first pair of versions whose whole moved against all of their slices."""
    for name, (a, old), (b, new) in (*_of_files(tables), *_of_versions(measured)):
        if (found := _judged(name, (a, old), (b, new))) is not None:
            yield found
            return


def _of_files(tables: Sequence[Table]) -> Iterator[tuple[str, tuple[str, Slices], tuple[str, Slices]]]:
    """Files of one folder and one form, a version each, in the order of their names."""
    forms: dict[tuple[str, ...], list[tuple[str, str, Slices]]] = {}
    for table in sorted(tables, key=lambda t: natural(t.file)):
        if LEAST <= len(table) <= MOST and (read := _slices(table)) is not None:
            folder = table.file.rpartition("/")[0]
            forms.setdefault((folder, table.part, *(c.name for c in table.columns)), []).append((table.file, *read))
    for some in forms.values():
        for (a, name, old), (b, _, new) in pairwise(some):
            yield name, (a, old), (b, new)


def _slices(table: Table) -> tuple[str, Slices] | None:
    """(measure, slices) of a table with a row for each, its items and a share of them."""
    labels = [c for c in table.columns if c.values.dtype.kind == "O" and len({*texts(c).tolist()}) == len(table)]
    numbers = [c for c in table.columns if c.values.dtype.kind == "f"]
    size = next((c for c in numbers if SIZE.search(plain(c.name))), None)
    score = next((c for c in numbers if c is not size and is_score(plain(c.name)) and _share(c.values)), None)
    if not labels or size is None or score is None:
        return None
    whole = _share(score.values)
    found = {}
    for i, name in enumerate(texts(labels[0]).astype(str).tolist()):
        n, value = float(size.values[i]), float(score.values[i])
        if not TOTAL.search(name) and np.isfinite([n, value]).all() and n >= ITEMS:
            where = Evidence(table.file, int(table.lines[i]) or None, metric=score.name, value=value, text=name[:60])
            found[name] = Slice(n, value / whole, where)
    return (score.name, found) if len(found) >= LEAST else None


def _share(values: np.ndarray) -> float:
    """1 or 100 for what can be shares, 0 for others."""
    values = values[np.isfinite(values)]
    if not len(values) or values.min() < 0 or values.max() > 100:
        return 0.0
    return 1.0 if values.max() <= 1 else 100.0


def _of_versions(measured: Sequence[Measured]) -> Iterator[tuple[str, tuple[str, Slices], tuple[str, Slices]]]:
    """Versions of one table, with the items of each slice."""
    for m in measured:
        if m.share and is_score(plain(m.measure)):
            made = {v: {s: Slice(c.n, c.values[0] / m.share, c.places[0]) for s, c in of.items()
                        if c.n >= ITEMS and len(c.values) == 1 and s and not TOTAL.search(s)}
                    for v, of in m.cells.items()}  # fmt: skip
            (a, old), (b, new) = list(made.items())[-2:]
            yield m.measure, (a, old), (b, new)


def _judged(name: str, before: tuple[str, Slices], after: tuple[str, Slices]) -> Finding | None:
    (a, old), (b, new) = before, after
    if len(old) < LEAST or old.keys() != new.keys():
        return None
    was, now = _whole(old, old), _whole(new, new)
    kept, moved = _whole(old, new), now - was
    up = 1 if moved > 0 else -1
    error = sqrt(sum(p * (1 - p) / sum(s.n for s in of.values()) for p, of in ((was, old), (now, new))))
    gone = [up * (new[s].share - old[s].share) for s in old]
    if abs(moved) < max(MOVED, CLEAR * error) or max(gone) > 0 or up * (kept - was) >= 0:
        return None
    return _told(name, (a, old), (b, new), (was, now, kept))


def _whole(items: Slices, shares: Slices) -> float:
    """The share over all, with the items of one version and the shares of another."""
    return sum(items[s].n * shares[s].share for s in items) / sum(s.n for s in items.values())


def _told(
    name: str, before: tuple[str, Slices], after: tuple[str, Slices], whole: tuple[float, float, float]
) -> Finding:
    (a, old), (b, new) = before, after
    was, now, kept = whole
    up = now > was
    grown = max(old, key=lambda s: new[s].n / old[s].n)
    some = [f"{clean(s, 30)} {old[s].share:.3g} -> {new[s].share:.3g}" for s in list(old)[:SHOWN]]
    said = ", ".join(some) + (f" (+{len(old) - SHOWN})" if len(old) > SHOWN else "")
    x, y, measure = clean(a, 60), clean(b, 60), clean(name, 40)
    return Finding(
        "total-moved-by-mix", Severity.S2,
        f"{measure} over all {'rises' if up else 'falls'} from {was:.3g} to {now:.3g} from {x} to {y} and in no slice: "
        f"{said}. The items are others ({clean(grown, 30)} {old[grown].n:.0f} -> {new[grown].n:.0f}); with those of "
        f"{x} it would be {kept:.3g}.",
        f"从 {x} 到 {y}，{measure} 总分从 {was:.3g} {'升' if up else '降'}到 {now:.3g}，但没有一个分项这样变：{said}。"
        f"题目构成不同（{clean(grown, 30)} {old[grown].n:.0f} -> {new[grown].n:.0f}）；按 {x} 的构成应为 {kept:.3g}。",
        (*(s.place for s in list(new.values())[:2]), *(s.place for s in list(old.values())[:2])),
        {"measure": name, "versions": [a, b], "before": was, "after": now, "kept": kept, "slices": len(old)},
    )  # fmt: skip
