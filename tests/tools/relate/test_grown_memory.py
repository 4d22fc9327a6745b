"""Memory that grows from each start of a run to the next."""

import numpy as np
import pytest

from triage.agent.evidence import look

RNG = np.random.default_rng(3)


def saw(starts, each, base=9000.0, every=20, per=0.0, noise=2.0, sweep=0):
    """Rows of (step, memory): each start grows anew and begins again where the last save was."""
    rows, step = [], 0
    for _ in range(starts):
        for i in range(each):
            grown = i % sweep if sweep else i
            rows.append((step + i * every, base + per * grown * every + noise * RNG.normal()))
        step += (each - 6) * every if not sweep else each * every
    return rows


def grows(tmp_path, rows, head="step,gpu_mem_alloc_mb,reserved_mb"):
    (tmp_path / "mem.csv").write_text(head + "\n" + "".join(f"{s},{m:.1f},{m + 900:.1f}\n" for s, m in rows))
    (tmp_path / "train.log").write_text("".join(f"step {i} loss {3 - i / 2000:.4f}\n" for i in range(1, 400)))
    return [f for f in look([tmp_path]).findings if f.code == "memory-grows-on"]


@pytest.mark.parametrize(("starts", "each", "per"), [(3, 120, 0.9), (2, 300, 0.4)])
def test_a_memory_that_grows_in_each_start_and_is_freed_by_each_restart_is_a_leak(tmp_path, starts, each, per):
    [found] = grows(tmp_path, saw(starts, each, per=per))
    assert found.data["starts"] == starts


@pytest.mark.parametrize(
    "rows",
    [
        saw(3, 120),  # level in each start
        saw(1, 360, per=0.9, sweep=120),  # swept now and then, with no restart
        [(s, m if i < 20 else m + 2000) for i, (s, m) in enumerate(saw(3, 120))],  # higher once, then level
        [*saw(1, 120, per=0.9), *((s + 114 * 20, m) for s, m in saw(1, 240))],  # a start that grew, one that does not
    ],
)
def test_other_memories_are_none(tmp_path, rows):
    assert grows(tmp_path, rows) == []
