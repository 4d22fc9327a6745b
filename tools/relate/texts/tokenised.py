"""The same text as other tokens in two places: two lists of ids beside one text, or two counts of one file.

Weights know the ids that they were trained on; which tokenizer file or version made the difference is not told here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from ...findings import Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import named, shown, texts
from ..line import means

IDS = re.compile(r"\[\s?\d{1,7}(?:\s?,\s?\d{1,7}){2,20000}\s?\]")
PROSE = bounded(
    r"(?:^|_)(?:text|prompt|content|sentence|string|input|message|doc|query|question)(?:_|$)|文本|句子|提示"
)
FILE = bounded(
    r"(?:^|_)(?:file|path|shard|name|part|filename|doc|document|text|item)(?:_|$)|^(?:文件|文件名|路径|文本)$"
)
TOKENS = bounded(r"(?:^|_)(?:(?:n|num|total)_)?tokens?(?:_count|_num)?$|^token ?数$")
SIZE = bounded(r"(?:^|_)(?:(?:n|num|total)_)?(?:chars?|characters|bytes|words)(?:_count)?$|^(?:字符数|字数|字节数)$")
ROWS = bounded(
    r"(?:^|_)(?:(?:n|num|total)_)?(?:docs?|documents|rows|records|samples|examples|items)(?:_count)?$|^(?:文档数|条数)$"
)
LEAST, LONG, CLOSE, SHARE = 5, 4, 0.4, 0.8
"""Rows with two lists, ids of a list, share by which their lengths may differ, and share of rows where all this holds:
prompts and answers are of lengths that have nothing to do with each other."""
APART, PER_ROW = 0.005, 2
"""Share of the tokens that is more than counting, and tokens that begin and end each document."""


def two_lists(table: Table) -> Iterator[Finding]:
    """One text a row, and two lists of ids of it that differ."""
    prose = [c for c in table.of("text") if means(PROSE, c.name)]
    lists = [c for c in table.columns if c.values.dtype.kind == "O" and c not in prose and _ids(c)]
    if len(lists) != 2 or len(prose) != 1 or len(table) < LEAST:
        return
    rows = [(i, a, b) for i, (a, b) in enumerate(zip(*map(_read, lists), strict=True)) if min(len(a), len(b)) >= LONG]
    like = [r for r in rows if abs(len(r[1]) - len(r[2])) <= CLOSE * max(len(r[1]), len(r[2])) and not _within(*r[1:])]
    if len(like) >= max(LEAST, SHARE * len(table)):
        one, other = (c.name for c in lists)
        yield Finding(
            "texts-tokenised-otherwise", Severity.S1,
            f"The same text has other token ids in {one} than in {other}, in {len(like)} of {len(table)} rows of "
            f"{table.file}: two tokenizers made them, and weights know only the ids that they were trained on.",
            f"{table.file} 的 {len(table)} 行中有 {len(like)} 行，同一段文本在 {one} 与 {other} 中的 token id 不同："
            "两侧的分词器不是同一个，而权重只认识训练时的 id。",
            shown(table, [r[0] for r in like[:3]], one), {"rows": len(like), "of": len(table), "columns": [one, other]},
        )  # fmt: skip


def counted_otherwise(tables: Sequence[Table]) -> Iterator[Finding]:
    """Files of one name and size that two places count other tokens of."""
    some = [(t, c) for t in tables if (c := _counts(t)) is not None][:40]
    for (one, a), (other, b) in combinations(some, 2):
        both = [n for n in a if n in b and one.file != other.file and a[n][1] == b[n][1]]
        apart = [n for n in both if abs(a[n][0] - b[n][0]) > max(APART * a[n][0], PER_ROW * a[n][2])]
        if apart and len(apart) >= SHARE * len(both):
            name, (x, size, _, i), y = apart[0], a[apart[0]], b[apart[0]][0]
            yield Finding(
                "texts-tokenised-otherwise", Severity.S1,
                f"{name} of {size:.10g} characters is {x:.10g} tokens in {one.file} and {y:.10g} in {other.file} "
                f"({100 * (y / x - 1):+.1f}%), and so {len(apart)} of {len(both)} files in both: two tokenizers "
                "counted them, and weights know only the ids that they were trained on.",
                f"{name}（{size:.10g} 字符）在 {one.file} 中是 {x:.10g} 个 token，在 {other.file} 中是 {y:.10g} 个（"
                f"{100 * (y / x - 1):+.1f}%），两处共有的 {len(both)} 个文件中有 {len(apart)} 个如此：两侧的分词器不是"
                "同一个，而权重只认识训练时的 id。",
                (*shown(one, [i], "tokens"), *shown(other, [b[name][3]], "tokens")),
                {"files": len(apart), "of": len(both), "tokens": [x, y]},
            )  # fmt: skip
            return


def _ids(column: Column) -> bool:
    values = [v for v in texts(column)[:50].tolist() if v.strip()]
    return bool(values) and all(IDS.fullmatch(v.strip()) for v in values)


def _read(column: Column) -> list[list[int]]:
    return [[int(n) for n in re.findall(r"\d+", v)] for v in texts(column).tolist()]


def _within(a: list[int], b: list[int]) -> bool:
    """Whether one list is the other, but for what begins and ends it."""
    short, long = sorted((a, b), key=len)
    return any(long[i : i + len(short)] == short for i in range(len(long) - len(short) + 1))


def _counts(table: Table) -> dict[str, tuple[float, float, float, int]] | None:
    """(tokens, size, documents, row) of each file that a table names once, with both numbers."""
    file = named(table, FILE, "O")
    tokens, size, rows = (
        next((c for c in table.columns if c.values.dtype.kind == "f" and means(p, c.name)), None)
        for p in (TOKENS, SIZE, ROWS)
    )
    if file is None or tokens is None or size is None or len(set(texts(file).tolist())) < len(table):
        return None
    docs = rows.values if rows is not None else np.ones(len(table))
    numbers = zip(texts(file).tolist(), tokens.values.tolist(), size.values.tolist(), docs.tolist(), strict=True)
    return {n.rpartition("/")[2]: (t, s, d, i) for i, (n, t, s, d) in enumerate(numbers) if t > 0 and s > 0}
