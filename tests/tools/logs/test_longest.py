"""Out of memory at a batch far longer than the others, where the log says so just above the error."""

import pytest

from triage.tools.discover import discover
from triage.tools.logs.scan import scan

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.20 GiB. GPU 1 has a total capacity of 79.1 GiB\n"
TRACE = "Traceback (most recent call last):\n" + '  File "/w/model.py", line 9, in forward\n    x = x @ w\n' * 15


def told(tmp_path, above, end=OOM):
    steps = "".join(f"step {s} loss {2 - s / 100:.3f} grad_norm 0.7\n" for s in range(40))
    (tmp_path / "train.log").write_text(steps + above + end, encoding="utf-8")
    return {f.code: f for f in scan(discover(tmp_path)).findings}


def shapes(*lengths):
    return "".join(f"micro batch {i}: input_ids torch.Size([4, {n}])\n" for i, n in enumerate(lengths))


@pytest.mark.parametrize("above", [
    "[data] longest sequence: 22,016 (avg 1,480)\n",
    "batch 91 seq_len=16384, typically 1900\n" + TRACE,
    "第 91 步：最长样本长度=20480，平均 1530\n",
    shapes(1800, 2100, 1650, 1990, 2040, 24576),
    "[rank1]: padded to 30000 tokens, mean 2000\n[rank0]: saved\n",
], ids=["mean", "above-a-traceback", "chinese", "shapes-before", "of-its-rank"])  # fmt: skip
def test_the_long_batch_is_told_with_what_is_usual(tmp_path, above):
    end = f"[rank1]: {OOM}" if above.startswith("[rank1]") else OOM
    found = told(tmp_path, above, end)["oom-at-long-batch"]
    assert found.severity == "S0"
    assert found.data["length"] >= 16000
    assert found.data["usual"] <= 2100


@pytest.mark.parametrize("above", [
    "longest sequence: 2,900 (avg 1,480)\n", "max_seq_length: 32768\n" + TRACE,
    shapes(1800, 2100, 1650, 1990, 2040, 2300), "seq_len=400 (mean 60)\n", "mean loss 2.1, tokens 900000\n",
    shapes(1800, 24000), "[rank3]: max_len=30000 (mean 2000)\n",
    "batch length 30000 (mean 2000)\n" + "data worker ready\n" * 30,
], ids=["a-little-longer", "a-setting", "alike", "short", "a-count", "none-before", "other-rank", "far"])  # fmt: skip
def test_a_batch_like_the_others_is_silent(tmp_path, above):
    end = f"[rank0]: {OOM}" if above.startswith("[rank3]") else OOM
    assert "oom-at-long-batch" not in told(tmp_path, above, end)


def test_a_long_batch_that_passed_is_nothing(tmp_path):
    assert "oom-at-long-batch" not in told(tmp_path, "longest sequence: 22,016 (avg 1,480)\n", "step 41 loss 1.5\n")
