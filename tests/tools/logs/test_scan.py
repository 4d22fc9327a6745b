"""The scan of a run directory: findings, coverage, summary, Parquet, and what must not disturb it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from triage.tools.discover import discover
from triage.tools.findings import Severity
from triage.tools.logs.points.read import read_series
from triage.tools.logs.scan import scan, write_series
from triage.tools.run import Run


def lines(n: int, first: int = 1, bad: int | None = None) -> str:
    return "".join(
        f"step: {s} loss: {'nan' if bad and s >= bad else f'{8 - 5 * s / (first + n):.4f}'} "
        f"grad_norm: 1.{s % 7} lr: 0.0003\n"
        for s in range(first, first + n)
    )


def write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_report_of_a_run_that_ends_in_nan(tmp_path):
    write(tmp_path / "train.log", lines(60, bad=41))
    report = scan(discover(tmp_path))
    assert report.tool == "scan"
    first = report.findings[0]
    assert (first.code, first.data["first_step"], first.evidence[0].line) == ("loss-nonfinite", 41, 41)
    loss = report.as_json()["summary"]["series"]["loss"]
    assert {k: loss[k] for k in ("points", "first_step", "last_step", "first_nonfinite_step", "last")} == {
        "points": 60, "first_step": 1, "last_step": 60, "first_nonfinite_step": 41, "last": "nan",
    }  # fmt: skip
    json.dumps(report.as_json(), allow_nan=False)


BEGIN = "  Num examples = 16,000\n  Num Epochs = {epochs}\n  Total optimization steps = {total}\n"
BATCH = "  Total train batch size (w. parallel, distributed & accumulation) = {}\n"


@pytest.mark.parametrize(("total", "said"), [("3,000", True), ("60", False), ("61", False)])
def test_the_total_that_a_log_prints_is_its_plan(tmp_path, total, said):
    write(tmp_path / "train.log", BEGIN.format(epochs=3, total=total) + lines(60))
    assert ("log-ends-before-plan" in scan(discover(tmp_path)).codes()) == said


def test_a_log_that_says_it_is_done_or_prints_two_totals_does_not_end_early(tmp_path):
    done = (
        BEGIN.format(epochs=3, total=3000) + lines(60) + "{'train_runtime': 4012.3, 'train_loss': 1.09, 'epoch': 3.0}\n"
    )
    write(tmp_path / "train.log", done)
    assert "log-ends-before-plan" not in scan(discover(tmp_path)).codes()
    write(tmp_path / "train.log", BEGIN.format(epochs=3, total=3000) + BEGIN.format(epochs=3, total=60) + lines(60))
    assert "log-ends-before-plan" not in scan(discover(tmp_path)).codes()


@pytest.mark.parametrize(
    ("epochs", "batch", "last", "said"),
    [(3, None, 0.47, True), (3, None, 2.2, False), (1, None, 0.5, False), (1, 16, 0.5, True), (1, 16, 0.98, False)],
)
def test_a_log_without_step_numbers_is_held_against_its_epochs(tmp_path, epochs, batch, last, said):
    text = BEGIN.format(epochs=epochs, total=1000 * epochs) + (BATCH.format(batch) if batch else "")
    for i in range(1, 48):
        text += f"{{'loss': {2 + 1 / i + 0.01 * (i % 3):.4f}, 'grad_norm': 1.{i % 5}, 'epoch': {last * i / 47:.3f}}}\n"
    write(tmp_path / "train.log", text)
    assert ("log-ends-before-plan" in scan(discover(tmp_path)).codes()) == said


def test_healthy_run_is_said_to_be_healthy_and_checks_say_what_was_looked_at(tmp_path):
    write(tmp_path / "train.log", lines(60))
    report = scan(discover(tmp_path))
    assert "run-healthy" in report.codes()
    assert not [f for f in report.findings if f.severity != Severity.S3]
    results = {c.name: c.result for c in report.checks}
    assert results["error signatures"] == "clear"
    assert results["entropy-collapse"] == "not-applicable"


@pytest.mark.parametrize(("planned", "said"), [(None, False), (60, False), (60.4, False), (5000, True), (-1, False)])
def test_a_sound_log_that_ends_before_the_plan_says_so(tmp_path, planned, said):
    write(tmp_path / "train.log", lines(60))
    report = scan(discover(tmp_path), planned_steps=planned)
    assert ("log-ends-before-plan" in report.codes()) == said
    write(tmp_path / "train.log", lines(60, bad=41))
    failed = {f.code: f for f in scan(discover(tmp_path), planned_steps=planned).findings}
    assert ("log-ends-before-plan" in failed) == said
    assert not said or "no error" not in failed["log-ends-before-plan"].message


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("", "stopping_early: time_cap step:60/5000\nfinal val_loss:2.01\n", False),
        ("", "Early stopping triggered after 4 epochs without progress\nbest loss 2.2\n", False),
        ("", "验证损失不再下降，触发早停\n", False),
        ("    print(f'stopping_early: {reason}')\n", "", True),
        ("early_stopping: true\nEarly stopping patience: 5\n", "", True),
    ],
    ids=["time", "patience", "zh", "text of the program", "settings"],
)
def test_a_run_that_says_that_it_stopped_early_ended_so(tmp_path, before, after, said):
    write(tmp_path / "train.log", before + lines(60) + after)
    assert ("log-ends-before-plan" in scan(discover(tmp_path), planned_steps=5000).codes()) == said


def test_the_trainers_own_state_says_more_about_the_plan_than_a_script(tmp_path):
    steps = [{"step": s, "loss": 4 - s / 50, "epoch": s / 10} for s in range(2, 101, 2)]
    state = {"global_step": 100, "log_history": steps, "max_steps": 100}
    write(tmp_path / "trainer_state.json", json.dumps(state, indent=1))
    assert "log-ends-before-plan" not in scan(discover(tmp_path), planned_steps=10_000).codes()
    write(tmp_path / "trainer_state.json", json.dumps({**state, "max_steps": 5_000}, indent=1))
    assert "log-ends-before-plan" in scan(discover(tmp_path), planned_steps=100).codes()


def bar(done: int, total: str, name: str = "") -> str:
    return f"\r{name} 52%|#####     | {done}/{total} [1:14:40<1:08:46,  7.21s/it]"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Epoch 11/150\nEpoch 12/150\n", "epoch 12 of 150"),
        ("Epoch 12/150\nstep 30/40\nstep 40/40\n", "epoch 12 of 150"),
        ("Starting epoch 1 of 13\n", "epoch 1 of 13"),
        ("step 13 of 200\nstep 14 of 200\n", "step 14 of 200"),
        ("step 1,200/17,000\nstep 1,300/17,000\n", "step 1300 of 17000"),
        (bar(627, "1200") + bar(628, "1200") + "\n", "step 628 of 1200"),
        (bar(627, "1200") + bar(628, "1200") + "Killed\n", "step 628 of 1200"),
        ("Training finished\nEpoch 1/9\nEpoch 2/9\n", "epoch 2 of 9"),
    ],
)
def test_what_a_log_counts_shows_that_it_ends_early(tmp_path, text, said):
    write(tmp_path / "train.log", "loading\nstart\n" + text)
    note = next(f for f in scan(discover(tmp_path)).findings if f.code == "log-ends-before-plan")
    assert said in note.message
    assert note.severity == "S3"


@pytest.mark.parametrize(
    "text",
    [
        "Epoch 150/150\n",
        "Epoch 0/3\nEpoch 1/3\nEpoch 2/3\n",
        "Epoch 3/150\nEarly stopping at epoch 3\n",
        "Epoch 3/3\nstep 40/40\n",
        "step 150/200\nstep 199/200\n",
        "step 100/250\nstep 200/250\n",
        "step 20/200 stopping_early: out of time\n",
        "step 20/200\nSaved the model\n",
        bar(12, "58", "Loading shards:") + "\n",
        bar(12, "58") + bar(12, "58", "Capturing graphs:") + "\n",
        bar(12, "58") + "\nfirst part over\nnow serving\n",
        "Epoch 2/9\nTraining finished\n",
        "Training finished\n" + bar(12, "58") + "\n",
        "ratio 3/10 on 2025/01/02, attempt 1/3\n",
    ],
)
def test_counts_that_are_over_or_count_something_else_are_silent(tmp_path, text):
    write(tmp_path / "train.log", "loading\nstart\n" + text)
    assert "log-ends-before-plan" not in scan(discover(tmp_path)).codes()


def test_failure_in_the_text_and_survived_failure(tmp_path):
    oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n"
    write(tmp_path / "train.log", lines(30) + oom)
    assert {f.code: f.severity for f in scan(discover(tmp_path)).findings}["cuda-oom"] == Severity.S0
    write(tmp_path / "train.log", lines(30) + oom + lines(30, 31))
    assert {f.code: f.severity for f in scan(discover(tmp_path)).findings}["cuda-oom"] == Severity.S3


def test_exception_cut_off_by_the_watchdog_is_still_the_cause(tmp_path):
    text = (
        '  File "x/roc.py", line 54, in _compute\n    fps = _clf_curve(preds)\n'
        "          ^^^^^^^^^^[rank1]:[E1003 18:37:01] [Rank 1] Watchdog caught collective operation timeout: "
        "WorkNCCL()\n"
    )
    report = scan(discover(write(tmp_path / "train.log", text)))
    assert [f.code for f in report.findings][:2] == ["uncaught-exception", "timeout-after-error"]


def clocked(steps: int, silent_minutes: int) -> str:
    out = [f"[2025-01-01 10:{m:02d}:00] step: {m + 1} loss: {3 - m / 100:.3f}\n" for m in range(steps)]
    return "".join(out) + "".join(
        f"[2025-01-01 {11 + m // 60}:{m % 60:02d}:00] heartbeat: waiting\n" for m in range(silent_minutes)
    )


def test_log_that_goes_on_without_steps_is_a_hang(tmp_path):
    report = scan(discover(write(tmp_path / "train.log", clocked(50, 90))))
    assert "hang-no-progress" in report.codes()


@pytest.mark.parametrize("end", ["", "[2025-01-01 13:00:00] Training complete\n"])
def test_end_of_a_run_is_not_a_hang(tmp_path, end):
    text = clocked(50, 90) + end if end else clocked(50, 0)
    assert "hang-no-progress" not in scan(discover(write(tmp_path / "train.log", text))).codes()


@pytest.mark.parametrize(
    ("other", "end"),
    [
        ("rows read=3983 keep={}", "wrote the index"),
        ("file {} lang=zh ok=7 skipped=1", "wrote the index"),
        ("pruned {}", "all finished in 92 min"),
    ],
)
def test_a_log_whose_count_goes_on_in_other_words_or_that_says_it_is_done_is_no_hang(tmp_path, other, end):
    counts = "pruned" not in other
    later = "".join(
        f"[2025-01-01 11:{m:02d}:00] {f'step {51 + m} ' if counts else ''}{other.format(3400 + m % 9)}\n"
        for m in range(60)
    )
    text = clocked(50, 0) + later + f"[2025-01-01 12:{10 if counts else 50}:00] {end}\n"
    assert "hang-no-progress" not in scan(discover(write(tmp_path / "prep.log", text))).codes()


def test_a_heartbeat_that_counts_itself_is_no_progress(tmp_path):
    beats = "".join(f"[2025-01-01 {11 + m // 60}:{m % 60:02d}:00] step: {m + 1} heartbeat: 1.0\n" for m in range(90))
    assert "hang-no-progress" in scan(discover(write(tmp_path / "train.log", clocked(50, 0) + beats))).codes()


def test_empty_run_gives_an_empty_report(tmp_path):
    report = scan(Run(tmp_path))
    assert report.findings == ()
    assert {c.result for c in report.checks} == {"not-applicable"}


def test_series_are_written_as_parquet(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    table, _ = read_series(discover(write(tmp_path / "train.log", lines(20, bad=15))))
    write_series(table, tmp_path / "out.parquet")
    rows = [r for r in pq.read_table(tmp_path / "out.parquet").to_pylist() if r["metric"] == "loss"]
    assert [(r["step"], r["line"]) for r in rows] == [(s, s) for s in range(1, 21)]
    assert rows[-1]["value"] != rows[-1]["value"]


@pytest.mark.parametrize("junk", [b"\x00" * 5000, b"\xff\xfe\x00\x01" * 500, b"\r" * 9000, b"{" * 20000, b"nan\n" * 99])
def test_junk_is_never_a_crash(tmp_path, junk):
    (tmp_path / "train.log").write_bytes(junk)
    report = scan(discover(tmp_path))
    assert not [f for f in report.findings if f.severity == Severity.S0]


def codes_of(path: Path) -> dict[str, Severity]:
    return {f.code: f.severity for f in scan(discover(path)).findings}


def test_import_wrapper_is_the_echo_of_the_reason_below_it(tmp_path):
    text = (
        "(raylet) Traceback (most recent call last):\n"
        "RuntimeError: The actor with name WorkerDict failed to import on the worker. This may be because\n\n"
        "Traceback (most recent call last):\n    import flash_attn_2_cuda as flash_attn_gpu\n"
        "ImportError: /env/flash_attn_2_cuda.cpython-39-x86_64-linux-gnu.so: undefined symbol: _ZNK3c1011StorageImpl\n"
    )
    found = codes_of(write(tmp_path / "ray.log", text))
    assert found == {"binary-abi-mismatch": Severity.S0, "import-error": Severity.S2}


def test_launcher_report_is_the_echo_of_the_signal_at_its_end(tmp_path):
    text = (
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n" + "=" * 60 + "\ngrpo.py FAILED\n"
        "Root Cause (first observed failure):\n[0]:\n  time      : 2025-05-21\n  rank      : 0 (local_rank: 0)\n"
        "  exitcode  : {0} (pid: 14750)\n  error_file: <N/A>\n"
    )
    first = {-9: "killed-without-reason", -7: "shm-exhausted", -11: "native-crash"}
    for code, name in first.items():
        found = codes_of(write(tmp_path / "train.log", text.format(code)))
        assert found[name] in (Severity.S0, Severity.S1)
        assert found.get("uncaught-exception", Severity.S2) == Severity.S2


def test_watchdog_that_ends_on_another_error_is_no_timeout(tmp_path):
    text = (
        "[rank0]:[E ProcessGroupNCCL.cpp:1414] [PG 2 Rank 0] Process group watchdog thread terminated with exception: "
        "CUDA error: an illegal memory access was encountered\n"
    )
    assert codes_of(write(tmp_path / "vllm.log", text)) == {"cuda-illegal-access": Severity.S0}


def test_error_quoted_in_a_logged_request_is_no_failure(tmp_path):
    text = (
        "INFO:     Application startup complete.\nINFO 08-26 17:26:43 [logger.py:41] Received request chatcmpl-d0: "
        "prompt: '<|im_start|>user\\nIt printed: No available memory for the cache blocks', params: None\n"
    )
    assert codes_of(write(tmp_path / "vllm.log", text)) == {}


def test_critic_that_is_nan_from_the_start_is_found(tmp_path):
    row = "step:{} - critic/vf_loss:nan - critic/grad_norm:nan - actor/grad_norm:9.8 - critic/score/mean:0.6\n"
    found = codes_of(write(tmp_path / "ppo.log", row.format(1) + row.format(2)))
    assert found == {"metric-nonfinite": Severity.S1}


def test_log_lines_are_not_called_steps(tmp_path):
    line = "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.1}\n"
    first = scan(discover(write(tmp_path / "train.log", line * 3))).findings[0]
    assert "logged point 1" in first.message


def test_packed_log_that_breaks_off_is_analysed_and_named(tmp_path):
    import gzip
    import random

    noise = "".join(f"{random.Random(i).random()}\n" for i in range(30_000))
    packed = gzip.compress((lines(60, bad=41) + noise).encode())
    (tmp_path / "train.log.gz").write_bytes(packed[: len(packed) * 2 // 3])
    report = scan(discover(tmp_path))
    assert "loss-nonfinite" in report.codes()
    assert any(c.result == "failed" and "breaks off" in c.why for c in report.checks)


def test_a_log_in_which_no_metric_is_recognised_is_not_called_sound(tmp_path):
    text = "".join(f"2026-03-02 10:00:01 step={i} l=2.3|g=1.0\n" for i in range(50))
    report = scan(discover(write(tmp_path / "train.log", text)))
    assert [f.code for f in report.findings] == ["metrics-not-recognised"]
    assert report.findings[0].evidence[0].line == 1
    assert report.findings[0].data["lines"] == 50
    write(tmp_path / "train.log", text + "RuntimeError: CUDA out of memory.\n")
    assert scan(discover(tmp_path)).codes() == {"cuda-oom"}


def test_a_failure_inside_a_json_object_of_a_container_log_is_found(tmp_path):
    line = '{"log": "RuntimeError: CUDA out of memory.\\n", "stream": "stderr", "time": "2026-03-02T10:00:00Z"}\n'
    assert codes_of(write(tmp_path / "container.log", line)) == {"cuda-oom": Severity.S0}
    quoted = '{"prompt": "why", "message": "RuntimeError: CUDA out of memory."}\n'
    assert "cuda-oom" not in codes_of(write(tmp_path / "container.log", quoted))
