# ruff: noqa: E501  (cases are rows of a table)
"""Token labels against their tokens: what a dump of input_ids and labels shows."""

import random

import pytest
from making import codes, write

from triage.tools.data.dumps import read_dump
from triage.tools.data.labels import check_labels, check_tokenizer

BOS, EOS, PAD = 1, 2, 0


def sequence(rng, prompt=8, answer=12, pad=0):
    ids = [BOS, *(rng.randint(10, 999) for _ in range(prompt + answer - 2)), EOS]
    return {
        "input_ids": ids + [PAD] * pad,
        "labels": [-100] * prompt + ids[prompt:] + [-100] * pad,
        "attention_mask": [1] * len(ids) + [0] * pad,
        "spans": [{"role": "user", "start": 0, "end": prompt}, {"role": "assistant", "start": prompt, "end": len(ids)}],
    }


def sequences(count=60, **options):
    rng = random.Random(1)
    return [sequence(rng, rng.randint(4, 12), rng.randint(6, 30), **options) for _ in range(count)]


def run(tmp_path, rows):
    return check_labels(read_dump([write(tmp_path / "dump.jsonl", rows)]))


def changed(edit, **options):
    return [edit(dict(r)) for r in sequences(**options)]


def no_spans(row):
    return {k: v for k, v in row.items() if k != "spans"}


@pytest.mark.parametrize(
    "rows",
    [
        sequences(), sequences(pad=7), changed(no_spans, pad=3),
        changed(lambda r: no_spans(r) | {"labels": r["input_ids"]}),  # pre-training trains on everything
        changed(lambda r: r | {"eos_token_id": EOS, "pad_token_id": PAD, "bos_token_id": BOS}),
        # packed or truncated blocks of one length need not end with the end token
        [{"input_ids": list(range(100, 164)), "labels": list(range(100, 164)), "eos_token_id": EOS} for _ in range(40)],
    ],
)  # fmt: skip
def test_correct_labels_have_no_finding(tmp_path, rows):
    assert codes(run(tmp_path, rows)) == {}


def shift(row):
    return no_spans(row) | {"labels": [*row["labels"][1:], -100]}


def mask_eos(row):
    return row | {"labels": [-100 if t == EOS else v for t, v in zip(row["input_ids"], row["labels"], strict=True)]}


def pad_with_eos(row):
    return row | {"input_ids": [EOS if t == PAD else t for t in row["input_ids"]]}


@pytest.mark.parametrize(
    ("rows", "want"),
    [
        (changed(shift), {"label-mask-misaligned": "S1"}),
        (changed(lambda r: r | {"labels": r["labels"][:-2]}), {"label-mask-misaligned": "S1"}),
        (changed(lambda r: r | {"labels": [-100] * len(r["labels"])}), {"label-mask-misaligned": "S1"}),
        (changed(lambda r: r | {"labels": r["input_ids"]}), {"label-mask-misaligned": "S2"}),  # trains on the prompt
        (changed(lambda r: r | {"labels": [t if v == -100 else -100 for t, v in zip(r["input_ids"], r["labels"], strict=True)]}),
         {"label-mask-misaligned": "S1", "eos-not-trained": "S1"}),  # mask inverted
        (changed(mask_eos), {"eos-not-trained": "S1"}),
        (changed(lambda r: mask_eos(pad_with_eos(r)), pad=5), {"eos-not-trained": "S1", "pad-equals-eos": "S1"}),
        (changed(pad_with_eos, pad=5), {"pad-equals-eos": "S3"}),  # the end token itself is still trained
        (changed(lambda r: no_spans(r) | {"input_ids": [BOS, *r["input_ids"]], "labels": [-100, *r["labels"]], "attention_mask": [1, *r["attention_mask"]]}),
         {"double-bos": "S2"}),
        (changed(lambda r: {"input_ids": r["input_ids"][:-1], "labels": r["labels"][:-1], "attention_mask": [*r["attention_mask"][:-2], 0], "eos_token_id": EOS}),
         {"eos-not-trained": "S1"}),
    ],
)  # fmt: skip
def test_each_fault_of_the_labels_is_found(tmp_path, rows, want):
    report = run(tmp_path, rows)
    assert codes(report) == want
    assert report.findings[0].evidence[0].line == 1


def test_data_without_labels_is_not_applicable_and_junk_does_not_crash(tmp_path):
    report = run(
        tmp_path,
        [{"text": "a"}, {"input_ids": "abc", "labels": [1]}, {"input_ids": [[1, 2]], "labels": [[1, 2]]}, [1, 2], None],
    )
    assert (codes(report), [c.result for c in report.checks]) == ({}, ["not-applicable"])


@pytest.mark.parametrize(
    ("files", "chat", "want"),
    [
        ({"tokenizer_config.json": '{"eos_token": "</s>"}'}, True, {"chat-template-missing": "S2"}),
        ({"tokenizer_config.json": '{"eos_token": "</s>"}'}, False, {}),
        ({"tokenizer_config.json": '{"chat_template": "{{ messages }}"}'}, True, {}),
        ({"tokenizer_config.json": "{}", "chat_template.jinja": "{{ messages }}"}, True, {}),
    ],
)
def test_chat_data_needs_a_chat_template(tmp_path, files, chat, want):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert codes(check_tokenizer(tmp_path, chat)) == want


def test_a_broken_tokenizer_file_is_a_failed_check(tmp_path):
    (tmp_path / "tokenizer_config.json").write_text("{")
    assert [c.result for c in check_tokenizer(tmp_path, True).checks] == ["failed"]


def test_an_answer_that_truncation_removed_is_told_from_a_wrong_mask(tmp_path):
    cut = [{"input_ids": [BOS, *range(10, 41)], "labels": [-100] * 32, "attention_mask": [1] * 32}] * 6
    short = [r for r in sequences() if len(r["input_ids"]) < 32][:40]
    assert codes(run(tmp_path, [*short, *cut]))["answer-cut-off"] == "S2"
    assert "label-mask-misaligned" not in codes(run(tmp_path, [*short, *cut]))
    silent = [{**r, "labels": [-100] * len(r["labels"])} for r in short[:10]]
    assert "answer-cut-off" not in codes(run(tmp_path, [*sequences(), *silent]))


TURNS = [("user", "what does E31 mean ?"), ("assistant", "clean the filter ."), ("user", "and who pays ?"),
         ("assistant", "we do .")]  # fmt: skip
LABELLED = {"assistant": ("assistant",), "all behind the first": ("assistant", "late"), "everything": ("all",),
            "the person": ("user",)}  # fmt: skip


def spelled(trained, roles=True, header="### {}:\n", ids=False):
    """A conversation as a trainer dumps its first batch: a list for each of tokens, whose, and labels."""
    tokens, whose, labels, answered = [], [], [], False
    for role, text in TURNS:
        pieces = [header.format(role.title()), *(f" {w}" for w in text.split()), "\n"]
        for i, piece in enumerate(pieces):
            own = "user" if i == 0 else role  # the header of an answer is the prompt's
            on = own in trained or "all" in trained or ("late" in trained and answered)
            tokens.append(piece)
            whose.append(own)
            labels.append(abs(hash(piece)) % 30000 + 10 if on else -100)
        answered = answered or role == "assistant"
    tokens, whose, labels = [*tokens, "</s>"], [*whose, "assistant"], [*labels, 2]
    return {"tokens": tokens, "labels": labels, **({"role": whose} if roles else {})}


@pytest.mark.parametrize("roles", [True, False], ids=["a role each", "by the template's markers"])
@pytest.mark.parametrize(
    ("trained", "told"), [("assistant", False), ("all behind the first", True), ("the person", True)]
)
def test_a_dump_of_tokens_as_text_is_read_like_one_of_ids(tmp_path, roles, trained, told):
    found = codes(run(tmp_path, [spelled(LABELLED[trained], roles) for _ in range(8)]))
    assert ("label-mask-misaligned" in found) is told


def test_what_is_trained_behind_the_first_answer_is_counted(tmp_path):
    report = run(tmp_path, [spelled(LABELLED["all behind the first"]) for _ in range(8)])
    found = next(f for f in report.findings if f.code == "label-mask-misaligned")
    assert (found.data["prompt_trained"], found.data["answer_masked"], found.data["later_turns"]) == (8, 0, 8)
    assert 0.3 < found.data["prompt_share"] < 0.7


@pytest.mark.parametrize(("on", "told"), [("assistant", False), ("user", True)])
def test_a_mask_in_place_of_labels_is_read(tmp_path, on, told):
    rows = [{"input_ids": [*range(10, 29), EOS], "loss_mask": [int((i < 8) == (on == "user")) for i in range(20)],
             "role": ["user"] * 8 + ["assistant"] * 12} for _ in range(8)]  # fmt: skip
    assert ("label-mask-misaligned" in codes(run(tmp_path, rows))) is told
