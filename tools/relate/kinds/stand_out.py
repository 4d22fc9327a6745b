"""Rows that stand out of a column in which nearly all others are the same, and what they share.

One port at a quarter of the rate, the pairs of hosts that one machine is part of, one card with half of the memory. The
bulk must be tight, so that noise never stands out; what the odd rows share and no other row has is what they are about.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...metrics import counts, step_key
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import plain
from .names import back, kinds

LEAST, MOST_ROWS = 8, 20_000
TIGHT, BULK = 0.1, 0.85
"""Share of the middle value within which the bulk lies, and share of the rows that it is at least. Own judgement."""
FAR, DEVIATIONS = 0.3, 12.0
"""Share of the middle value, and spreads of the bulk, by which a row stands out at least."""
IDLE = 0.05
"""Share of the middle value up to which a measure is that of a machine at rest."""
MOST_VALUES = 16
"""Different whole numbers up to which a column of numbers tells rows apart (`rail 2`, `port 1`)."""
MOST_SHARED = 400
"""Values that odd rows could share, beyond which it is not looked for."""
MOST_TOLD = 4
NEAR = 0.01
"""Part of a sum by which the line of the total may differ from it."""


def standing_out(table: Table) -> Iterator[Finding]:
    """Rows far from all others in one measure, with what they and no others have."""
    if not LEAST <= len(table) <= MOST_ROWS or any(c.of in ("step", "epoch", "tokens") for c in table.of("axis")):
        return
    apart = [c for c in table.columns if _tells(c)]
    for column in table.columns:
        if (
            column.values.dtype.kind != "f"
            or (column in apart and column.role != "measure")
            or counts(column.name)
            or step_key(column.name)
        ):
            continue
        odd, middle = _odd(column.values)
        if odd is None:
            continue
        if _before_or_after(table, column, odd, middle) or _sums_up(column.values, odd):
            continue
        shared = _shared(odd, apart)
        if shared is not None or odd.sum() == 1:
            yield _told(table, column, odd, middle, shared or _whose(table, odd, column))


def _odd(values: np.ndarray) -> tuple[np.ndarray | None, float]:
    """The rows far from the bulk; None where there are none, or no bulk."""
    finite = np.isfinite(values)
    if finite.sum() < LEAST:
        return None, 0.0
    middle = float(np.median(values[finite]))
    near = np.abs(values - middle) <= TIGHT * abs(middle)
    if not middle or near.sum() < BULK * finite.sum():
        return None, middle
    spread = float(np.std(values[finite & near]))
    odd = finite & (np.abs(values - middle) > max(FAR * abs(middle), DEVIATIONS * spread))
    return (odd, middle) if 0 < odd.sum() <= (1 - BULK) * finite.sum() else (None, middle)


def _sums_up(values: np.ndarray, odd: np.ndarray) -> bool:
    """Whether the one odd row is the sum of all others: the line of the total below a table."""
    rest = float(np.nansum(values[~odd]))
    return odd.sum() == 1 and abs(float(values[odd][0]) - rest) <= NEAR * abs(rest)


def _before_or_after(table: Table, column: Column, odd: np.ndarray, middle: float) -> bool:
    """Whether the odd rows are about zero and the first or last ones of a record in time: nothing ran yet, or any
    more."""
    times = next((c for c in table.of("axis") if c.of == "time" and c.values.dtype.kind == "f"), None)
    if times is None or (np.abs(column.values[odd]) > IDLE * abs(middle)).any():
        return False
    own, rest = times.values[odd], times.values[~odd & np.isfinite(column.values)]
    return bool(len(rest)) and bool(((own < rest.min()) | (own > rest.max())).all())


def _tells(column: Column) -> bool:
    """Whether a column says what a row is about."""
    if column.role in ("group", "identifier", "text") or column.values.dtype.kind == "O":
        return True
    values = column.values[np.isfinite(column.values)]
    whole = len(values) == len(column.values) and bool(len(values)) and bool((values == np.round(values)).all())
    return whole and 1 < len(np.unique(values)) <= MOST_VALUES and len(values) > 2 * len(np.unique(values))


def _said(column: Column) -> np.ndarray:
    if column.values.dtype.kind == "f":
        return np.array([f"{v:g}" for v in column.values], dtype=object)
    return texts(column)


def _shared(odd: np.ndarray, apart: Sequence[Column]) -> tuple[tuple[str, str], ...] | None:
    """The one or two values that all odd rows have and no other row has together; a value may stand in any column of
    one kind (a host is the sender of one pair, the receiver of another)."""
    if odd.sum() < 2:
        return None
    has: dict[tuple[str, str], np.ndarray] = {}
    for column in apart:
        said = _said(column)
        different = set(said.tolist())
        if 1 < len(different) <= MOST_SHARED:
            for value in different & set(said[odd].tolist()):
                has[column.name, value] = said == value
    for (name, value), rows in list(has.items()):
        others = [r for (n, v), r in has.items() if v == value and n != name and not value.isdecimal()]
        if others:
            has[f"{name} or beside it", value] = np.logical_or.reduce([rows, *others])
    whole = {key: rows for key, rows in has.items() if rows[odd].all()}
    one = [(key,) for key, rows in whole.items() if (rows == odd).all()]
    two = [pair for pair in combinations(whole, 2) if (np.logical_and(whole[pair[0]], whole[pair[1]]) == odd).all()]
    return next(iter((*one, *two)), None)


def _whose(table: Table, odd: np.ndarray, measure: Column) -> tuple[tuple[str, str], ...]:
    i = int(np.flatnonzero(odd)[0])
    columns = [c for c in table.columns if c is not measure and _tells(c) and len(set(_said(c).tolist())) > 1]
    return tuple((c.name, str(_said(c)[i])) for c in columns[:3])


def _told(table: Table, column: Column, odd: np.ndarray, middle: float, shared: Sequence[tuple[str, str]]) -> Finding:
    rows = np.flatnonzero(odd)
    values = column.values[rows]
    said = ", ".join(f"{name} {value}" for name, value in shared)
    low = f"{values.min():.4g}" if values.min() == values.max() else f"{values.min():.4g} to {values.max():.4g}"
    n, k = int(np.isfinite(column.values).sum()), len(rows)
    places = tuple(Evidence(table.file, int(table.lines[i]) or None, metric=column.name, value=float(column.values[i]),
                            text=said) for i in rows[:MOST_TOLD].tolist())  # fmt: skip
    context = (column.name, table.part, table.file, *(c.name for c in table.columns))
    return Finding(
        "rows-stand-out", Severity.S3,
        f"{column.name} is {low} in {k} of {n} rows of {table.file} and about {middle:.4g} in all others; these rows, "
        f"and no others, have {said}." if said else
        f"{column.name} is {low} in {k} of {n} rows of {table.file} and about {middle:.4g} in all others.",
        f"{table.file} 的 {n} 行中有 {k} 行 {column.name} 为 {low}，其余约为 {middle:.4g}；只有这些行具有 {said}。",
        places,
        {"metric": plain(column.name), "value": float(np.median(values)), "others": middle, "rows": k,
         "shared": [value for _, value in shared], "kinds": kinds(*context),
         "names": f"{', '.join(value for _, value in shared)}: {column.name} {low}, others {middle:.4g}",
         "asks": [back(plain(column.name), float(np.median(values)), middle, said)]},
    )  # fmt: skip
