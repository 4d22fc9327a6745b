"""Two columns of times of one thing (`caption_start`, `spoken_start`): a constant between them, or another speed.

Told by part of the rows where a column of few values tells parts; one part of which the two agree shows that they can.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import plain

LEAST, MOST_GROUPS, GROUP = 20, 32, 8
TIME = bounded(
    r"(?:^|_)(?:start|end|begin|onset|time|ts|timestamp|pts|at)(?:_(?:s|ms|sec|seconds))?$|时间|起点|终点|开始|结束"
)
SAID = bounded(r"caption|subtitle|text|transcript|script|label|srt|字幕|文本|台词|标注")
HEARD = bounded(r"spoken|speech|audio|asr|align\w{0,4}|voice|heard|sound|video|frame|语音|音频|视频|对齐|人声")
OFFSET, SPEED, TIGHT = 0.3, 0.002, 0.25
"""Seconds, and share of the speed, by which two clocks lie apart at least; and what of it may be spread."""


def apart(table: Table) -> Iterator[Finding]:
    """The pair of clocks of a table, where a part of its rows has them apart."""
    if len(table) < LEAST:
        return
    times = [c for c in table.columns if c.values.dtype.kind == "f" and TIME.search(plain(c.name))]
    for one, other in combinations(times, 2):
        told, heard = (one, other) if SAID.search(plain(one.name)) else (other, one)
        if not (SAID.search(plain(told.name)) and HEARD.search(plain(heard.name))) or _side(told) != _side(heard):
            continue
        found = _shifted(table, told, heard) or _drifting(table, told, heard)
        if found is not None:
            yield found
            return


def _side(column: Column) -> str:
    """Whether a time is of an end or not: a start is not compared with an end."""
    return "end" if re.search(r"(?:^|_)(?:end|stop)|终点|结束", plain(column.name)) else "start"


def _parts(table: Table) -> Iterator[tuple[str, list[tuple[str, np.ndarray]]]]:
    """(column, its groups) of columns of few values, then the whole."""
    for column in table.columns:
        if column.values.dtype.kind == "O":
            said = texts(column)
            names = list(dict.fromkeys(said.tolist()))
            rows = [(name, said == name) for name in names]
            if 2 <= len(names) <= MOST_GROUPS and all(r.sum() >= GROUP for _, r in rows):
                yield column.name, rows
    yield "", [("", np.ones(len(table), bool))]


def _shifted(table: Table, told: Column, heard: Column) -> Finding | None:
    gap = told.values - heard.values
    for by, groups in _parts(table):
        odd = []
        for name, rows in groups:
            middle = float(np.nanmedian(gap[rows]))
            width = float(np.subtract(*np.nanpercentile(gap[rows], (75, 25))))
            if abs(middle) >= OFFSET and width <= TIGHT * abs(middle):
                odd.append((name, middle, rows))
        even = [name for name, rows in groups if abs(float(np.nanmedian(gap[rows]))) < OFFSET / 2]
        if odd and (even or not by):
            name, middle, rows = max(odd, key=lambda one: abs(one[1]))
            said = f"{abs(middle):.2f} s {'behind' if middle > 0 else 'before'}"
            zh = f"{'晚' if middle > 0 else '早'} {abs(middle):.2f} 秒"
            return _told("clocks-shifted", table, told, heard, _of(by, odd), rows, said, f"比 {heard.name} {zh}", even)
    return None


def _drifting(table: Table, told: Column, heard: Column) -> Finding | None:
    for by, groups in _parts(table):
        odd, even = [], []
        for name, rows in groups:
            x, y = told.values[rows], heard.values[rows]
            if np.ptp(x) <= 0:
                continue
            slope, base = np.polyfit(x, y, 1)
            rest = float(np.median(np.abs(y - slope * x - base)))
            if abs(slope - 1) >= SPEED and rest <= TIGHT * abs(slope - 1) * np.ptp(x):
                odd.append((name, float(slope), rows))
            elif abs(slope - 1) < SPEED / 2:
                even.append(name)
        if odd and (even or not by):
            name, slope, rows = max(odd, key=lambda one: abs(one[1] - 1))
            said, zh = (
                f"slower by a factor of {slope:.4f} than" if slope > 1 else f"faster ({slope:.4f}) than",
                f"时钟比为 {slope:.4f}",
            )
            return _told("clocks-drift", table, told, heard, _of(by, odd), rows, said, zh, even)
    return None


def _of(by: str, odd: list[tuple[str, float, np.ndarray]]) -> str:
    return f" of {by} {', '.join(name for name, *_ in odd[:6])}" if by else ""


def _told(
    code: str, table: Table, told: Column, heard: Column, of: str, rows: np.ndarray, said: str, zh: str, even: list[str]
) -> Finding:
    rest = f"; of {', '.join(even[:4])} they agree" if any(even) else ""
    rest_zh = f"；{'、'.join(even[:4])} 一致" if any(even) else ""
    at = np.flatnonzero(rows)
    shown = [int(at[0]), int(at[-1])]
    return Finding(
        code, Severity.S2, f"{told.name}{of} runs {said} {heard.name}{rest}.", f"{told.name}{of} {zh}{rest_zh}。",
        tuple(Evidence(table.file, int(table.lines[i]) or None, metric=told.name, value=float(told.values[i]),
                       text=f"{told.name} {told.values[i]:.5g}, {heard.name} {heard.values[i]:.5g}") for i in shown),
        {"metric": told.name, "of": heard.name, "rows": int(rows.sum())},
    )  # fmt: skip
