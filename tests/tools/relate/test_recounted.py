"""Scores counted again: answers and right answers paired by their key, and by their place."""

import json

import pytest

from triage.agent.session import ask
from triage.tools.documents.stated import Stated
from triage.tools.relate.scores.recounted import recounted
from triage.tools.tables.read import read_tables

NUMBERS = [f"{(i * 7919) % 1009}" for i in range(60)]


def answered(path, wrong):
    given = [n if i < 60 - wrong else f"{i + 5000}" for i, n in enumerate(NUMBERS)]
    rows = [{"qid": f"q{i}", "question": f"what is {i}?", "answer": answer} for i, answer in enumerate(given)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def in_order(path, order):
    path.write_text("qid,gold\n" + "".join(f"q{i},{NUMBERS[i]}\n" for i in sorted(range(60), key=order)))


def made(tmp_path, order, reported, wrong=3):
    """60 answers, the last `wrong` of them wrong, beside right answers that stand in `order`."""
    answered(tmp_path / "answers.jsonl", wrong)
    in_order(tmp_path / "gold.csv", order)
    tables = [t for name in ("answers.jsonl", "gold.csv") for t in read_tables(tmp_path / name, name)]
    return recounted(tables, [Stated("table.json", 2, "score", reported, f'"score": {reported}')])


@pytest.mark.parametrize("reported", ["0.0333", "3.33"])
def test_a_score_of_rows_in_another_order_is_told_with_both_figures(tmp_path, reported):
    """q0 and q1 stand where they belong in the order of strings, the others do not."""
    (found,) = made(tmp_path, lambda i: f"q{i}", reported)
    assert found.code == "rows-paired-by-place"
    assert found.data == {"by_key": pytest.approx(57 / 60), "by_place": pytest.approx(2 / 60), "rows": 60}


def test_rows_in_one_order_are_not(tmp_path):
    assert made(tmp_path, lambda i: i, "0.0333") == []


def test_a_score_that_nobody_reports_or_that_the_key_gives_is_not(tmp_path):
    assert made(tmp_path, lambda i: f"q{i}", "0.95") == []


def test_the_pairing_is_the_cause_and_no_duplicates_of_a_training(tmp_path):
    """Three models answer one list of questions: nobody trains on all of it, and what they share is no duplicate."""
    run = tmp_path / "run"
    run.mkdir()
    for name, wrong in (("base", 20), ("tuned", 3), ("other", 9)):
        answered(run / f"answers_{name}.jsonl", wrong)
    in_order(run / "gold.csv", lambda i: f"q{i}")
    (run / "table.json").write_text(json.dumps({"tuned": {"n": 60, "score": 0.0333}}, indent=1))
    found = ask("our score is tiny, why?", [run]).diagnosis
    assert found.top.entry.id == "eval-metrics-empty"
    assert not {"exact-duplicates", "group-identical"} & {f.code for f in found.findings}
