"""Is the bisection of checkpoints right as often as it says, and how many evaluations does it take?

    python -m triage.evals.bisect_calibration [--simulations 2000] [--seed 0] [--json OUT.json]

Simulates rows of 8 to 4,096 checkpoints with a step, a step on a slope, no change, a drift or two steps, with steps
of 0.75 to 12 noise widths or no noise at all. Beside the search itself it runs, on the same rows with a step,
- `peer`: the same Bayesian search told beforehand that there is exactly one step on level ground;
- `oracle`: an ideal policy told both levels, the slope and the noise as well;
- `plain`: bisection with one evaluation a checkpoint, split at the middle of both ends.
It says nothing of real evaluations, whose noise need not be normal.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from ..tools.checkpoints.bisect.search import bisect_values
from ..tools.checkpoints.bisect.stories import BELIEFS

KINDS = {"step": 0.56, "step on a slope": 0.16, "none": 0.12, "drift": 0.11, "several": 0.05}
"""Share of each kind of row."""
NOISELESS = 0.2
"""Share of rows with a step or no change whose metric has no noise."""
BUDGET = 250
TOLD = replace(BELIEFS, prior={"none": 1e-12, "step": 1.0, "drift": 1e-12, "several": 1e-12}, level_ground=1.0,
               jitters=(0.0,), jitter_weights=(1.0,))  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One simulated row of checkpoints."""

    kind: str
    count: int
    first_bad: tuple[int, ...]
    """Empty for no change and drift, two for `several`."""
    ratio: float
    """Step (for drift: whole slope) over noise; infinite without noise."""
    levels: np.ndarray
    """(count,) true metric."""
    noise: float


@dataclass(frozen=True)
class Outcome:
    """What the policies made of one row."""

    kind: str
    count: int
    ratio: float
    claimed: str
    """`step`, `none`, `drift`, `several`, or empty when the budget ended first."""
    confidence: float
    right: bool
    evaluations: int
    peer: int | None = None
    peer_right: bool | None = None
    oracle: int | None = None
    oracle_right: bool | None = None
    plain: int | None = None
    plain_right: bool | None = None


def draw_row(rng: np.random.Generator) -> Row:
    kind = str(rng.choice(list(KINDS), p=list(KINDS.values())))
    count = round(2 ** rng.uniform(3, 12))
    scale, base = 10 ** rng.uniform(-3, 2), rng.normal()
    sign = rng.choice([-1.0, 1.0])
    ratio = float(2 ** rng.uniform(math.log2(0.75), math.log2(12)))
    noise = scale
    levels = np.full(count, base * scale * 10)
    x = np.arange(count) / (count - 1)
    first_bad: tuple[int, ...] = ()
    if kind == "drift":
        ratio = float(2 ** rng.uniform(1, 5))
        levels = levels + sign * ratio * noise * x
    elif kind != "none":
        first_bad = (int(rng.integers(1, count)),)
        levels = levels + sign * ratio * noise * (np.arange(count) >= first_bad[0])
        if kind == "step on a slope":
            levels = levels + rng.uniform(-1, 1) * ratio * noise * x
        if kind == "several":
            first_bad = tuple(sorted(rng.choice(np.arange(1, count), 2, replace=False).tolist()))
            second = rng.choice([-1, 1]) * ratio * noise * rng.uniform(0.5, 2)
            levels = np.full(count, base) + sign * ratio * noise * (np.arange(count) >= first_bad[0])
            levels = levels + second * (np.arange(count) >= first_bad[1])
    if kind in ("step", "none") and rng.random() < NOISELESS:
        noise, ratio = 0.0, math.inf
    return Row(kind, count, first_bad, ratio, levels, noise)


def simulate(seed: int, confidence: float = 0.95) -> Outcome:
    rng = np.random.default_rng(seed)
    row = draw_row(rng)

    def measure(i: int) -> float:
        return float(row.levels[i] + row.noise * rng.normal()) if row.noise else float(row.levels[i])

    end = bisect_values(measure, row.count, confidence, BUDGET)
    claimed = end.verdict if end.settled(confidence) else ""
    right = end.best in row.first_bad if end.verdict == "step" else row.kind == end.verdict
    others = {}
    if row.kind.startswith("step"):
        peer = bisect_values(measure, row.count, confidence, BUDGET, held=TOLD)
        oracle, found = oracle_policy(measure, row, confidence)
        plain, split = plain_bisection(measure, row.count)
        others = {"peer": len(peer.seen), "peer_right": peer.best == row.first_bad[0],
                  "oracle": oracle, "oracle_right": found == row.first_bad[0], "plain": plain,
                  "plain_right": split == row.first_bad[0]}  # fmt: skip
    return Outcome(row.kind, row.count, row.ratio, claimed, end.confidence, right, len(end.seen), **others)


def oracle_policy(measure: Callable[[int], float], row: Row, confidence: float) -> tuple[int, int]:
    """Evaluations and answer of the Bayesian policy that knows levels, slope and noise and seeks only the place.

    With everything else known, the value at the posterior median tells most (Waeber, Frazier, Henderson 2013).
    """
    if not row.noise:
        return math.ceil(math.log2(row.count - 1)) if row.count > 2 else 1, row.first_bad[0]
    step = row.levels[row.first_bad[0]] - row.levels[row.first_bad[0] - 1]
    slope = row.levels[1] - row.levels[0] if row.first_bad[0] > 1 else row.levels[-1] - row.levels[-2]
    good = row.levels[0] - (step if row.first_bad[0] == 0 else 0) + slope * np.arange(row.count)
    log_p = np.full(row.count, -math.log(row.count - 1))
    log_p[0] = -math.inf
    for used in range(1, BUDGET + 1):
        p = np.exp(log_p - log_p.max())
        total = np.cumsum(p) / p.sum()
        i = int(np.searchsorted(total, 0.5))
        pick = i if i == row.count - 1 or abs(total[i] - 0.5) <= abs(total[i - 1] - 0.5) else i - 1
        value = measure(pick)
        evidence = ((value - good[pick]) ** 2 - (value - good[pick] - step) ** 2) / (2 * row.noise**2)
        log_p[1 : pick + 1] += evidence
        p = np.exp(log_p - log_p.max())
        if p.max() / p.sum() >= confidence:
            return used, int(p.argmax())
    return BUDGET, int(log_p.argmax())


def plain_bisection(measure: Callable[[int], float], count: int) -> tuple[int, int]:
    """What `git bisect run` does with a threshold in the middle of the two ends."""
    good, bad = measure(0), measure(count - 1)
    low, high, used = 0, count - 1, 2
    while high - low > 1:
        middle, used = (low + high) // 2, used + 1
        value = measure(middle)
        low, high = (low, middle) if abs(value - bad) < abs(value - good) else (middle, high)
    return used, high


def summary(outcomes: list[Outcome]) -> dict:
    claims = [o for o in outcomes if o.claimed]
    noisy = [o for o in claims if math.isfinite(o.ratio)]
    near = [o for o in noisy if o.confidence < 0.97]
    steps = [o for o in outcomes if o.oracle is not None and math.isfinite(o.ratio)]
    settled = [o for o in steps if o.claimed == "step"]
    sure = [o for o in outcomes if not math.isfinite(o.ratio)]
    return {
        "simulations": len(outcomes),
        "claims": len(claims),
        "right": _share(claims),
        "mean confidence of claims": _mean([o.confidence for o in claims]),
        "noisy claims": len(noisy),
        "right, noisy": _share(noisy),
        "mean confidence, noisy": _mean([o.confidence for o in noisy]),
        "claims of 95 to 97%, noisy": len(near),
        "right, claims of 95 to 97%": _share(near),
        "by kind": {k: _line([o for o in outcomes if o.kind == k]) for k in KINDS},
        "by claim": {k: _line([o for o in claims if o.claimed == k]) for k in ("step", "none", "drift", "several")},
        "by step over noise": {f"{low:g} to {high:g}": _versus([o for o in steps if low <= o.ratio < high])
                               for low, high in ((0.75, 1.5), (1.5, 3), (3, 6), (6, 12))},
        "by checkpoints": {f"{low} to {2 * high - 1}": _versus([o for o in steps if low <= o.count < 2 * high])
                           for low, high in ((8, 16), (32, 64), (128, 256), (512, 1024), (2048, 2049))},
        "noisy steps": _versus(steps),
        "noisy steps that were claimed": _versus(settled),
        "no noise": {"rows": len(sure), "right": _share(sure),
                     "most evaluations above ceil(log2 n)": max((o.evaluations - math.ceil(math.log2(o.count))
                                                                 for o in sure), default=0)},
        "plain bisection wrong, noisy steps": _mean([not o.plain_right for o in steps]),
    }  # fmt: skip


def _line(outcomes: list[Outcome]) -> dict:
    return {"rows": len(outcomes), "claims": sum(bool(o.claimed) for o in outcomes),
            "right of claims": _share([o for o in outcomes if o.claimed]),
            "evaluations": _mean([o.evaluations for o in outcomes])}  # fmt: skip


def _versus(steps: list[Outcome]) -> dict:
    mine = sum(o.evaluations for o in steps)
    out: dict = {"rows": len(steps), "evaluations": _mean([o.evaluations for o in steps]),
                 "right of claims": _share([o for o in steps if o.claimed])}  # fmt: skip
    for name in ("peer", "oracle", "plain"):
        used = sum(getattr(o, name) or 0 for o in steps)
        out[name] = {"evaluations": _mean([getattr(o, name) for o in steps]),
                     "right": _mean([bool(getattr(o, f"{name}_right")) for o in steps]),
                     "ours over it": round(mine / used, 3) if used else None}  # fmt: skip
    return out


def _share(outcomes: list[Outcome]) -> float | None:
    return _mean([o.right for o in outcomes])


def _mean(values: list) -> float | None:
    return round(float(np.mean(values)), 4) if values else None


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--confidence", type=float, default=0.95)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, help="also write every outcome")
    args = parser.parse_args()
    seeds = range(args.seed * 10**6, args.seed * 10**6 + args.simulations)
    with ProcessPoolExecutor(args.jobs) as pool:
        outcomes = list(pool.map(partial(simulate, confidence=args.confidence), seeds, chunksize=20))
    if args.json:
        args.json.write_text(json.dumps([asdict(o) for o in outcomes]))
    json.dump(summary(outcomes), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
