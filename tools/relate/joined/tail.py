"""Tables with one row an expert or a layer, and cells that list a number for each expert: experts that nobody uses,
layers that no gradient reaches.

Codec levels are judged in `..rows`, ranks and stages in `..contrast`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means, plain
from ..preferred.lists import numbers_in

LEAST, MOST = 4, 4096
EXPERT = bounded(r"(?:^|_)experts?(?:_?(?:id|idx|index|no|num))?$|专家")
LAYER = bounded(r"(?:^|_)(?:layers?|blocks?|module|param(?:eter)?s?)(?:_?(?:id|idx|index|no|name))?$|层")
LOAD = bounded(r"token|load|share|frac|count|routed|usage|util|hits?|负载|占比|数")
ROUTED = bounded(r"expert|(?:^|[^a-z])moe(?:[^a-z]|$)|router|routing|专家")
"""Names of what tells the load of experts; of the column, or of its file where the column only names a layer."""
LISTED, MOST_LAYERS = 8, 512
"""Experts that a cell lists at least, and columns of such cells that are read."""
GRADIENT = bounded(r"grad|梯度")
IDLE, IDLE_SHARE, TOP = 0.1, 0.25, 4.0
"""Share of the fair load below which an expert is idle, share of idle ones, and times the fair load of the busiest."""
FADE = 1e3
"""Times by which gradients fall from the last layer to the first."""


def tails(tables: Sequence[Table]) -> Iterator[Finding]:
    """Experts and layers of which a part is dead."""
    for table in tables:
        yield from _listed(table)
        if not LEAST <= len(table) <= MOST:
            continue
        label = next((c for c in table.columns if means(EXPERT, c.name) or means(LAYER, c.name)), None)
        if label is not None and len(set(texts(label).tolist())) < len(table):
            table = _last(table)
            label = next(c for c in table.columns if c.name == label.name)
        if label is None or len(set(texts(label).tolist())) < len(table):
            continue
        look = _experts if means(EXPERT, label.name) else _layers
        yield from look(table, label)


def _last(table: Table) -> Table:
    """The rows of the last place of its way, as they are where it has none."""
    axis = next((c for c in table.of("axis") if c.values.dtype.kind == "f" and not means(LAYER, c.name)), None)
    if axis is None or not np.isfinite(axis.values).any():
        return table
    keep = axis.values == np.nanmax(axis.values)
    columns = tuple(replace(c, values=c.values[keep], nans=c.nans[:0]) for c in table.columns)
    return replace(table, columns=columns, lines=table.lines[keep])


def _numbers(table: Table, label: Column, about: re.Pattern[str]) -> Iterator[Column]:
    for column in table.columns:
        values = column.values
        if column is label or values.dtype.kind != "f" or not means(about, column.name):
            continue
        if np.isfinite(values).all() and (values >= 0).all() and values.sum() > 0:
            yield column


def _experts(table: Table, label: Column) -> Iterator[Finding]:
    for column in _numbers(table, label, LOAD):
        fair = float(column.values.mean())
        idle = column.values < IDLE * fair
        top = float(column.values.max()) / fair
        if idle.mean() < IDLE_SHARE or top < min(TOP, len(table) / 2):
            continue
        most, least = int(column.values.argmax()), int(column.values.argmin())
        yield Finding(
            "experts-idle", Severity.S1,
            f"{idle.sum()} of {len(table)} experts get less than a tenth of a fair share by {column.name}, and "
            f"{texts(label)[most]} gets {top:.1f} times it.",
            f"按 {column.name}，{len(table)} 个专家中有 {idle.sum()} 个不到平均份额的十分之一，{texts(label)[most]} "
            f"是平均的 {top:.1f} 倍。",
            _places(table, column, (least, most)), {"idle": int(idle.sum()), "of": len(table), "top": top},
        )  # fmt: skip
        return


def _listed(table: Table) -> Iterator[Finding]:
    """Where a cell lists the load of every expert: the last row, of each layer that has a column of its own."""
    if not len(table):
        return
    columns = [c for c in table.columns if c.values.dtype.kind == "O" and _tells_load(table, c)][:MOST_LAYERS]
    loads = [(c, load) for c in columns if (load := _numbers_in(c.values[-1])) is not None]
    uneven = [(c, load) for c, load in loads if _is_uneven(load)]
    if not uneven or len(uneven) * 2 < len(loads):
        return
    column, load = max(uneven, key=lambda pair: pair[1].max() / pair[1].mean())
    idle, fair = int((load < IDLE * load.mean()).sum()), float(load.mean())
    top, share = float(load.max()) / fair, float(load.max() / load.sum())
    line = int(table.lines[-1]) or None
    yield Finding(
        "experts-idle", Severity.S1,
        f"At the last row {len(uneven)} of {len(loads)} lists of the experts' load are uneven; in {column.name} {idle} "
        f"of {len(load)} experts get less than a tenth of a fair share, and one gets {top:.1f} times it ({share:.0%}).",
        f"最后一行的 {len(loads)} 组专家负载中有 {len(uneven)} 组严重不均；"
        f"{column.name} 里 {len(load)} 个专家中有 {idle} 个不到平均份额的十分之一，"
        f"最忙的是平均的 {top:.1f} 倍（{share:.0%}）。",
        (Evidence(table.file, line, metric=column.name, value=float(load.max()), text=str(column.values[-1])[:200]),),
        {"idle": idle, "of": len(load), "top": top, "lists": len(uneven)},
    )  # fmt: skip


def _tells_load(table: Table, column: Column) -> bool:
    name, file = plain(column.name), plain(table.file.rpartition("/")[2])
    if ROUTED.search(name) and LOAD.search(name):
        return True
    return bool(LAYER.search(name) or ROUTED.search(name)) and bool(ROUTED.search(file) and LOAD.search(file))


def _numbers_in(cell: object) -> np.ndarray | None:
    """The numbers that a cell lists; None where it lists anything else, or was cut."""
    found = numbers_in(cell)
    if not LISTED <= len(found) <= MOST:
        return None
    load = np.asarray(found, float)
    return load if np.isfinite(load).all() and (load >= 0).all() and load.sum() > len(load) * 1e-6 else None


def _is_uneven(load: np.ndarray) -> bool:
    """Whether a part is idle and one far too busy, by more than a handful of tokens can be; shares have no number."""
    fair = float(load.mean())
    enough = load.max() <= 1 or fair >= LEAST
    return bool(enough and (load < IDLE * fair).mean() >= IDLE_SHARE and load.max() >= TOP * fair)


def _layers(table: Table, label: Column) -> Iterator[Finding]:
    for column in _numbers(table, label, GRADIENT):
        values = column.values
        zero = values == 0
        if zero.any() and not zero.all() and zero.sum() >= 2:
            yield _dead(table, label, column, zero)
            return
        third = max(1, len(values) // 3)
        first, last = (float(np.median(part)) for part in (values[:third], values[-third:]))
        if last >= FADE * first > 0:
            yield Finding(
                "gradients-fade", Severity.S1,
                f"{column.name} is {last:.3g} in the last layers and {first:.3g} in the first: the gradient fades on "
                "its way back.",
                f"{column.name} 在最后几层为 {last:.3g}，在最前几层为 {first:.3g}：梯度在反传途中消失。",
                _places(table, column, (0, len(values) - 1)), {"first": first, "last": last},
            )  # fmt: skip
            return


def _dead(table: Table, label: Column, column: Column, zero: np.ndarray) -> Finding:
    names = texts(label)
    rows = np.flatnonzero(zero)
    return Finding(
        "layers-without-gradient", Severity.S2,
        f"{column.name} is exactly 0 in {zero.sum()} of {len(zero)} rows ({names[rows[0]]} to {names[rows[-1]]}), and "
        "not in the others: these parts do not learn.",
        f"{len(zero)} 行中有 {zero.sum()} 行的 {column.name} 恰为 0"
        f"（{names[rows[0]]} 到 {names[rows[-1]]}），其余不为 0："
        "这些部分没有在学习。",
        _places(table, column, (int(rows[0]), int(np.flatnonzero(~zero)[0]))),
        {"dead": int(zero.sum()), "of": len(zero)},
    )  # fmt: skip


def _places(table: Table, column: Column, rows: Sequence[int]) -> tuple[Evidence, ...]:
    return tuple(Evidence(table.file, int(table.lines[i]) or None, metric=column.name, value=float(column.values[i]))
                 for i in rows)  # fmt: skip
