"""How answers of a results file end: cut in a sentence, going on with the next turn, or well."""

import json

import pytest

from triage.tools.relate.summed.endings import endings
from triage.tools.tables.read import read_tables

WHOLE = "The first reason is the weather. The second one is the long way to the city. So he stayed at home. It was {}."
BROKEN = WHOLE + " And then the neighbours came over and asked whether they could bor"
CODE = "def number_{}(a, b):\n    t = a + b\n    for i in range(b):\n        t += i\n    return t * 2 + a - b // value"
LISTED = "name {} alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau"


def told(tmp_path, *groups, name="generations.jsonl", column="response", model="model"):
    rows = [{"id": i, model: who, "prompt": f"p{i}", column: text.format("x" * (i % 7))}
            for who, texts in groups for i, text in enumerate(texts)]  # fmt: skip
    path = tmp_path / name
    path.write_text("\n".join(json.dumps(r) for r in rows) + "\n")
    return {f.code: f for f in endings(read_tables(path, name))}


def test_a_model_that_stops_less_than_the_one_before_it_is_told_under_one_limit(tmp_path):
    found = told(tmp_path, ("base", [WHOLE] * 30 + [BROKEN] * 10), ("sft", [WHOLE] * 4 + [BROKEN] * 36))
    assert found.keys() == {"answers-stop-less", "answers-break-off"}
    assert (found["answers-stop-less"].data["who"], found["answers-stop-less"].data["other"]) == ("sft", "base")


def test_a_limit_that_cuts_all_models_alike_is_told_without_blaming_one(tmp_path):
    assert told(tmp_path, ("base", [BROKEN] * 30), ("sft", [BROKEN] * 30)).keys() == {"answers-break-off"}


@pytest.mark.parametrize(
    "next_", ["\n\nQuestion: who is next?", "\nUser: and now?", "<|im_start|>user", "\n问题：为什么"]
)
def test_answers_that_go_on_with_the_next_turn_are_told(tmp_path, next_):
    assert "answers-go-on" in told(tmp_path, ("m", [WHOLE + next_] * 12 + [WHOLE] * 28))


@pytest.mark.parametrize("texts", [
    [WHOLE] * 40,
    [WHOLE] * 30 + [BROKEN] * 10,
    [WHOLE + "\n\nAnswer: $\\boxed{{42}}$"] * 40,
    [WHOLE + " **42**"] * 40,
    ["B"] * 20 + ["42"] * 20,
    [CODE] * 40,
    [LISTED] * 40,
    ["Question: {} who?\nAnswer: he.\nQuestion: and then?\nAnswer: she."] * 40,
    [BROKEN] * 10,
], ids=["whole", "some cut", "boxed", "bold", "short", "code", "lists", "transcripts", "too few"])  # fmt: skip
def test_answers_that_end_well_and_what_is_no_prose_are_not_told_of(tmp_path, texts):
    assert not told(tmp_path, ("m", texts))


def test_answers_that_were_stored_shortened_are_not_called_cut(tmp_path):
    long = [(f"{i} " + WHOLE + " " + WHOLE).format("x", "y")[:201] for i in range(10, 50)]
    assert not told(tmp_path, ("m", long))


@pytest.mark.parametrize(("name", "column"), [
    ("train.jsonl", "response"), ("data/corpus_samples.jsonl", "text"), ("generations.jsonl", "reference_output"),
    ("generations.jsonl", "prompt_sample"), ("users.jsonl", "response"),
])  # fmt: skip
def test_training_data_and_what_no_model_wrote_is_not_judged(tmp_path, name, column):
    (tmp_path / "data").mkdir()
    assert not told(tmp_path, ("m", [BROKEN] * 40), name=name, column=column)
