"""A multiplier of powers of two, whatever it is called, that is halved again and again to its floor and stays there."""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Finding, Severity
from ..line import Line

LEAST, HIGH, LOW, HALVINGS, STAYS = 12, 256.0, 4.0, 8, 5
"""Points, the least that it began with, the most that a floor is (a scaler also starts high and finds its level), halvings to the floor, and points at the floor at the end."""


def floored(lines: Sequence[Line]) -> Iterator[Finding]:
    """The first line of powers of two that ends at its floor, and what is infinite beside it."""
    for line in lines:
        values = line.values
        if len(line) < LEAST or not np.isfinite(values).all() or (values <= 0).any() or values.max() < HIGH:
            continue
        low = float(values[-1])
        powers = np.log2(values)
        if (
            low > min(LOW, values.min())
            or values.max() < low * 2**HALVINGS
            or not np.allclose(powers, np.round(powers), atol=1e-4)
        ):
            continue
        stays = int((values[::-1] != low).argmax()) if (values != low).any() else 0
        first = len(values) - stays
        down = np.diff(powers[max(0, int(np.flatnonzero(values == values.max())[-1])) : first + 1])
        if stays < STAYS or (down > 0).any() or (down < 0).sum() < 3:
            continue
        beside = next((x for x in lines if (x.file, x.axis) == (line.file, line.axis) and x is not line
                       and _lost(x, float(line.x[first]))), None)  # fmt: skip
        also = f"; {beside.key} is not finite there" if beside is not None else ""
        also_zh = f"；同时 {beside.key} 不是有限值" if beside is not None else ""
        yield Finding(
            "scale-at-floor", Severity.S2,
            f"{line.key}, all powers of two, falls from {values.max():g} to {low:g} at {line.where(first)} and stays "
            f"there for the last {stays} points{also}: a loss scale at its floor, with which each step is left out.",
            f"{line.key} 全是 2 的幂，从 {values.max():g} 一路降到 {low:g}（{line.where(first)}），此后 {stays} 个点一直停在"
            f"那里{also_zh}：loss scale 已到下限，每一步都被跳过。",
            (line.evidence(first), line.evidence(len(line) - 1), *((beside.evidence(len(beside) - 1),) if beside else ())),
            {"metric": line.name, "from": float(values.max()), "to": low, "points": stays},
        )  # fmt: skip
        return


def _lost(line: Line, since: float) -> bool:
    """Whether most points of a line are not finite from a place on."""
    behind = line.values[line.x >= since]
    return len(behind) >= STAYS and float((~np.isfinite(behind)).mean()) > 0.5
