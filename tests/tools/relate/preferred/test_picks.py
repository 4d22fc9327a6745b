"""Best of n by a scorer: longer answers, liked no better."""

import random

import pytest

from triage.tools.relate.preferred.picks import picked
from triage.tools.tables.read import read_tables


def told(folder, name, text):
    (folder / name).write_text(text)
    return [f.code for t in read_tables(folder / name, name) for f in picked(t)]


FORMS = {
    "bon.csv": "n,mean_tokens,human_win_rate\n1,210,0.50\n4,{0},0.49\n16,{1},{2}\n",
    "rerank.md": "| policy | avg chars | satisfied |\n|---|---|---|\n| random | 210 | 50% |\n"
    "| rm best-of-4 | {0} | 49% |\n"
    "| rm best-of-16 | {1} | {3}% |\n",
    "挑选.csv": "选法,平均字数,人工满意率\n随机,210,0.5\n打分最高(8选1),{0},0.49\n打分最高(16选1),{1},{2}\n",
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize(
    ("mid", "long", "good", "found"), [(330, 480, 0.41, True), (330, 480, 0.66, False), (215, 222, 0.41, False)]
)
def test_summaries(tmp_path, name, mid, long, good, found):
    text = FORMS[name].format(mid, long, good, int(good * 100))
    assert told(tmp_path, name, text) == ["picks-longer-not-better"] * found


@pytest.mark.parametrize(("rank", "won", "found"), [(0.8, 0.35, True), (0.8, 0.65, False), (0.1, 0.35, False)])
def test_rows_of_prompts(tmp_path, rank, won, found):
    rng, lines = random.Random(1), ["prompt,candidates,len_max,len_mean,len_picked,judged_by_human"]
    for i in range(120):
        mean = rng.randint(80, 300)
        long = 2 * mean
        pick = long if rng.random() < rank else mean
        lines.append(f"p{i},8,{long},{mean},{pick},{'win' if rng.random() < won else 'loss'}")
    assert told(tmp_path, "best_of_8.csv", "\n".join(lines)) == ["picks-longer-not-better"] * found


@pytest.mark.parametrize(
    "text",
    [
        "step,mean_tokens,accuracy\n1,210,0.60\n100,330,0.5\n200,480,0.41\n",
        "method,mean_tokens,accuracy\nrandom,210,0.50\nhuman pick,480,0.4\n",
        "method,mean_tokens,accuracy\nmajority vote,210,0.50\nrm best-of-16,480,0.4\n",
    ],
    ids=["a training", "people pick", "no candidate at random"],
)
def test_other_tables_are_let_be(tmp_path, text):
    assert told(tmp_path, "eval.csv", text) == []
