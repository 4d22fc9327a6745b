"""The one change where the trouble began is taken back; what a card cannot do is not proposed."""

import numpy as np
import pytest

from triage.agent.change.allowed import possible
from triage.agent.change.reverts import to_take_back
from triage.agent.evidence import look
from triage.agent.ranking import rank
from triage.knowledge.entry import Fix
from triage.knowledge.runbook import load
from triage.tools.discover import discover
from triage.tools.documents.cards import without_bf16

DIFF = """\
--- a/nn/mixer.py
+++ b/nn/mixer.py
@@ -10,4 +10,4 @@ def mix(x, w):
     y = x @ w
-    return y * w.shape[0] ** -0.5
+    return y * w.shape[0] ** -1.5
"""


def run(folder, notes, **files):
    """A run whose speed falls at step 400, with its notes."""
    rng = np.random.default_rng(1)
    speed = np.where(np.arange(1, 601) < 400, 41e4, 20e4) * rng.normal(1, 0.01, 600)
    rows = [f"{i},{v:.0f},{3 - i / 900:.4f}" for i, v in enumerate(speed, 1)]
    (folder / "metrics.csv").write_text("step,tokens_per_second,loss\n" + "\n".join(rows) + "\n")
    (folder / "changes.md").write_text(notes)
    for name, text in files.items():
        (folder / name.replace("_dot_", ".")).write_text(text)
    seen = look([folder])
    top = next(h for h in rank(load(), seen.findings, {}) if h.for_)
    return to_take_back(top, seen.findings)


def test_a_patch_that_a_note_says_was_merged_there_is_taken_back(tmp_path):
    notes = "# Changes\n- step 0: start\n- step 400: restarted from 400, merged mixer.patch, lr and data untouched\n"
    change = run(tmp_path, notes, mixer_dot_patch=DIFF)
    assert (change.first["what"], change.first["file"], change.first["step"]) == ("code", "mixer.patch", 400)
    assert "y * w.shape[0] ** -1.5 -> return y * w.shape[0] ** -0.5" in change.do("en")
    assert "mixer.patch" in change.do("zh")


def test_a_setting_that_was_changed_there_goes_back_to_its_old_value(tmp_path):
    change = run(tmp_path, "- step 400: changed micro_batch_size from 8 to 2\n")
    assert (change.setting, change.first["old"]) == ("micro_batch_size", "8")


@pytest.mark.parametrize("notes", [
    "- step 100: changed micro_batch_size from 8 to 2\n",
    "- step 400: changed micro_batch_size from 8 to 2\n- step 401: changed grad_accumulation from 4 to 16\n",
    "- step 400: changed save_steps from 100 to 500\n",
    "- step 400: thinking about micro_batch_size from 8 to 2\n",
    "- step 400: nothing new\n",
])  # fmt: skip
def test_a_change_elsewhere_two_at_once_and_idle_ones_are_left(tmp_path, notes):
    assert run(tmp_path, notes) is None


def to_bf16(new="bf16"):
    t = {"en": "x", "zh": "x"}
    return Fix.model_validate({"variable": "precision", "change": {"set": new}, "why": t, "expect": t})


@pytest.mark.parametrize(("text", "can"), [
    ("GPU 0: Tesla V100-SXM2-32GB (UUID: GPU-1)\n", False),
    ("2x NVIDIA GeForce RTX 2080 Ti\n", False),
    ("GPU 0: Tesla V100-SXM2-32GB, loss 3.5090\n", False),
    ("GPU 0: NVIDIA A100-SXM4-80GB\n", True),
    ("the old V100 box is gone, this is H100\n", True),
    ("no card named\n", True),
])  # fmt: skip
def test_cards_without_bf16_forbid_it(tmp_path, text, can):
    (tmp_path / "train.log").write_text(f"INFO starting\n{text}step 1 loss 3.0\nstep 2 loss 2.9\n")
    seen = discover(tmp_path)
    assert possible(to_bf16(), seen) is can
    assert possible(to_bf16("fp32"), seen)
    assert (without_bf16(seen) is None) is can
