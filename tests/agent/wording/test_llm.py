"""A conversation with a served model that behaves, and with one that misbehaves in every way we know."""

import json
import time
from pathlib import Path

import pytest

import triage.evals
from triage.agent.conversation import Answered, Conversation
from triage.agent.events import Notice, Token, ToolStarted, stream
from triage.agent.wording import trace
from triage.agent.wording.server import configured
from triage.agent.wording.turn import NO_MODEL
from triage.tools.findings import TriageError

pytest.importorskip("langchain")

RUN = Path(triage.evals.__path__[0]) / "example" / "run-1"
GOOD = "The loss turns into NaN at step 3450 (F1). The evidence points to the learning rate [`loss-nan-high-lr`].\n"
ZH = "loss 在第 3450 步变成 NaN（F1）。现有证据支持学习率过高 [`loss-nan-high-lr`]。\n"


def turn(home, text="why is the loss nan?", paths=(RUN,), talk=None):
    talk = talk or Conversation(home)
    return talk, list(stream(lambda listen: talk.ask(text, paths, listen)))


def said(events):
    return "".join(e.text for e in events if isinstance(e, Token))


def notices(events):
    return [e.text for e in events if isinstance(e, Notice)]


def test_the_models_words_stand_before_the_change_that_triage_words(scripted, tmp_path):
    server, Reply = scripted
    server.replies = [Reply(GOOD)]
    talk, events = turn(tmp_path)
    assert talk.answer.model == "scripted"
    assert talk.answer.text.startswith(GOOD.strip())
    assert "### One change: `learning_rate`" in talk.answer.text
    assert "### It is fixed when" in talk.answer.text
    assert said(events).strip() == talk.answer.text
    assert type(events[-1]) is Answered
    assert len(server.requests) == 1
    kinds = [type(e) for e in events]
    assert kinds.index(ToolStarted) < kinds.index(Token)


def test_the_prompt_holds_the_evidence_and_eight_tools_without_paths(scripted, tmp_path):
    server, Reply = scripted
    server.replies = [Reply(GOOD)]
    turn(tmp_path)
    [request] = server.requests
    system = request["messages"][0]["content"]
    assert "[F1] S0 loss-nonfinite" in system
    assert "«max_grad_norm: 0.0»" in system
    assert str(RUN) not in server.sent()
    assert len(request["tools"]) == 8
    arguments = {a for t in request["tools"] for a in t["function"]["parameters"]["properties"]}
    assert arguments == {"metric", "words", "symptom"}
    assert all(t["function"]["description"] for t in request["tools"])


def test_tool_calls_run_in_parallel_and_their_results_come_back_bounded(scripted, tmp_path):
    server, Reply = scripted
    two = (("scan", '{"metric": "loss"}'), ("search", '{"words": "grad_norm meaning"}'))
    server.replies = [Reply(tools=two), Reply(GOOD)]
    talk, events = turn(tmp_path)
    assert [e.name for e in events if isinstance(e, ToolStarted)][-2:] in (["scan", "search"], ["search", "scan"])
    results = [m for m in server.requests[1]["messages"] if m["role"] == "tool"]
    assert len(results) == 2
    assert all(0 < len(m["content"]) <= 3000 for m in results)
    assert "loss by step" in results[0]["content"]
    assert talk.answer.text.startswith(GOOD.strip())


def test_complete_evidence_takes_at_most_two_calls_and_the_last_has_no_tools(scripted, tmp_path):
    server, Reply = scripted
    server.replies = [Reply(tools=(("lint", "{}"),)), Reply(tools=(("data", "{}"),))]
    talk, events = turn(tmp_path)
    assert len(server.requests) == 2
    assert not server.requests[1].get("tools")
    assert talk.answer.model == "built-in"
    assert notices(events) == [NO_MODEL["unusable"].en]


def test_an_identical_call_is_refused(scripted, tmp_path):
    server, Reply = scripted
    server.replies = [
        Reply(tools=(("search", '{"words": "kl"}'),)),
        Reply(tools=(("search", '{"words": "kl"}'),)),
        Reply("The runbook might hold more on this."),
    ]
    _, events = turn(tmp_path, "my dpo training is weird", ())
    assert [e.name for e in events if isinstance(e, ToolStarted)].count("search") == 2  # the built-in one and one call
    assert "already" in server.requests[2]["messages"][-1]["content"]


def test_a_tool_is_not_given_another_path(scripted, tmp_path):
    server, Reply = scripted
    secret = tmp_path / "elsewhere" / "train.log"
    secret.parent.mkdir()
    secret.write_text("step: 1 loss: nan MARKER\n" * 50)
    call = json.dumps({"metric": "loss", "path": str(secret), "file": "/etc/passwd"})
    server.replies = [
        Reply(tools=(("scan", call), ("look", json.dumps({"path": "/"})), ("shell", '{"cmd": "id"}'))),
        Reply(GOOD),
    ]
    talk, _ = turn(tmp_path / "home" if (tmp_path / "home").mkdir() is None else tmp_path)
    assert "MARKER" not in server.sent()
    assert "root:" not in server.sent()
    assert talk.answer.text.startswith(GOOD.strip())


def test_the_conversation_is_remembered_per_case_and_in_its_guarded_form(scripted, tmp_path):
    server, Reply = scripted
    server.replies = [Reply(GOOD + "I fixed it already.\n"), Reply("F3 shows that grad_norm climbed first.\n")]
    talk, _ = turn(tmp_path)
    again = Conversation(tmp_path, talk.case)
    again.ask("explain why")
    roles = [(m["role"], m["content"]) for m in server.requests[1]["messages"][1:]]
    assert [role for role, _ in roles] == ["user", "assistant", "user"]
    assert roles[0][1] == "why is the loss nan?"
    assert "3450" in roles[1][1]
    assert "fixed it already" not in roles[1][1]
    other = Conversation(tmp_path)
    other.ask("loss is nan", [RUN])
    assert [m["role"] for m in server.requests[2]["messages"]] == ["system", "user"]


def test_a_long_conversation_is_summarised(scripted, tmp_path):
    server, Reply = scripted
    server.context = 6_000
    server.replies = [Reply(GOOD)]
    talk = Conversation(tmp_path)
    for number in range(9):
        talk.ask(f"question {number} " + "about the loss and its norm " * 40, [RUN])
    asked = [r for r in server.requests if r["messages"][0]["role"] == "system"]
    assert len(asked) == 9
    assert 1 <= len(server.requests) - 9 <= 3
    assert max(len(r["messages"]) for r in asked) <= 16
    assert all("question 8" in r["messages"][-1]["content"] for r in asked[-1:])


def test_dropped_sentences_are_counted_and_said(scripted, tmp_path):
    server, Reply = scripted
    server.replies = [Reply(GOOD + "I restarted the job. See [`reward-hacking`] as well.\n")]
    talk, events = turn(tmp_path)
    assert "restarted" not in talk.answer.text
    assert notices(events)[0].startswith("2 sentence(s) of the model were left out")
    assert notices(events)[0] in talk.answer.text
    assert trace.read(tmp_path, talk.case)[0]["dropped"] == {"execution": 1, "citation": 1}


def test_thoughts_are_never_shown(scripted, tmp_path):
    server, Reply = scripted
    server.replies = [Reply("<think>The loss turns into NaN at step 3450. Secret plan.</think>" + GOOD)]
    talk, events = turn(tmp_path)
    assert "Secret plan" not in said(events)
    assert talk.answer.text.startswith(GOOD.strip())


MISBEHAVIOUR = {
    "no answer": ("unusable", dict(text="")),
    "wrong language": ("unusable", dict(text="这次训练的 loss 在中途变成了无效值，需要先看梯度的走势再做判断。\n")),
    "only thoughts": ("unusable", dict(text="<think>hmm, let me see. The loss turns")),
    "nothing true": ("unusable", dict(text="The loss was 123.456 at step 77. I fixed it.\n")),
    "call as text": ("unusable", dict(text='<tool_call>{"name": "scan", "arguments": 13}</tool_call>')),
    "malformed call": ("malformed", dict(tools=(("scan", "[1, 2]"),))),
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
    assert notices(events) in ([NO_MODEL[why].en], [NO_MODEL["unusable"].en])
    assert a.text.startswith("**Most likely: Loss diverges")
    assert said(events) in a.text
    assert a.proposal.variable == "learning_rate"
    assert trace.read(tmp_path, talk.case)[0]["outcome"] in (why, "unusable")


@pytest.mark.parametrize("first", [dict(status=500), dict(status=400, error="context length exceeded")])
def test_one_failure_is_retried_once(scripted, tmp_path, first):
    server, Reply = scripted
    server.replies = [Reply(**first), Reply(GOOD)]
    talk, events = turn(tmp_path)
    assert talk.answer.model == "scripted"
    assert notices(events) == []
    if first["status"] == 400:
        lengths = [len(r["messages"][0]["content"]) for r in server.requests]
        assert lengths[1] < lengths[0]


@pytest.mark.parametrize(
    "reply",
    [
        dict(wait=5.0, text=GOOD),
        dict(endless={"reasoning": "hmm "}, pause=0.02),
        dict(endless={"reasoning_content": "hmm "}, pause=0.02),
        dict(text="<think>", endless={"content": "hmm "}, pause=0.02),
    ],
    ids=["slow", "endless reasoning", "endless reasoning, old field", "endless thoughts"],
)
def test_a_slow_or_endless_model_is_given_up(scripted, tmp_path, monkeypatch, reply):
    monkeypatch.setenv("TRIAGE_MODEL_SECONDS", "1.5")
    server, Reply = scripted
    server.replies = [Reply(**reply)]
    talk, events = turn(tmp_path)
    assert talk.answer.model == "built-in"
    assert notices(events) in ([NO_MODEL["slow"].en], [NO_MODEL["unusable"].en])
    assert talk.answer.text.startswith("**Most likely")
    assert len(server.requests) == 1


def test_a_server_killed_in_the_middle_leaves_what_was_said_and_the_built_in_answer(scripted, tmp_path):
    server, Reply = scripted
    server.replies = [Reply(GOOD * 3, cut=18)]
    talk, events = turn(tmp_path)
    a = talk.answer
    assert a.model == "built-in"
    assert a.text.startswith("The loss turns into NaN at step 3450 (F1).")
    assert "**Most likely: Loss diverges" in a.text
    assert len(notices(events)) == 1
    server.replies = [Reply(GOOD)]
    talk.ask("and now?")
    assert [m["role"] for m in server.requests[-1]["messages"]] == ["system", "user"]


def test_no_server_at_all_is_said_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("TRIAGE_MODEL_URL", "http://127.0.0.1:9")
    talk, events = turn(tmp_path)
    assert notices(events) == [NO_MODEL["no-server"].en]
    assert talk.answer.text.startswith("**Most likely")


def test_closing_the_stream_ends_the_model_call_and_keeps_nothing(scripted, tmp_path):
    server, Reply = scripted
    server.replies = [Reply(GOOD * 200, pause=0.005)]
    talk = Conversation(tmp_path)
    events = stream(lambda listen: talk.ask("why nan?", [RUN], listen))
    for event in events:
        if isinstance(event, Token):
            break
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
    assert "Chinese" in server.requests[0]["messages"][0]["content"]
    assert talk.answer.text.startswith(ZH.strip())
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
