"""What a proposal promised is in the verdict: its numbers, how far the run must go, what it said to leave alone."""

from pathlib import Path

import pytest
from judging import look_at

from triage.agent.acceptance.verify import Verdict, compare
from triage.agent.evidence import look
from triage.knowledge.runbook import load

WATCHDOG = (
    "[rank5]:[E ProcessGroupNCCL.cpp:616] [Rank 5] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=7001, OpType=ALLREDUCE, NumelIn=512, NumelOut=512, Timeout(ms)=900000) ran for 900040 milliseconds"
)


def laid(folder: Path, steps, end="", loss=lambda i: 2 + 40 / (i + 20), rate=None, **files: str):
    """A folder with a log of these steps, and files whose names have `__` for their dot."""
    folder.mkdir()
    lines = [
        f"step: {i} loss: {loss(i):.4f} grad_norm: {0.8 + i % 5 / 10:.2f}" + (f" lr: {rate(i):.3e}" if rate else "")
        for i in steps
    ]
    (folder / "train.log").write_text("\n".join([*lines, end]) + "\n")
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return look_at(folder)


def results(v: Verdict) -> dict[str, str]:
    return {j.criterion.metric: j.result for j in v.criteria}


HUNG = {"args__yaml": "learning_rate: 1.0e-4\nddp_timeout: 900\nseed: 3\n"}


@pytest.mark.parametrize(
    ("now", "seed", "verdict"),
    [
        (range(10, 431, 10), 4, "inconclusive"),  # before what the proposal asked for, 440
        (range(10, 601, 10), 4, "inconclusive"),  # past it, and not by as many steps again
        (range(430, 601, 10), 4, "inconclusive"),  # resumed where it hung
        (range(10, 901, 10), 4, "fixed"),
    ],
)
def test_a_run_that_hung_must_go_as_far_again(tmp_path, now, seed, verdict):
    before = laid(tmp_path / "was", range(10, 421, 10), WATCHDOG, **HUNG)
    after = laid(tmp_path / "now", now, args__yaml=HUNG["args__yaml"].replace("seed: 3", f"seed: {seed}"))
    v = compare(before, after, load().get("nccl-hang"))
    assert (v.verdict, results(v)["steps_reached"]) == (verdict, "pass" if now[-1] >= 440 else "no-observation")


def test_a_run_that_ends_as_planned_need_go_no_farther(tmp_path):
    plan = "learning_rate: 1.0e-4\nmax_steps: 700\nseed: {}\n"
    before = laid(tmp_path / "was", range(10, 421, 10), WATCHDOG, args__yaml=plan.format(3))
    after = laid(tmp_path / "now", range(10, 701, 10), args__yaml=plan.format(4))
    assert compare(before, after, load().get("nccl-hang")).verdict == "fixed"


def test_of_a_resumed_run_only_its_own_steps_count(tmp_path):
    before = laid(tmp_path / "was", range(5010, 5421, 10), WATCHDOG, **HUNG)
    after = laid(tmp_path / "now", range(5010, 5901, 10), args__yaml=HUNG["args__yaml"].replace("seed: 3", "seed: 4"))
    assert compare(before, after, load().get("nccl-hang")).verdict == "fixed"


@pytest.mark.parametrize("told", [None, ("nccl_timeout",)])
@pytest.mark.parametrize("last", [500, 900])
def test_what_the_proposal_said_to_leave_alone_is_not_credited(tmp_path, told, last):
    before = laid(tmp_path / "was", range(10, 421, 10), WATCHDOG, **HUNG)
    longer = HUNG["args__yaml"].replace("900", "7200")
    v = compare(
        before, laid(tmp_path / "now", range(10, last + 1, 10), args__yaml=longer), load().get("nccl-hang"), told
    )
    assert (v.verdict, v.why) == ("inconclusive", "what-stays-changed")
    assert [d.variable for d in v.changed] == ["nccl_timeout"]


def test_what_the_proposal_asks_for_itself_is_credited(tmp_path):
    before = laid(tmp_path / "was", range(10, 421, 10), WATCHDOG, **HUNG)
    after = laid(tmp_path / "now", range(10, 901, 10), args__yaml=HUNG["args__yaml"].replace("900", "7200"))
    assert compare(before, after, load().get("nccl-hang"), ()).verdict == "fixed"
    assert compare(before, after, load().get("rank0-work-timeout")).verdict == "fixed"


def floor(at):
    """A rate that reaches its floor at a step, and a loss that falls until then."""
    return {
        "rate": lambda i: max(2e-6, 2e-4 * (1 - i / at)),
        "loss": lambda i: 4 - min(i, at) / 700 + i % 3 / 200,
    }


def test_the_bound_of_a_finding_is_a_criterion_of_the_verdict(tmp_path):
    plan = "learning_rate: 2.0e-4\nlr_decay_steps: {}\nmax_steps: 2000\n"
    steps, asking = range(20, 2001, 20), load().get("lr-schedule-misconfig")
    sides = [
        look([laid(tmp_path / f"to{at}", steps, **floor(at), train__yaml=plan.format(at)).run.root])
        for at in (900, 1000, 2000)
    ]
    assert "lr-floor-early" in {f.code for f in sides[0].findings}
    late = compare(sides[0], sides[2], asking)
    assert results(late)["lr_floor_step"] == "pass"
    again = compare(sides[0], sides[1], asking)
    assert (again.verdict, results(again)["lr_floor_step"]) == ("not-fixed", "fail")


def test_what_counts_lines_must_go_as_far_as_the_lines_of_the_failed_run(tmp_path):
    saves = "[rank0] save: done in {} s, fs free {} TB"

    def lines(*took):
        return "\n".join(saves.format(s, 40 - i) for i, s in enumerate(took))

    longer = (41.0, 52.5, 66.0, 90.2, 140.3, 230.1, 390.7, 560.2)
    was = laid(tmp_path / "was", range(10, 421, 10), lines(*longer) + "\n" + WATCHDOG, **HUNG)
    now = laid(
        tmp_path / "now",
        range(10, 901, 10),
        lines(*(41 + i % 4 / 8 for i in range(9))),
        args__yaml=HUNG["args__yaml"] + "keep: 2\n",
    )
    done = [look([side.run.root]) for side in (was, now)]
    assert "work-nears-timeout" in {f.code for f in done[0].findings}
    v = compare(*done, load().get("rank0-work-timeout"))
    assert (v.verdict, results(v)["done"]) == ("fixed", "pass"), v.criteria
    later = HUNG["args__yaml"].replace("900", "7200")
    still = laid(tmp_path / "still", range(10, 901, 10), lines(*longer, 801.3), args__yaml=later)
    assert compare(done[0], look([still.run.root]), load().get("rank0-work-timeout")).verdict == "not-fixed"
