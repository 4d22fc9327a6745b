"""A rate of 0 in a file of settings beside logs that show another one, or a loss that falls."""

import json

import numpy as np
import pytest

from triage.agent.evidence import look
from triage.tools.findings import Severity

FALLS = [{"step": s, "loss": round(float(4 / (1 + s / 9)), 4)} for s in range(1, 41)]
NOISE = np.random.default_rng(3).normal(0, 0.05, 40)
STAYS = [{"step": s, "loss": round(4 + float(NOISE[s - 1]), 4)} for s in range(1, 41)]


def told(tmp_path, config, rows):
    (tmp_path / "exp.json").write_text(json.dumps(config))
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {f.code: f.severity for f in look([tmp_path]).findings}


@pytest.mark.parametrize("config", [{"learning_rate": 0.0, "batch_size": 8}, {"optimizer": {"lr": 0}, "epochs": 3}])
@pytest.mark.parametrize(
    ("rows", "severity"),
    [(FALLS, Severity.S3), ([{**r, "lr": 2e-4} for r in STAYS], Severity.S3), (STAYS, Severity.S1)],
)
def test_a_rate_of_zero_is_what_the_logs_say_of_it(tmp_path, config, rows, severity):
    assert told(tmp_path, config, rows)["rate-set-to-zero"] == severity


@pytest.mark.parametrize("scheduler", [{"start_lrs": [7e-4, 2e-6]}, {"name": "poly", "peak_lr": 0.001}])
def test_a_placeholder_that_a_schedule_fills_is_no_fault(tmp_path, scheduler):
    config = {"optimizer": {"lr": 0, "name": "adamw"}, "lr_scheduler": scheduler}
    assert not {"rate-set-to-zero", "lr-outside-range"} & told(tmp_path, config, STAYS).keys()


def test_what_a_schedule_ends_with_fills_nothing(tmp_path):
    config = {"optimizer": {"lr": 0}, "lr_scheduler": {"end_lr": 1e-6}, "batch_size": 8}
    assert told(tmp_path, config, STAYS)["rate-set-to-zero"] == Severity.S1


@pytest.mark.parametrize(
    "config", [{"max_grad_norm": 0, "learning_rate": 1e-4}, {"clip_grad_norm": 0.0, "batch_size": 8}]
)
@pytest.mark.parametrize(
    ("norm", "severity"),
    [
        (lambda s: 1.1 + 0.4 * np.sin(s), Severity.S3),
        (lambda s: 30 / s**0.3, Severity.S3),  # large, and it falls
        (lambda s: 1.1 + (40 if s == 20 else 0), Severity.S2),
        (lambda s: 0.5 + s / 10, Severity.S2),
        (lambda s: float("nan") if s > 35 else 1.0, Severity.S2),
    ],
)
def test_clipping_that_is_off_is_a_note_where_there_was_nothing_to_clip(tmp_path, config, norm, severity):
    rows = [{**r, "grad_norm": round(float(norm(r["step"])), 4)} for r in FALLS]
    assert told(tmp_path, config, rows)["grad-clip-off"] == severity
