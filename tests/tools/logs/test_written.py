"""Errors of programs that a model wrote into the log itself."""

import pytest
from making import fill

from triage.tools.discover import discover
from triage.tools.logs.scan import scan

TRACE = 'Traceback (most recent call last):\n  File "{}", line 2, in <module>\n    {}\n{}\n'
ASKED = (
    "coder (to runner):\n\nHere is a test:\n```python\n{}\nprint(solve(3))\n```\n\nrunner (to coder):\nexitcode: 1\n"
)
CASES = [
    ("from my_solution import solve", "ModuleNotFoundError: No module named 'my_solution'"),
    ("rows = pandas.read_csv('in.csv')", "NameError: name 'pandas' is not defined"),
]


def worst(folder, text):
    found = scan(discover(fill(folder, {"console.log": text}))).findings
    return [f.severity for f in found if f.code in ("import-error", "uncaught-exception")]


@pytest.mark.parametrize(("line", "error"), CASES)
@pytest.mark.parametrize("file", ["", "tmp_code_1.py"])
def test_an_error_of_a_program_that_stands_in_the_log_is_a_note(tmp_path, line, error, file):
    assert worst(tmp_path, ASKED.format(line) + TRACE.format(file, line, error)) == ["S3"]


@pytest.mark.parametrize(("line", "error"), CASES)
@pytest.mark.parametrize(
    "before",
    ["loading data\n",
     'Traceback (most recent call last):\n  File "a.py", line 2, in <module>\n    {}\nKeyError: 1\nagain\n',
     "a.py:2: UserWarning: old\n  {}\nstart\n"],
)  # fmt: skip
def test_an_error_of_a_program_of_the_run_stays(tmp_path, line, error, before):
    assert "S3" not in worst(tmp_path, before.format(line) + TRACE.format("a.py", line, error))
