"""What is said on standard error while something takes long, where no terminal draws a bar."""

import time

import pytest

from triage.ui import output


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(output, "FIRST", 0.05)
    monkeypatch.setattr(output, "OFTEN", 5.0)


def test_what_takes_long_says_what_it_does_in_a_plain_line(quick, capsys):
    with output.progress("reading") as step:
        step.file("train.jsonl")
        time.sleep(0.3)
    out, errors = capsys.readouterr()
    assert (out, errors.splitlines()) == ("", ["triage: reading train.jsonl, 0 s"])


def test_what_is_done_soon_says_nothing(capsys):
    with output.progress("reading") as step:
        step.file("train.jsonl")
    assert capsys.readouterr().err == ""


def test_it_ends_with_what_it_tells_of(quick, capsys):
    with pytest.raises(ZeroDivisionError), output.progress("comparing"):
        print(1 // 0)
    time.sleep(0.2)
    assert capsys.readouterr().err == ""
