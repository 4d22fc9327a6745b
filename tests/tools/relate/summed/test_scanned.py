"""Items scored in one file and looked up in the training data in another: told where the gain is on those found."""

import numpy as np
import pytest

from triage.tools.relate.summed.items import scanned
from triage.tools.tables.read import read_tables

RNG = np.random.default_rng(5)
IDS = [f"prob_{i:04d}" for i in range(500)]
FOUND = [i % 3 == 0 for i in range(500)]


def told(tmp_path, files):
    tables = []
    for name, rows in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(rows) + "\n")
        tables += read_tables(path, name)
    return [*scanned(tables)]


def scores(leaked, names=("old", "new")):
    rows = [f"id,{names[0]}_correct,{names[1]}_correct"]
    for key, over in zip(IDS, FOUND, strict=True):
        rows.append(f"{key},{int(RNG.random() < 0.4)},{int(RNG.random() < (leaked if over else 0.42))}")
    return rows


def every_item():
    return ["item_id\tnearest_url\tcontainment", *(f"{k}\tu{i % 9}\t{0.93 if FOUND[i] else 0.02}"
                                                   for i, k in reversed([*enumerate(IDS)]))]  # fmt: skip


def hits_alone():
    return ["题号,文档,13gram", *(f"{k},d{i},{i % 5 + 3}" for i, k in enumerate(IDS) if FOUND[i])]


@pytest.mark.parametrize(("name", "scan"), [("lookup/scan.tsv", every_item), ("decontam_hits.csv", hits_alone)])
def test_a_gain_on_the_items_that_stand_in_the_corpus(tmp_path, name, scan):
    (found,) = told(tmp_path, {"res/per_item.csv": scores(0.97), name: scan()})
    assert found.code == "score-follows-corpus"
    assert (found.data["metric"], found.data["overlapping"]) == ("new_correct", sum(FOUND))
    assert {e.file for e in found.evidence} == {"res/per_item.csv", name}


@pytest.mark.parametrize(("name", "scan"), [("lookup/scan.tsv", every_item), ("decontam_hits.csv", hits_alone)])
def test_items_that_are_found_and_answered_like_the_others(tmp_path, name, scan):
    assert told(tmp_path, {"res/per_item.csv": scores(0.42), name: scan()}) == []


def test_a_list_of_other_items_or_of_nothing_that_overlaps(tmp_path):
    other = [row.replace("prob_", "task_") for row in every_item()]
    assert told(tmp_path, {"res/per_item.csv": scores(0.97), "scan.tsv": other}) == []
    plain = ["item_id,topic", *(f"{k},t{i % 4}" for i, k in enumerate(IDS) if FOUND[i])]
    assert told(tmp_path, {"res/per_item.csv": scores(0.97), "hard_subset.csv": plain}) == []
