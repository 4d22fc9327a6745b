"""Measures that contradict the other numbers of their row, and measures that fall behind their own best."""

import numpy as np
import pytest

from triage.agent.evidence import look
from triage.tools.relate.joined.best import behind
from triage.tools.relate.joined.derived import derived
from triage.tools.relate.line import Line
from triage.tools.tables.read import read_tables

LN2 = float(np.log(2))


def contradicted(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(text)
    return [f.data["key"] for f in derived(read_tables(path, "table.csv"))]


def rows(header, *each):
    return "\n".join([header, *(",".join(map(str, row)) for row in each)]) + "\n"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (rows("epoch,valid_nll,valid_bpb", *[(i, 4 - i / 9, (4 - i / 9) * 3.1 / LN2) for i in range(9)]), "valid_bpb"),
        (rows("step,loss,ppl", *[(i, 3 - i / 9, (3 - i / 9) * 2.72) for i in range(9)]), "ppl"),
        (rows("model,test_precision,test_recall,test_f1", *[(f"m{i}", 0.5, 0.6, 0.71) for i in range(5)]), "test_f1"),
    ],
)
def test_a_number_that_its_row_contradicts_is_told(tmp_path, text, key):
    assert contradicted(tmp_path, text) == [key]


@pytest.mark.parametrize(
    "text",
    [
        rows("epoch,valid_nll,valid_bpb", *[(i, 4 - i / 9, (4 - i / 9) / 3.1 / LN2) for i in range(9)]),
        rows("epoch,val_loss,val_bpc", *[(i, 4 - i / 9, (4 - i / 9) / LN2) for i in range(9)]),
        rows("epoch,train_loss,val_bpc", *[(i, 1 - i / 90, 5) for i in range(9)]),
        rows("step,loss,ppl", *[(i, 3 - i / 9, np.exp(3 - i / 9) * 1.1) for i in range(9)]),
        rows("step,loss,ppl", *[(i, 30 - i / 9, 485165195.4) for i in range(9)]),
        rows("step,loss,ppl", (1, 3, 9), (2, 2.9, np.exp(2.9)), (3, 2.8, np.exp(2.8)), (4, 2.7, np.exp(2.7))),
        rows("model,precision,recall,f1", *[(f"m{i}", 0.5, 0.6, 0.545) for i in range(5)]),
        rows("model,loss", *[(f"m{i}", 0.5) for i in range(5)]),
    ],
    ids=["bytes", "a token a character", "another split", "near", "cut off", "one slip", "between", "alone"],
)
def test_numbers_that_fit_are_left_alone(tmp_path, text):
    assert contradicted(tmp_path, text) == []


def line(key, values):
    values = np.asarray(values, float)
    return Line(key, key, "log", np.arange(1.0, len(values) + 1), values, np.arange(1, len(values) + 1))


@pytest.mark.parametrize(
    ("values", "sign"), [([0.1, 0.3, 0.5, 0.6, 0.3, 0.25, 0.28], 1), ([90, 40, 20, 12, 60, 55, 70], -1)]
)
def test_a_measure_that_ends_far_behind_its_best_is_told_whatever_it_is_called(values, sign):
    run = np.maximum.accumulate(values) if sign > 0 else np.minimum.accumulate(values)
    assert [f.data["key"] for f in behind([line("glorp", values), line("best_glorp", run)])] == ["glorp"]


@pytest.mark.parametrize(
    "values",
    [[0.1, 0.3, 0.5, 0.6, 0.55, 0.58, 0.59], [0.1, 0.3, 0.5, 0.6, 0.2, 0.58, 0.59], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
     [0.6, 0.2]],
    ids=["plateau", "a dip", "rises", "short"],
)  # fmt: skip
def test_a_measure_near_its_best_is_left_alone(values):
    assert [*behind([line("glorp", values), line("最优 glorp", np.maximum.accumulate(values))])] == []


def test_a_line_that_is_no_running_best_says_nothing():
    assert [*behind([line("glorp", [1, 5, 2, 2, 2, 2]), line("top_k", [1, 2, 3, 4, 5, 6])])] == []


@pytest.mark.parametrize("key", ["max_token_id", "largest_len_max", "最大长度"])
def test_what_is_itself_a_largest_is_no_measure_to_fall_behind(key):
    values = [90.0, 97.0, 99.0, 96.0, 91.0, 90.0, 89.0]
    assert [*behind([line(key, values), line("max_so_far", np.maximum.accumulate(values))])] == []


def test_evaluations_alone_are_counted_and_hide_no_nan(tmp_path):
    lines = [f"{{'eval_loss': nan, 'eval_runtime': {1 + i / 100}, 'epoch': {i / 100}}}" for i in range(1, 9)]
    lines.append("{'train_runtime': 30.5, 'train_steps_per_second': 0.5, 'train_loss': 0.0, 'epoch': 0.1}")
    (tmp_path / "out.log").write_text("\n".join(lines) + "\n")
    seen = look([tmp_path])
    assert len(next(s for s in seen.series if s.key == "eval_loss")) == 8
    assert {"eval-loss-nonfinite": "S1", "loss-hidden-nan": "S1"}.items() <= {
        f.code: f.severity for f in seen.findings
    }.items()


def test_evaluations_that_are_finite_say_nothing_of_a_mean_of_zero(tmp_path):
    lines = [f"{{'eval_loss': {2 - i / 10}, 'eval_runtime': {1 + i / 100}, 'epoch': {i / 100}}}" for i in range(1, 9)]
    lines.append("{'train_runtime': 30.5, 'train_steps_per_second': 0.5, 'train_loss': 0.0, 'epoch': 0.1}")
    (tmp_path / "out.log").write_text("\n".join(lines) + "\n")
    assert not {"eval-loss-nonfinite", "loss-hidden-nan"} & {f.code for f in look([tmp_path]).findings}


def test_lines_between_the_epochs_take_the_counter_that_goes_on(tmp_path):
    text = []
    for epoch in range(8):
        text += [f"round {epoch} item {i}/200 cost {3 - epoch / 8 - i / 900:.4f}" for i in range(0, 200, 20)]
        text.append(f"holdout quality {0.1 + epoch / 20:.3f}")
    (tmp_path / "run.log").write_text("\n".join(text) + "\n")
    quality = next(s for s in look([tmp_path]).series if "quality" in s.key)
    assert len(quality) == 8
    assert (np.diff(quality.steps) > 0).all()


def test_a_loss_with_further_terms_contradicts_no_perplexity_and_one_of_another_base_does(tmp_path):
    more = rows("epoch,val_loss,val_ppl", *[(i, 6 - i / 9 + 0.04 * (i % 3), 2.718 ** (4.2 - i / 9)) for i in range(9)])
    assert contradicted(tmp_path, more) == []
    other = rows("epoch,val_loss,val_ppl", *[(i, 6 - i / 9, 2 ** (6 - i / 9)) for i in range(9)])
    assert contradicted(tmp_path, other) == ["val_ppl"]
