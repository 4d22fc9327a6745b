"""Columns whose cells hold several numbers, `P / R / F1` over `0.81 / 0.72 / 0.76`, put as a column each."""

from __future__ import annotations

import re

from ..cells import MISSING, is_number
from ..raw import Raw

_SIGN = re.compile(r"\s?[/|&]\s?")
SHARE = 0.7
"""Share of the filled cells that have as many numbers as the head has words."""


def parted(raw: Raw) -> Raw:
    """The table with such columns taken apart; as it is where it has none."""
    names, columns = list[str](), []
    for name, column in zip(raw.names, raw.columns, strict=True):
        parts = [p.strip() for p in _SIGN.split(name)]
        cells = [
            [p.strip() for p in _SIGN.split(str(c))] for c in column if str(c or "").strip().lower() not in MISSING
        ]
        good = sum(len(c) == len(parts) and all(map(is_number, c)) for c in cells)
        if len(parts) < 2 or not all(parts) or len({*parts}) < len(parts) or not cells or good < SHARE * len(cells):
            names, columns = [*names, name], [*columns, column]
            continue
        split = [[p.strip() for p in _SIGN.split(str(c or ""))] for c in column]
        names += parts
        columns += [[s[i] if len(s) == len(parts) else None for s in split] for i in range(len(parts))]
    if len(names) > len(raw.names):
        raw.names, raw.columns, raw.units = names, columns, []
    return raw
