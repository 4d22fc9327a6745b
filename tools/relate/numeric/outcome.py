"""Which rows of a table are not finite: cells that say NaN or inf, counts of them, and columns that answer yes or no."""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..joined.modules import COUNTS
from ..line import plain

FINITE = bounded(r"finite|有限|(?:^|_)(?:ok|clean|good)$|^(?:ok|clean)_|正常")
"""Columns that say yes where numbers are finite."""
BROKEN = bounded(r"non_?finite|not_finite|infinite|(?:^|_)(?:is_?|has_?|any_?)?(?:nan|inf)s?(?:_|$)|非有限|非数|无穷")
"""Columns that say yes where they are not."""
YES = frozenset(("yes", "y", "true", "t", "1", "ok", "是", "有", "正常", "finite", "有限", "good", "clean", "✓"))
NO = frozenset(("no", "n", "false", "f", "0", "否", "无", "bad", "异常", "✗", "x", "broken"))
SAYS_BAD = frozenset(("nan", "inf", "-inf", "+inf", "nonfinite", "non-finite", "非数", "not finite"))
NAN_ALONE = bounded(r"\b(?:nan|inf)\b")


def outcomes(table: Table) -> Iterator[tuple[Column, np.ndarray]]:
    """(column, rows that are not finite) of every column that tells good and bad rows apart."""
    for column in table.columns:
        bad = _bad(column)
        if bad is not None and bad.any() and not bad.all():
            yield column, bad


def _bad(column: Column) -> np.ndarray | None:
    name, values = plain(column.name), column.values
    broken = bool(BROKEN.search(name))
    if values.dtype.kind == "f":
        if column.role == "axis":
            return None
        if COUNTS.search(name) or (broken and np.isin(values, (0.0, 1.0)).all()):
            return np.nan_to_num(values) > 0
        if FINITE.search(name) and np.isin(values, (0.0, 1.0)).all():
            return values == 0
        bad = np.isinf(values)
        bad[column.nans] = True
        return bad
    said = [v.strip().lower() for v in texts(column)[:5000].tolist()]
    found = set(said) - {""}
    if len(said) < len(values) or not found or len(found) > 8:
        return None
    if found <= YES | NO | SAYS_BAD and (broken or FINITE.search(name)):
        wrong = (YES if broken else NO) | SAYS_BAD
        return np.array([v in wrong for v in said])
    if found & SAYS_BAD and found <= YES | SAYS_BAD:
        return np.array([v in SAYS_BAD for v in said])
    return None
