"""Fields that a configuration names against the records of the file that it names."""

import json

import pytest
from making import fill

from triage.tools.discover import discover
from triage.tools.operation.fields import check_fields

CONFIG = "datasets:\n  - path: train.jsonl\n    field_instruction: {}\n    field_output: {}\nlearning_rate: 0.00001\n"


def rows(**values) -> str:
    return "".join(json.dumps({k: f"{v} {i}" for k, v in values.items()}) + "\n" for i in range(30))


def codes(folder, files):
    return [f.code for f in check_fields(discover(fill(folder, files))).findings]


def test_none_of_the_fields_is_in_the_records(tmp_path):
    data = rows(query="what is it", reply="it is that")
    files = {"axolotl.yml": CONFIG.format("instruction", "output"), "train.jsonl": data}
    assert codes(tmp_path, files) == ["fields-not-in-records"]


@pytest.mark.parametrize(
    "files",
    [
        {"axolotl.yml": CONFIG.format("query", "reply"), "train.jsonl": rows(query="what", reply="that")},
        {"axolotl.yml": CONFIG.format("query", "missing"), "train.jsonl": rows(query="what", reply="that")},
        {"data.yaml": "question_field: Question\n", "metrics.jsonl": '{"step": 1, "loss": 2.0}\n' * 9},
        {
            "report.json": '{"set": "train.jsonl",\n"rows": [{"question": "Which fields identify a source?"}, '
            '{"question": "does a column index help"}]}',
            "train.jsonl": rows(query="what", reply="that"),
        },
        {
            "manifest.yaml": "file: train.jsonl\nkept_field: late_payment\n",
            "train.jsonl": '{"field": "late_payment", "question": "when"}\n' * 9,
        },
        {"data.yaml": "path: other.jsonl\ntext_column: body\n", "train.jsonl": rows(query="what", reply="that")},
    ],
    ids=["there", "one of them", "metrics", "prose", "a value of the records", "another file"],
)
def test_fields_that_are_there_and_files_that_are_not_named(tmp_path, files):
    assert not codes(tmp_path, files)
