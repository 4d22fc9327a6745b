"""What a monitor of the training data counts along the run: of so many samples so many were flagged, by source.

A share that steps up in one source and stays is the data of that source; where every source moves at once it may be
the monitor, which is not told here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...relate.line import place, plain
from ...tables.table import Column, Table

HITS = bounded(
    r"(?:^|_)(?:flag(?:ged|s)?|hits?|positives?|detect(?:ed|ions?)|violations?|caught)(?:_|$)|tox|unsafe|harmful|nsfw"
    r"|profan|(?:^|_)pii(?:_|$)|命中|检出|标记|违规|有害|毒性|隐私"
)
WHOLE = bounded(
    r"(?:^|_)(?:sampled?|samples|n|num|total|checked|scanned|seen|rows|docs|documents|records|lines)(?:_|$)|抽样|样本数"
    r"|条数|总数|扫描"
)
SHARE = bounded(r"(?:^|_)(?:rate|ratio|share|pct|percent|frac|fraction|prop)(?:_|$)|率|占比|比例|%")
CALM = bounded(r"cache|retriev|search|recall|prefix|index|缓存|检索|召回")
"""Hits that are wanted."""
SUBJECTS: Mapping[str, tuple[str, str, str]] = {
    "toxic-share-rises": (
        r"tox|unsafe|safety|harmful|nsfw|profan|hate|abus|有害|毒性|不安全|安全监控|涉黄",
        "toxic",
        "毒性内容",
    ),
    "pii-share-rises": (r"(?:^|_)pii(?:_|$)|personal|privacy|隐私|个人信息", "personal data", "个人信息"),
}
"""Code -> what is counted, by the names of column, file and folder."""
_SUBJECT = {code: bounded(words) for code, (words, *_) in SUBJECTS.items()}
PLACES, MOST_PLACES, MOST_GROUPS = 4, 20_000, 64
"""Places on each side of the step; rows and groups of a table that are looked at."""
TIMES, CLEAR, CALMER = 3.0, 6.0, 1.5
"""Times that the share grows, and standard errors; times below which another source stayed where it was."""
LEAST = 0.002
"""Share from which on it is worth telling."""


@dataclass(frozen=True)
class Step:
    """A share along the run, and where it steps up for good."""

    group: str
    before: float
    after: float
    at: float
    z: float
    row: int
    """Of the table, at the step."""

    @property
    def times(self) -> float:
        return self.after / max(self.before, 1e-4)

    @property
    def up(self) -> bool:
        return self.z >= CLEAR and self.times >= TIMES and self.after >= LEAST


def streamed(tables: Sequence[Table]) -> Iterator[Finding]:
    """One finding for each table whose counted share of something bad steps up."""
    for table in tables:
        ways = sorted((c for c in table.of("axis") if c.values.dtype.kind == "f"), key=lambda c: c.of != "step")
        axis = next((c for c in ways if c.of != "index"), ways[0] if ways else None)
        if axis is None or not 2 * PLACES <= len(table) <= MOST_PLACES:
            continue
        for column, shares in _shares(table):
            about = plain(" ".join((column.name, table.file, table.part)))
            code = next((code for code, words in _SUBJECT.items() if words.search(about)), "")
            found = _told(table, column, axis, shares, code) if code and not CALM.search(about) else None
            if found is not None:
                yield found
                break


def _shares(table: Table) -> Iterator[tuple[Column, np.ndarray]]:
    """Columns of hits as shares of what was looked at."""
    numbers = [c for c in table.columns if c.values.dtype.kind == "f" and c.role != "axis"]
    whole = next((c for c in numbers if WHOLE.search(plain(c.name)) and not HITS.search(plain(c.name))), None)
    for column in numbers:
        name, values = plain(column.name), column.values
        if column is whole or not HITS.search(name) or not np.isfinite(values).all() or (values < 0).any():
            continue
        if SHARE.search(name) and values.max() <= 100:
            yield column, values / (100 if values.max() > 1 else 1)
        elif whole is not None and np.isfinite(whole.values).all() and (values <= whole.values).all():
            yield column, values / np.maximum(whole.values, 1)


def _told(table: Table, column: Column, axis: Column, shares: np.ndarray, code: str) -> Finding | None:
    steps = [s for label, rows in _groups(table) if (s := _step(label, axis.values, shares, rows)) is not None]
    up = max((s for s in steps if s.up), key=lambda s: s.z, default=None)
    if up is None:
        return None
    others = [s for s in steps if s is not up and not s.up]
    if 2 * len(others) < len(steps) or not any(s.times < CALMER for s in others):
        return None  # everywhere at once: perhaps it is what counts that changed
    _, what, zh = SUBJECTS[code]
    where = place(axis.of or "step", up.at)
    beside = max(s.after for s in others)
    return Finding(
        code, Severity.S1,
        f"{column.name} ({what}) of {up.group} goes from {up.before:.2%} to {up.after:.2%} of the samples at {where} "
        f"and stays ({up.z:.0f} standard errors), while {len(others)} others stay at or below {beside:.2%}.",
        f"{column.name}（{zh}）：{up.group} 的占比从 {where} 起由 {up.before:.2%} 升到 {up.after:.2%} 并保持（"
        f"{up.z:.0f} 个标准误），其余 {len(others)} 组不超过 {beside:.2%}。",
        (Evidence(table.file, int(table.lines[up.row]) or None, metric=column.name, value=float(shares[up.row]),
                  text=up.group),),
        {"group": up.group, "before": up.before, "after": up.after, "at": up.at, "others": beside},
    )  # fmt: skip


def _groups(table: Table) -> Iterator[tuple[str, np.ndarray]]:
    """The rows of each group of the first column that has several."""
    for column in table.of("group"):
        said = np.array([str(v) for v in column.values.tolist()], object)
        names = list(dict.fromkeys(said.tolist()))
        if 1 < len(names) <= MOST_GROUPS and len(said) >= 2 * PLACES * len(names):
            for name in names:
                yield f"{column.name} {name}", np.flatnonzero(said == name)
            return


def _step(label: str, places: np.ndarray, shares: np.ndarray, rows: np.ndarray) -> Step | None:
    """Where the share of a group steps up most clearly, with its means on both sides."""
    rows = rows[np.isfinite(places[rows]) & np.isfinite(shares[rows])]
    rows = rows[np.argsort(places[rows], kind="stable")]
    values, n = shares[rows], len(rows)
    if n < 2 * PLACES:
        return None
    total, squares = np.cumsum(values), np.cumsum(values**2)
    k = np.arange(PLACES, n - PLACES + 1)
    left, right = total[k - 1] / k, (total[-1] - total[k - 1]) / (n - k)
    spread = squares[k - 1] / k - left**2, (squares[-1] - squares[k - 1]) / (n - k) - right**2
    error = np.sqrt(np.maximum(spread[0], 1e-9) / k + np.maximum(spread[1], 1e-9) / (n - k))
    z = (right - left) / error
    best = int(np.argmax(z))
    last = float(np.median(values[-PLACES:]))
    stays = float(z[best]) if last >= (left[best] + right[best]) / 2 else 0.0
    i = int(k[best])
    return Step(label, float(left[best]), float(right[best]), float(places[rows[i]]), stays, int(rows[i]))
