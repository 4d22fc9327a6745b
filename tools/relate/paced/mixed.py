"""What a training was fed against the shares that a configuration sets: kept at first, and left for good later on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...documents.stated import Stated
from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Table
from ..distributions import texts
from ..line import plain
from .frames import Frame

OWN = bounded(r"^[\s\"'*-]{0,20}([A-Za-z_一-鿿][\w.一-鿿-]{0,40})[\"']?\s{0,4}[:=]\s{0,4}\{")
WEIGHT = bounded(r"weight|share|ratio|prob\w{0,8}|fraction|frac|mix|percent|pct|proportion|比例|配比|权重|占比")
LEAST, PARTS, SUM = 15, 2, 0.03
KEPT, LEFT, ENDS = 0.12, 0.6, 5
"""Relative difference from the plan at first, share of its planned share that a part has left later, and parts of the
way (of ten) that it stays so at least. Own judgement."""


def leaving_plan(frames: Sequence[Frame], tables: Sequence[Table], stated: Sequence[Stated]) -> Iterator[Finding]:
    """Parts of a mixture that are fed as planned at first, and far less later on: shares of one whole, so at most all
    of it together."""
    plans = [*_plans(stated)]
    if not plans:
        return
    for frame in [*frames, *(f for t in tables for f in _pivoted(t))]:
        for plan in plans:
            names = {plain(n): n for n in frame.columns if plain(n) in plan}
            if len(names) >= PARTS and (found := _left(frame, names, plan)) is not None:
                yield found
                return


def _plans(stated: Sequence[Stated]) -> Iterator[Mapping[str, Stated]]:
    """Names with shares below one (or hundred) that one file sets, each name once."""
    by_file: dict[str, dict[str, list[Stated]]] = defaultdict(lambda: defaultdict(list))
    for s in stated:
        if s.how == "said" and s.number and 0 < s.number < 100:
            own = OWN.search(s.text) if WEIGHT.search(plain(s.key)) else None
            by_file[s.file][plain(own[1] if own else s.key)].append(s)
    for names in by_file.values():
        plan = {n: some[0] for n, some in names.items() if len({s.number for s in some}) == 1}
        below = {n: s for n, s in plan.items() if (s.number or 0) < 1}
        if len(below) >= PARTS:
            yield below


def _pivoted(table: Table) -> Iterator[Frame]:
    """A table with a row for each part at each place: a column for each part."""
    axis = next((c for c in table.of("axis") if c.values.dtype.kind == "f"), None)
    for group in table.of("group"):
        labels = texts(group)
        different = list(dict.fromkeys(labels.tolist()))
        if axis is None or not PARTS <= len(different) <= 16:
            continue
        rows = [np.flatnonzero(labels == one) for one in different]
        if len({len(r) for r in rows}) != 1 or any((axis.values[r] != axis.values[rows[0]]).any() for r in rows):
            continue
        for c in table.of("measure"):
            if c.values.dtype.kind == "f":
                yield Frame(
                    table.file, {n: c.values[r] for n, r in zip(different, rows, strict=True)}, table.lines[rows[0]]
                )


def _left(frame: Frame, names: Mapping[str, str], plan: Mapping[str, Stated]) -> Finding | None:
    values = np.array([frame.columns[n] for n in names.values()])
    n = values.shape[1]
    if n < LEAST or not np.isfinite(values).all() or (values < 0).any():
        return None
    if (np.diff(values, axis=1) >= 0).all():
        values, n = np.diff(values, axis=1), n - 1  # counted up
    whole = values.sum(axis=0)
    if (whole <= 0).any():
        return None
    seen = values / whole
    set_ = np.array([plan[p].number or 0.0 for p in names])
    if set_.sum() > 1 + SUM:
        return None  # settings that are no parts of a whole
    # of what is set only the parts that are measured, so that the two are shares of the same whole
    set_ = set_ / set_.sum()
    parts = np.array([np.median(part, axis=1) for part in np.array_split(seen, 10, axis=1)])
    if (np.abs(parts[:2] - set_) > KEPT * set_).any():
        return None
    low = parts < LEFT * set_
    for i, (key, name) in enumerate(names.items()):
        since = 10 - int(np.argmin(low[::-1, i])) if not low[:, i].all() else 10
        if not low[-1, i] or since > 8:
            continue
        at = int(np.flatnonzero(seen[i] >= 0.8 * set_[i])[-1]) + 1
        after, before = float(np.median(seen[i, at:])), float(np.median(seen[i, : max(1, at)]))
        row = min(at + frame.lines.size - n, len(frame) - 1)
        if n - at < ENDS:
            continue
        return Finding(
            "shares-leave-plan", Severity.S2,
            f"{plan[key].file}:{plan[key].line} sets {name} {plan[key].value}; in {frame.file} its share of "
            f"{len(names)} parts "
            f"is {before:.1%} as planned ({set_[i]:.1%}) up to row {at} and {after:.1%} from there on: the "
            f"others take its "
            "place.",
            f"{plan[key].file}:{plan[key].line} 设 {name} 为 {plan[key].value}；{frame.file} 中它在 {len(names)} "
            f"部分里的占比在第 {at} 行"
            f"之前为 {before:.1%}（计划 {set_[i]:.1%}），之后只有 {after:.1%}：被其余部分顶替。",
            (Evidence(frame.file, int(frame.lines[row]) or None, metric=name, value=float(frame.columns[name][row])),
             frame.evidence(name, 0), plan[key].evidence()),
            {"part": name, "planned": float(set_[i]), "before": before, "after": after},
        )  # fmt: skip
    return None
