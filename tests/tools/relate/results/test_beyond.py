"""A share above 1 beside shares up to 1 counts one thing and divides by another."""

import pytest

from triage.tools.relate.results.look import of_results
from triage.tools.settings import Settings
from triage.tools.tables.read import read_tables


def told(folder, name, text):
    (folder / name).write_text(text)
    found = of_results(read_tables(folder / name, name), (), Settings())
    return [f.data["score"] for f in found if f.code == "share-above-one"]


@pytest.mark.parametrize(
    ("name", "text", "score"),
    [
        ("r.md", "| setup | Recall@4 | Hit@4 | MRR |\n|---|---|---|---|\n| plain | 1.82 | 0.51 | 0.44 |\n"
         "| ranked | 0.97 | 0.38 | 0.29 |\n", "Recall@4"),
        ("r.json", '{"dense": {"precision": 0.4, "recall": 1.25, "f1": 0.606}}', "recall"),
    ],
)  # fmt: skip
def test_a_recall_of_more_than_all_is_told(tmp_path, name, text, score):
    assert told(tmp_path, name, text) == [score]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.md", "| setup | Recall@4 | Hit@4 | MRR |\n|---|---|---|---|\n| plain | 82.5 | 0.51 | 0.44 |\n"),
        ("r.md", "| setup | recall | precision | f1 |\n|---|---|---|---|\n| plain | 1.4 | 2.6 | 1.8 |\n"),
        ("r.csv", "model,recall,precision,ppl\nbase,0.4,0.6,7.81\ntuned,0.5,0.7,6.02\n"),
        ("r.csv", "model,hits,precision,recall\nbase,3,0.6,0.41\ntuned,4,0.7,0.52\n"),
    ],
)
def test_percent_counts_and_other_measures_are_no_such_share(tmp_path, name, text):
    assert told(tmp_path, name, text) == []
