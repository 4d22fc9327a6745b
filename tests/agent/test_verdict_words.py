"""A verdict in words: whole in a pipe, on a screen without how each criterion was measured."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import triage.evals
from triage.agent.acceptance.verify import verify
from triage.agent.narrate.verdict import verdict_text
from triage.knowledge.runbook import load
from triage.ui.cli import app

EXAMPLES = Path(triage.evals.__path__[0]) / "example"


@pytest.fixture(scope="module")
def verdict():
    return verify(EXAMPLES / "run-1", EXAMPLES / "run-2", load().get("loss-nan-high-lr"))


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_screen_has_the_verdict_the_change_and_every_criterion_in_few_lines(verdict, lang):
    brief, whole = (verdict_text(verdict, lang, short) for short in (True, False))
    assert brief.splitlines()[0] == whole.splitlines()[0]
    assert brief.count("\n") == whole.count("\n") <= 12
    assert max(map(len, brief.splitlines()[1:])) <= 80
    assert {row.count("|") for row in brief.splitlines() if row.startswith("|")} == {5}
    assert {row.count("|") for row in whole.splitlines() if row.startswith("|")} == {6}


def test_a_pipe_has_how_each_was_measured(tmp_path):
    runs = ["--baseline", str(EXAMPLES / "run-1"), "--candidate", str(EXAMPLES / "run-2")]
    done = CliRunner().invoke(app, ["verify", *runs], env={"TRIAGE_HOME": str(tmp_path)})
    assert "median in the window" in done.output


def test_a_list_of_cases_says_the_cause_and_the_run(tmp_path):
    home = {"TRIAGE_HOME": str(tmp_path)}
    CliRunner().invoke(app, ["ask", "loss is nan", "--run", str(EXAMPLES / "run-1")], env=home)
    CliRunner().invoke(app, ["ask", "what is going on with my loss?"], env=home)
    newest, first = CliRunner().invoke(app, ["cases"], env=home).output.splitlines()
    assert "loss-nan-high-lr in run-1: loss is nan" in first
    assert " in " not in newest.partition(":")[0].partition("open")[2]


def test_a_search_names_what_is_likely_and_counts_the_rest(tmp_path):
    done = CliRunner().invoke(app, ["runbook", "search", "KL explodes in DPO"], env={"TRIAGE_HOME": str(tmp_path)})
    assert "dpo-kl-explosion:" in done.output
    assert " 0.00 " not in done.output
    assert "--json lists them" in done.output
