"""What notebooks print and give is read: curves of the cells that trained, numbers that cells returned."""

import json
import math
from pathlib import Path

import pytest

from triage.tools.discover import discover
from triage.tools.series import Series
from triage.tools.store.opened import read_open
from triage.tools.tables.table import Table

R = range(24)
FALLS = [round(4 * math.exp(-i / 8) + 1.5, 4) for i in R]


def opened(path: Path, *cells: tuple[str, list[dict]]) -> tuple[tuple[Series, ...], tuple[Table, ...]]:
    made = [{"cell_type": "code", "source": [source], "outputs": outputs} for source, outputs in cells]
    (path / "fit.ipynb").write_text(json.dumps({"cells": made}, indent=1), encoding="utf-8")
    found = read_open(discover(path))
    return found.series, found.tables


def stream(*lines: str) -> list[dict]:
    return [{"output_type": "stream", "name": "stdout", "text": [line + "\n" for line in lines]}]


def given(text: str) -> list[dict]:
    return [{"output_type": "execute_result", "data": {"text/plain": [text]}}]


@pytest.mark.parametrize(
    "line",
    ["Epoch {n}/24 | train loss: {x:.4f} | val loss: {y:.4f}", "step {n} loss={x:.4f} eval_loss={y:.4f}",
     "第 {n} 步 损失 {x:.4f}"],
)  # fmt: skip
def test_a_cell_that_printed_its_training_gives_curves(tmp_path, line):
    lines = [line.format(n=i + 1, x=FALLS[i], y=FALLS[i] + 0.2) for i in R]
    series, _ = opened(tmp_path, ("fit()", stream("loading", *lines)))
    loss = next(s for s in series if s.metric == "loss")
    assert (len(loss), float(loss.values[0])) == (24, FALLS[0])
    text = (tmp_path / "fit.ipynb").read_text().splitlines()
    assert f"{FALLS[3]:.4f}" in text[int(loss.lines[3]) - 1]


def test_each_cell_that_trained_is_an_attempt(tmp_path):
    cells = [("fit()", stream(*(f"step {i} loss {x + n}" for i, x in enumerate(FALLS)))) for n in (0, 1)]
    series, _ = opened(tmp_path, *cells)
    assert sorted(s.attempt for s in series if s.metric == "loss") == ["", "#2"]


@pytest.mark.parametrize(
    "lines",
    [
        [f"Downloading wheel: {i}%|##| {i}/24 [00:{i:02d}<00:10, {i + 1}.5it/s]" for i in R],
        [f"Requirement already satisfied: pkg{i}>=1.{i} in /opt/lib ({i}.2.0)" for i in R],
        [f"loss of try {i}: see below" for i in R][:3],
    ],
)
def test_what_installs_and_loads_gives_none(tmp_path, lines):
    assert opened(tmp_path, ("!pip install pkg", stream(*lines))) == ((), ())


def test_numbers_that_cells_give_are_rows(tmp_path):
    cells = [(f"x = 3\njudge(model, beta=0.{i})", given(f"({i}.25, 1{i}.5e-1)")) for i in range(1, 4)]
    _, (table,) = opened(tmp_path, *cells, ("len(data)", given("512")))
    columns = {c.name: c.values.tolist() for c in table.columns}
    assert columns["value 1"] == [1.25, 2.25, 3.25]
    assert columns["asked"][0] == "judge(model, beta=0.1)"


def test_one_number_and_other_values_are_no_rows(tmp_path):
    cells = [
        ("len(a)", given("512")),
        ("a.shape", given("torch.Size([3, 4])")),
        ("load()", given("<All keys matched>")),
    ]
    assert opened(tmp_path, *cells) == ((), ())
