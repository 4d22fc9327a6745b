"""A table of trainings by how they were split: those whose inner group is wider than a machine are the slow ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...settings import Settings
from ...tables.table import Column, Table
from ..line import means
from .topology import MOST_DEVICES, machines

SPLIT = bounded(r"(?i)(?:^|[^a-z])t(?:p|ensor\w{0,20})?[ =_:-]?(\d{1,3})(?!\d).{0,24}?(?:[^a-z]|(?<=\d))(?:pp?|dp?|cp"
                r"|ep|pipe\w{0,10}|data\w{0,10})[ =_:-]?\d")  # fmt: skip
"""`t16 p1 d4`, `TP=16/PP=2`: the tensor parallel size among others."""
TENSOR = bounded(r"^(?:tp|tensor_?(?:model_?)?parallel(?:_?(?:size|degree))?|tp_?(?:size|degree)|张量并行\w*)$")
NODES = bounded(
    r"^(?:n_?)?(?:nodes?|hosts?|boxes|box|machines?|servers?|blades?|机器数?|节点数?)(?:_?(?:n|count|num))?$"
)
CARDS = bounded(r"^(?:n_?)?(?:gpus?|cards?|devices?|world(?:_?size)?|ranks?|卡数?|总卡数)(?:_?(?:n|count|num|total))?$")
FAST = bounded(r"tok\w*_?(?:/|per)?_?s|tokens?_per_sec|samples?_(?:per_)?s|tflops?|tf_|(?:^|_)mfu|throughput|吞吐")
SLOW = bounded(r"^(?:s|ms|sec|seconds)_?(?:/|per)?_?(?:it|iter|step)|(?:step|iter)\w*_?(?:time|ms|s)(?:_|$)|单步耗?时")
SLOWER, LEAST = 0.75, 2
"""Share of the others' speed below which the wide ones are slow, and rows of each. Own judgement."""


def slower_when_wider(tables: Sequence[Table], settings: Settings) -> Iterator[Finding]:
    """The table in which a split over the edge of a machine costs a quarter of the speed at least."""
    for table in tables:
        if len(table) >= 2 * LEAST and (found := _split(table, tables, settings)) is not None:
            yield found
            return


def _split(table: Table, tables: Sequence[Table], settings: Settings) -> Finding | None:
    width = _widths(table)
    speed = next((c for c in _numbers(table) if means(FAST, c.name)), None)
    time = next((c for c in _numbers(table) if means(SLOW, c.name)), None)
    with np.errstate(divide="ignore"):
        rate = speed.values if speed is not None else 1 / time.values if time is not None else None
    each = _each(table, tables, settings) if width is not None and rate is not None else None
    if width is None or rate is None or each is None:
        return None
    told, cards = (
        np.isfinite(width) & np.isfinite(rate),
        next((c for c in _numbers(table) if means(CARDS, c.name)), None),
    )
    wide, inside = told & (width > each), told & (width <= each)
    if min(wide.sum(), inside.sum()) < LEAST or (cards is not None and len(set(cards.values[told].tolist())) > 1):
        return None
    after, before = float(np.median(rate[wide])), float(np.median(rate[inside]))
    if after > SLOWER * before or float(rate[wide].max()) >= float(rate[inside].min()):
        return None
    measure = speed or time
    rows = [int(np.flatnonzero(inside)[-1]), int(np.flatnonzero(wide)[0])]
    name, shown = (measure.name, measure.values) if measure is not None else ("", rate)
    return Finding(
        "slower-when-group-wider", Severity.S2,
        f"With tensor parallelism over {width[wide][0]:.0f} devices, more than the {each} of a machine, {table.file} "
        f"has {name} {np.median(shown[wide]):.5g} in all {wide.sum()} rows; over {width[inside][0]:.0f} it was "
        f"{np.median(shown[inside]):.5g}: {1 - after / before:.0%} slower, its exchange crosses machines.",
        f"{table.file} 中张量并行为 {width[wide][0]:.0f}（一台机器只有 {each} 张卡）的 {wide.sum()} 行 {name} 为 "
        f"{np.median(shown[wide]):.5g}，为 {width[inside][0]:.0f} 时是 {np.median(shown[inside]):.5g}：慢了 "
        f"{1 - after / before:.0%}，每层的交换都要跨机。",
        tuple(Evidence(table.file, int(table.lines[i]) or None, metric=name, value=float(shown[i])) for i in rows),
        {"width": int(width[wide][0]), "devices": each, "slower": 1 - after / before, "kinds": ["collective"]},
    )  # fmt: skip


def _numbers(table: Table) -> list[Column]:
    return [c for c in table.columns if c.values.dtype.kind == "f"]


def _widths(table: Table) -> np.ndarray | None:
    """The tensor parallel size of each row."""
    own = next((c for c in table.columns if means(TENSOR, c.name)), None)
    if own is not None:
        return np.array([float(v) if str(v).replace(".", "").isdecimal() else np.nan for v in own.values])
    for column in table.columns:
        if column.values.dtype.kind == "O":
            found = [SPLIT.search(str(v)) for v in column.values]
            if sum(m is not None for m in found) >= 2 * LEAST:
                return np.array([float(m[1]) if m else np.nan for m in found])
    return None


def _each(table: Table, tables: Sequence[Table], settings: Settings) -> int | None:
    """Devices of one machine, by the counts of the table itself, else of the run."""
    nodes, cards = (next((c for c in _numbers(table) if means(p, c.name)), None) for p in (NODES, CARDS))
    if nodes is not None and cards is not None and (nodes.values > 0).all():
        each = set((cards.values / nodes.values).tolist())
        if len(each) == 1 and 1 < (one := each.pop()) <= MOST_DEVICES and float(one).is_integer():
            return int(one)
    found = machines(tables, settings)
    return found.devices if found is not None else None
