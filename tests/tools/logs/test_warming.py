"""Warm-ups that are as long as the run, by the steps that its log counts."""

import pytest

from triage.agent.evidence import look

SCRIPT = """import torch
from transformers import get_linear_schedule_with_warmup
EPOCHS = {epochs}
WARM = {warm}
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
scheduler = get_linear_schedule_with_warmup(optimizer, num_warmup_steps=WARM, num_training_steps=total)
for epoch in range(EPOCHS):
    for batch in loader:
        model(**batch).loss.backward()
        optimizer.step()
        scheduler.step()
"""


def spoken(epochs, each, begin="Epoch {k}/{n}", step="eval at step {s}", anew=False):
    rows, s = [], 0
    for k in range(1, epochs + 1):
        rows.append("2026-02-03 10:00:00 INFO " + begin.format(k=k, n=epochs))
        s = 0 if anew else s
        for _ in range(each):
            s += 1
            rows += ["2026-02-03 10:00:01 INFO " + step.format(s=s), f"validation loss: {5 - 0.001 * s:.4f}"]
    return "\n".join(rows) + "\n"


def told(folder, log, **script):
    (folder / "tune.py").write_text(SCRIPT.format(**script))
    (folder / "tune.log").write_text(log)
    return [f for f in look([folder]).findings if f.code == "warmup-exceeds-training"]


@pytest.mark.parametrize(
    ("log", "epochs", "total"),
    [
        (spoken(6, 2), 6, 12),
        (spoken(5, 3, "starting epoch {k} of {n}", "global_step={s} lr warming"), 5, 15),
        (spoken(4, 4, "轮次 {k}/{n}", "步数: {s}"), 4, 16),
        (spoken(6, 2) + spoken(6, 2), 6, 12),
    ],
)
def test_a_warm_up_longer_than_what_the_log_counts_is_told(tmp_path, log, epochs, total):
    (found,) = told(tmp_path, log, epochs=epochs, warm=100)
    assert total <= found.data["steps"] < 1.2 * total  # at most, for a log may count from 0
    assert {e.file for e in found.evidence} == {"tune.py", "tune.log"}


def test_a_warm_up_within_the_run_another_launch_and_counts_that_begin_anew_are_not(tmp_path):
    assert not told(tmp_path, spoken(6, 40), epochs=6, warm=100)
    assert not told(tmp_path, spoken(6, 2), epochs=60, warm=100)  # another launch
    assert not told(tmp_path, spoken(6, 30, anew=True), epochs=6, warm=100)
    assert not told(tmp_path, spoken(1, 4), epochs=1, warm=100)  # cut in its first epoch
