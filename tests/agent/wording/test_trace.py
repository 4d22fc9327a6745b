"""Every turn leaves one line; a collector gets it as spans."""

import json

from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from typer.testing import CliRunner

from triage.agent.conversation import Conversation
from triage.agent.wording import trace
from triage.ui.cli import app

TURN = {
    "seconds": 0.5, "case": "abc", "model": "m", "outcome": "worded", "calls": 2,
    "tokens": {"input_tokens": 10}, "said": {"statements": 3, "marked": 1}, "tools": [{"name": "scan", "seconds": 0.1}],
}  # fmt: skip


def test_a_turn_without_a_model_is_traced_too_and_shown(tmp_path):
    talk = Conversation(tmp_path)
    talk.ask("loss is nan, mail zhang.wei@corp-lab.cn, token hf_" + "aB3d" * 9)
    [turn] = trace.read(tmp_path, talk.case)
    assert (turn["outcome"], turn["model"], turn["calls"]) == ("built-in", "built-in", 0)
    assert "hf_" not in json.dumps(turn)
    assert "zhang.wei" not in json.dumps(turn)
    done = CliRunner().invoke(app, ["cases", "trace", talk.case, "--home", str(tmp_path)])
    assert done.exit_code == 0
    assert "built-in" in done.stdout


def test_a_turn_becomes_a_span_with_a_child_for_each_tool():
    spans = InMemorySpanExporter()
    trace.export(TURN, spans)
    tool, turn = spans.get_finished_spans()
    assert (turn.name, tool.name, tool.parent.span_id) == ("triage.turn", "triage.tool.scan", turn.context.span_id)
    assert turn.attributes["triage.marked"] == 1
    assert turn.end_time - turn.start_time == 500_000_000
