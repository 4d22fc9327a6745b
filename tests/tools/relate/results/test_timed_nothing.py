"""A row of a benchmark that took no time at all."""

import json

import pytest

from triage.tools.relate.results.cells import timed_nothing
from triage.tools.tables.read import read_tables


def told(tmp_path, *rows):
    names = "variant", "mean_latency_ms", "throughput_rps"
    (tmp_path / "bench.json").write_text(json.dumps([dict(zip(names, row, strict=True)) for row in rows]))
    return timed_nothing(read_tables(tmp_path / "bench.json", "bench.json"))


def test_a_row_of_no_time_and_untold_speed_is_told_beside_the_others(tmp_path):
    (found,) = told(tmp_path, ("plain", 80.0, 12.5), ("cached", 0.0, 90_000.0), ("fused", 50.0, 20.0))
    assert (found.code, found.severity) == ("speed-never-measured", "S1")
    assert "4,500 times" in found.message


@pytest.mark.parametrize("rows", [
    [("plain", 80.0, 12.5), ("cached", 0.01, 90_000.0)],
    [("plain", 80.0, 12.5), ("cached", 0.0, 40.0)],
    [("plain", 0.0, 12.5), ("cached", 0.0, 90_000.0)],
    [("plain", 80.0, 12.5), ("failed", 0.0, 0.0)],
], ids=["it has a time", "rounded", "no row has one", "nothing was served"])  # fmt: skip
def test_other_rows_without_a_time_are_not(tmp_path, rows):
    assert told(tmp_path, *rows) == []
