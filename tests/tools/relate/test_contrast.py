"""Groups that ought to be alike and are not, in tables as people export them."""

import numpy as np
import pytest

from triage.tools.relate.contrast import contrasts
from triage.tools.series import SeriesTable
from triage.tools.tables.read import read_tables
from triage.tools.tables.vocabulary import metric_of


@pytest.mark.parametrize(("slow", "told"), [(0.4, ["host"]), (0.85, [])])
def test_two_hosts_are_held_against_the_spread_of_their_own_rows(tmp_path, slow, told):
    rows = [f"gpu-{11 + h},{r},{24000 * (slow if h else 1) * (1 + 0.01 * r):.1f}" for h in (0, 1) for r in range(4)]
    (tmp_path / "a.csv").write_text("\n".join(["host,local_rank,busbw (MB/s)", *rows]))
    found = contrasts(SeriesTable(), read_tables(tmp_path / "a.csv", "a.csv"))
    assert [c.by for c in found if c.by == "host"] == told


@pytest.mark.parametrize(
    ("header", "metric"),
    [
        ("t_data [ms]", "data_time"),
        ("data_wait (s)", "data_time"),
        ("取数耗时(ms)", "data_time"),
        ("fwd_bwd_ms", "compute_time"),
        ("计算耗时(ms)", "compute_time"),
        ("allreduce_ms", "comm_time"),
        ("通信耗时(ms)", "comm_time"),
        ("sec/iter", "step_time"),
        ("last_sync_s", None),
        ("data_age_s", None),
        ("latency_ms", None),
        ("数据量(GB)", None),
        ("data", None),
    ],
)
def test_a_column_of_times_is_told_by_its_unit_and_all_words_of_its_name(header, metric):
    assert (metric_of(header) or (None,))[0] == metric


@pytest.mark.parametrize(("odd", "jitter", "told"), [(0.62, 0.01, ["5"]), (1.0, 0.01, []), (0.9, 0.06, [])])
def test_one_row_for_each_card_shows_the_odd_one_and_no_jitter(tmp_path, odd, jitter, told):
    rng = np.random.default_rng(5)
    rows = [f"{i},{1755 * (odd if i == 5 else 1) * (1 + rng.normal(0, jitter)):.0f}" for i in range(8)]
    (tmp_path / "a.csv").write_text("\n".join(["gpu,SM clock (MHz)", *rows]))
    found = contrasts(SeriesTable(), read_tables(tmp_path / "a.csv", "a.csv"))
    assert [name for c in found for name in c.different] == told


def staged(tmp_path, rows):
    (tmp_path / "a.csv").write_text("\n".join(["iter,stage,fwd_ms_mean,loss", *rows]))
    return contrasts(SeriesTable(), read_tables(tmp_path / "a.csv", "a.csv"))


def test_numbered_stages_that_work_at_the_same_steps_are_those_of_a_pipeline(tmp_path):
    rng = np.random.default_rng(2)
    side = [f"{i},{s},{(88 if s == 3 else 31) + rng.normal(0, 0.4):.2f},2.1" for i in range(20, 40) for s in range(4)]
    [found] = [c for c in staged(tmp_path, side) if c.metric == "compute_time"]
    assert (found.by, found.different, found.alike) == ("stage", ("3",), True)


def test_stages_one_after_the_other_are_those_of_a_training_and_need_not_be_alike(tmp_path):
    rng = np.random.default_rng(2)
    row = [f"{i},{i // 20},{(88 if i >= 40 else 31) + rng.normal(0, 0.4):.2f},2.1" for i in range(60)]
    assert not [c for c in staged(tmp_path, row) if c.by == "stage" or c.alike]
