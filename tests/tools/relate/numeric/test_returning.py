"""A dynamic loss scale that comes back each time; and one that does not."""

import numpy as np
import pytest

from triage.agent.session import ask

STEPS = np.arange(10, 4001, 10)


def wave(period=40, low=14, high=16):
    """Exponents: up by one each `period` points, down by one as soon as `high` is reached."""
    values, now = [], low
    for i in range(len(STEPS)):
        now = now + 1 if i % period == period - 1 else now
        values.append(min(now, high))
        now = low + 1 if now >= high and i % period == period // 2 else now
    return 2.0 ** np.array(values)


def log(scale, form="step {s} loss {v:.4f} loss_scale {k:.0f}", falls=True):
    loss = 1.1 + 3 * np.exp(-STEPS / 900) if falls else np.full(len(STEPS), 3.2)
    loss = loss + np.random.default_rng(2).normal(0, 0.03, len(loss))
    return "".join(form.format(s=s, v=v, k=k) + "\n" for s, v, k in zip(STEPS, loss, scale, strict=True))


def asked(folder, text, question="overflow lines all night, is it about to crash? switch to fp32?"):
    folder.joinpath("run").mkdir()
    (folder / "run" / "train.log").write_text(text, encoding="utf-8")
    return ask(question, [folder / "run"]).diagnosis


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (log(wave()), "overflow lines all night, is it about to crash? switch to fp32?"),
        (log(wave(24, 10, 12), "第 {s} 步 损失 {v:.4f} loss_scale={k:.0f}"), "总在刷 OVERFLOW，是不是快崩了？"),
    ],
)
def test_a_scale_that_comes_back_is_no_collapse(tmp_path, text, question):
    found = asked(tmp_path, text, question)
    assert "scale-comes-back" in {f.code for f in found.findings}
    assert found.state == "healthy"


@pytest.mark.parametrize(
    "scale",
    [
        2.0 ** np.maximum(0, 16 - np.arange(len(STEPS)) // 20),  # falls to its floor
        np.full(len(STEPS), 65536.0),  # never moves
        wave() / 2.0 ** (np.arange(len(STEPS)) // 60),  # comes back, less each time
    ],
)
def test_a_scale_that_sinks_or_stands_is_not_called_sound(tmp_path, scale):
    assert "scale-comes-back" not in {f.code for f in asked(tmp_path, log(scale)).findings}
