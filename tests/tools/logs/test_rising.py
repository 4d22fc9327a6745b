"""A loss that climbs before it is lost, and one that is lost at once."""

import re
from pathlib import Path

import numpy as np
import pytest

from triage.agent.evidence import look
from triage.tools.discover import discover
from triage.tools.logs.scan import scan


def found(tmp_path, values):
    (tmp_path / "train.log").write_text("".join(f"step {i} | loss: {v} | lr: 0.001\n" for i, v in enumerate(values, 1)))
    return {f.code for f in scan(discover(tmp_path)).findings}


LOST = ["nan"] * 20


@pytest.mark.parametrize("before", [
    [5.47, 7.25, 8.04, 8.47, 8.18, 9.55, 9.52, 8.99],
    [*np.linspace(6, 2, 40).round(3), *np.geomspace(2.0, 40, 10).round(3)],
], ids=["from the start", "after it had learned"])  # fmt: skip
def test_a_loss_that_climbs_before_it_is_lost_is_told(tmp_path, before):
    assert "loss-climb-before-nan" in found(tmp_path, before + LOST)


@pytest.mark.parametrize("values", [
    [*np.linspace(6, 2, 40).round(3), *LOST],
    [*([2.0, 2.1, 1.9, 2.05] * 8), *LOST],
    [2.0, 3.0, 4.0, *LOST],
    [*np.linspace(2, 3, 10).round(3), "nan", *np.linspace(3, 2, 30).round(3)],
    [*np.linspace(2, 4, 20).round(3)],
    LOST,
], ids=["learning", "flat", "too few", "survived", "never lost", "lost from the start"])  # fmt: skip
def test_a_loss_that_is_lost_at_once_or_never_is_not_told_of(tmp_path, values):
    assert "loss-climb-before-nan" not in found(tmp_path, values)


@pytest.mark.parametrize(
    ("line", "far"),
    [
        ("| epoch   1 | {n:5d}/ 2983 batches | lr {rate:.4f} | ms/batch 11.43 | loss {loss} | ppl nan", True),
        ("第 {n} 步 学习率: {rate} 损失: {loss}", True),
        ("step {n} lr: {rate}e-5 loss: {loss}", False),
    ],
)
def test_a_loss_that_is_lost_at_a_rate_of_another_order(tmp_path, line, far):
    said = [line.format(n=200 * (i + 1), rate=20.0, loss="nan") for i in range(12)]
    (tmp_path / "train.log").write_text("\n".join(said) + "\n")
    found = {f.code for f in scan(discover(tmp_path)).findings}
    assert "loss-nonfinite" in found
    assert ("rate-far-above-usual" in found) == far


def test_a_large_rate_that_trains_is_none(tmp_path):
    said = [f"| epoch 1 | {200 * (i + 1)}/ 2983 batches | lr 20.00 | loss {7 - i / 4:.2f}" for i in range(12)]
    (tmp_path / "train.log").write_text("\n".join(said) + "\n")
    assert "rate-far-above-usual" not in {f.code for f in scan(discover(tmp_path)).findings}


def climbing(folder: Path, begin: int, warm: int, slope: float) -> dict[str, str]:
    """Loss falls, and climbs bit by bit from a step on; the rate is level after its warm-up. Code -> message."""
    noise = np.random.default_rng(3).normal(0, 0.03, 300)
    steps = np.arange(300) * 10
    loss = 1.3 + 1.3 * np.exp(-steps / 200) + np.maximum(0, steps - begin) * slope + noise
    rate = 3e-4 * np.minimum(1.0, (steps + 10) / warm)
    lines = [f"step {s} loss {x:.4f} lr {r:.2e}" for s, x, r in zip(steps, loss, rate, strict=True)]
    (folder / "train.log").write_text("\n".join(lines) + "\n")
    return {f.code: f.message for f in look([folder]).findings}


def test_what_climbs_bit_by_bit_jumps_at_no_step(tmp_path):
    found = climbing(tmp_path, 1800, 10, 0.002)
    assert "loss-spike" not in found
    assert "climbs bit by bit" in found["loss-divergence"]
    at = int(re.search(r"at step (\d+)", found["loss-divergence"])[1])
    assert 1750 <= at <= 1900
    assert "rate-long-steady" in found


def test_what_gets_worse_soon_after_the_warm_up_is_not_long_after_it(tmp_path):
    assert "rate-long-steady" not in climbing(tmp_path, 700, 500, 0.002)
    assert "rate-long-steady" not in climbing(tmp_path, 9000, 10, 0.0)
