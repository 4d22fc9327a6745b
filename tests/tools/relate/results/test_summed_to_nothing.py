"""A summary of 0 beside rows of the same file that hold counts of the same names."""

import json

import pytest

from triage.tools.relate.results.counts.counted import summed_to_nothing
from triage.tools.tables.read import read_tables

ROWS = [{"id": f"c{i}", "check": {"kept_points": i % 3, "asked_points": 3}} for i in range(9)]


def told(tmp_path, totals, rows=ROWS):
    (tmp_path / "scored.json").write_text(json.dumps({"model": "m", "totals": totals, "items": rows}, indent=1))
    return summed_to_nothing(read_tables(tmp_path / "scored.json", "scored.json"))


def test_a_summary_of_nothing_that_counts_its_rows_is_told_with_their_sums(tmp_path):
    (found,) = told(tmp_path, {"cases": 9, "kept_points": 0, "asked_points": 0})
    assert (found.code, found.severity) == ("scored-nothing", "S1")
    assert "check.kept_points 9, check.asked_points 27" in found.message


@pytest.mark.parametrize(("totals", "rows"), [
    ({"cases": 9, "kept_points": 9, "asked_points": 27}, ROWS),
    ({"cases": 9, "kept_points": 0, "asked_points": 27}, ROWS),
    ({"cases": 40, "kept_points": 0, "asked_points": 0}, ROWS),
    ({"cases": 9, "kept_points": 0, "asked_points": 0}, [r | {"check": {"kept_points": 0}} for r in ROWS]),
], ids=["it is their sum", "one name", "of other rows", "they hold nothing"])  # fmt: skip
def test_one_of_their_sum_or_of_other_rows_is_not(tmp_path, totals, rows):
    assert told(tmp_path, totals, rows) == []
