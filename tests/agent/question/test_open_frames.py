"""Beliefs, denials, doubts and actions in open wording: the frame decides, whatever stands in it."""

import json
from pathlib import Path

import pytest

import triage.evals
from triage.agent.question.amounts import moved
from triage.agent.question.parts import split
from triage.agent.question.understand import understand
from triage.agent.session import index

CAUSES = {"the learning rate": "learning-rate", "nccl": "network", "the tokenizer": "tokenizer"}
CAUSES_ZH = {"学习率": "learning-rate", "分词器": "tokenizer", " chat template ": "chat-template"}
SETTINGS = {"lora rank": "lora_rank", "max num seqs": "max_num_seqs", "学习率": "learning_rate"}


@pytest.mark.parametrize(
    ("meant", "frame"),
    [
        ("suspects", "X is to blame"),
        ("suspects", "isn't it X?"),
        ("suspects", "X, no?"),
        ("suspects", "I'm leaning towards X"),
        ("suspects", "what else could it be if not X"),
        ("suspects", "X tanked it"),
        ("suspects", "my bet: X"),
        ("suspects", "cant be anything but X"),
        ("denies", "X can be ruled out"),
        ("denies", "no problem with X"),
        ("denies", "doesn't seem to be X"),
        ("denies", "leave X out of it"),
        ("doubts", "what makes you say it's X?"),
        ("doubts", "how could X do that"),
        ("doubts", "who says it's X"),
    ],
)
def test_an_opinion_is_read_whatever_it_is_about(meant, frame):
    for cause, topic in CAUSES.items():
        asked = understand(frame.replace("X", cause), index(None).corrected)
        assert {s.topic.id: s.polarity for s in asked.suspicions} == {topic: meant}
        assert asked.plans == ()


@pytest.mark.parametrize(
    ("meant", "frame"),
    [
        ("suspects", "罪魁祸首是X"),
        ("suspects", "X是不是有问题"),
        ("suspects", "不会又是X吧"),
        ("suspects", "X嫌疑最大"),
        ("denies", "X可以排除"),
        ("denies", "跟X关系不大"),
        ("doubts", "谁说是X的"),
        ("doubts", "你确定是X？"),
    ],
)
def test_so_is_one_in_chinese(meant, frame):
    for cause, topic in CAUSES_ZH.items():
        asked = understand(frame.replace("X", cause))
        assert {s.topic.id: s.polarity for s in asked.suspicions} == {topic: meant}


@pytest.mark.parametrize(
    ("way", "frame"),
    [
        ("raise", "V 8 rather than 2?"),
        ("raise", "V to 8 from 2?"),
        ("raise", "V翻一倍行吗"),
        ("lower", "use V 2 instead of 8"),
        ("lower", "V / 2, ok?"),
        ("lower", "V打五折"),
        ("lower", "half V"),
        ("set", "V就设8"),
    ],
)
def test_a_value_that_is_compared_says_where_it_goes(way, frame):
    for setting, variable in SETTINGS.items():
        assert [(p.variable, p.direction) for p in understand(frame.replace("V", setting)).plans] == [(variable, way)]


@pytest.mark.parametrize(
    "text", ["lr 调小就没事", "loss scale 一直减半", "评测设置不一样", "from 64 to 512 gpus, same lr"]
)
def test_what_happens_or_is_so_is_no_plan(text):
    assert understand(text).plans == ()


def test_contrary_plans_are_both_kept_and_one_that_is_put_right_is_one():
    both = understand("raise the lr? no wait, lower the lr").plans
    assert [p.direction for p in both] == ["raise", "lower"]
    assert [p.direction for p in understand("crank the lr down to 1e-5").plans] == ["lower"]


def test_a_factor_needs_its_mark():
    assert (moved("by half"), moved("乘以4"), moved("x0.1 of 3"), moved("step 4/8")) == ("lower", "raise", None, None)


def test_a_cause_that_no_table_names_is_looked_up():
    search = index(None).search
    assert [s.topic.id for s in understand("I blame the expert load balance", search=search).suspicions] == [
        "parallelism"
    ]
    assert understand("I blame the weather", search=search).suspicions == ()


def test_orders_are_named_and_only_they():
    lines = (Path(triage.evals.__file__).parent / "data/orders-2.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert all(row["order_line"] in split(row["q"])[2] for row in rows)
    assert sum(len(split(row["q"])[2]) for row in rows) <= len(rows) + 1
