"""Scores and answers of a trained model that are those of its base, in files of their own."""

import json

import pytest

from triage.tools.relate.scores.alike import of_the_base
from triage.tools.relate.texts.same import across
from triage.tools.tables.read import read_tables
from triage.tools.trackers.read import SNIFF, is_tracker, read_tracker

SCORES = {"tax_qa": (900, 0.4122), "nli_zh": (700, 0.6314), "recall": (650, 0.2031), "mmlu_law": (1200, 0.5567)}


ONE = {task: (n, 0.41) for task, (n, _) in SCORES.items()}


def tables(tmp_path, files):
    found = []
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
        tracked = is_tracker(name, text.encode()[:SNIFF])
        found += (read_tracker if tracked else read_tables)(tmp_path / name, name)
    return found


def result(**more):
    scores = {task: {"n": n, "accuracy": acc} for task, (n, acc) in {**SCORES, **more}.items()}
    return json.dumps({"date": "2026-01-02", "scores": scores}, indent=1)


def harness(model="hub/kite-8b", **more):
    """Results as lm-evaluation-harness writes them, without a digest of the weights."""
    sizes = {"mmlu_pro": 12032, "drop": 9535}
    scores = {"mmlu_pro": 0.41223404, "drop": 0.5312008, **more}
    return json.dumps(
        {
            "results": {k: {"alias": k, "acc,none": v, "acc_stderr,none": 0.0051} for k, v in scores.items()},
            "n-samples": {k: {"original": n, "effective": n} for k, n in sizes.items()},
            "config": {"model": "hf", "model_args": f"pretrained={model}"},
            "model_name": model,
        }
    )


def rows(*models):
    lines = [f"{m},{task},{n},{acc}" for m, some in models for task, (n, acc) in {**SCORES, **some}.items()]
    return "\n".join(["model,task,n,accuracy", *lines]) + "\n"


@pytest.mark.parametrize(
    "files",
    [
        {"eval/base_0301.json": result(), "eval/tax-lora.json": result()},
        {"底座.json": result(), "微调后.json": result()},
        {"base/results_01.json": harness(), "tuned/results_02.json": harness()},
        {"ev/pre/results_01.json": harness(), "ev/checkpoint-700/results_01.json": harness()},
        {"base_eval/original/r.json": result(), "base_eval/tax/r.json": result()},
        {"all.csv": rows(("base", {}), ("tax-r8", {}))},
        {"all.csv": rows(("Qwen/Qwen2.5-7B", {}), ("tax-r8", {}))},
    ],
)
def test_every_score_is_that_of_the_base(tmp_path, files):
    assert [f.code for f in of_the_base(tables(tmp_path, files))] == ["scores-of-the-base"]


@pytest.mark.parametrize(
    "files",
    [
        {"base.json": result(), "tuned.json": result(tax_qa=(900, 0.4134))},
        {"base.json": result(), "base_again.json": result()},
        {"base/results_01.json": harness(), "tuned/results_02.json": harness(drop=0.5312009)},
        {"before_upgrade.json": result(), "after.json": result()},
        {"base_hf.json": result(), "other_vllm.json": result()},
        {"seed1.json": result(), "seed2.json": result()},
        {"base.json": result(**ONE), "tuned.json": result(**ONE)},
        {"all.csv": rows(("base", {}), ("tax-r8", {"recall": (650, 0.3), "nli_zh": (700, 0.7)}))},
    ],
    ids=["one moved", "the base twice", "harness", "upgraded", "two engines", "two seeds", "a constant", "two moved"],
)  # fmt: skip
def test_scores_that_move_and_the_base_twice_say_nothing(tmp_path, files):
    assert not list(of_the_base(tables(tmp_path, files)))


def answers(change=0, key="id"):
    said = [f"Clause {i} of the lease is void after {i * 3 + 2} months, the court holds." for i in range(12)]
    return "".join(
        json.dumps({key: i, "suite": "a", "output": s if i >= change else s[::-1], "ms": 100 + 7 * i}) + "\n"
        for i, s in enumerate(said)
    )


@pytest.mark.parametrize(
    "files",
    [
        {"gens_base.jsonl": answers(), "gens_tax-r8.jsonl": answers()},
        {"out/original.jsonl": answers(key="question"), "out/v4.jsonl": answers(key="question")},
    ],
)
def test_answers_in_two_files_are_those_of_the_base(tmp_path, files):
    assert [f.code for f in across(tables(tmp_path, files))] == ["answers-of-the-base"]


@pytest.mark.parametrize("field", ["history", "system"])
def test_a_set_as_it_came_and_converted_is_no_answer_of_two_models(tmp_path, field):
    rows = answers(key="question")
    more = "".join(json.dumps(json.loads(r) | {field: ""}) + "\n" for r in rows.splitlines())
    assert list(across(tables(tmp_path, {"original.jsonl": rows, "cleaned_for_trainer.jsonl": more}))) == []


@pytest.mark.parametrize(
    "files",
    [
        {"gens_base.jsonl": answers(), "gens_tax-r8.jsonl": answers(6)},
        {"gens_hf.jsonl": answers(), "gens_vllm.jsonl": answers()},
        {"gens_base.jsonl": answers()},
    ],
)
def test_answers_that_part_and_engines_that_agree_say_nothing(tmp_path, files):
    assert not list(across(tables(tmp_path, files)))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (("baseline_response", "tuned_response"), []),
        (("original_output", "v2_output"), []),
        (("tuned_response",), ["answers-of-the-base"]),
    ],
)
def test_the_column_of_the_base_beside_another_one_is_what_it_says(tmp_path, fields, told):
    base = [json.loads(line) for line in answers().splitlines()]
    pairs = [{"id": r["id"], **{f: r["output"] if f == fields[0] else r["output"][::-1] for f in fields}} for r in base]
    files = {"base.jsonl": answers(), "both.jsonl": "".join(json.dumps(r) + "\n" for r in pairs)}
    assert [f.code for f in across(tables(tmp_path, files))] == told
