"""Memory that goes with the length of what is computed, where the longest batch is what it is short for; memory that
grows on and on.

In a healthy run as well memory follows the length; what it means beside an error is for the entries to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from ...findings import Finding, Severity
from ...operation.steady import load_of
from ...patterns import bounded
from ..line import Line, means

LEAST = 8
"""Points that both have."""
FOLLOWS = 0.9
"""Correlation from which on one follows the other."""
STEADY = 0.01
"""Share of its level by which a memory that does not grow may move from the first fifth to the last."""
LONGER, MORE = 1.5, 1.2
"""Times the usual length that the longest must have, and times the usual memory that is then taken."""
MEMORY = bounded(r"(?:^|_)(?:mem(?:ory)?|vram|gib|gb|mib|allocated|reserved)(?:_|$)|显存")
LENGTH = bounded(
    r"(?:^|_)(?:longest|len(?:gth)?|seq_?len(?:gth)?|max_len|tokens|ctx|context|frames|patches|pixels|batch_size)(?:_|$)|长度"
)
NOT_ONE_STEP = bounded(r"(?:^|_)(?:per|s|sec|second|total|seen|consumed|cum|processed)(?:_|$)")
"""Rates, and counts that only go on."""
LONG = 20
"""Points of a memory that is judged."""
PARTS = 8
"""Parts of the record, each of which lies above the one before."""
GROWN, SIZE = 0.05, 5.0
"""Share of its level, and times its noise, by which it grows at least. Own judgement."""
LATE = 0.35
"""Share of the growth that falls into the second half at least: a cache that fills levels off. Own judgement."""
FALL, AGAIN, ALIKE = 0.5, 1.9, 1.5
"""Share of its range by which a memory falls at a restart, times the usual distance of two rows that lies between them
where earlier rows were written anew, and times the slowest growth that the fastest may be."""
MEMORIES = ("gpu_memory", "host_memory")


def grown(lines: Sequence[Line]) -> Iterator[Finding]:
    """The first memory of a file that follows a length beside it, by the length that it follows best."""
    longs = [x for x in lines if means(LENGTH, x.key) and not means(NOT_ONE_STEP, x.key)]
    memories = [x for x in lines if means(MEMORY, x.key) and not means(LENGTH, x.key)]
    for memory in memories:
        beside = [x for x in longs if (x.file, x.group) == (memory.file, memory.group)]
        pairs = [p for x in beside if (p := _pair(memory, x)) is not None]
        if pairs and (found := _together(best := max(pairs, key=lambda p: p.together))) is not None:
            yield found
            yield from _beyond(best, [x for x in memories if x.file == memory.file and x.group == memory.group])
            return


@dataclass(frozen=True)
class Pair:
    """A memory and a length at the places that have both."""

    memory: Line
    length: Line
    i: np.ndarray
    j: np.ndarray
    """Places of the two in their lines."""

    @property
    def together(self) -> float:
        """Their correlation."""
        return float(np.corrcoef(self.memory.values[self.i], self.length.values[self.j])[0, 1])


def _pair(memory: Line, length: Line) -> Pair | None:
    _, i, j = np.intersect1d(memory.x, length.x, return_indices=True)
    keep = np.isfinite(memory.values[i]) & np.isfinite(length.values[j])
    i, j = i[keep], j[keep]
    few = len(i) < LEAST or np.ptp(length.values[j]) == 0 or np.ptp(memory.values[i]) == 0
    return None if few else Pair(memory, length, i, j)


def _together(pair: Pair) -> Finding | None:
    memory, length, i, j = pair.memory, pair.length, pair.i, pair.j
    m, n = memory.values[i], length.values[j]
    top = int(n.argmax())
    high = n[top] >= LONGER * np.median(n) and m[top] >= max(MORE * np.median(m), float(np.quantile(m, 0.95)))
    if not high or pair.together < FOLLOWS:
        return None
    usual, taken = f"{float(np.median(n)):.5g}", f"{float(np.median(m)):.4g}"
    where = memory.where(int(i[top]))
    return Finding(
        "memory-follows-length", Severity.S3,
        f"{memory.said} follows {length.said}: {m[top]:.4g} at {n[top]:.5g} ({where}), {taken} at the usual {usual}.",
        f"{memory.said} 随 {length.said} 变化：{n[top]:.5g} 时为 {m[top]:.4g}（{where}），通常 {usual} 时为 {taken}。",
        (memory.evidence(int(i[top])), length.evidence(int(j[top]))),
        {"memory": float(m[top]), "length": float(n[top]), "usual_length": float(np.median(n))},
    )  # fmt: skip


def _beyond(pair: Pair, memories: Sequence[Line]) -> Iterator[Finding]:
    """The file ends at a batch longer than all before, of which no memory was noted any more."""
    memory, length = pair.memory, pair.length
    noted = length.values[pair.j]
    end = len(length) - 1
    last = float(length.values[end])
    if pair.j[-1] == end or not last >= LONGER * float(np.nanmax(noted)):
        return
    slope, base = np.polyfit(noted, memory.values[pair.i], 1)
    need = float(slope * last + base)
    steady = next((x for x in memories if x is not memory and _steady(x, float(np.ptp(memory.values[pair.i])))), None)
    level = f"; {steady.said} stays at {np.nanmedian(steady.values):.4g}" if steady is not None else ""
    level_zh = f"；{steady.said} 一直在 {np.nanmedian(steady.values):.4g} 不变" if steady is not None else ""
    most = pair.j[int(noted.argmax())]
    yield Finding(
        "memory-ends-at-longest", Severity.S2,
        f"The record ends at {length.where(end)} with the longest {length.said} of all, {last:.5g} (before at most "
        f"{noted.max():.5g}), and without its {memory.said}; by the line of the steps before it needs "
        f"{need:.4g}{level}.",
        f"记录止于 {length.where(end)}：{length.said} 为 {last:.5g}，是全程最长（此前最多 {noted.max():.5g}），"
        f"且没有记下 {memory.said}；按此前的关系推算需要 {need:.4g}{level_zh}。",
        (length.evidence(end), length.evidence(int(most)),
         *((steady.evidence(len(steady) - 1),) if steady is not None else ())),
        {"length": last, "longest_before": float(noted.max()), "need": need,
         **({"steady": float(np.nanmedian(steady.values))} if steady is not None else {})},
    )  # fmt: skip


def _steady(memory: Line, spread: float) -> bool:
    """A memory that does not grow along the run, beside one that spreads as much."""
    values = memory.finite().values
    if len(values) < LEAST:
        return False
    part = max(2, len(values) // 5)
    drift = abs(float(np.median(values[-part:]) - np.median(values[:part])))
    return drift <= STEADY * abs(float(np.median(values))) and float(np.ptp(values)) <= 0.1 * spread


def growing(lines: Sequence[Line]) -> Iterator[Finding]:
    """The memory of each kind that grew most, where it grows in every part of the way and does not level off, and no
    load beside it grows as it does."""
    for name in MEMORIES:
        found = [(grown, line) for line in lines if line.name == name and (grown := _growth(line)) is not None]
        if not found:
            yield from islice((told for line in lines if line.name == name for told in _sawing(line)), 1)
            continue
        grown, line = max(found, key=lambda one: one[0][1] / one[0][0])
        load = load_of(line, lines)
        yield _told(grown, line) if load is None else _with_load(line, load)


def _with_load(memory: Line, load: Line) -> Finding:
    m, n = memory.finite(), load.finite()
    return Finding(
        "memory-follows-load", Severity.S3,
        f"{m.said} grows from {m.values[0]:.4g} to {m.values[-1]:.4g} as {n.said} goes from {n.values[0]:.4g} to "
        f"{n.values[-1]:.4g}: what the load takes, no leak.",
        f"{m.said} 从 {m.values[0]:.4g} 增到 {m.values[-1]:.4g}，同时 {n.said} 从 {n.values[0]:.4g} 到 "
        f"{n.values[-1]:.4g}：是负载占用的，不是泄漏。",
        (memory.evidence(len(memory) - 1), load.evidence(len(load) - 1)),
        {"memory": memory.name, "load": load.key},
    )  # fmt: skip


def _growth(line: Line) -> tuple[float, float] | None:
    """(level of the first part, level of the last)."""
    values = line.finite().values
    if len(values) < LONG:
        return None
    parts = [float(np.median(part)) for part in np.array_split(values, PARTS)]
    first, last, middle = parts[0], parts[-1], (parts[PARTS // 2 - 1] + parts[PARTS // 2]) / 2
    spread = float(np.median(np.abs(np.diff(values) - np.median(np.diff(values)))))
    steady = bool(np.all(np.diff(parts) > 0)) and last - middle >= LATE * (last - first)
    enough = first > 0 and last - first >= max(GROWN * first, SIZE * spread)
    return (first, last) if steady and enough else None


def _sawing(line: Line) -> Iterator[Finding]:
    """A memory that grows from each start of the run to the next, and falls back to where it began at each of them.

    A memory that is swept now and then saws as well; only where the record itself begins again (its steps go back, so
    that later rows stand for earlier ones) was it the start that freed it.
    """
    line = line.finite()
    v = line.values
    if len(v) < 2 * LONG:
        return
    falls = np.flatnonzero(v[:-1] - v[1:] >= FALL * np.ptp(v)) + 1
    if not len(falls):
        return
    gaps = np.diff(line.at)
    again = falls[(line.at[falls] > 0) & (gaps[falls - 1] > AGAIN * max(float(np.median(gaps)), 1.0))].tolist()
    if len(again) < len(falls):
        return
    parts = [p for p in np.split(np.arange(len(v)), again) if len(p) >= LONG]
    levels = [_growth(line.only(p)) for p in parts]
    each = [float(np.polyfit(line.x[p], v[p], 1)[0]) for p in parts]
    grown = [level for level in levels if level is not None]
    if len(grown) < max(2, len(parts)) or max(each) > ALIKE * min(each):
        return
    first, last = (float(np.median([level[k] for level in grown])) for k in (0, 1))
    yield Finding(
        "memory-grows-on", Severity.S2,
        f"{line.said} grows from {first:.4g} to {last:.4g} in each of {len(grown)} starts of the run, {each[0]:.3g} "
        f"for each {line.axis}, and falls back at each restart ({line.where(again[0])}): what is kept grows with the "
        "steps, not with a batch.",
        f"{line.said} 在 {len(grown)} 次启动中每次都从 {first:.4g} 涨到 {last:.4g}，"
        f"每个 {line.axis} 增加 {each[0]:.3g}，"
        f"每次重启（{line.where(again[0])}）又回落：增长随步数累积，与批大小无关。",
        (line.evidence(again[0] - 1), line.evidence(again[0]), line.evidence(0)),
        {"first": first, "last": last, "each": each[0], "memory": line.name, "starts": len(grown)},
    )  # fmt: skip


def _told(levels: tuple[float, float], line: Line) -> Finding:
    first, last = levels
    way = line.finite()
    begin, end = way.values[0], way.values[-1]
    each = (way.values[-1] - way.values[0]) / (way.x[-1] - way.x[0])
    share = end / begin - 1 if begin > 0 else last / first - 1
    return Finding(
        "memory-grows-on", Severity.S2,
        f"{line.said} grows from {begin:.4g} to {end:.4g} ({share:.0%}) in every part of its record and does not "
        f"level off; {each:.3g} for each {line.axis} on average.",
        f"{line.said} 从 {begin:.4g} 增到 {end:.4g}（{share:.0%}），每一段都在涨且没有放缓；平均每个 {line.axis} 增加 "
        f"{each:.3g}。",
        (line.evidence(len(line) - 1), line.evidence(0)),
        {"first": first, "last": last, "each": float(each), "memory": line.name},
    )  # fmt: skip
