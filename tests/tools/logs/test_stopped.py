"""Who was stopped from outside: what the silence before it tells, and what another log says of it."""

from pathlib import Path

import pytest

from triage.agent.evidence import look
from triage.agent.session import ask

CANCELLED = "slurmstepd: error: *** JOB 40117 ON gpu-a01 CANCELLED AT 2026-04-02T{} ***\n"


def steps(minutes: int = 5, count: int = 30) -> str:
    """Log lines, one every few minutes from midnight on."""
    return "".join(
        f"04-02 {i * minutes // 60:02d}:{i * minutes % 60:02d}:08 step {100 * i} loss {3 - i / 100:.3f}\n"
        for i in range(count)
    )


@pytest.mark.parametrize(("clock", "stood"), [("07:41:10", True), ("02:28:10", False)])
def test_a_long_silence_before_the_stop_is_told(tmp_path: Path, clock: str, stood: bool):
    (tmp_path / "slurm-40117.out").write_text(steps() + CANCELLED.format(clock))
    answer = ask("the job is gone, what happened?", [tmp_path]).diagnosis
    lead = answer.hypotheses[0]
    assert ("log-stands-still" in {f.code for f in look([tmp_path]).findings}) == stood
    assert (lead.entry.id == "job-killed-externally" and lead.probability > 0.9) == (not stood)


def test_a_time_limit_of_a_collective_does_not_follow_another_jobs_end(tmp_path: Path):
    (tmp_path / "slurm-1.out").write_text(steps() + CANCELLED.format("02:28:10"))
    waited = "".join(
        f"[rank{r}]:[E402 11:52:14.211441 ProcessGroupNCCL.cpp:616] [Rank {r}] Watchdog caught collective operation "
        "timeout: WorkNCCL(SeqNum=54001, OpType=ALLREDUCE, NumelIn=2, NumelOut=2, Timeout(ms)=1800000) ran for "
        "1800011 milliseconds before timing out.\n"
        for r in range(4)
    )
    (tmp_path / "slurm-2.out").write_text(steps(1) + waited)
    found = {f.code: f for f in look([tmp_path]).findings}
    assert "nccl-timeout" in found
    assert "timeout-after-error" not in found


@pytest.mark.parametrize(("clock", "stood"), [("13:06:20", False), ("18:59:20", True)])
def test_a_silence_no_longer_than_those_before_is_an_epoch_under_way(tmp_path: Path, clock: str, stood: bool):
    said = "".join(
        f"EPOCH {i + 1} COMPLETED\n2024-04-02 {h:02d}:15:06.172887: I shuffle_dataset_op.cc:422] Filling up\n"
        f"2024-04-02 {h:02d}:15:07.595430: I shuffle_dataset_op.cc:452] Shuffle buffer filled.\nSAVED @ EPOCH {i + 1}\n"
        for i, h in enumerate((1, 6, 11))
    )
    end = f"slurmstepd-c17: error: *** JOB 7 ON c17 CANCELLED AT 2024-04-02T{clock} DUE TO TIME LIMIT ***\n"
    (tmp_path / "train.out").write_text(said + end)
    assert ("log-stands-still" in {f.code for f in look([tmp_path]).findings}) == stood


@pytest.mark.parametrize(("day", "stood"), [("03", True), ("02", False)], ids=["the next morning", "before the lines"])
def test_dates_say_which_of_two_clocks_is_later(tmp_path: Path, day: str, stood: bool):
    said = "".join(f"2024-04-02 21:{m:02d}:00 shard {m} read\n" for m in range(12))
    end = f"slurmstepd-c17: error: *** JOB 7 ON c17 CANCELLED AT 2024-04-{day}T03:10:00 DUE TO TIME LIMIT ***\n"
    (tmp_path / "read.out").write_text(said + end)
    assert ("log-stands-still" in {f.code for f in look([tmp_path]).findings}) == stood
