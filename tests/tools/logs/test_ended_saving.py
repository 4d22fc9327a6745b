"""A process that dies while it writes a checkpoint, and deaths that have nothing to do with one."""

import pytest
from making import fill

from triage.tools.discover import discover
from triage.tools.logs.scan import scan

STEPS = "".join(f"step {i} | loss {3 - i / 50:.3f} | lr 2e-4\n" for i in range(1, 61))


def codes(folder, end):
    return {f.code for f in scan(discover(fill(folder, {"train.log": STEPS + end}))).findings}


@pytest.mark.parametrize(
    "end",
    [
        "Saving checkpoint to D:\\ck\\last.pt\n\nProcess finished with exit code -1073740791 (0xC0000409)\n",
        "正在保存检查点 out/step-60\nSegmentation fault (core dumped)\n",
        "writing model weights to /scratch/out/60\nrun.sh: line 7: 991 Killed                  python fit.py\n",
    ],
    ids=["Windows", "Chinese", "killed"],
)
def test_a_death_behind_the_beginning_of_a_save(tmp_path, end):
    assert "ended-while-saving" in codes(tmp_path, end)


@pytest.mark.parametrize(
    "end",
    [
        "Saving checkpoint to out/60.pt\nSaved it in 2.1 s\nSegmentation fault (core dumped)\n",
        "Saving checkpoint to out/60.pt\n\nProcess finished with exit code 0\n",
        "Saving checkpoint to out/60.pt\n\nProcess finished with exit code -1\n",
        "step 61 | loss 1.7 | lr 2e-4\nSegmentation fault (core dumped)\n",
    ],
    ids=["saved", "ended well", "stopped by hand", "in a step"],
)
def test_other_ends(tmp_path, end):
    assert "ended-while-saving" not in codes(tmp_path, end)
