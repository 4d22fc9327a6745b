"""Pairs whose scores hardly differ, on any scale and by any names, and how they were picked."""

import json
import random

import pytest

from triage.tools.relate.preferred.gaps import gaps
from triage.tools.tables.read import read_tables


def told(folder, files):
    for name, text in files.items():
        (folder / name).write_text(text)
    return list(gaps([t for name in files for t in read_tables(folder / name, name)]))


def pairs(near, scale=5.0, n=80):
    """(better, worse) scores of which this share lies near each other."""
    rng = random.Random(3)
    for i in range(n):
        high = scale * rng.uniform(0.4, 1.0)
        yield round(high, 3), round(high - scale * (0.02 if i < near * n else 0.35), 3)


FORMS = {
    "duos.csv": ("id,mark_better,mark_worse\n", "u{i},{a},{b}\n", 5.0),
    "打分对.csv": ("编号,优选分,劣选分\n", "d{i},{a},{b}\n", 100.0),
    "rank.jsonl": ("", '{{"uid": "k{i}", "win": {{"rating": {a}}}, "lose": {{"rating": {b}}}}}\n', 5.0),
    "unit.tsv": ("pid\tpos_quality\tneg_quality\n", "s{i}\t{a}\t{b}\n", 1.0),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize(("near", "found"), [(0.7, True), (0.05, False)])
def test_by_names_and_scales(tmp_path, name, near, found):
    head, row, scale = FORMS[name]
    body = "".join(row.format(i=i, a=a, b=b) for i, (a, b) in enumerate(pairs(near, scale)))
    assert [f.data["small"] for f in told(tmp_path, {name: head + body})] == [56] * found


@pytest.mark.parametrize("names", ["chosen_logps,rejected_logps", "len_winner,len_loser", "north,south"])
def test_what_is_no_score_is_no_gap(tmp_path, names):
    body = "".join(f"u{i},{a},{b}\n" for i, (a, b) in enumerate(pairs(0.9)))
    assert told(tmp_path, {"duos.csv": f"id,{names}\n{body}"}) == []


@pytest.mark.parametrize(("second", "said"), [(True, True), (False, False)])
@pytest.mark.parametrize("form", ["json", "spaced"])
def test_the_candidates_say_that_the_second_best_was_taken(tmp_path, second, said, form):
    rng, rows, pools = random.Random(5), ["qid,s_top,s_runner_up"], []
    for i in range(60):
        high = rng.uniform(3, 5)
        marks = [high, high - 0.1, high - 1.2, high - 1.6]
        rows.append(f"q{i},{high:.2f},{marks[1 if second else 2]:.2f}")
        rng.shuffle(marks)
        listed = [round(m, 2) for m in marks]
        spaced = " ".join(map(str, listed))
        pools.append(json.dumps({"qid": f"q{i}", "marks": listed if form == "json" else spaced}))
    found = told(tmp_path, {"duos.csv": "\n".join(rows), "drawn.jsonl": "\n".join(pools)})
    assert [("second best of 4" in f.message) for f in found] == [True] * said


def acts(n=60):
    """(what was done, what was not) of pairs, by number."""
    rng = random.Random(9)
    return [(rng.randrange(4), rng.randrange(4)) for _ in range(n)]


def test_numbers_of_what_was_chosen_are_no_scores(tmp_path):
    picks = [{"id": f"p{i}", "picked": {"good_move": a, "bad_move": b}} for i, (a, b) in enumerate(acts())]
    assert told(tmp_path, {"moves.jsonl": "\n".join(map(json.dumps, picks))}) == []


def test_ratings_in_whole_numbers_are_scores_and_what_is_called_so_goes_before_the_rest(tmp_path):
    rows = [f"r{i},{4 + i % 2},{4 + i % 2 - (i % 5 == 0)}" for i in range(60)]  # most pairs are equal
    assert len(told(tmp_path, {"given.csv": "\n".join(["id,grip_better,grip_worse", *rows])})) == 1
    rows = [f"s{i},{a},{b},{9 - i % 3},{2 + i % 3}" for i, (a, b) in enumerate(acts())]
    head = "id,act_better,act_worse,score_better,score_worse"
    assert told(tmp_path, {"both.csv": "\n".join([head, *rows])}) == []
