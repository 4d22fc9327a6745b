"""Two counters of one table that ought to keep pace: how far the one is behind the other, and where that grew.

The version of the weights that a sample was made with beside the step that trains on it. A measure that goes with the
distance, and stays as it was where the distance is small, is told beside it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...data.statistics import spearman
from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..line import means, plain
from .names import demand

LEAST = 60
VERSION = bounded(r"version|(?:^|_)ver(?:_|$)|policy_(?:step|iter)|weights?_(?:step|id|iter)|ckpt|snapshot|synced|版本")
"""Counters of what is made now and then, rather than at every row."""
GROWN, TIMES = 1.5, 2.0
"""Counts, and times, by which the distance grows at least to be told. Own judgement."""
SIDE = 10
"""Places on either side of where it grew."""
FOLLOWS = 0.5
"""Rank correlation with the distance from which on a measure goes with it."""
FRESH = 1.0
"""Counts behind the least distance up to which a row is as fresh as it gets."""


def falling_behind(table: Table) -> Iterator[Finding]:
    """A counter that falls behind the way of its table, and what goes with it."""
    axis = next((c for c in table.of("axis") if c.of == "step" and c.values.dtype.kind == "f"), None)
    if axis is None or len(table) < LEAST:
        return
    for column in table.of("measure", "axis"):
        if column is axis or column.values.dtype.kind != "f" or not means(VERSION, column.name):
            continue
        distance = axis.values - column.values
        if _keeps_pace(axis.values, column.values) and (found := _grown(axis.values, distance)) is not None:
            yield _told(table, axis, column, distance, *found)


def _keeps_pace(steps: np.ndarray, values: np.ndarray) -> bool:
    """Whether both count the same things, the one behind the other."""
    if not np.isfinite(values).all() or not np.isfinite(steps).all() or (values != np.round(values)).any():
        return False
    return bool((values <= steps + 1).mean() > 0.99 and spearman(steps, values) > 0.9 and np.ptp(values) > LEAST / 4)


def _grown(steps: np.ndarray, distance: np.ndarray) -> tuple[float, float, float] | None:
    """(where, before, after) of the distance's clearest growth."""
    at, place = np.unique(steps, return_inverse=True)
    mean = np.bincount(place, distance) / np.bincount(place)
    n, k = len(mean), np.arange(1, len(mean))
    if n < LEAST / 2:
        return None
    apart = (np.cumsum(mean)[:-1] - k * mean.mean()) / np.sqrt(k * (n - k))
    split = int(apart.argmin()) + 1
    before, after = float(np.mean(mean[:split])), float(np.median(mean[split:]))
    if after - before < max(GROWN, (TIMES - 1) * before) or min(split, n - split) < SIDE:
        return None
    calm = float(np.median(mean[:split])) + 3 * float(np.std(mean[: max(SIDE, split // 2)]))
    low = np.flatnonzero(mean[: split + 1] <= calm)
    return float(at[min(int(low[-1]) + 1 if len(low) else split, n - 1)]), before, after


def _told(
    table: Table, axis: Column, column: Column, distance: np.ndarray, at: float, before: float, after: float
) -> Finding:
    late = axis.values >= at
    with_, with_zh, data = _company(table, (axis, column), distance, late)
    rows = [int(np.flatnonzero(late)[0]), int(np.argmax(distance))]
    places = tuple(Evidence(table.file, int(table.lines[i]) or None, int(axis.values[i]), metric=column.name,
                            value=float(column.values[i])) for i in rows)  # fmt: skip
    return Finding(
        "counter-falls-behind", Severity.S3,
        f"{column.name} is {before:.2g} behind {axis.name} in the mean up to step {at:.0f} and {after:.3g} behind from "
        f"there on (at most {distance.max():.0f}){with_}.",
        f"第 {at:.0f} 步之前 {column.name} 平均落后 {axis.name} {before:.2g}，之后落后 {after:.3g}（最多 "
        f"{distance.max():.0f}）{with_zh}。",
        places,
        {"metric": plain(column.name), "at": at, "before": before, "after": after, "kinds": ["age"], **data,
         "names": f"{column.name} {after:.3g} behind {axis.name}, {before:.2g} up to step {at:.0f}",
         "asks": [demand("policy_lag", "at-most", max(before, 1.0) + 0.5, f"{before:.3g} behind before step {at:.0f}, "
                         f"{after:.3g} since", f"第 {at:.0f} 步之前落后 {before:.3g}，之后 {after:.3g}")]},
    )  # fmt: skip


def _company(
    table: Table, counters: tuple[Column, Column], distance: np.ndarray, late: np.ndarray
) -> tuple[str, str, dict[str, object]]:
    """The measure that follows the distance most, at the fresh rows and at the others of the later part."""
    others = [c for c in table.of("measure") if c not in counters and c.values.dtype.kind == "f"
              and np.isfinite(c.values).all() and np.ptp(c.values) > 0]  # fmt: skip
    rho = {c.name: (spearman(distance, c.values), c) for c in others}
    best = max(rho.values(), key=lambda found: abs(found[0]), default=None)
    if best is None or abs(best[0]) < FOLLOWS:
        return "", "", {}
    r, c = best
    fresh = distance <= distance.min() + FRESH
    then, now = fresh & ~late, fresh & late
    said = f"; {c.name} follows it (rank correlation {r:.2f})"
    said_zh = f"；{c.name} 随之变化（秩相关 {r:.2f}）"
    if min(then.sum(), now.sum()) >= 3:
        a, b, old = (float(np.mean(c.values[rows])) for rows in (then, now, late & ~fresh))
        said += f": {a:.3g} at fresh rows before and {b:.3g} at the {now.sum()} fresh rows since, {old:.3g} at the rest"
        said_zh += f"：新鲜的行之前 {a:.3g}，之后 {now.sum()} 行仍为 {b:.3g}，其余为 {old:.3g}"
    return said, said_zh, {"with": plain(c.name), "rho": r}
