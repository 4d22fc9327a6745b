"""triage in Slack through the real Bolt app and SDK, over Socket Mode: what people do and what they get."""

import html
import json
import shutil
from unicodedata import east_asian_width

import pytest

RUN = ("train.log", "train.yaml")


@pytest.fixture
def attached(slack, kit):
    """Files of a bundled run, as stored in Slack."""

    def files(run):
        return [slack.file(name, (kit.examples / run / name).read_bytes()) for name in RUN]

    return files


def test_a_mention_with_a_run_is_answered_in_its_thread_by_edits_of_one_message(slack, start, attached, kit):
    start()
    asked = slack.mention("C1", "loss is nan at step 4000", files=attached("run-1"))
    [answer] = slack.answered("C1", asked["ts"])
    text = kit.whole(answer)
    for part in ("loss-nan-high-lr", "train.log:347", "train.yaml:5 `learning_rate` 0.3 -&gt; 0.15"):
        assert part in text
    assert "/slack/C1/" not in text, "where attachments lie is of no use in a thread"
    [whole] = [upload["content"] for upload in slack.uploads.values()]
    for part in ("loss-nonfinite", "-learning_rate: 0.3", "+learning_rate: 0.15", "the diagnosis handbook §1"):
        assert part in whole
    buttons = [e["action_id"] for b in answer["blocks"] if b["type"] == "actions" for e in b["elements"]]
    assert buttons == [f"triage_{name}" for name in ("next", "evidence", "verify", "helpful", "wrong", "resolved")]
    assert len(slack.called("chat.postMessage")) == 1
    assert slack.called("chat.postMessage")[0]["text"].startswith("Looking at it")
    assert any(edit["text"].startswith(("Now:", "Looked at:")) for edit in slack.called("chat.update"))
    assert {edit["ts"] for edit in slack.called("chat.update")} == {answer["ts"]}
    assert slack.called("chat.postMessage")[0]["thread_ts"] == asked["ts"]
    assert not json.loads(str(slack.called("chat.postMessage")[0]["unfurl_links"]).lower())


def test_ten_megabytes_of_log_are_read(slack, start, kit):
    start()
    line = b"step: %06d loss: 2.0000 grad_norm: 1.0000 lr: 1e-04 tokens_per_second: 10000\n"
    steps = 10_000_000 // len(line % 0)
    log = b"".join(line % i for i in range(steps)) + b"step: %06d loss: nan grad_norm: nan\n" % steps
    assert len(log) > 9_990_000
    asked = slack.mention("C1", "what happened?", files=[slack.file("train.log", log)])
    [answer] = slack.answered("C1", asked["ts"])
    assert f"train.log:{steps + 1}" in kit.whole(answer)


def test_a_direct_message_in_chinese_is_answered_in_chinese(slack, start, attached, kit):
    start()
    event = slack.say("D1", "训练到一半 loss 变成 nan 了怎么办", files=attached("run-1")) | {"channel_type": "im"}
    slack.announce(event | {"subtype": "file_share"})
    [answer] = slack.answered("D1", event["ts"])
    assert "只改一处" in kit.whole(answer)
    assert "下一步检查" in json.dumps(answer["blocks"], ensure_ascii=False)


def test_the_message_shortcut_opens_a_case_in_the_thread_of_the_message(slack, start, attached, kit):
    start()
    message = slack.say("C1", "loss is nan since this morning", user="U9", files=attached("run-1"))
    used = {"type": "message_action", "callback_id": "triage_message", "trigger_id": f"t{message['ts']}"}
    who = {"user": {"id": "U2", "team_id": kit.team}, "team": {"id": kit.team}}
    slack.send("interactive", {**used, **who, "channel": {"id": "C1"}, "message": message})
    [answer] = slack.answered("C1", message["ts"])
    assert "loss-nan-high-lr" in kit.whole(answer)


def test_a_log_that_a_colleague_attached_before_the_mention_is_read(slack, start, attached, kit):
    start()
    first = slack.say("C1", "my run died, any idea?", user="U7", files=attached("run-1"))
    slack.mention("C1", "loss is nan, can you look?", thread=first["ts"], user="U8")
    [answer] = slack.answered("C1", first["ts"])
    assert "train.log:347" in kit.whole(answer)


def test_a_log_attached_later_in_the_thread_is_read_without_a_mention(slack, start, attached, kit):
    desk = start()
    first = slack.mention("C1", "loss is nan at step 4000")
    [words] = slack.answered("C1", first["ts"])
    assert "No run was given" in kit.whole(words)
    slack.until(lambda: not desk.inbox.counts().get("working"))
    event = slack.say("C1", "", thread=first["ts"], files=attached("run-1"))
    slack.announce(event | {"subtype": "file_share"})
    answer = slack.answered("C1", first["ts"], 2)[1]
    assert "train.log:347" in kit.whole(answer)


def test_the_assistant_pane_suggests_shows_its_status_and_answers(slack, start, kit):
    start()
    pane = {"user_id": "U1", "channel_id": "D2", "thread_ts": slack.ts(), "context": {}}
    opened = {"type": "assistant_thread_started", "event_ts": "1.0", "assistant_thread": pane}
    slack.announce(opened)
    slack.until(lambda: slack.called("assistant.threads.setSuggestedPrompts"))
    thread = opened["assistant_thread"]["thread_ts"]
    event = slack.say("D2", "CUDA out of memory at step 1, what should I change?", thread=thread) | {
        "channel_type": "im"
    }
    slack.announce(event)
    [answer] = slack.answered("D2", thread)
    assert "No run was given" in kit.whole(answer)
    assert slack.called("assistant.threads.setStatus")[0]["thread_ts"] == thread


def test_what_a_turn_says_about_itself_stands_under_the_answer(slack, start, kit, monkeypatch):
    from triage.agent.conversation import Conversation
    from triage.agent.events import Notice

    ask = Conversation.ask

    def noticed(self, text, paths, listen):
        listen(Notice("the model did not answer <!here>"))
        return ask(self, text, paths, listen)

    monkeypatch.setattr("triage.ui.slack.desk.Conversation.ask", noticed)
    start()
    asked = slack.mention("C1", "loss is nan")
    assert "the model did not answer &lt;!here&gt;" in kit.whole(slack.answered("C1", asked["ts"])[0])


def test_an_empty_mention_gets_help(slack, start, kit):
    start()
    asked = slack.mention("C1", "")
    assert "attach" in kit.whole(slack.answered("C1", asked["ts"])[0])


def lines(message):
    """How many lines of 80 columns a message takes, its buttons aside."""
    shown = [b["text"]["text"] for b in message["blocks"] if b["type"] == "section"]
    said = [line for text in shown for line in html.unescape(text).splitlines()]
    notes = sum(b["type"] == "context" for b in message["blocks"])
    return sum(-(-sum(2 if east_asian_width(c) in "WF" else 1 for c in line) // 80) for line in said) + notes


@pytest.mark.parametrize("run", ["run-1", "run-2", "run-3", "run-4"])
@pytest.mark.parametrize("words", ["loss is nan at step 4000, bad data?", "训练坏了，是不是学习率太高？"])
def test_the_first_reply_is_of_twelve_lines_and_has_the_cause_the_evidence_and_the_change(
    run, words, slack, start, attached, kit
):
    start()
    asked = slack.mention("C1", words, files=attached(run))
    [answer] = slack.answered("C1", asked["ts"])
    assert lines(answer) <= 12
    assert any(b["type"] == "actions" for b in answer["blocks"])
    assert "triage verify" not in kit.whole(answer), "the button does it"


def test_a_follow_up_is_answered_in_one_short_message(slack, start, attached, kit):
    desk = start()
    asked = slack.mention("C1", "loss is nan at step 4000", files=attached("run-1"))
    slack.answered("C1", asked["ts"])
    slack.until(lambda: not desk.inbox.counts().get("working"))
    posted = len(slack.called("chat.postMessage"))
    slack.mention("C1", "what does F3 mean?", thread=asked["ts"])
    answer = slack.answered("C1", asked["ts"], 2)[1]
    assert "grad_norm" in kit.whole(answer)
    assert lines(answer) <= 12
    assert len(slack.called("chat.postMessage")) == posted + 1
    assert len(slack.uploads) == 1, "the whole answer is attached once"


class TestButtons:
    @pytest.fixture
    def case(self, slack, start, attached):
        self.desk = start()
        asked = slack.mention("C1", "loss is nan at step 4000", files=attached("run-1"))
        return slack.answered("C1", asked["ts"])[0]

    def second(self, slack, case):
        return slack.answered("C1", case["thread_ts"], 2)[1]

    def test_next_check(self, slack, case, kit):
        slack.press(case, "next")
        assert "Change one thing" in kit.whole(self.second(slack, case))

    def test_evidence_shows_the_lines(self, slack, case, kit):
        slack.press(case, "evidence")
        shown = kit.whole(self.second(slack, case))
        assert "&gt;    347 " in shown
        assert "*F1* `loss-nonfinite`, *F2* `grad-norm-nonfinite`" in shown
        assert shown.count(" 347 ") == 1
        assert "nan" in shown

    @pytest.mark.parametrize("opinion", ["helpful", "wrong"])
    def test_what_the_team_thinks_of_it_is_noted_on_the_case(self, opinion, slack, case, home, kit):
        from triage.agent.casebook import Casebook

        slack.press(case, opinion, user="U5")
        assert "Noted" in kit.whole(self.second(slack, case))
        id = self.desk.inbox.case(f"C1:{case['thread_ts']}")[0]
        note = Casebook(home).get(id).events[-1]
        assert (note["kind"], note["content"]) == ("feedback", {"says": opinion, "by": "U5"})

    def test_resolved_closes_the_case(self, slack, case, home, kit):
        from triage.agent.casebook import Casebook

        slack.press(case, "resolved")
        assert "resolved" in kit.whole(self.second(slack, case))
        assert Casebook(home).get(self.desk.inbox.case(f"C1:{case['thread_ts']}")[0]).status == "resolved"

    def test_the_next_run_attached_with_verify_is_judged(self, slack, case, attached, kit):
        slack.mention("C1", "verify", thread=case["thread_ts"], files=attached("run-2"))
        answer = self.second(slack, case)
        assert "*fixed*" in kit.whole(answer)
        [table] = [b for b in answer["blocks"] if b["type"] == "table"]
        assert [cell["text"] for cell in table["rows"][0]][:2] == ["criterion", "result"]
        assert len(table["rows"]) >= 4

    def test_the_verify_button_asks_for_a_path(self, slack, case):
        slack.press(case, "verify")
        view = slack.until(lambda: slack.called("views.open"))[0]["view"]
        assert view["callback_id"] == "triage_verify"


def submit(slack, thread, path, kit, channel="C1"):
    data = {"channel": channel, "thread": thread, "direct": False, "lang": "en"}
    return slack.send("interactive", {"type": "view_submission", "user": {"id": "U2", "team_id": kit.team},
                                      "team": {"id": kit.team},
                                      "view": {"id": f"V{slack.ts()}", "callback_id": "triage_verify", "type": "modal",
                                               "private_metadata": json.dumps(data),
                                               "state": {"values": {"path": {"path": {"value": path}}}}}})  # fmt: skip


class TestPaths:
    @pytest.fixture
    def runs(self, tmp_path, kit):
        """Two teams' folders."""
        for team in "ab":
            shutil.copytree(kit.examples, tmp_path / team)
        return tmp_path

    def test_a_path_in_the_channels_folder_is_read_and_the_form_takes_the_next_run(self, slack, start, runs, kit):
        start(roots=[f"C1={runs / 'a'}"])
        asked = slack.mention("C1", f"loss is nan in {runs / 'a' / 'run-1'} why?")
        [answer] = slack.answered("C1", asked["ts"])
        assert "train.log:347" in kit.whole(answer)
        submit(slack, asked["ts"], "run-2", kit)
        assert "*fixed*" in kit.whole(slack.answered("C1", asked["ts"], 2)[1])

    def test_a_run_that_the_words_call_by_name_is_found_below_the_folders(self, slack, start, runs, kit):
        start(roots=[f"C1={runs / 'a'}", f"C2={runs}"])
        asked = slack.mention("C1", "look at run-1, loss nan")
        [answer] = slack.answered("C1", asked["ts"])
        assert "train.log:347" in kit.whole(answer)
        assert "Read: `run-1`" in kit.whole(answer)
        asked = slack.mention("C2", "look at run-1, loss nan")
        [answer] = slack.answered("C2", asked["ts"])
        assert "several runs are called so" in kit.whole(answer)
        assert "No run was given" in kit.whole(answer)

    @pytest.mark.parametrize("words", ["look at run-9, loss nan", "loss nan in ../b/run-1", "loss nan, run"])
    def test_no_other_word_is_taken_for_a_run(self, words, slack, start, runs, kit):
        start(roots=[f"C1={runs / 'a'}"])
        asked = slack.mention("C1", words)
        [answer] = slack.answered("C1", asked["ts"])
        assert "train.log" not in kit.whole(answer)

    def test_another_channels_folder_does_not_exist_here(self, slack, start, runs, kit):
        start(roots=[f"C1={runs / 'a'}", f"C2={runs / 'b'}"])
        asked = slack.mention("C2", f"loss is nan in {runs / 'a' / 'run-1'}")
        [answer] = slack.answered("C2", asked["ts"])
        assert "train.log:347" not in kit.whole(answer)
        assert "Not read" in kit.whole(answer)
        refused = slack.mention("C2", f"loss is nan --run {runs / 'a' / 'run-1'}")
        assert "outside the allowed folders" in kit.whole(slack.answered("C2", refused["ts"])[0])

    def test_a_folder_that_is_no_longer_allowed_is_not_read_for_an_old_case(self, slack, start, runs, kit):
        start(roots=[f"C1={runs / 'a'}"])
        asked = slack.mention("C1", f"loss is nan in {runs / 'a' / 'run-1'}")
        [answer] = slack.answered("C1", asked["ts"])
        start()
        slack.press(answer, "evidence")
        assert "No finding" in kit.whole(slack.answered("C1", asked["ts"], 2)[1])
        slack.mention("C1", "and now?", thread=asked["ts"])
        assert "train.log:347" not in kit.whole(slack.answered("C1", asked["ts"], 3)[2])

    def test_the_form_refuses_a_path_outside(self, slack, start, runs, kit):
        start(roots=[f"C1={runs / 'a'}"])
        envelope = submit(slack, slack.ts(), "/etc", kit)
        slack.until(lambda: envelope in slack.acked)
        assert slack.acked[envelope]["response_action"] == "errors"

    def test_without_folders_only_attachments_are_read(self, slack, start, runs, kit):
        start()
        asked = slack.mention("C1", f"loss is nan in {runs / 'a' / 'run-1'}")
        assert "Not read" in kit.whole(slack.answered("C1", asked["ts"])[0])


class TestPermissions:
    def refused(self, slack, channel, count=1):
        return slack.until(lambda: len(found := slack.called("chat.postEphemeral")) >= count and found)

    def test_elsewhere_and_to_others_it_says_so_to_them_alone(self, slack, start, kit):
        start(channels=["C1"], users=["U1"])
        slack.mention("C9", "loss is nan")
        slack.mention("C1", "loss is nan", user="U2")
        said = self.refused(slack, "C9", 2)
        assert {(c["channel"], c["user"]) for c in said} == {("C9", "U1"), ("C1", "U2")}
        asked = slack.mention("C1", "loss is nan")
        assert slack.answered("C1", asked["ts"])
        assert slack.replies("C9") == []

    def test_a_guest_of_another_workspace_must_be_named(self, slack, start):
        start()
        event = slack.say("C1", "loss is nan", user="U7")
        slack.announce(event | {"type": "app_mention", "user_team": "TOTHER"})
        self.refused(slack, "C1")
        assert slack.replies("C1") == []

    def test_others_talk_edits_and_other_apps_are_left_alone(self, slack, start, kit):
        start()
        for event in (
            slack.say("C1", "lunch?"),
            slack.say("C1", f"<@{kit.bot}> hi") | {"bot_id": "B7"},
            slack.say("C1", f"<@{kit.bot}> hi") | {"subtype": "message_changed"},
            slack.say("C1", f"<@{kit.bot}> hi") | {"user": kit.bot},
        ):
            envelope = slack.announce(event)
            slack.until(lambda e=envelope: e in slack.acked)
        asked = slack.mention("C1", "loss is nan")
        slack.answered("C1", asked["ts"])
        assert {m["thread_ts"] for m in slack.replies("C1")} == {asked["ts"]}


class TestAttachments:
    def ask(self, slack, kit, file):
        asked = slack.mention("C1", "loss is nan", files=[file])
        return kit.whole(slack.answered("C1", asked["ts"])[0])

    def test_a_picture_is_not_read_and_said_so(self, slack, start, kit):
        start()
        assert "plot.png (not text" in self.ask(slack, kit, slack.file("plot.png", b"x", mimetype="image/png"))

    def test_the_token_goes_to_slack_only(self, slack, start, kit):
        start()
        file = slack.file("train.log", b"x", url_private_download="http://evil.example/train.log")
        assert "not stored in Slack" in self.ask(slack, kit, file)

    def test_a_login_page_is_not_taken_for_a_log(self, slack, start, kit):
        start()
        file = slack.file("train.log", b"x", url_private_download=f"{slack.url}/files/login")
        assert "files:read" in self.ask(slack, kit, file)

    def test_a_huge_file_is_not_downloaded(self, slack, start, kit):
        start()
        assert "larger than 64 MB" in self.ask(slack, kit, slack.file("train.log", b"x", size=10**9))

    def test_a_name_cannot_leave_the_folder(self, slack, start, kit, home):
        start()
        self.ask(slack, kit, slack.file("x", kit.log) | {"name": "../../../../escaped.log"})
        assert not list(home.parent.glob("escaped*"))
        assert list((home / "slack").rglob("*escaped.log"))

    def test_two_files_of_one_name_are_both_kept(self, slack, start, kit, home):
        start()
        logs = [slack.file("train.log", f"rank {i} step: 1 loss: 2.0\n".encode() * 9) for i in range(2)]
        asked = slack.mention("C1", "loss is nan", files=logs)
        slack.answered("C1", asked["ts"])
        assert {p.name for p in (home / "slack" / "C1" / asked["ts"] / "run").iterdir()} == {"train.log", "train-2.log"}


def test_nothing_in_a_log_can_fire(slack, start, kit):
    """Mentions, channel calls, links and secrets in a run's text come out as dead letters."""
    start()
    secret = "hf_" + "aB3d" * 9
    person = "jane.doe" + "@corp-lab.cn"
    bait = f"RuntimeError: CUDA out of memory <!channel> <@U1> <https://evil.example|x> @here {secret} {person} ```\n"
    log = kit.log + bait.encode() * 3
    asked = slack.mention("C1", "oom, what should I change?", files=[slack.file("train.log", log)])
    [answer] = slack.answered("C1", asked["ts"])
    slack.press(answer, "evidence")
    slack.answered("C1", asked["ts"], 2)
    sent = json.dumps(slack.calls, ensure_ascii=False)
    for live in ("<!channel", "<@U1", "<https://evil", secret, person):
        assert live not in sent
    assert "&lt;!channel&gt;" in sent


def test_a_broken_tool_is_said_and_is_not_an_answer(slack, start, kit, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("private detail")

    monkeypatch.setattr("triage.ui.slack.desk.Conversation.ask", broken)
    start()
    asked = slack.mention("C1", "loss is nan")
    [answer] = slack.answered("C1", asked["ts"])
    assert "broke inside triage (RuntimeError)" in kit.whole(answer)
    assert "private detail" not in kit.whole(answer)


def test_the_manifest_in_the_documentation_asks_for_what_the_app_uses():
    import re
    from pathlib import Path

    import yaml

    page = (Path(__file__).parents[3] / "docs" / "slack.md").read_text(encoding="utf-8")
    manifest = yaml.safe_load(re.search(r"```yaml\n(.*?)```", page, re.DOTALL)[1])
    events = manifest["settings"]["event_subscriptions"]["bot_events"]
    assert {"app_mention", "assistant_thread_started", "message.channels", "message.groups", "message.im"} <= set(
        events
    )
    assert manifest["features"]["shortcuts"][0]["callback_id"] == "triage_message"
    assert manifest["settings"]["interactivity"]["is_enabled"]
    needed = {"app_mentions:read", "assistant:write", "channels:history", "chat:write", "commands", "files:read",
              "files:write", "groups:history", "im:history"}  # fmt: skip
    assert needed <= set(manifest["oauth_config"]["scopes"]["bot"])
