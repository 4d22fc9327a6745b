"""A part that is slow on one machine and on the next."""

import numpy as np
import pytest

from triage.tools.relate.layout.stays import stays_slow
from triage.tools.tables.read import read_tables


def timing(slow_on, head="step,rank,host,fwd_ms,wait_ms", swap=300, spare="n9"):
    """Six parts at ten places; part 2 takes 1.8 times as long on the machines of `slow_on`, and is moved at `swap`."""
    r, rows = np.random.default_rng(7), [head]
    for step in range(100, 1100, 100):
        for part in range(6):
            host = spare if part == 2 and step >= swap else f"n{part}"
            time = 400 * (1.8 if part == 2 and host in slow_on else 1) * (1 + r.normal(0, 0.02))
            rows.append(f"{step},{part},{host},{time:.0f},{900 - time:.0f}")
    return "\n".join(rows) + "\n"


def told(folder, text, name="times.csv"):
    (folder / name).write_text(text, encoding="utf-8")
    return [f for f in stays_slow(read_tables(folder / name, name))]


@pytest.mark.parametrize("head", ["step,rank,host,fwd_ms,wait_ms", "步,pp_stage,节点,计算耗时_ms,等待_ms"])
def test_a_part_that_stays_slow_on_another_machine(tmp_path, head):
    [found] = told(tmp_path, timing(("n2", "n9"), head))
    assert (found.code, found.data["hosts"]) == ("slow-on-either-machine", ["n2", "n9"])
    assert found.evidence[0].line < found.evidence[1].line


@pytest.mark.parametrize(
    "text",
    [
        timing(("n2",)),  # it was the machine
        timing(("n9",)),  # the spare is the slow one
        timing(()),  # none is slow
        timing(("n2", "n9"), swap=9000),  # nothing was changed
        timing(("n2", "n9"), swap=1000),  # one place behind the change
        timing(("n2", "n9"), head="step,rank,host,wait_ms,idle_ms"),  # waiting is no work
    ],
    ids=["machine", "spare", "even", "not moved", "too short", "waiting"],
)
def test_anything_else_is_silent(tmp_path, text):
    assert told(tmp_path, text) == []
