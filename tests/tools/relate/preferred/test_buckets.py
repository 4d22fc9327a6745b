"""A scorer's accuracy by how much longer the chosen answer is, however a file cuts and calls it."""

import json

import pytest

from triage.tools.relate.preferred.buckets import buckets
from triage.tools.relate.preferred.correlated import correlated
from triage.tools.tables.read import read_tables


def told(folder, name, text):
    (folder / name).write_text(text)
    return [f.code for t in read_tables(folder / name, name) for f in buckets(t)]


RANGES = """# RM held-out, by (chosen - rejected) tokens

| len diff | pairs | acc |
|---|---|---|
| (-inf, -200] | 150 | {0} |
| (-200, -50] | 210 | {1} |
| (-50, 50] | 300 | {2} |
| (50, 200] | 420 | {3} |
| (200, inf) | 380 | {4} |
"""
RATIOS = """len_ratio_bin,n_pairs,rm_accuracy
<0.5,120,{0}
0.5-0.8,260,{1}
0.8-1.25,300,{2}
1.25-2,510,{3}
>2,330,{4}
"""
MIDDLES = "delta_tokens,count,accuracy\n-300,90,{0}\n-100,180,{1}\n0,220,{2}\n100,300,{3}\n300,200,{4}\n"
CHINESE = (
    "长度差(被选-未选),对数,判对率\n-200以下,140,{0}\n-200~-50,200,{1}\n-50~50,190,{2}\n50~200,260,{3}\n"
    "200以上,310,{4}\n"
)
BIASED, FAIR, HARD = (0.14, 0.33, 0.54, 0.82, 0.97), (0.71, 0.7, 0.66, 0.72, 0.74), (0.47, 0.5, 0.5, 0.52, 0.55)


@pytest.mark.parametrize("text", [RANGES, RATIOS, MIDDLES, CHINESE], ids=["ranges", "ratios", "middles", "chinese"])
@pytest.mark.parametrize(("shares", "found"), [(BIASED, True), (FAIR, False), (HARD, False)])
def test_ranges_of_the_difference_in_length(tmp_path, text, shares, found):
    name = "heldout.md" if text is RANGES else "rm_heldout.csv"
    assert told(tmp_path, name, text.format(*shares)) == ["score-follows-length"] * found


@pytest.mark.parametrize(
    ("long", "short", "found"), [(0.96, 0.15, True), (0.78, 0.71, False), (0.8, 0.47, False), (0.15, 0.96, False)]
)
@pytest.mark.parametrize(
    ("a", "b"), [("winner longer", "winner shorter"), ("人选更长", "人选更短"), ("被拒的更短", "被拒的更长")]
)
def test_words_for_both_sides_in_keys(tmp_path, a, b, long, short, found):
    text = json.dumps(
        {"all": {"n": 900, "accuracy": 0.7}, a: {"n": 500, "accuracy": long}, b: {"n": 60, "accuracy": short}}
    )
    assert told(tmp_path, "by_length.json", text) == ["score-follows-length"] * found


@pytest.mark.parametrize(("short", "found"), [(0.21, True), (0.69, False)])
def test_columns_along_the_checkpoints(tmp_path, short, found):
    rows = "\n".join(f"{s},{0.6 + s / 1e4:.3f},{0.9 + s / 1e5:.3f},{short}" for s in range(100, 900, 100))
    text = f"step,acc_all,acc_chosen_longer,acc_chosen_shorter\n{rows}\n"
    assert told(tmp_path, "rm_eval.csv", text) == ["score-follows-length"] * found


def test_a_row_each_pair(tmp_path):
    rows = [
        (d, int(d > 0) if i % 10 else int(d < 0)) for i, d in enumerate([-120, 80, -40, 210, 95, -15, 60, -230] * 20)
    ]
    text = "pair,len_diff_chosen,rm_correct\n" + "\n".join(f"p{i},{d},{r}" for i, (d, r) in enumerate(rows))
    assert told(tmp_path, "pairs.csv", text) == ["score-follows-length"]


@pytest.mark.parametrize(
    "text",
    [
        "context_tokens,n,accuracy\n1000,200,0.92\n8000,200,0.7\n32000,200,0.4\n",
        "temperature_delta,n,accuracy\n-0.5,200,0.2\n0,200,0.5\n0.5,200,0.95\n",
        "prompt,n,accuracy\nshort,200,0.95\nlong,200,0.3\n",
        "len diff,pairs,acc\n-300,6,0.17\n0,9,0.5\n300,8,0.9\n",
    ],
    ids=["lengths of contexts", "no length", "prompts", "too few pairs"],
)
def test_other_tables_are_let_be(tmp_path, text):
    assert told(tmp_path, "results.csv", text) == []


MEASURES = """# Mean over 900 tokens, INT4 against mixed

| measure | INT4 | mixed | change |
|---|---|---|---|
| {0} | 0.81 | 0.29 | -64% |
| Top-5 agreement | 78.10% | 88.30% | +10.20% |
"""


@pytest.mark.parametrize("measure", ["Perplexity delta", "KL 差", "Δ logit norm", "gap to bf16"])
def test_measures_and_their_change_are_no_lengths(tmp_path, measure):
    assert told(tmp_path, "quantised.md", MEASURES.format(measure)) == []


@pytest.mark.parametrize("head", ["bucket", "区间", "Δ"])
def test_ranges_below_a_head_that_names_nothing_else(tmp_path, head):
    rows = "\n".join(
        f"| {r} | 90 | {s} |" for r, s in zip(("<-80", "-80~0", "0~80", ">80"), (0.1, 0.2, 0.8, 0.9), strict=True)
    )
    text = f"# RM by token diff of chosen and rejected\n\n| {head} | pairs | acc |\n|---|---|---|\n{rows}\n"
    assert told(tmp_path, "rm.md", text) == ["score-follows-length"]


@pytest.mark.parametrize(("short", "found"), [(0.12, True), (0.68, False)])
def test_ranges_as_the_keys_of_an_object(tmp_path, short, found):
    text = json.dumps({"acc_by_len_gap": {"<-200": short, "-200~0": short + 0.1, "0~200": 0.85, ">200": 0.97}})
    assert told(tmp_path, "by_len.json", text) == ["score-follows-length"] * found


@pytest.mark.parametrize(("length", "grade", "found"), [(0.84, 0.06, True), (0.84, 0.5, False), (0.2, 0.06, False)])
def test_reported_correlations(tmp_path, length, grade, found):
    (tmp_path / "c.csv").write_text(
        f"n,spearman(score; n_tokens),spearman(score; expert_grade)\n600,{length},{grade}\n"
    )
    assert [f.code for t in read_tables(tmp_path / "c.csv", "c.csv") for f in correlated(t)] == [
        "score-follows-length"
    ] * found
