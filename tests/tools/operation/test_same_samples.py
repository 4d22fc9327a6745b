"""Ranks whose logs name the same samples, or their own losses to all digits."""

import numpy as np
import pytest

from triage.tools.discover import discover
from triage.tools.operation.same_samples import check_same_samples
from triage.tools.settings import Setting, Settings

IDS = np.random.default_rng(5).permutation(90_000)[:240]


def found(folder, **values):
    settings = Settings({v: Setting(v, n, str(n), v, "c.yaml", 1) for v, n in values.items()})
    return [f.data["key"] for f in check_same_samples(discover(folder), settings).findings]


def write(folder, line, ranks=4, apart=False, first=""):
    """A log for each rank; `apart` gives every rank samples of its own."""
    for r in range(ranks):
        own = IDS[r * 50 :] if apart else IDS
        rows = [line.format(r=r, i=i, id=own[i], loss=2 + own[i] / 90_000) for i in range(50)]
        (folder / f"worker_{r}.log").write_text(first + "\n".join(rows) + "\n", encoding="utf-8")
    return folder


LINES = [
    "[rank {r}] step={i} local_loss={loss:.6f} speed=3.2",
    "INFO rank={r} step {i} sample_idx: {id} loss 2.1",
    "第 {i} 步 rank {r} 样本编号：{id} 用时 0.3s",
    "step: {i} | own_loss: {loss:.5f} | doc_ids: [{id}, 7, 8]",
]


@pytest.mark.parametrize("line", LINES)
def test_ranks_that_name_the_same_samples_are_told(tmp_path, line):
    assert len(found(write(tmp_path, line))) == 1


@pytest.mark.parametrize("line", LINES)
def test_ranks_with_samples_of_their_own_are_not(tmp_path, line):
    assert found(write(tmp_path, line, apart=True)) == []


@pytest.mark.parametrize(
    ("line", "values", "first"),
    [
        ("[rank {r}] step={i} loss={loss:.6f} speed=3.2", {}, ""),
        ("[rank {r}] step={i} sample_idx={i} loss=2.1", {}, ""),
        ("[rank {r}] step={i} local_loss={loss:.2f}", {}, ""),
        (LINES[1], {"tensor_parallel": 4}, ""),
        (LINES[1], {"tensor_parallel": 2, "pipeline_parallel": 2}, ""),
        (LINES[1], {}, "  tensor_model_parallel_size ........ 4\n"),
    ],
    ids=["averaged", "a counter", "few digits", "one model", "one model in two ways", "one model as printed"],
)
def test_what_is_the_same_by_design_is_not(tmp_path, line, values, first):
    assert found(write(tmp_path, line, first=first), **values) == []


def test_of_replicas_of_a_split_model_those_that_are_too_many_alike_are_told(tmp_path):
    assert found(write(tmp_path, LINES[1], ranks=8), tensor_parallel=2) == ["sample_idx"]


def test_one_rank_alone_says_nothing(tmp_path):
    assert found(write(tmp_path, LINES[0], ranks=1)) == []
