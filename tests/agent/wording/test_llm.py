"""A conversation with a served model that behaves, and with one that misbehaves in every way we know."""

import json
import time
from pathlib import Path

import pytest

import triage.evals
from triage.agent.conversation import Answered, Conversation
from triage.agent.events import Notice, Stands, Token, ToolStarted, stream
from triage.agent.wording import trace
from triage.agent.wording.server import configured
from triage.agent.wording.turn import NO_MODEL
from triage.tools.findings import TriageError

pytest.importorskip("langchain")

RUN = Path(triage.evals.__path__[0]) / "example" / "run-1"


def said(kind, text, *cites):
    return {"kind": kind, "text": text, "cites": list(cites)}


def reply(*say, facts=("F1",), cause="C1"):
    return json.dumps({"facts": list(facts), "cause": cause, "say": list(say)}, ensure_ascii=False)


GOOD = reply(said("answer", "The loss turns into NaN at step 3450.", "F1"), said("because", "It climbed first.", "F3"))
ZH = reply(said("answer", "loss 在第 3450 步变成 NaN，学习率过高。", "F1"))
LABEL = "Words of the model scripted"


def turn(home, text="why is the loss nan?", paths=(RUN,), talk=None):
    talk = talk or Conversation(home)
    return talk, list(stream(lambda listen: talk.ask(text, paths, listen)))


def spoken(events):
    return "".join(e.text for e in events if isinstance(e, Token))


def notices(events):
    return [e.text for e in events if isinstance(e, Notice)]


def final_of(server):
    """The requests that ask for the typed reply."""
    return [r for r in server.requests if "response_format" in r]


def test_triages_own_answer_stands_first_and_whole_and_the_models_words_behind_it_under_a_label(scripted, tmp_path):
    server, Reply = scripted
    server.replies = [Reply(GOOD)]
    talk, events = turn(tmp_path)
    own, _, beside = talk.answer.text.partition("**Words of the model scripted**")
    assert own.startswith("**Most likely: Loss diverges")
    assert "### One change: `learning_rate`" in own
    assert "- measured: [F1] S0 loss-nonfinite: loss is nan from step 3450" in beside
    assert "supported by findings, 97%" in beside
    assert "- The loss turns into NaN at step 3450. (F1 train.log:347)" in beside
    assert "nothing was run" in beside
    assert spoken(events).strip() == talk.answer.text
    assert talk.answer.model == "scripted"
    assert type(events[-1]) is Answered
    assert len(server.requests) == 1


def test_the_first_tier_is_told_before_the_model_is_asked(scripted, tmp_path):
    server, Reply = scripted
    server.replies = [Reply(GOOD, wait=1.0)]
    talk = Conversation(tmp_path, brief=True)
    seen = []
    for event in stream(lambda listen: talk.ask("why is the loss nan?", [RUN], listen)):
        if isinstance(event, Stands):
            assert not server.requests
            assert spoken(seen).strip() == event.answer.short.strip()
        seen.append(event)
    assert sum(isinstance(e, Stands) for e in seen) == 1
    assert LABEL in talk.answer.beside
    assert LABEL not in talk.answer.short


def test_a_follow_up_says_in_one_line_that_the_diagnosis_is_unchanged(scripted, tmp_path):
    server, Reply = scripted
    server.replies = [Reply(GOOD)]
    talk, _ = turn(tmp_path)
    turn(tmp_path, "is the data to blame, or the schedule?", (), talk)
    own = talk.answer.text.partition(LABEL)[0]
    assert own.startswith("Diagnosis unchanged: **Most likely: Loss diverges")
    assert "### One change" not in own
    assert LABEL in talk.answer.text


def test_the_prompt_is_the_same_for_all_cases_and_the_ledger_the_first_message(scripted, tmp_path):
    server, Reply = scripted
    server.replies = [Reply(GOOD)]
    turn(tmp_path)
    turn(tmp_path, "my dpo training is weird", ())
    first, second = server.requests[0], server.requests[-1]
    assert first["messages"][0] == second["messages"][0]
    assert first["tools"] == second["tools"]
    ledger = first["messages"][1]["content"]
    assert first["messages"][1]["role"] == "user"
    assert "[F1] S0 loss-nonfinite" in ledger
    assert "grad_clip = «0.0»" in ledger
    assert "[P1] «why is the loss nan?»" in ledger
    assert str(RUN) not in server.sent()
    names = {t["function"]["name"] for t in first["tools"]}
    assert names == {"files", "read", "grep", "sql", "relate", "compare", "calc", "runbook"}


def test_tool_results_are_rows_that_can_be_cited(scripted, tmp_path):
    server, Reply = scripted
    two = (("grep", '{"pattern": "loss.*nan"}'), ("calc", '{"expression": "0.3 / 2"}'))
    told = reply(said("answer", "Half of it is 0.15, see the log.", "T1", "T2"))
    server.replies = [Reply(tools=two), Reply(told)]
    talk, events = turn(tmp_path)
    assert {e.name for e in events if isinstance(e, ToolStarted)} >= {"grep", "calc"}
    results = [m["content"] for m in server.requests[1]["messages"] if m["role"] == "tool"]
    assert [r[:4] for r in sorted(results)] == ["[T1]", "[T2]"]
    assert any("0.3 / 2 = 0.15" in r for r in results)
    assert "no evidence" not in talk.answer.text


def test_tools_stay_and_a_model_that_only_calls_them_is_asked_for_its_reply_by_the_schema(scripted, tmp_path):
    server, Reply = scripted
    server.replies = [*(Reply(tools=(("grep", json.dumps({"pattern": f"x{i}"})),)) for i in range(6)), Reply(GOOD)]
    talk, _ = turn(tmp_path)
    assert len(server.requests) == 7
    assert all(len(r["tools"]) == 8 for r in server.requests)
    [last] = final_of(server)
    assert last["tool_choice"] == "none"
    form = last["response_format"]["json_schema"]["schema"]
    assert {"F1", "C1", "X1", "P1", "T6"} <= set(form["properties"]["facts"]["items"]["enum"])
    assert "F99" not in form["properties"]["facts"]["items"]["enum"]
    assert LABEL in talk.answer.text


def test_prose_is_asked_again_in_the_form_and_stands_with_its_ids_where_the_server_has_no_schema(scripted, tmp_path):
    server, Reply = scripted
    prose = "The loss turns into NaN at step 3450 (F1). The gradient norm climbed before (F3)."
    server.replies = [Reply(prose), Reply(status=400, error="response_format is not supported"), Reply(prose)]
    talk, _ = turn(tmp_path)
    assert [("response_format" in r) for r in server.requests] == [False, True, False]
    assert "- The loss turns into NaN at step 3450 (F1). (F1 train.log:347 “" in talk.answer.text


def test_an_identical_call_is_refused(scripted, tmp_path):
    server, Reply = scripted
    server.replies = [
        Reply(tools=(("runbook", '{"words": "kl"}'),)),
        Reply(tools=(("runbook", '{"words": "kl"}'),)),
        Reply(reply(said("unknown", "The runbook might hold more on this."), facts=(), cause=None)),
    ]
    turn(tmp_path, "my dpo training is weird", ())
    assert "already" in server.requests[2]["messages"][-1]["content"]


def test_a_tool_is_not_given_another_path(scripted, tmp_path):
    server, Reply = scripted
    secret = tmp_path / "elsewhere" / "train.log"
    secret.parent.mkdir()
    secret.write_text("step: 1 loss: nan MARKER\n" * 50)
    (tmp_path / "home").mkdir()
    calls = [("read", {"file": str(secret)}), ("read", {"file": "../../etc/passwd"}), 
             ("grep", {"pattern": "root:", "file": "/etc/passwd"}),
             ("compare", {"first": "train.log", "second": str(secret)}), 
             ("sql", {"query": f"select * from read_csv('{secret}')"}),
             ("shell", {"cmd": "id"}), ("files", {"path": "/"})]  # fmt: skip
    server.replies = [Reply(tools=tuple((n, json.dumps(a)) for n, a in calls)), Reply(GOOD)]
    talk, _ = turn(tmp_path / "home")
    results = "".join(m["content"] for m in server.requests[-1]["messages"] if m["role"] == "tool")
    assert "MARKER" not in server.sent()
    assert "root:x" not in server.sent()
    assert "no file" in results
    assert LABEL in talk.answer.text


def test_the_conversation_is_remembered_per_case_word_for_word(scripted, tmp_path):
    server, Reply = scripted
    server.replies = [Reply(tools=(("calc", '{"expression": "2*3"}'),)), Reply(GOOD)]
    talk, _ = turn(tmp_path)
    again = Conversation(tmp_path, talk.case)
    again.ask("is the data to blame?")
    first, later = server.requests[1]["messages"], server.requests[-1]["messages"]
    assert [m["role"] for m in later] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert later[: len(first)] == first, "what a server has read once stands unchanged before what is new"
    assert "[P2] «is the data to blame?»" in later[-1]["content"]
    other = Conversation(tmp_path)
    other.ask("loss is nan", [RUN])
    assert [m["role"] for m in server.requests[-1]["messages"]] == ["system", "user"]


def test_of_a_long_conversation_the_oldest_turns_are_left_out(scripted, tmp_path):
    server, Reply = scripted
    server.context = 8_000
    server.replies = [Reply(GOOD)]
    talk = Conversation(tmp_path)
    for number in range(9):
        talk.ask(f"question {number} " + "about the loss and its norm " * 60, [RUN])
    assert len(server.requests) == 9
    assert max(len(r["messages"]) for r in server.requests) <= 12
    assert "question 8" in server.requests[-1]["messages"][-1]["content"]
    assert "[F1] S0" in server.requests[-1]["messages"][1]["content"]


def test_what_no_evidence_holds_is_marked_in_place_and_nothing_is_left_out(scripted, tmp_path):
    server, Reply = scripted
    wild = "The loss was 12.7 on node-17, see https://evil.example/x and `rm`. I restarted the job."
    server.replies = [Reply(reply(said("because", wild, "F1"), said("because", "Warm-up matters.")))]
    talk, _ = turn(tmp_path)
    beside = talk.answer.text.partition(LABEL)[2]
    assert "12.7[in no evidence]" in beside
    assert "node-17[not named in the evidence]" in beside
    assert "https://" not in beside
    assert "I restarted the job." in beside
    assert "- general knowledge, not of this run: Warm-up matters." in beside
    assert trace.read(tmp_path, talk.case)[0]["said"] == {"statements": 2, "marked": 1}


def test_another_cause_is_shown_as_a_disagreement_with_what_decides(scripted, tmp_path):
    server, Reply = scripted
    server.replies = [Reply(reply(said("answer", "Clipping is off.", "F10"), cause="C2"))]
    talk, _ = turn(tmp_path)
    assert "**the model disagrees with the diagnosis**: it holds `grad-explosion`" in talk.answer.text
    assert "What decides: " in talk.answer.text
    assert talk.answer.diagnosis.top.entry.id == "loss-nan-high-lr"


def test_thoughts_are_never_shown(scripted, tmp_path):
    server, Reply = scripted
    server.replies = [Reply("<think>The loss turns into NaN. Secret plan.</think>" + GOOD)]
    talk, events = turn(tmp_path)
    assert "Secret plan" not in spoken(events)
    assert LABEL in talk.answer.text


MISBEHAVIOUR = {
    "no answer": ("unusable", dict(text="")),
    "wrong language": (
        "language",
        dict(text=reply(said("answer", "这次训练在中途变成了无效值，需要先看梯度的走势再做判断。"))),
    ),
    "only thoughts": ("unusable", dict(text="<think>hmm, let me see. The loss turns")),
    "broken JSON": ("unusable", dict(text='{"facts": ["F1"], "say": ')),
    "other ids and nothing said": ("unusable", dict(text='{"facts": ["Z9"], "cause": "C77", "say": []}')),
    "call as text": ("unusable", dict(text='<tool_call>{"name": "scan", "arguments": 13}</tool_call>')),
    "malformed call": ("unusable", dict(tools=(("scan", "[1, 2]"),))),
    "unfinished call": ("unusable", dict(tools=(("scan", '{"metric": "lo'),))),
    "500": ("error", dict(status=500)),
    "context overflow": ("context", dict(status=400, error="maximum context length is 4096 tokens")),
    "unknown model": ("no-such-model", dict(status=404)),
}


@pytest.mark.parametrize("name", MISBEHAVIOUR)
def test_a_misbehaving_model_ends_in_the_built_in_answer_with_one_line(scripted, tmp_path, name):
    server, Reply = scripted
    why, reply = MISBEHAVIOUR[name]
    server.replies = [Reply(**reply)]
    talk, events = turn(tmp_path)
    a = talk.answer
    assert a.model == "built-in"
    assert notices(events) == [NO_MODEL[why].en]
    assert a.text.startswith("**Most likely: Loss diverges")
    assert spoken(events).strip() in a.text
    assert a.proposal.variable == "learning_rate"
    assert trace.read(tmp_path, talk.case)[0]["outcome"] == why


@pytest.mark.parametrize("first", [dict(status=500), dict(status=400, error="context length exceeded")])
def test_one_failure_is_retried_once(scripted, tmp_path, first):
    server, Reply = scripted
    server.replies = [Reply(**first), Reply(GOOD)]
    talk, events = turn(tmp_path)
    assert talk.answer.model == "scripted"
    assert notices(events) == []
    if first["status"] == 400:
        lengths = [len(r["messages"][1]["content"]) for r in server.requests]
        assert lengths[1] < lengths[0]


@pytest.mark.parametrize(
    "reply",
    [
        dict(wait=5.0, text=GOOD),
        dict(endless={"reasoning": "hmm "}, pause=0.02),
        dict(endless={"reasoning_content": "hmm "}, pause=0.02),
        dict(text="<think>", endless={"content": "hmm "}, pause=0.02),
        dict(endless={"content": "x" * 5_000}),
        dict(text=GOOD, endless={"content": "x" * 10_000_000}),
    ],
    ids=["slow", "endless reasoning", "endless reasoning, old field", "endless thoughts", "no end", "10 MB a piece"],
)
def test_a_slow_or_endless_model_is_given_up(scripted, tmp_path, monkeypatch, reply):
    monkeypatch.setenv("TRIAGE_MODEL_SECONDS", "1.5")
    server, Reply = scripted
    server.replies = [Reply(**reply)]
    talk, events = turn(tmp_path)
    assert talk.answer.model == "built-in"
    assert notices(events) in ([NO_MODEL["slow"].en], [NO_MODEL["endless"].en])
    assert talk.answer.text.startswith("**Most likely")
    assert len(server.requests) == 1


def test_a_server_killed_in_the_middle_leaves_triages_own_answer(scripted, tmp_path):
    server, Reply = scripted
    server.replies = [Reply(GOOD * 3, cut=18)]
    talk, events = turn(tmp_path)
    assert talk.answer.model == "built-in"
    assert talk.answer.text.startswith("**Most likely: Loss diverges")
    assert notices(events) == [NO_MODEL["error"].en]
    server.replies = [Reply(GOOD)]
    talk.ask("is it the data?")
    assert [m["role"] for m in server.requests[-1]["messages"]] == ["system", "user"]


def test_no_server_at_all_is_said_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("TRIAGE_MODEL_URL", "http://127.0.0.1:9")
    talk, events = turn(tmp_path)
    assert notices(events) == [NO_MODEL["no-server"].en]
    assert talk.answer.text.startswith("**Most likely")


def test_closing_the_stream_ends_the_model_call_and_keeps_nothing(scripted, tmp_path):
    server, Reply = scripted
    server.replies = [Reply(GOOD * 200, pause=0.05)]
    talk = Conversation(tmp_path)
    events = stream(lambda listen: talk.ask("why nan?", [RUN], listen))
    assert any(isinstance(event, Token) and server.requests for event in events)
    events.close()
    for _ in range(400):
        if server.gone:
            break
        time.sleep(0.02)
    assert server.gone == 1


def test_chinese_in_chinese_out(scripted, tmp_path):
    server, Reply = scripted
    server.replies = [Reply(ZH)]
    talk, _ = turn(tmp_path, "loss 为什么变成 nan？")
    assert "简体中文" in server.requests[0]["messages"][-1]["content"]
    assert "- loss 在第 3450 步变成 NaN，学习率过高。 (F1 train.log:347)" in talk.answer.text
    assert "只改一处" in talk.answer.text


def test_a_question_outside_the_field_is_not_sent(scripted, tmp_path):
    server, Reply = scripted
    server.replies = [Reply("Sure.")]
    talk, _ = turn(tmp_path, "how do I get red wine out of a shirt", ())
    assert server.requests == []
    assert talk.answer.diagnosis.state == "out-of-scope"


def test_langsmith_is_kept_out(scripted, tmp_path, monkeypatch):
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    monkeypatch.setenv("LANGSMITH_API_KEY", "x")
    server, Reply = scripted
    monkeypatch.setenv("LANGSMITH_ENDPOINT", server.url)
    server.replies = [Reply(GOOD)]
    turn(tmp_path)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [("TRIAGE_MODEL_URL", "localhost:8000"), ("TRIAGE_REDACT", "names"), ("TRIAGE_MODEL_SECONDS", "soon")],
)
def test_a_malformed_environment_is_said(name, value):
    with pytest.raises(TriageError, match=name):
        configured({"TRIAGE_MODEL_URL": "http://x/v1", name: value})


def test_without_a_server_nothing_of_langchain_is_imported(tmp_path):
    import subprocess
    import sys

    code = (
        "import sys; from pathlib import Path; from triage.agent.conversation import Conversation;"
        f"Conversation(Path({str(tmp_path)!r})).ask('loss is nan'); assert 'langchain' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PATH": ""}, timeout=120)


def test_the_command_tells_each_part_once(scripted, tmp_path):
    from typer.testing import CliRunner

    from triage.ui.cli import app

    server, Reply = scripted
    server.replies = [Reply(GOOD)]
    done = CliRunner().invoke(app, ["ask", "why is the loss nan?", "--run", str(RUN), "--home", str(tmp_path)])
    assert done.exit_code == 1
    assert done.output.count("Most likely: Loss diverges") == 1
    assert done.output.count(LABEL) == 1
    assert done.output.index("Most likely") < done.output.index(LABEL) < done.output.rindex("case ")
    server.replies = [Reply(status=500)]
    done = CliRunner().invoke(app, ["ask", "why is the loss nan?", "--run", str(RUN), "--home", str(tmp_path)])
    assert NO_MODEL["error"].en in " ".join(done.output.split())
    assert LABEL not in done.output
