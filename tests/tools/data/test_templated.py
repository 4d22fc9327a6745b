"""Two results, one asked without a chat template: told where that one is lower, silent where it is usual."""

import json

import pytest

from triage.tools.data.between.results import check_results
from triage.tools.discover import discover

CHAT = "{% for m in messages %}[{{ m.role }}] {{ m.content }}{% endfor %}"


def harness(model, template, scores, **more):
    return {
        "results": {t: {"alias": t, "exact_match,strict": v, "exact_match_stderr,strict": 0.01}
                    for t, v in scores.items()},
        "config": {"model": "hf", "model_args": f"pretrained={model},dtype=bfloat16"}, "n-shot": {t: 4 for t in scores},
        "git_hash": "c0ffee1", "chat_template": template, **more,
    }  # fmt: skip


def board(model, asked, scores):
    return {"checkpoint": model, "apply_chat_template": asked, "harness": "evalkit 2", "scores": scores}


def found(tmp_path, files):
    for name, value in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        text = value if isinstance(value, str) else json.dumps(value, indent=1, ensure_ascii=False)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return list(check_results(discover(tmp_path)).findings)


GOOD, BAD = {"math500": 0.61, "ifeval": 0.7}, {"math500": 0.33, "ifeval": 0.45}
COMMAND = "lm_eval --model hf --model_args pretrained={} --tasks math500,ifeval {} --output_path out\n"


def test_the_command_that_leaves_the_template_out_is_named(tmp_path):
    files = {"before/r.json": harness("/hub/kite-8b-chat", CHAT, GOOD),
             "after/r.json": harness("/ck/kite-tuned", None, BAD),
             "go_before.sh": COMMAND.format("/hub/kite-8b-chat", "--apply_chat_template"),
             "go_after.sh": COMMAND.format("/ck/kite-tuned", "")}  # fmt: skip
    [finding] = found(tmp_path, files)
    assert (finding.code, finding.data["score"]) == ("asked-without-template", "math500")
    assert "go_after.sh:1 does not set it" in finding.message
    assert "go_before.sh:1 has --apply_chat_template" in finding.message


def test_another_harness_in_chinese_and_a_switch(tmp_path):
    files = {"甲.json": board("/模型/雨燕-聊天", True, {"gsm8k": 71.0, "cmmlu": 66.0}),
             "乙.json": board("/模型/雨燕-微调", False, {"gsm8k": 22.5, "cmmlu": 41.0})}  # fmt: skip
    assert [f.code for f in found(tmp_path, files)] == ["asked-without-template"]


def test_a_lenient_reading_finds_the_answers(tmp_path):
    files = {"a/r.json": harness("/hub/kite-chat", CHAT, GOOD), "b/r.json": harness("/ck/kite-sft", None, BAD)}
    for name, lenient in (("a/r.json", 0.63), ("b/r.json", 0.58)):
        files[name]["results"]["math500"]["exact_match,flexible"] = lenient
    [finding] = found(tmp_path, files)
    assert "math500 is 58.0 there by exact_match,flexible, 33.0 by exact_match,strict" in finding.message


@pytest.mark.parametrize(
    "files",
    [
        {"a.json": harness("/hub/base", None, GOOD), "b.json": harness("/ck/sft", CHAT, BAD)},  # the raw one is higher
        {"a.json": harness("/hub/base", CHAT, GOOD), "b.json": harness("/ck/sft", CHAT[::-1], BAD)},  # each its own
        {"a.json": harness("/hub/base", None, GOOD), "b.json": harness("/ck/sft", None, BAD)},
        {"a.json": harness("/hub/base", CHAT, GOOD), "b.json": harness("/ck/sft", None, GOOD)},  # nothing moved
        {
            "with_template.json": harness("/ck/x", CHAT, GOOD),
            "no_template.json": harness("/ck/y", None, BAD),
        },  # a study
    ],
    ids=["raw is higher", "two templates", "both raw", "alike", "study"],
)
def test_silent(tmp_path, files):
    assert found(tmp_path, files) == []
