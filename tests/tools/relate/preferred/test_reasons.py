"""A judge whose reasons praise and condemn beside a score that is always the same, and scores that follow them."""

import json

import pytest

from triage.tools.relate.preferred.reasons import unfollowed
from triage.tools.tables.read import read_tables

GOOD = "The reply to case {} is accurate, and it names every step that the person has to take in order"
BAD = "The reply to case {} is incorrect: it names a tool that does not exist and leaves the second step out"
GOOD_ZH = (
    "第 {} 题的回答准确、全面，步骤清晰，覆盖了用户提出的所有要点，表述也便于理解，可以直接照着做，没有需要补充的地方。"
)
BAD_ZH = "第 {} 题的回答答非所问，给出的命令不存在，关键步骤缺失，用户照做只会失败，还夹杂了与问题没有关系的大段内容。"


def rows(share, score, text=(GOOD, BAD), names=("critique", "judge_rating"), n=60):
    for i in range(n):
        bad = i % 10 < 10 * share
        yield {"id": i, names[0]: text[bad].format(i), names[1]: score(bad, i)}


def told(folder, *files):
    tables = []
    for k, some in enumerate(files):
        (folder / f"m{k}.jsonl").write_text("\n".join(json.dumps(r, ensure_ascii=False) for r in some))
        tables += read_tables(folder / f"m{k}.jsonl", f"m{k}.jsonl")
    return unfollowed(tables)


@pytest.mark.parametrize(
    "files",
    [
        (rows(0.4, lambda bad, i: 3.0),),
        (rows(0.7, lambda bad, i: 50, (GOOD_ZH, BAD_ZH), ("评语", "得分")),),
        (rows(0.0, lambda bad, i: 0), rows(1.0, lambda bad, i: 0 if i else 4)),
    ],
    ids=["a middle score", "Chinese", "over two files"],
)
def test_a_score_that_is_the_same_whatever_is_written(tmp_path, files):
    (found,) = told(tmp_path, *files)
    assert found.code == "judge-score-constant"
    assert found.evidence[0].line


@pytest.mark.parametrize(
    "files",
    [
        (rows(0.0, lambda bad, i: 5),),
        (rows(1.0, lambda bad, i: 1),),
        (rows(0.4, lambda bad, i: 2 if bad else 5),),
        (rows(0.4, lambda bad, i: 3.0, n=20),),
        (rows(0.4, lambda bad, i: 512, names=("critique", "max_tokens")),),
        (rows(0.4, lambda bad, i: 3.0, ("ok", "no")),),
        (rows(0.4, lambda bad, i: 0.0, names=("critique", "exact_match")),),
        (rows(0.4, lambda bad, i: 0.0, (GOOD_ZH, BAD_ZH), ("评语", "rouge_l")),),
    ],
    ids=[
        "all are good",
        "all are bad",
        "it follows",
        "few",
        "a setting",
        "no reasons",
        "computed",
        "computed, Chinese",
    ],
)
def test_scores_that_follow_what_is_written_are_left_alone(tmp_path, files):
    assert not told(tmp_path, *files)
