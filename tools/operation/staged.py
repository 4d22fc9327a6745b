"""What a stage of a data pipeline counted by source: of one source it saw nothing, though the source has records.

A stage that reads a field which one source calls otherwise skips that source without a word, and reports it as done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..findings import Evidence, Finding, Severity
from ..patterns import bounded
from ..relate.line import plain
from ..relate.summed.words import TOTAL, is_count
from ..tables.table import Column, Table

RECORDS = bounded(
    r"(?:^|_)(?:docs|documents|records|rows|samples|lines|items|files|read|in|input)(?:_|$)|条数|文档数|样本数|行数|读入"
)
SEEN = bounded(
    r"(?:^|_)(?:seen|scanned|processed|checked|visited|looked_at)(?:_|$)|^(?:n_|num_|total_)?(?:chars|characters|bytes"
    r"|tokens|words)(?:_(?:seen|in|read|scanned|processed))?$|已扫描|扫描|处理(?:字符|条|行)|字符数"
)
ASIDE = bounded(
    r"(?i)\b(?:skip\w{0,4}|exclud\w{1,4}|disabled|pending|queued|todo|not (?:run|yet|needed)|off|n/?a)\b"
    r"|跳过|排除|未开始|不需要"
)
"""What a row says that was left out on purpose, or is still to come."""
MASKS = bounded(r"scrub|mask|redact|anonymi|de_?identif|pii|privacy|sanitiz|脱敏|打码|隐私|去标识")
"""Stages that take personal data out, by the names of file and columns."""
LEAST, ROWS, GROUPS, MOST_ROWS = 1000, 3, 2, 20_000
"""Records of which a stage must see something; rows of the source; other sources; rows of a table."""
LEFT = {
    True: ("what it takes out of the others it left there", "其他来源中被去掉的内容在这里原样留下"),
    False: ("it was passed on untouched", "这一来源被原样放过"),
}
"""What follows, where the stage takes personal data out and where not."""
USUAL = 20.0
"""What the stage counts of each other source in the median, from which on nothing is a wonder."""
_DIGITS = bounded(r"\d{1,12}")


def staged(tables: Sequence[Table]) -> Iterator[Finding]:
    """One finding for each table in which a stage saw nothing of one source, and something of every other."""
    for table in tables:
        if not GROUPS + 1 <= len(table) <= MOST_ROWS:
            continue
        counts = [c for c in table.columns if c.role != "axis" and is_count(c)]
        records = next((c for c in counts if RECORDS.search(plain(c.name)) and not SEEN.search(plain(c.name))), None)
        masks = bool(MASKS.search(plain(" ".join((table.file, table.part, *(c.name for c in table.columns))))))
        for column in counts:
            if records is None or column is records or not SEEN.search(plain(column.name)):
                continue
            if (found := _missed(table, column, records, masks)) is not None:
                yield found
                break


def _missed(table: Table, column: Column, records: Column, masks: bool) -> Finding | None:
    """The source of which a column counts nothing at all, by the first column that has such a one."""
    for group in (c for c in table.columns if c.values.dtype.kind == "O"):
        said = np.array([str(v).strip() for v in group.values.tolist()], object)
        names = [n for n in dict.fromkeys(said.tolist()) if n and not TOTAL.search(n)]
        if not GROUPS < len(names) <= len(table) or (len(names) > len(table) // ROWS and len(names) < len(table)):
            continue
        sums = {n: float(column.values[said == n].sum()) for n in names}
        had = {n: float(records.values[said == n].sum()) for n in names}
        none = [n for n in names if sums[n] == 0 and had[n] >= LEAST]
        rest = [sums[n] for n in names if n not in none]
        alone = len(names) == len(table)
        if not none or 2 * len(none) > len(names) or min(rest) <= 0 or float(np.median(rest)) < USUAL:
            continue
        if (alone and len(none) > 1 and _same_source(none)) or _aside(table, np.isin(said, none)):
            continue
        return _told(table, (column, records, group), none, (sum(had[n] for n in none), float(np.median(rest))), masks)
    return None


def _same_source(names: Sequence[str]) -> bool:
    """Whether names differ by a number alone: shards of one source."""
    return len({_DIGITS.sub("", n) for n in names}) == 1


def _aside(table: Table, rows: np.ndarray) -> bool:
    """Whether the rows themselves say that the source was left out."""
    words = (c.values[rows].tolist() for c in table.columns if c.values.dtype.kind == "O")
    return any(ASIDE.search(str(v)) for said in words for v in said[:20])


def _told(
    table: Table, columns: tuple[Column, Column, Column], none: Sequence[str], amounts: tuple[float, float], masks: bool
) -> Finding:
    column, records, group = columns
    said = np.array([str(v).strip() for v in group.values.tolist()], object)
    rows = np.flatnonzero(np.isin(said, list(none)))
    which, had, usual = ", ".join(none[:4]), *amounts
    left, left_zh = LEFT[masks]
    return Finding(
        "masking-saw-nothing" if masks else "stage-saw-nothing", Severity.S1 if masks else Severity.S2,
        f"{column.name} is 0 in all {len(rows)} rows of {group.name} {which} ({records.name} {had:.0f}), and "
        f"{usual:.0f} in the median of the others: the stage read nothing of it (another field?), and {left}.",
        f"{group.name} {which} 的全部 {len(rows)} 行 {column.name} 为 0（{records.name} 共 {had:.0f}），其余来源的中位"
        f"数为 {usual:.0f}：该步骤没有读到这一来源（字段不同？），{left_zh}。",
        tuple(Evidence(table.file, int(table.lines[i]) or None, metric=column.name, value=0.0, text=str(said[i]))
              for i in rows[:2]),
        {"sources": list(none[:20]), "records": had, "usual": usual},
    )  # fmt: skip
