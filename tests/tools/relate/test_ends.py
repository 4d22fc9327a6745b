"""Ends of answers that are no label, and answers of a trained model that are those of its base."""

import csv
import io

import pytest

from triage.tools.relate.texts.ends import end_left_out
from triage.tools.relate.texts.same import of_the_base
from triage.tools.tables.read import read_tables


def told(tmp_path, look, text, name="x.csv"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return [f.code for t in read_tables(tmp_path / name, name) for f in look(t)]


def rows(head, *lines):
    out = io.StringIO()
    csv.writer(out).writerows([head, *lines])
    return out.getvalue()


ASKED = ["<s>", "###", "Inst", ":", "What", "is", "it", "?", "###", "Resp", ":"]
ANSWER = ["Water", "boils", "at", "100", "C", "."]


def dump(end="</s>", trained=False, pads=6, labels=None, times=1):
    out, i = [], 0
    for _ in range(times):
        for piece in [*ASKED, *ANSWER, end, *[end] * pads]:
            on = piece in ANSWER or (trained and piece == end and out[-1][3] != -100)
            out.append([i, piece, 1, i + 100 if on else -100])
            i += 1
        pads = 0
    return rows(["pos", "piece", "mask", labels or "y"], *out)


@pytest.mark.parametrize("end", ["</s>", "<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<｜end▁of▁sentence｜>"])
@pytest.mark.parametrize("labels", ["y", "label", "target"])
def test_an_end_that_no_answer_is_trained_on(tmp_path, end, labels):
    assert told(tmp_path, end_left_out, dump(end, labels=labels)) == ["eos-not-trained"]


@pytest.mark.parametrize(
    "text",
    [
        dump(trained=True),
        dump(end="\n", pads=0),  # no mark stands there
        rows(["pos", "piece", "y"], *[[i, p, i] for i, p in enumerate([*ASKED, *ANSWER, "</s>"])]),  # all are trained
        rows(["pos", "piece"], *[[i, p] for i, p in enumerate([*ASKED, *ANSWER, "</s>"])]),
    ],
    ids=["trained", "no mark", "all", "no labels"],
)
def test_ends_that_are_trained_or_not_there_are_silent(tmp_path, text):
    assert told(tmp_path, end_left_out, text) == []


SAID = [f"The answer to question {i} has {i * 7} parts, and each part is told." for i in range(8)]


def wide(base, other, a=SAID, b=SAID):
    return rows(["q", base, other], *[[f"q{i}?", x, y] for i, (x, y) in enumerate(zip(a, b, strict=True))])


def long(base, other, b=SAID):
    lines = [[i, name, f"q{i}?", said[i]] for i in range(8) for name, said in ((base, SAID), (other, b))]
    return rows(["id", "model", "prompt", "reply"], *lines)


@pytest.mark.parametrize(
    "text",
    [
        wide("base_model", "r38"), wide("底座", "微调后"), wide("before", "sft_v2"),
        long("llama-3.1-8b-instruct", "returns"), long("Qwen/Qwen2.5-7B", "desk-assistant"), long("base", "ours"),
    ],
)  # fmt: skip
def test_a_trained_model_that_answers_as_its_base(tmp_path, text):
    assert told(tmp_path, of_the_base, text) == ["answers-of-the-base"]


@pytest.mark.parametrize(
    "text",
    [
        wide("base_model", "r38", b=[s.replace("told", "tuned") for s in SAID]),
        wide("hf", "vllm"),  # two engines ought to agree
        wide("base", "r38", ["yes"] * 8, ["yes"] * 8),  # short answers are alike
        wide("base", "r38", [SAID[0]] * 8, [SAID[0]] * 8),  # one stock answer
        wide("base", "r38", SAID, [*SAID[:5], "another", "answer", "here"]),
        long("llama-3.1-8b-instruct", "returns", [s[::-1] for s in SAID]),
    ],
)
def test_models_that_part_and_engines_that_agree_are_silent(tmp_path, text):
    assert told(tmp_path, of_the_base, text) == []
