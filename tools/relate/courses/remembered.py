"""Scores along a training by set of items: those that are trained on climb, and no others do.

Both began alike, so the other items are as hard; what was learned is the items themselves. A row for each checkpoint
and set, with a score (share or percent) or right answers of so many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import ALONG, Column, Table
from ..distributions import texts
from ..scores.formats import UNKNOWN_SIZE
from ..scores.read import WAY
from ..summed.words import WHOLE, apart, counted_of, is_count, named_score, shares_of

TRAINED = bounded(
    r"(?i)(?<![a-z])(?:train(?:ed|ing)?|trn|seen|in[-_ ]?(?:dist\w*|domain)|memori[sz]ed)(?![a-z])|训练|见过|训内"
)
OTHERS = bounded(
    r"(?i)(?<![a-z])(?:new|fresh|unseen|novel|held[-_ ]?out|ood|out[-_ ]of\w*|test|val(?:id\w*)?|dev|eval|changed"
    r"|perturb\w*|variant|renumber\w*|rewrit\w+|paraphras\w+|shuffl\w+)(?![a-z])|新|没见过|未见|外|改|变|换|测试|验证|扰动"
)
LEAST, MOST = 3, 200
"""Checkpoints, and rows of the table."""
GAINED, SHARE, CLEAR = 0.15, 1 / 3, 4.0
"""How much the score of the trained items climbs at least, the share of it that others may gain at most, and standard
errors by which the two differ at the end. Own judgement."""
ALIKE = 0.1
"""How far apart the two may lie at the start."""


class Course(NamedTuple):
    """One set of items: its scores in the order of the checkpoints, as shares of so many items, and their rows."""

    name: str
    share: np.ndarray
    of: float
    rows: np.ndarray


def remembered(table: Table) -> Iterator[Finding]:
    """The trained items that are known at the end, and the others that are not."""
    way = next((c for c in table.columns if c.values.dtype.kind == "f" and ((c.role == "axis" and c.of in ALONG)
                or WAY.search(c.name.strip().lower()))), None)  # fmt: skip
    if way is None or not 2 * LEAST <= len(table) <= MOST:
        return
    for label in (c for c in table.columns if c.values.dtype.kind == "O"):
        courses = [*_courses(table, way, label)]
        mine = [c for c in courses if TRAINED.search(c.name) and not OTHERS.search(c.name)]
        rest = [c for c in courses if OTHERS.search(c.name)]
        if len(mine) == 1 and rest and _alone(mine[0], rest):
            yield _told(table, way, mine[0], rest)
            return


def _courses(table: Table, way: Column, label: Column) -> Iterator[Course]:
    whole = next((c for c in table.columns if is_count(c) and WHOLE.search(c.name.lower())), None)
    good = (c for c in table.of("measure") if c.values.dtype.kind == "f" and c is not whole)
    good = (c for c in good if counted_of(c) == "right" or named_score(c.name))
    score = next((c for c in good if np.isfinite(c.values).all()), None)
    if score is None:
        return
    values = shares_of(score)
    if values is None:
        counts = whole is not None and (whole.values >= score.values).all() and (whole.values > 0).all()
        scale = whole.values if whole is not None and counts and score.values.max() > 1 else None
        values = score.values / (scale if scale is not None else 100.0 if score.values.max() > 1 else 1.0)
    if values.max() > 1 or values.min() < 0:
        return
    said = texts(label)
    for name in dict.fromkeys(said.tolist()):
        rows = np.flatnonzero(said == name)
        rows = rows[np.argsort(way.values[rows], kind="stable")]
        if len(np.unique(way.values[rows])) == len(rows) >= LEAST:
            of = float(np.median(whole.values[rows])) if whole is not None else UNKNOWN_SIZE
            yield Course(str(name), values[rows], max(of, 1.0), rows)


def _alone(mine: Course, rest: Sequence[Course]) -> bool:
    """Whether the trained items gained much and every other set little, though all began alike."""
    gain = float(mine.share[-1] - mine.share[0])
    near = [abs(float(c.share[0] - mine.share[0])) <= ALIKE for c in rest]
    little = [float(c.share[-1] - c.share[0]) <= SHARE * gain for c in rest]
    far = [apart(mine.share[-1] * mine.of, mine.of, c.share[-1] * c.of, c.of) >= CLEAR for c in rest]
    return gain >= GAINED and all(near) and all(little) and all(far)


def _told(table: Table, way: Column, mine: Course, rest: Sequence[Course]) -> Finding:
    ends = [f"{way.values[mine.rows[i]]:g}" for i in (0, -1)]
    said = "; ".join(f"{c.name} {100 * c.share[0]:.1f}% -> {100 * c.share[-1]:.1f}%" for c in rest[:3])
    ends_of = [(c, i) for i in (-1, 0) for c in (mine, *rest[:2])]
    places = [Evidence(table.file, int(table.lines[c.rows[i]]) or None, metric=c.name, value=float(c.share[i]))
              for c, i in ends_of]  # fmt: skip
    gap = float(mine.share[-1] - max(c.share[-1] for c in rest))
    return Finding(
        "trained-items-learned-alone", Severity.S2,
        f"From {way.name} {ends[0]} to {ends[1]} the items of {mine.name} go from {100 * mine.share[0]:.1f}% to "
        f"{100 * mine.share[-1]:.1f}% right, others that began alike do not ({said}): a gap of {100 * gap:.1f} points. "
        "The items were learned by heart, the others are not harder.",
        f"{way.name} 从 {ends[0]} 到 {ends[1]}，{mine.name} 的正确率从 {100 * mine.share[0]:.1f}% 升到 "
        f"{100 * mine.share[-1]:.1f}%，而起点相同的其他题没有跟上（{said}）：差距 {100 * gap:.1f} 个点。"
        "是背下了题目，而不是其他题更难。",
        tuple(places), {"gap": gap, "gained": float(mine.share[-1] - mine.share[0]), "others": [c.name for c in rest]},
    )  # fmt: skip
