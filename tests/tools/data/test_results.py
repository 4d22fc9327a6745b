"""Two results of one model: told where the scores part with the settings, silent where the model itself may differ."""

import json

import pytest

from triage.tools.data.between.results import check_results
from triage.tools.discover import discover


def lm_eval(model, shots, scores, version="0.4.3", template=None):
    return {
        "results": {t: {"alias": t, "acc,none": v, "acc_stderr,none": 0.006} for t, v in scores.items()},
        "n-shot": shots, "config": {"model": "vllm", "model_args": f"pretrained={model},dtype=bfloat16"},
        "chat_template": template, "lm_eval_version": version,
    }  # fmt: skip


def codes(tmp_path, files):
    for name, value in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(json.dumps(value, indent=1, ensure_ascii=False), encoding="utf-8")
    return [(f.code, f.data["score"]) for f in check_results(discover(tmp_path)).findings]


FEW, NONE = {"gsm8k": 5, "mmlu": 5, "boolq": 0}, {"gsm8k": 0, "mmlu": 0, "boolq": 0}
HIGH, LOW = {"gsm8k": 0.71, "mmlu": 0.65, "boolq": 0.83}, {"gsm8k": 0.52, "mmlu": 0.61, "boolq": 0.83}


def board(model, fewshot, gsm, ceval, extra="boxed"):
    return {"meta": {"checkpoint": model, "harness": "evalkit", "harness_version": "2.1"},
            "tasks": [{"name": "gsm8k", "num_fewshot": fewshot, "answer_filter": extra, "accuracy": gsm},
                      {"name": "ceval", "num_fewshot": fewshot, "answer_filter": extra, "accuracy": ceval},
                      {"name": "copa", "num_fewshot": 0, "answer_filter": "none", "accuracy": 88.1}]}  # fmt: skip


def chinese(template, hard, easy):
    return {"模型": "/模型/云雀-7b", "评测版本": template[1], "提示词模板": template[0], "样例数": 4,
            "scores": {"cmmlu": hard, "gsm8k": easy}}  # fmt: skip


@pytest.mark.parametrize(
    "files",
    [
        {
            "a/r.json": lm_eval("/w/finch-7b", FEW, HIGH),
            "b/r.json": lm_eval("/w/finch-7b", NONE, LOW, "0.4.8", "{{ x }}"),
        },
        {"old.json": board("/ck/iter_900", 8, 68.0, 71.2), "new.json": board("/ck/iter_900", 0, 50.5, 66.0)},
        {
            "old.json": board("/ck/iter_900", 4, 68.0, 71.2),
            "new.json": board("/ck/iter_900", 4, 50.5, 66.0, "last_number"),
        },
        {"三月.json": chinese(("v1", "1.2"), 61.0, 55.0), "四月.json": chinese(("v2", "1.4"), 55.5, 41.0)},
    ],
)
def test_one_model_measured_in_two_ways(tmp_path, files):
    assert codes(tmp_path, files) == [("same-weights-scored-apart", "gsm8k")]


def test_yaml_files(tmp_path):
    for name, shots, score in (("q1.yaml", 5, 71.2), ("q2.yaml", 0, 55.0)):
        text = f"model: /w/f-7b\nnum_fewshot: {shots}\nresults:\n  gsm8k: {score}\n  mmlu: {score - 9}\n"
        (tmp_path / name).write_text(text)
    found = check_results(discover(tmp_path)).findings
    assert [f.code for f in found] == ["same-weights-scored-apart"]
    assert [(e.file, e.line) for e in found[0].evidence][:2] == [("q1.yaml", 4), ("q1.yaml", 2)]


def test_only_the_version_differs(tmp_path):
    files = {"a.json": lm_eval("/w/f-7b", FEW, HIGH), "b.json": lm_eval("/w/f-7b", FEW, LOW, "0.4.9")}
    assert codes(tmp_path, files) == [("eval-settings-differ", "gsm8k")]


@pytest.mark.parametrize(
    "files",
    [
        {"a.json": lm_eval("/w/f-1", FEW, HIGH), "b.json": lm_eval("/w/f-2", FEW, LOW)},  # another model
        {"a.json": lm_eval("/w/f-1", FEW, HIGH), "b.json": lm_eval("/w/f-1", NONE, HIGH)},  # nothing moved
        {"a.json": lm_eval("/w/latest", FEW, HIGH), "b.json": lm_eval("/w/latest", FEW, LOW, "0.4.9")},
        {"gsm_5shot.json": lm_eval("/w/f-1", FEW, HIGH), "gsm_0shot.json": lm_eval("/w/f-1", NONE, LOW)},  # a study
        {"a.json": lm_eval("/w/f-1", FEW, HIGH), "b.json": lm_eval("/w/f-1", FEW, LOW, template="{{ x }}")},
        {"a.json": lm_eval("/w/f-1", FEW, HIGH),
         "b.json": lm_eval("/w/f-2", {**FEW, "boolq": 3}, {"gsm8k": 0.5, "mmlu": 0.6, "boolq": 0.75})},
        {"a.json": lm_eval("/w/f-1", FEW, HIGH)},
    ],
)  # fmt: skip
def test_silent(tmp_path, files):
    assert codes(tmp_path, files) == []


def split_board(split, acc, exact):
    return {"model": "/w/heron-3b", "split": split, "metrics": {"accuracy": acc, "normalized_exact_rate": exact}}


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (("eval_dev.json", split_board("dev", 0.95, 0.9), "eval_ood.json", split_board("ood", 0.81, 0.7)), False),
        (("a.json", {"model": "/w/h-3b", "num_fewshot": 0, "scores": {"gsm8k": 0.51, "match_normalized_rate": 0.4}},
          "b.json", {"model": "/w/h-3b", "num_fewshot": 0, "scores": {"gsm8k": 0.66, "match_normalized_rate": 0.7}}),
         False),
        (("monday.json", split_board("dev", 0.95, 0.9), "friday.json", split_board("ood", 0.81, 0.7)), True),
    ],
    ids=["announced", "a measure is no setting", "split changed silently"],
)  # fmt: skip
def test_parts_that_the_files_announce_are_two_sets_and_a_measure_is_no_setting(tmp_path, files, told):
    first, one, second, other = files
    assert bool(codes(tmp_path, {first: one, second: other})) is told
