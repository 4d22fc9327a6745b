"""Results with every item twice beside files that have it once, and answers that were drawn several times."""

import json

import pytest

from triage.tools.relate.results.counts.twice import counted_twice
from triage.tools.tables.read import read_tables


def rows(n, times=1, begin=0, key="question_id", **more):
    return [{key: f"q{begin + i}", "answer": f"{i * 7 + t}", "right": (i + t) % 2 == 0} | more
            for t in range(times) for i in range(n)]  # fmt: skip


def told(folder, **files):
    tables = []
    for name, some in files.items():
        (folder / f"{name}.json").write_text(json.dumps({"exam": {"results": some}}))
        tables += read_tables(folder / f"{name}.json", f"{name}.json")
    return [f.code for f in counted_twice(tables)]


@pytest.mark.parametrize(("times", "key"), [(2, "question_id"), (3, "hash"), (2, "编号")])
def test_a_file_with_every_item_several_times_is_told(tmp_path, times, key):
    assert told(tmp_path, small=rows(60, key=key), large=rows(60, times, key=key)) == ["items-counted-twice"]


@pytest.mark.parametrize(
    "files",
    [
        {"small": rows(60, 2), "large": rows(60, 2)},
        {"small": rows(60), "large": rows(120)},
        {"small": rows(60), "large": rows(60, 2, begin=60)},
        {"small": rows(60, sample=0), "large": rows(60, 2, sample=1)},
        {"small": rows(60), "large": rows(60) + rows(9)},
        {"small": rows(9), "large": rows(9, 2)},
    ],
    ids=["drawn twice in all", "more items", "other items", "told apart", "some again", "few"],
)
def test_answers_that_are_drawn_again_and_other_items_are_not(tmp_path, files):
    assert told(tmp_path, **files) == []
