"""Load tests of any writing: sound where counts, quantiles and times say so, and not where one of them does not."""

import json

import numpy as np
import pytest
from making import fill

from triage.agent.session import ask

RNG = np.random.default_rng(17)


def soak(lost=0, slower=1.0, rows=90, head="at_s,sent_requests,ok,failed,ttft_p50_ms,ttft_p95_ms"):
    """A test whose load goes up and down twice, its latency with it."""
    out = [head]
    for i in range(rows):
        sent = int(300 + 200 * np.sin(4 * np.pi * i / rows))
        bad = lost if i % 3 == 0 else 0
        late = (60 + sent / 10 + RNG.normal(0, 1)) * (slower if i > rows // 2 else 1)
        out.append(f"{20 * i},{sent},{sent - bad},{bad},{late:.1f},{2.1 * late:.1f}")
    return "\n".join(out) + "\n"


def summary(**more):
    return json.dumps({"total_requests": 900, "successful_requests": 900, "failed_requests": 0,
                       "latency_ms": {"p50": 210.0, "p99": 3900.0}, **more}, indent=1)  # fmt: skip


def slo(most="4 s", head="| what | objective |", name="latency p99"):
    return f"{head}\n|---|---|\n| {name} | <= {most} |\n| errors | < 0.5 % |\n"


def bench(clients, speed, failed=0):
    said = {"backend": "vllm", "model_id": "o/m-9b", "num_prompts": 24, "completed": 24 - failed, "failed": failed,
            "max_concurrency": clients, "output_throughput": speed, "total_input_tokens": 24 * 512,
            "total_output_tokens": 24 * 256,
            "mean_ttft_ms": 30.0, "median_ttft_ms": 28.0, "p99_ttft_ms": 900.0}  # fmt: skip
    return {f"out/c{clients}.json": json.dumps(said)}


def curve(tpot=(11.0, 14.0, 21.0, 37.0), reqs=32):
    rows = [{"conc": c, "reqs": reqs, "agg_tok_s": 0.9 * c * 1000 / (11.0, 14.0, 21.0, 37.0)[i], "ttft_p50_ms": 40 * c,
             "ttft_p99_ms": 55 * c, "itl_p50_ms": tpot[i]} for i, c in enumerate((1, 4, 8, 16))]  # fmt: skip
    return {"curve.json": json.dumps(rows, indent=1)}


CHINESE = "场景,请求数,成功数,失败数,首字_p50_ms,首字_p95_ms\n全量,4000,4000,0,150,420\n"


@pytest.mark.parametrize("files", [
    {"soak.csv": soak()},
    {"soak.csv": soak(head="second,reqs,http_200,http_503,e2e_p50_s,e2e_p99_s")},
    {"result.json": summary(), "slo.md": slo()},
    {"result.json": summary(), "目标.md": slo("4500 毫秒", "| 指标 | 目标 |", "p99 latency")},
    {**bench(1, 90.0), **bench(3, 250.0), **bench(9, 600.0)},
    curve(),
    {"汇总.csv": CHINESE},
], ids=["soak", "statuses", "objective", "unit of its own", "a file each", "as many run", "chinese"])  # fmt: skip
def test_a_test_that_answered_all_in_time_is_sound(tmp_path, files):
    assert ask("may it go live?", [fill(tmp_path, files)]).diagnosis.state == "healthy"


PARTS = "| run | p95 ms | failed |\n|---|---|---|\n| a | 80 | 6/190 |\n| b | 90 | 4/90 |\n"
LEAK = "at_s,rss_mib\n" + "".join(f"{20 * i},{900 + 31 * i}\n" for i in range(90))


@pytest.mark.parametrize("files", [
    {"soak.csv": soak(lost=7)},
    {"soak.csv": soak(slower=1.4)},
    {"result.json": summary(total_requests=40, successful_requests=40), "slo.md": slo()},
    {"soak.csv": soak(), "mem.csv": LEAK},
    {"result.json": summary(), "slo.md": slo("2 s")},
    {"result.json": summary()},
    {"result.json": summary(latency_ms={"p50": 4100.0, "p99": 3900.0}), "slo.md": slo()},
    {**bench(1, 90.0), **bench(3, 250.0), **bench(9, 600.0, failed=1)},
    {**bench(1, 90.0), **bench(3, 250.0), **bench(9, 140.0)},
    curve(tpot=(11.0, 14.0, 6.0, 9.0)),
    {f"simulated/{name}": text for name, text in curve().items()},
    {"汇总.csv": CHINESE, "report.md": PARTS},
], ids=["lost", "slower at equal load", "few", "memory grows", "objective missed", "slow tail and no objective",
        "quantiles fall", "one lost", "collapses", "fewer run", "made up", "parts lost"])  # fmt: skip
def test_one_that_did_not_is_not(tmp_path, files):
    assert ask("may it go live?", [fill(tmp_path, files)]).diagnosis.state != "healthy"
