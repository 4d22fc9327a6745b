"""What only asks how a run went is no complaint that something must have measured."""

import pytest

from triage.agent.question.complaints import complaints


@pytest.mark.parametrize("said", [
    "these warnings look scary, is the run broken?", "it restarted at night. is my training bad?",
    "Is the whole run wrong? the messages are odd", "警告看着挺吓人的，正常吗？",
])  # fmt: skip
def test_asked_in_general(said):
    assert not [*complaints(said)]


@pytest.mark.parametrize("said", [
    "the answers look bad since monday", "is the model repeating itself? outputs are odd", 
    "warnings aside, the answers are empty",
])  # fmt: skip
def test_told_of_something_that_was_seen(said):
    assert [*complaints(said)]
