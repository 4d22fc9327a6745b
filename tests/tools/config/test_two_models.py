"""Copies of a tokenizer's files: of one model they should agree, of two models they need not."""

import json

import pytest
from making import fill

from triage.tools.config.copies import check_copies
from triage.tools.discover import discover

TURNS, OTHER = (
    "{% for m in messages %}<a>{{ m.content }}{% endfor %}",
    "{% for m in messages %}[{{ m.content }}]{% endfor %}",
)


def tokens(*names: str) -> dict:
    return {"added_tokens_decoder": {str(i): {"content": n} for i, n in enumerate(names)}}


def codes(folder, one: dict, other: dict, *more: dict) -> list[str]:
    files = {
        f"{name}/tokenizer_config.json": json.dumps({"chat_template": text, **said})
        for name, text, said in (("train", TURNS, one), ("serve", OTHER, other))
    }
    files |= {f"{name}/{file}": json.dumps(v) for m in more for (name, file), v in m.items()}
    return [f.code for f in check_copies(discover(fill(folder, files))).findings]


@pytest.mark.parametrize(
    ("one", "other", "more"),
    [
        ({}, {}, {}),
        ({"tokenizer_class": "WrenTokenizer"}, {"tokenizer_class": "WrenTokenizerFast"}, {}),
        (tokens("<x>", "<y>", "<z>"), tokens("<x>", "<y>", "<z>", "<tool>"), {}),
        ({}, {}, {("train", "adapter_config.json"): {"base_model_name_or_path": "/mnt/wren2-7b"},
                  ("serve", "adapter_config.json"): {"base_model_name_or_path": "acme/Wren2-7B-Instruct-bnb-4bit"}}),
    ],
    ids=["nothing else", "a fast one", "tokens added", "one base"],
)  # fmt: skip
def test_one_model_with_two_templates(tmp_path, one, other, more):
    assert codes(tmp_path, one, other, more) == ["template-differs-between-copies"]


@pytest.mark.parametrize(
    ("one", "other", "more"),
    [
        ({"tokenizer_class": "WrenTokenizer"}, {"tokenizer_class": "OspreyTokenizer"}, {}),
        ({"processor_class": "WrenVLProcessor"}, {"processor_class": "OspreyProcessor"}, {}),
        (tokens("<x>", "<y>", "<z>"), tokens("<|s|>", "<|e|>", "<|t|>"), {}),
        ({}, {}, {("train", "adapter_config.json"): {"base_model_name_or_path": "acme/wren2-7b"},
                  ("serve", "adapter_config.json"): {"base_model_name_or_path": "other/osprey-3.1-8b-it"}}),
        ({}, {}, {("train", "config.json"): {"model_type": "wren"},
                  ("serve", "config.json"): {"model_type": "osprey"}}),
    ],
    ids=["class", "processor", "tokens", "bases", "kinds"],
)  # fmt: skip
def test_two_models(tmp_path, one, other, more):
    assert codes(tmp_path, one, other, more) == []
