"""The numbers that a run's own findings ask of the next one."""

from triage.agent.acceptance.demands import demands
from triage.agent.session import index
from triage.tools.findings import Evidence, Finding, Severity

BOOK = {entry.id: entry for entry in index(None).runbook}


def found(code, **data) -> Finding:
    return Finding(code, Severity.S2, code, data=data)


def asked(entry, *findings) -> dict:
    return {c.metric: (c.is_, c.low if c.low is not None else c.high) for c in demands(BOOK[entry], findings)}


def test_a_pool_below_its_need_asks_for_the_need():
    pool = found("kv-pool-below-need", pool=0.2, need=1.5, least_share=0.379, most_share=0.55)
    assert asked("kv-cache-oom", pool) == {"kv_pool": ("at-least", 1.5), "gpu_memory_utilization": ("at-least", 0.379)}


def test_a_measure_that_a_sign_names_comes_back_to_where_it_was():
    sign = found(
        "sign-rises-data-time-with-falls-tokens-per-second",
        sign="rises(data_time) with falls(tokens_per_second)",
    )
    fell = found("metric-changed", metric="tokens_per_second", before=400.0, after=200.0, at=900.0, noise=2.0, group="")
    other = found("metric-changed", metric="mfu", before=0.5, after=0.2, at=900.0, noise=0.0, group="")
    assert asked("dataloader-bottleneck", sign, fell, other) == {"tokens_per_second": ("at-least", 380.0)}


def test_findings_that_say_nothing_for_the_entry_ask_for_nothing():
    assert demands(BOOK["pii-in-data"], [found("kv-pool-below-need", need=1.5)]) == ()


def test_memory_that_ran_out_asks_for_a_tenth_of_the_card():
    text = "torch.OutOfMemoryError: CUDA out of memory. GPU 0 has a total capacity of 80.00 GiB, 1 free."
    full = Finding("cuda-oom", Severity.S0, "full", evidence=(Evidence("train.log", 3, text=text),))
    assert asked("train-oom", full) == {"peak_gpu_memory": ("at-most", 72.0)}


def test_a_measure_that_nobody_knows_comes_back_where_its_sign_says_which_way_is_bad():
    sign = found("sign-rises-host-memory", sign="rises(host_memory)")
    grew = found("metric-changed", metric="host_memory", before=40.0, after=90.0, at=900.0, noise=0.1, group="")
    assert asked("host-memory-exhausted", sign, grew) == {"host_memory": ("at-most", 42.0)}
