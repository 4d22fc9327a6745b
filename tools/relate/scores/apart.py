"""Lines of one kind followed side by side (the loss of each domain, the score of each task): one of them turns and goes
the bad way while the rest go on, the mean of all among them, which hides it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Finding, Severity
from ...logs.detectors.evaluation import way as task_way
from ...metrics import canonical, held_out
from ...patterns import bounded
from ...vocabulary import VOCABULARY
from ..kinds.names import demand
from ..line import Line, plain

FAMILY, MOST, POINTS = 3, 64, 6
"""Lines of one kind from which on some can be said to differ from the rest, and points of each. Own judgement."""
TURNED, KEPT = 0.3, 0.15
"""Share of what was gained that one has lost at the end, and the rest at most. Own judgement."""
LEVEL, LONG = 0.08, 0.25
"""Share of its best that one has lost behind the mean of all, and of its points since then. Own judgement."""
NOISE = 6.0
"""Times the usual unevenness of a line that its loss must be."""
LAST = 3
"""Points at the end that all lie on the bad side."""
ADDS_UP = 0.01
"""Share of a line by which the sum of others misses it at most, where they are its terms: what a number is made of is
no row of abilities."""
SHARED = 0.34
"""Share of a family that can have turned; where more have, it is no matter of one."""

MEAN = bounded(
    r"(?i)(?:^|[^a-z])(?:weighted|avg|average|mean|overall|total|all|macro|micro|global)(?:$|[^a-z])|加权|平均|总体|整体"
)
"""A part that is the mean of the others."""
RATES = bounded(
    r"(?i)(?:^|_)(?:wer|cer|mer|ter|eer|acc|accuracy|f1|bleu|chrf|em|ppl|perplexity|bpb)$|错误?率$|准确率$|困惑度$"
)
SPREAD = bounded(r"(?i)^(?:std|stderr|se|var|min|max|median|p\d+|n|num|count|total)$")
"""Measures of quality by their names, and what is no part but says how far the parts lie apart."""
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
                mean = next((some[name] for name in others if MEAN.search(name)), None)
                hidden = mean is not None and not MEAN.search(part) and _long_behind(way * line.values)
                yield _hidden(line, way, mean, others) if mean and hidden else _said(part, line, way, others)


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
        if way := line.better or task_way(line.key):
            yield way, (line.key,), line.group
        return
    words = [word for word in _CUT.split(line.key.lower()) if word]
    for i, word in enumerate(words) if 1 < len(words) <= 8 else ():
        rest = (*words[:i], None, *words[i + 1 :])
        name = "_".join(filter(None, rest))
        if SPREAD.search(word) or not (held_out(line.key) if len(words) > 2 else RATES.search(name)):
            continue
        metric = canonical(name)
        better = VOCABULARY[metric[0]].better if metric else task_way(name)
        if better and line.name in (metric[0] if metric else "", plain(line.key), line.key):
            yield better, rest, word


def _against(family: dict[str, Line], way: int) -> Iterator[tuple[str, Line, Sequence[str]]]:
    """The lines that turned, where the others go on the good way."""
    ways = {part: _way(line.values) for part, line in family.items()}
    lost = {part: _lost(way * line.values) for part, line in family.items()}
    gone = [part for part, (share, clear) in lost.items() if share >= TURNED and clear]
    if not gone and any(MEAN.search(part) for part in family):
        gone = [part for part, (_, clear) in lost.items() if clear and _long_behind(way * family[part].values)]
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


def _long_behind(good: np.ndarray) -> bool:
    """Whether a line has for long been behind its best by a good share of that."""
    top = int(good.argmax())
    far = float(good[top] - good[-LAST:].mean()) >= LEVEL * abs(float(good[top]))
    return far and len(good) - top >= LONG * len(good)


def _said(part: str, line: Line, way: int, others: Sequence[str]) -> Finding:
    top, last = int((way * line.values).argmax()), len(line) - 1
    en, zh = ("rises", "上升") if way < 0 else ("falls", "下降")
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


def _hidden(line: Line, way: int, mean: Line, others: Sequence[str]) -> Finding:
    """A part that is behind its own best for long while the mean of all parts goes on."""
    top, last = int((way * line.values).argmax()), len(line) - 1
    up = way < 0
    old, new = float(line.values[top]), float(line.values[-LAST:].mean())
    before, now = float(np.interp(line.x[top], mean.x, mean.values)), float(mean.values[-LAST:].mean())
    verb, zh = ("rises", "上升") if up else ("falls", "下降")
    return Finding(
        "group-worsens", Severity.S2,
        f"{line.said} is best at {line.where(top)} ({old:.4g}) and {verb} to {new:.4g} by the end, while the mean of "
        f"all, {mean.said}, goes from {before:.4g} to {now:.4g} and hides it; {len(others) - 1} others do not turn.",
        f"{line.said} 在{line.where(top)}最好（{old:.4g}），到最后{zh}为 {new:.4g}；而总体均值 {mean.said} 从 "
        f"{before:.4g} 变到 {now:.4g}，把它掩盖了；其余 {len(others) - 1} 个部分没有掉头。",
        (line.evidence(last), line.evidence(top), mean.evidence(last)),
        {"metric": line.name, "group": line.group or line.said, "way": verb, "before": old, "after": new,
         "at": float(line.x[top]), "others": sorted(others)[:8], "kinds": ["average"],
         "asks": [demand(line.said, "at-most" if up else "at-least", old + (new - old) / 5, f"{old:.4g} at its best, "
                  f"{new:.4g} now", f"最好 {old:.4g}，现在 {new:.4g}")]},
    )  # fmt: skip
