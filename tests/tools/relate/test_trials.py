"""Trials that end well or badly: by a setting, or by chance."""

import json

import numpy as np
import pytest

from triage.tools.relate.line import Line
from triage.tools.relate.trials.follows import tried
from triage.tools.settings import Settings
from triage.tools.tables.read import read_tables

HEADS = [("trial,seq_len,status", "ok", "timed out: timeout"), ("次数,micro_batch,结果", "正常", "失败")]


def codes(folder, head, rows):
    (folder / "trials.csv").write_text("\n".join([head, *(",".join(map(str, r)) for r in rows)]) + "\n")
    return [f.code for f in tried(list(read_tables(folder / "trials.csv", "trials.csv")), Settings())]


@pytest.mark.parametrize(("head", "good", "bad"), HEADS)
@pytest.mark.parametrize(("failed", "found"), [((3, 4, 5), True), ((3, 5), True), ((4,), False), ((), False)])
def test_a_setting_is_named_where_most_of_its_repetitions_fail(tmp_path, head, good, bad, failed, found):
    rows = [(i, 16 if i < 3 else 64, bad if i in failed else good) for i in range(6)]
    assert ("outcome-follows-setting" in codes(tmp_path, head, rows)) is found


@pytest.mark.parametrize(("points", "grade"), [(400, "S3"), (20, "S2"), (0, "S2")])
def test_trials_out_of_memory_beside_a_training_that_ran_are_a_note(tmp_path, points, grade):
    rows = [(i, 2 if i < 3 else 16, "CUDA out of memory" if i > 2 else "ok") for i in range(6)]
    head = "trial,micro_batch,status"
    (tmp_path / "trials.csv").write_text("\n".join([head, *(",".join(map(str, r)) for r in rows)]) + "\n")
    lines = [
        Line("loss", "loss", "run.log", np.arange(float(points)), np.linspace(4, 2, points), np.arange(points) + 1)
    ]
    found = tried(list(read_tables(tmp_path / "trials.csv", "trials.csv")), Settings(), lines)
    assert {f.severity for f in found if f.code == "outcome-follows-setting"} == {grade}


def scored(i: int) -> str:
    return f"\"{{'rouge-1': {0.4 + i / 999:.6f}, 'bleu': {0.2 + i / 777:.6f}}}\""


@pytest.mark.parametrize("say", [scored, lambda i: f"fold {i}x"], ids=["what was scored", "a name for each"])
def test_what_each_epoch_was_scored_is_no_setting(tmp_path, say):
    rows = [(i, say(i), 0.9 - 0.02 * i) for i in range(20)]
    assert codes(tmp_path, "no,valid_data,loss", rows) == []


@pytest.mark.parametrize("names", [("mix-a", "mix-b"), ("旧语料", "新语料")])
def test_a_data_set_that_comes_again_is_one(tmp_path, names):
    rows = [(i, names[i % 2], 1.9 + 0.8 * (i % 2) + 0.01 * i) for i in range(6)]
    assert codes(tmp_path, "trial,dataset,final_loss", rows) == ["outcome-follows-setting"]


def asked(i, failed):
    """A request as a client writes it down: how it was sampled, where an answer came at all."""
    drawn = {"sampling": {"temperature": 0.7, "top_p": 0.9}, "answer": f"so {i}"}
    return {"request": i, "sent": None if failed else drawn, "error": "timeout after 30 s" if failed else "none, ok"}


def test_what_is_missing_because_a_trial_failed_is_no_setting(tmp_path):
    def found(rows):
        (tmp_path / "calls.jsonl").write_text("\n".join(map(json.dumps, rows)))
        return [f.code for f in tried(list(read_tables(tmp_path / "calls.jsonl", "calls.jsonl")), Settings())]

    assert found([asked(i, i == 4) for i in range(7)]) == []
    warm = [asked(i, False) | {"error": "timeout after 30 s" if i > 3 else "none, ok"} for i in range(7)]
    for i, row in enumerate(warm):
        row["sent"]["sampling"]["temperature"] = 1.8 if i > 3 else 0.2
    assert found(warm) == ["outcome-follows-setting"]


def test_an_outcome_that_stays_as_it_was_is_no_failure(tmp_path):
    rows = [(i, "north" if i < 4 else "south", "unchanged" if i < 4 else "ok") for i in range(8)]
    assert codes(tmp_path, "trial,dataset,outcome", rows) == []
    rows = [(i, name, "hangs" if name == "north" else end) for i, name, end in rows]
    assert codes(tmp_path, "trial,dataset,outcome", rows) == ["outcome-follows-setting"]
