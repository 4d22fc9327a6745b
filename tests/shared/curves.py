"""Tables of a tracker as the points of their metrics, to be compared with the run that `writers` wrote."""

import numpy as np
import writers

FILES = ["events.out.tfevents.1.host.1.0", "run-recorded.wandb", "mlflow.db", "trackio.db", "run-recorded.swanlab"]
"""What is in `tests/data/trackers`."""
METRICS = ("loss", "learning_rate", "grad_norm", "eval_loss")


def series(tables) -> dict[str, list[tuple[float, float]]]:
    """Canonical metric -> (step, value) of each point."""
    return {
        c.of: list(zip(step.values.tolist(), c.values.tolist(), strict=True))
        for t in tables
        if (step := t.get("step"))
        for c in t.of("measure")
    }


def written(state: str) -> dict[str, list[tuple[float, float]]]:
    """What the run logged."""
    names = dict(zip(("train/loss", "train/learning_rate", "train/grad_norm", "eval/loss"), METRICS, strict=True))
    out = {of: [] for of in METRICS}
    for step, row in writers.rows(state):
        for key, value in row.items():
            out[names[key]].append((step, value))
    return out


def same(found, state: str) -> None:
    """Every point of the run, to 1e-6."""
    for metric, points in written(state).items():
        np.testing.assert_allclose(found[metric], points, rtol=1e-6, atol=1e-7, equal_nan=True)
