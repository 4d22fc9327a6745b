"""Measures that nobody knows by name and that turn NaN in the last training of a log."""

import pytest

from triage.tools.discover import discover
from triage.tools.findings import Severity
from triage.tools.logs.scan import scan


def training(form, n, bad=None, start=1):
    return "".join(form.format(s=s, v=f"{2 / s + 0.5:.4f}" if bad is None or s < bad else "nan", w=f"{1 + 1 / s:.3f}")
                   for s in range(start, n + 1))  # fmt: skip


NAMED = "step {s} loss {v}\n"
OBJECTIVE = "it={s} lr=3e-4 Obj={v} cyc={v} adv={w}\n"
JSON = '{{"step": {s}, "lr": 3e-4, "rec_term": {v}, "cyc_term": {v}, "idt": {w}}}\n'
PARTS = "[train] iter {s}: cyc {v} idt {v} adv {w}\n"
VALID = "step {s} loss {w} val_fid {v} val_is {v}\n"
FINITE = "step {s} loss {w} cyc {v} idt {v}\n"


def told(tmp_path, text, name="train.log"):
    (tmp_path / name).write_text(text)
    return [f for f in scan(discover(tmp_path)).findings if f.code in ("loss-nonfinite", "measures-turn-nan")]


@pytest.mark.parametrize(
    ("text", "name", "code", "grade"),
    [
        (training(NAMED, 40) + training(OBJECTIVE, 60, 30), "train.log", "loss-nonfinite", Severity.S1),
        (training(JSON, 40, 21).replace("nan", "NaN"), "metrics.jsonl", "measures-turn-nan", Severity.S2),
        (training(PARTS, 40, 21), "out.log", "measures-turn-nan", Severity.S2),
    ],
)
def test_measures_that_turn_nan_are_told_whatever_their_names(tmp_path, text, name, code, grade):
    (one,) = told(tmp_path, text, name)
    assert (one.code, one.severity) == (code, grade)


@pytest.mark.parametrize(
    "text",
    [
        training(OBJECTIVE, 60),
        training(PARTS, 60, 60),
        training(VALID, 40, 21),
        training(FINITE, 40, 21),
    ],
    ids=["finite", "its last point alone", "what is held out", "beside a loss that is a number"],
)
def test_a_sound_training_is_not_alarmed(tmp_path, text):
    assert told(tmp_path, text) == []


def test_a_broken_training_with_a_later_one_behind_it_is_a_note(tmp_path):
    (one,) = told(tmp_path, training(PARTS, 40, 20) + training(PARTS, 60))
    assert one.severity == Severity.S3
