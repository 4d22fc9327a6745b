"""Tables of lengths by bucket: whether documents fill the window that is trained."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...settings import Setting, Settings
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means, plain

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
    r"^\W{0,3}(\d{1,9}(?:\.\d{1,3})?)\s?([kKmM]?)\s?(?:-|–|—|~|\.\.|to|至|到|,)\s?(\d{1,9}(?:\.\d{1,3})?)\s?([kKmM]?)(?:\s?(?:tok(?:en)?s?|词元))?\W{0,3}$"
)
OPEN = re.compile(r"^\W{0,4}(\d{1,9}(?:\.\d{1,3})?)\s?([kKmM]?)\W{0,3}$")
TOKENS = re.compile(r"tok|词元")
UPPER = bounded(
    r"(?:^|_)(?:up_?to|upper|max|le|lt|until|to|end|hi|high|bin|bucket|edge|bound)(?:_|$)|≤|<=|上限|以内|不超过"
)
QUANTILE = bounded(
    r"^(?:.{0,24}[_. ])?(?:p|pct|perc|q|percentile_?|分位)?(?:0?\.)?(50|90|95|99|99[._]?9|999)(?:th|%|分位)?$"
    r"|^(?:max|maximum|最大|最长)$"
)
LENGTHS = bounded(r"(?i)len|tok|词元|长度|字数")
DOCUMENTS = bounded(r"(?i)doc|corpus|source|mix|data|text|文档|语料|来源|len|长度")
TIMED = bounded(r"(?i)latenc|ttft|tpot|(?:^|_)ms(?:_|$)|seconds|request|prompt|serv|qps|延迟|耗时|请求")
LOWER = bounded(r"(?:^|_)(?:from|lower|min|ge|gt|start|lo|low|left|since)(?:_|$)|≥|>=|下限|起|以上|不少于|最小")
COUNTED = bounded(
    r"^(?:n|num|count|rows?|samples?|records?|items?|examples?)$|(?:^|_)(?:docs?|n|count|num)(?:_|$)|数$|条|篇|占比|share|pct|%"
)
RUNNING = bounded(r"cumul|cum_|_cum|累计|累积")
FROM = bounded(r"(?:^|_)(?:at_least|min|ge|gte|longer_than|over|above)(?:_|$)|≥|>=|不少于|以上|超过")
MOST_RANGES, SPOKEN = 24, 256
NAMED = re.compile(
    r"(?i)^(?:tok(?:en)?s?|len(?:gth)?|docs?|n|bin|bucket|长度|词元)[_ :]{0,2}"
    r"|[_ ]?(?:tok(?:en)?s?|docs?|词元|篇|占比|%)$"
)
BUCKET = bounded(r"\d\s?[kK]?\s?(?:-|–|—|~|\.\.|to|至|到|_)\s?\d|[<>≤≥]|\d[kK]?\+$")
AT_LEAST = re.compile(r"^(>=?|≥|<=?|≤|>|<)\s?(\d{1,9}(?:\.\d{1,3})?)\s?([kKmM]?)(?:\s?(?:tok(?:en)?s?|词元))?$")
UP = frozenset((">", ">=", "≥"))
"""How bounds of lengths, what is counted there, and sums that run on are called."""
EIGHTH, SIXTEENTH = 8, 16
"""Parts of the window below which 99.9 % of the documents lie, or 99 % where no more is said."""


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
        said = " ".join((table.file, table.part, *(c.name for c in table.columns)))
        if not LEAST <= len(table) <= 200 or not (LENGTHS.search(said) or DOCUMENTS.search(said)):
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
    """Share of the tokens in documents of at least half the window, by the middles of buckets where none is given."""


def _below(table: Table, bounds: tuple[np.ndarray, np.ndarray], size: float) -> Below | None:
    low, high = bounds
    numbers = [c for c in table.columns if c.values.dtype.kind == "f" and np.isfinite(c.values).all()
               and (c.values >= 0).all() and c.values.sum() > 0]  # fmt: skip
    numbers = [c for c in numbers if not (np.array_equal(c.values, low) or np.array_equal(c.values, high))
               and not RUNNING.search(plain(c.name))]  # fmt: skip
    counts = next((c for c in numbers if not means(TOKENS, c.name)), None)
    if counts is None or not (high <= size / 4).any():
        return None
    shares = {float(b): float(counts.values[high <= b].sum() / counts.values.sum()) for b in high if b <= size / 4}
    bound = min((b for b in shares if shares[b] >= NEARLY_ALL), default=max(shares))
    tokens = next((c.values for c in numbers if means(TOKENS, c.name)), None)
    middle = (low + np.where(np.isfinite(high), high, 2 * low)) / 2
    wide = low if tokens is not None else middle
    tokens = tokens if tokens is not None else counts.values * middle
    far = float(tokens[wide >= size / 2].sum() / max(tokens.sum(), 1))
    if shares[bound] < MOSTLY or far > FAR_TOKENS or high.max() < SPOKEN:
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


def by_source(tables: Sequence[Table], settings: Settings) -> Iterator[Finding]:
    """Documents by source and bucket, bucket by column, from a length on, or at quantiles: far below the window."""
    window = settings.get("sequence_length")
    if window is None or not isinstance(window.value, int | float) or window.value < LONG:
        return
    for table in tables:
        if 1 <= len(table) <= 2000:
            told = (
                _grouped(table, window) or _across(table, window) or _from(table, window) or _quantiles(table, window)
            )
            if told is not None:
                yield told
                return


def _timed(table: Table) -> bool:
    return TIMED.search(" ".join((table.file, table.part, *(c.name for c in table.columns)))) is not None


def _grouped(table: Table, window: Setting) -> Finding | None:
    """The buckets of several sources together: each has the same bounds, as ranges or as numbers."""
    groups = [c for c in table.columns if c.values.dtype.kind == "O"]
    if not groups or len(table) < 2 * LEAST or _timed(table):
        return None
    for bound in table.columns:
        rows = _row_bounds(table, bound)
        group = next((c for c in groups if c is not bound), None)
        if rows is None or group is None:
            continue
        low, high = rows
        names = texts(group)
        edges = [high[names == name] for name in dict.fromkeys(names.tolist())]
        if len(edges) < 2 or any(len(e) < LEAST or len(np.unique(e)) < len(e) for e in edges):
            continue
        tops, first, at = np.unique(high, return_index=True, return_inverse=True)
        numbers = [c for c in table.columns if c is not bound and c.values.dtype.kind == "f"
                   and np.isfinite(c.values).all() and not (means(LOWER, c.name) or means(UPPER, c.name))
                   and not np.array_equal(c.values, low) and not np.array_equal(c.values, high)]  # fmt: skip
        if not numbers or not all(means(DOCUMENTS, c.name) or means(TOKENS, c.name) or means(COUNTED, c.name)
                                  for c in numbers):  # fmt: skip
            continue
        columns = (replace(bound, values=bound.values[first]),
                   *(replace(c, values=np.bincount(at, c.values, len(tops))) for c in numbers))  # fmt: skip
        summed = replace(table, columns=columns, lines=table.lines[first])
        low = np.concatenate([[0.0], tops[:-1]]) if not np.isfinite(low).all() else low[first]
        if (found := _below(summed, (low, tops), float(window.value))) is not None:
            return _told(summed, columns[0], window, found)
    return None


def _row_bounds(table: Table, bound: Column) -> tuple[np.ndarray, np.ndarray] | None:
    """Lower and upper bound of every row, ranges or numbers; lower ones NaN where only the upper is given."""
    if bound.values.dtype.kind == "f":
        if not (means(UPPER, bound.name) and np.isfinite(bound.values).all()) or means(COUNTED, bound.name):
            return None
        low = next((c.values for c in table.columns if c is not bound and means(LOWER, c.name)
                    and c.values.dtype.kind == "f" and (c.values < bound.values).all()), None)  # fmt: skip
        return (low if low is not None else np.full(len(table), np.nan)), bound.values
    cells = [c.strip() for c in texts(bound).tolist()]
    kinds = list(dict.fromkeys(cells))
    bounds = ranges(kinds) if len(kinds) <= MOST_RANGES else None
    if bounds is None:
        return None
    at = np.array([kinds.index(c) for c in cells])
    return bounds[0][at], bounds[1][at]


def _across(table: Table, window: Setting) -> Finding | None:
    """A column a bucket: their sums are the documents of all rows."""
    found = [c for c in table.columns if c.values.dtype.kind == "f" and BUCKET.search(c.name)]
    names = [NAMED.sub("", c.name) for c in found]
    bounds = ranges(names) if len(found) >= LEAST and not _timed(table) else None
    said = " ".join((table.file, table.part, *(c.name for c in table.columns)))
    if bounds is None or not (LENGTHS.search(said) or DOCUMENTS.search(said)):
        return None
    if any(not np.isfinite(c.values).all() or (c.values < 0).any() for c in found):
        return None
    order = np.argsort(bounds[0], kind="stable")
    low, high = bounds[0][order], bounds[1][order]
    if not (low[1:] >= high[:-1]).all():
        return None
    sums = np.array([c.values.sum() for c in found])[order]
    lines = np.full(len(sums), int(table.lines[0]))
    label = Column("bucket", "text", "bucket", "", np.array([found[i].name for i in order], object))
    summed = replace(table, columns=(label, Column("documents", "measure", "documents", "", sums)), lines=lines)
    if TOKENS.search(table.part.lower()) or all(TOKENS.search(n.lower()) and "share" in n.lower() for n in names):
        return None  # tokens by bucket, not documents
    below = _below(summed, (low, high), float(window.value))
    return _told(summed, label, window, below) if below is not None else None


def _from(table: Table, window: Setting) -> Finding | None:
    """Documents of at least a length, or of at most one, added up: how many lie below a quarter of the window."""
    if not LEAST <= len(table) <= 60 or _timed(table):
        return None
    for column in table.columns:
        if column.values.dtype.kind == "O":
            hits = [AT_LEAST.match(c.strip()) for c in texts(column).tolist()]
            if not all(hits) or len({h[1] in UP for h in hits if h}) > 1:
                continue
            places = np.array([_number(h[2], h[3] or "") for h in hits if h])
            up = hits[0][1] in UP  # type: ignore[index]
        else:
            places, up = column.values, means(FROM, column.name) is not None
            if not up or not np.isfinite(places).all():
                continue
        for counts in table.columns:
            values = counts.values
            if (
                counts is column
                or values.dtype.kind != "f"
                or not np.isfinite(values).all()
                or means(TOKENS, counts.name)
            ):
                continue
            if not (means(DOCUMENTS, counts.name) or means(COUNTED, counts.name)):
                continue
            order = np.argsort(places)
            steps = np.diff(values[order])
            if len(np.unique(places)) < len(places) or (steps > 0 if up else steps < 0).any() or (steps == 0).all():
                continue
            whole = 100.0 if "%" in counts.name or counts.unit == "%" else values.max()
            if whole <= 0 or values.max() > whole or (up and places.min() > 1 and counts.unit != "%" and whole != 100):
                continue
            share = 1 - values / whole if up else values / whole
            rows = [int(i) for i in order if places[i] <= window.value / 4 and share[i] >= NEARLY_ALL]
            if rows:
                found = Below(counts, float(share[rows[0]]), float(places[rows[0]]), rows[0], 0.0)
                return _told(table, column, window, found)
    return None


def _quantiles(table: Table, window: Setting) -> Finding | None:
    """Lengths at their quantiles, a row a source: the highest that is given lies far below the window in each."""
    size = float(window.value)  # type: ignore[arg-type]
    cells = (str(v) for c in table.columns if c.values.dtype.kind == "O" for v in c.values[:40])
    said = " ".join((table.file, table.part, *(c.name for c in table.columns), *cells))
    if not LENGTHS.search(said) or not DOCUMENTS.search(said) or TIMED.search(said):
        return None
    found: dict[float, Column] = {}
    for column in table.columns:
        hit = QUANTILE.match(column.name.strip().lower()) if column.values.dtype.kind == "f" else None
        if hit is not None:
            digits = (hit[1] or "").replace("_", ".")
            found[100.0 if not digits else 99.9 if digits in ("999", "99.9") else float(digits)] = column
    if len(found) < 3 or 99.0 not in found:
        return None
    order = [found[q] for q in sorted(found)]
    values = np.array([c.values for c in order])
    if not np.isfinite(values).all() or (np.diff(values, axis=0) < 0).any() or values.min() < 1:
        return None
    limits = {100.0: size / 2, 99.9: size / EIGHTH, 99.0: size / SIXTEENTH}
    level = next((q for q in (99.9, 100.0, 99.0) if q in found and float(found[q].values.max()) <= limits[q]), None)
    if level is None or (found[99.0].values > size / EIGHTH).any():
        return None
    column = found[level]
    row = int(column.values.argmax())
    top = float(column.values[row])
    share = min(level, 99.9) if level != 100 else 100
    return Finding(
        "documents-far-below-window", Severity.S1,
        f"In all {len(table)} rows of {table.file} {share:g}% of the documents have at most {top:.0f} tokens "
        f"(99%: {found[99.0].values.max():.0f}), the window is {size:.0f}: nothing in the data teaches the long range.",
        f"{table.file} 的 {len(table)} 行中，{share:g}% 的文档不超过 {top:.0f} tokens"
        f"（99%：{found[99.0].values.max():.0f}），而窗口为 {size:.0f}：数据里没有长距离可学。",
        (Evidence(table.file, int(table.lines[row]) or None, metric=column.name, value=top), window.evidence()),
        {"share": level / 100, "bound": top, "window": size, "far": 0.0},
    )  # fmt: skip
