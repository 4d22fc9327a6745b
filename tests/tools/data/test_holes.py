"""A part of a split that is gone from merged rows, told by the rows' own numbers; and rows that are only fewer."""

import pytest
from making import fill

from triage.tools.data.between.gathered import check_gathered
from triage.tools.discover import discover


def found(folder, ids, form="q_{:05d}"):
    rows = "".join(f"{form.format(i)},x{i % 7},{i % 2}\n" for i in ids)
    report = check_gathered(discover(fill(folder, {"out/merged.csv": "item_id,pred,ok\n" + rows})))
    return [f for f in report.findings if f.code == "merged-rows-missing"]


@pytest.mark.parametrize(
    ("ids", "missing", "parts"),
    [
        ([i for i in range(1200) if not 300 <= i < 600], 300, 4),  # pieces, the second of four
        ([i for i in range(1, 1001) if not 334 < i <= 668], 334, 3),  # 334, 334 and 332
        ([i for i in range(900) if i % 6 != 2], 150, 6),  # dealt out in turn
    ],
)
def test_a_part_that_is_gone(tmp_path, ids, missing, parts):
    (one,) = found(tmp_path, ids)
    assert (one.data["missing"], one.data["parts"]) == (missing, parts)


@pytest.mark.parametrize(
    "ids",
    [
        list(range(1200)),
        list(range(500)),  # the first of them alone
        [i for i in range(1200) if not 317 <= i < 402],  # no part of anything
        [i for i in range(1200) if i % 97 != 5],  # single ones
        [i * 3 for i in range(400)],  # numbered in threes
    ],
)
def test_rows_that_are_only_fewer_say_nothing(tmp_path, ids):
    assert found(tmp_path, ids) == []
