"""Parts of the data that a list marks as bad, against the order in which the run read them: from which step on.

Who marked them, and whether rightly, is not judged; that they were read, and when, is what the run's own order says. A
list marks by a word, by a yes, or by a measure of what is wrong with them that lies far above that of all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means, plain

STATUS = bounded(r"(?:^|_)(?:status|state|verdict|quality|flag|label|check|result)(?:_|$)|状态|质量|结论")
_WORDS = r"contaminated|poisoned|corrupt(?:ed)?|bad|broken|toxic|leak(?:ed)?|quarantined?|rejected|tainted|garbage"
BAD = bounded(rf"(?i)^(?:{_WORDS}|污染|损坏|坏|隔离)$")
SAYS_BAD, YES = bounded(rf"(?:^|_)(?:{_WORDS})(?:_|$)|污染|损坏|坏"), bounded(r"(?i)^(?:1(?:\.0)?|true|yes|y|是)$")
WRONG = bounded(
    r"undecod|garb|error|invalid|corrupt|broken|mojibake|replacement|non_?utf|unpars|toxic|poison|lang_?other|off_?lang"
    r"|other_?lang|junk|noise|bad_|_bad|乱码|损坏|错误|无效|有毒|非法|其他语言"
)
"""Measures of what is wrong with a part."""
SHARE = bounded(r"pct|percent|%|率|占比|比例")
APART, LEAST_SHARE, LEAST_PERCENT, LEAST = 4.0, 0.05, 5.0, 12
"""Times the highest of all others from which on a part is another; share and percent from which on it is a part that
somebody would mark; parts of a list. Own judgement."""
PART = bounded(r"(?:^|_)(?:shard|file|path|part|source|name|dataset|doc)s?(?:_?(?:id|name))?$|分片|文件|来源")
SEVERAL = re.compile(r"[\s;,|+]+")
MOST_PARTS = 0.5
"""Share of the parts from which on the marks tell nothing apart."""


def marked(tables: Sequence[Table]) -> Iterator[Finding]:
    """The parts that one table marks as bad and another has among what was read."""
    for listed in tables:
        bad, why = _bad(listed)
        for read in tables if bad else ():
            if read is not listed and (found := _read(listed, bad, why, read)) is not None:
                yield found
                return


def _names(table: Table) -> Iterator[tuple[Column, np.ndarray]]:
    for column in table.columns:
        if column.values.dtype.kind == "O" and means(PART, column.name):
            yield column, texts(column)


def _bad(table: Table) -> tuple[dict[str, int], str]:
    """Name -> row of the few parts with a bad mark, and the column with the marks."""
    names = next((names for _, names in _names(table) if len(set(names.tolist())) == len(table)), None)
    if names is None:
        return {}, ""
    for column in table.columns:
        rows = [int(i) for i in _marks(column)]
        if 0 < len(rows) <= MOST_PARTS * len(table):
            return {str(names[i]): i for i in rows}, column.name
    return {}, ""


def _marks(column: Column) -> np.ndarray:
    """The rows that a column marks as bad."""
    if means(SAYS_BAD, column.name):
        return np.flatnonzero([bool(YES.match(v.strip())) for v in texts(column).tolist()])
    if column.values.dtype.kind == "O":
        said = texts(column).tolist() if means(STATUS, column.name) else []
        return np.flatnonzero([bool(BAD.match(v.strip())) for v in said])
    return _far_above(column) if WRONG.search(plain(column.name)) else np.array([], int)


def _far_above(column: Column) -> np.ndarray:
    """The rows whose measure lies far above the highest of the rest, with nothing between."""
    v = np.where(np.isfinite(column.values), column.values, 0.0)
    order = np.sort(v)
    if len(v) < LEAST or order[0] < 0:
        return np.array([], int)
    low, high = order[len(v) // 2 : -1], order[len(v) // 2 + 1 :]
    apart = np.flatnonzero((high >= APART * low) & (high - low >= order[-1] / APART))
    percent = SHARE.search(column.name.lower()) and order[-1] > 1
    least = LEAST_PERCENT if percent else LEAST_SHARE if order[-1] <= 1 else 2.0
    return np.flatnonzero(v >= max(high[apart[0]], least)) if len(apart) else np.array([], int)


def _read(listed: Table, bad: dict[str, int], why: str, read: Table) -> Finding | None:
    """Which of them the order has, from which step on; a cell may name several parts."""
    axis = next((c for c in read.of("axis") if c.of == "step" and c.values.dtype.kind == "f"), None)
    if axis is None:
        return None
    for column, names in _names(read):
        cells = [{name} if name in bad else bad.keys() & SEVERAL.split(name) for name in names.tolist()]
        rows = np.flatnonzero([bool(c) for c in cells])
        if not len(rows):
            continue
        first = int(rows[axis.values[rows].argmin()])
        step, parts = float(axis.values[first]), sorted(set().union(*cells))
        one = min(cells[first])
        said = f"{', '.join(parts[:4])}{f' and {len(parts) - 4} more' if len(parts) > 4 else ''}"
        row = bad[one]
        return Finding(
            "marked-part-was-read", Severity.S2,
            f"{said}: marked as bad in {listed.file} ({why}), and read from step {step:.10g} on ({read.file}, {one}); "
            "what is kept from before that step has not seen it.",
            f"{said}：{listed.file} 标记为有问题（{why}），而训练从第 {step:.10g} 步起读到了它（{read.file}，{one}）；"
            "此前保存的结果没有用过它。",
            (Evidence(read.file, int(read.lines[first]) or None, int(step), metric=column.name, text=str(names[first])),
             Evidence(listed.file, int(listed.lines[row]) or None, metric=why, text=one)),
            {"parts": parts[:20], "step": step},
        )  # fmt: skip
    return None
