"""A jump of the only number of a log; and numbers beside it, or none to explain."""

import numpy as np
import pytest
from making import fill

from triage.agent.session import ask

AT = np.arange(200, 24001, 200)
FALLS = 2.1 + 4.5 * np.exp(-AT / 1500) + 0.01 * (np.arange(len(AT)) * 7 % 5 - 2)
JUMPS = np.where(AT > 16000, FALLS + 4.2, FALLS)
BACK = np.where((AT > 16000) & (AT < 16900), FALLS + 4.2, FALLS)


def log(values, form="it {s}: {v:.3f}"):
    return "".join(form.format(s=s, v=v) + "\n" for s, v in zip(AT, values, strict=True)) + "^C\n"


def asked(folder, text, question="the loss went up on saturday, what is the root cause?"):
    return ask(question, [fill(folder, {"screen.txt": text})]).diagnosis


@pytest.mark.parametrize("form", ["it {s}: {v:.3f}", "step {s}  {v:.4f}", "迭代 {s}: {v:.3f}"])
def test_what_nobody_wrote_down_cannot_be_told(tmp_path, form):
    found = asked(tmp_path, log(JUMPS, form))
    (one,) = [f for f in found.findings if f.code == "jump-unwitnessed"]
    assert (one.data["from"], one.data["to"]) == (16000, 16200)
    assert (found.state, found.top.entry.id) == ("inconclusive", "insufficient-logging")


@pytest.mark.parametrize(
    "text",
    [
        log(FALLS),
        log(BACK),  # it came back
        log(JUMPS, "step {s} loss {v:.3f} lr 2e-4 grad_norm 0.4"),  # witnesses
        log(FALLS[::-1]),  # climbs slowly
    ],
)
def test_what_came_back_or_has_witnesses_is_no_riddle(tmp_path, text):
    assert "jump-unwitnessed" not in {f.code for f in asked(tmp_path, text).findings}
