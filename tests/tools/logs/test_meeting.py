"""Processes that never find each other are told; those that meet after a few tries are not."""

from pathlib import Path

import pytest

from triage.tools.discover import discover
from triage.tools.logs.scan import scan

CODES = ("rendezvous-waits", "master-addresses-differ")


def told(path: Path, **logs: list[str]) -> list[str]:
    for name, lines in logs.items():
        (path / f"{name}.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [f.code for f in scan(discover(path)).findings if f.code in CODES]


def env(rank: int, master: str, world: int = 6) -> str:
    return f"09:00:0{rank} [rank {rank}] MASTER_ADDR={master} LOCAL_RANK={rank % 3} WORLD_SIZE={world}"


def refused(minute: int, rank: int = 4) -> str:
    said = "The client socket has failed to connect to [172.16.9.8]:41000 (errno: 111 - Connection refused)."
    return f"09:{minute:02d}:30 [rank {rank}] [W socket.cpp:601] [c10d] {said}"


STEPS = [f"09:30:{i:02d} step {i} loss {3 - i / 40:.3f} grad_norm 1.0 lr 1e-4" for i in range(20)]


def test_two_masters_in_one_world(tmp_path):
    here, there = ([env(r, m) for r in ranks] for ranks, m in ((range(3), "172.16.9.7"), (range(3, 6), "172.16.9.8")))
    assert told(tmp_path, n0=here, n1=there) == ["master-addresses-differ"]


@pytest.mark.parametrize(
    "logs",
    [
        {"n0": [env(r, "172.16.9.7") for r in range(3)], "n1": [env(r, "172.16.9.7") for r in range(3, 6)]},
        {"n0": [env(r, "node-7") for r in range(3)], "n1": [env(r, "172.16.9.7") for r in range(3, 6)]},
        {"n0": [env(r, "node-7", 3) for r in range(3)], "n1": [env(r, "node-9", 3) for r in range(3)]},
        {"n0": [*(env(r, "node-7") for r in range(6)), env(0, "node-9")]},
    ],
    ids=["one master", "a name and its address", "a job on each machine", "started again elsewhere"],
)
def test_one_master_under_two_names_and_jobs_of_their_own_are_silent(tmp_path, logs):
    assert told(tmp_path, **logs) == []


def test_a_master_that_never_answers_and_processes_that_never_come(tmp_path):
    assert told(tmp_path, n1=[env(4, "172.16.9.8"), *(refused(m) for m in range(2, 12))]) == ["rendezvous-waits"]
    short = [f"09:{m:02d}:00 rank 0: store up, peers connected 3/6" for m in range(1, 9)]
    assert told(tmp_path, n1=short) == ["rendezvous-waits"]


def test_a_few_tries_before_the_first_step_are_usual(tmp_path):
    tries = [refused(1) for _ in range(9)]
    assert told(tmp_path, n1=[*tries, *STEPS]) == []
    assert told(tmp_path, n1=[refused(1), refused(1)]) == []
    joined = [f"09:0{m}:00 rank 0: store up, peers connected {m}/6" for m in range(1, 7)]
    assert told(tmp_path, n1=joined) == []
