"""The turns for served models: played with scripted replies, and every made run can be answered by looking."""

import json
import re

import pytest
from typer.testing import CliRunner

from triage.agent.evidence import look
from triage.agent.session import ask, index
from triage.agent.wording.ledger import Ledger
from triage.agent.wording.toolbox import Toolbox
from triage.evals.model import KINDS, play, summary
from triage.evals.model_runs import RUNS
from triage.ui.cli import app

pytest.importorskip("langchain")
MADE = [run for run in RUNS if run.files]


def test_there_are_sixty_turns_in_both_languages():
    asked = [question for run in RUNS for question in run.asked]
    assert len(asked) == len(set(asked)) >= 60
    assert sum(bool(re.search(r"[\u3400-\u9fff]", q)) for q in asked) >= 24


def test_scripted_replies_are_counted(scripted):
    server, Reply = scripted
    say = [{"kind": "answer", "text": "The rate is too high; loss was 12.7.", "cites": ["F3"]}]
    zh = [{"kind": "answer", "text": "学习率太高了，梯度先上升。", "cites": ["F3"]}]
    right = json.dumps({"facts": ["F1"], "cause": "C1", "say": say})
    grep = Reply(tools=(("grep", '{"pattern": "nan"}'),))
    server.replies = [grep, Reply(right), Reply(right), Reply(json.dumps({"facts": [], "cause": None, "say": zh})),
                      Reply(status=404), Reply(right)]  # fmt: skip
    heard = []
    outcomes = play(heard.append, RUNS[:1])
    assert heard == outcomes
    assert sorted(o.kind for o in outcomes) == sorted(KINDS)
    told = summary(outcomes)
    assert (told["turns"], told["worded"], told["alone"]) == (5, 4, {"no-such-model": 1})
    assert (told["right_cause"], told["decisive_cited"], told["tool_calls"]) == (3, 4, 1)
    assert told["marks_per_statement"] == 0.75


def test_the_command_wants_a_server_and_names_the_runs(monkeypatch, scripted):
    done = CliRunner().invoke(app, ["eval", "model", "--runs", "nowhere"])
    assert done.exit_code != 0
    assert "old-shards" in str(done.exception) + done.output
    monkeypatch.delenv("TRIAGE_MODEL_URL")
    done = CliRunner().invoke(app, ["eval", "model"])
    assert "TRIAGE_MODEL_URL" in str(done.exception) + done.output


@pytest.mark.parametrize("run", MADE, ids=lambda run: run.name)
def test_what_decides_a_made_run_is_there_for_who_looks(run, tmp_path):
    path = run.write(tmp_path)
    answer = ask(run.asked[0], [path])
    rows = Ledger.of(answer).prompt()
    box = Toolbox(look([path]), index)
    listed = box.call("files", {})
    found = box.call("grep", {"pattern": "."}) + "".join(box.call("read", {"file": n}) for n in run.files)
    box.close()
    assert re.search(run.decisive, rows + listed)
    assert run.name == "nothing-left" or re.search(run.says, rows + found)
