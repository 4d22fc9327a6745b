"""A run that stopped without a word, and records of machines that were at rest before it."""

import pytest
from making import fill

from triage.agent.session import ask

LOG = "".join(f"step {50 * i} loss {1.2 + 2 / (1 + i / 9) + 0.02 * (i * 7 % 5):.4f}\n" for i in range(1, 200))
SMI = "time,host,gpu_mem_gb,gpu_util\n" + "".join(
    f"{h:02d}:{m:02d},w{n},{40 + n + (h * m) % 2 / 10},{93 + (h + m + n) % 4}\n"
    for h in range(1, 9) for m in (0, 30) for n in range(4)
)  # fmt: skip
GONE = ["the process was gone this morning, out of memory or the network?", "进程自己没了，是显存还是网络的问题？"]


def asked(folder, files, question=GONE[0]):
    return ask(question, [fill(folder, files)]).diagnosis


@pytest.mark.parametrize("question", GONE)
@pytest.mark.parametrize(
    "launch",
    [
        "nohup torchrun --nproc_per_node 8 fit.py --lr 1e-5 > console.log &\n",
        "#!/bin/bash\nsetsid python train.py --conf a.yaml \\\n   --steps 90000 >> console.log\n",
        "torchrun --nproc_per_node 4 fit.py 2>/dev/null | tee console.log\n",
    ],
)
def test_what_would_tell_was_not_kept(tmp_path, launch, question):
    found = asked(tmp_path, {"console.log": LOG, "go.sh": launch, "smi.csv": SMI}, question)
    assert (found.state, [h.entry.id for h in found.hypotheses]) == ("inconclusive", ["insufficient-logging"])
    (one,) = [f for f in found.findings if f.code == "nothing-tells-the-end"]
    assert one.data["step"] == 9950
    assert {e.file for e in one.evidence} == {"console.log", "go.sh", "smi.csv"}
    assert found.top.status == "possible"


@pytest.mark.parametrize(
    "launch",
    [
        "nohup torchrun --nproc_per_node 8 fit.py --lr 1e-5 > console.log 2>&1 &\n",
        "nohup python train.py &> console.log &\n",
        "python train.py > console.log\n",  # of a job: its scheduler keeps the errors
        "# nohup python train.py > console.log &\npython train.py |& tee console.log\n",
    ],
)
def test_a_launch_that_keeps_its_errors_says_nothing(tmp_path, launch):
    codes = {f.code for f in asked(tmp_path, {"console.log": LOG, "go.sh": launch}).findings}
    assert not codes & {"nothing-tells-the-end", "errors-not-kept", "output-thrown-away"}


def test_an_error_that_was_found_stands_before_what_was_not_kept(tmp_path):
    died = (
        LOG + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
    )
    died += "79.15 GiB of which 1.06 GiB is free.\n"
    found = asked(tmp_path, {"console.log": died, "go.sh": "nohup python t.py > console.log &\n"})
    assert found.top.entry.id != "insufficient-logging"


def test_another_question_is_not_answered_by_what_was_not_kept(tmp_path):
    launch = "nohup python train.py > console.log &\n"
    assert asked(tmp_path, {"console.log": LOG, "go.sh": launch}, "is the loss fine so far?").state == "healthy"


def rest(begin=(), end=(), zero="w9"):
    """A record of four machines every half hour, at rest at these hours."""
    off = (*begin, *end)
    rows = [f"{h:02d}:{m:02d},w{n},{0.3 if h in off else 61 + n / 9},{0 if h in off else 95 + (h + n) % 3}"
            for h in range(1, 20) for m in (0, 30) for n in range(4)]  # fmt: skip
    if zero != "w9":
        rows = [r.rsplit(",", 1)[0] + ",0" if f",{zero}," in r and r.startswith("07") else r for r in rows]
    return "time,host,gpu_mem_gb,gpu_util\n" + "\n".join(rows) + "\n"


@pytest.mark.parametrize(("text", "told"), [(rest((1,)), False), (rest((), (19,)), False), (rest(zero="w2"), True)])
def test_machines_at_rest_before_the_start_and_after_the_end_do_not_stand_out(tmp_path, text, told):
    found = asked(tmp_path, {"console.log": LOG, "machines.csv": text})
    assert ("rows-stand-out" in {f.code for f in found.findings}) is told


EXITED, STEP = (
    "srun: error: q7: task 5: Exited with exit code 1\n",
    "slurmstepd: error: *** STEP 61.0 ON q2 CANCELLED{} ***\n",
)
LOUD, QUIET = "srun python fit.py >> console.log\n", "srun python fit.py >> console.log 2>/dev/null\n"


@pytest.mark.parametrize(
    "reports",
    [
        {"slurm-61.out": EXITED + STEP.format("") + "srun: error: q2: tasks 0-3: Terminated\n"},
        {"job.err": EXITED + STEP.format(" AT 2026-05-02T03:11:08")},
        {"ds.out": "[2026-05-01 02:03:04] [ERROR] [launch.py:325:k] ['python', 'fit.py'] exits with return code = 1\n"},
    ],
)
def test_a_launcher_that_names_no_error_tells_the_end_and_no_cause(tmp_path, reports):
    found = asked(tmp_path, {"console.log": LOG, "go.sh": QUIET, **reports}, "what is the root cause?")
    assert (found.state, [h.entry.id for h in found.hypotheses]) == ("inconclusive", ["insufficient-logging"])


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (EXITED + STEP.format(""), "step-ended-after-error"),
        (STEP.format(""), "job-cancelled"),
        (STEP.format(" AT 2026-05-02T03:11:08"), "job-cancelled"),
        (EXITED + STEP.format(" AT 2026-05-02T03:11:08 DUE TO TIME LIMIT"), "job-cancelled"),
    ],
)
def test_a_step_that_is_ended_after_a_task_failed_is_not_stopped_from_outside(tmp_path, said, code):
    found = asked(tmp_path, {"console.log": LOG, "go.sh": LOUD, "slurm.out": said})
    assert {f.code for f in found.findings} & {"job-cancelled", "step-ended-after-error"} == {code}
    leads = found.top is not None and found.top.entry.id == "job-killed-externally"
    assert leads == (code == "job-cancelled")
