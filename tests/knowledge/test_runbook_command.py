import json

import pytest
from typer.testing import CliRunner

from triage.tools.findings import TriageError
from triage.ui.cli import app

run = CliRunner().invoke


@pytest.fixture
def home(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# Racks\n\nblue racks beep at noon\n", encoding="utf-8")
    return tmp_path


def args(home, *words):
    return ["runbook", *words, "--home", str(home / "home")]


def test_coverage_is_complete_and_its_last_line_counts():
    done = run(app, ["runbook", "coverage"])
    assert (done.exit_code, done.output.splitlines()[-1]) == (0, "159/159 rows, 77/77 criteria")
    assert json.loads(run(app, ["runbook", "coverage", "--json"]).output)["complete"] is True


def test_list_gives_what_the_contract_names(home):
    listed = json.loads(run(app, args(home, "list", "--json")).output)
    assert listed["schema"] == "triage.runbook/1"
    assert {"id", "title", "severity", "stages", "covers", "sections"} <= listed["entries"][0].keys()


def test_add_search_and_remove(home):
    added = run(app, args(home, "add", str(home / "docs")))
    assert (added.exit_code, added.output) == (0, "1 new, 0 changed, 0 unchanged, 0 gone; 1 passages written\n")
    found = json.loads(run(app, args(home, "search", "blue racks beep", "--json")).output)
    assert [(p["line"], p["text"]) for p in found["passages"]] == [(3, "blue racks beep at noon")]
    assert "1 passages" in run(app, args(home, "list", "--own")).output
    assert run(app, args(home, "index")).exit_code == 0
    assert run(app, args(home, "remove", str(home / "docs" / "a.md"))).output == "1 files forgotten\n"
    assert json.loads(run(app, args(home, "list", "--own", "--json")).output)["files"] == []


def test_what_is_skipped_is_said_and_counts_as_a_finding(home):
    (home / "docs" / "b.md").write_bytes(b"\0")
    added = run(app, args(home, "add", str(home / "docs"), "--json"))
    assert added.exit_code == 1
    assert json.loads(added.output)["skipped"][0][1] == "not a text file"


def test_a_wrong_path_is_an_error_with_its_name(home):
    assert isinstance(run(app, args(home, "add", str(home / "nowhere"))).exception, TriageError)


def test_other_fields_are_told_apart(home):
    assert json.loads(run(app, args(home, "search", "how do I boil an egg", "--json")).output)["covers"] is False
