"""The data checks of `triage ask`: bounded, honest about the sample, silent on clean runs."""

import json
import random
import time

import pytest
from making import fill, prose

from triage.tools.data import check_run_data
from triage.tools.data.roles import EVAL_NAME
from triage.tools.run import Artifact, Run


def chat(rng, i):
    said = prose(rng, 40)
    return {
        "messages": [{"role": "user", "content": f"question {i} {said[:80]}?"}, {"role": "assistant", "content": said}]
    }


def make(tmp_path, files, kinds=None):
    texts = {
        n: "".join(json.dumps(r) + "\n" for r in rows) if isinstance(rows, list) else rows for n, rows in files.items()
    }
    artifacts = (Artifact((kinds or {}).get(name, "data"), tmp_path / name, name, "test") for name in files)
    return Run(fill(tmp_path, texts), tuple(artifacts))


def clean(seed, count=200):
    rng = random.Random(seed)
    return [chat(rng, i) for i in range(count)]


@pytest.mark.parametrize(
    ("held", "ask", "reply"),
    [("data/dev50.jsonl", "问题", "标准答案"), ("data/valid_2k.jsonl", "题目", "答案"), ("评测集.jsonl", "q", "a")],
)
def test_items_under_names_of_their_own_are_found_in_records_under_usual_ones(tmp_path, held, ask, reply):
    rng = random.Random(4)
    rows = [{"instruction": f"{prose(rng, 14)}?", "output": prose(rng, 30)} for _ in range(150)]
    items = [{"编号": f"dev{i:03d}", ask: r["instruction"], reply: r["output"]} for i, r in enumerate(rows[:30])]
    fresh = [{"编号": f"dev{i}", ask: f"{prose(rng, 14)}?", reply: prose(rng, 30)} for i in range(30, 60)]
    report = check_run_data(make(tmp_path, {"train_v2.jsonl": rows, held: items + fresh}))
    assert [f.data["leaked"] for f in report.findings if f.code == "eval-leakage"] == [30]
    clean = check_run_data(make(tmp_path, {"train_v2.jsonl": rows, held: fresh}))
    assert "eval-leakage" not in {f.code for f in clean.findings}


@pytest.mark.parametrize(
    ("source", "more", "grades"),
    [
        ("pool/harvest_b.jsonl", {}, ["S1"]),  # a folder of data alone
        ("pool/harvest_b.jsonl", {"fit.py": "data = load('pool/harvest_b.jsonl')\nloss.backward()\n"}, ["S1"]),
        ("sft_mix.jsonl", {"serve.py": "print('ready')\n"}, ["S1"]),
        ("raw/as_crawled.jsonl", {"fit.py": "data = load('rows.jsonl')\nloss.backward()\n"}, ["S3"]),
        ("raw/as_crawled.jsonl", {"sft_rows.jsonl": clean(8), "fit.py": "loss.backward()\n"}, []),
    ],
)
def test_items_leak_into_what_is_trained_on_and_into_nothing_else(tmp_path, source, more, grades):
    """By its name, or by what the program of a training reads; a raw original beside it is neither."""
    rows = clean(5)
    kinds = {name: "code" for name in more if name.endswith(".py")}
    report = check_run_data(make(tmp_path, {source: rows, "test.jsonl": rows[:30] + clean(6, 20), **more}, kinds))
    assert [f.severity for f in report.findings if f.code == "eval-leakage"] == grades


@pytest.mark.parametrize(
    ("held", "rows", "wrapped"),
    [
        (
            "bench/asked.jsonl",
            "out/judged_a.jsonl",
            lambda q: {"case": {"question": q}, "response": q[::-1], "verdict": {"score": 4}},
        ),
        ("评测集.jsonl", "run/b.jsonl", lambda q: {"问题": q, "输出": q[::-1], "裁判": "对"}),
        ("evals/raw/gold.jsonl", "evals/results/m.jsonl", lambda q: {"question": q, "answer": q[::-1]}),
    ],
)
def test_judged_answers_to_the_items_are_nothing_to_train_on(tmp_path, held, rows, wrapped):
    rng = random.Random(4)
    asked = [f"{prose(rng, 14)}?" for _ in range(40)]
    items = [{"question": q, "answer": prose(rng, 9)} for q in asked]
    report = check_run_data(make(tmp_path, {held: items, rows: [wrapped(q) for q in asked]}))
    assert not {"eval-leakage", "data-schema-mismatch"} & {f.code for f in report.findings}


def test_a_clean_run_has_no_finding(tmp_path):
    report = check_run_data(make(tmp_path, {"data/train.jsonl": clean(1), "data/eval.jsonl": clean(2, 50)}))
    assert report.findings == ()
    assert "failed" not in {c.result for c in report.checks}
    assert any("evaluation items" in c.name for c in report.checks)


def test_a_run_without_data_says_so():
    assert [c.result for c in check_run_data(Run(root=None)).checks] == ["not-applicable"]  # type: ignore[arg-type]


def test_leakage_between_train_and_eval_is_found_with_names_relative_to_the_run(tmp_path):
    train = clean(1)
    report = check_run_data(
        make(tmp_path, {"data/train.jsonl": train, "data/validation.jsonl": clean(2, 40) + train[10:13]})
    )
    leak = next(f for f in report.findings if f.code == "eval-leakage")
    assert leak.data["leaked"] == 3
    assert (leak.evidence[0].file, leak.evidence[0].line) == ("data/train.jsonl", 11)


def test_duplicates_labels_generations_and_tokenizer_are_looked_at(tmp_path):
    ids = [1, *range(50, 60), 2]
    rollouts = [{"prompt": f"p{i}", "response": "and so on " * 60, "reward": 1.0} for i in range(60)]
    files = {
        "train.jsonl": clean(1) * 2,
        "tokens.jsonl": [{"input_ids": ids, "labels": [-100] * 5 + ids[5:11] + [-100]} for _ in range(20)],
        "rollouts.jsonl": rollouts,
        "tokenizer_config.json": "{}",
    }
    run = make(tmp_path, files, {"rollouts.jsonl": "generations", "tokenizer_config.json": "tokenizer"})
    report = check_run_data(run)
    assert report.codes() >= {"exact-duplicates", "eos-not-trained", "repetition-loop", "chat-template-missing"}


def test_a_large_file_is_sampled_in_bounded_time_and_every_check_says_so(tmp_path):
    rng = random.Random(3)
    rows = [json.dumps(chat(rng, i)) for i in range(3000)]
    path = tmp_path / "train.jsonl"
    path.write_text("\n".join(rows * 40) + "\n")
    run = Run(tmp_path, (Artifact("data", path, "train.jsonl", "test"),))
    begin = time.process_time()
    report = check_run_data(run)
    assert time.process_time() - begin < 6
    judged = [c for c in report.checks if c.result in ("found", "clear")]
    assert judged
    assert all("sampled: the first" in c.why for c in judged)


def test_a_broken_data_file_is_reported_and_the_others_are_still_checked(tmp_path):
    run = make(tmp_path, {"train.jsonl": clean(1), "bad.parquet": "not parquet"})
    report = check_run_data(run)
    assert any(c.result == "failed" and "bad.parquet" in c.name for c in report.checks)
    assert any(c.result == "clear" for c in report.checks)


def test_later_shards_with_another_language_are_found_and_files_of_two_languages_are_not(tmp_path):
    rng = random.Random(3)
    chinese = [
        {"messages": [{"role": r, "content": "".join(rng.choices(HAN, k=30))} for r in ("user", "assistant")]}
        for _ in range(600)
    ]
    english, more = clean(1, 600), clean(2, 600)

    def shifted(name, **files):
        made = make(tmp_path / name, {f"data/{n}.jsonl": rows for n, rows in files.items()})
        return "language-mix-shift" in {f.code for f in check_run_data(made).findings}

    assert shifted("lost", **{"train-00000": english, "train-00001": chinese})
    assert not shifted("same", **{"train-00000": english, "train-00001": more})
    assert not shifted("by-language", **{"train-en": english, "train-zh": chinese})


HAN = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏闰余成岁律吕调阳云腾致雨露结为霜金生丽水玉出昆冈"


@pytest.mark.parametrize(
    ("name", "held_out"),
    [("data/eval.jsonl", True), ("validation-00000.jsonl", True), ("held_out/a.jsonl", True), ("测试.jsonl", True),
     ("gsm8k_test.jsonl", True), ("benchmark.jsonl", True), ("testimonials.jsonl", False), ("train.jsonl", False)],
)  # fmt: skip
def test_data_that_is_not_trained_on_is_told_by_the_words_of_the_vocabulary(name, held_out):
    assert bool(EVAL_NAME.search(name)) == held_out


def test_what_nobody_trains_on_is_no_duplicate_of_a_training(tmp_path):
    """Rows to calibrate with, a probe that asks few questions again and again; a training that repeats is told."""
    rows = clean(3, 60)
    for name in ("w4/calib_512.jsonl", "probe/replies_0411.jsonl"):
        assert check_run_data(make(tmp_path, {name: rows * 2})).findings == ()
    few = check_run_data(make(tmp_path, {"data/rows.jsonl": rows[:12] * 2})).findings
    assert {f.severity for f in few if f.code == "exact-duplicates"} == {"S3"}
    found = check_run_data(make(tmp_path, {"data/train.jsonl": rows * 2})).findings
    assert {f.severity for f in found if f.code == "exact-duplicates"} == {"S2"}


@pytest.mark.parametrize(
    ("name", "field", "copies", "graded"),
    [("data/train.jsonl", None, 40, "S2"), ("sft/all.jsonl", None, 60, "S2"), ("data/train.jsonl", None, 8, "S3"),
     ("crawl/page.jsonl", "shard", 60, "S3"), ("crawl/seite.jsonl", "source_file", 60, "S3"),
     ("drawn/rand_120.jsonl", None, 60, None), ("看/抽取120.jsonl", None, 60, None), ("peek/a.jsonl", None, 60, None)],
)  # fmt: skip
def test_copies_are_a_note_where_they_are_few_or_what_was_read_is_a_look_into_more(
    tmp_path, name, field, copies, graded
):
    rows = clean(4, 120)
    rows[-copies:] = [dict(rows[i % 9]) for i in range(copies)]
    rows = [row | ({field: f"p{i % 7}"} if field else {}) for i, row in enumerate(rows)]
    found = check_run_data(make(tmp_path, {name: rows})).findings
    assert [f.severity for f in found if f.code == "exact-duplicates"] == ([graded] if graded else [])


@pytest.mark.parametrize(("count", "grade"), [(70, "S3"), (160, "S2")])
def test_records_that_nearly_repeat_are_a_note_unless_most_do(tmp_path, count, grade):
    said = [prose(random.Random(i), 60) for i in range(40)]
    rows = [{"id": i, "text": said[i % 40] + f" {i}"} for i in range(count)]
    found = check_run_data(make(tmp_path, {"facts.jsonl": rows})).findings
    assert {f.severity for f in found if f.code == "near-duplicates"} == {grade}


def test_answers_of_several_models_to_one_list_of_questions_are_no_training_and_no_group(tmp_path):
    asked = [f"how much is {i} and {i * 7 % 13}?" for i in range(60)]
    files = {
        f"{name}.jsonl": [{"question": q, "answer": str(i % 9 if i % wrong else -i)} for i, q in enumerate(asked)]
        for name, wrong in (("base", 2), ("tuned", 9), ("vendor", 5))
    }
    assert not {"exact-duplicates", "group-identical"} & {
        f.code for f in check_run_data(make(tmp_path, files)).findings
    }
    copied = {"a.jsonl": files["base.jsonl"], "b.jsonl": files["base.jsonl"]}
    assert "exact-duplicates" in {f.code for f in check_run_data(make(tmp_path, copied)).findings}


def test_what_was_sent_to_a_server_is_no_training_data(tmp_path):
    prompt = "<|im_start|>user\nhow many primes below {}?<|im_end|>\n<|im_start|>assistant\n"
    sent = [
        {"url": "/v1/completions", "req": {"prompt": prompt.format(i), "temperature": 1.0, "max_tokens": 64}}
        for i in range(80)
    ]
    kept = [{"prompt": prompt.format(i), "response": f"{i}"} for i in range(80)]
    assert not check_run_data(make(tmp_path / "sent", {"wire.jsonl": sent})).codes()
    assert "data-schema-mismatch" in check_run_data(make(tmp_path / "kept", {"train.jsonl": kept})).codes()


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (lambda i, t: {"qid": i, "question": f"no. {i}", "gold": ["x"], "model_output": t}, False),
        (lambda i, t: {"id": i, "source": f"s{i}", "reference": "r", "generation": t}, False),
        (lambda i, t: {"编号": i, "题目": f"第{i}题", "预测": t}, False),
        (lambda i, t: {"id": i, "instruction": t, "output": t}, True),
        (lambda i, t: {"id": i, "text": t}, True),
    ],
)
def test_what_a_model_answered_in_an_evaluation_may_repeat_itself(tmp_path, row, told):
    said = [prose(random.Random(i), 60) for i in range(30)]
    rows = [row(i, said[i % 30] + f" {i}") for i in range(120)]
    codes = check_run_data(make(tmp_path, {"out/merged.jsonl": rows})).codes()
    assert ("near-duplicates" in codes) == told
