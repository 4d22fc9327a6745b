"""Load tests at several loads: the one from which on a server no longer keeps up."""

import json

import pytest

from triage.tools.operation.requests.laden import of_load_tests, overrun
from triage.tools.tables.read import read_tables
from triage.tools.trackers.serving import read_benchmark


def bench(tmp_path, **rates):
    """One result file of `vllm bench serve` a rate: (answered in a second, p99 of the first token in ms)."""
    for name, (rate, done, late) in rates.items():
        said = {"backend": "vllm", "model_id": "org/m-7b", "num_prompts": 400, "request_rate": rate,
                "request_throughput": done, "mean_ttft_ms": late / 3, "p99_ttft_ms": late,
                "p99_tpot_ms": 40.0}  # fmt: skip
        (tmp_path / f"{name}.json").write_text(json.dumps(said))
    return [t for name in rates for t in read_benchmark(tmp_path / f"{name}.json", f"{name}.json")]


def swept(tmp_path, text):
    path = tmp_path / "sweep.csv"
    path.write_text(text)
    return read_tables(path, "sweep.csv")


def test_files_of_one_benchmark_at_several_rates(tmp_path):
    [found] = overrun(bench(tmp_path, low=(6, 5.9, 400.0), high=(16, 7.1, 61000.0)))
    assert (found.code, found.severity) == ("latency-explodes-with-load", "S2")
    assert found.data["load"] == [6, 16]
    assert found.data["metric"] == "p99_ttft_ms"
    assert found.evidence[0].file == "high.json"


def test_rows_of_a_sweep_over_clients(tmp_path):
    text = "concurrency,latency_p95_s,requests_per_sec\n4,1.1,3.6\n16,1.4,11.2\n64,19.0,12.0\n"
    [found] = overrun(swept(tmp_path, text))
    assert (found.severity, found.data["load"]) == ("S3", [16, 64])


@pytest.mark.parametrize(("rates", "grade"), [
    ({"a": (2, 1.98, 210.0), "b": (6, 5.9, 400.0), "c": (16, 7.1, 61000.0)}, "S3"),
    ({"a": (2, 1.98, 210.0), "b": (6, 3.1, 41000.0), "c": (9, 3.1, 90000.0)}, "S2"),
], ids=["at-its-end", "in-its-middle"])  # fmt: skip
def test_a_sweep_over_rates_ends_in_a_knee(tmp_path, rates, grade):
    [found] = overrun(bench(tmp_path, **rates))
    assert found.severity == grade


def test_without_what_was_answered_only_a_larger_growth_tells(tmp_path):
    assert [*overrun(swept(tmp_path, "target_qps,p99_latency_ms\n10,90\n20,130\n40,8000\n"))]
    assert not [*overrun(swept(tmp_path, "target_qps,p99_latency_ms\n10,90\n20,130\n40,800\n"))]


@pytest.mark.parametrize("rates", [
    {"low": (2, 1.98, 210.0), "high": (8, 7.8, 700.0)},
    {"low": (2, 1.98, 210.0), "high": (8, 7.9, 4000.0)},
    {"one": (4, 3.9, 300.0), "again": (4, 2.0, 9000.0)},
    {"one": (4.0, 3.9, 300.0), "next": (4.1, 3.9, 9000.0)},
], ids=["a-little-slower", "still-served", "same-load", "hardly-more-load"])  # fmt: skip
def test_a_server_that_keeps_up_or_another_load_is_silent(tmp_path, rates):
    assert not [*overrun(bench(tmp_path, **rates))]


def test_traffic_of_a_day_is_no_test(tmp_path):
    rows = "".join(f"2026-05-01 {h:02}:00:00,{10 + 2 * h},{90 if h != 9 else 9000}\n" for h in range(18))
    assert not [*overrun(swept(tmp_path, "time,qps,p99_latency_ms\n" + rows))]


def test_a_knee_is_a_note_beside_what_is_sound(tmp_path):
    text = "concurrency,total_requests,failed_requests,ttft_p50,ttft_p99,tokens_per_second\n"
    calm = text + "2,40,0,0.1,0.3,100\n8,80,0,0.2,0.4,300\n32,200,0,0.3,0.9,520\n"
    knee = text + "2,40,0,0.1,0.3,100\n8,80,0,0.2,0.4,300\n32,200,0,0.3,60,520\n"
    assert [f.code for f in of_load_tests(swept(tmp_path, calm), ())] == ["run-healthy"]
    found = {f.code: f.severity for f in of_load_tests(swept(tmp_path, knee), ())}
    assert found == {"latency-explodes-with-load": "S3", "run-healthy": "S3"}
    rates = bench(tmp_path, a=(4, 3.9, 300.0), b=(12, 5.0, 90000.0))
    assert [f.code for f in of_load_tests([*rates, *swept(tmp_path, calm)], ())] == ["latency-explodes-with-load"]


FALLS = "clients,total_throughput,ttft_ms\n", "1,40,90\n", "3,21,2100\n", "9,17,9900\n"
NESTED = {"rows": [{"concurrency": c, "throughput": t, "tpot_ms": ms} for c, t, ms in
                   ((1, 6.1, 40), (4, 1.9, 1500), (16, 3.8, 1700))]}  # fmt: skip


def test_a_server_that_is_slower_the_more_ask_is_no_knee(tmp_path):
    [found] = overrun(swept(tmp_path, "".join(FALLS).replace("clients", "num_clients")))
    assert (found.severity, found.data["load"]) == ("S2", [1, 3])
    for name, more in (("long", {}), ("short", {"rows": [r | {"throughput": 6 * r["concurrency"], "tpot_ms": 44}
                                                         for r in NESTED["rows"]]})):  # fmt: skip
        (tmp_path / f"{name}.json").write_text(json.dumps(NESTED | more))
    both = [t for n in ("long", "short") for t in read_tables(tmp_path / f"{n}.json", f"{n}.json")]
    [found] = overrun(both)
    assert (found.severity, found.evidence[0].file) == ("S2", "long.json")


@pytest.mark.parametrize(
    "rows",
    ["1,40,90\n3,110,120\n9,230,400\n", "1,40,90\n3,110,120\n9,104,300\n"],
    ids=["it gains", "hardly less and hardly slower"],
)
def test_a_sweep_that_gains_or_levels_off_is_silent(tmp_path, rows):
    assert not [*overrun(swept(tmp_path, "num_clients,total_throughput,ttft_ms\n" + rows))]
