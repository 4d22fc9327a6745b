"""Classifiers that answer one thing, rows that come out the same, and of how many items results are."""

import json

import pytest

from triage.tools.relate.results.look import of_results
from triage.tools.settings import Settings
from triage.tools.tables.read import read_tables


def found(folder, **files):
    """Findings of files by code; names have `__` for the dot."""
    tables = []
    for key, content in files.items():
        path = folder / key.replace("__", ".")
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
        tables += read_tables(path, path.name)
    return {f.code: f for f in of_results(tables, (), Settings())}


def report(**classes):
    """A printed report of classes: recall and how many items, each."""
    rows = "".join(f"{k:>12}     0.50      {r:.2f}      0.50     {n:>5}\n" for k, (r, n) in classes.items())
    head = "              precision    recall  f1-score   support\n\n"
    return f"{head}{rows}\n    accuracy                           0.50      1000\n"


MATRIX = {"recall": 1.0, "accuracy": 0.31, "precision": 0.31, "f1": 0.47}


@pytest.mark.parametrize(
    "files",
    [
        {"a__json": {"night": {"tpr": 1.0, "fpr": 1.0, "n_test": 400}, "day": {"tpr": 0.9, "fpr": 0.1, "n_test": 400}}},
        {"a__json": {"plain": MATRIX, "tuned": {**MATRIX, "recall": 0.8, "precision": 0.74, "accuracy": 0.88}}},
        {"a__csv": "model,precision,recall,accuracy\nfrozen,0.5,0.22,0.44\ntuned,0.71,0.69,0.72\n"},
        {"a__csv": "model,spam_recall,ham_recall,accuracy\nfirst,0.99,0.01,0.52\nsecond,0.91,0.87,0.9\n"},
        {"a__md": report(spam=(0.99, 300), ham=(0.0, 700))},
        {"a__md": report(north=(0.81, 300), south=(0.77, 400), east=(0.01, 300))},
        {"a__csv": "model,val_mood_acc,val_mood_f1\nfirst,0.75,0.2143\nsecond,0.81,0.77\n"},
    ],
    ids=["both rates", "precision is accuracy", "macro", "recalls in a row", "report", "one never", "macro F1"],
)
def test_a_classifier_of_one_answer_is_told(tmp_path, files):
    assert "one-class-predicted" in found(tmp_path, **files)


@pytest.mark.parametrize(
    "files",
    [
        {"a__json": {"night": {"tpr": 0.99, "fpr": 0.02}, "day": {"tpr": 0.9, "fpr": 0.1}}},
        {"a__json": {"plain": {"recall": 1.0, "accuracy": 1.0, "precision": 1.0}}},
        {"a__csv": "model,precision,recall,accuracy\nfrozen,0.5,0.47,0.61\ntuned,0.71,0.69,0.72\n"},
        {"a__csv": "model,recall@1,recall@10,accuracy\nfirst,0.01,0.99,0.52\nsecond,0.2,0.87,0.9\n"},
        {"a__md": report(spam=(0.95, 300), ham=(0.66, 700))},
        {"a__md": report(north=(0.81, 300), south=(0.77, 400), east=(0.0, 4))},
        {"a__csv": "task,recall,precision,accuracy\none,0.0,0.1,0.6\ntwo,1.0,1.0,1.0\n"},
        {"a__csv": "model,val_mood_acc,val_tone_f1\nfirst,0.75,0.2143\nsecond,0.81,0.5\n"},
        {"a__csv": "model,accuracy,macro_f1\nfirst,0.75,0.7441\nsecond,0.81,0.5\n"},
        {"a__json": {"no_guard": {"tpr": 1.0, "fpr": 1.0}, "guard": {"tpr": 0.9, "fpr": 0.1}}},
        {"a__csv": "model,recall,fpr\n多数类,0,0\nbert,0.71,0.08\n"},
    ],
    ids=[
        "apart",
        "perfect",
        "another recall",
        "among the first",
        "sound",
        "few items",
        "tasks",
        "F1 of another",
        "a sound F1",
        "no guard at all",
        "the larger class",
    ],
)
def test_sound_rates_are_left_alone(tmp_path, files):
    assert "one-class-predicted" not in found(tmp_path, **files)


SAME = {"wer": 0.3817, "cer": 0.1243, "ser": 0.715, "f1": 0.6142}


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"a__md": "| Metric | Base | LoRA | MLP |\n|---|---|---|---|\n| F1 | 0.3172 | 0.3172 | 0.402 |\n"
                   "| Precision | 0.2841 | 0.2841 | 0.391 |\n| Recall | 0.5127 | 0.5127 | 0.55 |\n"},
         "scores-of-the-base"),
        ({"a__json": {"base": SAME, "tuned": SAME}}, "scores-of-the-base"),
        ({"a__json": {"raw labels": SAME, "cleaned by rules": SAME, "asked a model": SAME,
                      "smoothed": {k: v + 0.01 for k, v in SAME.items()}}}, "variants-come-out-equal"),
    ],
    ids=["measures in rows", "two rows", "several pairs"],
)  # fmt: skip
def test_rows_with_the_same_figures_are_told(tmp_path, files, code):
    assert code in found(tmp_path, **files)


@pytest.mark.parametrize(
    "files",
    [
        {"a__json": {"base": SAME, "tuned": {**SAME, "f1": 0.62}}},
        {"a__json": {"seed 1": SAME, "seed 2": SAME, "seed 3": {**SAME, "f1": 0.62}}},
        {"a__json": {"macro avg": SAME, "weighted avg": SAME, "spam": {**SAME, "f1": 0.62}}},
        {"a__json": {"short": {"n": 18, "a": 4 / 18, "b": 16 / 18, "c": 17 / 18, "d": 5 / 18},
                     "long": {"n": 18, "a": 4 / 18, "b": 16 / 18, "c": 17 / 18, "d": 5 / 18},
                     "odd": {"n": 18, "a": 3 / 18, "b": 12 / 18, "c": 11 / 18, "d": 6 / 18}}},
        {"a__json": {f"{form} {w}": {"mix_weight": w, **{k: v + w * i / 9 for k, v in SAME.items()}}
                     for i, form in enumerate(("soft", "hard", "ranked"), 1) for w in (0.0, 0.4, 0.9)}},
        {"a__json": {k: {"p": 0.5, "q": 1.0, "r": 0.5} for k in ("one", "two")} | {"three": {"p": 0.1}}},
    ],
    ids=["one differs", "seeds", "averages", "few items", "nothing of it is given", "round figures"],
)  # fmt: skip
def test_what_may_be_the_same_is_left_alone(tmp_path, files):
    assert not {"scores-of-the-base", "variants-come-out-equal"} & {*found(tmp_path, **files)}


def counts(*rows):
    return "model,score-mean,score-count\n" + "".join(f"m{i},{2 + i / 10},{n}\n" for i, n in enumerate(rows))


def test_a_row_of_far_fewer_items_is_told(tmp_path):
    told = found(tmp_path, a__csv=counts(640, 640, 640, 640, 12))
    assert told["answers-short-of-items"].data["n"] == 12
    table = "| 模型 | 样本数 | 准确率 |\n|---|---|---|\n" + "".join(
        f"| 甲{i} | {n} | 0.{5 + i} |\n" for i, n in enumerate([90, 90, 90, 90, 30])
    )
    assert "answers-short-of-items" in found(tmp_path, a__md=table)


@pytest.mark.parametrize(
    "rows",
    [(640, 640, 640, 640, 639), (640, 12, 300, 77, 51), (640, 640, 12), (300, 300, 300, 300, 299, 1499)],
    ids=["nearly", "all sizes", "few", "their sum"],
)
def test_other_sizes_are_no_gap(tmp_path, rows):
    assert "answers-short-of-items" not in found(tmp_path, a__csv=counts(*rows))


@pytest.mark.parametrize("files", [
    {"a__md": "# Audit\n\n**Total prompts:** 24\n**Scored answers:** 0\n**Safety rate:** 0.0%\n"},
    {"a__json": {"total": 60, "n_evaluated": 0, "accuracy": 0.0}},
])  # fmt: skip
def test_results_over_nothing_are_told(tmp_path, files):
    assert "scored-nothing" in found(tmp_path, **files)


@pytest.mark.parametrize("files", [
    {"a__json": {"total": 60, "n_evaluated": 60, "accuracy": 0.0}},
    {"a__json": {"odd": {"total": 9, "n_scored": 0}, "even": {"total": 9, "n_scored": 9, "accuracy": 0.7}}},
])  # fmt: skip
def test_results_of_something_are_not(tmp_path, files):
    assert "scored-nothing" not in found(tmp_path, **files)


def timed(*rows):
    return "model,pass_rate,p50_duration_s\n" + "".join(f"m{i},{p},{t}\n" for i, (p, t) in enumerate(rows))


@pytest.mark.parametrize(
    "files",
    [
        {"a__csv": timed((0, 6.0), (0.5, 27), (0, 6.2), (0, 5.9), (0.62, 31), (0, 30))},
        {"a__csv": "group,tool accuracy,coverage,n\na,0.0,0.73,8\nb,0.0,0.71,8\n"},
    ],
    ids=["at once", "everywhere"],
)
def test_nothing_at_all_is_told(tmp_path, files):
    assert "score-exactly-zero" in found(tmp_path, **files)


@pytest.mark.parametrize(
    "files",
    [
        {"a__csv": timed((0, 26.0), (0.5, 27), (0, 31.2), (0, 44.9), (0.62, 31), (0, 30))},
        {"a__csv": "group,tool accuracy,coverage,n\na,0.0,0.73,8\nb,0.25,0.71,8\n"},
        {"a__csv": "group,error rate,coverage,n\na,0.0,0.73,8\nb,0.0,0.71,8\n"},
    ],
    ids=["as long as others", "now and then", "less is better"],
)
def test_nothing_now_and_then_is_not(tmp_path, files):
    assert "score-exactly-zero" not in found(tmp_path, **files)


@pytest.mark.parametrize(("steps", "key", "told"), [
    (9, "threshold", False),  # one after the other was tried
    (9, "阈值", False),
    (2, "threshold", True),
    (2, "cutoff", True),
])  # fmt: skip
def test_the_ends_of_a_sweep_over_thresholds_flag_all_and_nothing(tmp_path, steps, key, told):
    some = [{key: i / 10, "recall": 1 - i / (steps - 1), "fpr": (1 - i / (steps - 1)) ** 2} for i in range(steps)]
    assert ("one-class-predicted" in found(tmp_path, roc__json={"night": {"sweep": some}})) is told
