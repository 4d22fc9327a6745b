"""The learning rate of this run beside those of earlier runs at other batches, where its loss is far worse.

People raise the rate with the batch, in proportion or with its root. A rate that is off both ways by which the earlier
runs went belongs to another batch; the one to try lies between the two ways. Without a worse loss it is a
choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import PROPOSES, Evidence, Finding, Severity
from ...settings import Settings
from ...tables.table import Table
from . import own

LEAST_OTHERS = 2
OFF = 2.0
"""Times by which the rate is off, by either rule."""
WORSE = 0.1
"""Share by which the loss is above that of every earlier run. Own judgement."""
POWERS = (1.0, 0.5)
"""Of the batch, by which rates go with it."""


def off_scale(tables: Sequence[Table], settings: Settings) -> Iterator[Finding]:
    """Tables of runs with batch, rate and loss, of which this run's rate is far off the others'."""
    for table in tables:
        if LEAST_OTHERS < len(table) <= own.MOST_ROWS:
            yield from _judged(table, settings)


def _judged(table: Table, settings: Settings) -> Iterator[Finding]:
    batch, rate, loss = own.batch_of(table), own.measured(table, "learning_rate"), _loss(table)
    if batch is None or rate is None or loss is None:
        return
    b, r, v = batch.values, rate.values, loss.values
    if not (np.isfinite(b) & np.isfinite(r) & (b > 0) & (r > 0)).all():
        return
    rows = np.flatnonzero(own.of_rate(table, settings))
    if len(rows) != 1 or not own.fits_batch(float(b[rows[0]]), settings):
        return
    i = int(rows[0])
    others = np.delete(np.arange(len(table)), i)
    times = [_times(r, b, i, others, power) for power in POWERS]
    low, high = max(times), min(times)
    bad = not np.isfinite(v[i]) or v[i] > (1 + WORSE) * float(np.nanmax(v[others]))
    off = low if low <= 1 / OFF else high if high >= OFF else None
    if off is None or not bad or not np.isfinite(v[others]).all():
        return
    count, spans = len(others), [f"{x[others].min():.4g} to {x[others].max():.4g}" for x in (b, r, v)]
    yield Finding(
        "rate-off-earlier-runs", Severity.S2,
        f"At {batch.name} {b[i]:g} this run has {rate.name} {r[i]:.3g} and {loss.name} {v[i]:.4g}; {count} other runs "
        f"at {batch.name} {spans[0]} had {rate.name} {spans[1]} and {loss.name} {spans[2]}. Whether a rate goes with "
        f"the batch or with its root, this one is {off:.3g} times theirs, or further off.",
        f"本次 {batch.name} {b[i]:g}、{rate.name} {r[i]:.3g}，{loss.name} {v[i]:.4g}；另外 {count} 次运行 {batch.name} "
        f"{spans[0]}、{rate.name} {spans[1]}，{loss.name} {spans[2]}。无论学习率按批大小线性还是按平方根换算，本次都是"
        f"它们的 {off:.3g} 倍，或差得更远。",
        tuple(Evidence(table.file, int(table.lines[k]) or None, metric=rate.name, value=float(r[k]))
              for k in (i, int(others[np.argmax(b[others])]))),
        {"batch": float(b[i]), "rate": float(r[i]), "times": off, "others": len(others),
         PROPOSES: {"variable": "learning_rate", "new": float(f"{r[i] / (low * high) ** 0.5:.2g}")}},
    )  # fmt: skip


def _loss(table: Table):
    return own.measured(table, "loss") or own.measured(table, "eval_loss")


def _times(rate: np.ndarray, batch: np.ndarray, i: int, others: np.ndarray, power: float) -> float:
    """The rate of row `i` over what the nearest of the others had for this batch; 1 inside their range."""
    scaled = rate / batch**power
    low, high = float(scaled[others].min()), float(scaled[others].max())
    return float(scaled[i] / low) if scaled[i] < low else float(scaled[i] / high) if scaled[i] > high else 1.0
