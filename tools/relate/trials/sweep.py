"""Learning rates that were tried side by side for as many steps, a column or a block of rows for each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np

from ...findings import PROPOSES, Evidence, Finding, Severity
from ...patterns import bounded
from ...settings import Settings
from ...tables.table import Column, Table
from ..courses.read import noise
from ..line import means

RATED = bounded(r"(?i)^(?:loss|nll|val|train|eval|\W|_){0,3}(?:lr|learning[_ -]?rate|rate|eta|学习率)[\s_=:@-]{0,2}"
                r"([0-9.]{1,10}(?:e-?\d{1,2})?)$")  # fmt: skip
RATE, LOSS = bounded(r"^(?:peak_|max_)?(?:lr|learning_rate|eta)$|^学习率$"), bounded(r"(?:^|_)(?:loss|nll)$|损失")
STEP = ("step", "tokens", "epoch")
LEAST_RATES, MOST_RATES, LEAST_POINTS = 3, 16, 8
LAST, GAIN = 0.1, 0.03
"""Share of the steps over whose end the rates are compared, and of the loss by which one is better at least."""


def sweeps(tables: Sequence[Table], settings: Settings) -> Iterator[Finding]:
    """The run's own rate among those that were tried, where another one ends lower."""
    own = settings.value("learning_rate")
    for table in tables if isinstance(own, (int, float)) and own > 0 else ():
        tried = _columns(table) or _blocks(table)
        mine = next((rate for rate in tried if np.isclose(rate, float(own), rtol=1e-3)), None)
        if mine is None or len(tried) < LEAST_RATES:
            continue
        ends = {rate: float(np.median(y[-max(3, int(LAST * len(y))) :])) for rate, (_, y) in tried.items()}
        best = min(ends, key=ends.__getitem__)
        values = tried[mine][1]
        error = 5 * noise(values) / np.sqrt(max(3, int(LAST * len(values))))
        if ends[mine] - ends[best] >= max(GAIN * ends[best], error):
            yield _told(table, tried, ends, (mine, best))
            return


_Tried = dict[float, tuple[np.ndarray, np.ndarray]]
"""Rows and values of each rate."""


def _columns(table: Table) -> _Tried:
    """A column for each rate, along the steps."""
    out: _Tried = {}
    for column in table.columns:
        match = RATED.search(column.name.strip()) if column.values.dtype.kind == "f" else None
        rows = np.flatnonzero(np.isfinite(column.values)) if match else np.zeros(0, int)
        if match and len(rows) >= LEAST_POINTS:
            with suppress(ValueError):
                out[float(match[1])] = rows, column.values[rows]
    lengths = {len(rows) for rows, _ in out.values()}
    return out if len(lengths) == 1 and len(out) <= MOST_RATES else {}


def _blocks(table: Table) -> _Tried:
    """Rows of step, rate and loss, with the same last step for each rate."""
    rate, loss = _one(table, RATE), _one(table, LOSS)
    step = next((c for c in table.of("axis") if c.of in STEP and c.values.dtype.kind == "f"), None)
    if rate is None or loss is None or step is None:
        return {}
    out: _Tried = {}
    rates = np.unique(rate.values[np.isfinite(rate.values)])
    for one in rates[: MOST_RATES + 1]:
        rows = np.flatnonzero((rate.values == one) & np.isfinite(loss.values) & np.isfinite(step.values))
        rows = rows[np.argsort(step.values[rows], kind="stable")]
        if len(rows) >= LEAST_POINTS:
            out[float(one)] = rows, loss.values[rows]
    ends = {float(step.values[rows[-1]]) for rows, _ in out.values()}
    return out if len(ends) == 1 and len(out) == len(rates) else {}


def _one(table: Table, pattern: re.Pattern[str]) -> Column | None:
    return next((c for c in table.columns if c.values.dtype.kind == "f" and means(pattern, c.name)), None)


def _told(table: Table, tried: _Tried, ends: dict[float, float], of: tuple[float, float]) -> Finding:
    mine, best = of
    each = ", ".join(f"{rate:.3g}: {ends[rate]:.4g}" for rate in sorted(ends))
    places = tuple(
        Evidence(table.file, int(table.lines[tried[r][0][-1]]) or None, metric=f"lr {r:.3g}",
                 value=float(tried[r][1][-1])) for r in of
    )  # fmt: skip
    return Finding(
        "rate-not-best", Severity.S2,
        f"Of {len(tried)} learning rates tried for as many steps in {table.file} the run's own, {mine:.3g}, ends at "
        f"{ends[mine]:.4g} and {best:.3g} at {ends[best]:.4g} ({each}).",
        f"{table.file} 用同样步数试了 {len(tried)} 个学习率：本次的 {mine:.3g} 末尾为 {ends[mine]:.4g}，{best:.3g} 为 "
        f"{ends[best]:.4g}（{each}）。",
        places,
        {"rate": mine, "best": best, "gain": 1 - ends[best] / ends[mine],
         PROPOSES: {"variable": "learning_rate", "new": best}},
    )  # fmt: skip
