"""Extremes that outgrow the range beside them."""

import pytest

from triage.tools.relate.kinds.beyond import outgrown
from triage.tools.tables.read import read_tables


def table(tmp_path, names="step,block,act_absmax,fp8_limit", grows=1.08, scale=lambda peak: 120.0):
    rows = [names]
    for i in range(24):
        for block in range(6):
            peak = 60 * (grows**i if block == 4 else 1 + 0.01 * (i % 3))
            rows.append(f"{50 * (i + 1)},{block},{peak:.2f},{scale(peak):.1f}")
    (tmp_path / "ranges.csv").write_text("\n".join(rows))
    return read_tables(tmp_path / "ranges.csv", "ranges.csv")


def test_the_part_that_grows_beyond_its_fixed_range_is_named_with_how_far(tmp_path):
    [found] = outgrown(table(tmp_path))
    assert (found.code, found.severity, found.data["parts"]) == ("range-outgrown", "S2", 1)
    assert "block 4" in found.message
    assert found.data["times"] == pytest.approx(60 * 1.08**23 / 120, rel=0.01)


@pytest.mark.parametrize("more", [
    {"grows": 1.01},  # stays inside
    {"grows": 1.035},  # a little above at last
    {"scale": lambda peak: 1.3 * peak},  # the range follows
    {"names": "step,block,act_absmax,mean"},  # nothing says what a scale holds
])  # fmt: skip
def test_a_range_that_holds_or_follows_is_none(tmp_path, more):
    assert not outgrown(table(tmp_path, **more))
