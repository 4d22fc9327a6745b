"""Which version of a model measures worse than the one before it, on which slices, and whether seeds explain it.

Where each version was measured with several seeds, their own spread is the noise; where a slice is a share of items,
the binomial error of its items. Which way is worse is said by the measure's name; where it does not say, it is a note.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import hypot, sqrt

import numpy as np

from ...findings import Evidence, Finding, Severity, clean
from ..line import means
from .cells import HARMFUL, REFUSES, Cell, Measured, ordered
from .repeats import one_of

SEEDS, FEW_ITEMS = 3, 20
"""Seeds of each version from which on their spread is known; items of a slice from which on its share is one."""
CLEAR, STILL, POINTS = 4.0, 2.5, 0.05
"""Standard errors of a share that is another, and within which it stayed; the least difference as part of the whole."""
STUDENT = (
    (1, 63.7),
    (2, 9.92),
    (3, 5.84),
    (4, 4.60),
    (5, 4.03),
    (6, 3.71),
    (8, 3.36),
    (12, 3.05),
    (20, 2.85),
    (60, 2.66),
)
"""Degrees of freedom -> |t| that one of a hundred equal pairs passes (two-sided)."""
MANY = 6
"""Slices from which on some pair of equal ones passes, so that more is asked."""
SHOWN = 4
WORSE = {False: "version-worse", True: "checkpoint-worse"}
"""Codes of what is worse, by whether the versions are checkpoints of one training."""


@dataclass(frozen=True)
class Gap:
    """One slice of two versions."""

    slice: str
    before: float
    after: float
    error: float
    z: float
    """The difference in standard errors, where the level that is clear is `CLEAR`."""
    n: float
    places: tuple[Evidence, ...]

    @property
    def apart(self) -> float:
        return self.after - self.before


def compared(measured: Measured) -> Iterator[Finding]:
    """The last version against the one before it."""
    names = list(measured.cells)
    a, b = names[-2:]
    if not (measured.placed or ordered(a, b)):
        return
    gaps = [g for s in measured.cells[b] if s in measured.cells[a]
            and (g := _gap(s, measured.cells[a][s], measured.cells[b][s], measured.share))]  # fmt: skip
    if not gaps:
        return
    least, level = POINTS * (measured.share or 1.0), CLEAR * (1.25 if len(gaps) >= MANY and measured.seeds else 1.0)
    clear = [g for g in gaps if abs(g.z) >= level and (measured.seeds or abs(g.apart) >= least)]
    worse = [g for g in clear if measured.way * g.apart < 0 and not _right(measured, g)]
    if clear:
        yield _told(measured, a, b, worse or clear, [g for g in gaps if g not in clear], bool(worse))
    elif all(abs(g.z) < (CLEAR if measured.seeds else STILL) for g in gaps):
        yield _within(measured, a, b, gaps)


def _right(measured: Measured, gap: Gap) -> bool:
    """Whether more of it is what is wanted there: refusing what is harmful."""
    return bool(means(REFUSES, measured.measure) and means(HARMFUL, gap.slice) and "benign" not in gap.slice.lower())


def _gap(name: str, a: Cell, b: Cell, whole: float) -> Gap | None:
    """The difference with its error by the seeds, else by the items; None where neither is known."""
    x, y = (np.array(c.values) for c in (a, b))
    before, after = float(x.mean()), float(y.mean())
    if one_of(a) or one_of(b):
        return None  # one measurement, and no spread of several
    if min(len(x), len(y)) >= SEEDS:
        parts = [float(v.var(ddof=1)) / len(v) for v in (x, y)]
        error = sqrt(sum(parts))
        free = sum(parts) ** 2 / max(sum(p * p / (len(v) - 1) for p, v in zip(parts, (x, y), strict=True)), 1e-300)
        if error <= 0:
            return None
        z = CLEAR * (after - before) / error / _critical(free)
    elif len(x) == len(y) == 1 and whole and min(a.n, b.n) >= FEW_ITEMS:
        p = min(max((before + after) / 2 / whole, 0.5 / a.n), 1 - 0.5 / a.n)
        error = whole * sqrt(p * (1 - p)) * hypot(a.n**-0.5, b.n**-0.5)
        z = (after - before) / error
    else:
        return None
    places = tuple(e for pair in zip(b.places[:2], a.places[:2], strict=False) for e in pair)
    return Gap(name, before, after, error, z, b.n, places)


def _critical(free: float) -> float:
    """|t| for so many degrees of freedom, the next lower row of the table."""
    return next((t for df, t in reversed(STUDENT) if free >= df), STUDENT[0][1])


def _slices(gaps: list[Gap]) -> str:
    some = sorted(gaps, key=lambda g: -abs(g.z))[:SHOWN]
    said = [f"{clean(g.slice, 40)} {g.before:.4g} -> {g.after:.4g}".strip() for g in some]
    return ", ".join(said) + (f" (+{len(gaps) - SHOWN})" if len(gaps) > SHOWN else "")


def _told(m: Measured, a: str, b: str, clear: list[Gap], rest: list[Gap], worse: bool) -> Finding:
    gap = max(clear, key=lambda g: abs(g.z))
    seeds = len(m.cells[b][gap.slice].values)
    how = f"{seeds} {clean(m.seeds, 20) or 'row'}s each" if seeds > 1 else f"{gap.n:.0f} items"
    how_zh = f"各 {seeds} 次" if seeds > 1 else f"{gap.n:.0f} 条"
    error = f"{gap.apart:+.3g} with a standard error of {gap.error:.2g}, {how}"
    still = f"; the other {len(rest)} move by at most {max(abs(g.apart) for g in rest):.2g}" if rest else ""
    still_zh = f"；其余 {len(rest)} 项最多相差 {max(abs(g.apart) for g in rest):.2g}" if rest else ""
    name, x, y = (clean(s, 60) for s in (m.measure, a, b))
    data = {"score": m.measure, "measure": m.measure, "versions": [a, b], "before": gap.before, "after": gap.after,
            "slices": [g.slice for g in clear], "difference": gap.apart, "error": gap.error}  # fmt: skip
    if m.placed:
        data |= {"interval": [float(a), float(b)]}
    return Finding(
        WORSE[m.placed] if worse else "versions-differ", Severity.S2 if worse else Severity.S3,
        f"{name} of {y} against {x}: {_slices(clear)} ({error}){still}: more than chance.",
        f"{y} 与 {x} 相比，{name}：{_slices(clear)}（{gap.apart:+.3g}，标准误 {gap.error:.2g}，{how_zh}）{still_zh}："
        "超出随机误差。",
        tuple(e for g in sorted(clear, key=lambda g: -abs(g.z))[:2] for e in g.places[:2]), data,
    )  # fmt: skip


def _within(m: Measured, a: str, b: str, gaps: list[Gap]) -> Finding:
    gap = max(gaps, key=lambda g: abs(g.z))
    seeds = len(m.cells[b][gap.slice].values)
    name, x, y = (clean(s, 60) for s in (m.measure, a, b))
    of = f"{seeds} {clean(m.seeds, 20) or 'row'}s each" if seeds > 1 else f"{gap.n:.0f} items"
    of_zh = f"各 {seeds} 次" if seeds > 1 else f"{gap.n:.0f} 条"
    return Finding(
        "versions-within-noise", Severity.S3,
        f"{name} of {y} against {x}: {_slices(gaps)} ({gap.apart:+.3g} with a standard error of {gap.error:.2g}, {of})"
        f": no more than chance; less than {2 * gap.error:.2g} would not show.",
        f"{y} 与 {x} 相比，{name}：{_slices(gaps)}（{gap.apart:+.3g}，标准误 {gap.error:.2g}，{of_zh}）：没有超出"
        f"随机误差；小于 {2 * gap.error:.2g} 的差别测不出来。",
        gap.places[:2],
        {"score": m.measure, "measure": m.measure, "versions": [a, b], "before": gap.before, "after": gap.after,
         "difference": gap.apart, "error": gap.error},
    )  # fmt: skip
