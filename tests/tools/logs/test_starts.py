"""Several starts in one file, logs that stop in the start-up, and a few pasted lines."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from triage.tools.discover import discover
from triage.tools.findings import Report, TriageError
from triage.tools.logs.points.read import read_series
from triage.tools.logs.scan import read_run, scan

BANNER = ["Using device: cuda", "Loading tokenizer from ./tok", "Model has 124M parameters", "Begin training"]
ERROR = ["Traceback (most recent call last):", '  File "t.py", line 3, in <module>', "ValueError: shapes do not match"]


def written(path: Path, lines: list[str], age: float = 7200) -> Report:
    file = path / "train.log"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    written_at = time.time() - age
    os.utime(file, (written_at, written_at))
    return scan(discover(path))


def graded(report: Report) -> dict[str, str]:
    return {f.code: str(f.severity) for f in report.findings}


def steps(n: int, first: int = 0) -> list[str]:
    return [f"step {first + i} loss {3 - i / 100:.4f} grad_norm 1.0 lr 1e-4" for i in range(n)]


def test_the_error_of_an_old_attempt_does_not_explain_the_last_one(tmp_path: Path):
    report = written(tmp_path, [*BANNER, *ERROR, *BANNER, *steps(2)])
    assert graded(report)["uncaught-exception"] == "S2"
    assert "started again" in next(f for f in report.findings if f.code == "uncaught-exception").data["survived"]


def test_the_error_of_the_last_attempt_is_its_cause(tmp_path: Path):
    report = written(tmp_path, [*BANNER, *steps(20), *BANNER, *ERROR])
    assert graded(report)["uncaught-exception"] == "S1"


def test_lines_without_steps_are_split_where_the_program_starts_again(tmp_path: Path):
    lines = [*BANNER, *(f"loss: {3 - i / 100:.4f}" for i in range(30))]
    (tmp_path / "train.log").write_text("\n".join(lines * 3) + "\n")
    losses = [s for s in read_run(discover(tmp_path)).table if s.metric == "loss"]
    assert [len(s) for s in losses] == [30, 30, 30]


def test_a_line_of_the_loop_is_no_start(tmp_path: Path):
    lines = [line for i in range(40) for line in ("Fetching the next batch ...", f"loss: {3 - i / 100:.4f}")]
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    losses = [s for s in read_run(discover(tmp_path)).table if s.metric == "loss"]
    assert [len(s) for s in losses] == [40]


BOOT = ["2024-03-01 10:00:00 INFO Starting the trainer", "2024-03-01 10:00:02 INFO corpus in memory",
        "2024-03-01 10:00:03 INFO encoder has 12 layers"]  # fmt: skip


def halves(n: int, top: float) -> list[str]:
    return [
        line
        for i in range(n)
        for line in (f"mean train loss {top - i / 10:.3f}", f"mean dev loss {top / 2 - i / 30:.3f}")
    ]


def test_starts_that_got_less_far_than_the_next_are_starts(tmp_path: Path):
    lines = [BOOT[0], *BOOT[:2], BOOT[0], *BOOT, *halves(6, 3.0), *BOOT, *halves(6, 9.0)]
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    table = read_run(discover(tmp_path)).table
    assert {len(s) for s in table if "loss" in s.metric} == {6}
    assert len({s.attempt for s in table if "loss" in s.metric}) == 2


def test_a_line_that_one_start_prints_twice_begins_no_other(tmp_path: Path):
    boot = ["Loading a corpus", "corpus in memory", "Loading a corpus", "corpus in memory", "encoder is built"]
    lines = [*boot, *(f"loss: {3 - i / 100:.4f}" for i in range(20))]
    (tmp_path / "train.log").write_text("\n".join(lines * 2) + "\n")
    losses = [s for s in read_run(discover(tmp_path)).table if s.metric == "loss"]
    assert [(len(s), s.attempt) for s in losses] == [(20, ""), (20, "#2")]


def test_what_one_start_logs_under_two_names_is_one_attempt(tmp_path: Path):
    only = [f"mean train loss {2 - i / 10:.3f}" for i in range(5)]
    lines = [*BANNER, *only, *BANNER, *halves(6, 3.0)]
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    table = [s for s in read_run(discover(tmp_path)).table if "loss" in s.metric and s.lines.min() > len(BANNER) + 5]
    assert [s.attempt for s in table] == ["#2", "#2"]


def summed(loss: float, score: float) -> list[str]:
    return [
        f"{{'train_runtime': {40 + loss:.2f}, 'train_samples_per_second': 90.5, 'train_loss': {loss}, 'epoch': 4.0}}",
        f"{{'eval_loss': {loss + 0.1:.3f}, 'eval_f1': {score}, 'epoch': 4.0}}",
    ]


def test_trainings_of_which_only_the_sums_are_logged_are_no_curve(tmp_path: Path):
    lines = [line for i in range(6) for line in summed(1.5 - i / 9, 0.4 + i / 20)]
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    table = read_run(discover(tmp_path)).table
    assert {len(s) for s in table if s.metric in ("eval_f1", "eval_loss", "train_loss_mean")} == {1}


def test_a_sum_that_is_printed_twice_ends_one_training(tmp_path: Path):
    logged = [f"{{'loss': {3 - i / 10:.2f}, 'learning_rate': 0.001, 'epoch': {i / 10}}}" for i in range(20)]
    once = summed(1.5, 0.7)
    (tmp_path / "train.log").write_text("\n".join([*logged, once[0], *once]) + "\n")
    assert {s.attempt for s in read_run(discover(tmp_path)).table} == {""}


def test_a_server_that_is_shut_down_has_not_crashed(tmp_path: Path):
    serving = ["INFO 08-21 10:00:00 Application startup complete."] * 3
    dead = ["ERROR async_llm.py:704] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue."]
    stop = ["INFO core.py:1214] [shutdown] EngineCore: trigger received signal=SIGTERM"]
    assert graded(written(tmp_path, serving + dead))["engine-crash"] == "S0"
    assert graded(written(tmp_path, serving + stop + dead))["engine-crash"] == "S3"


LOADING = [
    "START 21:40:19",
    "launch_server.py:56: UserWarning: 'python -m server' is still supported",
    "server_args=ServerArgs(model_path='m')",
    "Init torch distributed begin.",
    "Init torch distributed ends. mem usage=0.02 GB",
    "Load weight begin. avail mem=110.50 GB",
    "Loading safetensors checkpoint shards:  40% Completed | 4/10",
    "Loading safetensors checkpoint shards: 100% Completed | 10/10",
    "Memory pool end. avail mem=12.49 GB",
    "Capture cuda graph begin. This can take up to several minutes. avail mem=11.78 GB",
]
LEAK = ["resource_tracker.py:279: UserWarning: resource_tracker: There appear to be 1 leaked semaphore objects"]


def test_a_log_that_stops_in_the_start_up_is_a_finding(tmp_path: Path):
    assert graded(written(tmp_path, LOADING))["log-ends-in-startup"] == "S2"
    found = written(tmp_path, [*LOADING, *LEAK]).findings[0]
    assert (found.code, found.severity, found.evidence[0].line) == ("log-ends-in-startup", "S1", len(LOADING))


NOT_STOPPED = {
    "it runs": [*LOADING, *steps(12)],
    "it serves": [*LOADING, "INFO:     Application startup complete."],
    "it says that it is over": [*LOADING, "All models saved to ./cache, exiting"],
    "an error says why": [*LOADING, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."],
    "a few pasted lines": LOADING[5:],
    "the loop has begun": [*LOADING, "Starting training for 3 epochs", "Epoch 1/3: warm-up phase, no auxiliary loss"],
    "the loop has begun, in Chinese": [*LOADING, "开始训练", "第 1/3 轮：热身阶段"],
    "a service waits": [
        *LOADING,
        "req 7: request processed in 0.41 s",
        *LOADING[:4],
        "Loading trained model",
        "Model loaded with 31,004 parameters",
    ],
    "no start-up": [f"downloading part {i}" for i in range(20)],
}


@pytest.mark.parametrize("why", NOT_STOPPED)
def test_silent_where_the_start_up_is_over_or_explained(why: str, tmp_path: Path):
    assert "log-ends-in-startup" not in graded(written(tmp_path, NOT_STOPPED[why]))


@pytest.mark.parametrize(
    ("out", "err", "told"),
    [("fit_5120.out", "fit_5120.err", False), ("fit.o77", "fit.e77", False), ("fit_5120.out", "fit_5133.err", True)],
)
def test_the_two_streams_of_one_job_are_one_log(tmp_path: Path, out: str, err: str, told: bool):
    for name, lines in ((out, LOADING), (err, ERROR)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        os.utime(tmp_path / name, (time.time() - 7200,) * 2)
    assert ("log-ends-in-startup" in graded(scan(discover(tmp_path)))) == told


RESTARTED = ["10:00:01 INFO Starting segmentation pipeline", "10:02:10 INFO Starting segmentation pipeline",
             "10:04:31 INFO Starting segmentation pipeline", "10:05:00 INFO Start training epoch 1",
             "10:40:52 INFO Starting segmentation pipeline", "10:41:20 INFO Start training epoch 1"]  # fmt: skip


def test_many_starts_of_which_none_logs_a_step_are_a_finding(tmp_path: Path):
    found = next(f for f in written(tmp_path, RESTARTED).findings if f.code == "starts-without-a-step")
    assert (str(found.severity), found.data["starts"], found.evidence[0].line) == ("S2", 4, 6)


@pytest.mark.parametrize(
    "lines",
    [
        [*RESTARTED, "10:59:00 INFO epoch 1 done"],
        [*RESTARTED, *steps(12)],
        [*RESTARTED, *ERROR],
        [line for line in RESTARTED if "epoch" not in line],
        RESTARTED[3:],
    ],
    ids=["it ends", "the last one trains", "an error says why", "no training", "started twice"],
)
def test_silent_where_a_start_says_more(lines: list[str], tmp_path: Path):
    assert "starts-without-a-step" not in graded(written(tmp_path, lines))


def test_a_log_that_stops_after_a_model_was_loaded_but_answers_nobody_is_one(tmp_path: Path):
    assert "log-ends-in-startup" in graded(written(tmp_path, [*LOADING[:-3], "Model weights loaded in 31.2 s"]))


MEETING = [*(f"0{i}:10:05 [worker {i}] torchrun nproc_per_node=4 of job 77" for i in range(8)),
           "08:10:09 init_process_group: rendezvous at 10.1.0.4:2950"]  # fmt: skip


def test_a_log_that_stops_where_processes_meet_is_no_kill_for_memory(tmp_path: Path):
    assert graded(written(tmp_path, MEETING)) == {"log-ends-at-meeting": "S2"}
    assert "log-ends-in-startup" in graded(written(tmp_path, [*LOADING[:-1], MEETING[-1]]))


def test_silent_while_the_log_is_written(tmp_path: Path):
    now = time.strftime("[%Y-%m-%d %H:%M:%S] ", time.localtime(time.time() - 100))
    lines = [now + line for line in LOADING]
    assert "log-ends-in-startup" not in graded(written(tmp_path, lines, age=100))
    assert "log-ends-in-startup" in graded(written(tmp_path, lines, age=7000))
    assert "log-ends-in-startup" not in graded(written(tmp_path, LOADING, age=0))


@pytest.mark.parametrize(
    ("values", "severity"),
    [
        ((3.1, 7.7), "S2"),
        ((3.2, 3.1, 3.1, 7.7, 7.9), "S1"),
        ((3.2, 3.1, 7.7, 3.1, 3.0), None),
        ((10.8, 36.0), None),
        ((3.1, 4.4), None),
        ((0.4, 1.1), None),
        ((3.1, 3.0, 2.9), None),
    ],
)
def test_a_few_pasted_lines_are_a_run(values: tuple[float, ...], severity: str | None, tmp_path: Path):
    report = written(tmp_path, [f"step {1200 + i} loss {v}" for i, v in enumerate(values)])
    assert graded(report).get("loss-spike") == severity


def test_a_check_with_too_few_points_is_not_clear(tmp_path: Path):
    report = written(tmp_path, steps(5))
    said = {c.name: c for c in report.checks}
    assert said["loss-plateau"].result == "too-short"
    assert "5 points, 100 are needed" in said["loss-plateau"].why
    assert said["loss-nonfinite"].result == "clear"
    assert "run-healthy" not in graded(report)
    long = {c.name: c.result for c in written(tmp_path, steps(120)).checks}
    assert long["loss-plateau"] == "clear"


def test_a_log_that_was_emptied_while_it_was_written_to_is_read_behind_the_hole(tmp_path: Path):
    file = tmp_path / "train.log"
    file.write_bytes(bytes(5_000) + "\n".join(steps(30)).encode())
    assert len(next(s for s in read_run(discover(file)).table if s.metric == "loss")) == 30
    file.write_bytes(bytes(5_000))
    with pytest.raises(TriageError, match="only NUL"):
        discover(file)


def dies(times: int, apart: int) -> list[str]:
    crash = "run.sh: line 1107: 29670{} Segmentation fault      (core dumped) python3 main.py"
    return [line for i in range(times) for line in (*steps(apart, apart * i), crash.format(10 + i))]


def test_a_crash_that_ends_one_start_after_the_other_is_what_is_wrong(tmp_path: Path):
    last = "[E614 ProcessGroupNCCL.cpp:629] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3)"
    found = graded(written(tmp_path, [*dies(4, 200), last]))
    assert (found["native-crash"], found["timeout-after-error"]) == ("S0", "S2")


def test_a_crash_of_all_ranks_at_once_that_was_survived_is_none(tmp_path: Path):
    assert graded(written(tmp_path, [*dies(4, 2), *steps(300, 100)]))["native-crash"] == "S3"


DISK = [
    "Traceback (most recent call last):",
    '  File "t.py", line 9, in <module>',
    "    torch.save(state, path)",
    "RuntimeError: [enforce fail at inline_container.cc:337] . unexpected pos 1630322880 vs 1630322768",
]


def test_a_program_that_dies_of_the_same_in_start_after_start_is_not_taken_for_mended(tmp_path: Path):
    losses = [f"{{'loss': {0.5 - i / 100:.4f}, 'learning_rate': 1e-05, 'epoch': {i}.0}}" for i in range(1, 4)]
    report = written(tmp_path, [*losses, *DISK, *losses, *DISK, *losses, *DISK, *losses, *losses])
    assert graded(report)["checkpoint-save-error"] == "S0"
    once = tmp_path / "once"
    once.mkdir()
    assert graded(written(once, [*losses, *DISK, *losses, *losses]))["checkpoint-save-error"] in ("S2", "S3")


ENGINE = ["INFO launching the engine, world_size 1", "INFO Starting to load model m", "INFO Loading weights took 4.8 s",
          "INFO torch.compile takes 82.6 s in total", "INFO Capturing CUDA graphs took 2173 s",
          "INFO Supported tasks: ['generate']", "Warming up (a small batch)", "Running the benchmark..."]  # fmt: skip
SUMMARY = ["=" * 30, "BENCHMARK RESULTS", "=" * 30, "Total time: 2241.98 s", "Throughput: {} tokens/s", "=" * 30]


def test_a_log_that_goes_on_to_results_did_not_end_in_its_start(tmp_path: Path):
    assert "log-ends-in-startup" in graded(written(tmp_path, ENGINE))
    results = graded(written(tmp_path, [*ENGINE, *(line.format("2.28") for line in SUMMARY)]))
    assert "log-ends-in-startup" not in results
    assert results["decode-slow"] == "S2"


def test_a_benchmark_of_usual_speed_is_not_slow(tmp_path: Path):
    assert "decode-slow" not in graded(written(tmp_path, [*ENGINE, *(line.format("231.4") for line in SUMMARY)]))


def test_a_server_at_rest_is_not_slow(tmp_path: Path):
    rest = ["metrics: Avg generation throughput: 0.4 tokens/s, Running: 0 reqs",
            "SpecDecoding metrics: Accepted throughput: 0.02 tokens/s, Drafted throughput: 0.02 tokens/s"]  # fmt: skip
    assert "decode-slow" not in graded(written(tmp_path, [*ENGINE, *(line.format("31.4") for line in SUMMARY), *rest]))
    assert "decode-slow" not in graded(written(tmp_path, [*ENGINE, *rest]))


@pytest.mark.parametrize(("errors", "told"), [("job_41.err", False), ("job_42.err", True), ("other.err", True)])
def test_the_errors_of_a_job_explain_the_end_of_its_output(tmp_path: Path, errors: str, told: bool):
    (tmp_path / errors).write_text("\n".join(["begin", *DISK[:3], "ValueError: mapping of 3 parts for 2 cards"]) + "\n")
    (tmp_path / "job_41.out").write_text("\n".join(LOADING) + "\n")
    for name in (errors, "job_41.out"):
        os.utime(tmp_path / name, (0, 0))
    found = scan(discover(tmp_path)).findings
    assert ("log-ends-in-startup" in [f.code for f in found]) == told


def test_a_step_is_not_counted_from_sums_by_the_interval_of_the_log(tmp_path: Path):
    lines = [line for i in range(5) for line in summed(1.5 - i / 9, 0.4)]
    logged = [f"{{'loss': {3 - i / 10:.2f}, 'learning_rate': 0.001, 'epoch': {(i + 1) / 10}}}" for i in range(20)]
    for some, told in ((lines, "line"), (logged, "step")):
        (tmp_path / "train.log").write_text("\n".join(some) + "\n")
        table, _ = read_series(discover(tmp_path), lambda: 25)
        assert {s.step_is for s in table} == {told}
