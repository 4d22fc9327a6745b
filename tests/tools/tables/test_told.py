"""Results that people and programs say in text: names with values under what they are of, reports, measures in rows."""

import json

import pytest

from triage.tools.discover import discover
from triage.tools.reading import iter_lines
from triage.tools.tables.read import read_results, read_tables


def values(tables):
    """(what stands above and beside it, name) -> value of every measure."""
    found = {}
    for table in tables:
        labels = [c for c in table.columns if c.values.dtype.kind == "O"]
        for column in table.of("measure"):
            for i in range(len(table)):
                row = " ".join(str(c.values[i]) for c in labels)
                if column.values[i] == column.values[i]:
                    found[f"{table.part} | {row}", column.name] = column.values[i]
    return found


def read(folder, name, text):
    (folder / name).write_text(text)
    return values(read_tables(folder / name, name))


def said(found, where, name):
    """The only value of a name whose surroundings hold a word."""
    (value,) = {v for (w, n), v in found.items() if n == name and where in w}
    return value


def test_bullets_stand_under_all_of_their_headings(tmp_path):
    text = "# Night run\n\n## Arm: wide\n\n### Held out\n\n- **Accuracy**: 61.5%\n- **F1**: 0.58\n\n"
    text += "## Arm: narrow\n\n### Held out\n\n- **Accuracy**: 47.0%\n- **F1**: 0.44\n"
    found = read(tmp_path, "report.md", text)
    assert said(found, "wide", "Accuracy") == pytest.approx(0.615)
    assert said(found, "narrow", "F1") == 0.44


@pytest.mark.parametrize(
    ("text", "where", "name", "value"),
    [
        ("Starting model\n\n41 correct\nAcc: 27.33%\n------\n\nTuned model\n\n120 correct\nAcc: 80.0%\n",
         "Tuned", "correct", 120),
        ("type=mask\n AP (box) @[ IoU=0.50 | area=all ] = 0.41\n AP (box) @[ IoU=0.75 | area=all ] = 0.22\n",
         "mask", "AP (box) @[ IoU=0.75 | area=all ]", 0.22),
        ("{'alpha': 0.25}\nprecision=0.71\nrecall=0.66\n{'alpha': 0.5}\nprecision=0.73\nrecall=0.61\n",
         "0.5}", "recall", 0.61),
        ("模型：小号\n  准确率: 0.81\n  召回率: 0.74\n\n模型：大号\n  准确率: 0.86\n  召回率: 0.79\n",
         "大号", "召回率", 0.79),
    ],
    ids=["lines alone", "names with settings", "settings above", "zh"],
)  # fmt: skip
def test_what_a_log_says_of_results_has_its_name_and_what_it_is_of(tmp_path, text, where, name, value):
    (tmp_path / "scored.txt").write_text(text)
    found = values(read_results(iter_lines(tmp_path / "scored.txt"), "scored.txt"))
    assert said(found, where, name) == value


def test_a_count_and_its_share_are_two_numbers_and_a_share_of_a_count_is_one(tmp_path):
    text = "## Guard\n\n- Passed: 33 (66.0%)\n- Blocked: 17 (34.0%)\n- Accuracy: 0.91 (91.0%)\n"
    text += "- Exact match: 82.2% (411/500)\n"
    found = {name: v for (_, name), v in read(tmp_path, "guard.md", text).items()}
    assert (found["Passed"], found["Passed (%)"]) == (33, 66.0)
    assert found["Accuracy"] == 0.91
    assert "Accuracy (%)" not in found
    assert (found["Exact match"], found["n"]) == (82.2, 500)


REPORT = """
2031-03-04 10:00:00,120 - eval - INFO - Test of the small one
2031-03-04 10:00:00,121 - eval - INFO -               precision    recall  f1-score   support
2031-03-04 10:00:00,121 - eval - INFO -
2031-03-04 10:00:00,121 - eval - INFO -         spam       0.81      0.72      0.76        50
2031-03-04 10:00:00,121 - eval - INFO -    not spam       0.90      0.94      0.92       150
2031-03-04 10:00:00,121 - eval - INFO -
2031-03-04 10:00:00,121 - eval - INFO -     accuracy                           0.88       200
2031-03-04 10:00:00,121 - eval - INFO -    macro avg       0.85      0.83      0.84       200
"""


def test_a_report_of_classes_in_a_log_is_a_row_a_class(tmp_path):
    (tmp_path / "eval.log").write_text(REPORT)
    found = values(read_results(iter_lines(tmp_path / "eval.log"), "eval.log"))
    assert said(found, "not spam", "recall") == 0.94
    assert said(found, "| all", "accuracy") == 0.88
    assert not any(name == "f1-score" and v == 0.88 for (_, name), v in found.items())


def test_measures_in_rows_are_columns_and_differences_stay_apart(tmp_path):
    table = "| Metric | Base | Adapter | Adapter vs Base |\n|---|---|---|---|\n"
    table += "| Accuracy | 0.52 | 0.61 | +0.09 |\n| Recall | 0.48 | 0.55 | +0.07 |\n"
    found = read(tmp_path, "compare.md", table)
    assert said(found, "Adapter", "Accuracy") == 0.61
    assert said(found, "Base", "Recall") == 0.48
    assert not any(v == 0.09 and name == "Accuracy" for (_, name), v in found.items())


@pytest.mark.parametrize("head", ["指标", "Метрика"])
def test_one_column_of_values_is_a_row_of_measures(tmp_path, head):
    found = read(tmp_path, "test.md", f"## Test\n\n| {head} | Value |\n|---|---|\n| Accuracy | 0.78 |\n| AUC | 0.9 |\n")
    assert said(found, "Test", "AUC") == 0.9


def test_tables_under_captions_keep_what_they_are_of(tmp_path):
    table = "|system|WER (%)|\n|---|---|\n|one|{}|\n|two|{}|\n"
    text = f"# WER\n\n1. Broadcast news: 35 files\n\n{table.format(12.5, 16.1)}\n\n2. Phone calls: 20 files\n\n"
    found = read(tmp_path, "wer.md", text + table.format(57.1, 71.2))
    assert {v for (w, _), v in found.items() if "Phone calls" in w} == {57.1, 71.2}


def test_a_notebook_prints_results(tmp_path):
    printed = {"output_type": "stream", "name": "stdout", "text": ["  BLEU     : 0.31\n", "  METEOR   : 0.44\n"]}
    cell = {"cell_type": "code", "source": ["score()"], "outputs": [printed]}
    (tmp_path / "eval.ipynb").write_text(json.dumps({"cells": [cell], "nbformat": 4}))
    found = values(read_tables(tmp_path / "eval.ipynb", "eval.ipynb"))
    assert said(found, "cell 0", "METEOR") == 0.44


@pytest.mark.parametrize(
    "text",
    [
        "Model:\n  hidden_size: 128\n  num_layers: 4\nOptim:\n  learning_rate: 0.001\n  batch_size: 16\n",
        "2031-01-01 10:00:00 step 10 loss 2.1\n2031-01-01 10:00:05 step 20 loss 2.0\n",
        "We trained it twice.\nIt went well: 3 people were there, and 2 of them slept.\n",
    ],
    ids=["settings", "a training", "prose"],
)
def test_settings_trainings_and_prose_are_no_results_of_a_log(tmp_path, text):
    (tmp_path / "a.log").write_text(text)
    assert read_results(iter_lines(tmp_path / "a.log"), "a.log") == ()


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("arms.json", json.dumps({a: {"prompt": "x", "lr": 0.1, "accuracy": 0.5, "f1": 0.4, "recall": 0.3}
                                  for a in ("frozen", "tuned")}, indent=1), "table"),
        ("traits.txt", "tone of answers\n\nfriendly: 31.0%\nshort: 80.5%\nemoji: 4.0%\n", "document"),
        ("train.json", json.dumps({"lr": 0.1, "batch_size": 8, "seed": 1, "accuracy": 0.5}), "config"),
        ("opts.txt", "seed: 3\nlr: 0.1\nname: run\n", "config"),
    ],
    ids=["json by model", "shares", "json of settings", "text of settings"],
)  # fmt: skip
def test_results_are_told_from_settings(tmp_path, name, text, kind):
    (tmp_path / name).write_text(text)
    assert {a.kind for a in discover(tmp_path).artifacts} <= {kind, "eval" if kind == "table" else kind}
