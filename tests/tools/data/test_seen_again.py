"""Passes of a reinforcement learning over its prompts, by the epochs of its log."""

import pytest
from making import fill

from triage.agent.evidence import look
from triage.agent.session import ask

STEPS = 60


def log(passes, line):
    """A reward that is earned, a held-out score that is lost, and epochs up to so many."""
    rows = []
    for i in range(STEPS):
        held = 0.41 - 0.22 * max(0.0, i - 12) / STEPS + 0.004 * (i % 3)
        reward = 0.2 + 0.7 * i / STEPS + 0.01 * (i % 4)
        rows.append(line.format(i=10 * i, e=passes * (i + 1) / STEPS, r=reward, h=held))
    return "\n".join(rows) + "\n"


PLAIN = "step {i} | epoch {e:.1f} | train_reward {r:.4f} | kl 0.01\nstep {i} | heldout_pass1 {h:.4f}"
KEYED = "step: {i} epoch={e:.2f} reward/mean: {r:.4f} entropy: 0.5\nstep: {i} test_acc: {h:.4f}"


@pytest.mark.parametrize("line", [PLAIN, KEYED])
@pytest.mark.parametrize(("passes", "found"), [(90, True), (3, False)])
def test_prompts_that_are_seen_dozens_of_times(tmp_path, line, passes, found):
    codes = {f.code for f in look([fill(tmp_path, {"rl.log": log(passes, line)})]).findings}
    assert ("prompts-seen-often" in codes) is found
    assert "share-falls-from-peak" in codes


@pytest.mark.parametrize("line", [
    "step {i} | epoch {e:.1f} | loss {r:.4f}",  # no reward: a fine-tuning, or a classifier
    "step {i} | epoch 40/50 | reward {r:.4f}",  # of how many, and not how often
])  # fmt: skip
def test_epochs_without_a_reward_say_nothing(tmp_path, line):
    codes = {f.code for f in look([fill(tmp_path, {"rl.log": log(90, line)})]).findings}
    assert "prompts-seen-often" not in codes


@pytest.mark.parametrize(("passes", "entry"), [(90, "rlvr-memorization"), (2, "reward-hacking")])
def test_what_falls_while_the_reward_rises_is_learned_by_heart_or_cheated(tmp_path, passes, entry):
    top = ask("held-out gets worse", [fill(tmp_path, {"rl.log": log(passes, PLAIN)})]).diagnosis.top
    assert top.entry.id == entry
