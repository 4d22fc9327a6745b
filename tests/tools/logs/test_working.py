"""A bar that moves while others wait, and waits in which nothing moves."""

import pytest

from triage.tools.discover import discover
from triage.tools.logs.scan import scan

OVER = (
    "[rank1]:[E ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, "
    "OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600021 milliseconds before timing out."
)


def bars(
    minutes: range,
    what: str = "Map",
    clock: bool = False,
    form: str = "{p}%|███   | {n}/900000 [{m:02}:00<{r}:00, 300 examples/s]",
):
    for m in minutes:
        said = form.format(p=2 * m, n=18000 * m, m=m, r=60 - m)
        yield f"{f'03:{m:02}:00 ' if clock else ''}{what}: {said}"


def codes(tmp_path, lines) -> set[str]:
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    return {f.code for f in scan(discover(tmp_path)).findings}


@pytest.mark.parametrize(
    "lines",
    [
        [*bars(range(1, 11)), OVER],
        [*bars(range(1, 11), "tokenising", form="{p}.5% {n}/900000 [{m:02}:00<{r}:00]"), OVER],
        [*bars(range(1, 16), "eval", clock=True), f"03:15:20 {OVER}"],
        [*bars(range(10, 11), "merge"), OVER, *bars(range(11, 12), "merge")],
        ["[rank0] writing part 4/40, elapsed 9m50s", OVER, "[rank0] writing part 5/40, elapsed 10m20s"],
        ["保存分片 11/90 已用 0:09:58", OVER, "保存分片 12/90 已用 0:10:31"],
    ],
    ids=[
        "from the beginning of the wait",
        "without a picture",
        "longer than the wait, by the clock",
        "once before and once after it",
        "counted, without a bar",
        "counted, in Chinese",
    ],
)
def test_work_that_gets_on_while_the_others_wait_is_told(tmp_path, lines):
    assert "rank-works-on" in codes(tmp_path, lines)


@pytest.mark.parametrize(
    "lines",
    [
        [*bars(range(1, 4)), OVER],
        [*bars(range(1, 46), "steps"), OVER],
        [*bars(range(1, 16), clock=True), f"03:35:20 {OVER}"],
        [*bars(range(9, 10)), OVER],
        [*bars(range(1, 11)), "Map: 100%|██████| 900000/900000 [10:30<00:00, 300 examples/s]", OVER],
        [*bars(range(1, 11))],
        [OVER],
        ["[rank0] writing part 4/40, elapsed 9m50s", OVER, "[rank0] writing part 4/40, elapsed 10m20s"],
        ["[rank0] writing part 4/40, elapsed 1m50s", OVER, "[rank0] writing part 5/40, elapsed 2m20s"],
    ],
    ids=[
        "too short",
        "a training that hung at last",
        "stopped long before",
        "drawn once",
        "done",
        "no wait",
        "no bar",
        "counted and still",
        "counted, too short",
    ],
)
def test_a_wait_in_which_nothing_moves_to_the_end_is_left_to_the_hang(tmp_path, lines):
    assert "rank-works-on" not in codes(tmp_path, lines)
