"""Scores of guessing at the end of a training that learned something are judged; others, and young models, are not."""

import pytest

from triage.tools.discover import discover
from triage.tools.logs.chance import chance_of
from triage.tools.logs.scan import scan


def found(folder, *last, loss=0.5):
    steps = [f"step {i} loss {loss + 8 / (1 + i):.4f} lr 1e-4 grad_norm 1.0" for i in range(120)]
    (folder / "train.log").write_text("\n".join([*steps, "Finished generating", *last]) + "\n")
    return {f.code: f for f in scan(discover(folder)).findings}.get("benchmark-at-chance")


@pytest.mark.parametrize(
    ("line", "how"),
    [
        ("Dataset: mmlu, Accuracy: 23.019873271889402", "below"),
        ("piqa acc = 0.498", "at"),
        ("hellaswag: test accuracy: 25.1%", "at"),
        ("{'cmmlu': {'acc': 0.2490}}", "at"),
    ],
)
def test_a_score_of_guessing_is_judged(tmp_path, line, how):
    finding = found(tmp_path, line)
    assert finding.severity.name == "S2"
    assert f", {how} the" in finding.message
    assert finding.evidence[0].line == 122


@pytest.mark.parametrize(
    "lines",
    [
        ("Dataset: mmlu, Accuracy: 43.0",),
        ("mmlu acc: 0.2301", "hellaswag acc: 0.41"),
        ("Dataset: mine, Accuracy: 23.0",),
        ("gsm8k accuracy: 0.0",),
        ("We expect mmlu to have an accuracy",),
    ],
    ids=["better", "another is better", "unknown", "written answers", "no number"],
)
def test_other_scores_are_not(tmp_path, lines):
    assert found(tmp_path, *lines) is None


def test_a_language_model_that_was_trained_from_nothing_may_guess(tmp_path):
    assert found(tmp_path, "hellaswag acc: 0.2498", loss=2.9) is None


def test_names_are_told_apart():
    levels = {name: chance_of(name).points for name in ("arc_challenge", "mmlu", "cmmlu", "mmlu_pro", "xnli", "gsm8k")}
    assert levels == {"arc_challenge": 25, "mmlu": 25, "cmmlu": 25, "mmlu_pro": 10, "xnli": 100 / 3, "gsm8k": 0}
    assert chance_of("racecar_search_marc") is None
