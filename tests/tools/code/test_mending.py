"""Edits that are written: only where a statement has its line for itself, and what comes out always parses."""

import ast

import pytest

from triage.tools.code.mend import mended

HEAD = "import torch\nopt = torch.optim.AdamW(model.parameters())\n"
STEPS = [
    ("loss.backward()\n{i}opt.step()", "    ", True),
    ("loss.backward()\n{i}opt.step()", "\t", True),
    ("loss.backward()\n{i}opt.step()  # one a batch", "  ", True),
    ("loss.backward(); opt.step()", "    ", False),
    ("loss.backward()\n{i}if ready: opt.step()", "    ", False),
    ("loss.backward()\n{i}done = True; \\\n{i}opt.step()", "    ", False),
    ("loss.backward()\n{i}opt.step(); log(1)", "\t", False),
]


@pytest.mark.parametrize(("step", "indent", "added"), STEPS)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_line_is_added_beside_a_statement_that_has_its_own(step, indent, added, ending):
    text = f"{HEAD}for b in dl:\n{indent}loss = model(b).loss\n{indent}{step.format(i=indent)}\n".replace("\n", ending)
    new = mended(text, "train.py")
    ast.parse(new)
    assert (new != text, "zero_grad" in new) == (added, added)
    assert new.count(ending) == new.count("\n")


def test_a_program_that_does_not_parse_is_not_touched():
    text = f"{HEAD}for b in dl:\n    loss.backward()\n    opt.step()\n\ndef broken(:\n    pass\n"
    assert mended(text, "train.py") == text
