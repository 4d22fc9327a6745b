"""Results that scored nothing, alone and beside others, and a scorer that reads a field which the rows do not have."""

# ruff: noqa: E501  small files are kept on one line

import json

import pytest
from making import fill

from triage.tools.data.between.gathered import check_gathered
from triage.tools.discover import discover

SCORER = """import json, sys
hits = 0
for line in open(sys.argv[1]):
    row = json.loads(line)
    said = {read}
    hits += said == row["gold"]
print("accuracy", hits)
"""


def codes(tmp_path, files):
    return {f.code: f for f in check_gathered(discover(fill(tmp_path, files))).findings}


def answers(field, n=40):
    return "".join(json.dumps({"id": f"k{i}", "gold": str(i % 7), field: str(i % 5), "ms": i}) + "\n" for i in range(n))


GOOD = {"checkpoint": "s400", "scored": 310, "accuracy": 0.61, "bleu": 21.4}


@pytest.mark.parametrize(
    "files",
    [
        {"r/s400.json": json.dumps(GOOD), "r/s500.json": json.dumps({**GOOD, "scored": 0, "accuracy": None, "bleu": None})},
        {"a/scores.json": json.dumps({"wer": 0.11, "cer": 0.04, "lang": "de"}),
         "b/scores.json": json.dumps({"wer": "", "cer": "nan", "lang": "de"})},
        {"all.json": json.dumps({"step_100": {"n": 90, "f1": 0.5, "em": 0.4}, "step_200": {"n": 0, "f1": None, "em": None}})},
        {"final.json": '{"suite": "qa", "num_samples": 0, "exact_match": null}'},
        {"curve.csv": "ckpt,n,em,f1\n1k,200,0.4,0.5\n2k,0,,\n3k,200,0.5,0.6\n"},
        {"结果/一.json": json.dumps({"题数": 80, "准确率": 0.7, "得分": 71}), "结果/二.json": json.dumps({"题数": 0, "准确率": None, "得分": None})},
    ],
)  # fmt: skip
def test_a_result_without_scores(tmp_path, files):
    assert "scored-nothing" in codes(tmp_path, files)


@pytest.mark.parametrize(
    "files",
    [
        {"r/s400.json": json.dumps(GOOD), "r/s500.json": json.dumps({**GOOD, "accuracy": 0.63})},
        {"classes.json": json.dumps({"cat": {"support": 20, "f1": 0.4}, "fox": {"support": 0, "f1": None}})},
        {"gen/a.json": json.dumps({"temperature": 0.7, "top_p": 0.9, "num_beams": 1}),
         "gen/b.json": json.dumps({"temperature": None, "top_p": None, "num_beams": 0})},
        {"train.json": json.dumps({"num_workers": 0, "max_steps": None, "resume": None})},
        {"curve.csv": "class,n,em,f1\ncat,200,0.4,0.5\nfox,0,,\n"},
        {"r/a.json": json.dumps(GOOD), "r/b.json": json.dumps({**GOOD, "bleu": None})},  # one score that is not asked for
        {"lightning.csv": "epoch,step,train_loss,val_loss,val_acc,val_f1\n0,49,3.1,,,\n0,99,2.8,,,\n0,99,,2.9,0.4,0.3\n1,149,2.5,,,\n"},
        {"log.csv": "step,n,loss,eval_loss\n10,64,2.1,\n20,64,2.0,1.9\n"},
    ],
)  # fmt: skip
def test_a_result_with_scores_or_of_nothing_that_is_scored(tmp_path, files):
    assert "scored-nothing" not in codes(tmp_path, files)


@pytest.mark.parametrize(
    ("read", "files"),
    [
        (
            'row.get("response", "")',
            {"day1/rows.jsonl": answers("response"), "day2/rows.jsonl": answers("generated_text")},
        ),
        ('row["pred"]', {"rows.jsonl": answers("completion"), "m.json": '{"n_scored": 0, "accuracy": null}'}),
        ("row.get('预测')", {"a.jsonl": answers("模型输出"), "m.json": '{"count": 0, "准确率": null}'}),
    ],
)
def test_a_scorer_that_reads_another_field(tmp_path, read, files):
    found = codes(tmp_path, {"score_rows.py": SCORER.format(read=read), **files})["scorer-reads-other-field"]
    assert found.evidence[0].line == 5
    assert found.data["has"] in ("generated_text", "completion", "模型输出")


@pytest.mark.parametrize(
    ("read", "files"),
    [
        ('row.get("response") or row.get("generated_text")',
         {"day1/rows.jsonl": answers("response"), "day2/rows.jsonl": answers("generated_text")}),
        ('row["pred"]', {"rows.jsonl": answers("pred"), "m.json": '{"n_scored": 0, "accuracy": null}'}),
        ('row["gold"] in row["pred"]',  # the questions beside the predictions, which have what is read
         {"bench.csv": "id,kind,answer\n1,a,x\n2,b,y\n3,a,z\n", "preds.csv": "id,kind,gold,pred\n1,a,x,x\n2,b,y,q\n3,a,z,z\n"}),
        ('row["标准"] == row["预测"]',
         {"题目.csv": "编号,类别,回答\n1,a,x\n2,b,y\n3,a,z\n", "结果.csv": "编号,标准,预测\n1,x,x\n2,y,q\n3,z,z\n"}),
        ('row["pred"]', {"rows.jsonl": answers("completion")}),  # nothing says that these rows were scored by it
    ],
)  # fmt: skip
def test_a_scorer_that_reads_what_is_there(tmp_path, read, files):
    assert "scorer-reads-other-field" not in codes(tmp_path, {"score_rows.py": SCORER.format(read=read), **files})
