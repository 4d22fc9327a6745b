"""Slips of typing are put right; what is right stays."""

import pytest

from triage.knowledge.outside import phrases
from triage.knowledge.runbook import load
from triage.knowledge.spelling import Spelling


@pytest.fixture(scope="module")
def spelling() -> Spelling:
    return Spelling.of(load(), (text for kind in phrases().values() for text in kind))


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("the learnig rate", "the learning rate"),
        ("genrates until the limt", "generates until the limit"),
        ("gradeint clpping", "gradient clipping"),
        ("chekpoint sequnce", "checkpoint sequence"),
        ("直接上梯度裁减", "直接上梯度裁剪"),
        ("奖厉模型被钻空子", "奖励模型被钻空子"),
        ("过拟和了", "过拟合了"),
        ("对话摸板写错了", "对话模板写错了"),
        ("学习绿太高", "学习率太高"),
    ],
)
def test_a_slip_is_put_right(spelling, typed, meant):
    assert spelling.corrected(typed) == meant


@pytest.mark.parametrize(
    "right",
    [
        "nothing wrong here, thanks",
        "Alice asked Bob on Monday about the contract",
        "how long do I boil eggs",
        "run train.py --max_grad_norm=0.5 on node17",
        "vLLM 0.6.3 on H100 with NCCL",
        "训练几步之后打印出来，怎么办",
        "用户要求删除自己的数据",
        "租房押金不退怎么办",
        "",
    ],
)
def test_what_is_right_stays(spelling, right):
    assert spelling.corrected(right) == right


def test_no_phrase_of_the_runbook_or_of_other_fields_is_touched(spelling):
    ours = [text for entry in load() for text in (*entry.says.en, *entry.says.zh)]
    assert [t for t in ours if spelling.corrected(t) != t] == []
    others = [text for kind in phrases().values() for text in kind]
    assert sum(spelling.corrected(t) != t for t in others) <= 0.02 * len(others)
