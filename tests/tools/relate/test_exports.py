"""Results of one model's weights in other number formats, a file each."""

import json

import pytest
from making import fill

from triage.tools.discover import discover
from triage.tools.documents.stated import stated
from triage.tools.relate.scores.exports import exported


def result(form, right, engine="edgert", sha="9fe012ab", temperature=0, n=1500):
    return json.dumps({"runtime": engine, "dtype": form, "model_sha": sha, "temperature": temperature,
                       "qa": {"total": n, "correct": right}, "codes": {"total": n, "correct": right - 40}},
                      indent=1)  # fmt: skip


def shares(form, share, sha="9fe012ab"):
    said = {"precision": form, "checkpoint_hash": sha, "qa_accuracy": share, "sql_accuracy": share - 0.05}
    return json.dumps(said, indent=1)


def called(key, name, score, **more):
    said = {key: name, "tool": "kit 2.2", **more, "scores": {"gsm8k_4shot": score, "mmlu": score - 3}}
    return json.dumps(said, indent=1)


def told(folder, files):
    return [f.code for f in exported(stated(discover(fill(folder, files))))]


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"s/full.json": result("bf16", 1200, "hf"), "s/small.json": result("int4", 900)}, "quality-lost-in-format"),
        (
            {"s/a.json": result("fp16", 1200, "hf"), "s/b.json": result("w4a16", 880),
             "s/c.json": result("int8", 1195)},
            "score-follows-format",
        ),
        (
            {"s/a.json": result("fp16", 1200, "hf"), "s/b.json": result("q4_0", 880),
             "s/c.json": result("q4_0", 884, "lab")},
            "score-follows-format",
        ),
        ({"s/a.json": shares("bf16", 0.81), "s/b.json": shares("awq", 0.52)}, "quality-lost-in-format"),
        (
            {"s/a.json": called("weights", "/m/plum-7b-v3", 71.2, dtype="bf16"),
             "s/b.json": called("model_id", "plum-7b-v3-int4", 52.0, url="http://gate/v1")},
            "quality-lost-in-format",
        ),
        (
            {"s/a.json": called("checkpoint", "plum-7b-v3", 71.2, precision="fp16"),
             "s/b.json": called("served_model_name", "plum-7b-v3-awq", 55.0)},
            "quality-lost-in-format",
        ),
    ],
)  # fmt: skip
def test_a_format_that_loses(tmp_path, files, code):
    assert told(tmp_path, files) == [code]


@pytest.mark.parametrize(
    "files",
    [
        {"s/a.json": result("bf16", 1200), "s/b.json": result("int8", 1196)},
        {"s/a.json": result("bf16", 1200), "s/b.json": result("int4", 900, sha="11aa22bb")},  # another model
        {"s/a.json": result("bf16", 1200), "s/b.json": result("int4", 900, temperature=1)},  # asked otherwise
        {"s/a.json": result("bf16", 30, n=40), "s/b.json": result("int4", 24, n=40)},  # a handful
        {"s/a.json": result("bf16", 1200), "s/b.json": result("fp32", 900)},  # none is reduced
        {
            "s/a.json": called("weights", "/m/plum-7b-v3", 71.2, dtype="bf16"),
            "s/b.json": called("model_id", "plum-7b-v2-int4", 52.0),
        },
        {
            "s/a.json": called("weights", "/m/plum-7b-v3", 71.2, dtype="bf16"),
            "s/b.json": called("model_id", "plum-7b-v3-int4", 70.4),
        },
    ],
)
def test_formats_that_are_alike_or_not_comparable_say_nothing(tmp_path, files):
    assert told(tmp_path, files) == []
