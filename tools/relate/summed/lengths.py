"""Measures by length, position or depth: good up to a place and much worse beyond, and whether another way of
measuring the same is spared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...findings import Finding, Severity
from ...patterns import bounded
from ...tables.table import COUNTER, Column, Table
from ..distributions import shown, texts
from ..line import means, plain
from .words import TOTAL, counted_of, named_score

LEAST, MOST = 4, 200
"""Places from which on a knee is told, and most of them that are a table of lengths."""
MOST_CURVES = 100
KNEE = 1.5
"""Times the level up to the trained length that the perplexity is beyond it; a quarter less for a score."""
SPARED = 1.2
"""Times its level that another measure of the same may be beyond the knee and still be spared."""
UP = bounded(r"(?:^|_)(?:ppl|perplexity|loss|nll|ce|error|err)(?:_|$)|困惑度|损失")
DOWN = bounded(r"(?:^|_)acc(?:_|$)|accura|score|recall|(?:^|_)(?:em|f1|hit|hits|pass)(?:_|$)|准确|召回|得分")
NAMED = bounded(r"len|length|context|ctx|tokens|position|depth|turns|window|seq|长度|上下文|位置|轮数")
DRAFTED = bounded(r"accept|draft|specul|token_?hit|接受|草稿")
"""Measures by the place of a token in what a draft proposes, which fall from each to the next: all before it must have
been right."""
_BUCKET = bounded(r"(?i)^[<>≤≥~]{0,2}=?\s{0,2}(\d{1,7}(?:\.\d{1,3})?)\s?(k|m)?(?:\s?(?:tokens?|tok))?"
                  r"(?:\s{0,2}(?:-|–|~|to|\.\.)\s{0,2}(\d{1,7}(?:\.\d{1,3})?)\s?(k|m)?(?:\s?(?:tokens?"
                  r"|tok))?)?\+?$")  # fmt: skip
EARLIER = bounded(r"(?:^|_)(?:base|before|orig(?:inal)?|baseline|pretrain(?:ed)?|old|v0|short)(?:_|$)|原始|基座|之前")
"""Names of another model's curve, which ends where that model does."""
_TIMES = {"": 1.0, "k": 1000.0, "m": 1e6}


def places(column: Column) -> np.ndarray | None:
    """Where along the length each row stands: numbers, or the lower ends of buckets such as `8k-16k` and `<2k`."""
    if column.values.dtype.kind == "f":
        whole = column.of == "length" or (column.role == "axis" and means(NAMED, column.name))
        return column.values if whole and np.isfinite(column.values).all() else None
    if not means(NAMED, column.name) and "bucket" not in plain(column.name):
        return None
    found = []
    for said in texts(column).tolist():
        match = _BUCKET.match(said.strip())
        if match is None:
            return None
        unit = (match[2] or (match[4] if match[3] else "") or "").lower()
        found.append(0.0 if said.strip()[:1] in "<≤" else float(match[1]) * _TIMES[unit])
    return np.array(found)


def _goes(column: Column) -> int:
    """1 where more is worse, -1 where less is, 0 where the measure says neither."""
    name = plain(column.name)
    if column.values.dtype.kind != "f" or column.role != "measure" or COUNTER.search(name) or DRAFTED.search(name):
        return 0
    if column.of in ("perplexity", "loss", "eval_loss", "eval_perplexity") or UP.search(name):
        return 1
    return -1 if DOWN.search(name) or counted_of(column) == "right" or named_score(column.name) else 0


def _knee(y: np.ndarray, up: bool) -> tuple[int, float] | None:
    """(first place beyond the knee, level before it)."""
    level = float(np.median(y[: max(2, len(y) // 2)]))
    worse = y > KNEE * level if up else y < level * (1 - 0.5 * (KNEE - 1))
    i = int(worse.argmax())
    if not worse.any() or i < 2 or not worse[i:].all() or level <= 0:
        return None
    best = float(y[:i].min() if up else y[:i].max())
    while i > 2 and (y[i - 1] > SPARED * best if up else y[i - 1] < best / SPARED):
        i -= 1
    return i, float(np.median(y[:i]))


def worse_beyond(table: Table) -> Iterator[Finding]:
    """A measure by length that is good up to a length and falls off a cliff beyond it."""
    if not LEAST <= len(table) <= MOST:
        return
    for length in table.columns:
        x = places(length)
        keep = np.flatnonzero([not TOTAL.search(v) for v in texts(length).tolist()]) if x is not None else []
        if x is None or len(set(x.tolist())) < len(x) or len(keep) < len(x):
            continue
        order = np.argsort(x, kind="stable")
        sides = [(c, g, c.values[order]) for c in table.columns if (g := _goes(c)) and np.isfinite(c.values).all()]
        for column, way, y in sides:
            if (found := _knee(y, way > 0)) is not None:
                yield from _told(table, length, column, x[order], y, order, found)
                yield from _one_side(table, length, column, (x[order], y, order), found, way, sides)
                return


def _said(length: Column, x: np.ndarray, order: np.ndarray, i: int) -> str:
    return str(length.values[order[i]]) if length.values.dtype.kind == "O" else f"{x[i]:.10g}"


def _told(
    table: Table, length: Column, column: Column, x: np.ndarray, y: np.ndarray, order: np.ndarray,
    knee: tuple[int, float],
) -> Iterator[Finding]:  # fmt: skip
    i, level = knee
    before, at, last = (_said(length, x, order, k) for k in (i - 1, i, len(x) - 1))
    yield Finding(
        "worse-beyond-length", Severity.S2,
        f"{column.name} stays near {level:.3g} up to a length of {before} and is {y[i]:.3g} at {at}, {y[-1]:.3g} at "
        f"{last}.",
        f"{column.name} 在长度 {before} 以内约为 {level:.3g}，到 {at} 时为 {y[i]:.3g}，{last} 时为 {y[-1]:.3g}。",
        shown(table, [int(order[i - 1]), int(order[i])], column.name),
        {"metric": column.name, "knee": float(x[i - 1]), "level": level, "last": float(y[-1])},
    )  # fmt: skip


def _one_side(
    table: Table, length: Column, column: Column, way: tuple[np.ndarray, np.ndarray, np.ndarray],
    knee: tuple[int, float], goes: int, sides: list[tuple[Column, int, np.ndarray]],
) -> Iterator[Finding]:  # fmt: skip
    """The same measure, taken another way, does not break down there."""
    (x, y, order), (i, level) = way, knee
    words = set(plain(column.name).split("_"))
    for other, also, z in sides:
        if other is column or also != goes or not words & set(plain(other.name).split("_")):
            continue
        base = float(np.median(z[:i]))
        near = base > 0 and 1 / SPARED < base / level < SPARED
        fine = bool((z[i:] <= SPARED * base).all()) if goes > 0 else bool((z[i:] >= base / SPARED).all())
        if near and fine:
            yield Finding(
                "worse-beyond-on-one-side", Severity.S1,
                f"Up to {_said(length, x, order, i - 1)} {column.name} and {other.name} agree ({level:.3g} and "
                f"{base:.3g}); beyond it only {column.name} breaks down ({y[-1]:.3g} against {z[-1]:.3g} at "
                f"{_said(length, x, order, len(x) - 1)}): what runs there computes other positions than the "
                "training did.",
                f"到 {_said(length, x, order, i - 1)} 为止 {column.name} 与 {other.name} 一致（{level:.3g} 与 "
                f"{base:.3g}），再往后只有 {column.name} 崩坏（{_said(length, x, order, len(x) - 1)} 时 {y[-1]:.3g} "
                f"对 {z[-1]:.3g}）：那一侧的位置计算与训练不同。",
                shown(table, [int(order[i - 1]), int(order[i]), int(order[-1])], column.name),
                {"metric": column.name, "spared": other.name, "knee": float(x[i - 1]), "last": float(y[-1]),
                 "spared_last": float(z[-1])},
            )  # fmt: skip
            return


def one_side(tables: Sequence[Table]) -> Iterator[Finding]:
    """A measure that breaks down beyond a length in one file, and in another file, taken another way, does not."""
    curves = [c for t in tables[:MOST_CURVES] if LEAST <= len(t) <= MOST for c in _curves(t)]
    for one in curves:
        if (knee := _knee(one.y, one.way > 0)) is None:
            continue
        i, level = knee
        for other in curves:
            words = set(plain(one.column.name).split("_")) & set(plain(other.column.name).split("_"))
            beyond = other.x > one.x[i - 1]
            earlier = any(means(EARLIER, x) for x in (one.table.file, one.column.name))
            if earlier or other.table.file == one.table.file or other.way != one.way or not words or beyond.sum() < 2:
                continue
            base = float(np.median(other.y[~beyond])) if (~beyond).sum() >= 2 else 0.0
            near = base > 0 and 1 / SPARED < base / level < SPARED
            fine = (other.y[beyond] <= SPARED * base) if one.way > 0 else (other.y[beyond] >= base / SPARED)
            if not near or not fine.all() or other.x[-1] < one.x[min(i + 1, len(one.x) - 1)]:
                continue
            yield Finding(
                "worse-beyond-in-one-file", Severity.S2,
                f"Up to {one.x[i - 1]:.10g} {one.column.name} of {one.table.file} and {other.column.name} of "
                f"{other.table.file} agree ({level:.3g} and {base:.3g}); beyond it only {one.table.file} breaks down "
                f"({one.y[-1]:.3g} against {other.y[-1]:.3g} at the end): of the same "
                "weights, what runs there computes other positions than the other side does.",
                f"到 {one.x[i - 1]:.10g} 为止 {one.table.file} 的 {one.column.name} 与 {other.table.file} 的 "
                f"{other.column.name} 一致（{level:.3g} 与 {base:.3g}），再往后只有 {one.table.file} 崩坏（末端 "
                f"{one.y[-1]:.3g} 对 {other.y[-1]:.3g}）：若是同一份权重，那一侧的位置计算与另一侧不同。",
                (*shown(one.table, [int(one.order[i - 1]), int(one.order[i])], one.column.name),
                 *shown(other.table, [int(other.order[-1])], other.column.name)),
                {"metric": one.column.name, "spared": other.table.file, "knee": float(one.x[i - 1]),
                 "last": float(one.y[-1]), "spared_last": float(other.y[-1])},
            )  # fmt: skip
            return


@dataclass(frozen=True)
class Curve:
    """A measure by length."""

    table: Table
    column: Column
    way: int
    x: np.ndarray
    y: np.ndarray
    order: np.ndarray


def _curves(table: Table) -> Iterator[Curve]:
    length = next((c for c in table.columns if (x := places(c)) is not None and len(set(x.tolist())) == len(x)), None)
    x = places(length) if length is not None else None
    if x is None:
        return
    order = np.argsort(x, kind="stable")
    for column in table.columns:
        if column is not length and (way := _goes(column)) and np.isfinite(column.values).all():
            yield Curve(table, column, way, x[order], column.values[order], order)
