"""Results of evaluations against each other: below the base, at nothing, empty, silent, and nothing detected."""

import json

import pytest

from triage.tools.relate.results.look import of_results
from triage.tools.settings import Settings
from triage.tools.tables.read import read_tables


def found(folder, **files):
    """Codes of the findings of files, whose names have `__` for the dot and `_in_` for a folder."""
    tables = []
    for key, content in files.items():
        name = key.replace("_in_", "/").replace("__", ".")
        path = folder / name.replace("/", "_")
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
        tables += read_tables(path, name)
    return {f.code: f for f in of_results(tables, (), Settings())}


def judged(*rows):
    return "question,reply,faithfulness,answer_relevancy\n" + "".join(
        f"q{i} what,r{i},{a}\n" for i, a in enumerate(rows)
    )


@pytest.mark.parametrize(
    ("files", "column"),
    [
        ({"scores__csv": judged("0.9,0.81", "0.8,", "0.75,", "1.0,0.9")}, "answer_relevancy"),
        ({"marks__csv": "提示,回答,忠实度,正确率\n" + "".join(f"问{i},答,,0.{i + 3}\n" for i in range(5))}, "忠实度"),
        ({"sum__csv": "arm,n,precision_mean,recall_mean\n" + "".join(f"a{i},40,0.{i + 2}1,\n" for i in range(4))},
         "recall_mean"),
    ],
)  # fmt: skip
def test_scores_without_a_value_beside_others_are_told(tmp_path, files, column):
    assert column in found(tmp_path, **files)["score-cells-empty"].data["empty"]


@pytest.mark.parametrize(
    "files",
    [
        {"scores__csv": judged("0.9,0.81", "0.8,0.7", "0.75,0.66", "1.0,")},
        {
            "scores__csv": "question,kind,bleu,accuracy\n"
            + "".join(f"q{i} what,{'mcq,,0.' if i % 2 else 'open,0.4,0.'}{i}\n" for i in range(8))
        },
        {"sheet__csv": "question,faithfulness,human_score\n" + "".join(f"q{i} what,0.{i + 2},\n" for i in range(5))},
        {"plan__csv": "run,lr,recall,f1\nr1,0.1,,\nr2,0.2,,\nr3,0.3,,\n"},
    ],
    ids=["one", "of a kind", "left for people", "none at all"],
)
def test_scores_that_few_rows_lack_or_need_not_have_are_left_alone(tmp_path, files):
    assert "score-cells-empty" not in found(tmp_path, **files)


@pytest.mark.parametrize(
    "files",
    [
        {"answers_eval__txt": "{'bleu': 0.231, 'chrf': 0.402, 'meteor': 0.288}\n",
         "answers_dpo_eval__txt": "{'bleu': 0.214, 'chrf': 0.381, 'meteor': 0.262}\n"},
        {"base_in_metrics__json": {"accuracy": 0.62, "num_samples": 900},
         "sft_in_metrics__json": {"accuracy": 0.51, "num_samples": 900}},
        {"table__csv": "model,n,accuracy,f1\nbaseline,800,0.71,0.70\nqlora-tuned,800,0.60,0.58\n"},
        {"report__json": {"before": {"exact_match": 0.44, "total": 600}, "after": {"exact_match": 0.30, "total": 600}}},
        {"table__csv": "模型,题数,准确率\n基座,500,0.66\n微调后,500,0.49\n"},
    ],
    ids=["printed", "folders", "one table", "nested", "zh"],
)  # fmt: skip
def test_a_trained_model_below_its_base_is_told_wherever_each_stands(tmp_path, files):
    assert "benchmark-drop" in found(tmp_path, **files)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"ppo_summary__json": {"soft": {"base_violation_rate": 0.4, "trained_violation_rate": 0.9, "steps": 30},
                                "hard": {"base_violation_rate": 0.5, "trained_violation_rate": 0.5}}}, True),
        ({"table__csv": "模型,题数,幻觉率\n基座,500,0.12\n微调后,500,0.29\n"}, True),
        ({"report__json": {"before": {"refusal_rate": 0.1}, "after": {"refusal_rate": 0.3}}}, True),
        ({"report__json": {"before": {"refusal_rate": 0.3}, "after": {"refusal_rate": 0.1}}}, False),
        ({"report__json": {"before": {"accuracy": 0.3, "error_rate": 0.5},
                           "after": {"accuracy": 0.6, "error_rate": 0.7}}}, False),
        ({"ppo_summary__json": {"soft": {"base_wer": 0.31, "trained_wer": 0.32, "steps": 30}}}, False),
    ],
)  # fmt: skip
def test_faults_that_a_training_made_more_frequent_are_told(tmp_path, files, told):
    assert ("fault-rate-rises" in found(tmp_path, **files)) == told


@pytest.mark.parametrize(
    "files",
    [
        {"base_in_metrics__json": {"accuracy": 0.62, "num_samples": 90},
         "sft_in_metrics__json": {"accuracy": 0.58, "num_samples": 90}},
        {"base_in_metrics__json": {"accuracy": 0.42, "num_samples": 900},
         "sft_in_metrics__json": {"accuracy": 0.61, "num_samples": 900}},
        {"answers_eval__txt": "{'bleu': 0.231, 'chrf': 0.402, 'meteor': 0.288}\n",
         "summaries_dpo_eval__txt": "{'bleu': 0.114, 'chrf': 0.281, 'meteor': 0.162}\n"},
        {"base_in_metrics__json": {"error_rate": 0.42, "n": 900},
         "sft_in_metrics__json": {"error_rate": 0.2, "n": 900}},
        {"table__csv": "model,n,accuracy,f1\nbaseline,800,0.71,0.50\nlora,800,0.69,0.66\n"},
        {"two__md": "".join(f"## {task}\n\n| Metric | Base | Tuned |\n|---|---|---|\n| Accuracy | {a} | {a} |\n"
                            f"| F1 | {b} | {b} |\n\n" for task, a, b in (("Risk", 0.61, 0.58), ("Loan", 0.32, 0.29)))},
    ],
    ids=["noise", "better", "other task", "less is better", "traded", "two tables"],
)  # fmt: skip
def test_noise_gains_and_other_tasks_are_no_drop(tmp_path, files):
    assert "benchmark-drop" not in found(tmp_path, **files)


def tasks(**scores):
    return {"results": {k: {"acc": v, "acc_stderr": 0.01} for k, v in scores.items()}, "config": {"batch_size": 4}}


FINE = {"piqa": 0.78, "hellaswag": 0.55, "winogrande": 0.66, "boolq": 0.74, "arc_easy": 0.7}


@pytest.mark.parametrize(
    "files",
    [
        {"run__json": tasks(**FINE, triviaqa=0.0, webqs=0.0)},
        {"run_0__json": tasks(**FINE, gsm8k=0.0), "run_8__json": tasks(**FINE, gsm8k=0.21)},
        {"direct__json": {"strategy": "direct", "metrics": {"rougeL": 0.41}, "num_samples": 80},
         "steps__json": {"strategy": "steps", "metrics": {"rougeL": 0.0}, "num_samples": 80}},
        {"table__csv": "method,items,exact_match\nplain,300,0.42\nfew shot,300,0.47\njson mode,300,0\ncot,300,0.44\n"},
    ],
    ids=["tasks", "asked otherwise", "no words", "methods"],
)  # fmt: skip
def test_a_score_of_exactly_nothing_beside_fine_ones_is_told(tmp_path, files):
    assert "score-exactly-zero" in found(tmp_path, **files)


@pytest.mark.parametrize(
    "files",
    [
        {"run__json": tasks(piqa=0.54, hellaswag=0.27, boolq=0.4, gsm8k=0.0, humaneval=0.0, arc_easy=0.31)},
        {"run__json": tasks(**FINE)},
        {"table__csv": "method,items,exact_match\nplain,6,0.17\nfew shot,6,0.33\njson mode,6,0\n"},
        {"table__csv": "method,items,toxicity_score\nplain,300,0.42\nfiltered,300,0\nother,300,0.3\n"},
        {"table__csv": "part,items,score\nmine tokens,300,20311\nfailed,300,0\nturns,300,4.2\nseconds,300,19.5\n"},
    ],
    ids=["a small model", "all fine", "few items", "good at zero", "each of something else"],
)  # fmt: skip
def test_hard_tasks_few_items_and_measures_that_ought_to_be_zero_are_not(tmp_path, files):
    assert "score-exactly-zero" not in found(tmp_path, **files)


def rows(answers):
    return [{"question": f"how many legs has animal {i}?", "prediction": a} for i, a in enumerate(answers)]


def test_empty_answers_of_a_results_file_are_told_and_full_ones_are_not(tmp_path):
    assert "answers-blank" in found(tmp_path, results__json=rows(["four", "", "", "", " ", "", "six"]))
    assert "answers-blank" not in found(tmp_path, results__json=rows(["four", "two", "", "eight", "none I know", "6"]))


def test_answers_without_characters_though_tokens_were_written_are_told(tmp_path):
    head = "worker,completion_tokens,content_chars,reasoning_chars\n"
    empty = "".join(f"{i},512,0,{1900 + i}\n" for i in range(6))
    full = "".join(f"{i},{300 + i},{900 + i},{1100 + i}\n" for i in range(6))
    told = found(tmp_path, bench__csv=head + empty)["answers-blank"]
    assert "512" in told.message
    assert "answers-blank" not in found(tmp_path, bench__csv=head + full)


def test_rows_of_a_benchmark_without_throughput_that_say_why_are_told(tmp_path):
    head = "load,batch,tokens_per_s,error_count,note\n"
    fine = "short,1,41.2,0,\nshort,8,210.5,0,\nlong,1,12.9,0,\n"
    late = "long,8,0,8,deadline: request timed out\nlong,16,0,16,deadline: request timed out\n"
    told = found(tmp_path, sheet__csv=head + fine + late)
    assert told["requests-failed"].data["failed"] == 24
    assert "load-not-served" in told
    assert not found(tmp_path, sheet__csv=head + fine)
    unmeasured = "load,batch,tokens_per_s,error_count\na,1,41.2,0\na,8,210.5,0\nb,1,0,0\nb,8,0,0\n"
    assert "requests-failed" not in found(tmp_path, sheet__csv=unmeasured)


def test_prompts_that_do_not_fit_are_told_from_a_benchmark_as_json(tmp_path):
    cell = {"scenario": "chat", "throughput": 88.0, "failed": 0, "failure_reason": ""}
    none = {"scenario": "book", "throughput": 0.0, "failed": 12, "failure_reason": "prompt exceeds the context length"}
    told = found(tmp_path, cells__json={"cells": [cell, cell | {"throughput": 71.5}, cell, none, none]})
    assert {"requests-failed", "context-length-exceeded"} <= told.keys()


@pytest.mark.parametrize("names", [("tp", "fp", "fn", "tn"), ("true_positives", "false_positives", "false_negatives",
                                                               "true_negatives")])  # fmt: skip
def test_a_detector_that_finds_nothing_or_flags_by_chance_is_told(tmp_path, names):
    def counts(*values):
        return {"fraud": dict(zip(names, values, strict=True))}

    assert "positives-never-found" in found(tmp_path, out__json=counts(0, 3, 31, 640))
    assert "score-at-chance" in found(tmp_path, out__json=counts(9, 160, 31, 600))
    assert not found(tmp_path, out__json=counts(27, 12, 4, 640))
    assert not found(tmp_path, out__json=counts(0, 0, 0, 640))


def test_a_threshold_that_no_score_reaches_is_told(tmp_path):
    scores = [0.2 + 0.01 * (i % 23) for i in range(60)]
    assert "threshold-never-reached" in found(tmp_path, d__json={"threshold": 0.9, "scores": scores})
    assert "threshold-never-reached" not in found(tmp_path, d__json={"threshold": 0.35, "scores": scores})


TUNED = {"MMLU": 0.412, "HumanEval": 0.256, "GSM8K": 0.31, "IFEval": 0.44}


def card(**other):
    """The scores of one model in a file of its own."""
    scores = TUNED | other
    return ",".join(scores) + "\n" + ",".join(map(str, scores.values())) + "\n"


@pytest.mark.parametrize(
    "files",
    [
        {"report-sft__csv": card(), "report-grpo__csv": card(GSM8K=0.52, HumanEval=0.06)},
        {"all__json": {"base": {"mmlu": 41.2, "ifeval": 48.0, "gsm8k": 20.0},
                       "dpo": {"mmlu": 40.9, "ifeval": 15.0, "gsm8k": 33.0}}},
        {"evals__csv": "model,mmlu,own_exam_accuracy,gsm8k\nsft,0.41,0.52,0.30\nppo,0.41,0.11,0.47\n"},
    ],
    ids=["a file each", "nested", "a task of its own"],
)  # fmt: skip
def test_a_task_that_is_lost_while_another_is_won_is_told(tmp_path, files):
    assert "benchmark-drop" in found(tmp_path, **files)


@pytest.mark.parametrize(
    "files",
    [
        {"report-sft__csv": card(), "report-grpo__csv": card(HumanEval=0.2, GSM8K=0.5)},
        {"code-sft__csv": card(), "chat-grpo__csv": card(HumanEval=0.02, GSM8K=0.5)},
        {"all__json": {"base": {"aime24": 10.0, "ifeval": 48.0, "gsm8k": 20.0},
                       "dpo": {"aime24": 3.3, "ifeval": 47.0, "gsm8k": 33.0}}},
        {"evals__csv": "model,mmlu,own_exam_accuracy,gsm8k\nsft,0.41,0.12,0.30\nppo,0.41,0.05,0.47\n"},
        {"grpo-a__csv": card(), "grpo-b__csv": card(HumanEval=0.02, GSM8K=0.5)},
    ],
    ids=["a little", "another task", "few items", "unknown items", "one stage"],
)  # fmt: skip
def test_a_task_that_is_a_little_lower_or_small_is_not(tmp_path, files):
    assert "benchmark-drop" not in found(tmp_path, **files)


def parts(*scores):
    names = ("arith", "geometry", "logic", "dates", "units", "sets")
    return {"per_topic": {n: {"pass_rate": s, "count": 60} for n, s in zip(names, scores, strict=True)}}


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ("eval_wren_base__json", "eval_wren_sft__json", False),
        ("wren_test__json", "wren_holdout__json", False),
        ("eval_wren_v1__json", "eval_wren_v2__json", True),
    ],
    ids=["before the training", "other items", "asked otherwise"],
)
def test_a_zero_of_the_model_before_its_training_or_of_other_items_is_no_matter_of_asking(tmp_path, one, other, told):
    low, high = parts(0.0, 0.2, 0.1, 0.0, 0.1, 0.2), parts(0.5, 0.4, 0.3, 0.6, 0.3, 0.3)
    assert ("score-exactly-zero" in found(tmp_path, **{one: low, other: high})) is told
