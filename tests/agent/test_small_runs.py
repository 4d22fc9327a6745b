"""The shipped runbook on small runs: which entry leads, how firmly, and what is proposed."""

import json

import pytest

from triage.agent.answer import Answer
from triage.agent.propose import Nothing
from triage.agent.session import ask


def answer(tmp_path, question, **files) -> Answer:
    for name, text in files.items():
        (tmp_path / name.replace("__", ".")).write_text(text if isinstance(text, str) else json.dumps(text))
    return ask(question, [tmp_path])


def top(answer: Answer) -> tuple[str, str]:
    leader = answer.diagnosis.top
    return (leader.entry.id, leader.status) if leader else ("", "")


def training(points=60, rate=2e-5, loss=lambda i: 1 + 1 / (1 + i / 10)) -> str:
    """A log as transformers prints it, with a linear decay and a loss that falls in the usual way."""
    rows = (
        {
            "loss": round(loss(i) + 0.01 * (i * 7 % 5 - 2), 4),
            "grad_norm": 1.2 + 0.1 * (i % 3),
            "learning_rate": rate * (1 - i / points),
            "epoch": round(3 * i / points, 3),
        }
        for i in range(1, points + 1)
    )
    return "".join(f"{row}\n" for row in rows)


OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB\n"
)


@pytest.mark.parametrize(
    ("frame", "entry"),
    [
        ('torch/optim/adamw.py", line 147, in _init_group', "oom-optimizer-states"),
        ('transformers/trainer.py", line 4280, in evaluation_loop', "eval-loop-oom"),
    ],
)
def test_the_phase_of_an_out_of_memory_error_outweighs_the_words(tmp_path, frame, entry):
    log = training() + f'Traceback (most recent call last):\n  File "/x/{frame}\n    x\n{OOM}'
    assert top(answer(tmp_path, "are the activations too large?", train__log=log)) == (entry, "supported")


@pytest.mark.parametrize(
    "end", ["Killed\n", "  exitcode  : -9 (pid: 4414)\n", "command terminated with exit code 137\n"]
)
def test_a_bare_kill_supports_a_lack_of_host_memory_and_does_not_establish_it(tmp_path, end):
    killed = answer(tmp_path, "it died, gpu oom?", train__log=training() + end)
    assert top(killed) == ("host-memory-exhausted", "supported")


def test_a_bare_kill_leaves_open_whether_somebody_ended_the_job(tmp_path):
    killed = answer(tmp_path, "training stopped", train__log=training() + "Killed\n")
    assert top(killed) == ("host-memory-exhausted", "supported")
    assert killed.diagnosis.close
    assert killed.diagnosis.hypotheses[1].entry.id == "job-killed-externally"
    assert isinstance(killed.proposal, Nothing)


@pytest.mark.parametrize(
    "kernel",
    [
        "[ 1234.5] Out of memory: Killed process 4242 (python) total-vm:91234kB\n",
        "[ 1234.5] Memory cgroup out of memory: Killed process 4242 (python) total-vm:91234kB\n",
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=1.batch\n",
    ],
)
def test_the_kernels_own_line_establishes_a_lack_of_host_memory(tmp_path, kernel):
    killed = answer(tmp_path, "it died, gpu oom?", train__log=training() + "Killed\n", dmesg__log=kernel)
    assert top(killed) == ("host-memory-exhausted", "established")


def test_a_kill_with_the_schedulers_reason_is_no_lack_of_memory(tmp_path):
    end = "slurmstepd: error: *** JOB 123 ON n1 CANCELLED AT 2024-01-01T00:00:00 DUE TO TIME LIMIT ***\nKilled\n"
    assert top(answer(tmp_path, "it died, oom?", train__log=training() + end)) == (
        "job-killed-externally",
        "established",
    )


def spiked(back: bool) -> str:
    return training(150, loss=lambda i: 7 if 80 <= i < (84 if back else 999) else 1 + 1 / (1 + i / 10))


FULL = "OSError: [Errno 28] No space left on device: 'out/checkpoint-1500/optimizer.pt'\n"


def test_the_error_that_ends_a_run_leads_over_a_spike_that_the_run_survived(tmp_path):
    ended = answer(tmp_path, "loss spike killed the run", train__log=spiked(back=True) + FULL)
    assert top(ended)[0] == "checkpoint-save-failure"
    assert {f.code: f.severity for f in ended.diagnosis.findings}["loss-spike"] == "S2"


@pytest.mark.parametrize(
    ("back", "end"), [(False, FULL), (True, ""), (True, "RuntimeError: Loss is nan, stopping training\n")]
)
def test_a_spike_stays_serious_where_it_lasts_or_nothing_else_ends_the_run(tmp_path, back, end):
    ended = answer(tmp_path, "loss spike killed the run", train__log=spiked(back) + end)
    assert {f.code: f.severity for f in ended.diagnosis.findings}["loss-spike"] == "S1"


def test_a_learning_rate_of_zero_throughout_is_no_matter_of_the_schedules_length(tmp_path):
    still = answer(tmp_path, "loss does not fall, bad data?", train__log=training(120, rate=0, loss=lambda i: 2.3))
    assert top(still) == ("loss-stagnation", "supported")
    assert still.diagnosis.top.cause.id == "learning-rate-stays-zero"
    assert "learning rate" in still.proposal.new


def test_a_learning_rate_that_decayed_early_is_one(tmp_path):
    rows = [
        {
            "loss": 2.3 + 0.01 * (i * 7 % 5 - 2),
            "grad_norm": 1.2,
            "learning_rate": max(0.0, 2e-5 * (1 - i / 50)),
            "epoch": i / 100,
        }
        for i in range(120)
    ]
    decayed = answer(tmp_path, "loss does not fall any more", train__log="".join(f"{row}\n" for row in rows))
    assert decayed.diagnosis.top.cause.id in ("decayed-too-early", "schedule-too-short")


def test_a_loss_of_zero_alone_leads_to_a_check_and_not_to_a_longer_limit(tmp_path):
    zero = answer(
        tmp_path, "loss is 0", train__log="{'loss': 0.0, 'grad_norm': 0.0, 'learning_rate': 1e-05, 'epoch': 0.1}\n" * 60
    )
    assert top(zero)[0] == "all-labels-masked"
    assert isinstance(zero.proposal, Nothing)


REMAP = "[1.1] NVRM: Xid (PCI:0000:3b:00): 63, pid='<unknown>', Row Remapper: New row (0x1f2) marked for remapping\n"


def test_a_recorded_row_remapping_alone_condemns_no_card(tmp_path):
    fine = answer(tmp_path, "is the gpu broken?", train__log=training(), dmesg__log=REMAP)
    assert fine.diagnosis.state == "healthy"
    assert "memory-row-remapped" in fine.text


@pytest.mark.parametrize("number", [48, 64, 74, 79, 94, 95])
def test_a_row_remapping_beside_another_xid_is_a_hardware_fault(tmp_path, number):
    kernel = REMAP + f"[1.2] NVRM: Xid (PCI:0000:3b:00): {number}, pid=12, name=python\n"
    broken = answer(tmp_path, "is the gpu broken?", train__log=training(), dmesg__log=kernel)
    assert top(broken) == ("gpu-hardware-fault", "supported"), "one kind of line establishes nothing"
    assert broken.diagnosis.top.probability <= 0.97


def results(score, shots=5) -> dict:
    return {"results": {"mmlu": {"acc,none": score, "acc_stderr,none": 0.0036}}, "n-shot": {"mmlu": shots}}


@pytest.mark.parametrize(
    ("base", "after", "entry"),
    [
        (results(0.71), results(0.60), "catastrophic-forgetting"),
        (results(0.71), results(0.60, shots=0), "eval-harness-drift"),
    ],
)
def test_lost_points_are_forgetting_only_where_both_were_measured_alike(tmp_path, base, after, entry):
    lost = answer(tmp_path, "mmlu dropped after sft, forgetting?", base_results__json=base, results__json=after)
    assert top(lost) == (entry, "supported")


def test_a_score_at_chance_is_checked_first_and_not_called_forgetting(tmp_path):
    files = {"base_results__json": results(0.71), "results__json": results(0.251)}
    guess = answer(tmp_path, "mmlu is 25% after sft, catastrophic forgetting?", **files)
    assert top(guess)[0] != "catastrophic-forgetting"
    assert guess.diagnosis.close
    assert isinstance(guess.proposal, Nothing)


FRESH = "WARNING: optimizer.pt not found in out/checkpoint-1500, starting with a fresh optimizer\n"


def test_an_optimizer_that_starts_anew_on_resume_is_named(tmp_path):
    resumed = answer(tmp_path, "loss jumped, bad batch?", train__log=training(150) + FRESH + training(60))
    assert top(resumed) == ("resume-loss-jump", "supported")
    assert resumed.diagnosis.top.cause.id == "optimizer-state-missing"


def test_a_resume_that_loads_its_optimizer_is_not_blamed(tmp_path):
    loaded = "Loading optimizer state from out/checkpoint-1500/optimizer.pt\n"
    resumed = answer(tmp_path, "loss jumped, bad batch?", train__log=training(150) + loaded)
    assert resumed.diagnosis.state == "healthy"


def test_a_network_that_a_variable_switches_off_is_switched_on_by_it(tmp_path):
    variable = "NCCL_IB_DISABLE"
    launch = f"export {variable}=1\ntorchrun --nnodes 2 --nproc_per_node 8 train.py --learning_rate 1e-5 --bf16 True\n"
    slow = answer(tmp_path, "two nodes are very slow", launch__sh=launch)
    assert top(slow)[0] in ("comm-bottleneck", "network-fault")
    assert (slow.proposal.variable, slow.proposal.line) == (variable.lower(), 1)
    assert f"+export {variable}=0" in slow.proposal.patch


def test_a_few_points_and_a_question_that_names_nothing_get_neither_a_cause_nor_health(tmp_path):
    a = answer(tmp_path, "what is wrong", metrics__jsonl='{"step": 1, "loss": 2.0}\n{"step": 2, "lo')
    assert (a.diagnosis.state, a.diagnosis.hypotheses) == ("inconclusive", ())
    assert "too little to call the run healthy" in a.text


def test_an_error_that_no_entry_names_is_the_headline_and_no_far_fetched_entry(tmp_path):
    (tmp_path / "train.log").write_text(
        "step 1 loss 2.0\nTraceback (most recent call last):\n"
        '  File "train.py", line 7, in <module>\n    main()\nsoundfile.LibsndfileError: cannot open a.wav\n'
    )
    answer = ask("what went wrong with this run?", [tmp_path])
    assert answer.head[0].startswith("**The program stopped with an error that no entry of the runbook names**")
    assert "`soundfile.LibsndfileError: cannot open a.wav` (`train.log:5`)" in answer.head[0]
    assert "Read the lines above train.log:5" in answer.short


def test_a_question_that_names_no_failure_lists_none_for_a_run_that_shows_nothing(tmp_path):
    (tmp_path / "train.log").write_text("loading\nready\n" * 20)
    answer = ask("what went wrong with this run?", [tmp_path])
    assert answer.diagnosis.state == "inconclusive"
    assert answer.diagnosis.hypotheses == ()
