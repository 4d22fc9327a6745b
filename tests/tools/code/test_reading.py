"""Programs are read, never run; what cannot be read gives a reason, soon."""

import json
import time

import pytest
from programs import LOOP

from triage.tools.code.check import MANY, check_files
from triage.tools.code.files import belonging, check_run_code
from triage.tools.code.mend import mended
from triage.tools.code.source import read
from triage.tools.discover import discover


def found(tmp_path, text, name="train.py", **more):
    path = tmp_path / name
    path.write_text(text)
    return check_files([(path, name)], **more)


def test_a_program_is_not_run_and_not_imported(tmp_path):
    mark = tmp_path / "mark"
    text = f"import torch\nopen({str(mark)!r}, 'w').write('run')\n__import__('os').system('touch {mark}')\n{LOOP}"
    (tmp_path / "helper.py").write_text(f"open({str(mark)!r}, 'w')\n")
    (tmp_path / "train.py").write_text("import helper\n" + text)
    report = check_run_code(discover(tmp_path))
    assert "loss-kept-with-graph" in report.codes()
    assert not mark.exists()


BROKEN = {
    "python2": ("print 'step', step\n" * 3, "Python 2"),
    "nul": ("x = 1\n\0\0\0" + LOOP, "binary"),
    "nested": ("x = " + "[" * 5000 + "]" * 5000 + "\n", "syntax error|nested|cannot be parsed"),
    "sum": ("x = " + "+".join(["1"] * 4000) + "\n", "nested|cannot be parsed"),
    "calls": ("x = f" + "(1)" * 3000 + "\n", "nested|cannot be parsed"),
    "elifs": ("if a:\n    pass\n" + "elif a:\n    pass\n" * 3000, "nested|cannot be parsed"),
    "literal": ("x = '" + "a" * 900_000 + "'\n", "limit"),
    "huge": ("x = 1\n" * 1_000_000, "larger"),
    "attributes": ("x = a" + ".b" * 4000 + "\n", "nested|cannot be parsed"),
    "other": ("#include <stdio.h>\nint main() { return 0; }\n", "syntax error"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_no_readable_python_gives_a_reason_and_no_hang(tmp_path, kind):
    text, reason = BROKEN[kind]
    began = time.monotonic()
    report = found(tmp_path, text)
    assert time.monotonic() - began < 10
    failed = [c for c in report.checks if c.result == "failed"]
    assert failed, report
    assert any(word in failed[0].why for word in reason.split("|")), failed


def test_a_deep_tree_of_statements_is_refused_without_a_crash(tmp_path):
    text = "".join(" " * i + "if a:\n" for i in range(99)) + " " * 99 + "x = 1\n"
    report = found(tmp_path, text)
    assert all(c.result != "found" for c in report.checks)


def test_the_rest_of_a_broken_file_is_still_judged(tmp_path):
    report = found(tmp_path, "def broken(:\n    pass\n\n\n" + LOOP)
    assert "loss-kept-with-graph" in report.codes()
    assert any(c.result == "failed" and "syntax error" in c.why for c in report.checks)


def test_a_notebook_is_read_cell_by_cell_and_named_by_its_own_lines(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": ["# title\n"]},
        {"cell_type": "code", "source": ["%load_ext x\n", "!pip install y\n", "import torch\n"]},
        {"cell_type": "code", "source": LOOP.splitlines(True)},
    ]
    text = json.dumps({"cells": cells, "nbformat": 4}, indent=1)
    report = found(tmp_path, text, "train.ipynb")
    [finding] = [f for f in report.findings if f.code == "loss-kept-with-graph"]
    assert "total += loss" in text.splitlines()[finding.evidence[0].line - 1]
    assert "fix" not in finding.data


def test_a_finding_names_its_line_says_it_in_both_languages_and_carries_a_patch(tmp_path):
    [finding] = found(tmp_path, LOOP).findings
    assert (finding.evidence[0].line, finding.evidence[0].text) == (10, "total += loss")
    assert finding.zh
    assert "+    total += loss.detach()" in finding.data["fix"]["patch"]


@pytest.mark.parametrize(("kept", "instead"), [("loss", "loss.item()"), ("loss * 2", "(loss * 2).detach()")])
def test_a_list_keeps_the_number_of_what_backward_is_called_on(kept, instead):
    text = LOOP.replace("total = 0.0", "history = []").replace("total += loss", f"history.append({kept})")
    assert f"history.append({instead})" in mended(text, "train.py")


@pytest.mark.parametrize(
    ("line", "silent"),
    [
        ("    total += loss  # triage: ignore[loss-kept-with-graph]", True),
        ("    total += loss  # triage: ignore", True),
        ("    # triage: ignore[loss-kept-with-graph]\n    total += loss", True),
        ("    total += loss  # triage: ignore[zero-grad-missing]", False),
    ],
)
def test_a_finding_is_suppressed_on_its_line(tmp_path, line, silent):
    assert (found(tmp_path, LOOP.replace("    total += loss", line)).findings == ()) is silent


def test_only_the_selected_rules_are_asked(tmp_path):
    assert found(tmp_path, LOOP, select=["zero-grad-missing"]).findings == ()


def test_many_files_are_judged_by_several_processes_as_by_one(tmp_path):
    files = []
    for i in range(MANY + 5):
        path = tmp_path / f"{i}.py"
        path.write_text(LOOP if i % 50 == 0 else "def f(:\n" if i % 50 == 1 else "import torch\n")
        files.append((path, path.name))
    whole = check_files(files)
    parts = [check_files([one]) for one in files]
    assert [(f.code, f.evidence) for f in whole.findings] == [(f.code, f.evidence) for p in parts for f in p.findings]
    failed = [c for c in whole.checks if c.result == "failed"]
    assert failed == [c for p in parts for c in p.checks if c.result == "failed"]


def test_mending_keeps_every_other_byte(tmp_path):
    text = LOOP.replace("\n", "\r\n").replace("total = 0.0", "total = 0.0  # läuft   so")
    assert mended(text, "train.py") == text.replace("total += loss", "total += loss.detach()")


def test_only_programs_that_belong_to_the_run_are_judged(tmp_path):
    files = {
        "launch.sh": "torchrun train.py --lr 1e-4\n",
        "train.py": "from lib import loops\nimport torch\n",
        "lib/loops.py": LOOP,
        "other.py": LOOP,
        "third_party/x/train.py": LOOP,
        "train.log": "step 1 loss 2.0\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    run = discover(tmp_path)
    assert {a.name for a in belonging(run)} == {"train.py", "lib/loops.py"}
    assert {f.evidence[0].file for f in check_run_code(run).findings} == {"lib/loops.py"}


@pytest.mark.parametrize(("others", "judged"), [(3, True), (30, False)])
def test_few_programs_that_nothing_names_and_that_train_are_judged_wherever_they_lie(tmp_path, others, judged):
    (tmp_path / "data").mkdir()
    for i in range(others):
        (tmp_path / "data" / f"part_{i}.py").write_text(LOOP)
    (tmp_path / "data" / "fit.py").write_text(LOOP)
    (tmp_path / "train.log").write_text("step 1 loss 2.0\n")
    assert ("loss-kept-with-graph" in check_run_code(discover(tmp_path)).codes()) is judged


def test_a_part_of_a_program_without_imports_is_one(tmp_path):
    (tmp_path / "loop.py").write_text("# lines 90 to 120\nscaler = GradScaler()\n\nfor x in loader:\n    pass\n")
    (tmp_path / "train.log").write_text("step 1 loss 2.0\n")
    assert [a.name for a in belonging(discover(tmp_path))] == ["loop.py"]


def test_a_program_named_by_a_traceback_belongs_to_the_run(tmp_path):
    (tmp_path / "train.log").write_text('Traceback:\n  File "/work/job/sub/fit.py", line 3, in <module>\n')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "fit.py").write_text(LOOP)
    (tmp_path / "tool.py").write_text(LOOP)
    assert [a.name for a in belonging(discover(tmp_path))] == ["sub/fit.py"]


def test_a_file_of_which_nothing_parses_says_where(tmp_path):
    (tmp_path / "a.py").write_text("def f(:\n")
    assert "a.py:1" in read(tmp_path / "a.py").problem
