"""Stages of a data pipeline that take their usual share until one place, and from there on next to nothing."""

import pytest

from triage.tools.relate.joined.counters import counted
from triage.tools.tables.read import read_tables


def told(tmp_path, header, taken, days=14):
    rows = [header]
    for day in range(1, days + 1):
        for part, read in (("a", 52_300), ("b", 9_410)):
            rows.append(f"2025-03-{day:02d},{part},{read + 37 * day},{int(read * 0.031)},{int(read * taken(day))}")
    (tmp_path / "m.csv").write_text("\n".join(rows))
    return {f.code: f for f in counted(read_tables(tmp_path / "m.csv", "m.csv"))}


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("date,lang,docs,in_batch_removed,cross_batch_removed", "dedup-removed-nothing"),
        ("date,lang,docs,dropped_short,dropped_toxic", "filter-removed-nothing"),
        ("日期,语种,文档数,短文剔除,近似去重剔除", "dedup-removed-nothing"),
    ],
)
def test_a_stage_that_stops_taking_is_told_with_its_day(tmp_path, header, code):
    found = told(tmp_path, header, lambda day: 0.22 + 0.01 * (day % 3) if day < 9 else 0.0004)
    assert "2025-03-09" in found[code].message
    assert found[code].data["rows"] == 12


@pytest.mark.parametrize(
    "taken",
    [
        lambda day: 0.2,
        lambda day: 0.2 if day < 9 else 0.09,  # less, but its share
        lambda day: 0.0004 if day == 9 else 0.2,  # one day
        lambda day: 0.01 if day < 9 else 0.0,  # never took much
    ],
)
def test_a_stage_that_goes_on_or_never_took_much_is_none(tmp_path, taken):
    assert not told(tmp_path, "date,lang,docs,in_batch_removed,cross_batch_removed", taken)
