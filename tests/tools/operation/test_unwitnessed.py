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


STEPS = np.arange(50, 8001, 50)
TAKES = np.where(STEPS > 5000, 2.9, 1.6) + 0.02 * (np.arange(len(STEPS)) * 3 % 5 - 2)


def timed(seconds, form="step {s} | loss {v:.3f} | {t:.2f} s/it"):
    loss = 2.0 + 3 * np.exp(-STEPS / 2000)
    rows = zip(STEPS, loss, seconds, strict=True)
    return "".join(form.format(s=s, v=v, t=t, k=65536 / t, w=0.1 + 0.4 * (t > 2)) + "\n" for s, v, t in rows)


@pytest.mark.parametrize(
    "form",
    [
        "step {s} | loss {v:.3f} | {t:.2f} s/it",
        "iter {s}: loss={v:.3f} tokens_per_sec={k:.0f}",
        "第 {s} 步 loss {v:.3f} 每步耗时 {t:.2f} 秒",
    ],
)
def test_a_slower_training_of_which_only_the_step_was_timed_is_not_told(tmp_path, form):
    found = asked(tmp_path, timed(TAKES, form), "training got slower since the weekend, is it the network?")
    (one,) = [f for f in found.findings if f.code == "slowdown-unwitnessed"]
    assert (one.data["from"], one.data["to"]) == (5000, 5050)
    assert (found.state, found.top.entry.id) == ("inconclusive", "insufficient-logging")


@pytest.mark.parametrize(
    "text",
    [
        timed(np.full(len(STEPS), 1.6) + 0.05 * (np.arange(len(STEPS)) * 7 % 3)),
        timed(np.where((STEPS > 3000) & (STEPS < 4000), 2.9, TAKES.min())),  # it came back
        timed(TAKES, "step {s} | loss {v:.3f} | {t:.2f} s/it | data_time {w:.2f}"),
        timed(1.6 + STEPS / 8000),  # a drift
    ],
)
def test_a_steady_speed_or_one_whose_parts_were_timed_is_no_riddle(tmp_path, text):
    assert "slowdown-unwitnessed" not in {f.code for f in asked(tmp_path, text, "is it slow?").findings}


RAMPED = "step {s} | loss {v:.3f} | step_time {t:.2f} | tokens/s {r:.0f} | batch_size {b}"


@pytest.mark.parametrize(("form", "grown", "found"), [
    (RAMPED, 1.0, {"steps-do-more"}),
    ("迭代 {s} 损失 {v:.3f} 每步耗时 {t:.2f} tokens_per_sec {r:.0f}", 1.04, {"steps-do-more"}),
    (RAMPED, 1.6 / 2.9, {"slowdown-unwitnessed", "onset"}),  # as much in more time
    (RAMPED, 0.8, {"slowdown-unwitnessed", "onset"}),
])  # fmt: skip
def test_a_step_that_does_more_is_not_slower(tmp_path, form, grown, found):
    later = STEPS > 5000
    rows = zip(STEPS, 2.0 + 3 * np.exp(-STEPS / 2000), TAKES, np.where(later, 81920 * grown, 81920), strict=True)
    text = "".join(
        form.format(s=s, v=v, t=t, r=r + 90 * (s % 3), b=512 if s > 5000 else 282) + "\n" for s, v, t, r in rows
    )
    told = {f.code for f in asked(tmp_path, text, "steps take longer, is a node dying?").findings}
    assert found <= told
    assert not ({"slowdown-unwitnessed", "steps-do-more"} - found) & told
    assert ("onset" in told and "steps-do-more" in told) is False
