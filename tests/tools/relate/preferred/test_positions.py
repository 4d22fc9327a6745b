"""Verdicts that go to a place: two models exchanged, one model against itself, one order that people do not confirm."""

import json
import random

import pytest

from triage.tools.relate.preferred.positions import positions
from triage.tools.tables.read import read_tables

SAYS = [("A", "B"), ("L", "R"), ("左胜", "右胜"), ("card 1", "card 2"), ("first>second", "second>first")]
NAMES = [
    ("model_a", "model_b"),
    ("left", "right"),
    ("左侧模型", "右侧模型"),
    ("slot1", "slot2"),
    ("shown_first", "shown_second"),
]


def told(folder, files):
    tables = []
    for name, rows in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("\n".join(json.dumps(r, ensure_ascii=False) for r in rows) + "\n")
        tables += read_tables(folder / name, name)
    return [f.code for f in positions(tables)]


def rows(x, y, n, share, form=0, seed=1, ties=0.05, verdict="verdict"):
    """`n` verdicts with x first and y second, of which the first place wins `share`."""
    rng, (one, two), (first, second) = random.Random(seed), NAMES[form], SAYS[form]
    pick = lambda: "tie" if rng.random() < ties else first if rng.random() < share else second  # noqa: E731
    return [{"id": f"q{i:04d}", one: x, two: y, verdict: pick()} for i in range(n)]


@pytest.mark.parametrize("form", range(5))
@pytest.mark.parametrize(
    ("ahead", "turned", "found"),
    [(0.72, 0.68, True), (0.3, 0.34, True), (0.7, 0.3, False), (0.5, 0.52, False), (0.62, 0.4, False)],
)
def test_the_same_place_wins_with_the_models_exchanged(tmp_path, form, ahead, turned, found):
    files = {
        "main.jsonl": rows("new", "old", 400, ahead, form),
        "again/part.jsonl": rows("old", "new", 120, turned, form, seed=2),
    }
    assert told(tmp_path, files) == ["verdicts-follow-order"] * found


@pytest.mark.parametrize(("share", "found"), [(0.66, True), (0.34, True), (0.51, False)])
@pytest.mark.parametrize("again", ["ck-9", "ck-9.seed2", "ck-9_rerun1", "ck-9 (rep 2)"])
def test_a_model_against_itself(tmp_path, share, found, again):
    assert told(tmp_path, {"sanity.jsonl": rows("ck-9", again, 300, share)}) == ["verdicts-follow-order"] * found


@pytest.mark.parametrize(("votes", "found"), [(0.48, True), (0.69, False)])
def test_people_beside_one_fixed_order(tmp_path, votes, found):
    rng = random.Random(3)
    people = [{"item": f"q{i}", "rater": "k", "prefers": "new" if rng.random() < votes else "old"} for i in range(200)]
    files = {"arena.jsonl": rows("new", "old", 500, 0.7), "human_blind.jsonl": people}
    assert told(tmp_path, files) == ["people-prefer-otherwise"] * found


@pytest.mark.parametrize(("turned", "found"), [(61, True), (33, False)])
def test_rows_of_a_summary(tmp_path, turned, found):
    (tmp_path / "s.csv").write_text(
        f"甲,乙,甲胜,乙胜,平,题数\nv3,v2,196,94,10,300\nv2,v3,{turned},{100 - turned},0,100\n"
    )
    assert [f.code for f in positions(read_tables(tmp_path / "s.csv", "s.csv"))] == ["verdicts-follow-order"] * found


@pytest.mark.parametrize(("turned", "found"), [(0.67, True), (0.33, False)])
def test_the_order_in_the_names_of_files(tmp_path, turned, found):
    rng, files = random.Random(5), {}
    for name, share in (("new_vs_old.jsonl", 0.7), ("old_vs_new.jsonl", turned)):
        files[name] = [{"qid": i, "winner": "A" if rng.random() < share else "B"} for i in range(200)]
    assert told(tmp_path, files) == ["verdicts-follow-order"] * found


def test_too_few_verdicts_and_one_order_alone(tmp_path):
    assert told(tmp_path, {"a.jsonl": rows("n", "o", 400, 0.7), "b.jsonl": rows("o", "n", 20, 0.9)}) == []
    assert told(tmp_path, {"c.jsonl": rows("n", "o", 800, 0.7)}) == []


def test_people_in_both_orders_are_no_judge(tmp_path):
    files = {"human_panel.jsonl": rows("n", "o", 400, 0.7), "human_panel2.jsonl": rows("o", "n", 400, 0.7)}
    assert told(tmp_path, files) == []


@pytest.mark.parametrize("neither", ["C", "TIE", None, "N/A", "无效"])
@pytest.mark.parametrize(("turned", "found"), [(0.36, True), (0.64, False)])
def test_verdicts_that_name_neither_or_could_not_be_read(tmp_path, neither, turned, found):
    files = {"a.jsonl": rows("n", "o", 400, 0.36), "b.jsonl": rows("o", "n", 200, turned, seed=4)}
    for some in files.values():
        for row in some:
            row["verdict"] = {"A": "1", "B": "2"}.get(row["verdict"], neither)
    assert told(tmp_path, files) == ["verdicts-follow-order"] * found


@pytest.mark.parametrize(("who", "found"), [(("mia", "tom", "lea"), False), (("gpt-4o", "gpt-4o", "gpt-4o"), True)])
def test_a_column_of_names_says_that_people_judged(tmp_path, who, found):
    files = {"a.jsonl": rows("n", "o", 400, 0.7), "b.jsonl": rows("o", "n", 400, 0.7, seed=4)}
    for some in files.values():
        for i, row in enumerate(some):
            row["annotator"] = who[i % 3]
    assert told(tmp_path, files) == ["verdicts-follow-order"] * found


def test_answers_of_a_multiple_choice_test(tmp_path):
    rng = random.Random(6)
    some = [{"id": i, "option_a": f"text {i}", "option_b": f"other {i}", "gold": rng.choice("AAB")} for i in range(300)]
    assert told(tmp_path, {"mc.jsonl": some}) == []
