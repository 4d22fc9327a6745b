"""Rows of files of metrics that relations see too."""

import pytest

from triage.tools.discover import discover
from triage.tools.store.aside import cases, side_by_side


@pytest.mark.parametrize(("parts", "kept"), [(6, True), (1, False)])
def test_metrics_of_several_parts_at_each_step_are_rows_as_well(tmp_path, parts, kept):
    rows = [f"{s},{p},{4.0 / s + p:.4f},{1.0 / s:.4f}" for s in range(1, 61) for p in range(parts)]
    (tmp_path / "metrics.csv").write_text("\n".join(["step,level,loss,grad_norm", *rows * (1 if parts > 1 else 4)]))
    found = cases(discover(tmp_path))
    assert bool(side_by_side(found)) is kept


def test_a_text_that_tells_nothing_of_a_run_is_not_read_and_no_failure(tmp_path):
    from triage.tools.store.opened import read_open

    (tmp_path / "verdicts.txt").write_text("step 900: lr 3e-5 -> 1e-4 was tried\n")
    (tmp_path / "labels.txt").write_text("".join(f"{i}: {'FT'[i % 2]}\n" for i in range(1, 160)))
    opened = read_open(discover(tmp_path), ("document", "table"))
    assert all(c.result != "failed" for c in opened.report.checks)
