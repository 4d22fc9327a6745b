"""Numbers at the ends of half precision: maxima that grow to 65504 and are infinite from there on, what is infinite in
half precision and finite above 65504 in a wider format, and roots of squares that half precision rounds to nothing."""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..joined.modules import _first
from ..line import means, plain

LARGEST, NEAR, GROWN = 65504.0, 0.9, 1.15
"""Largest number of half precision, the share of it that the last finite maxima reach, and how far they grew."""
FAR = 30.0
"""Times the largest number up to which a finite number is one that has just left the range. Own judgement."""
LEAST, MOST_ROWS, HIGH = 6, 500_000, 3
"""Rows of a table, and finite values in the upper half of the range."""
SMALL = 5.96e-8
"""Smallest number of half precision: a mean square below it is 0."""
OTHER = bounded(r"scale|mult|loss|ppl|perplex|nll|grad|g_?norm|tokens|step|iter|latency|speed|flops|score|reward|throughput"
                r"|(?:^|_)(?:ce|gn|lr|rate|tok|time|sec|s|ms|mem|mib|gib|mb|gb|bytes?|len|count|num|n|id|seed|port|size|rows)(?:_|$)"
                r"|损失|梯度|学习率|时间|显存")  # fmt: skip
"""Numbers that may be as large or infinite for other reasons."""
WIDER = bounded(r"fp_?32|float_?32|f32|single|full|bf_?16|bfloat|fp_?64|double|tf32|单精度|全精度")
HALF = bounded(r"(?<!b)fp_?16|(?<!b)float_?16|half|(?<![a-z])f16|半精度|amp")
ROOT = bounded(r"rms|(?:^|_)(?:norm|std|l2)(?:_|$)|均方根|标准差|范数")
SQUARE = bounded(r"mean_?sq|(?:^|_)(?:ms|var|variance)(?:_|$)|sq(?:uare)?_?mean|方差|均方$")


@dataclass(frozen=True)
class Cell:
    """One number of one table."""

    table: Table
    column: Column
    row: int

    @property
    def value(self) -> float:
        return float(self.column.values[self.row])

    def evidence(self) -> Evidence:
        return Evidence(
            self.table.file, int(self.table.lines[self.row]) or None, metric=self.column.name, value=self.value
        )


def halves(tables: Sequence[Table]) -> Iterator[Finding]:
    """What half precision cannot hold, each relation once."""
    some = [t for t in tables if 1 < len(t) <= MOST_ROWS]
    for look in (_climbing, _held_by_wider, _underflowing):
        if (found := next(look(some), None)) is not None:
            yield found


def _measures(table: Table) -> Iterator[Column]:
    for column in table.of("measure"):
        if column.values.dtype.kind == "f" and np.isinf(column.values).any() and not OTHER.search(plain(column.name)):
            yield column


def _climbing(tables: Sequence[Table]) -> Iterator[Finding]:
    for table in tables:
        for column in _measures(table) if len(table) >= LEAST else ():
            values, gone = column.values, np.isinf(column.values)
            first = int(gone.argmax())
            finite = values[:first][np.isfinite(values[:first])]
            if len(finite) < LEAST or (finite < 0).any():
                continue
            top, begun = float(finite.max()), float(finite[: max(1, len(finite) // 4)].max())
            high = int((finite >= LARGEST / 2).sum())
            rest = values[first:][np.isfinite(values[first:])]
            if not NEAR * LARGEST <= top <= LARGEST or top < GROWN * begun or high < HIGH or (rest > LARGEST).any():
                continue
            at = int(np.flatnonzero(values[:first] == top)[-1])
            places = tuple(Cell(table, column, i).evidence() for i in (at, first))
            yield Finding(
                "maxima-end-at-half", Severity.S2,
                f"{column.name} of {table.file} grows to {top:.5g}, just below 65504, the largest number of half "
                f"precision, and is inf from line {int(table.lines[first])} on: the format ends there.",
                f"{table.file} 中 {column.name} 升到 {top:.5g}，略低于半精度的最大值 65504，从第 {int(table.lines[first])} "
                f"行起为 inf：已到该格式的尽头。",
                places, {"column": column.name, "top": top, "begun": begun, "infinite": int(gone.sum())},
            )  # fmt: skip
            return


def _outside(value: float) -> bool:
    return LARGEST < value <= FAR * LARGEST


def _held_by_wider(tables: Sequence[Table]) -> Iterator[Finding]:
    """Cells that are infinite in one pass and finite above the range in another: by row, by column or by file."""
    for table in tables:
        label = [c for c in table.columns if c.values.dtype.kind == "O"]
        for column in _measures(table):
            lost = int(np.isinf(column.values).argmax())
            for i in np.flatnonzero(np.isfinite(column.values)).tolist() if len(table) <= 2000 else ():
                said = " ".join(str(c.values[i]) for c in label).lower()
                own = " ".join(str(c.values[lost]) for c in label).lower()
                if _outside(float(column.values[i])) and WIDER.search(said) and not WIDER.search(own):
                    yield _held(Cell(table, column, lost), Cell(table, column, i))
                    return
            for other in table.of("measure"):
                paired = HALF.search(plain(column.name)) and WIDER.search(plain(other.name))
                if paired and HALF.sub("*", plain(column.name)) == WIDER.sub("*", plain(other.name)):
                    for i in np.flatnonzero(np.isinf(column.values)).tolist():
                        if _outside(float(other.values[i])):
                            yield _held(Cell(table, column, i), Cell(table, other, i))
                            return
            for twin in tables:
                again = next((c for c in twin.columns if c.name == column.name and c.values.dtype.kind == "f"), None)
                if twin is table or len(twin) != len(table) or again is None:
                    continue
                for i in np.flatnonzero(np.isinf(column.values)).tolist():
                    if _outside(float(again.values[i])):
                        yield _held(Cell(table, column, i), Cell(twin, again, i))
                        return


def _held(lost: Cell, kept: Cell) -> Finding:
    return Finding(
        "inf-held-by-wider", Severity.S2,
        f"{lost.column.name} is inf in {lost.table.file} (row {lost.row + 1}) and {kept.value:.6g} in the same place of "
        f"another pass ({kept.table.file}, row {kept.row + 1}, {kept.column.name}): finite, and above 65504, the largest "
        "number of half precision.",
        f"{lost.table.file} 第 {lost.row + 1} 行的 {lost.column.name} 为 inf，另一次运行的同一处（{kept.table.file} 第 "
        f"{kept.row + 1} 行 {kept.column.name}）为 {kept.value:.6g}：是有限值，但超过半精度的最大值 65504。",
        (lost.evidence(), kept.evidence()), {"column": lost.column.name, "value": kept.value},
    )  # fmt: skip


def _underflowing(tables: Sequence[Table]) -> Iterator[Finding]:
    """A row so small that its mean square is nothing in half precision, right where numbers stop being finite."""
    for table in tables:
        roots = [(c, 1) for c in table.of("measure") if c.values.dtype.kind == "f" and means(ROOT, c.name)]
        roots += [(c, 0) for c in table.of("measure") if c.values.dtype.kind == "f" and means(SQUARE, c.name)]
        found = _first(table) if roots and LEAST <= len(table) <= 100_000 else None
        for column, root in roots if found is not None else ():
            measure, names, at = found  # type: ignore[misc]
            for i in (at, at - 1):
                value = float(column.values[i])
                usual = float(np.nanmedian(column.values))
                if not (0 < (value**2 if root else value) < SMALL and usual > 100 * value):
                    continue
                half = [c for c in table.of("measure") if HALF.search(plain(c.name))]
                wide = [
                    c for c in table.of("measure") if WIDER.search(plain(c.name)) and not HALF.search(plain(c.name))
                ]
                clean = bool(half and wide) and all(np.isfinite(c.values).all() for c in wide)
                beside, beside_zh = (
                    ("; the wider format is finite throughout", "；更宽的格式下全部有限") if clean else ("", "")
                )
                yield Finding(
                    "square-lost-in-half", Severity.S2,
                    f"Before {names[at]}, where {measure.name} stops being finite, {column.name} is {value:.3g} (usually "
                    f"{usual:.3g}): its square is below {SMALL:g}, the smallest number of half precision, and rounds to "
                    f"0{beside}.",
                    f"在 {measure.name} 开始非有限的 {names[at]} 之前，{column.name} 为 {value:.3g}（通常为 {usual:.3g}）："
                    f"其平方小于半精度的最小值 {SMALL:g}，会变成 0{beside_zh}。",
                    (Cell(table, column, i).evidence(), Cell(table, measure, at).evidence()),
                    {"column": column.name, "value": value, "usual": usual, "clean": clean},
                )  # fmt: skip
                return
