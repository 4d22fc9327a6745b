"""What texts of tables say: loops, groups that answer alike, paid phrases, scores by length, texts in both sets."""

import json
import random

import numpy as np
import pytest
from making import prose

from triage.tools.documents.stated import Stated
from triage.tools.relate.texts import overlap
from triage.tools.relate.texts.look import of_texts
from triage.tools.relate.texts.loops import loop
from triage.tools.settings import Setting, Settings
from triage.tools.tables.read import read_tables
from triage.tools.tables.table import Table


def codes(folder, files, settings=None, stated=()):
    tables = []
    for name, rows in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows))
        tables += read_tables(folder / name, name)
    return {f.code for f in of_texts(tables, (), settings, stated)}


def texts(count, seed, words=40):
    rng = random.Random(seed)
    return [prose(rng, words) for _ in range(count)]


@pytest.mark.parametrize(("share", "code"), [(2, "answers-mostly-loop"), (8, "repetition-loop"), (99, "")])
def test_outputs_that_end_in_a_loop(tmp_path, share, code):
    rows = [{"问": f"q{i}", "答": t + (" 然后再看一遍这里" * 9 if i % share == 1 else "")}
            for i, t in enumerate(texts(80, 1))]  # fmt: skip
    assert codes(tmp_path, {"输出.jsonl": rows}) == ({code} if code else set())


def looped(count, seed, every):
    tail = " and once more from the top" * 8
    return [
        {"question": f"q{i}", "answer": t + (tail if i % every == 0 else "")} for i, t in enumerate(texts(count, seed))
    ]


@pytest.mark.parametrize(("names", "every", "found"), [
    (("base_answers.jsonl", "tuned_answers.jsonl"), (3, 999), False),
    (("底座/答案.jsonl", "微调/答案.jsonl"), (3, 999), False),
    (("base_answers.jsonl", "tuned_answers.jsonl"), (3, 3), True),  # what was trained loops as well
    (("run_a.jsonl", "run_b.jsonl"), (3, 999), True),  # none of them is a base
    (("base_answers.jsonl",), (3,), True),  # alone
])  # fmt: skip
def test_loops_of_a_base_beside_what_was_trained_from_it_are_no_fault(tmp_path, names, every, found):
    files = {n: looped(30, 7 + i, e) for i, (n, e) in enumerate(zip(names, every, strict=True))}
    assert bool(codes(tmp_path, files) & {"repetition-loop", "answers-mostly-loop"}) is found


@pytest.mark.parametrize(("base", "tuned", "found"), [(3, 999, False), (999, 3, True)])
def test_so_in_a_table_with_a_row_for_each_model(tmp_path, base, tuned, found):
    rows = [r | {"model": m} for m, e in (("untrained", base), ("lora-v2", tuned)) for r in looped(30, e, e)]
    assert bool(codes(tmp_path, {"gen.jsonl": rows}) & {"repetition-loop", "answers-mostly-loop"}) is found


def given(**values):
    return Settings({k: Setting(k, v, str(v), k, "tune.yaml", 1) for k, v in values.items()})


@pytest.mark.parametrize(("name", "said", "judged"), [
    ("leases.jsonl", {"dataset": "data/leases.jsonl"}, False),
    ("sets/leases.jsonl", {"dataset": "alpaca_en, leases#400"}, False),
    ("train_split.jsonl", {}, False),  # its name says so
    ("leases.jsonl", {"dataset": "alpaca_en"}, True),
    ("trained_answers.jsonl", {}, True),
])  # fmt: skip
def test_what_is_trained_on_is_no_output(tmp_path, name, said, judged):
    found = codes(tmp_path, {name: looped(40, 5, 3)}, given(**said))
    assert bool(found & {"repetition-loop", "answers-mostly-loop"}) is judged


@pytest.mark.parametrize(("words", "limit", "more", "over"), [
    (200, 128, {}, True),
    (200, 2048, {}, False),  # all fit
    (200, 128, {"packing": True}, False),
    (40, 128, {}, False),
])  # fmt: skip
def test_prompts_longer_than_the_limit(tmp_path, words, limit, more, over):
    rows = [{"context": t, "question": f"Who signs no. {i}?", "answer": f"the tenant of house {i}"}
            for i, t in enumerate(texts(30, 3, words))]  # fmt: skip
    found = codes(tmp_path, {"d/qa.jsonl": rows}, given(dataset="qa", sequence_length=limit, **more))
    assert ("prompts-over-limit" in found) is over


@pytest.mark.parametrize(("key", "value", "text", "over"), [
    ("median", "3100", "prompt tokens: median=3100 p99=7000", True),
    ("中位数", "3100", "提示长度 中位数：3100", True),
    ("p50", "3100", "answer tokens p50 3100", False),
    ("p50", "900", "prompt tokens p50 900", False),
    ("p99", "3100", "prompt tokens p99 3100", False),
])  # fmt: skip
def test_lengths_of_prompts_that_a_file_says(tmp_path, key, value, text, over):
    said = [Stated("lengths.txt", 2, key, value, text)]
    assert ("prompts-over-limit" in codes(tmp_path, {}, given(sequence_length=2048), said)) is over


@pytest.mark.parametrize("text", ["| a | b |\n" + "|---|---|\n" * 9, "yes, yes, yes.", "1, 2, 3, 4, 5, 6, 7, 8, 9, 10"])
def test_rules_and_emphasis_are_no_loops(text):
    assert not loop(text)


@pytest.mark.parametrize(("late", "found"), [(True, True), (False, False)])
def test_groups_whose_answers_become_one(tmp_path, late, found):
    rows = []
    for step in (0, 100, 200):
        for g in range(12):
            some = texts(4, f"{step}{g}", 12)
            rows += [
                {"step": step, "prompt_id": f"p{g}", "response": some[0 if late and step else k]} for k in range(4)
            ]
    assert ("groups-answer-alike" in codes(tmp_path, {"rollouts.jsonl": rows})) == found


@pytest.mark.parametrize(("late", "name", "found"), [
    (True, "dump_{:04d}.jsonl", True), (True, "rollouts-step{}.jsonl", True), (False, "dump_{:04d}.jsonl", False),
    (True, "model-{}b.jsonl", False),
])  # fmt: skip
def test_groups_whose_answers_become_one_from_one_dump_to_another(tmp_path, late, name, found):
    files = {}
    for step in (0, 400):
        some = [texts(5, f"{step}{g}", 12) for g in range(10)]
        files[name.format(step)] = [{"gid": f"g{g:03d}", "prompt": f"p{g}", "resp": some[g][0 if late and step else k]}
                                    for g in range(10) for k in range(5)]  # fmt: skip
    assert ("groups-answer-alike" in codes(tmp_path, files)) == found


@pytest.mark.parametrize("name", ["reward", "rm分", "奖励模型打分"])
@pytest.mark.parametrize(("pays", "found"), [(2.0, True), (0.0, False)])
def test_a_phrase_that_the_reward_pays_for(tmp_path, pays, found, name):
    rng, rows = random.Random(5), []
    for i, t in enumerate(texts(200, 3, 20)):
        has = i % 3 == 0
        end = " I hope this fully answers you!" if has else f" {prose(rng, 6)}."
        rows.append({"prompt": f"p{i}", "completion": f"{t}.{end}", name: rng.gauss(0.3 + pays * has, 0.2)})
    assert ("phrase-paid" in codes(tmp_path, {"rollouts.jsonl": rows})) == found


@pytest.mark.parametrize(("slope", "found"), [(0.03, True), (0.0, False)])
def test_scores_that_go_with_length_within_a_prompt(tmp_path, slope, found):
    rng, rows = random.Random(6), []
    for p in range(40):
        for k in range(4):
            n = rng.randint(10, 80)
            rows.append({"问题编号": f"q{p}", "回答": prose(rng, n) + f" {k}", "打分": slope * n + rng.gauss(0, 0.3)})
    assert ("length-reward-correlation" in codes(tmp_path, {"scores.jsonl": rows})) == found


@pytest.mark.parametrize(("by", "found"), [(0.8, True), (0.0, False)])
def test_a_neutral_addition_that_is_paid(tmp_path, by, found):
    rng = random.Random(7)
    rows = [{"id": i, "score_original": (a := rng.gauss(0, 1)), "score_with_filler": a + by + rng.gauss(0, 0.2)}
            for i in range(120)]  # fmt: skip
    assert ("score-follows-length" in codes(tmp_path, {"probe.jsonl": rows})) == found


@pytest.mark.parametrize(("taken", "found"), [(12, True), (0, False)])
def test_texts_of_the_evaluation_in_the_training(tmp_path, taken, found):
    held, seen = texts(60, "held"), texts(300, "seen")
    train = [{"doc": t} for t in [*seen, *(f"new words first {t}" for t in held[:taken])]]
    files = {"corpus/train/a.jsonl": train, "heldout/dev.jsonl": [{"doc": t} for t in held]}
    assert ("eval-leakage" in codes(tmp_path, files)) == found


@pytest.mark.parametrize(("every", "found"), [(3, True), (1000, False)])
def test_marks_of_a_turn_in_outputs(tmp_path, every, found):
    rows = [{"prompt": f"q{i}", "response": t + ("\n### Human: and then?" if i % every == 1 else "")}
            for i, t in enumerate(texts(90, 11))]  # fmt: skip
    assert ("turn-marks-in-outputs" in codes(tmp_path, {"outputs.jsonl": rows})) == found
    assert not codes(tmp_path, {"train/sft.jsonl": rows})


def test_of_training_texts_that_share_equally_the_first_is_taken():
    """Not what a set gives first, which differs from process to process: the count in the answer would."""
    table = Table("eval.jsonl", "", (), np.arange(1))
    held = overlap._Text(table, 0, frozenset(f"g{i}" for i in range(20)))
    seen = [overlap._Text(table, i, held.grams | {f"own{i}"}) for i in range(9)]
    by = {g: [*reversed(range(9))] for g in held.grams}
    assert overlap._best(held, seen, by) == (1.0, seen[0])


@pytest.mark.parametrize(
    ("name", "beside", "found"),
    [("sft_rows", {}, True), ("sft_results", {}, False), ("sft_first", {"model_response": "so it was"}, False)],
)
def test_what_a_tuned_model_said_to_the_evaluation_is_no_training(tmp_path, name, beside, found):
    held = texts(60, "asked")
    files = {f"{name}.jsonl": [{"doc": t, **beside} for t in held], "marked/eval.jsonl": [{"doc": t} for t in held]}
    assert ("eval-leakage" in codes(tmp_path, files)) == found
