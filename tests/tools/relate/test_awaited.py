"""One member whose work takes longer while the others wait for it."""

import numpy as np
import pytest

from triage.tools.relate.layout.awaited import awaited
from triage.tools.relate.line import lines_of
from triage.tools.relate.moves import moves
from triage.tools.series import SeriesTable
from triage.tools.tables.read import read_tables


def told(tmp_path, names, slow=("c",), more=3.0, wait=3.0, own=0.0, clock=None, late=0, members="abcdef"):
    """A table of six members: from row 40 on the slow ones work `more` longer, and the others wait `wait` longer."""
    rng, rows = np.random.default_rng(3), []
    for step in range(80):
        after = step >= 40
        for m in members:
            work = 5.0 + more * (after and m in slow) + rng.normal(0, 0.03)
            waits = 0.6 + (own if m in slow else wait) * (step >= 40 + late) + rng.normal(0, 0.03)
            mhz = f",{(clock if after and m in slow else 1900) + rng.normal(0, 2):.0f}" if clock else ""
            rows.append(f"{10 * step},{m}{m},{work:.4f},{waits:.4f}{mhz}")
    path = tmp_path / "parts.csv"
    path.write_text(names + "\n" + "\n".join(rows) + "\n", encoding="utf-8")
    lines = lines_of(SeriesTable(()), read_tables(path, "parts.csv"))
    return [*awaited(moves(lines))]


@pytest.mark.parametrize("names", [
    "step,host,compute_time,allreduce_wait", "step,node,fwd_bwd_s,barrier_wait_s", "step,machine,计算时间,等待时间",
])  # fmt: skip
def test_the_one_that_the_others_wait_for_is_named(tmp_path, names):
    [found] = told(tmp_path, names)
    assert found.code == "others-wait-for-one"
    assert "cc" in found.data["group"]
    assert not found.data["clock"]


def test_its_clock_is_told_with_it(tmp_path):
    [found] = told(tmp_path, "step,host,compute_time,comm_time,sm_clock", clock=1250)
    assert found.data["clock"]
    assert "sm_clock falls" in found.message


@pytest.mark.parametrize("how", [
    {"more": 0.0}, {"own": 3.0}, {"wait": 0.0}, {"slow": "abcdef"}, {"wait": 30.0}, {"late": 30},
    {"more": 0.2, "wait": 0.2}, {"members": "bc"},
], ids=["network", "waits-too", "nobody-waits", "all-work-more", "far-more", "later", "little", "two"])  # fmt: skip
def test_what_one_member_does_not_explain_is_silent(tmp_path, how):
    assert not told(tmp_path, "step,host,compute_time,comm_time", **how)
