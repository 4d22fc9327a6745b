"""Lines of one kind followed side by side (the loss of each domain, the score of each task): one of them turns and goes
the bad way while the rest go on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Finding, Severity
from ...metrics import canonical, held_out
from ...vocabulary import VOCABULARY
from ..line import Line, plain

FAMILY, MOST, POINTS = 3, 64, 6
"""Lines of one kind from which on some can be said to differ from the rest, and points of each. Own judgement."""
TURNED, KEPT = 0.3, 0.15
"""Share of what was gained that one has lost at the end, and the rest at most. Own judgement."""
NOISE = 6.0
"""Times the usual unevenness of a line that its loss must be."""
LAST = 3
"""Points at the end that all lie on the bad side."""
ADDS_UP = 0.01
"""Share of a line by which the sum of others misses it at most, where they are its terms: what a number is made of is
no row of abilities."""
SHARED = 0.34
"""Share of a family that can have turned; where more have, it is no matter of one."""

_CUT = re.compile(r"[_/.: -]+")


def turned(lines: Sequence[Line]) -> Iterator[Finding]:
    """Lines that turn while the others of their kind go on."""
    kinds: dict[tuple[int, tuple[object, ...]], dict[str, Line]] = {}
    for line in lines:
        for way, kind, part in _kinds(line):
            kinds.setdefault((way, (line.file, line.attempt, line.axis, *kind)), {}).setdefault(part, line)
    told: set[tuple[str, str, str]] = set()
    for (way, _), family in kinds.items():
        some = {part: line.finite() for part, line in family.items() if np.isfinite(line.values).sum() >= POINTS}
        if not FAMILY <= len(some) <= MOST or _are_terms([*some.values()], lines):
            continue
        for part, line, others in _against(some, way):
            if (line.file, line.key, line.group) not in told:
                told.add((line.file, line.key, line.group))
                yield _said(part, line, others)


def _are_terms(family: Sequence[Line], lines: Sequence[Line]) -> bool:
    """Whether these lines add up to another one of their file."""
    if any(len(x) != len(family[0]) for x in family):
        return False
    total, one = np.sum([x.values for x in family], axis=0), family[0]
    own = {(x.key, x.group) for x in family}
    beside = (
        x.finite().values
        for x in lines
        if (x.file, x.attempt) == (one.file, one.attempt) and (x.key, x.group) not in own
    )
    return any(len(y) == len(total) and np.allclose(y, total, rtol=ADDS_UP, atol=0) for y in beside)


def _kinds(line: Line) -> Iterator[tuple[int, tuple[str | None, ...], str]]:
    """Which way is good, what a line may be of a kind with, and its own part there: its group, or each word of its name
    in turn."""
    if line.rank is not None:
        return
    if line.group:
        if line.better:
            yield line.better, (line.key,), line.group
        return
    words = [word for word in _CUT.split(line.key.lower()) if word]
    for i, word in enumerate(words) if 2 < len(words) <= 8 and held_out(line.key) else ():
        rest = (*words[:i], None, *words[i + 1 :])
        metric = canonical("_".join(filter(None, rest)))
        better = VOCABULARY[metric[0]].better if metric else 0
        if metric and better and line.name in (metric[0], plain(line.key)):
            yield better, rest, word


def _against(family: dict[str, Line], way: int) -> Iterator[tuple[str, Line, Sequence[str]]]:
    """The lines that turned, where the others go on the good way."""
    ways = {part: _way(line.values) for part, line in family.items()}
    lost = {part: _lost(way * line.values) for part, line in family.items()}
    gone = [part for part, (share, clear) in lost.items() if share >= TURNED and clear]
    rest = [part for part, (share, _) in lost.items() if share <= KEPT and ways[part] == way]
    if 0 < len(gone) <= SHARED * len(family) and len(rest) >= max(FAMILY - 1, (1 - SHARED) * len(family)):
        for part in gone:
            yield part, family[part], rest


def _way(values: np.ndarray) -> int:
    """1 for a line that climbs from its beginning to its end by more than its unevenness, -1 for one that falls."""
    moved = float(values[-LAST:].mean() - values[:2].mean())
    return 0 if abs(moved) <= 2 * _unevenness(values) else int(np.sign(moved))


def _unevenness(values: np.ndarray) -> float:
    """Median distance of a point from the middle of its two neighbours."""
    return float(np.median(np.abs(values[1:-1] - (values[:-2] + values[2:]) / 2))) + 1e-12


def _lost(good: np.ndarray) -> tuple[float, bool]:
    """The share of its gain that a line, turned so that more is better, has lost at the end, and whether clearly."""
    top = int(good.argmax())
    end = float(good[-LAST:].mean())
    gained, lost = float(good[top] - good[0]), float(good[top] - end)
    behind = len(good) - top > LAST and bool((good[top] - good[-LAST:] >= lost / 2).all())
    return lost / max(gained, lost, 1e-12) if gained <= 0 else lost / gained, behind and lost > NOISE * _unevenness(
        good
    )


def _said(part: str, line: Line, others: Sequence[str]) -> Finding:
    top, last = int(_turn(line.values)), len(line) - 1
    en, zh = ("rises", "上升") if line.values[last] > line.values[top] else ("falls", "下降")
    rest = ", ".join(sorted(others)[:4])
    old, new = float(line.values[top]), float(line.values[last])
    return Finding(
        "ability-lost", Severity.S2,
        f"{line.said} turns at {line.where(top)} and {en} from {old:.4g} to {new:.4g}, while the others of its kind "
        f"({rest}) go on as before: {part} is lost, not all.",
        f"{line.said} 在{line.where(top)}掉头，从 {old:.4g} {zh}到 {new:.4g}，而同类的其他指标（{rest}）照旧：出问题的"
        f"只是 {part}，不是整体。",
        (line.evidence(last), line.evidence(top)),
        {"part": part, "key": line.key, "before": old, "after": new, "stayed": sorted(others)[:8]},
    )  # fmt: skip


def _turn(values: np.ndarray) -> int:
    """The place of the extreme from which a line moves farthest to its end."""
    return max((int(values.argmin()), int(values.argmax())), key=lambda i: abs(values[-1] - values[i]))
