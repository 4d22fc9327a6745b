"""Where along the checkpoints a score fell, and nothing is run: by the posterior of `tools.checkpoints.bisect`, and in
a row that otherwise climbs by the errors of its scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...checkpoints.bisect.observations import Observations
from ...checkpoints.bisect.posterior import Posterior, posterior
from ...checkpoints.bisect.stories import BELIEFS
from ...findings import Finding, Severity
from .read import MOST_ROW, Scored

POINTS = 1.0
"""Points below which no difference is told."""
ROW = 5
"""Checkpoints from which on a row is judged, and `MOST_ROW` of it at most, for the posterior weighs every pair."""
SURE, CHANCE = 0.6, 0.05
"""Probability of a change at one place from which on it is told, and most that is left for no change at all."""
SHARE = 0.95
DROP = 3.5
"""Standard errors of a fall within a row that climbs: above what the worst of some tens of places has by chance."""
SLIDE = 3
"""Moves besides, half of which are a third of a fall: a row that comes down bit by bit fell at no checkpoint."""
CALM = replace(BELIEFS, prior={"none": 0.6, "step": 0.25, "drift": 0.1, "several": 0.05})
"""Nobody has seen a drop: most rows of scores have none."""


def fallen(rows: list[Scored]) -> list[Finding]:
    """Rows of checkpoints whose scores changed at one of them, by the bisection's posterior."""
    ways: dict[tuple[str, str, str], list[Scored]] = {}
    for row in rows:
        if row.step is not None:
            ways.setdefault((row.metric, row.task, row.weights and row.model), []).append(row)
    found = []
    for way in ways.values():
        setups = {tuple(one for one in row.setup) for row in way if row.setup}
        steps = sorted({row.step for row in way if row.step is not None})
        if ROW <= len(steps) <= MOST_ROW and len(setups) <= 1:
            place = {step: i for i, step in enumerate(steps)}
            if (drop := _dropped(steps, way)) is not None:
                found.append(drop)
                continue
            seen = Observations(len(steps), tuple(place[r.step] for r in way if r.step is not None),
                                tuple(r.value for r in way))  # fmt: skip
            now = posterior(seen, CALM)
            changed = now.stories["step"] + now.stories["several"]
            if changed >= SURE and now.stories["none"] <= CHANCE and now.verdict == "step":
                found.append(_change(now, steps, way, changed))
    return found


def _dropped(steps: Sequence[float], way: Sequence[Scored]) -> Finding | None:
    """A fall of a row that otherwise climbs, by the errors of its scores: two checkpoints against the two before."""
    each = [[r for r in way if r.step == step] for step in steps]
    if any(len(some) != 1 or some[0].error is None for some in each):
        return None
    y, e = (np.array([getattr(some[0], of) for some in each], float) for of in ("value", "error"))
    falls = (y[:-3] + y[1:-2] - y[2:-1] - y[3:]) / 2
    z = falls / np.maximum(np.sqrt(e[:-3] ** 2 + e[1:-2] ** 2 + e[2:-1] ** 2 + e[3:] ** 2) / 2, 1e-9)
    i = int(z.argmax()) + 2
    usual = float(np.median(np.abs(np.diff(y))))
    if z[i - 2] < DROP or falls[i - 2] < max(POINTS, 2 * usual) or y[i - 1] - max(y[i : i + 2]) < max(POINTS, usual):
        return None
    if _slides(y, i):
        return None
    before, after = float(y[i - 2 : i].mean()), float(y[i : i + 2].mean())
    first = way[0].metric
    return Finding(
        "score-falls-at-checkpoint", Severity.S2,
        f"{first} falls from {before:.1f} to {after:.1f} between {steps[i - 1]:.10g} and {steps[i]:.10g} "
        f"({z[i - 2]:.1f} standard errors, two checkpoints on each side), in a row that otherwise moves by {usual:.1f} "
        "from one to the next.",
        f"{first} 在 {steps[i - 1]:.10g} 与 {steps[i]:.10g} 之间从 {before:.1f} 降到 {after:.1f}（{z[i - 2]:.1f} 个标"
        f"准误，两侧各两个检查点），其余相邻检查点一般只差 {usual:.1f}。",
        tuple(each[j][0].evidence for j in range(i - 2, i + 2)),
        {"score": first, "before": before, "after": after, "at": steps[i], "interval": [steps[i - 1], steps[i]],
         "z": float(z[i - 2]), "values": len(way), **_named(steps[i - 1])},
    )  # fmt: skip


def _slides(y: np.ndarray, i: int) -> bool:
    """Whether the row comes down from its highest value step by step, and the step to its place `i` is one of them."""
    moves = np.diff(y)
    others = np.delete(moves, i - 1)[min(int(y.argmax()), i - 1) :]
    return len(others) >= SLIDE and float(np.median(others)) <= moves[i - 1] / 3


def _named(good: float) -> dict[str, str]:
    """Where to go back to, in both languages."""
    return {"names": f"the last good one is {good:.10g}", "names_zh": f"最后一个好的是 {good:.10g}"}


def _change(now: Posterior, steps: list[float], way: list[Scored], sure: float) -> Finding:
    """The change as a finding: a fault where the score fell and did not come back."""
    low, high = now.interval(SHARE)
    before, after = now.levels()
    fell = after < before and before - after >= POINTS
    good, bad = steps[max(0, low - 1)], steps[high]
    at = steps[now.best]
    reruns = len(way) - len(steps)
    again = f"; {reruns} re-scored values count too" if reruns else ""
    beside = sorted((r for r in way if r.step is not None), key=lambda r: abs((r.step or 0.0) - at))[:4]
    en, zh = ("falls", "下降") if fell else ("changes", "变化")
    code = "score-changes-at-checkpoint"
    if fell:  # with one checkpoint before it, the training as such lowers the score: none of its checkpoints was good
        code = "score-falls-at-checkpoint" if low > 1 else "score-falls-from-start"
    return Finding(
        code,
        Severity.S2 if fell else Severity.S3,
        f"{way[0].metric} {en} from {before:.1f} to {after:.1f} at {at:.10g} (probability {sure:.2f}); the first "
        f"bad one lies after {good:.10g} and not after {bad:.10g}{again}. Single values before it are noise.",
        f"{way[0].metric} 在 {at:.10g} 处从 {before:.1f} {zh}到 {after:.1f}（概率 {sure:.2f}）；首个变差的检查点在 "
        f"{good:.10g} 之后、不晚于 {bad:.10g}。此前的单次低值属于噪声。",
        tuple(r.evidence for r in beside),
        {"score": way[0].metric, "before": before, "after": after, "at": at, "interval": [good, bad],
         "probability": sure, "values": len(way), **(_named(good) if fell and low > 1 else {})},
    )  # fmt: skip
