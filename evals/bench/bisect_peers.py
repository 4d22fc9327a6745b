"""`triage bisect` beside git-bayesect, the nearest public tool, on the same simulated rows of checkpoints.

    pip install git-bayesect
    python -m triage.evals.bench.bisect_peers [--simulations 300] [--seed 0]

git-bayesect bisects pass/fail verdicts with unknown flake rates. To judge a number it needs a threshold, and is told
the best one, the middle of the true levels, at no cost. Only rows with one step and noise are used.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from ...tools.checkpoints.bisect.search import bisect_values
from ..bisect_calibration import BUDGET, Row, draw_row


def bayesect(measure: Callable[[int], float], row: Row, confidence: float) -> tuple[int, int]:
    """Evaluations and first bad index of git-bayesect's own loop (`cli_run`), without its repository."""
    import git_bayesect  # pyright: ignore[reportMissingImports]  # only this comparison needs it

    k, n = row.first_bad[0], row.count
    threshold = (row.levels[k - 1] + row.levels[k]) / 2
    falls = row.levels[k] < row.levels[k - 1]
    weights = np.ones(n)
    weights[-1] = 0.0  # the good end is known to be good
    tool = git_bayesect.Bisector(weights)
    for used in range(1, BUDGET + 1):
        index = tool.select()
        value = measure(n - 1 - index)
        tool.record(index, bool(value < threshold if falls else value > threshold))
        if tool.distribution.max() >= confidence:
            return used, n - 1 - int(tool.distribution.argmax())
    return BUDGET, n - 1 - int(tool.distribution.argmax())


def compare(seed: int) -> tuple[float, int, bool, bool, int, bool] | None:
    """(step over noise, our evaluations, settled, right, their evaluations, right), or None for another kind of row."""
    rng = np.random.default_rng(seed)
    row = draw_row(rng)
    if not row.kind.startswith("step") or not row.noise:
        return None

    def measure(i: int) -> float:
        return float(row.levels[i] + row.noise * rng.normal())

    end = bisect_values(measure, row.count, 0.95, BUDGET)
    ours = end.verdict == "step" and end.best == row.first_bad[0]
    used, found = bayesect(measure, row, 0.95)
    return row.ratio, len(end.seen), end.settled(0.95), ours, used, found == row.first_bad[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--simulations", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    seeds = range(args.seed * 10**6, args.seed * 10**6 + args.simulations)
    with ProcessPoolExecutor(2) as pool:
        rows = np.array([r for r in pool.map(compare, seeds, chunksize=10) if r], float)
    out = {}
    for low, high in ((0.75, 12), (0.75, 1.5), (1.5, 3), (3, 6), (6, 12)):
        part = rows[(rows[:, 0] >= low) & (rows[:, 0] < high)]
        if not len(part):
            continue
        settled = part[part[:, 2] > 0]
        out[f"step of {low:g} to {high:g} noise widths"] = {
            "rows": len(part), "ours": round(part[:, 1].mean(), 1), "ours, right of claims": _mean(settled[:, 3]),
            "git-bayesect": round(part[:, 4].mean(), 1), "git-bayesect right": _mean(part[:, 5]),
            "ours over git-bayesect": round(part[:, 1].sum() / part[:, 4].sum(), 3),
        }  # fmt: skip
    json.dump(out, sys.stdout, indent=1)
    print()


def _mean(values: np.ndarray) -> float:
    return round(float(values.mean()), 3) if len(values) else math.nan


if __name__ == "__main__":
    main()
