"""Special tokens that never moved, items that fail as they are padded, sequences that begin twice."""

import random

import pytest

from triage.tools.data.between.starts import check_starts
from triage.tools.discover import discover
from triage.tools.relate.texts.tokens import padded_fail, unmoved
from triage.tools.tables.read import read_tables

WORDS = ["user", "the", "of", "好的", "def", "How", "less", "."]


def found(tmp_path, look, text, name="rows.csv"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return [f.code for table in read_tables(tmp_path / name, name) for f in look(table)]


def norms(head, marks, tiny, factor, sep=","):
    rows = [(m, tiny, tiny * factor) for m in marks] + [(w, 0.9 + i / 50, 0.9 + i / 50) for i, w in enumerate(WORDS)]
    return sep.join(head) + "\n" + "".join(f"{t}{sep}{a:.5f}{sep}{b:.5f}\n" for t, a, b in rows)


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        (norms(("token", "norm_base", "norm_lora"), ("<|im_start|>", "<|im_end|>"), 0.014, 1), True),
        (norms(("piece", "emb_before", "emb_after"), ("<start_of_turn>", "<end_of_turn>", "<tool>"), 0.05, 1), True),
        (norms(("词元", "基座范数", "微调范数"), ("<|user|>", "<|bot|>"), 0.02, 1, "\t"), True),
        (norms(("token", "norm_base", "norm_full"), ("<|im_start|>", "<|im_end|>"), 0.014, 9), False),
        (norms(("token", "norm_base", "norm_lora"), ("<|im_start|>", "<|im_end|>"), 0.92, 1), False),
        (norms(("token", "norm_base", "norm_lora"), ("<|pad|>",), 0.0, 1), False),
        (norms(("token", "count_a", "count_b"), ("<|im_start|>", "<|im_end|>"), 0.014, 1), False),
    ],
)
def test_rows_of_special_tokens(tmp_path, text, is_found):
    assert found(tmp_path, unmoved, text) == ["embedding-rows-unmoved"] * is_found


def batches(form, harm, count=400, seed=4):
    """Items in batches of eight; the chance of a right answer falls by `harm` of the share that is padded."""
    rng = random.Random(seed)
    rows = []
    for batch in range(count // 8):
        lengths = [rng.randrange(50, 600) for _ in range(8)]
        top = max(lengths)
        rows += [(batch, top, n, int(rng.random() < 0.75 - harm * (top - n) / top)) for n in lengths]
    return form(rows)


def with_longest(rows):
    return "id,batch_max_len,prompt_len,correct\n" + "".join(
        f"q{i},{t},{n},{h}\n" for i, (_, t, n, h) in enumerate(rows)
    )


def with_batch(rows):
    return "题号,组,长度,命中\n" + "".join(f"Q{i},{b},{n},{h}\n" for i, (b, _, n, h) in enumerate(rows))


def with_padding(rows):
    return "item\tn_pad\tem\n" + "".join(f"{i}\t{t - n}\t{h}\n" for i, (_, t, n, h) in enumerate(rows))


def without(rows):
    return "item,prompt_len,correct\n" + "".join(f"{i},{n},{h}\n" for i, (_, _, n, h) in enumerate(rows))


@pytest.mark.parametrize("form", [with_longest, with_batch, with_padding])
def test_items_fail_as_they_are_padded(tmp_path, form):
    name = "rows.tsv" if form is with_padding else "rows.csv"
    assert found(tmp_path, padded_fail, batches(form, 0.8), name) == ["score-follows-padding"]
    assert not found(tmp_path, padded_fail, batches(form, 0.0), name)
    assert not found(tmp_path, padded_fail, batches(form, 0.8, 48), name)


def test_no_padding_is_known(tmp_path):
    assert not found(tmp_path, padded_fail, batches(without, 0.8))


VLLM = (
    "INFO 1 [logger.py:43] Received request c-{i}: params: SamplingParams(n=1), prompt_token_ids: [{ids}], lora: None"
)
DUMP = '{{"i": {i}, "input_ids": [{ids}]}}'
PRINT = "sample {i} ids[:6] = [{ids}]"


@pytest.mark.parametrize(("name", "form"), [("engine.log", VLLM), ("batch.jsonl", DUMP), ("peek.txt", PRINT)])
@pytest.mark.parametrize(
    ("ids", "count", "is_found"),
    [("1, 1, 733, {i}", 8, True), ("1, 733, 733, {i}", 8, False), ("0, 0, 0, {i}", 8, False), ("1, 1, 733", 2, False)],
)
def test_sequences_that_begin_twice(tmp_path, name, form, ids, count, is_found):
    lines = [form.format(i=i, ids=ids.format(i=900 + i)) for i in range(count)]
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    (tmp_path / "train.log").write_text("step 1 loss 2.0\nstep 2 loss 1.9\n")
    assert [f.code for f in check_starts(discover(tmp_path)).findings] == ["double-bos"] * is_found


def test_numbers_that_begin_otherwise(tmp_path):
    rows = [f'{{"ids": [{i}, {i}, 9, 4]}}' for i in range(9)]
    (tmp_path / "batch.jsonl").write_text("\n".join(rows) + "\n")
    assert not check_starts(discover(tmp_path)).findings
