"""Tables that have a row for each rank or device: what a step is spent on, and whether clocks were held down.

A rank that is slower than the others is told by `..contrast`; here it is what all of them share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means
from .topology import DEVICE, MACHINE

WHOLE = bounded(
    r"^(?:iter(?:ation)?|step|total|wall|e2e)(?:_time|_duration|_total)?(?:_(?:ms|us|s|sec))?$|^(?:单步|总)耗?时"
)
COMM = bounded(r"nccl|comm(?:s|unication)?(?:_|$)|all_?(?:reduce|gather|to_?all)|reduce_?scatter|通信")
EXPOSED = bounded(r"exposed|not_?overlapp?ed|visible|blocking|暴露|未重叠")
DATA = bounded(r"data_?(?:load|wait|time|fetch)|loader|dataload|input_?wait|数据")
CLOCK = bounded(r"(?:^|_)(?:sm|gpu|graphics|core)_?clock|clock_?(?:sm|gpu|graphics)|(?:^|_)sm_mhz|SM ?频率|核心频率")
REASONS = bounded(r"throttl|(?:clocks?|event)_?(?:event_?)?reasons?|降频")
NONE = bounded(r"(?i)^(?:0x0+|0|none|not active|no|false|-|无|n/a)?$")
SCALES = {"ms": 1e-3, "us": 1e-6, "s": 1.0, "": 1.0}
LEAST = 4
"""Rows from which on ranks are said to be alike."""
HIGH, ALIKE, WHOLE_MOST = 0.25, 0.1, 1.05
"""Share of a step from which on communication is told (the runbook's own), spread of ranks that are alike, and the
most that parts may make of the whole."""
STEADY = 0.02
"""Share of its level by which a clock moves that is not held down."""


@dataclass(frozen=True)
class Share:
    """What share of a step something takes, on every rank."""

    part: Column
    whole: Column
    each: np.ndarray

    @property
    def level(self) -> float:
        return float(np.median(self.each))

    @property
    def alike(self) -> bool:
        """Whether it is as much on every rank."""
        return len(self.each) >= LEAST and float(np.ptp(self.each)) <= ALIKE * self.level


def _seconds(column: Column) -> np.ndarray | None:
    """A column of durations in seconds, None where its unit is unknown."""
    values, unit = column.values, column.unit.lower()
    return values * SCALES[unit] if values.dtype.kind == "f" and unit in SCALES else None


def share_of(table: Table, pattern: object = COMM) -> Share | None:
    """The share of a step that is communication that nothing hides, where the table has a row for each rank."""
    ranks = next((c for c in table.columns if means(DEVICE, c.name) or means(MACHINE, c.name)), None)
    if ranks is None or len(set(texts(ranks).tolist())) < 2:
        return None
    whole = next((c for c in table.columns if means(WHOLE, c.name) and _seconds(c) is not None), None)
    if whole is None or not (_seconds(whole) > 0).all():  # pyright: ignore[reportOptionalOperand]
        return None
    parts = [c for c in table.columns if means(COMM, c.name) and c is not whole and _seconds(c) is not None]
    shown = [c for c in parts if means(EXPOSED, c.name)]
    part = (shown or parts)[0] if len(shown or parts) == 1 else None
    if part is None:
        return None
    each = _seconds(part) / _seconds(whole)  # pyright: ignore[reportOptionalOperand]
    return (
        Share(part, whole, each) if np.isfinite(each).all() and (each >= 0).all() and each.max() <= WHOLE_MOST else None
    )


def spent(table: Table) -> Iterator[Finding]:
    """A large share of a step goes into communication, on all ranks alike."""
    share = share_of(table)
    if share is None or not share.alike or share.level < HIGH:
        return
    rows = (int(share.each.argmin()), int(share.each.argmax()))
    low, high = float(share.each.min()), float(share.each.max())
    data = next((c for c in table.columns if means(DATA, c.name) and _seconds(c) is not None), None)
    beside, beside_zh = "", ""
    if data is not None:
        part = float(np.median(_seconds(data) / _seconds(share.whole)))  # pyright: ignore[reportOptionalOperand]
        beside, beside_zh = f"; {data.name} takes {part:.1%}", f"；{data.name} 占 {part:.1%}"
    yield Finding(
        "communication-fills-step", Severity.S2,
        f"{share.part.name} is {share.level:.0%} of {share.whole.name}, alike on all {len(share.each)} ranks "
        f"({low:.1%} to {high:.1%}): none is waited for, the communication itself takes the time{beside}.",
        f"{share.part.name} 占 {share.whole.name} 的 {share.level:.0%}，{len(share.each)} 个 rank 都一样（{low:.1%} 到 "
        f"{high:.1%}）：不是在等某个 rank，而是通信本身耗时{beside_zh}。",
        tuple(Evidence(table.file, int(table.lines[i]) or None, metric=share.part.name,
                       value=float(share.part.values[i])) for i in rows),
        {"share": share.level, "low": low, "high": high, "ranks": len(share.each)},
    )  # fmt: skip


def clocks(table: Table) -> Iterator[Finding]:
    """The clocks of all cards are where they were, and no reason for holding them down is noted."""
    clock = next((c for c in table.columns if means(CLOCK, c.name) and c.values.dtype.kind == "f"), None)
    device = next((c for c in table.columns if means(DEVICE, c.name)), None)
    if clock is None or device is None or len(table) < 2 * LEAST or not np.isfinite(clock.values).all():
        return
    level = float(np.median(clock.values))
    if level <= 0 or float(np.ptp(clock.values)) > STEADY * level:
        return
    reasons = next((c for c in table.columns if means(REASONS, c.name)), None)
    if reasons is not None and not all(NONE.search(str(v).strip()) for v in texts(reasons).tolist()):
        return
    low, high = float(clock.values.min()), float(clock.values.max())
    span = (f"is {high:.5g}", f"都是 {high:.5g}") if low == high else (
        f"is {low:.5g} to {high:.5g}", f"在 {low:.5g} 到 {high:.5g} 之间")  # fmt: skip
    none = f", and {reasons.name} names none" if reasons is not None else ""
    none_zh = f"，{reasons.name} 也没有任何降频原因" if reasons is not None else ""
    yield Finding(
        "clocks-steady", Severity.S3,
        f"{clock.name} {span[0]} in all {len(table)} rows{none}: no card is throttled.",
        f"{len(table)} 行的 {clock.name} {span[1]}{none_zh}：没有卡被降频。",
        tuple(Evidence(table.file, int(table.lines[i]) or None, metric=clock.name, value=float(clock.values[i]))
              for i in (0, len(table) - 1)),
        {"clock": level, "rows": len(table)},
    )  # fmt: skip


def looked(tables: Sequence[Table]) -> Iterator[Finding]:
    """What tables of ranks and devices say."""
    for table in tables:
        yield from spent(table)
        yield from clocks(table)
