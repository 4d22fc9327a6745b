"""Answers of several models to the same prompts: nothing that anybody trains on."""

import csv
import json

import pytest

from triage.tools.data.rundata import check_run_data
from triage.tools.discover import discover

ASKED = [f"How do I change the address of parcel {i} on its way to town {i * 7}?" for i in range(12)]


def said(who, i):
    return f"{who} says that parcel {i} goes where its label sends it, whatever came before ({i * i})."


def rows(*fields, prompt="instruction"):
    return [{"id": i, prompt: text, **{field: said(field, i) for field in fields}} for i, text in enumerate(ASKED)]


def save(folder, name, records):
    if name.endswith(".csv"):
        with (folder / name).open("w", newline="") as file:
            table = csv.DictWriter(file, records[0])
            table.writeheader()
            table.writerows(records)
    elif name.endswith(".jsonl"):
        (folder / name).write_text("".join(json.dumps(r) + "\n" for r in records))
    else:
        (folder / name).write_text(json.dumps(records))


def told(tmp_path, files):
    for name, records in files.items():
        save(tmp_path, name, records)
    (tmp_path / "train.log").write_text("step 1 loss 2.0\n")
    return {f.code for f in check_run_data(discover(tmp_path)).findings} & {"eval-leakage", "exact-duplicates"}


@pytest.mark.parametrize(
    "files",
    [
        {"tuned_outputs.json": rows("tuned_response"), "stock_outputs.json": rows("stock_response"),
         "v3_benchmark_outputs.json": rows("v3_response")},
        {"runs.jsonl": rows("qwen_answer", "ours_answer", prompt="question"),
         "bench_items.jsonl": rows("reference", prompt="question")},
        {"a.json": rows("tuned_output"), "b.json": rows("stock_output"), "bench.json": rows("tuned_output"),
         "all.csv": [{"prompt": t, "old": said("stock_output", i), "new": said("tuned_output", i)}
                     for i, t in enumerate(ASKED)]},
    ],
    ids=["a file for each model", "several in a record", "a table of both"],
)  # fmt: skip
def test_answers_of_models_to_the_same_prompts_are_no_training_data(tmp_path, files):
    assert told(tmp_path, files) == set()


@pytest.mark.parametrize(
    "files",
    [
        {"sft.jsonl": rows("response"), "bench_outputs.json": rows("tuned_response")},
        {"pairs.jsonl": rows("chosen_response", "rejected_response"), "test_prompts.json": rows("tuned_response")},
    ],
    ids=["what is trained on", "pairs"],
)
def test_prompts_of_an_evaluation_in_what_is_trained_on_are_told(tmp_path, files):
    assert told(tmp_path, files) == {"eval-leakage"}
