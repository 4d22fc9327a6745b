"""A model before and after training in one file: figures that are all equal, marks that fall item by item."""

import json

import pytest

from triage.tools.relate.scores.paired import LOOKS
from triage.tools.tables.read import read_tables


def told(tmp_path, name, value):
    rows = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    (tmp_path / name).write_text(rows, encoding="utf-8")
    return [f.code for t in read_tables(tmp_path / name, name) for look in LOOKS for f in look(t)]


FIGURES = {"triage_acc": 0.41379, "triage_f1": 0.38214, "route_acc": 0.27586, "route_recall": 0.3125}


def record(change=0.0, before="{}_base", after="{}_ft"):
    out = {}
    for i, (name, value) in enumerate(FIGURES.items()):
        out |= {before.format(name): value, after.format(name): value + change * (i == 2)}
    return out


@pytest.mark.parametrize(("before", "after"), [
    ("{}_base", "{}_ft"), ("before_{}", "after_{}"), ("baseline/{}", "finetuned/{}"), ("底座_{}", "微调后_{}"),
])  # fmt: skip
def test_every_figure_after_training_is_that_before(tmp_path, before, after):
    assert told(tmp_path, "eval.json", record(0.0, before, after)) == ["scores-of-the-base"]


@pytest.mark.parametrize("value", [
    record(0.034), record(0.0, "{}_a", "{}_b"), {"acc_base": 0.5, "acc_ft": 0.5, "f1_base": 0.5, "f1_ft": 0.5},
    {"loss_base": 1.23456, "loss_ft": 1.23456, "t_base": 3.14159, "t_ft": 3.14159},
], ids=["one moved", "two of anything", "round", "no scores"])  # fmt: skip
def test_figures_that_move_or_are_no_scores(tmp_path, value):
    assert told(tmp_path, "eval.json", value) == []


def marked(falls, base="base", trained="dpo", mark="helpfulness", n=48):
    rows = []
    for i in range(n):
        was = 5 if i % 4 else 4
        rows += [
            {"model": base, "prompt": f"q{i}", mark: was},
            {"model": trained, "prompt": f"q{i}", mark: falls(i, was)},
        ]
    return rows


def lower(i, was):
    return was - (i % 3 == 0)


@pytest.mark.parametrize("names", [
    {}, {"base": "基座", "trained": "偏好", "mark": "得分"}, {"base": "Qwen/Qwen2.5-7B", "trained": "ours"},
])  # fmt: skip
def test_marks_that_fall_item_by_item(tmp_path, names):
    assert told(tmp_path, "judge.json", marked(lower, **names)) == ["benchmark-drop"]


@pytest.mark.parametrize("rows", [
    marked(lambda i, was: was), marked(lambda i, was: was + (1, -1, 0)[i % 3]), marked(lower, n=12),
    marked(lower, base="v1", trained="v2"), marked(lower, mark="latency_s"), marked(lambda i, was: was + (i % 3 == 0)),
], ids=["equal", "either way", "few", "no base", "no mark", "higher"])  # fmt: skip
def test_marks_that_do_not_fall(tmp_path, rows):
    assert told(tmp_path, "judge.json", rows) == []
