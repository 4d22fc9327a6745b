"""Answers judged one by one: number times weight of good and of bad belong together, by a log or by the data."""

import json

import pytest

from triage.tools.config.combine import read_settings
from triage.tools.data.between.thumbs import check_thumbs
from triage.tools.discover import discover


def found(tmp_path, **files):
    for name, text in files.items():
        (tmp_path / name.replace("__", ".")).write_text(text)
    run = discover(tmp_path)
    report = check_thumbs(run, read_settings(run)[0])
    return [f.data for f in report.findings], report.checks[0].result


TRL = "stage: kto\ntrainer: kto\nlearning_rate: 1.0e-6\nbeta: 0.2\n"
LOADED = "reading rows\n30110 rows: desirable 28000, undesirable 2110\nstep 1 loss 0.5\n"
ZH = "载入完成：正样本 900 条，负样本 21000 条\n"


def rows(good: int, bad: int) -> str:
    said = [True] * good + [False] * bad
    return "".join(json.dumps({"prompt": f"p{i}", "completion": "c", "kto_tag": s}) + "\n" for i, s in enumerate(said))


@pytest.mark.parametrize(
    ("files", "even"),
    [
        ({"run__yaml": TRL, "train__log": LOADED}, 13.3),
        ({"run__yaml": TRL, "train__log": ZH}, 23.3),
        ({"run__yaml": TRL + "undesirable_weight: 2.0\n", "train__jsonl": rows(1900, 100)}, 19.0),
    ],
    ids=("log", "zh-the-good-are-rare", "data"),
)
def test_a_kind_that_is_outweighed_is_told_with_the_weight_that_evens_it(tmp_path, files, even):
    ((data,), result) = found(tmp_path, **files)
    assert (result, round(data["even"], 1)) == ("found", even)


@pytest.mark.parametrize(
    ("files", "result"),
    [
        ({"run__yaml": TRL, "train__jsonl": rows(700, 500)}, "clear"),
        ({"run__yaml": TRL + "undesirable_weight: 12.0\n", "train__log": LOADED}, "clear"),
        ({"run__yaml": "stage: sft\nlearning_rate: 1.0e-5\n", "train__jsonl": rows(1900, 100)}, "not-applicable"),
        ({"run__yaml": TRL, "train__log": "step 1 loss 0.5\n"}, "not-applicable"),
    ],
    ids=("balanced", "weighted", "not-kto", "nothing-counted"),
)
def test_balanced_or_weighted_kinds_are_no_trouble(tmp_path, files, result):
    assert found(tmp_path, **files) == ([], result)
