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
RENAMED = ("TypeError", "SFTConfig.__init__() got an unexpected keyword argument 'max_seq_len'")
BY_HAND = ("KeyboardInterrupt", "")
NO_FILE = """loading the corpus
Traceback (most recent call last):
  File "/content/pre.py", line 9, in <module>
    rows = open(where)
FileNotFoundError: [Errno 2] No such file or directory: '/content/rows.jsonl'
"""


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


@pytest.mark.parametrize(
    ("cells", "code"),
    [
        (
            [cell("import trl", None, "a"), cell("trainer = SFTTrainer(SFTConfig(max_seq_len=8))", RENAMED)],
            "argument-error",
        ),
        (
            [cell("run_sft_train(model, rows)", ("ValueError", "bad rows")), cell("show()", None, "nothing to show")],
            "uncaught-exception",
        ),
        ([cell("!python pre.py --rows /content/rows.jsonl", None, NO_FILE)], "file-missing"),
        ([cell("trainer.train()", BY_HAND, " 3%| 61/2000"), cell("trainer.save_model()")], "interrupted"),
    ],
)
def test_what_ended_the_work_of_a_notebook_is_found_whatever_it_is(tmp_path, cells, code):
    all_found = found(tmp_path, *cells)
    assert list(all_found) == [code]
    assert all_found[code].evidence[0].line > 1


@pytest.mark.parametrize(
    "cells",
    [
        [cell("rows = load(1)", RENAMED), cell("rows = load()", None, "7 rows"), cell("print(rows)", None, "7")],
        [cell("!python pre.py", None, NO_FILE), cell("!python pre.py --rows /data", None, "7 rows written")],
        [cell("try:\n    load()\nexcept OSError:\n    traceback.print_exc()", None, NO_FILE)],
        [cell("trainer.train()", BY_HAND, " 30%| 610/2000"), cell("trainer.save_model()", None, "saved")],
        [cell("def train_all(rows):\n    ...", ("SyntaxError", "invalid syntax")), cell("print(1)", None, "1")],
    ],
)
def test_what_others_ran_after_or_was_caught_ended_nothing(tmp_path, cells):
    assert not found(tmp_path, *cells)
