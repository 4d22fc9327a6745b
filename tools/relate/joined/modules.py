"""Dumps of a forward or backward pass, one row a module in its order: where numbers stop being finite.

Everything after the first such module is an echo of it. Several dumps that begin at one module are told together, and
so are the passes of one dump that holds a row for each module of each of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means

LEAST = 4
MODULE = bounded(
    r"(?:^|_)(?:(?:sub_?)?module|layer|op|operator|tensor|param(?:eter)?|name|block|node)(?:_name)?(?:_|$)|模块|算子|层名|张量"
)
DOTTED = re.compile(r"[a-z_]\w{0,40}(?:[./]\w{1,40}){1,12}", re.I)
WORD = re.compile(r"[a-z_]\w{0,40}", re.I)
DIVIDES = bounded(r"(?i)softmax|norm|exp|log|rope|rotary|div|sqrt|attn_?weights|scores?_?mask|归一")
"""Operations that divide, take roots, logarithms or exponentials."""
COUNTS = bounded(r"(?:nan|inf|non_?finite)_?(?:frac|fraction|count|share|ratio|pct|n)?$|^n_?(?:nan|inf)|非数|无穷")
INPUT = bounded(r"^(?:in|input|inp|x)(?:_|$)|输入")


def nonfinite(tables: Sequence[Table]) -> Iterator[Finding]:
    """The module at which the dumps stop being finite."""
    found = [(t, *one) for t in tables if LEAST <= len(t) <= 100_000 and (one := _first(t)) is not None]
    by: dict[str, list[tuple[Table, Column, np.ndarray, int]]] = {}
    for table, column, names, i in found:
        by.setdefault(str(names[i]), []).append((table, column, names, i))
    for name, same in sorted(by.items(), key=lambda item: -len(item[1]))[:2]:
        yield _told(name, same)


def _first(table: Table) -> tuple[Column, np.ndarray, int] | None:
    """(measure, names, row) where the outputs of a dump turn to NaN and most that follows is so."""
    column = next((c for c in table.columns if c.values.dtype.kind == "O" and means(MODULE, c.name)), None)
    if column is None:
        return None
    names = texts(column)
    named = [bool(DOTTED.fullmatch(n.strip())) for n in names]
    if np.mean(named) < 0.5 or not all(d or WORD.fullmatch(n.strip()) for d, n in zip(named, names, strict=True)):
        return None
    if len(set(names.tolist())) < len(names):
        return _of_passes(table, column, names)
    marked = [(bad, c) for c in table.columns if (bad := _bad(table, c)) is not None and bad.any()]
    firsts = [(int(bad.argmax()), c) for bad, c in marked
              if bad.argmax() > 0 and not means(INPUT, c.name) and bad[bad.argmax() :].mean() > 0.5]  # fmt: skip
    if not firsts:
        return None
    i, measure = min(firsts, key=lambda f: f[0])
    return measure, names, i


def _of_passes(table: Table, column: Column, names: np.ndarray) -> tuple[Column, np.ndarray, int] | None:
    """The same of a dump that goes through one list of modules again and again: where all bad passes begin."""
    size = len(set(names.tolist()))
    if size < LEAST or len(names) % size or not (names.reshape(-1, size) == names[:size]).all():
        return None
    for measure in table.columns:
        bad = None if means(INPUT, measure.name) else _bad(table, measure)
        passes = np.empty((0, size), bool) if bad is None else bad.reshape(-1, size)
        ill = passes[passes.any(axis=1)]
        firsts = ill.argmax(axis=1)
        if len(ill) and firsts[0] > 0 and (firsts == firsts[0]).all() and ill[:, firsts[0] :].mean() > 0.5:
            return measure, names, int(np.flatnonzero(passes.any(axis=1))[0]) * size + int(firsts[0])
    return None


def _bad(table: Table, column: Column) -> np.ndarray | None:
    if column.values.dtype.kind != "f" or column.role == "identifier":
        return None
    if means(COUNTS, column.name):
        return np.nan_to_num(column.values) > 0
    bad = np.isinf(column.values)
    bad[column.nans] = True
    return bad


def _told(name: str, same: Sequence[tuple[Table, Column, np.ndarray, int]]) -> Finding:
    table, measure, names, i = same[0]
    before = str(names[i - 1])
    dumps = f" in all {len(same)} dumps" if len(same) > 1 else ""
    dumps_zh = f"{len(same)} 份记录都如此：" if len(same) > 1 else ""
    op = bool(DIVIDES.search(name.rpartition(".")[2]) or DIVIDES.search(name))
    shown = [Evidence(t.file, int(t.lines[j]) or None, metric=c.name, text=str(n[j])[:120]) for t, c, n, j in same[:3]]
    return Finding(
        "nonfinite-begins-in-op" if op else "nonfinite-begins-in-module", Severity.S1,
        f"The numbers stop being finite at {name}{dumps} ({measure.name}); {before} before it is finite, and what "
        "follows only carries it on.",
        f"{dumps_zh}数值从 {name} 起变成非有限（{measure.name}），它之前的 {before} 仍为有限，之后的只是传播。",
        (*shown, Evidence(table.file, int(table.lines[i - 1]) or None, metric=measure.name, text=before[:120])),
        {"module": name, "before": before, "dumps": len(same)},
    )  # fmt: skip
