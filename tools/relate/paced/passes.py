"""How often a source of a mixture is read: its share of what was trained, over what there is of it.

A table has a row for each source with its tokens and its weight; the training counts its tokens itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...findings import Evidence
from ...patterns import bounded
from ...tables.table import Table
from ..distributions import texts
from ..line import Line, means, plain

TOKENS = bounded(r"(?:^|_)(?:tokens?|tok|toks)(?:_|$)|token|词元")
RATE = bounded(r"per|sec|rate|speed|throughput|(?:^|_)s(?:_|$)|/s|tps|tgs|length|len|batch|每秒|速")
"""What is counted in tokens and is no whole."""
SHARE = bounded(r"(?:^|_)(?:weights?|ratio|share|prob(?:ability)?|mix|frac(?:tion)?|pct|percent|proportion)(?:_|$)"
                r"|权重|占比|配比|比例")  # fmt: skip
UNITS = {"b": 1e9, "billion": 1e9, "m": 1e6, "million": 1e6, "t": 1e12, "k": 1e3, "g": 1e9}
NEARLY, LEAST = 0.05, 2.0
"""Share by which weights may miss the whole, and passes from which on it is told."""


class Passes(NamedTuple):
    """How often a source was read, and where its weight stands."""

    times: float
    tokens: float
    weight: float
    total: float
    place: Evidence

    def say(self, lang: str = "en") -> str:
        """Behind a clause."""
        have, whole = f"{self.tokens / 1e9:.3g}B", f"{self.total / 1e9:.3g}B"
        if lang == "zh":
            return f"（共 {have} token，权重 {self.weight:.3g}，已训 {whole}：约读了 {self.times:.0f} 遍）"
        return f" ({have} tokens at {self.weight:.3g} of {whole} trained: about {self.times:.0f} passes)"


def passes(source: str, lines: Sequence[Line], tables: Sequence[Table]) -> Passes | None:
    """The passes over a source; None where its tokens, its weight or the tokens trained are not known."""
    total = max((_whole(line) for line in lines), default=0.0)
    for table in tables if total else ():
        for label in table.of("group", "identifier", "text"):
            named = texts(label).astype(str) if label.values.dtype.kind == "O" else np.array([])
            at = [i for i, name in enumerate(named.tolist()) if plain(name) == source]
            have, share = (_column(table, pattern) for pattern in (TOKENS, SHARE))
            if len(at) != 1 or have is None or share is None or not (whole := float(np.nansum(share[1]))):
                continue
            if not any(abs(whole / one - 1) <= NEARLY for one in (1, 100)):
                continue
            tokens, weight = float(have[1][at[0]]) * _unit(have[0]), float(share[1][at[0]]) / whole
            times = weight * total / tokens if tokens > 0 else 0.0
            if times >= LEAST:
                where = Evidence(table.file, int(table.lines[at[0]]) or None, metric=share[0], value=weight)
                return Passes(times, tokens, weight, total, where)
    return None


def _column(table: Table, pattern: re.Pattern[str]) -> tuple[str, np.ndarray] | None:
    some = (c for c in table.columns if c.values.dtype.kind == "f" and means(pattern, c.name))
    return next(((c.name, c.values) for c in some if not RATE.search(plain(c.name))), None)


def _whole(line: Line) -> float:
    """The tokens that a training counts to its end; 0 for any other measure."""
    values = line.values[np.isfinite(line.values)]
    if line.group or len(values) < 2 or not means(TOKENS, line.key) or RATE.search(plain(line.key)):
        return 0.0
    return float(values[-1]) * _unit(line.key) if (np.diff(values) >= 0).all() and values[-1] > values[0] else 0.0


def _unit(name: str) -> float:
    return UNITS.get(plain(name).rpartition("_")[2], 1.0)
