"""What the doctor says of a server that works, one that does not, and none; what is served is what is documented."""

import json
from pathlib import Path

from typer.testing import CliRunner

from triage.agent.doctor import examine
from triage.agent.wording import serving
from triage.ui.cli import app

TYPED = (
    '{"facts": ["F1"], "cause": "C1", "say": [{"kind": "answer", "text": "The rate is too high.", "cites": ["F1"]}]}'
)


def results(home):
    return {line.name: line for line in examine(home)}


def test_without_a_server_nothing_is_bad(tmp_path, monkeypatch):
    monkeypatch.delenv("TRIAGE_MODEL_URL", raising=False)
    lines = results(tmp_path)
    assert lines["model server"].result == "absent"
    assert {"data directory", "runbook index"} <= {n for n, line in lines.items() if line.result == "ok"}


def test_a_working_server_passes_both_probes(scripted, tmp_path):
    server, Reply = scripted
    server.replies = [Reply(tools=(("grep", '{"metric": "loss"}'),)), Reply(TYPED)]
    lines = results(tmp_path)
    names = ("model server", "context length", "tool calling", "structured output")
    assert [lines[name].result for name in names] == ["ok"] * 4


def test_a_server_without_a_tool_parser_is_told_what_to_do(scripted, tmp_path):
    server, Reply = scripted
    server.context = 2048
    server.replies = [Reply("I would call grep."), Reply("not json")]
    lines = results(tmp_path)
    assert {n for n, line in lines.items() if line.result == "bad"} == {
        "context length", "tool calling", "structured output"
    }  # fmt: skip
    assert "--tool-call-parser" in lines["tool calling"].todo


def test_a_server_that_is_down_is_exit_status_one(tmp_path, monkeypatch):
    monkeypatch.setenv("TRIAGE_MODEL_URL", "http://127.0.0.1:9/v1")
    done = CliRunner().invoke(app, ["doctor", "--json", "--home", str(tmp_path)])
    parts = {p["name"]: p for p in json.loads(done.stdout)["parts"]}
    assert (done.exit_code, parts["model server"]["result"]) == (1, "bad")
    assert "serve-model" in parts["model server"]["todo"]


def test_the_command_has_the_parsers_of_the_family():
    flags = serving.command("Qwen/Qwen3-14B-AWQ")
    assert flags[flags.index("--tool-call-parser") + 1] == "hermes"
    assert "--reasoning-parser" not in flags, "a parser that waits for thoughts keeps schemas from working"
    assert '{"enable_thinking": false}' in flags
    flags = serving.command("openai/gpt-oss-20b", more=("--port", "1"))
    assert flags[flags.index("--tool-call-parser") + 1] == "openai"
    assert flags[-2:] == ["--port", "1"]


def test_the_documented_table_is_the_one_in_the_code():
    text = (Path(__file__).parents[2] / "docs" / "serving.md").read_text()
    assert serving.CHOSEN_ON in text
    for m in serving.MODELS:
        assert f"| {m.gpu} GB | {m.name} | {m.licence} | {m.context} | {m.note} |" in text
    assert serving.recommended(30).gpu == 24
    assert serving.recommended(4) is None


def test_serve_model_prints_its_command():
    done = CliRunner().invoke(app, ["serve-model", "--print", "--memory", "16"])
    assert done.exit_code == 0
    assert "Qwen3-8B-AWQ" in done.stdout
    assert "TRIAGE_MODEL_URL" in done.stdout
