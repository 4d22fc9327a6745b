"""Verdicts by order, judge and length; people by what they say; abilities before and after in any layout."""

import random

import numpy as np
import pytest

from triage.tools.relate.scores.judged import LOOKS
from triage.tools.relate.scores.raters import raters
from triage.tools.relate.scores.traded import traded
from triage.tools.tables.read import read_tables


def read(folder, name, head, rows):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("\n".join([head, *(",".join(map(str, r)) for r in rows)]) + "\n")
    return read_tables(folder / name, name)


def judged(folder, head, rows):
    return {f.code for t in read(folder, "arena.csv", head, rows) for look in LOOKS for f in look(t)}


@pytest.mark.parametrize(("first", "found"), [(0.8, True), (0.5, False)])
def test_two_columns_of_verdicts_in_both_orders(tmp_path, first, found):
    rng = random.Random(1)
    place = lambda: "A" if rng.random() < first else "B"  # noqa: E731
    rows = [(i, place(), place()) for i in range(200)]
    assert judged(tmp_path, "qid,verdict_m1_first,verdict_m2_first", rows) == (
        {"verdicts-follow-order"} if found else set()
    )


@pytest.mark.parametrize(("other", "found"), [(0.3, True), (0.66, False)])
def test_two_judges_who_rank_two_models(tmp_path, other, found):
    rng = random.Random(2)
    rows = [(i, j, "new" if rng.random() < p else "old") for i in range(300) for j, p in (("x", 0.7), ("y", other))]
    assert judged(tmp_path, "题号,评审模型,胜者", rows) == ({"ranking-follows-judge"} if found else set())


@pytest.mark.parametrize(("spread", "found"), [(150, True), (1e9, False)])
def test_a_judge_who_prefers_the_longer_answer(tmp_path, spread, found):
    rng = random.Random(3)
    rows = []
    for i in range(300):
        a, b = rng.randint(50, 900), rng.randint(50, 900)
        rows.append((i, a, b, "a" if a - b + rng.gauss(0, spread) > 0 else "b"))
    assert judged(tmp_path, "pair,len_a,len_b,judge_choice", rows) == ({"verdicts-follow-length"} if found else set())


@pytest.mark.parametrize(("right", "found"), [(0.35, True), (0.97, False)])
@pytest.mark.parametrize("head", ["item,alice,bob,chen", "条目,张三,李四,王五"])
def test_people_under_their_own_names(tmp_path, head, right, found):
    rng, rows = random.Random(4), []
    for i in range(140):
        truth = rng.randint(1, 5)
        rows.append((f"q{i}", *(truth if rng.random() < right else rng.randint(1, 5) for _ in range(3))))
    tables = read(tmp_path, "labels.csv", head, rows)
    assert bool([f for t in tables for f in raters(t)]) == found


@pytest.mark.parametrize(("right", "found"), [(0.6, True), (0.97, False)])
def test_a_person_beside_an_expert(tmp_path, right, found):
    rng, rows = random.Random(5), []
    for i in range(250):
        a = rng.choice(["good", "fair", "bad"])
        rows.append((i, a, a if rng.random() < right else rng.choice(["good", "fair", "bad"])))
    tables = read(tmp_path, "spotcheck.csv", "case,annotator_label,expert_label", rows)
    assert bool([f for t in tables for f in raters(t)]) == found


@pytest.mark.parametrize(("names", "found"), [
    (("operating_system", "integrating", "generative_art"), False), (("first_aid", "geology", "devotes"), False),
    (("rating_1", "rating_2", "rating_3"), True), (("甲标注", "乙标注", "丙标注"), True),
])  # fmt: skip
def test_subjects_whose_names_hold_the_letters_of_a_rating_are_no_raters(tmp_path, names, found):
    rng = np.random.default_rng(5)
    rows = [[rng.choice(list("ABCD")) for _ in names] for _ in range(80)]
    tables = read(tmp_path, "answers.csv", ",".join(names), rows)
    assert bool([f for t in tables for f in raters(t)]) == found


def test_predictions_of_a_model_are_no_rater(tmp_path):
    rng = random.Random(6)
    rows = [(i, rng.choice("xyz"), rng.choice("xyz")) for i in range(250)]
    tables = read(tmp_path, "labels.csv", "case,gold_label,model_prediction", rows)
    assert not [f for t in tables for f in raters(t)]


TASKS = [("MMLU", 64.0, 53.0), ("GSM8K", 55.0, 38.0), ("finance_qa", 40.0, 63.0)]
LAYOUTS = {
    "columns": ("task,before,after,n", lambda rows: [(*r, 2000) for r in rows]),
    "rows": ("model,mmlu,gsm8k,finance_qa,n", lambda rows: [("base", *(r[1] for r in rows), 2000),
                                                            ("sft", *(r[2] for r in rows), 2000)]),
    "epochs": ("epoch,mmlu,gsm8k,finance_qa", lambda rows: [(0, *(r[1] for r in rows)),
                                                            (1, *((r[1] + r[2]) / 2 for r in rows)),
                                                            (2, *(r[2] for r in rows))]),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_abilities_lost_for_others_in_any_layout(tmp_path, layout):
    head, lay = LAYOUTS[layout]
    found = traded(read(tmp_path, "eval.csv", head, lay(TASKS)))
    assert [f.code for f in found] == ["abilities-traded"]
    for same in ([(t, a, a + 0.4) for t, a, _ in TASKS], [(t, a, b - 20) for t, a, b in TASKS]):
        assert not traded(read(tmp_path, "eval.csv", head, lay(same)))  # nothing lost; all lost


def test_two_files_of_one_harness_each(tmp_path):
    for file, i in (("base", 1), ("tuned", 2)):
        read(tmp_path, f"e/{file}.csv", "task,acc,n", [(r[0], r[i], 2000) for r in TASKS])
    tables = [t for f in ("base", "tuned") for t in read_tables(tmp_path / f"e/{f}.csv", f"e/{f}.csv")]
    assert [f.code for f in traded(tables)] == ["abilities-traded"]


def test_following_instructions_lost_alone(tmp_path):
    rows = [("IFEval", 61.0, 43.0, 900), ("MMLU", 64.0, 64.2, 9000), ("GSM8K", 55.0, 55.1, 1300)]
    found = traded(read(tmp_path, "eval.csv", "benchmark,before,after,n", rows))
    assert [f.code for f in found] == ["instructions-lost-alone"]
