"""Segments that end after the media which they are cut from."""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import plain

LEAST, SHARE, ROOM = 20, 0.03, 0.1
"""Rows of a table, share of segments, and seconds from which on they are told."""
START = bounded(r"(?:^|_)(?:start|begin|from|onset)(?:_|$)|开始|起点|起始")
END = bounded(r"(?:^|_)(?:end|stop|to|offset)(?:_|$)|结束|终点|截止")
WHOLE = bounded(
    r"(?:^|_)(?:media|audio|video|file|clip|wav|total)_?(?:dur\w{0,6}|len\w{0,4}|sec\w{0,4}|s)(?:_|$)|^dur\w{0,6}(?:_|$)|时长"
)


def beyond(table: Table) -> Iterator[Finding]:
    """The share of segments that end beyond their media, and of which part most of them are."""
    numbers = [c for c in table.columns if c.values.dtype.kind == "f"]
    start, end, whole = (next((c for c in numbers if p.search(plain(c.name))), None) for p in (START, END, WHOLE))
    if (
        start is None
        or end is None
        or whole is None
        or len({id(c) for c in (start, end, whole)}) < 3
        or len(table) < LEAST
    ):
        return
    fits = np.mean(start.values <= whole.values + ROOM) >= 0.98 and np.mean(end.values >= start.values) >= 0.98
    own = np.median(np.abs(end.values - start.values - whole.values)) < ROOM  # the length of the segment itself
    over = end.values > whole.values + ROOM
    if not fits or own or not SHARE <= over.mean() < 1:
        return
    yield _told(table, end, whole, over)


def _told(table: Table, end: Column, whole: Column, over: np.ndarray) -> Finding:
    by = next((c for c in table.columns if c.values.dtype.kind == "O" and 1 < len(set(texts(c).tolist())) <= 12), None)
    of = of_zh = ""
    if by is not None:
        said = texts(by)
        share = {name: float(over[said == name].mean()) for name in dict.fromkeys(said.tolist())}
        top = max(share, key=lambda name: share[name])
        of = f"; {share[top]:.0%} of {by.name} {top}, {min(share.values()):.0%} of the least"
        of_zh = f"；其中 {by.name} {top} 占 {share[top]:.0%}，最少的一组 {min(share.values()):.0%}"
    most = float(np.max(end.values[over] - whole.values[over]))
    rows = np.flatnonzero(over)[:3].tolist()
    return Finding(
        "segments-beyond-media", Severity.S2,
        f"{over.sum()} of {len(table)} rows ({over.mean():.0%}) have {end.name} after {whole.name}, by up to {most:.2f}{of}: "
        "the times are of another clock than the media.",
        f"{len(table)} 行中有 {over.sum()} 行（{over.mean():.0%}）的 {end.name} 超过 {whole.name}，最多超出 {most:.2f}{of_zh}："
        "时间戳与媒体不是同一时钟。",
        tuple(Evidence(table.file, int(table.lines[i]) or None, metric=end.name, value=float(end.values[i]),
                       text=f"{end.name} {end.values[i]:.5g}, {whole.name} {whole.values[i]:.5g}") for i in rows),
        {"share": float(over.mean()), "most": most},
    )  # fmt: skip
