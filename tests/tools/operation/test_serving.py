"""A server's queue, its limit and its cache, from log lines and from snapshots of its metrics."""

import numpy as np
import pytest

from triage.tools.documents.event import Event
from triage.tools.operation.requests.serving import served
from triage.tools.relate.line import Line
from triage.tools.settings import Setting, Settings
from triage.tools.tables.read import read_tables

ENGINES = {
    "vllm": ("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc",
             "vllm:num_preemptions_total", "vllm:time_to_first_token_seconds", "vllm:time_per_output_token_seconds"),
    "sglang": ("sglang:num_running_reqs", "sglang:num_queue_reqs", "sglang:token_usage", "sglang:num_retracted_reqs",
               "sglang:time_to_first_token_seconds", "sglang:inter_token_latency_seconds"),
}  # fmt: skip


def histogram(name, bounds):
    counts = [f'{name}_bucket{{le="{le}",model="m"}} {n}' for le, n in bounds.items()]
    return ["# TYPE " + name + " histogram", *counts]


def snapshot(path, engine, running, waiting, cache, lost=0, first=(), each=()):
    names = ENGINES[engine]
    text = [f'{n}{{model="m"}} {v}' for n, v in zip(names, (running, waiting, cache, lost), strict=False)]
    for name, bounds in zip(names[4:], (first, each), strict=True):
        text += histogram(name, dict(bounds)) if bounds else []
    path.write_text("# TYPE x gauge\n" + "\n".join(text) + "\n")
    return read_tables(path, path.name)


FAST = (("0.1", 200), ("0.5", 900), ("1.0", 1000), ("+Inf", 1000))
SLOW = (("0.1", 1), ("0.5", 5), ("1.0", 20), ("10", 300), ("30", 990), ("+Inf", 1000))
EACH = (("0.01", 300), ("0.02", 9000), ("0.05", 10000), ("+Inf", 10000))


def told(*tables, lines=(), settings=None, events=()):
    return {f.code: f for f in served(tables, lines, settings or Settings(), events)}


@pytest.mark.parametrize("engine", ENGINES)
def test_requests_that_wait_while_the_cache_is_empty_wait_for_the_limit(tmp_path, engine):
    found = told(*snapshot(tmp_path / "now.prom", engine, 32, 90, 0.11))["requests-wait-at-limit"]
    assert found.severity == "S1"
    assert found.data["proposes"] == {"variable": "max_num_seqs", "new": 128}


def test_the_limit_goes_back_to_what_a_change_says_it_was(tmp_path):
    change = Event("config", "serve.sh:4 max-num-seqs: 192 -> 8", "deploy.diff", 12, variable="max_num_seqs", old="192",
                   new="8")  # fmt: skip
    found = told(*snapshot(tmp_path / "now.prom", "vllm", 8, 40, 0.05), events=[change])["requests-wait-at-limit"]
    assert found.data["proposes"]["new"] == 192
    assert (found.data["proposes"]["file"], found.data["proposes"]["line"]) == ("deploy.diff", 12)
    assert any(e.file == "deploy.diff" for e in found.evidence)


@pytest.mark.parametrize(("running", "waiting", "cache", "lost"), [
    (32, 0, 0.1, 0), (32, 3, 0.1, 0), (32, 90, 0.8, 0), (32, 90, 0.2, 14),
])  # fmt: skip
def test_no_queue_no_room_or_a_preemption_says_nothing_of_the_limit(tmp_path, running, waiting, cache, lost):
    assert "requests-wait-at-limit" not in told(*snapshot(tmp_path / "a.prom", "vllm", running, waiting, cache, lost))


def test_below_its_limit_something_else_holds_the_queue(tmp_path):
    limit = Settings({"max_num_seqs": Setting("max_num_seqs", 256, "256", "--max-num-seqs", "serve.sh", 3)})
    assert told(*snapshot(tmp_path / "a.prom", "vllm", 32, 90, 0.1), settings=limit) == {}


@pytest.mark.parametrize(("waiting", "lost"), [(60, 0), (0, 25)])
def test_a_full_cache_with_a_queue_or_preemptions_is_memory(tmp_path, waiting, lost):
    assert list(told(*snapshot(tmp_path / "a.prom", "vllm", 80, waiting, 0.99, lost))) == ["cache-full-requests-wait"]


def test_a_full_cache_that_serves_everybody_is_well_used(tmp_path):
    assert told(*snapshot(tmp_path / "a.prom", "vllm", 80, 0, 0.97)) == {}


def test_a_first_token_that_takes_longer_than_each_further_one_is_a_queue(tmp_path):
    before = snapshot(tmp_path / "mon.prom", "vllm", 20, 0, 0.1, first=FAST, each=EACH)
    after = snapshot(tmp_path / "wed.prom", "vllm", 20, 0, 0.1, first=SLOW, each=EACH)
    found = told(*before, *after)["queue-before-first-token"]
    assert found.data["first_p95"][0] < 1 < 20 < found.data["first_p95"][1]
    assert "wed.prom" in found.message


def test_decoding_that_is_slower_too_is_no_queue(tmp_path):
    slower = (("0.01", 10), ("0.02", 300), ("0.05", 9000), ("+Inf", 10000))
    before = snapshot(tmp_path / "mon.prom", "vllm", 20, 0, 0.1, first=FAST, each=EACH)
    after = snapshot(tmp_path / "wed.prom", "vllm", 20, 0, 0.1, first=SLOW, each=slower)
    assert told(*before, *after) == {}


def logged(key, values):
    n = len(values)
    return Line(key, key, "engine.log", np.arange(1.0, n + 1), np.asarray(values, float), np.arange(3, n + 3), "line")


def test_lines_of_an_engine_say_the_same():
    lines = [logged("Pending", np.arange(60) * 2.0), logged("GPU KV cache usage", np.full(60, 6.5))]
    limit = Settings({"max_num_seqs": Setting("max_num_seqs", 16, "16", "--max-num-seqs", "serve.sh", 3)})
    assert told(lines=lines, settings=limit)["requests-wait-at-limit"].data["limit"] == 16


def timed(file, **columns):
    n = np.arange(1.0, 31)
    return [Line(k, k, file, n, v + 0.01 * (n % 3), n.astype(int)) for k, v in columns.items()]


QUEUE = [logged("Waiting", np.full(60, 90.0)), logged("Running", np.full(60, 12.0)),
         logged("GPU KV cache usage", np.full(60, 0.03))]  # fmt: skip
SAMPLES = Settings({"num_generations": Setting("num_generations", 6, "6", "n", "rl.yaml", 3)})


@pytest.mark.parametrize(
    ("lines", "settings", "share"),
    [
        (timed("t.csv", rollout_s=300.0, actor_update_s=60.0, step_s=380.0), SAMPLES, "79%"),
        (timed("t.csv", gen_time=90.0, train_time=30.0, reward=0.4, kl=0.01), Settings(), "75%"),
        (
            [*timed("now.csv", 生成耗时=200.0, 更新耗时=50.0), *timed("old.csv", 生成耗时=40.0, 更新耗时=50.0)],
            SAMPLES,
            "80%",
        ),
        (timed("m.csv", reward=0.4, entropy=0.5), SAMPLES, ""),
    ],
)
def test_the_queue_of_an_engine_that_samples_for_a_training_is_a_slow_rollout(lines, settings, share):
    found = told(lines=[*QUEUE, *lines], settings=settings)
    assert "requests-wait-at-limit" not in found
    assert share in found["rollout-requests-wait"].message
    assert found["rollout-requests-wait"].severity == "S1"


@pytest.mark.parametrize(
    ("lines", "settings"),
    [
        ([], SAMPLES),  # one kind of evidence
        (timed("t.csv", gen_time=90.0, train_time=30.0), Settings()),
        (timed("m.csv", reward=0.4, loss=2.0), Settings()),
        (timed("m.csv", latency_s=3.0, total_s=5.0), Settings()),
    ],
)
def test_without_several_kinds_of_evidence_a_queue_is_that_of_a_server(lines, settings):
    assert "rollout-requests-wait" not in told(lines=[*QUEUE, *lines], settings=settings)


def test_where_the_update_takes_most_of_a_step_a_queue_of_the_rollout_is_no_serious_finding():
    lines = timed("t.csv", rollout_s=30.0, update_s=300.0, step_s=340.0)
    assert told(lines=[*QUEUE, *lines], settings=SAMPLES)["rollout-requests-wait"].severity == "S2"


def test_a_short_burst_is_no_queue():
    lines = [logged("Pending", [0.0] * 50 + [30.0] * 5 + [0.0] * 5), logged("GPU KV cache usage", np.full(60, 0.1))]
    assert told(lines=lines) == {}


@pytest.mark.parametrize(("limit", "said"), [(600, True), (82, False), (None, False)])
def test_a_limit_that_is_not_reached_is_told_beside_a_full_cache(tmp_path, limit, said):
    set_ = {"max_num_seqs": Setting("max_num_seqs", limit, str(limit), "--max-num-seqs", "run.sh", 2)} if limit else {}
    found = told(*snapshot(tmp_path / "a.prom", "sglang", 80, 40, 0.98), settings=Settings(set_))
    assert ("not the limit (80 run of max_num_seqs 600)" in found["cache-full-requests-wait"].message) == said
