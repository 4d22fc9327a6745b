"""Scores before and after training, from files as harnesses write them."""

import json

import numpy as np
import pytest

from triage.tools.discover import discover
from triage.tools.relate.line import Line
from triage.tools.relate.scores.broken import broken
from triage.tools.scores import check_run_evals, pairs, scores


def harness(**tasks):
    """`task=(accuracy, items)` as lm-evaluation-harness writes it."""
    results = {
        task: {"acc,none": p, "acc_stderr,none": (p * (1 - p) / n) ** 0.5 if n else "N/A"}
        for task, (p, n) in tasks.items()
    }
    sizes = {task: {"original": n, "effective": n} for task, (_, n) in tasks.items() if n}
    return {"results": results, "n-samples": sizes}


def judged(tmp_path, base, after):
    for name, value in {"base_results.json": base, "results.json": after}.items():
        if value is not None:
            (tmp_path / name).write_text(json.dumps(value))
    report = check_run_evals(discover(tmp_path))
    return {f.code: f for f in report.findings}, report.checks[0].result


def test_a_general_score_that_was_lost_while_the_domain_gained(tmp_path):
    before = harness(mmlu=(0.62, 1000), tickets=(0.2, 400))
    found, check = judged(tmp_path, before, harness(mmlu=(0.41, 1000), tickets=(0.7, 400)))
    drop = found["benchmark-drop"]
    assert (check, drop.severity, drop.data["score"]) == ("found", "S1", "mmlu/acc,none")
    assert drop.data["drop"] == pytest.approx(21.0)
    assert [e.file for e in drop.evidence] == ["results.json", "base_results.json"]
    assert "tickets/acc,none 20.0 -> 70.0" in drop.message


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"mmlu": (0.62, 1000)}, {"mmlu": (0.60, 1000)}),  # within the target
        ({"mmlu": (0.62, 50)}, {"mmlu": (0.50, 50)}),  # 12 points on 50 items are noise
        ({"mmlu": (0.40, 1000)}, {"mmlu": (0.55, 1000)}),  # better
        ({"mmlu": (0.62, 0)}, {"mmlu": (0.55, 0)}),  # items unknown, within the hard limit
        ({"mmlu": (0.62, 1000)}, {"gsm8k": (0.10, 1000)}),  # nothing to compare
    ],
)
def test_what_is_no_drop(before, after, tmp_path):
    found, check = judged(tmp_path, harness(**before), harness(**after))
    assert found == {}
    assert check == ("not-applicable" if before.keys() != after.keys() else "clear")


def test_a_small_drop_on_many_items_is_graded_lower(tmp_path):
    found, _ = judged(tmp_path, harness(mmlu=(0.62, 10_000)), harness(mmlu=(0.55, 10_000)))
    assert found["benchmark-drop"].severity == "S2"


def test_without_results_of_the_base_model_nothing_is_compared(tmp_path):
    assert judged(tmp_path, None, harness(mmlu=(0.1, 100))) == ({}, "not-applicable")
    (tmp_path / "base_results.json").write_text("{broken")
    assert judged(tmp_path, None, harness(mmlu=(0.1, 100))) == ({}, "not-applicable")


def test_of_a_group_of_tasks_only_the_group_is_compared(tmp_path):
    tasks = harness(mmlu=(0.6, 1000), mmlu_law=(0.5, 100))
    (tmp_path / "results.json").write_text(json.dumps(tasks))
    found = scores(discover(tmp_path))
    assert [name for name, *_ in pairs(found, found)] == ["mmlu/acc,none"]


def test_a_score_at_the_level_of_guessing_is_no_drop_of_ability(tmp_path):
    before = harness(mmlu=(0.71, 10_000), gsm8k=(0.80, 1300), hellaswag=(0.78, 10_000))
    found, check = judged(tmp_path, before, harness(mmlu=(0.251, 10_000), gsm8k=(0.01, 1300), hellaswag=(0.60, 10_000)))
    assert (check, found["score-at-chance"].data["at_chance"]) == ("found", 2)
    assert found["benchmark-drop"].data["score"] == "hellaswag/acc,none"


@pytest.mark.parametrize(
    ("task", "before", "after"),
    [
        ("mmlu", 0.71, 0.35),  # well above guessing
        ("mmlu_pro", 0.45, 0.25),  # ten choices: guessing gives 10
        ("tickets", 0.71, 0.25),  # nobody knows what guessing gives
        ("winogrande", 0.80, 0.60),
    ],
)
def test_a_drop_that_stays_above_guessing_is_a_drop(tmp_path, task, before, after):
    found, _ = judged(tmp_path, harness(**{task: (before, 10_000)}), harness(**{task: (after, 10_000)}))
    assert found.keys() == {"benchmark-drop"}


@pytest.mark.parametrize(("key", "one", "other"), [("n-shot", 5, 0), ("versions", 1.0, 2.0)])
def test_scores_that_were_measured_differently_are_not_compared(tmp_path, key, one, other):
    before, after = harness(mmlu=(0.71, 10_000)), harness(mmlu=(0.61, 10_000))
    found, check = judged(tmp_path, {**before, key: {"mmlu": one}}, {**after, key: {"mmlu": other}})
    assert (check, found.keys()) == ("found", {"eval-settings-differ"})
    found, _ = judged(tmp_path, {**before, key: {"mmlu": one}}, {**after, key: {"mmlu": one}})
    assert found.keys() == {"benchmark-drop"}
    found, _ = judged(tmp_path, before, {**after, key: {"mmlu": one}})
    assert found.keys() == {"benchmark-drop"}


def alike(shots, **tasks):
    return harness(**tasks) | {"n-shot": dict.fromkeys(tasks, shots)}


BEFORE = {"mmlu": (0.62, 2000), "gsm8k": (0.55, 1300), "tickets": (0.3, 900)}


@pytest.mark.parametrize(
    ("after", "shots", "told"),
    [
        ({"mmlu": (0.49, 2000), "gsm8k": (0.33, 1300), "tickets": (0.7, 900)}, 5, True),
        ({"mmlu": (0.49, 2000), "gsm8k": (0.33, 1300), "tickets": (0.31, 900)}, 5, False),
        ({"mmlu": (0.61, 2000), "gsm8k": (0.33, 1300), "tickets": (0.7, 900)}, 5, False),
        ({"mmlu": (0.49, 2000), "gsm8k": (0.33, 1300), "tickets": (0.7, 900)}, 0, False),
        ({"mmlu": (0.60, 2000), "gsm8k": (0.54, 1300), "tickets": (0.7, 900)}, 5, False),
    ],
    ids=["traded", "nothing won", "one lost", "asked otherwise", "only won"],
)
def test_abilities_that_are_traded(tmp_path, after, shots, told):
    found, _ = judged(tmp_path, alike(5, **BEFORE), alike(shots, **after))
    assert ("abilities-traded" in found) is told


def test_nothing_is_traded_where_nobody_noted_how_it_was_measured(tmp_path):
    after = {"mmlu": (0.49, 2000), "gsm8k": (0.33, 1300), "tickets": (0.7, 900)}
    assert "abilities-traded" not in judged(tmp_path, harness(**BEFORE), harness(**after))[0]
    old = [{"results": {k: {"acc": p, "acc_stderr": (p * (1 - p) / n) ** 0.5} for k, (p, n) in some.items()},
            "versions": dict.fromkeys(some, 1)} for some in (BEFORE, after)]  # fmt: skip
    assert "abilities-traded" in judged(tmp_path, *old)[0]


def row(name, values, every, shift=0.0):
    values = np.asarray(values, float) + shift
    x = every * np.arange(1.0, len(values) + 1)
    return Line(name, name, "log", x, values, np.arange(1, len(values) + 1))


CLIMBS = [0.22, 0.26, 0.34, 0.39, 0.47, 0.49, 0.51, 0.55]
JUMPS = np.concatenate([np.linspace(6, 2, 80), [7.4, 5.0, 4.6, 4.2], np.full(66, 0.5)])


def test_a_score_that_climbs_until_the_loss_breaks_and_is_lower_behind_it_is_told():
    (found,) = broken([row("loss", JUMPS, 3), row("accuracy", [*CLIMBS, 0.48, 0.45, 0.49, 0.5], 30)])
    assert (found.code, found.data["interval"]) == ("score-falls-where-loss-breaks", [240, 270])


@pytest.mark.parametrize(
    ("loss", "scores"),
    [
        (np.linspace(6, 1, 150), [*CLIMBS, 0.48, 0.45, 0.49, 0.5]),
        (JUMPS, [*CLIMBS, 0.56, 0.58, 0.57, 0.6]),
        (JUMPS, [*CLIMBS, 0.48, 0.56, 0.49, 0.5]),
        (JUMPS, [0.5, 0.51, 0.49, 0.5, 0.51, 0.5, 0.5, 0.51, 0.48, 0.47, 0.48]),
        (JUMPS, [0.3, 0.4, 0.5]),
    ],
    ids=["no break", "climbs on", "one as high", "had not climbed", "few"],
)
def test_a_fall_without_a_break_or_a_break_without_a_fall_is_not(loss, scores):
    assert not [*broken([row("loss", loss, 3), row("accuracy", scores, 30)])]


@pytest.mark.parametrize(("names", "code"), [
    (("before_export.json", "deployed.json"), "score-lost-in-export"),
    (("base_results.json", "merged_results.json"), "benchmark-drop"),
])  # fmt: skip
def test_what_is_lost_between_training_and_serving_is_no_forgetting(tmp_path, names, code):
    for name, score in zip(names, (0.9, 0.6), strict=True):
        folder = tmp_path / "results"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(harness(mmlu=(score, 1000), tickets=(score, 400))))
    found = check_run_evals(discover(tmp_path)).findings
    assert [f.code for f in found] == [code]
    assert ("after the export" in found[0].message) is (code == "score-lost-in-export")


@pytest.mark.parametrize("held", ["correct_counts", "n_right", "confusion_matrices", "答对数量"])
def test_numbers_of_items_are_no_scores(tmp_path, held):
    def results(share, right):
        return {"exact_match": share, held: {"score_a": right, "score_b": right + 3}, "total_count": 300}

    assert judged(tmp_path, results(0.31, 93), results(0.27, 60)) == ({}, "clear")
    found, _ = judged(tmp_path, results(0.61, 183), results(0.31, 93))
    assert found["benchmark-drop"].data["score"] == "exact_match"
