"""Weights of the side that samples that stop at one version while the side that trains goes on.

The version of the sampler is a column beside the updates, or the age of its samples grows by one with every update from
one place on to the end. Weights that arrive late, or every so many updates, are a matter of `lag`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...data.statistics import spearman
from ...findings import Finding, Severity
from ..line import plain
from .frames import LEAST, Frame
from .lag import AGE, COUNTED, NO_AGE, NO_REWARD, NO_TAIL, REWARD, SAMPLED, TAIL, TRAINS, VERSION, WAY

ROWS, SHARE = 20, 0.15
"""Rows for which a version stands, and their part of all."""
SEEN, TIMES = 3, 5.0
"""Times that weights arrived before, and times the longest wait until then that they have not arrived."""
FOLLOWS = 0.9
"""Rank correlation with the way by which a tail counts as rising."""


def standing(frames: Sequence[Frame]) -> list[Finding]:
    """The file in which the weights have stood for most updates."""
    found = [f for frame in frames if len(frame) >= LEAST for f in _stands(frame)]
    return sorted(found, key=lambda f: -f.data["updates"])[:1]


def _stands(frame: Frame) -> Iterator[Finding]:
    way = _way(frame)
    for name, values in frame.columns.items():
        own = plain(name)
        if not np.isfinite(values).all() or WAY.search(own) or COUNTED.search(own):
            continue
        if VERSION.search(own) and SAMPLED.search(own) and not AGE.search(own):
            at, version = _last_arrival(values, way), float(values[-1])
        elif AGE.search(own) and not NO_AGE.search(own):
            at, version = _last_arrival(way - values, way), float("nan")
        else:
            continue
        if at is not None:
            yield _told(frame, name, way, at, version)
            return


def _way(frame: Frame) -> np.ndarray:
    """The updates of the learner: a column that counts them, else the rows."""
    for name, values in frame.columns.items():
        own = plain(name)
        counts = WAY.search(own) or (VERSION.search(own) and TRAINS.search(own) and not SAMPLED.search(own))
        if counts and np.isfinite(values).all() and (np.diff(values) > 0).all():
            return values
    return np.arange(len(frame), dtype=float)


def _last_arrival(values: np.ndarray, way: np.ndarray) -> int | None:
    """The row at which weights arrived last, where they came again and again before, and no more for long since."""
    steps = np.diff(values)
    arrived = np.flatnonzero(steps > 0.5) + 1
    if len(arrived) < SEEN or (steps < -0.5).any() or np.abs(steps[int(arrived[-1]) :]).max(initial=0.0) > 0.5:
        return None
    last = int(arrived[-1])
    waits = np.diff(way[np.concatenate(([0], arrived))])
    stood, rows = float(way[-1] - way[last]), len(values) - 1 - last
    long = rows >= max(ROWS, SHARE * len(values)) and stood >= TIMES * float(waits.max(initial=0.0))
    return last if long else None


def _told(frame: Frame, name: str, way: np.ndarray, at: int, version: float) -> Finding:
    after = at + 1
    stood = float(way[-1] - way[at])
    held = f" at {version:.10g}" if np.isfinite(version) else ""
    held_zh = f"停在 {version:.10g}" if np.isfinite(version) else "不再更新"
    rising, still = _beside(frame, after)
    more = "".join(f"; {n} rises from {a:.3g} to {b:.3g} since" for n, a, b in rising)
    more += "".join(f"; {n} stays ({a:.3g} then, {b:.3g} at the end)" for n, a, b in still)
    more_zh = "".join(f"；此后 {n} 从 {a:.3g} 升到 {b:.3g}" for n, a, b in rising)
    more_zh += "".join(f"；{n} 没有再动（当时 {a:.3g}，最后 {b:.3g}）" for n, a, b in still)
    return Finding(
        "sampler-weights-stand-still", Severity.S1,
        f"{name} stands{held} from update {way[at]:.10g} on while training goes on to {way[-1]:.10g} ({frame.file}): "
        f"for {stood:.10g} updates no new weights have reached what samples{more}.",
        f"从第 {way[at]:.10g} 次更新起 {name} {held_zh}，而训练继续到第 {way[-1]:.10g} 次（{frame.file}）："
        f"{stood:.10g} 次更新里采样端没有收到新权重{more_zh}。",
        (frame.evidence(name, min(after, len(way) - 1)), frame.evidence(name, len(way) - 1),
         *(frame.evidence(n, len(way) - 1) for n, *_ in (*rising, *still))),
        {"updates": stood, "since": float(way[at])},
    )  # fmt: skip


Beside = list[tuple[str, float, float]]


def _beside(frame: Frame, after: int) -> tuple[Beside, Beside]:
    """(what of clipping, ratio and divergence rises since, which reward stays): name, then, at the end."""
    rising, still = list[tuple[float, str, float, float]](), Beside()
    for name, values in frame.columns.items():
        own, some = plain(name), values[after:]
        if not np.isfinite(some).all():
            continue
        tenth = max(3, len(some) // 10)
        first, last = float(np.median(some[:tenth])), float(np.median(some[-tenth:]))
        if TAIL.search(own) and not NO_TAIL.search(own):
            follows = spearman(np.arange(len(some), dtype=float), some)
            if follows >= FOLLOWS and last > first:
                rising.append((follows, name, first, last))
        elif REWARD.search(own) and not NO_REWARD.search(own):
            spread = float(np.std(some)) or 1e-12
            if abs(last - first) < 2 * spread:
                still.append((name, first, last))
    return [r[1:] for r in sorted(rising, reverse=True)[:2]], still[:1]
