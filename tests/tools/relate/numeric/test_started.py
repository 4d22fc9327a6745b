"""First losses far above guessing."""

import numpy as np
import pytest

from triage.tools.documents.stated import Stated
from triage.tools.relate.line import Line
from triage.tools.relate.numeric.started import started
from triage.tools.settings import Settings
from triage.tools.tables.read import read_tables


def line(first, last, file="b.log", at=0, n=30):
    return Line(
        "loss", "loss", file, np.arange(at, at + n, dtype=float), np.linspace(first, last, n), np.arange(1, n + 1)
    )


def said(**values):
    return [Stated("c.yaml", i, key, value, f"{key}: {value}") for i, (key, value) in enumerate(values.items(), 1)]


def codes(tmp_path, lines, stated, text="", name="t.csv"):
    tables = []
    if text:
        (tmp_path / name).write_text(text)
        tables = read_tables(tmp_path / name, name)
    return {(f.code, str(f.severity)) for f in started(lines, tables, Settings(), stated)}


@pytest.mark.parametrize(("lines", "stated", "text"), [
    ([line(95, 40), line(10.4, 6, "a.log")], said(vocab_size="32000"), ""),
    ([line(61, 58)], said(n_vocab="50257"), "eta,first_loss,later\n1e-3,61.0,58\n1e-4,61.0,60\n"),
    ([line(200, 90)], said(词表="64000"), ""),
    ([line(200, 90)], said(vocab="64000"), "what,value\nstd of logits,31.5\nstd of h,1.0\n"),
])  # fmt: skip
def test_a_high_start_is_told(tmp_path, lines, stated, text):
    if "词表" in [s.key for s in stated]:
        assert codes(tmp_path, lines, stated) == {("starts-above-guessing", "S3")}  # nothing else says so
        return
    found = codes(tmp_path, lines, stated, text)
    assert ("starts-above-guessing", "S2") in found
    assert (("logits-large-at-start", "S2") in found) == ("logits" in text)


@pytest.mark.parametrize(("lines", "stated", "text"), [
    ([line(10.9, 6)], said(vocab_size="50257"), ""),  # healthy
    ([line(83, 40), line(10.4, 6, "a.log")], said(vocab_size="32000", grad_accum="8"), ""),  # a sum
    ([line(95, 40), line(10.4, 6, "a.log")], said(width="32000"), ""),  # no vocabulary
    ([line(95, 40, at=5000), line(10.4, 6, "a.log")], said(vocab_size="32000"), ""),  # not the start
    ([line(95, 40, n=2)], said(vocab_size="32000"), ""),  # too few
    ([line(12, 4)], said(vocab_size="32000"), "what,value\nstd of logits,31.5\n"),  # a trained model is sure of itself
])  # fmt: skip
def test_anything_else_is_silent(tmp_path, lines, stated, text):
    assert not codes(tmp_path, lines, stated, text)


@pytest.mark.parametrize(
    ("lines", "stated"),
    [([line(118, 6.2)], said(vocab_size="32000")), ([line(61, 3.1)], said(n_vocab="151936"))],
)
def test_a_start_that_no_sum_explains_is_beyond_doubt(tmp_path, lines, stated):
    assert codes(tmp_path, lines, stated) == {("starts-above-guessing", "S2")}


@pytest.mark.parametrize(
    ("lines", "stated"),
    [([line(31.1, 7.5)], said(vocab_size="32000")), ([line(84, 24)], said(vocab_size="32000"))],
)
def test_a_start_that_may_be_a_sum_is_a_note(tmp_path, lines, stated):
    assert codes(tmp_path, lines, stated) <= {("starts-above-guessing", "S3")}


def got_over(first, last, n=200, soon=4):
    values = np.r_[np.linspace(first, last * 2, soon), np.linspace(last * 1.5, last, n - soon)]
    return Line("loss", "loss", "b.log", np.arange(n, dtype=float), values, np.arange(1, n + 1))


@pytest.mark.parametrize(
    ("one", "words", "told"),
    [
        (got_over(186, 2.8), "16000", False),
        (got_over(90, 3.3), "128256", False),
        (got_over(186, 2.8, soon=60), "16000", True),  # it takes a third of the run
        (got_over(186, 7.9), "16000", True),  # and ends little below guessing
    ],
)
def test_a_start_that_is_soon_got_over_is_none(tmp_path, one, words, told):
    assert bool(codes(tmp_path, [one], said(vocab_size=words))) is told
    if not told:
        assert codes(tmp_path, [one, line(10.0, 6, "a.log")], said(vocab_size=words))  # another run begins at guessing
