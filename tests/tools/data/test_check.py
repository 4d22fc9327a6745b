# ruff: noqa: E501  (cases are rows of a table)
"""Schema, encoding, lengths and mixture of records: what fires, and what must stay silent."""

import json
import random

import pytest
from making import codes, write

from triage.tools.data.check import check
from triage.tools.findings import TriageError

QUESTIONS = [
    "how do rivers form",
    "what is a prime number",
    "name three birds",
    "explain photosynthesis",
    "why is the sky blue",
]


def answer(rng):
    return " ".join(
        rng.choices(
            ["rain", "rock", "light", "leaf", "number", "three", "seven", "water", "slow", "green", "wind", "carries",
             "cells"],
            k=25,
        )
    )  # fmt: skip


def chats(count=300, seed=1):
    rng = random.Random(seed)
    return [
        {"id": i, "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"{rng.choice(QUESTIONS)}?"},
                               {"role": "assistant", "content": answer(rng)}]}
        for i in range(count)
    ]  # fmt: skip


def run(tmp_path, rows, name="train.jsonl", **options):
    return check([write(tmp_path / name, rows)], **options)


CLEAN = {
    "chat": chats(),
    "tool calls": [{"messages": [{"role": "user", "content": "weather?"}, {"role": "assistant", "content": None, "tool_calls": [{"name": "w"}]},
                                 {"role": "tool", "content": "sunny"}, {"role": "assistant", "content": answer(random.Random(i))}]} for i in range(50)],
    "optional fields": [r | ({"source": "web"} if i % 3 else {}) | ({"score": None} if i % 2 else {"score": 0.5}) for i, r in enumerate(chats())],
    "requests to a server": [{"received": i, "messages": r["messages"][:2], "max_tokens": 512} for i, r in enumerate(chats())],
    "prompts for RL": [{"prompt": [{"role": "user", "content": f"{q} {i}"}], "reward_model": {"ground_truth": str(i)}} for i, q in enumerate(QUESTIONS * 60)],
    "pretraining with code and markup": [{"text": f"<s>{i}</s> def f(x): return x[{i}]\n\n" + answer(random.Random(i))} for i in range(300)],
    "chinese": [{"instruction": f"请说明第{i}条", "output": f"第{i}条的内容如下：" + "春夏秋冬山水花鸟"[i % 8] * 3} for i in range(150)],
    "multi-modal parts": [{"messages": [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "what is it?"}]},
                                        {"role": "assistant", "content": answer(random.Random(i))}]} for i in range(60)],
}  # fmt: skip


@pytest.mark.parametrize("name", CLEAN)
def test_clean_data_has_no_finding(tmp_path, name):
    report = run(tmp_path, CLEAN[name])
    assert codes(report) == {}
    assert {c.result for c in report.checks} <= {"clear", "not-applicable"}


def spoiled(rows, edit, every=20):
    return [edit(json.loads(json.dumps(r))) if i % every == 0 else r for i, r in enumerate(rows)]


def set_role(row):
    row["messages"][2]["role"] = "asistant"
    return row


def set_text(text):
    def edit(row):
        row["messages"][2]["content"] = text
        return row

    return edit


@pytest.mark.parametrize(
    ("edit", "code"),
    [
        (set_role, "data-schema-mismatch"),
        (lambda row: {"messages": []}, "data-schema-mismatch"),
        (lambda row: row | {"messages": row["messages"][:2]}, "data-schema-mismatch"),
        (lambda row: row | {"id": "seven"}, "data-schema-mismatch"),
        (lambda row: {"text": "pretraining text in a chat set"}, "data-schema-mismatch"),
        (set_text("<|im_start|>assistant\nhello<|im_end|>"), "data-schema-mismatch"),
        (set_text("cafÃ© crÃ¨me â€™ naÃ¯ve"), "encoding-broken"),
        (set_text("锟斤拷锟斤拷"), "encoding-broken"),
        (set_text("hidden\u202eflip\x07"), "encoding-broken"),
        (set_text("QUJD" * 300), "unspaced-records"),
        (set_text("along the canal " * 9), "repeated-text"),
        (lambda row: "{not json", "data-parse-error"),
        (
            lambda row: {"messages": [{"role": "user", "content": ""}, {"role": "assistant", "content": " "}]},
            "empty-records",
        ),
    ],
)
def test_each_defect_is_found_with_its_place(tmp_path, edit, code):
    report = run(tmp_path, spoiled(chats(), edit))
    assert code in codes(report)
    finding = next(f for f in report.findings if f.code == code)
    assert not finding.evidence or finding.evidence[0].line == 1


@pytest.mark.parametrize(("looping", "severity"), [(2, "S3"), (4, "S2")])
def test_one_or_two_texts_that_loop_are_a_note(tmp_path, looping, severity):
    rows = [{"text": f"The answer to question {i} is {i * i}. " * (6 if i < looping else 1)} for i in range(60)]
    found = codes(run(tmp_path, rows))
    assert found.get("repeated-text", "S3") == severity


def test_a_response_that_is_missing_is_an_empty_record(tmp_path):
    rows = [{"instruction": f"say {i}", "output": "" if i % 10 == 0 else f"it is {i}"} for i in range(200)]
    assert codes(run(tmp_path, rows)) == {"empty-records": "S2"}


def test_double_begin_token_is_found_in_text_and_a_single_one_is_not(tmp_path):
    rows = [{"text": f"<s><s> hello number {i}"} for i in range(20)]
    assert "double-bos" in codes(run(tmp_path, rows))
    assert codes(run(tmp_path, [{"text": f"<s> hello number {i}"} for i in range(20)])) == {}


def test_lengths_are_judged_only_against_a_given_context(tmp_path):
    rng = random.Random(2)
    rows = [{"text": " ".join(answer(rng) for _ in range(20 if i % 10 == 0 else 2))} for i in range(200)]
    assert codes(run(tmp_path, rows)) == {}
    report = run(tmp_path, rows, context_length=300)
    assert codes(report) == {"overlong-records": "S2"}
    assert report.summary["over_context"] == 20
    assert sum(report.summary["length_histogram"].values()) == 200
    assert codes(run(tmp_path, rows, context_length=32768)) == {"short-data-for-context": "S2"}


def test_the_mixture_is_judged_against_a_recipe_or_earlier_shards(tmp_path):
    english, chinese = (
        [{"text": answer(random.Random(i))} for i in range(80)],
        [{"text": "今天天气很好我们去爬山" * 3} for _ in range(20)],
    )
    rows = english + chinese
    assert codes(run(tmp_path, rows, recipe={"latin": 0.78, "han": 0.22})) == {}
    report = run(tmp_path, rows, recipe={"latin": 0.5, "han": 0.5})
    assert codes(report) == {"language-mix-shift": "S2"}
    early = write(tmp_path / "early.jsonl", rows)
    assert codes(run(tmp_path, rows, reference=[early])) == {}
    assert codes(run(tmp_path, english, reference=[early])) == {"language-mix-shift": "S2"}


def test_one_opening_in_most_answers_is_template_concentration(tmp_path):
    rows = [{"prompt": f"q {i}", "response": f"Certainly! Here is the {answer(random.Random(i))}"} for i in range(300)]
    assert codes(run(tmp_path, rows)) == {"template-concentration": "S2"}


def test_filter_reasons_must_add_up(tmp_path):
    rows = [
        {"text": answer(random.Random(i)), "filtered": i % 4 == 0} | ({"filter_reason": "short"} if i % 8 == 0 else {})
        for i in range(80)
    ]
    report = run(tmp_path, rows)
    assert report.findings[0].data == {"unexplained": 10, "dropped": 20}
    assert codes(run(tmp_path, [r | {"filter_reason": "short"} for r in rows])) == {}


def test_an_empty_file_and_a_file_of_garbage_are_not_clean(tmp_path):
    assert codes(run(tmp_path, [])) == {"data-empty": "S1"}
    assert codes(run(tmp_path, ["}{", "x"])) == {"data-parse-error": "S1"}


def test_a_path_without_data_is_an_error_of_the_user(tmp_path):
    with pytest.raises(TriageError, match="no such file"):
        check([tmp_path / "none"])


def test_files_of_different_kinds_side_by_side_are_no_schema_mismatch(tmp_path):
    write(tmp_path / "sft.jsonl", chats(200))
    (tmp_path / "prompts.jsonl").write_text(
        "".join(json.dumps({"id": f"p{i}", "prompt": f"say {i}"}) + "\n" for i in range(20))
    )
    assert codes(check([tmp_path])) == {}


def test_reasoning_answers_that_begin_alike_are_only_noted(tmp_path):
    rows = [
        {"prompt": f"q {i}", "response": ("<think>\nOkay, so I need to " if i % 2 else "") + answer(random.Random(i))}
        for i in range(400)
    ]
    assert codes(run(tmp_path, rows)) == {"template-concentration": "S3"}


def test_short_answers_of_a_classification_set_are_no_template(tmp_path):
    rows = [{"prompt": f"q {i} {answer(random.Random(i))}", "response": "Answer: yes"} for i in range(300)]
    assert codes(run(tmp_path, rows)) == {}


def test_a_chat_whose_answer_is_blank_is_an_empty_record_and_a_tool_call_is_not(tmp_path):
    def chat(i, **last):
        return {"messages": [{"role": "user", "content": f"question {i}"}, {"role": "assistant", **last}]}

    def found(name, rows):
        return "empty-records" in check([write(tmp_path / f"{name}.jsonl", rows)]).codes()

    said = [chat(i, content=f"answer {i}") for i in range(50)]
    assert found("blank", [*said, *(chat(i, content=" ") for i in range(5))])
    calls = [{"name": "search", "arguments": "{}"}]
    assert not found("tools", [*said, *(chat(i, content="", tool_calls=calls) for i in range(5))])
