"""Rows that carry an error of the program: told where they are a good part, and never where a field names mistakes."""

import csv
import json

import pytest

from triage.tools.relate.texts.troubled import failed_rows
from triage.tools.tables.read import read_tables


def told(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return [
        (f.code, f.data["failed"], f.data["rows"]) for t in read_tables(tmp_path / name, name) for f in failed_rows(t)
    ]


def lines(rows):
    return "\n".join(json.dumps(r) for r in rows) + "\n"


def table(tmp_path, rows):
    with (tmp_path / "x.csv").open("w", newline="") as file:
        out = csv.DictWriter(file, rows[0].keys())
        out.writeheader()
        out.writerows(rows)
    return (tmp_path / "x.csv").read_text()


LATE = "TIMEOUT: Command timed out after {}s: python train.py --books {}.txt"


def test_trials_most_of_which_timed_out(tmp_path):
    rows = [{"type": "done", "iteration": i, "loss": 1.2} for i in range(24)]
    rows += [{"type": "train_error", "iteration": i, "error": LATE.format(3600, i)} for i in range(20)]
    assert told(tmp_path, "training_log.jsonl", lines(rows)) == [("rows-carry-errors", 20, 44)]


def test_requests_in_a_table(tmp_path):
    failed = "HTTPError: 503 service unavailable"
    rows = [{"id": i, "latency_s": 1 + i / 7, "error_message": "" if i % 3 else failed} for i in range(30)]
    assert told(tmp_path, "requests.csv", table(tmp_path, rows)) == [("rows-carry-errors", 10, 30)]


def test_chinese_field(tmp_path):
    rows = [{"编号": i, "回答": "好", "错误": "请求超时" if i < 6 else ""} for i in range(20)]
    assert told(tmp_path, "评测.jsonl", lines(rows)) == [("rows-carry-errors", 6, 20)]


def test_requests_of_which_only_the_answer_code_is_kept(tmp_path):
    rows = [{"id": i, "error": None if i % 8 else "HTTP 502"} for i in range(64)]
    assert told(tmp_path, "calls.jsonl", lines(rows)) == [("rows-carry-errors", 8, 64)]
    fine = [{"id": i, "error": "HTTP 200"} for i in range(64)]
    assert told(tmp_path, "fine.jsonl", lines(fine)) == []


@pytest.mark.parametrize(
    "error",
    [
        lambda i: "",  # none
        lambda i: "ConnectionError: timed out" if i < 2 else "",  # two of forty
        lambda i: ("wrong_entity", "missing_digit", "none")[i % 3],  # kinds of mistakes
        lambda i: 0.01 * i,  # a number
        lambda i: "False Negative (PASS->FAIL)",  # a verdict on an answer
        lambda i: "误报：判为失败",
    ],
    ids=["none", "few", "mistakes", "numbers", "verdicts", "verdicts, Chinese"],
)
def test_other_fields_of_that_name_are_silent(tmp_path, error):
    rows = [{"id": i, "prediction": "42", "error": error(i)} for i in range(40)]
    assert told(tmp_path, "preds.jsonl", lines(rows)) == []
