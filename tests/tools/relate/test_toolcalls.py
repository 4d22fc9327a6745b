"""Calls of tools left in the text of an answer."""

import json

import pytest

from triage.tools.relate.texts.toolcalls import left_in_text
from triage.tools.tables.read import read_tables


def findings(tmp_path, answers):
    rows = [
        {
            "id": f"r{i}",
            "choices": [{"index": 0, "message": {"content": said, "tool_calls": calls}, "finish_reason": "stop"}],
        }
        for i, (said, calls) in enumerate(answers)
    ]
    (tmp_path / "responses.jsonl").write_text("\n".join(map(json.dumps, rows)))
    tables = read_tables(tmp_path / "responses.jsonl", "responses.jsonl")
    return [f.code for t in tables for f in left_in_text(t)]


PLAIN = [(f"The answer to question {i} is {i * i}.", []) for i in range(12)]
CALLED = [{"type": "function", "function": {"name": "find", "arguments": "{}"}}]


@pytest.mark.parametrize(
    "said",
    [
        '[TOOL_CALLS]find[ARGS]{"city": "Oslo"}',
        '<tool_call>\n{"name": "find", "arguments": {"city": "Oslo"}}\n</tool_call>',
        '{"name": "find", "parameters": {"city": "Oslo"}}',
        "<function=find>{}</function>",
    ],
)
def test_calls_that_stand_in_the_text_are_told(tmp_path, said):
    assert findings(tmp_path, [*PLAIN, *[(said, [])] * 4]) == ["tool-calls-left-in-text"]


@pytest.mark.parametrize(
    "answers",
    [
        PLAIN,
        [*PLAIN, *[("", CALLED)] * 4],
        [*PLAIN, *[('{"city": "Oslo", "nights": 2}', [])] * 4],
        [*PLAIN, ('{"name": "find", "arguments": {}}', [])],
    ],
    ids=["no call", "parsed calls", "plain JSON", "a single one"],
)
def test_parsed_calls_and_other_json_are_not(tmp_path, answers):
    assert findings(tmp_path, answers) == []
