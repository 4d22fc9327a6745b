"""A run that is still going on: its log grows while it is read, or was written in this minute and says so itself."""

import os
from datetime import datetime, timedelta

import pytest

from triage.tools.discover import discover
from triage.tools.logs.ends.going_on import sizes, still_written
from triage.tools.logs.scan import read_run

HOUR = 3600


def steps(n, at=None, form="step {s} loss {v:.3f} grad_norm 0.7"):
    """Lines of a log; with a clock, one a second up to `at`."""
    lines = []
    for s in range(1, n + 1):
        clock = f"{datetime.fromtimestamp(at) - timedelta(seconds=n - s):%Y-%m-%d %H:%M:%S} " if at else ""
        lines.append(clock + form.format(s=s, v=2 - s / 200))
    return "\n".join(lines) + "\n"


def looked(folder, now, grows=None):
    run = discover(folder)
    before = sizes(run)
    read = read_run(run)
    for name, text in (grows or {}).items():
        with (folder / name).open("a") as file:
            file.write(text)
    return {f.code: f for f in still_written(run, before, read.texts, read.table, now).findings}


def write(folder, now, log_age, config_age, log):
    for name, text, age in (("train.log", log, log_age), ("args.yaml", "learning_rate: 1.0e-4\n", config_age)):
        (folder / name).write_text(text)
        os.utime(folder / name, (now - age, now - age))


@pytest.mark.parametrize("form", ["step {s} loss {v:.3f} grad_norm 0.7", '{{"step": {s}, "loss": {v:.3f}}}'])
def test_a_log_that_grew_while_it_was_read(tmp_path, form):
    (tmp_path / "train.log").write_text(steps(40, form=form))
    found = looked(tmp_path, 2e9, {"train.log": "step 41 loss 1.7\n"})["log-still-written"]
    assert found.severity == "S3"
    assert found.data == {"line": 40, "step": 40}
    assert "17 bytes were added" in found.message


@pytest.mark.parametrize(("age", "clock"), [(20, 25), (5, 300)])
def test_a_log_of_this_minute_whose_clock_says_the_same(tmp_path, age, clock):
    now = datetime(2026, 3, 4, 12).timestamp()
    write(tmp_path, now, age, age, steps(40, now - clock))
    assert "last minute" in looked(tmp_path, now)["log-still-written"].message


def test_a_log_of_this_minute_in_an_older_folder(tmp_path):
    now = datetime(2026, 3, 4, 12).timestamp()
    write(tmp_path, now, 10, 5 * HOUR, steps(40))
    assert "log-still-written" in looked(tmp_path, now)


@pytest.mark.parametrize(("ages", "clock", "end"), [
    ((10, 10), None, ""), ((10, 10), 8 * HOUR, ""), ((HOUR, 9 * HOUR), None, ""), ((10, 5 * HOUR), 30 * HOUR, ""),
    ((10, 5 * HOUR), None, "Training completed. Do not forget to share your model\n"),
], ids=["a-copy", "an-old-clock", "an-hour-ago", "old-clock-in-an-old-folder", "over"])  # fmt: skip
def test_a_copy_and_a_run_that_is_over_are_silent(tmp_path, ages, clock, end):
    now = datetime(2026, 3, 4, 12).timestamp()
    write(tmp_path, now, *ages, steps(40, now - clock if clock else None) + end)
    assert not looked(tmp_path, now)
