"""Fewer answers than items, in records and in sums by topic, and counts that are right as they are."""

import json

import pytest

from triage.tools.documents.stated import Stated
from triage.tools.relate.paced.short import fewer, summing
from triage.tools.tables.read import read_tables


def tables(tmp_path, **files):
    out = []
    for name, value in files.items():
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
        out += read_tables(path, path.name)
    return out


WHOLE = {"n_items": 800, "answered": 800, "acc": 0.7}
FULL = {"total": 1600, "predictions": 1600, "correct": 1120, "accuracy": 0.7}


def test_a_score_over_all_items_of_answers_that_are_not_all_there(tmp_path):
    [f] = fewer(tables(tmp_path, result={"total": 1600, "predictions": 1400, "correct": 980, "accuracy": 0.6125}), ())
    assert f.code == "answers-short-of-items"
    assert "980 / 1600" in f.message
    assert "0.7" in f.message


def test_a_sibling_that_is_whole(tmp_path):
    some = tables(
        tmp_path, a={"n_items": 800, "answered": 700, "acc": 0.61}, b={"n_items": 800, "answered": 800, "acc": 0.7}
    )
    [f] = fewer(some, ())
    assert f.data["missing"] == 100


def test_a_history_in_one_table_with_chinese_names(tmp_path):
    path = tmp_path / "历次评测.csv"
    path.write_text(
        "检查点,题数,实收,准确率\nck1,900,900,0.655\nck2,900,900,0.66\nck3,900,788,0.578\n", encoding="utf-8"
    )
    [f] = fewer(read_tables(path, path.name), ())
    assert (f.data["have"], f.data["need"]) == (788, 900)
    assert "缺" in f.zh or "没有进入评分" in f.zh


@pytest.mark.parametrize("some", [
    {"a": FULL},
    {"a": {"total": 1600, "predictions": 1400, "correct": 980, "accuracy": 0.7}},  # divided by what came
    {"a": {"total": 1600, "predictions": 1400, "skipped": 200, "correct": 980, "accuracy": 0.6125}},  # accounted for
    {"a": {"total": 1600, "parsed": 1400, "correct": 980, "accuracy": 0.6125}},  # answers that could not be read
    {"a": {"total": 1600, "predictions": 1400, "accuracy": 0.6125}},  # nothing to hold it against
    {"a": {"n": 20, "answered": 18, "correct": 9, "accuracy": 0.45}},  # too few
    {"a": {"n_items": 800, "answered": 700, "acc": 0.72}, "b": WHOLE},  # no lower
    {"a": {"n_items": 800, "answered": 400, "limit": 400, "acc": 0.6}, "b": WHOLE},
])  # fmt: skip
def test_silent(tmp_path, some):
    assert list(fewer(tables(tmp_path, **some), ())) == []


def topics(*seen, right=0.6):
    return {"score": 60.0, "by": {n: {"right": int(right * s), "seen": s} for n, s in zip("abcd", seen, strict=True)}}


def test_topics_that_add_up_to_less_than_those_of_two_others(tmp_path):
    some = tables(tmp_path, s1=topics(100, 200, 300, 200), s2=topics(100, 200, 300, 200), s3=topics(88, 175, 262, 175))
    [f] = summing(some, ())
    assert f.data["missing"] == 100
    assert "1 part of 8" in f.message


def test_one_other_and_the_number_of_items_that_is_set(tmp_path):
    some = tables(tmp_path, s2=topics(100, 200, 300, 200), s3=topics(88, 175, 262, 175))
    assert list(summing(some, ())) == []
    assert len([*summing(some, (Stated("suite.yaml", 1, "items", "800", "items: 800"),))]) == 1


@pytest.mark.parametrize("last", [(100, 200, 300, 200), (110, 180, 262, 175), (100, 200, 299, 200), (10, 20, 30, 20)])
def test_sums_that_say_nothing(tmp_path, last):
    some = tables(tmp_path, s1=topics(100, 200, 300, 200), s2=topics(100, 200, 300, 200), s3=topics(*last))
    assert list(summing(some, ())) == []


@pytest.mark.parametrize(
    ("one", "other"), [("dialogue", "long_dialogue"), ("tuned_dev", "tuned_test"), ("a/r", "b/c/r")]
)
def test_totals_of_two_tests_are_not_held_against_each_other(tmp_path, one, other):
    for name in (one, other):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    some = tables(tmp_path, **{one: topics(88, 175, 262, 175), other: topics(100, 200, 300, 200)})
    assert list(summing(some, (Stated("suite.yaml", 1, "items", "800", "items: 800"),))) == []
