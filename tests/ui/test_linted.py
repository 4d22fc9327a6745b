"""`triage lint` of a folder finds what the arithmetic of an answer finds in its settings and the length of its log."""

import json

import pytest

from triage.agent.evidence import look
from triage.ui.commands.lint import judge

CODE = "warmup-exceeds-training"
CONFIG = "per_device_train_batch_size: 4\nnum_train_epochs: {epochs}\nwarmup_steps: {warmup}\nlearning_rate: 3.0e-5\n"


def rows(last, epochs, of="jsonl"):
    lines = []
    for step in range(5, last + 1, 5):
        epoch, loss, rate = epochs * step / last, 2.0 - step / (4 * last), 3e-5 * step / (10 * last)
        known = {"current_steps": step, "loss": round(loss, 4), "lr": rate, "epoch": round(epoch, 4)}
        lines.append(
            json.dumps(known)
            if of == "jsonl"
            else f"Epoch {int(epoch - 1e-9) + 1}/{epochs} step {step} loss {loss:.4f}"
        )
    return "\n".join(lines) + "\n"


def folder(tmp_path, name, warmup, log, text):
    (tmp_path / name).write_text(CONFIG.format(epochs=2, warmup=warmup))
    (tmp_path / log).write_text(text)
    return tmp_path


@pytest.mark.parametrize(("log", "of"), [("trainer_log.jsonl", "jsonl"), ("out.log", "text")])
def test_a_warm_up_that_is_longer_than_its_epochs(tmp_path, log, of):
    run = folder(tmp_path, "sft.yaml", 700, log, rows(400, 2, of))
    [found] = [f for f in judge([run], True).findings if f.code == CODE]
    assert (found.evidence[0].file, found.evidence[0].line) == ("sft.yaml", 3)
    assert 400 <= found.data["steps"] <= 410
    assert CODE in {f.code for f in look([run]).findings}


@pytest.mark.parametrize(("warmup", "last"), [(40, 400), (700, 12000)], ids=["short", "long training"])
def test_silent_on_a_warm_up_that_ends(tmp_path, warmup, last):
    run = folder(tmp_path, "sft.yaml", warmup, "trainer_log.jsonl", rows(last, 2))
    assert CODE not in {f.code for f in judge([run], True).findings}


def test_silent_without_a_log_and_on_several_trainings(tmp_path):
    (tmp_path / "sft.yaml").write_text(CONFIG.format(epochs=2, warmup=700))
    assert CODE not in {f.code for f in judge([tmp_path], True).findings}
    for name, last in (("one", 400), ("two", 9000)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "trainer_log.jsonl").write_text(rows(last, 2))
    assert CODE not in {f.code for f in judge([tmp_path], True).findings}
