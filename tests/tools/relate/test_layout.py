"""Parallel groups against machines, and tables of ranks and cards."""

import pytest

from triage.tools.relate.layout.look import laid_out
from triage.tools.relate.rows import looked
from triage.tools.settings import Setting, Settings
from triage.tools.tables.read import read_tables

CARDS = ["when,node,gpu,sm_clock_mhz,clocks_event_reasons",
         *(f"03-12 15:00,n{n},{g},1755,0x0000000000000000" for n in (21, 22) for g in range(8))]  # fmt: skip


def told(tmp_path, files, **values):
    tables = []
    for name, rows in files.items():
        (tmp_path / name).write_text("\n".join(rows) + "\n")
        tables += read_tables(tmp_path / name, name)
    settings = Settings({v: Setting(v, n, str(n), v, "run.yaml", i + 1) for i, (v, n) in enumerate(values.items())})
    return {f.code: f for f in laid_out(tables, settings)}


def profile(comm, total=lambda rank: 41800, column="nccl_exposed_ms"):
    rows = (f"{r},n{21 + r // 8},{comm(r)},1.3,{total(r)}" for r in range(16))
    return [f"rank,node,{column},dataload_ms,iter_ms", *rows]


@pytest.mark.parametrize(
    ("files", "values", "severity"),
    [({"gpu.csv": CARDS}, {"tensor_parallel": 16, "micro_batch_size": 1}, "S2"),
     ({"gpu.csv": CARDS}, {"tensor_parallel": 8, "micro_batch_size": 1}, None),
     ({}, {"tensor_parallel": 16, "gpus_per_node": 8, "nodes": 2, "micro_batch_size": 1}, "S2"),
     ({}, {"tensor_parallel": 16, "gpus_per_node": 8, "nodes": 2}, "S3"),
     ({}, {"tensor_parallel": 16, "gpus_per_node": 16, "micro_batch_size": 1}, None),
     ({}, {"tensor_parallel": 16, "micro_batch_size": 1}, None),
     ({}, {"tensor_parallel": 8, "gpus_per_node": 4, "micro_batch_size": 1, "hardware": "GB200 NVL72"}, None),
     ({}, {"expert_parallel": 32, "gpus_per_node": 8, "micro_batch_size": 1}, "S3"),
     ({"gpu.csv": CARDS}, {"pipeline_parallel": 16, "micro_batch_size": 1}, None)],
    ids=["counted", "inside one", "set", "serving", "larger machine", "unknown machine", "one rack", "experts",
         "pipeline"],
)  # fmt: skip
def test_a_group_that_talks_in_every_layer_belongs_inside_a_machine(tmp_path, files, values, severity):
    found = told(tmp_path, files, **values).get("parallel-group-across-nodes")
    assert (found and found.severity) == severity


def test_communication_that_all_ranks_share_is_told_and_a_slow_rank_is_not(tmp_path):
    found = told(tmp_path, {"p.csv": profile(lambda r: 26000 + 20 * r)})["communication-fills-step"]
    assert found.data["share"] == pytest.approx(0.63, abs=0.02)
    waiting = profile(lambda r: 4000 if r == 3 else 26000)
    assert "communication-fills-step" not in told(tmp_path, {"p.csv": waiting})
    little = profile(lambda r: 3000 + r)
    assert "communication-fills-step" not in told(tmp_path, {"p.csv": little})
    compute = profile(lambda r: 26000 + r, column="gemm_ms")
    assert not told(tmp_path, {"p.csv": compute})


def test_clocks_that_stay_and_have_no_reason_are_a_note(tmp_path):
    assert told(tmp_path, {"gpu.csv": CARDS})["clocks-steady"].severity == "S3"
    held = [CARDS[0], *(row.replace("0x0000000000000000", "0x0000000000000020") for row in CARDS[1:])]
    assert "clocks-steady" not in told(tmp_path, {"gpu.csv": held})
    slow = [row.replace("1755", "1120") if row.endswith("n22,3") or ",n22,3," in row else row for row in CARDS]
    assert "clocks-steady" not in told(tmp_path, {"gpu.csv": slow})


def traced(tmp_path, head, parts):
    rows = [head, *(f'{s},"{name}",{took}' for s in range(3) for name, took in parts)]
    (tmp_path / "trace.csv").write_text("\n".join(rows) + "\n")
    return {f.code for f in looked(read_tables(tmp_path / "trace.csv", "trace.csv"))}


@pytest.mark.parametrize("head", ["step,op,ms", "step,kernel_name,pct", "step,name,self_time"])
def test_attention_in_pieces_is_told_whatever_the_time_is_called(tmp_path, head):
    pieces = [("softmax_backward", 19), ("attention scores: scale", 14), ("aten::bmm", 9), ("gemm_128x128", 40)]
    assert "attention-unfused" in traced(tmp_path, head, pieces)
    fused = [("flash_fwd_kernel", 20), ("softmax_loss", 31), ("gemm_128x128", 40)]
    assert not traced(tmp_path, head, fused)
    assert not traced(tmp_path, head.replace(head.rsplit(",", 1)[1], "calls"), pieces)


def weights(parted=(), step=30, shards=False, ranks=6):
    """Digests of two parts at three steps; from `step` on the ranks `parted` hold another second part."""
    rows = ["step,rank,part,crc32"]
    for at in (10, 20, 30):
        for part in ("front", "back"):
            for rank in range(ranks):
                own = rank if shards or (rank in parted and part == "back" and at >= step) else 99
                rows.append(
                    f"{at},{rank},{part},{(at * 7919 + len(part) * 131 + own * 65537) * 2654435761 % 2**32:08x}"
                )
    return rows


@pytest.mark.parametrize(
    ("rows", "is_found"),
    [(weights({2, 5}), True), (weights({4}, step=20), True), (weights(), False), (weights(shards=True), False),
     (weights({1}, ranks=2), False), (weights({2}, step=10), False)],
    ids=["two part", "one parts", "all alike", "shards", "two ranks, no majority", "apart from the first row on"],
)  # fmt: skip
def test_ranks_that_held_the_same_weights_and_do_not(tmp_path, rows, is_found):
    assert ("ranks-differ-in-weights" in told(tmp_path, {"crc.csv": rows})) == is_found


@pytest.mark.parametrize(
    ("talks", "is_found"), [(9000, True), (2000, False)], ids=["most of the time", "a usual share"]
)
def test_a_profile_full_of_collectives(tmp_path, talks, is_found):
    rows = ["Name,Calls,Self CUDA total (ms)", f"ncclDevKernel_AllGather_RING_LL,400,{talks}",
            "sm80_xmma_gemm_bf16,9000,4100", "flash_fwd_kernel,800,700"]  # fmt: skip
    assert ("collectives-fill-profile" in told(tmp_path, {"kernels.csv": rows})) == is_found
