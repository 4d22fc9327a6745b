"""Tables of lengths by bucket: whether documents fill the window that is trained."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...settings import Setting, Settings
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means

LEAST = 3
LONG = 8192
"""Windows of which documents are asked to fill some; chats in a shorter one are short by nature."""
MOSTLY = 0.97
"""Share of the documents that lie below a quarter of the window, from which on it is told. Own judgement."""
NEARLY_ALL = 0.98
PLENTY = 0.25
"""Share of the tokens in long documents from which on they are not what is missing. Own judgement."""
FAR_TOKENS = 0.05
"""Most of the tokens that may stand in documents of at least half the window."""
RANGE = re.compile(
    r"^\W{0,3}(\d{1,9}(?:\.\d{1,3})?)\s?([kKmM]?)\s?(?:-|–|—|~|\.\.|to|至|到|,)\s?(\d{1,9}(?:\.\d{1,3})?)\s?([kKmM]?)\W{0,3}$"
)
OPEN = re.compile(r"^\W{0,4}(\d{1,9}(?:\.\d{1,3})?)\s?([kKmM]?)\W{0,3}$")
TOKENS = re.compile(r"tok|词元")


def ranges(cells: Sequence[str]) -> tuple[np.ndarray, np.ndarray] | None:
    """(lower, upper) bounds of `0-512`, `1k-2k`, `>=32k`; None where a cell is no range, or one stands twice, as the
    days `07-08` of a clock do."""
    out = []
    for cell in cells:
        if hit := RANGE.match(cell.strip()):
            out.append((_number(hit[1], hit[2]), _number(hit[3], hit[4] or "")))
        elif (hit := OPEN.match(cell.strip())) and (cell.strip()[0] in ">≥≤<+" or cell.strip()[-1] == "+"):
            value = _number(hit[1], hit[2])
            out.append((0.0, value) if cell.strip()[0] in "<≤" else (value, np.inf))
        else:
            return None
    low, high = (np.array(side, float) for side in zip(*out, strict=True)) if out else (np.zeros(0), np.zeros(0))
    apart = len({*zip(low.tolist(), high.tolist(), strict=True)}) == len(low)
    return (low, high) if len(low) >= LEAST and apart and (high > low).all() else None


def _bounds(table: Table, column: Column) -> tuple[np.ndarray, np.ndarray] | None:
    """The bounds of buckets: ranges in a column, or a lower bound with an upper one in the next column."""
    if column.values.dtype.kind == "O":
        return ranges(texts(column).tolist())
    i = table.columns.index(column) + 1
    if i >= len(table.columns) or table.columns[i].values.dtype.kind != "f":
        return None
    low, high = column.values, table.columns[i].values
    chained = len(low) >= LEAST and (high > low).all() and np.array_equal(low[1:], high[:-1])
    return (low, high) if chained else None


def _number(digits: str, unit: str) -> float:
    return float(digits) * {"": 1, "k": 1024, "m": 1024**2}[unit.lower()]


def short(tables: Sequence[Table], settings: Settings) -> Iterator[Finding]:
    """Documents by length that lie far below the window of the run."""
    window = settings.get("sequence_length")
    if window is None or not isinstance(window.value, int | float) or window.value < LONG:
        return
    size = float(window.value)
    for table in tables:
        if not LEAST <= len(table) <= 200:
            continue
        for column in table.columns:
            bounds = _bounds(table, column)
            if bounds is not None and (found := _below(table, bounds, size)) is not None:
                yield _told(table, column, window, found)
                return


@dataclass(frozen=True)
class Below:
    """Documents below a bound that is far below the window."""

    counts: Column
    share: float
    bound: float
    last: int
    """Row of the bucket that ends at the bound."""
    far: float
    """Share of the tokens in documents of at least half the window; 0 where the table does not say."""


def _below(table: Table, bounds: tuple[np.ndarray, np.ndarray], size: float) -> Below | None:
    low, high = bounds
    numbers = [c for c in table.columns if c.values.dtype.kind == "f" and np.isfinite(c.values).all()
               and (c.values >= 0).all() and c.values.sum() > 0]  # fmt: skip
    numbers = [c for c in numbers if not (np.array_equal(c.values, low) or np.array_equal(c.values, high))]
    counts = next((c for c in numbers if not means(TOKENS, c.name)), None)
    if counts is None or not (high <= size / 4).any():
        return None
    shares = {float(b): float(counts.values[high <= b].sum() / counts.values.sum()) for b in high if b <= size / 4}
    bound = min((b for b in shares if shares[b] >= NEARLY_ALL), default=max(shares))
    tokens = next((c.values for c in numbers if means(TOKENS, c.name)), None)
    far = float(tokens[low >= size / 2].sum() / tokens.sum()) if tokens is not None else 0.0
    if shares[bound] < MOSTLY or far > FAR_TOKENS:
        return None
    return Below(counts, shares[bound], bound, int(np.flatnonzero(high == bound)[0]), far)


def _told(table: Table, column: Column, window: Setting, b: Below) -> Finding:
    place = tuple(
        Evidence(table.file, int(table.lines[i]) or None, metric=b.counts.name, value=float(b.counts.values[i]),
                 text=str(column.values[i])) for i in (b.last, len(table) - 1)
    )  # fmt: skip
    size = float(window.value)
    return Finding(
        "documents-far-below-window", Severity.S1,
        f"{b.share:.1%} of the documents are shorter than {b.bound:.0f} tokens, the window is {size:.0f}; {b.far:.1%} "
        "of the tokens stand in documents of half the window or more: nothing in the data teaches the long range.",
        f"{b.share:.1%} 的文档短于 {b.bound:.0f} tokens，而窗口为 {size:.0f}；只有 {b.far:.1%} 的 token 来自长度达到"
        "窗口一半以上的文档：数据里没有长距离可学。",
        (*place, window.evidence()), {"share": b.share, "bound": b.bound, "window": size, "far": b.far},
    )  # fmt: skip


def plenty(tables: Sequence[Table], settings: Settings) -> Iterator[Finding]:
    """A good share of the tokens stands in documents of half the window or more: long ones are not what is missing."""
    window = settings.get("sequence_length")
    if window is None or not isinstance(window.value, int | float) or window.value < LONG:
        return
    for table in tables:
        for column in table.columns if LEAST <= len(table) <= 200 else ():
            bounds = _bounds(table, column)
            if bounds is None:
                continue
            tokens = next((c for c in table.columns if c.values.dtype.kind == "f" and means(TOKENS, c.name)
                           and np.isfinite(c.values).all() and (c.values >= 0).all()
                           and not any(np.array_equal(c.values, b) for b in bounds)), None)  # fmt: skip
            if tokens is None or tokens.values.sum() <= 0:
                continue
            far = bounds[0] >= window.value / 2
            share = float(tokens.values[far].sum() / tokens.values.sum())
            if share < PLENTY:
                continue
            rows = np.flatnonzero(far)
            yield Finding(
                "long-documents-plenty", Severity.S3,
                f"{share:.0%} of the {tokens.name} stands in documents of half the window of {window.value:.0f} or up.",
                f"{share:.0%} 的 {tokens.name} 来自长度达到窗口 {window.value:.0f} 一半以上的长文档。",
                tuple(Evidence(table.file, int(table.lines[i]) or None, metric=tokens.name,
                               value=float(tokens.values[i]), text=str(column.values[i])) for i in rows[:2]),
                {"share": share, "window": float(window.value)},
            )  # fmt: skip
            return
