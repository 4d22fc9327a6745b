"""The error of the machine that a notebook ends in is found at its line; what somebody mended afterwards is not."""

import json

import pytest

from triage.tools.discover import discover
from triage.tools.logs.scan import scan

ASSERT = "../aten/src/ATen/IndexKernel.cu:94: block: [0,0,0], thread: [3,0,0] Assertion `index < sizes[i]` failed.\n"
OOM = ("OutOfMemoryError", "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 11.60 GiB")
ASSERTED = (
    "RuntimeError",
    "CUDA error: device-side assert triggered\nCUDA kernel errors might be asynchronously reported",
)
MISSING = ("NameError", "name 'LoraConfig' is not defined")


def cell(source, error=None, printed=""):
    outputs = [{"output_type": "stream", "name": "stderr", "text": printed.splitlines(True)}] if printed else []
    if error:
        outputs.append({"ename": error[0], "evalue": error[1], "output_type": "error", "traceback": ["Traceback"]})
    return {"cell_type": "code", "execution_count": None, "source": source, "outputs": outputs, "metadata": {}}


def found(folder, *cells):
    document = {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "lora.ipynb").write_text(json.dumps(document, indent=1))
    report = scan(discover(folder))
    return {f.code: f for f in report.findings if f.severity.name in ("S0", "S1", "S2")}


@pytest.mark.parametrize(("error", "printed", "code"), [(OOM, "", "cuda-oom"), (ASSERTED, ASSERT, "device-assert")])
def test_the_last_error_of_a_notebook_is_found_where_it_stands(tmp_path, error, printed, code):
    all_found = found(
        tmp_path,
        cell("config = LoraConfig(r=16)", MISSING),
        cell("trainer.train()", error, printed),
        cell("dir()", None, "a"),
    )
    assert list(all_found) == [code]
    line = all_found[code].evidence[0].line
    assert error[0] in (tmp_path / "lora.ipynb").read_text().splitlines()[line - 1]


@pytest.mark.parametrize(
    "cells",
    [
        [cell("trainer.train()", OOM), cell("args.batch_size = 1\ntrainer.train()", None, "100%")],
        [cell("trainer.train()", None, "100%"), cell("config = LoraConfig(r=16)", MISSING)],
        [cell("print('CUDA out of memory')", None, "CUDA out of memory, they said")],
        [],
    ],
)
def test_what_was_mended_or_only_typed_wrongly_is_passed_over(tmp_path, cells):
    assert not found(tmp_path, *cells)


def test_a_notebook_beside_the_logs_of_a_training_says_nothing_of_it(tmp_path):
    lines = (f"step {i} loss {3 - i / 50:.3f}\n" for i in range(60))
    (tmp_path / "train.log").write_text("".join(lines))
    assert not found(tmp_path, cell("trainer.train()", OOM))


def test_a_broken_notebook_is_no_crash(tmp_path):
    (tmp_path / "a.ipynb").write_text('{"cells": [{"cell_type": "code", "outputs": ["x"], "ename": 3}], "ename": 1}')
    (tmp_path / "b.ipynb").write_text('{"ename": ')
    assert not [f for f in scan(discover(tmp_path)).findings if f.severity.name == "S0"]
