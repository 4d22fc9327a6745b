"""Clock times and steps are joined through the run's own lines, and not where nobody knows whose clock it is."""

import time

import pytest

from triage.tools.documents.clock import Clock, agree, read_clock, step_at, time_of

START = 1_714_694_400  # 2024-05-03 00:00


def log(steps: range, start: int = START, seconds: int = 10, form: str = "[{}] step {} loss 2.1") -> str:
    clocks = (time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(start + i * seconds)) for i in range(len(steps)))
    return "".join(form.format(clock, step) + "\n" for clock, step in zip(clocks, steps, strict=True))


def clock(folder, text: str, name: str = "train.log") -> Clock | None:
    (folder / name).write_text(text)
    return read_clock(folder / name, name)


@pytest.mark.parametrize(
    "form",
    [
        "[{}] step 1{} loss 2.1",
        "{},123 INFO iteration 1{}/ 50000 | lm loss: 2.1",
        '{{"time": "{}", "global_step": 1{}, "loss": 2.1}}',
        "{} - train - 步数：1{} 损失：2.1",
    ],
)
def test_lines_that_tell_both_make_a_clock(tmp_path, form):
    here = clock(tmp_path, log(range(100, 200), form=form))
    assert here is not None
    assert here.step(START + 500) == 1150
    assert here.time(1150) == START + 500
    assert here.step(START - 1) is None
    assert here.step(START + 100_000) is None


def test_between_two_lines_the_step_is_reckoned(tmp_path):
    here = clock(tmp_path, log(range(0, 10_000, 100)))
    assert here is not None
    assert here.step(START + 5) == 50
    assert here.time(50) == START + 5


def test_after_a_restart_the_time_is_that_of_the_last_attempt(tmp_path):
    here = clock(tmp_path, log(range(100)) + log(range(60, 160), START + 5000))
    assert here is not None
    assert here.step(START + 3000) == 99  # while it was down
    assert here.time(80) == START + 5200


def test_times_with_a_zone_are_true_times(tmp_path):
    text = "2024-05-03T08:00:00+08:00 step 1 loss 2\n2024-05-03T08:01:00+08:00 step 2 loss 2\n"
    assert clock(tmp_path, text) == Clock("train.log", (START, START + 60), (1, 2), True)
    epoch = f'{{"_timestamp": {START}.5, "_step": 1}}\n{{"_timestamp": {START + 60}.5, "_step": 2}}\n'
    assert clock(tmp_path, epoch) == Clock("train.log", (START + 0.5, START + 60.5), (1, 2), True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "step 1 loss 2\nstep 2 loss 2\n",
        "2024-05-03 00:00:00 starting\n2024-05-03 00:01:00 loading\n",
        "".join(log(range(i, i + 1), START + 10 * i - 3600 * (i % 2)) for i in range(50)),
        "2024-13-43 00:00:00 step 1\n2024-05-03 00:00:00 step 1\n",
    ],
    ids=["empty", "no times", "no steps", "two clocks in one file", "no dates"],
)  # fmt: skip
def test_what_tells_no_clock_has_none(tmp_path, text):
    assert clock(tmp_path, text) is None


def test_hosts_that_disagree_give_no_answer(tmp_path):
    one = clock(tmp_path, log(range(100)))
    late = clock(tmp_path, log(range(100), START + 8 * 3600))
    close = clock(tmp_path, log(range(100), START + 3))
    assert one is not None
    assert late is not None
    assert close is not None
    assert not agree([one, late])
    assert (step_at([one, late], START + 50), time_of([one, late], 5)) == (None, None)
    assert (step_at([one, close], START + 50), time_of([one, close], 5)) == (5, START + 50)


def test_another_attempt_is_no_other_clock(tmp_path):
    one = clock(tmp_path, log(range(100)))
    later = clock(tmp_path, log(range(60, 160), START + 5000))
    assert one is not None
    assert later is not None
    assert agree([one, later])
    assert (step_at([one, later], START + 50), step_at([one, later], START + 5100)) == (5, 70)


def test_a_large_log_is_read_in_places(tmp_path):
    here = clock(tmp_path, log(range(400_000), seconds=1))
    assert here is not None
    assert len(here.times) < 1000
    assert here.step(START + 200_000) == pytest.approx(200_000, abs=2)
