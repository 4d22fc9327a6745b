"""The numbers that a run's own findings ask of the next one."""

import subprocess
import sys
from pathlib import Path

import numpy as np

from triage.agent.acceptance import levels
from triage.agent.acceptance.demands import demands
from triage.agent.session import index
from triage.tools.catalogue import checks
from triage.tools.findings import Evidence, Finding, Severity
from triage.tools.logs.signatures import causes, holders, match, parts, phases
from triage.tools.logs.signatures.signature import CHECK
from triage.tools.series import Series, SeriesTable

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


def curve(metric, values, file="train.log", start=1, key=""):
    steps = np.arange(start, start + len(values))
    return Series(metric, key or metric, steps, np.array(values, float), np.arange(1, len(values) + 1), file)


def stopped(code, file="train.log", severity=Severity.S0):
    return Finding(code, severity, code, evidence=(Evidence(file, 90),))


def with_table(entry, table, *findings):
    return {c.metric: (c.is_, c.low if c.low is not None else c.high) for c in demands(BOOK[entry], findings, table)}


def test_a_training_that_stopped_must_get_beyond_that_step():
    table = SeriesTable((curve("loss", np.linspace(4, 2, 1000)),))
    assert with_table("nccl-hang", table, stopped("nccl-timeout"))["steps_reached"] == ("at-least", 1020)
    late = SeriesTable((curve("loss", np.linspace(4, 2, 1000), start=20_000),))
    assert with_table("collective-mismatch", late, stopped("nccl-timeout"))["steps_reached"] == ("at-least", 21_419)


def test_a_training_that_stopped_before_its_first_step_must_make_one():
    table = SeriesTable((curve("loss", np.linspace(4, 2, 500), file="last_week.log", key="loss_ctc"),))
    assert with_table("cuda-fork-init-error", table, stopped("cuda-fork-error"))["steps_reached"] == ("at-least", 1)


def test_a_server_or_a_note_asks_for_no_step():
    served = SeriesTable((curve("tokens_per_second", np.full(50, 900.0)),))
    assert "steps_reached" not in with_table("nccl-hang", served, stopped("nccl-timeout"))
    table = SeriesTable((curve("loss", np.linspace(4, 2, 1000)),))
    assert "steps_reached" not in with_table("nccl-hang", table, stopped("nccl-timeout", severity=Severity.S3))


def test_a_speed_that_is_complained_of_is_the_bound_of_the_next():
    slow = SeriesTable((curve("tokens_per_second", [200.0, 400, *[1000.0] * 40]),))
    assert with_table("comm-bottleneck", slow)["tokens_per_second"] == ("at-least", 1100.0)
    timed = SeriesTable((curve("step_time", [9.0, 5, *[2.2] * 40]),))
    assert with_table("comm-bottleneck", timed)["step_time"] == ("at-most", 2.0)


def test_a_speed_that_the_run_had_before_is_asked_for_and_no_more():
    fell = SeriesTable((curve("tokens_per_second", [900.0] * 40 + [500.0] * 30),))
    assert with_table("comm-bottleneck", fell)["tokens_per_second"] == ("at-least", 855.0)
    timed = SeriesTable((curve("step_time", [4.0] * 40 + [6.5] * 30),))
    assert with_table("gpu-throttling-straggler", timed)["step_time"] == ("at-most", 4.2)


def test_a_step_that_another_log_of_the_run_has_passed_is_no_criterion():
    one, two = (curve("loss", np.linspace(4, 2, 500), file=f, start=s) for f, s in (("a.log", 1), ("b.log", 480)))
    assert "steps_reached" not in with_table("nccl-hang", SeriesTable((one, two)), stopped("nccl-timeout", "a.log"))
    assert "steps_reached" in with_table("nccl-hang", SeriesTable((one, two)), stopped("nccl-timeout", "b.log"))


def test_an_entry_that_asks_for_no_speed_has_no_bound_of_it():
    slow = SeriesTable((curve("tokens_per_second", [1000.0] * 40),))
    assert with_table("loss-nan-high-lr", slow) == {}
    assert with_table("comm-bottleneck", SeriesTable((curve("tokens_per_second", [1000.0, 1000.0]),))) == {}


def test_a_floor_that_is_reached_early_must_come_near_the_end():
    early = found("lr-floor-early", at=1000.0, planned=9000.0)
    assert asked("lr-schedule-misconfig", early) == {"lr_floor_step": ("at-least", 5000)}


def test_a_loss_above_guessing_must_begin_there():
    high = found("starts-above-guessing", first=80.0, guessing=10.0)
    assert asked("bad-init", high) == {"first_loss": ("at-most", 11.0)}


def test_errors_of_a_log_that_other_checks_find_too_stop_no_run():
    modules = (causes, holders, match, parts, phases)
    logged = {code for module in modules for code in module.CODES}
    assert {code for code in logged if checks(code) != (CHECK,)} == levels.ELSEWHERE


def test_a_diagnosis_of_a_crash_imports_no_tool_that_it_did_not_use(tmp_path):
    run = Path(__file__).parents[2] / "evals" / "example" / "run-1"
    code = "import sys; from pathlib import Path; from triage.agent.conversation import Conversation\n"
    code += f"Conversation(Path({str(tmp_path)!r})).ask('loss is nan', [Path({str(run)!r})])\n"
    code += "print([m for m in sys.modules if m.startswith('triage.tools.code.rules')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr


STILL_AT = 2.4 + 1.6 * np.exp(-np.arange(600) / 40) + np.random.default_rng(2).normal(0, 0.02, 600)
FALLING = 2.0 + 2.0 * np.exp(-np.arange(600) / 400) + np.random.default_rng(2).normal(0, 0.02, 600)


def test_a_measure_that_stood_still_must_get_beyond_the_best_that_it_reached():
    kind, bound = with_table("weight-decay-misconfig", SeriesTable((curve("loss", STILL_AT),)))["loss"]
    assert kind == "at-most"
    assert 2.2 < bound < 2.4
    flat = 0.31 + np.random.default_rng(5).normal(0, 0.004, 300)
    kind, bound = with_table("engine-trainer-mismatch", SeriesTable((curve("reward", flat),)))["reward"]
    assert kind == "at-least"
    assert 0.31 < bound < 0.35


def test_a_measure_that_still_gets_better_and_one_without_a_level_give_no_bound():
    table = SeriesTable((curve("loss", FALLING),))
    assert "loss" not in with_table("weight-decay-misconfig", table)
    swinging = 3 + 2 * np.sign(np.sin(np.arange(600) / 30))
    assert "loss" not in with_table("weight-decay-misconfig", SeriesTable((curve("loss", swinging),)))
    assert "loss" not in with_table("weight-decay-misconfig", SeriesTable((curve("loss", STILL_AT[:30]),)))


def test_a_loss_that_jumped_at_a_restart_comes_back_to_where_it_was():
    jumped = found("loss-jump-on-resume", baseline=1.9, value=2.4)
    assert asked("resume-loss-jump", jumped)["loss"] == ("at-most", 1.95)
    back = found("loss-jump-on-resume", baseline=0.84, value=1.34)
    assert asked("resume-loss-jump", back)["loss"] == ("at-most", 0.89)
    assert "loss" not in asked("pii-in-data", jumped)
