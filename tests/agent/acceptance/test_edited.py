"""Programs that differ between two runs are a change; how they are written and what they print is none."""

import pytest

from triage.agent.acceptance.sides.changed import changed
from triage.agent.evidence import look

TRAIN = '''import torch
# a small loop
GAMMA = 0.99

def update(policy, batch, eps=0.2):
    """One step."""
    new = policy.logprobs(batch.ids)
    ratio = (new - batch.old).exp()
    loss = -(torch.min(ratio * batch.adv, ratio.clamp(1 - eps, 1 + eps) * batch.adv)).mean()
    print("loss", loss)
    loss.backward()
'''


def laid(folder, program, name="step.py", settings=""):
    folder.mkdir()
    (folder / name).write_text(program)
    if settings:
        (folder / "train.yaml").write_text(settings)
    (folder / "train.log").write_text("".join(f"step: {i} loss: {3 - i / 90:.4f}\n" for i in range(1, 90)))
    return look([folder])


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("batch.adv)).mean()", "batch.adv)).sum() / batch.mask.sum()", 9),
        ("    loss.backward()\n", "    loss.backward()\n    policy.optimizer.step()\n", 12),
        ("    ratio = (new - batch.old).exp()\n", "    ratio = 1.0\n", 8),
    ],
)
def test_what_does_something_else_is_one_change(tmp_path, old, new, line):
    sides = [laid(tmp_path / n, text) for n, text in (("was", TRAIN), ("now", TRAIN.replace(old, new)))]
    (found,) = changed(*sides)
    assert (found.variable, found.where) == ("code", f"step.py:{line}")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# a small loop\n", "# a smaller loop, by someone else\n\n\n"),
        ('"""One step."""', '"""One step of the policy."""'),
        ('print("loss", loss)', 'print("loss of the policy", float(loss))'),
        ("exp()\n    loss = -(", "exp()\n    loss = -( "),
    ],
)
def test_layout_remarks_and_prints_are_no_change(tmp_path, old, new):
    sides = [laid(tmp_path / n, text) for n, text in (("was", TRAIN), ("now", TRAIN.replace(old, new)))]
    assert changed(*sides) == ()


def test_edits_together_are_one_change_and_stand_beside_a_setting(tmp_path):
    twice = TRAIN.replace("eps=0.2", "eps=0.3").replace(".mean()", ".sum()")
    before = laid(tmp_path / "was", TRAIN, settings="learning_rate: 1.0e-4\n")
    (found,) = changed(before, laid(tmp_path / "now", twice, settings="learning_rate: 1.0e-4\n"))
    assert found.note == "2 places in 1 program"
    both = changed(before, laid(tmp_path / "both", twice, settings="learning_rate: 5.0e-5\n"))
    assert [d.variable for d in both] == ["learning_rate", "code"]


@pytest.mark.parametrize(
    ("constant", "changes"), [("LEARNING_RATE = {}", 1), ("RATE = {}", 1), ("GAMMA = {}", 2), ("lr = schedule({})", 2)]
)
def test_a_constant_of_the_name_of_a_setting_that_differs_is_no_second_change(tmp_path, constant, changes):
    sides = [
        laid(tmp_path / n, TRAIN.replace("GAMMA = 0.99", constant.format(rate)), settings=f"learning_rate: {rate}\n")
        for n, rate in (("was", "3.0e-4"), ("now", "1.0e-4"))
    ]
    assert len(changed(*sides)) == changes
