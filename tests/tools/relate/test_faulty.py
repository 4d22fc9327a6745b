"""One card of an inventory alone with errors that its memory could not correct."""

import pytest

from triage.tools.relate.layout.faulty import faulty
from triage.tools.tables.read import read_tables


def told(tmp_path, head, values, name="gpu_inventory.csv"):
    rows = "".join(f"hx-{1130 + i // 8},{i % 8},{30 + i % 5},{2 * (i % 3)},{v}\n" for i, v in enumerate(values))
    (tmp_path / name).write_text(f"host,idx,temp.gpu,ecc.vol.corr,{head}\n{rows}")
    return [(f.code, f.data["bad"]) for f in faulty(read_tables(tmp_path / name, name))]


ONE = [0] * 21 + [14] + [0] * 10


@pytest.mark.parametrize(
    "head", ["ecc.vol.uncorr", "ecc_errors_uncorrected_volatile_total", "DBE", "不可纠正错误", "rows.uncorr"]
)
def test_one_card_with_uncorrected_errors(tmp_path, head):
    assert told(tmp_path, head, ONE) == [("card-with-faults", 1)]


@pytest.mark.parametrize(
    ("head", "values"),
    [
        ("ecc.vol.uncorr", [0] * 32),
        ("ecc.vol.uncorr", [3] * 32),  # a counter of another thing
        ("ecc.vol.uncorr", [i % 2 for i in range(32)]),
        ("ecc.agg.corr", ONE),  # corrected ones are usual
        ("uncorr_threshold", ONE),
        ("ecc.vol.uncorr", [0, 5, 0]),  # too few cards
    ],
    ids=["none", "all", "half", "corrected", "limit", "three"],
)
def test_other_counters_are_silent(tmp_path, head, values):
    assert told(tmp_path, head, values) == []
