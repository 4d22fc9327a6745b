"""One card or machine whose clock falls below that of all others while it works, and is hotter or says why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means
from .links import AT_WORK, LOAD
from .profiled import NONE, REASONS

CLOCK = bounded(r"(?:^|_)(?:sm|gpu|graphics|core|gr)_?(?:clock|clk|mhz|freq)"
                r"|(?:^|_)(?:clock|clk)s?_?(?:sm|gr|graphics|gpu|mhz)|sm_?频率|核心频率|主频")  # fmt: skip
NAMED = bounded(r"reason|throttl|(?:^|_)evt(?:_|$)|event|limit_?(?:by|flag)|降频|原因")
HEAT = bounded(r"temp|(?:^|_)(?:gpu|core|hbm|mem|hot_?spot)_?c(?:_|$)|温度")
HELD, LEVEL, HOTTER, LEAST, MEMBERS = 0.85, 0.93, 6.0, 3, 4
"""Share of the others' clock that is held down, share that the others keep, degrees, rows held, and members."""
OTHERS, SHARE = 0.03, 0.35
"""Share of the rows of all others that may be low, and of the members that may be held down."""


def held_down(tables: Sequence[Table]) -> Iterator[Finding]:
    """The member of the first table in which one alone is held down."""
    for table in tables:
        clock = next((c for c in table.columns if c.values.dtype.kind == "f" and means(CLOCK, c.name)), None)
        who = [c for c in table.columns if c.of in ("host", "gpu", "rank") and c.role in ("group", "measure")]
        if clock is None or not who or not 8 <= len(table) <= 100_000:
            continue
        for column in who if not any(c.of == "host" for c in who) else [c for c in who if c.of == "host"]:
            if (found := _held(table, clock, column)) is not None:
                yield found
                return


def _said(column: Column) -> np.ndarray:
    return np.array([str(v) for v in texts(column).tolist()], dtype=object)


def _held(table: Table, clock: Column, who: Column) -> Finding | None:
    load = next((c for c in table.columns if c.values.dtype.kind == "f" and means(LOAD, c.name)), None)
    works = np.isfinite(clock.values) & (clock.values > 0)
    if load is not None:
        works &= load.values >= AT_WORK * (1 if load.unit == "1" or np.nanmax(load.values, initial=0.0) <= 1 else 100)
    said = _said(who)
    if not works.any() or len(members := set(said[works].tolist())) < MEMBERS:
        return None
    level = float(np.median(clock.values[works]))
    low = works & (clock.values < HELD * level)
    names, counts = np.unique(said[low].astype(str), return_counts=True)
    if not len(names):
        return None
    odd = str(names[int(counts.argmax())])
    own, rest = works & (said == odd), works & (said != odd)
    if (
        (low & own).sum() < LEAST
        or (low & own).sum() < SHARE * low.sum()
        or (low & rest).sum() > OTHERS * rest.sum()
        or np.percentile(clock.values[rest], 5) < LEVEL * level
        or len(names) > max(1, SHARE * len(members))
    ):
        return None
    hot = next((c for c in table.columns if c.values.dtype.kind == "f" and means(HEAT, c.name)), None)
    mine = low & own
    hotter = 0.0 if hot is None else float(np.nanmedian(hot.values[mine]) - np.nanmedian(hot.values[rest]))
    why = _reason(table, mine, rest)
    if hotter < HOTTER and not why:
        return None
    value, rows = float(np.median(clock.values[mine])), np.flatnonzero(mine)
    heat = f", {hotter:.0f} degrees hotter" if hotter >= HOTTER else ""
    because = f", {why}" if why else ""
    return Finding(
        "clock-held-on-one", Severity.S2,
        f"{clock.name} of {who.name} {odd} is {value:.5g} in {len(rows)} of {own.sum()} rows of {table.file}, and "
        f"{level:.5g} on all {len(members) - 1} others{heat}{because}: it alone is throttled.",
        f"{table.file} 中 {who.name} {odd} 的 {own.sum()} 行里有 {len(rows)} 行 {clock.name} 为 {value:.5g}，其余 "
        f"{len(members) - 1} 个都是 {level:.5g}{f'，温度高 {hotter:.0f} 度' if heat else ''}"
        f"{f'，{why}' if why else ''}：只有它被降频。",
        tuple(Evidence(table.file, int(table.lines[i]) or None, metric=clock.name, value=float(clock.values[i]),
                       text=f"{who.name} {odd}") for i in (int(rows[0]), int(rows[-1]))),
        {"who": odd, "clock": value, "others": level, "hotter": hotter, "reason": why, "kinds": ["clock", "heat"],
         "names": f"{who.name} {odd}: {clock.name} {value:.5g}, others {level:.5g}"},
    )  # fmt: skip


def _reason(table: Table, mine: np.ndarray, rest: np.ndarray) -> str:
    """The reason that its rows name and the others do not."""
    for column in table.columns:
        if not (means(NAMED, column.name) or means(REASONS, column.name)):
            continue
        said = _said(column)
        own = [v for v in said[mine].tolist() if not NONE.search(v.strip())]
        if own and len(own) >= mine.sum() / 2 and np.mean([v in set(own) for v in said[rest].tolist()]) <= OTHERS:
            return f"{column.name} {max(set(own), key=own.count)}"
    return ""
