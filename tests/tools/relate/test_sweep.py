"""Learning rates that were tried side by side."""

import numpy as np
import pytest

from triage.tools.relate.trials.sweep import sweeps
from triage.tools.settings import Setting, Settings
from triage.tools.tables.read import read_tables

ENDS = {"8e-4": 3.4, "4e-4": 3.1, "2e-4": 3.0, "1e-4": 3.2}
STEPS = np.arange(10, 401, 10)


def own(rate):
    return Settings({"learning_rate": Setting("learning_rate", rate, f"{rate:g}", "lr", "c.yaml", 1)})


def courses(seed=0, ends=ENDS):
    rng = np.random.default_rng(seed)
    return {rate: end + 4 * np.exp(-STEPS / 60) + rng.normal(0, 0.01, len(STEPS)) for rate, end in ends.items()}


def wide(name, ends=ENDS):
    rows = zip(*courses(ends=ends).values(), strict=True)
    head = ",".join(["step", *(name.format(rate) for rate in ends)])
    return "\n".join([head, *(",".join([str(s), *(f"{v:.4f}" for v in row)])
                              for s, row in zip(STEPS, rows, strict=True))]) + "\n"  # fmt: skip


def long(last=None):
    rows = [f"{rate},{s},{v:.4f}" for rate, some in courses().items() for s, v in zip(STEPS, some, strict=True)
            if last is None or s <= last[rate]]  # fmt: skip
    return "\n".join(["learning_rate,step,loss", *rows]) + "\n"


def told(tmp_path, text, rate):
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    return [f.data["best"] for f in sweeps(list(read_tables(tmp_path / "t.csv", "t.csv")), own(rate))]


@pytest.mark.parametrize("text", [wide("lr_{}"), wide("loss_lr{}"), wide("学习率{}"), long()])
def test_the_own_rate_ends_above_another_that_was_tried(tmp_path, text):
    assert told(tmp_path, text, 8e-4) == [2e-4]


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        (wide("lr_{}"), 2e-4),  # it is the best
        (wide("lr_{}"), 3e-3),  # it was not tried
        (wide("lr_{}", dict.fromkeys(ENDS, 3.0)), 8e-4),
        (wide("lr_{}", {"8e-4": 3.4, "2e-4": 3.0}), 8e-4),  # two are no sweep
        (long({"8e-4": 100, "4e-4": 200, "2e-4": 300, "1e-4": 400}), 8e-4),  # a rate that decays in one run
    ],
)
def test_the_best_rate_and_a_rate_that_decays_say_nothing(tmp_path, text, rate):
    assert told(tmp_path, text, rate) == []
