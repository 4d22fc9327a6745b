"""A data preparation that is sound by its own books: the reassurance where a run is nothing but that.

Sound is what adds up and was looked at: in every row of its ledger what went in is what came out and what was removed
for a reason, the total that came out stands in a second place (a log, a list of what was expected), and the report
counts nothing of what must not be there. What no report looked at is not sound.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from ...findings import Check, Evidence, Finding, Report, Severity, TriageError, clean, declare
from ...operation.requests.tested import OF_MODELS
from ...patterns import bounded
from ...reading import Chunk, head, lines_of
from ...run import Run
from ...series import Series
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means, plain
from ..summed.words import TOTAL

CHECK = "books of a data preparation"
CODES = declare(
    "books", ("run-healthy", CHECK, "the books of a data preparation add up, and what must not be there is not")
)
CAME_IN = bounded(
    r"^(?:(?:n|num|rows|docs|records|samples)_)?(?:in|input|read|raw|before|loaded|total_in|rows_in|docs_in)(?:_(?:rows|docs"
    r"|records|samples))?$|^(?:输入|读入|读取|原始|清洗前)"
)
CAME_OUT = bounded(
    r"^(?:(?:n|num|rows|docs|records|samples)_)?(?:out|output|kept|keep|after|written|remaining|left|rows_out|docs_out)"
    r"(?:_(?:rows|docs|records|samples))?$|^(?:输出|保留|留下|剩余|清洗后)(?:数|行数|条数)?$"
)
KINDS: Mapping[str, re.Pattern[str]] = {
    "duplicates": bounded(r"dup|重复"),
    "personal data": bounded(r"pii|personal|privacy|sensitive|隐私|敏感|个人信息|身份证|手机号"),
    "evaluation items": bounded(
        r"(?:eval|bench|test|held)\w{0,12}[_.\s]{0,3}.{0,24}(?:overlap|collision|leak|hit|match|contam)"
        r"|contam|decontam|(?:overlap|collision|leak\w*)\w{0,6}[_.]|评测.{0,8}(?:碰撞|重合|泄漏|命中)"
    ),
}  # fmt: skip
"""What must not be there -> names of its counts."""
COUNTED = bounded(
    r"hits?|found|left|remain|leak|overlap|collision|match|contam|dup|missed|命中|漏检|残留|重复|碰撞|重合|泄漏"
)
"""Parts of a name that say that it counts what is there."""
OF_MANY = bounded(
    r"(?:^|_)(?:n|total|sampled?|checked|scanned|threshold|size|items|before|removed|dropped|masked|perm)$|阈值|样本|占位|移除|去除"
)
EXPECTED = bounded(
    r"(?i)^[\s\"'-]{0,12}([^\s:=\"']{0,30}(?:expect|target|allowed|planned|期望|预期|目标)[^\s:=\"']{0,30})[\"']?\s?[:=]\s?[\[(]\s?"
    r"([\d._]{1,20})\s?[,~-]\s?([\d._]{1,20})\s?[\])]"
)
"""Between what a configuration expects a number."""
DIGITS = bounded(r"\d{1,15}")
REASONS, KINDS_READ, SHARE, ROWS, HEAD = 2, 2, 0.02, 60, 64 << 10
"""Columns of what was removed, kinds of what must not be there that were counted, share of near duplicates that may
stay, rows of a report, and bytes of a configuration. Own judgement."""


class Ledger(NamedTuple):
    """What went in and came out by its table."""

    table: Table
    came_in: float
    came_out: float
    line: int


def prepared(
    run: Run, tables: Sequence[Table], logs: Mapping[str, Sequence[Chunk]], series: Iterable[Series] = ()
) -> Report:
    """The reassurance for a preparation, or nothing, which a run that trains needs from its curves.

    Args:
        run: whose configurations say what is expected.
        tables: what was read as rows.
        logs: as they were kept.
        series: what was logged.
    """
    ledgers = [one for t in tables if (one := _ledger(t)) is not None]
    if not ledgers or any(run.of("checkpoint", "metrics")) or any(s.metric in OF_MODELS for s in series):
        return Report("prepared", (), (Check(CHECK, "not-applicable", "no table of what went in and came out"),))
    book = max(ledgers, key=lambda one: one.came_in)
    books = [one.table for one in ledgers]
    counted = [*_counted([t for t in tables if t not in books and len(t) <= ROWS])]
    kinds = {kind for kind, *_ in counted}
    there = [one for one in counted if not (one[2] == 0 or (one[0] == "duplicates" and 0 < one[2] <= SHARE))]
    ranges = [*_ranges(run, book)]
    again = [*_again(logs, book), *(place for place, inside in ranges if inside)]
    if there or len(kinds) < KINDS_READ or not again or not all(inside for _, inside in ranges):
        return Report("prepared", (), (Check(CHECK, "clear", "the books add up, and not all is confirmed"),))
    return Report("prepared", (_told(book, counted, again),), (Check(CHECK, "clear"),))


def _ledger(table: Table) -> Ledger | None:
    """A table of which every row adds up to the last record."""
    whole = [c for c in table.columns if c.values.dtype.kind == "f" and _counts(c.values)]
    first, last = (next((c for c in whole if means(what, c.name)), None) for what in (CAME_IN, CAME_OUT))
    if first is None or last is None or first is last or len(table) > ROWS:
        return None
    gone = [c for c in whole if c is not first and c is not last and c.role != "axis"]
    lost = first.values - last.values
    gone = [c for c in gone if not (np.array_equal(c.values, lost) and lost.any())]  # what was removed in all
    if len(gone) < REASONS or not np.array_equal(lost, np.sum([c.values for c in gone], axis=0)):
        return None
    i = _total(table, first)
    n_in, n_out = (float(c.values.sum() if i is None else c.values[i]) for c in (first, last))
    return Ledger(table, n_in, n_out, int(table.lines[-1 if i is None else i])) if 0 < n_out < n_in else None


def _counts(values: np.ndarray) -> bool:
    return bool(len(values)) and bool(
        np.isfinite(values).all() and (values >= 0).all() and (values == values.round()).all()
    )


def _total(table: Table, first: Column) -> int | None:
    """The row of the sum, by its label or as the sum of the others."""
    labels = [texts(c).tolist() for c in table.columns if c.values.dtype.kind == "O"]
    named = next((i for said in labels for i, v in enumerate(said) if TOTAL.search(v)), None)
    sums = (i for i, v in enumerate(first.values.tolist()) if len(table) > 2 and 2 * v == first.values.sum())
    return named if named is not None else next(sums, None)


def _counted(tables: Sequence[Table]) -> Iterator[tuple[str, str, float, Evidence]]:
    """(kind, name, value, place) of what reports count of what must not be there."""
    for table in tables:
        labels = [texts(c).tolist() for c in table.columns if c.values.dtype.kind == "O" and c.role == "group"]
        for column in (c for c in table.columns if c.values.dtype.kind == "f" and not means(OF_MANY, c.name)):
            for i, value in enumerate(column.values.tolist()):
                name = plain(f"{table.part} {' '.join(said[i] for said in labels)} {column.name}")
                kind = next((k for k, what in KINDS.items() if what.search(name)), "")
                if kind and COUNTED.search(plain(column.name)) and np.isfinite(value):
                    place = Evidence(table.file, int(table.lines[i]) or None, metric=column.name, value=value)
                    yield kind, column.name, value, place


def _ranges(run: Run, book: Ledger) -> Iterator[tuple[Evidence, bool]]:
    """(place, whether what came out lies in it) of what configurations expect: a share where both ends are one."""
    for artifact in run.of("config", "table", "data", "document"):
        if not artifact.path.is_file() or artifact.path.suffix.lower() not in (
            ".yaml",
            ".yml",
            ".json",
            ".toml",
            ".md",
        ):
            continue
        with suppress(TriageError, OSError):
            for n, text in enumerate(head(artifact.path, HEAD).decode("utf-8", "replace").splitlines(), 1):
                if (m := EXPECTED.search(text)) is None:
                    continue
                low, high = float(m[2].replace("_", "")), float(m[3].replace("_", ""))
                value = book.came_out / book.came_in if high <= 1 else book.came_out
                yield Evidence(artifact.name, n, text=clean(text.strip(), 80)), low <= value <= high


def _again(logs: Mapping[str, Sequence[Chunk]], book: Ledger) -> Iterator[Evidence]:
    """Lines of logs that say both totals."""
    both = {f"{book.came_in:.0f}", f"{book.came_out:.0f}"}
    for name, chunks in logs.items():
        for line in lines_of(chunks):
            if both <= {*DIGITS.findall(line.text.replace(",", ""))}:
                yield Evidence(name, line.number, text=clean(line.text, 80))


def _told(book: Ledger, counted: Sequence[tuple[str, str, float, Evidence]], again: Sequence[Evidence]) -> Finding:
    said = ", ".join(f"{clean(name, 30)} {value:g}" for _, name, value, _ in counted[:6])
    share, file = book.came_out / book.came_in, book.table.file
    where = ", ".join(f"{e.file}:{e.line}" for e in again[:3])
    return Finding(
        "run-healthy", Severity.S3,
        f"Nothing wrong in the books of a data preparation: of {book.came_in:.0f} that went in {book.came_out:.0f} "
        f"({share:.1%}) came out, and all others have a reason in every row of {file}; {where} agrees; {said}.",
        f"数据清洗的账目没有问题：输入 {book.came_in:.0f}，保留 {book.came_out:.0f}（{share:.1%}），{file} "
        f"每一行的移除都有原因；{where} 与之一致；{said}。",
        (Evidence(file, book.line, metric="kept", value=book.came_out), *(e for *_, e in counted[:3]), *again[:2]),
        {"points": int(book.came_in)},
    )  # fmt: skip
