"""A stop that a later log of the same training has overcome is a note; one that nothing goes on from is not."""

import pytest

from triage.tools.discover import discover
from triage.tools.logs.scan import scan

STOPPED = {
    "job-cancelled": "slurmstepd: error: *** STEP 51.0 ON a3 CANCELLED AT 2026-04-03T04:12:44 DUE TO PREEMPTION ***\n",
    "node-lost": "slurmstepd: error: *** JOB 51 ON a3 CANCELLED AT 2026-04-03T04:12:44 DUE TO NODE FAILURE ***\n",
}


def steps(begin, end, form="step {s} loss {v:.4f} lr 1e-4 grad_norm 0.8"):
    return "".join(form.format(s=s, v=2.0 - s / 4000, e=s / 1000) + "\n" for s in range(begin, end, 10))


EPOCHS = "{{'loss': {v:.4f}, 'grad_norm': 0.8, 'learning_rate': 1e-05, 'epoch': {e:.2f}}}"


def graded(tmp_path, **logs):
    for name, text in logs.items():
        (tmp_path / f"{name}.out").write_text(text)
    return {f.code: f.severity for f in scan(discover(tmp_path)).findings}


@pytest.mark.parametrize("code", STOPPED)
@pytest.mark.parametrize("form", ["step {s} loss {v:.4f} lr 1e-4 grad_norm 0.8", EPOCHS], ids=["steps", "epochs"])
def test_the_next_job_goes_on_and_gets_further(tmp_path, code, form):
    found = graded(tmp_path, job_1=steps(10, 900, form) + STOPPED[code], job_2=steps(800, 1600, form))
    assert found[code] == "S3"


def test_a_chain_of_jobs_of_which_the_last_goes_on(tmp_path):
    jobs = {"a": steps(10, 500) + STOPPED["node-lost"], "b": steps(450, 900) + STOPPED["node-lost"]}
    assert graded(tmp_path, **jobs, c=steps(850, 1500))["node-lost"] == "S3"


@pytest.mark.parametrize("later", ["", steps(10, 700), steps(880, 905), steps(2000, 3000)],
                         ids=["none", "another-run", "no-further", "a-gap"])  # fmt: skip
def test_where_no_log_goes_on_it_is_the_end(tmp_path, later):
    logs = {"job_1": steps(10, 900) + STOPPED["job-cancelled"]} | ({"job_2": later} if later else {})
    assert graded(tmp_path, **logs)["job-cancelled"] == "S1"


def test_a_later_job_that_is_stopped_too_leaves_the_stop(tmp_path):
    logs = {"a": steps(10, 900) + STOPPED["job-cancelled"], "b": steps(850, 1500) + STOPPED["job-cancelled"]}
    assert graded(tmp_path, **logs)["job-cancelled"] == "S1"


def test_an_error_of_the_program_stays(tmp_path):
    oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    found = graded(tmp_path, a=steps(10, 900) + oom, b=steps(850, 1500))
    assert found["cuda-oom"] == "S0"


@pytest.mark.parametrize(
    ("worse", "healthy"), [(0.0, True), (0.4, False)], ids=["goes on falling", "ends above where it was"]
)
def test_the_end_of_a_job_in_two_logs_is_that_of_the_later_one(tmp_path, worse, healthy):
    (tmp_path / "conf.yaml").write_text("max_steps: 2400\n")
    later = "".join(f"step {s} loss {2.0 - s / 4000 + worse * min(1, (s - 1200) / 300):.4f}\n"
                    for s in range(1210, 2000, 10))  # fmt: skip
    for name, text in {"job_1.out": steps(10, 1201), "job_2.out": later}.items():
        (tmp_path / name).write_text(text)
    found = {f.code: f for f in scan(discover(tmp_path), planned_steps=2400).findings}
    assert "1990" in found["log-ends-before-plan"].message
    assert found["log-ends-before-plan"].evidence[0].file == "job_2.out"
    assert ("run-healthy" in found) is healthy


DRAINED = "[WARNING] Received 15 death signal on node r4 (drain), restarting worker group (restart 2/5)\n"


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        (steps(10, 900) + DRAINED + steps(700, 2000), "S3"),
        (steps(10, 900) + "got signal: 15\n" + steps(900, 2000), "S3"),
        (steps(10, 900) + DRAINED + steps(10, 400), "S2"),
        (steps(10, 900) + DRAINED + steps(700, 905), "S2"),
        (steps(10, 900) + DRAINED, "S1"),
        (steps(10, 900) + DRAINED + steps(800, 1000) + DRAINED + steps(900, 1100) + DRAINED + steps(1000, 2000), "S2"),
    ],
    ids=["behind it further", "another wording", "from the start", "no further", "the end", "time after time"],
)
def test_a_stop_that_the_same_log_goes_on_behind(tmp_path, text, grade):
    assert graded(tmp_path, run=text)["process-killed"] == grade


def test_how_many_steps_are_done_twice_is_told(tmp_path):
    (tmp_path / "run.out").write_text(steps(10, 900) + DRAINED + steps(700, 2000))
    [one] = [f for f in scan(discover(tmp_path)).findings if f.code == "process-killed"]
    assert "none is left out" in one.message
    assert one.data["twice"] == 190


@pytest.mark.parametrize(
    "form",
    ["2026-02-03 04:05:06,789 DEBUG TRAIN Batch {e}/{b} loss {v:.4f} loss_ctc {c:.4f} lr 0.0002 rank 0\n",
     "[{e},  {b}] loss: {v:.4f}\n"],
)  # fmt: skip
def test_batches_that_are_counted_anew_in_each_epoch_are_one_way(tmp_path, form):
    rows = [form.format(e=e, b=b, v=40 - 6 * e - b / 400, c=50 - 6 * e - b / 400)
            for e in range(5) for b in range(50, 2001, 50)]  # fmt: skip
    (tmp_path / "train.log").write_text("".join(rows))
    found = {f.code: f for f in scan(discover(tmp_path)).findings}
    assert "log-ends-before-plan" not in found
    assert found["run-healthy"].data["points"] == 200
