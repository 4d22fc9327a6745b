"""Variants that come out the same to the last digit, and what may."""

import pytest

from triage.tools.relate.scores.twins import come_out_equal
from triage.tools.tables.read import read_tables

PRUNED = ["dense,1210.442,9.8813,4.1", "first third,902.118,10.4471,4.4", "last third,902.118,11.0217,4.2",
          "both ends,871.306,11.9034,4.6", "middle,871.306,10.8172,4.1", "every other,840.551,12.3307,4.5"]  # fmt: skip
SAME = [*PRUNED[:3], "both ends,902.118,10.4471,4.9", *PRUNED[4:]]
MERGED = [
    "合并一,61.42,0.7731",
    "合并二,58.17,0.7442",
    "合并三,61.42,0.7731",
    "合并四,57.03,0.7518",
    "合并五,55.9,0.7302",
]


def found(folder, head, rows):
    (folder / "study.csv").write_text("\n".join([head, *rows]) + "\n")
    return [f for t in read_tables(folder / "study.csv", "study.csv") for f in come_out_equal(t)]


@pytest.mark.parametrize(
    ("head", "rows", "names"),
    [
        ("layers,size_mb,perplexity,ppl_time", SAME, ["first third", "both ends"]),
        ("方案,得分,f1", MERGED, ["合并一", "合并三"]),
    ],
)
def test_two_variants_that_come_out_as_one_are_named(tmp_path, head, rows, names):
    assert [f.data["pair"] for f in found(tmp_path, head, rows)] == [names]


@pytest.mark.parametrize(
    ("head", "rows"),
    [
        ("layers,size_mb,perplexity,ppl_time", PRUNED),
        ("layers,size_mb,perplexity,ppl_time", [r.replace("9.8813", "10.4471") for r in PRUNED]),
        ("seed,size_mb,perplexity,ppl_time", [f"s{i}{row[row.index(',') :]}" for i, row in enumerate(SAME)]),
        ("task,acc,f1", ["a,0.5,0.5", "b,0.5,0.5", "c,0.7,0.8", "d,0.9,0.6", "e,0.3,0.4"]),
        ("layers,size_mb,perplexity,ppl_time", [SAME[1], SAME[3]]),
        ("方案,得分,f1", [row.rpartition(",")[0] + ",0.77" for row in MERGED]),
    ],
    ids=["all differ", "one figure", "seeds", "round figures", "two rows", "all alike"],
)
def test_what_may_come_out_the_same_is_left_alone(tmp_path, head, rows):
    assert found(tmp_path, head, rows) == []
