"""Over what the ranks talk: sockets beside a faster run over cards, cards that are asked for and not found."""

import numpy as np
import pytest

from triage.tools.discover import discover
from triage.tools.logs.scan import read_run
from triage.tools.relate.earlier.transport import transported

CARDS = "node3:77:90 [0] NCCL INFO NET/IB : Using [0]mlx5_2:1/RoCE [RO]; OOB eth0:10.1.0.3<0>\nUsing network IB\n"
SOCKET = "node3:77:90 [0] NCCL INFO NET/IB : No device found.\nnode3:77:90 [0] NCCL INFO Using network Socket\n"
PLAIN = "node3:77:90 [0] NCCL INFO Channel 00/0 : 1[0] -> 8[0] [receive] via NET/Socket/0\n"
EFA = "ip-10-0-0-7:12:40 [1] NCCL INFO Using network AWS Libfabric\n"


def run(folder, head, speed, script="", form="step {i} loss {v:.4f} tokens/s {s:.1f}\n"):
    folder.mkdir()
    rng = np.random.default_rng(5)
    steps = "".join(form.format(i=i, v=3 - i / 900, s=speed * rng.normal(1, 0.01)) for i in range(10, 700, 10))
    (folder / "train.log").write_text(head + steps)
    if script:
        (folder / "job.sh").write_text(script)
    found = discover(folder)
    return found, read_run(found).table


def codes(tmp_path, here, there=None):
    own, table = run(tmp_path / "here", *here)
    beside = [("last_week", *run(tmp_path / "there", *there))] if there else []
    return {f.code: f for f in transported(own, table, beside).findings}


@pytest.mark.parametrize(("slow", "fast"), [(SOCKET, CARDS), (PLAIN, EFA), (SOCKET, EFA)])
def test_a_run_over_sockets_that_is_slower_than_one_over_cards(tmp_path, slow, fast):
    here, there = "export NCCL_IB_HCA=roce\ntorchrun a.py\n", "export NCCL_IB_HCA=mlx5_2\ntorchrun a.py\n"
    told = codes(tmp_path, (slow, 900, here), (fast, 3100, there))["slower-over-sockets"]
    assert told.data["ratio"] > 3
    assert "NCCL_IB_HCA is roce here" in told.message


@pytest.mark.parametrize("asks", ["export NCCL_IB_HCA=mlx5_7\n", "env: {NCCL_IB_GID_INDEX: 3}\n"])
def test_cards_that_are_asked_for_and_not_found(tmp_path, asks):
    assert list(codes(tmp_path, (SOCKET, 900, asks))) == ["fast-network-not-found"]


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ((CARDS, 3000, "export NCCL_IB_HCA=mlx5\n"), (SOCKET, 900)),
        ((SOCKET, 3000), (CARDS, 3020)),
        ((SOCKET, 900), (PLAIN, 3000)),
        ((SOCKET, 900, "export NCCL_IB_DISABLE=1\nexport NCCL_IB_HCA=mlx5\n"), None),
        ((PLAIN, 900, "export NCCL_IB_HCA=mlx5\n"), None),
        (("", 900, "export NCCL_IB_HCA=mlx5\n"), (CARDS, 3000)),
    ],
    ids=["cards here", "as fast", "sockets in both", "switched off on purpose", "nothing looked for", "nothing said"],
)
def test_sound_runs_and_clusters_without_cards_are_nothing(tmp_path, here, there):
    assert codes(tmp_path, here, there) == {}
