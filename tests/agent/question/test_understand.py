"""A message of any kind is read, quickly; and what was once understood of the suites stays so."""

import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import triage.evals
from triage.agent.question.understand import understand
from triage.agent.session import index
from triage.evals.suites.questions import rows, scored

WORDS = [
    *("not", "the", "lr", "is", "data", "really", "I doubt it", "raise", "to", "1e-4", "from", "nan", "and", "or"),
    *("学习率", "不是", "吗", "把", "降", "?", ".", ",", "X_y", ":", "=", "->", "\n", "\ue000", "'", "(", "é", "🙂"),
]


@given(st.one_of(st.text(max_size=400), st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join)))
@settings(max_examples=150, deadline=None)
def test_any_text_is_read(text):
    asked = understand(text)
    assert asked.text == text
    assert len({s.topic.id for s in asked.suspicions}) == len(asked.suspicions)


@pytest.mark.parametrize(
    "piece", ["not ", "学习率", "降", "raise the lr ", "lr, ", "lr? ", "a_", "loss ", "\ue000 ", "x\n"]
)
def test_the_longest_message_is_read_in_time(piece):
    start = time.monotonic()
    understand((piece * 100_000)[:100_000])
    assert time.monotonic() - start < 10


LEARNED = tuple(f"leading{n}.jsonl" for n in ("", "-2", "-3", "-4", "-5", "-6", "-dev"))
"""What the weights were trained on."""


def understood(name):
    total, books = Counter(), index(None)
    for row in rows(Path(triage.evals.__path__[0]) / "data" / name):
        total += scored(row, understand(row["q"], books.corrected, books.search))
    return total


@pytest.mark.parametrize("name", LEARNED)
def test_what_was_learned_is_understood(name):
    total = understood(name)
    assert total["recognised"] >= 0.9 * total["suspicions"]
    assert total["polarity"] >= 0.97 * total["recognised"]
    assert total["direction"] >= 0.86 * total["plans"]
    assert total["extra"] <= (17 if name == "leading-dev.jsonl" else 6), "the largest has 400 questions"
    assert total["extra plans"] <= 15


@pytest.mark.parametrize(
    ("name", "recognised", "polarity", "direction", "extra"),
    [("leading-7.jsonl", 0.83, 0.95, 0.93, 9), ("leading-19.jsonl", 0.84, 0.81, 0.7, 14)],
)
def test_questions_that_nothing_was_learned_from_are_understood_as_measured(
    name, recognised, polarity, direction, extra
):
    total = understood(name)
    assert total["recognised"] >= recognised * total["suspicions"]
    assert total["polarity"] >= polarity * total["recognised"]
    assert total["direction"] >= direction * total["plans"]
    assert total["extra"] <= extra
    assert total["extra plans"] <= 12


@pytest.mark.parametrize(
    ("said", "suspected"),
    [
        ("loss is nan at step 4000, bad data?", ["data"]),
        ("loss 在第 4000 步变成 nan，坏数据？", ["data"]),
        ("what does the learning rate do?", []),
        ("loss is nan at step 4000 after the new data", []),
    ],
)
def test_a_cause_that_is_a_question_of_its_own_is_suspected(said, suspected):
    assert [s.topic.id for s in understand(said).suspicions if s.polarity == "suspects"] == suspected


@pytest.mark.parametrize(("said", "finding"), [("把F2解释一下", "F2"), ("说一下F12", "F12"), ("explain F1", "F1")])
def test_a_finding_is_named_between_chinese_characters_too(said, finding):
    asked = understand(said)
    assert (asked.wants, asked.finding) == ("explain", finding)


@pytest.mark.parametrize(
    ("said", "suspected"),
    [
        ("the card sits at 74 of 80 GB all night. leak?", ["memory"]),
        ("服务显存一直不降，是泄漏吗？", ["memory"]),
        ("MMLU rose by nine points in a day. leak?", ["contamination"]),
        ("the score on 8 GPUs is 12 points up. leakage?", ["contamination"]),
    ],
)
def test_what_leaks_is_told_by_what_the_message_speaks_of(said, suspected):
    assert [s.topic.id for s in understand(said).suspicions if s.polarity == "suspects"] == suspected
