"""Special tokens that never moved, items that fail as they are padded, sequences that begin twice."""

import json
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


GOOD = ("Printer on floor two is back.", "The quota was raised, mail flows again.", "Asked the user for the asset tag.")
ILL = ("", "and and and and and and and and and and", "of ( of ticket of Re: of ticket of ( Re: of ( of")


def replies(harm, by_length=False, seed=3):
    """Answers of items in batches of eight: those that are padded (or those that are short) are broken."""
    rng = random.Random(seed)
    rows = []
    for batch in range(50):
        lengths = [rng.randrange(90, 700) for _ in range(8)]
        for n in lengths:
            gap = max(lengths) - n
            ill = rng.random() < harm and (n < 250 if by_length else gap > 0)
            rows.append((batch, max(lengths), n, rng.choice(ILL if ill else GOOD)))
    return rows


def as_json(rows):
    return "".join(json.dumps({"step": b, "n_in": n, "width": t, "completion": r}) + "\n" for b, t, n, r in rows)


def as_table(rows):
    return "批号,提示词长度,批宽,回答\n" + "".join(f'{b},{n},{t},"{r}"\n' for b, t, n, r in rows)


def as_padding(rows):
    return "id\tleft_pad_tokens\treply\n" + "".join(f"r{i}\t{t - n}\t{r}\n" for i, (_, t, n, r) in enumerate(rows))


def as_verdicts(rows):
    return "id,pad_count,verdict\n" + "".join(
        f"r{i},{t - n},{'ok' if r in GOOD else 'garbage'}\n" for i, (_, t, n, r) in enumerate(rows)
    )


@pytest.mark.parametrize(
    ("form", "name"),
    [(as_json, "out.jsonl"), (as_table, "rows.csv"), (as_padding, "rows.tsv"), (as_verdicts, "rows.csv")],
)
def test_outputs_that_break_as_they_are_padded(tmp_path, form, name):
    assert found(tmp_path, padded_fail, form(replies(0.9)), name) == ["score-follows-padding"]
    assert not found(tmp_path, padded_fail, form(replies(0.0)), name)
    assert not found(tmp_path, padded_fail, form(replies(0.9)[:60]), name)


@pytest.mark.parametrize("form", [as_json, as_table])
def test_outputs_that_break_as_they_are_short(tmp_path, form):
    name = "out.jsonl" if form is as_json else "rows.csv"
    assert not found(tmp_path, padded_fail, form(replies(0.9, by_length=True)), name)


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("pad_bucket,n,accuracy\n0,80,0.81\n1-64,150,0.62\n65-256,160,0.40\n>256,200,0.22\n", True),
        (
            "| 填充数 | 条数 | 正确率 |\n|---|---|---|\n| 无 | 90 | 78 |\n| 1-100 | 200 | 41 |\n| 100+ | 210 | 12 |\n",
            True,
        ),
        ("pad_bucket,n,accuracy\n0,80,0.81\n1-64,150,0.80\n65-256,160,0.79\n>256,200,0.80\n", False),
        ("pad_bucket,n,accuracy\n0,4,0.81\n1-64,5,0.62\n65-256,6,0.40\n>256,7,0.22\n", False),
        ("len_bucket,n,accuracy\n0,80,0.81\n1-64,150,0.62\n65-256,160,0.40\n>256,200,0.22\n", False),
        ("pad_bucket,n,accuracy\n1-64,150,0.62\n65-256,160,0.40\n>256,200,0.22\n", False),
    ],
)
def test_levels_of_padding(tmp_path, text, is_found):
    name = "levels.md" if text.startswith("|") else "levels.csv"
    assert found(tmp_path, padded_fail, text, name) == ["score-follows-padding"] * is_found


def begun(tmp_path, name, lines):
    (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "train.log").write_text("step 1 loss 2.0\nstep 2 loss 1.9\n")
    return [f.code for f in check_starts(discover(tmp_path)).findings]


@pytest.mark.parametrize(
    ("name", "head", "twice", "single"),
    [
        ("gw.log", [], "{i} a /v1/completions prompt_ids=[9, 9, 6{i}]", "{i} b /v1/chat prompt_ids=[9, 6{i}, 7]"),
        ("peek.txt", [], "client=a first_3_ids 9 9 6{i}", "client=b first_3_ids 9 6{i} 7"),
        ("first.csv", ["client,n,first_ids"], "a,40,9 9 6{i}", "b,39,9 6{i} 7"),
        ("first.csv", ["client,tok0,tok1,tok2"], "a,9,9,6{i}", "b,9,6{i},7"),
        ("t.jsonl", [], '{{"by":"a","tokens": ["<s>", "<s>", "w{i}"]}}', '{{"by":"b","tokens": ["<s>", "w{i}", 7]}}'),
        ("d.txt", [], "a input_ids tensor([[9, 9, 6{i}]])", "b input_ids tensor([[9, 6{i}, 7]])"),
    ],
)  # fmt: skip
def test_one_of_two_clients_begins_twice(tmp_path, name, head, twice, single):
    both = [form.format(i=i) for i in range(6) for form in (twice, single)]
    assert begun(tmp_path, name, head + both) == ["double-bos"]
    assert not begun(tmp_path, name, head + [single.format(i=i) for i in range(9)])


def test_texts_written_with_their_begin_token(tmp_path):
    assert begun(tmp_path, "rendered.log", [f"prompt: '<s><s>[INST] case {i} [/INST]'" for i in range(5)]) == [
        "double-bos"
    ]
    assert not begun(tmp_path, "rendered.log", [f"prompt: '<s>[INST] case {i} [/INST]'" for i in range(5)])


@pytest.mark.parametrize(
    "line",
    ["position_ids: [0, 0, {i}]", "expert_ids=[3, 3, 1{i}]", "num_heads 32 32 12{i}", "tokens 4096 4096 {i}",
     "input_ids [0, 0, 0, 0, {i}]", "step {i} token loss [2, 2, {i}]"],
)  # fmt: skip
def test_numbers_of_another_kind(tmp_path, line):
    assert not begun(tmp_path, "a.log", [line.format(i=i + 1) for i in range(9)])
