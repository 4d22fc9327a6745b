"""A table of one program on more and more devices: how much of each further device is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..line import means

DEVICES = bounded(
    r"^(?:(?:n|num|number_of|total)_?)?(?:gpus?|devices?|cards?|npus?|nodes?|machines?|hosts?|workers?|ranks?|world(?:_size)?)$"
    r"|^(?:节点|机器|显卡|卡|gpu)[_ ]?数?量?$"
)
SPEED = ("tokens_per_second", "samples_per_second")
PER_DEVICE = bounded(r"per_?(?:gpu|device|card|npu|node)|/(?:gpu|device)|每卡|单卡")
LOW, LEAST, MOST, GROWN = 0.7, 3, 24, 2.0
"""Share of the ideal speed below which it is told, rows of such a table, growth that it has at least. Own judgement."""


def scaled(tables: Sequence[Table]) -> Iterator[Finding]:
    """The first table in which devices bring ever less."""
    for table in tables:
        if LEAST <= len(table) <= MOST and (found := _falls(table)) is not None:
            yield found
            return


def _falls(table: Table) -> Finding | None:
    count = next((c for c in table.columns if means(DEVICES, c.name) and c.values.dtype.kind in "fi"), None)
    speed = next((c for c in table.columns if c.of in SPEED and c.values.dtype.kind == "f"), None)
    if count is None or speed is None:
        return None
    devices, rate = count.values.astype(float), speed.values
    if not (np.isfinite(devices).all() and np.isfinite(rate).all() and devices.min() > 0 and rate.min() > 0):
        return None
    if not (np.diff(devices) > 0).all() or devices[-1] < GROWN * devices[0]:
        return None
    each = rate if means(PER_DEVICE, speed.name) else rate / devices
    kept = each / each[0]
    if kept[-1] >= LOW or (np.diff(kept) > 0.05).any():
        return None
    shares = ", ".join(f"{d:.0f}: {k:.0%}" for d, k in zip(devices, kept, strict=True))
    return Finding(
        "scaling-falls", Severity.S2,
        f"{table.file}: with {count.name} from {devices[0]:.0f} to {devices[-1]:.0f}, {speed.name} for each falls to "
        f"{kept[-1]:.0%} of the first ({shares}): what is exchanged between them takes the time.",
        f"{table.file}：{count.name} 从 {devices[0]:.0f} 到 {devices[-1]:.0f}，平均每个的 {speed.name} 降到最初的 "
        f"{kept[-1]:.0%}（{shares}）：时间花在它们之间的通信上。",
        (_at(table, speed, 0), _at(table, speed, len(table) - 1)),
        {"kept": float(kept[-1]), "devices": float(devices[-1])},
    )  # fmt: skip


def _at(table: Table, column: Column, i: int) -> Evidence:
    return Evidence(table.file, int(table.lines[i]) or None, metric=column.name, value=float(column.values[i]))
