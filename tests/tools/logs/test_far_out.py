"""Returns of which single ones lie far below all others, and rough ones that belong together."""

import numpy as np
import pytest

RNG = np.random.default_rng(8)
GOOD = np.linspace(-300, 200, 400) + RNG.normal(0, 60, 400)


def with_far(values, at, depth):
    out = np.array(values)
    out[list(at)] = depth
    return out


def told(tmp_path, values, form):
    head = "episode,return,epsilon\n" if form == "csv" else ""
    row = "{i},{v:.2f},{e:.3f}\n" if form == "csv" else "Episode {i} finished, reward: {v:.2f}, epsilon: {e:.3f}\n"
    name = "returns.csv" if form == "csv" else "train.log"
    text = "".join(row.format(i=i, v=v, e=max(0.05, 0.99**i)) for i, v in enumerate(values, 1))
    (tmp_path / name).write_text(head + text)
    from triage.agent.evidence import look

    return {f.code for f in look([tmp_path]).findings} & {"returns-far-outside", "run-healthy"}


@pytest.mark.parametrize("form", ["csv", "log"])
@pytest.mark.parametrize("depth", [-90_000.0, -40_000.0])
def test_returns_that_nothing_bounds_are_told(tmp_path, form, depth):
    assert told(tmp_path, with_far(GOOD, (3, 40, 77, 150, 201, 330, 371), depth), form) == {"returns-far-outside"}


@pytest.mark.parametrize(
    "values",
    [GOOD, with_far(GOOD, (3, 9, 17, 20, 31, 40), -90_000.0), with_far(GOOD, (200, 390), -9_000.0),
     np.where(RNG.random(400) < np.linspace(0.0, 0.2, 400), 1.0, 0.0), -np.geomspace(2000, 1, 400)],
    ids=["rough", "only at the start", "two", "rare and sparse", "from deep down"],
)  # fmt: skip
def test_returns_that_belong_together_are_not_alarmed(tmp_path, values):
    assert "returns-far-outside" not in told(tmp_path, values, "csv")
