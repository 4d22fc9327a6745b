"""Nothing lost, nothing answered twice: repeated and reordered events, rate limits, crashes, revoked tokens, HTTP."""

import hashlib
import hmac
import json
import os
import random
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import httpx2
import pytest
from slack_sdk import WebClient

from triage.tools.findings import TriageError
from triage.ui.slack import blocks, replies
from triage.ui.slack.app import alone as alone_in
from triage.ui.slack.app import build, over_http
from triage.ui.slack.inbox import Inbox, Request

TRIAGE = str(Path(sys.executable).with_name("triage"))


def settled(slack, desk):
    slack.until(lambda: not {"waiting", "working"} & desk.inbox.counts().keys())


def test_an_event_announced_three_times_and_as_a_message_is_answered_once(slack, start):
    desk = start()
    asked = slack.say("C1", "<@UBOT> loss is nan")
    mention, message = asked | {"type": "app_mention"}, asked
    sent = [slack.announce(mention, f"Ev-{asked['ts']}", retry_attempt=n, retry_reason="timeout") for n in range(3)]
    sent.append(slack.announce(message))
    slack.until(lambda: all(e in slack.acked for e in sent))
    settled(slack, desk)
    assert len(slack.replies("C1", asked["ts"])) == 1


def test_a_repeated_event_after_the_answer_is_not_answered_again(slack, start):
    desk = start()
    asked = slack.mention("C1", "loss is nan")
    slack.answered("C1", asked["ts"])
    late = slack.announce(asked | {"type": "app_mention"}, retry_attempt=3)
    slack.until(lambda: late in slack.acked)
    settled(slack, desk)
    assert len(slack.replies("C1", asked["ts"])) == 1


def test_retries_that_arrive_out_of_order_are_answered_in_the_order_of_the_messages(slack, start, kit):
    start()
    slack.hold("chat.postMessage")
    first = slack.mention("C1", "loss is nan")
    slack.until(lambda: slack.waiting)
    earlier = slack.say("C1", "<@UBOT> the run hangs without any log", thread=first["ts"])
    later = slack.say("C1", "<@UBOT> 显存不够，应该改什么？", thread=first["ts"])
    sent = [slack.announce(event | {"type": "app_mention"}, retry_attempt=1) for event in (later, earlier)]
    slack.until(lambda: all(e in slack.acked for e in sent))
    slack.release()
    _, second, third = (kit.whole(m) for m in slack.answered("C1", first["ts"], 3))
    assert "No run was given" in " ".join(second.split())
    assert "没有给出运行目录" in third


def test_three_people_in_one_thread_are_answered_in_turn(slack, start):
    """Each gets an answer, and no turn begins before the one before it ended."""
    start()
    first = slack.mention("C1", "loss is nan", user="U1")
    for user, text in (("U2", "CUDA out of memory"), ("U3", "the run hangs without any log"), ("U1", "and now?")):
        slack.mention("C1", text, thread=first["ts"], user=user)
    found = slack.answered("C1", first["ts"], 4)
    assert len({m["ts"] for m in found}) == 4
    order = [a.get("ts") or "post" for name, a in slack.calls if name in ("chat.postMessage", "chat.update")]
    posts = [i for i, what in enumerate(order) if what == "post"]
    assert len(posts) == 4
    for begin, end in zip(posts, [*posts[1:], len(order)], strict=True):
        assert len(set(order[begin + 1 : end])) == 1


def test_many_threads_at_once_are_all_answered_once(slack, start):
    start()
    asked = [slack.mention("C1", f"loss is nan in run {i}") for i in range(12)]
    for event in asked:
        slack.answered("C1", event["ts"])
    assert len(slack.replies("C1")) == 12


def test_in_a_storm_of_repeated_reordered_and_failing_calls_every_message_is_answered_once(slack, start):
    """Sixty messages in ten threads, each announced up to four times in any order; a tenth of all calls fails."""
    desk = start()
    chance = random.Random(8)
    slack.chaos = lambda method: chance.choice([None] * 27 + ["lost", "internal_error", 0]) if "." in method else None
    asked = [slack.say("C1", f"<@UBOT> loss is nan in run {i}") for i in range(10)]
    asked += [slack.say("C1", f"<@UBOT> and in run {i}?", thread=chance.choice(asked[:10])["ts"], user=f"U{i % 7}")
              for i in range(50)]  # fmt: skip
    events = [(e | {"type": "app_mention"}, f"Ev{e['ts']}") for e in asked for _ in range(chance.randint(1, 3))]
    events += [(e, f"Evm{e['ts']}") for e in asked if chance.random() < 0.5]
    chance.shuffle(events)
    sent = [slack.announce(event, id) for event, id in events]
    slack.until(lambda: all(e in slack.acked for e in sent))
    slack.until(lambda: not {"waiting", "working"} & desk.inbox.counts().keys())
    slack.chaos = None
    replies_to = {b["block_id"] for m in slack.answers("C1") for b in m["blocks"] if b.get("block_id")}
    assert len(slack.answers("C1")) == len(slack.replies("C1")) == len(asked) == len(replies_to)


def test_rate_limits_are_waited_for(slack, start):
    start()
    slack.faults["chat.postMessage"].append(1)
    slack.faults["chat.update"].extend([0, 0])
    slack.faults["conversations.replies"].append(0)
    asked = slack.mention("C1", "loss is nan")
    slack.answered("C1", asked["ts"])
    assert len(slack.replies("C1", asked["ts"])) == 1
    assert len(slack.called("chat.postMessage")) == 2


def test_a_rate_limit_never_delays_an_answer_for_the_sake_of_progress(slack, start, kit):
    """Progress edits are left out while Slack asks to wait for half an hour; the last edit comes all the same."""
    start()
    slack.faults["chat.update"].append(1800)
    asked = slack.mention("C1", "loss is nan", files=[slack.file("train.log", kit.log)])
    assert slack.answered("C1", asked["ts"])


def test_a_message_that_was_posted_but_not_confirmed_is_found_and_edited(slack, start):
    start()
    slack.faults["chat.postMessage"].append("lost")
    asked = slack.mention("C1", "loss is nan")
    slack.answered("C1", asked["ts"])
    assert len(slack.replies("C1", asked["ts"])) == 1


def test_passing_errors_are_tried_again_and_lasting_ones_are_reported(slack, start, capfd):
    desk = start()
    slack.faults["chat.postMessage"].extend(["internal_error", "service_unavailable"])
    asked = slack.mention("C1", "loss is nan")
    assert slack.answered("C1", asked["ts"])
    slack.faults["chat.postMessage"].extend(["is_archived", "is_archived"])
    failed = desk.inbox.counts().get("failed", 0)
    slack.mention("C1", "loss is nan")
    slack.until(lambda: desk.inbox.counts().get("failed", 0) == failed + 1)
    assert "is_archived" in capfd.readouterr().err


def test_where_the_app_is_not_a_member_the_person_is_told(slack, start):
    start()
    slack.faults["chat.postMessage"].append("not_in_channel")
    slack.mention("C1", "loss is nan", user="U4")
    slack.until(lambda: slack.replies("U4"))
    assert "invite me" in slack.replies("U4")[0]["text"]


def test_a_deleted_progress_message_is_posted_anew(slack, start):
    start()
    slack.faults["chat.update"].append("message_not_found")
    asked = slack.mention("C1", "loss is nan")
    slack.answered("C1", asked["ts"])


def test_what_cannot_be_kept_is_not_acknowledged(slack, start, monkeypatch):
    """Slack sends it again; then it is answered once."""
    desk = start()
    tried = threading.Event()

    def full(request):
        tried.set()
        raise TriageError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(desk.inbox, "add", full)
        asked = slack.say("C1", "<@UBOT> loss is nan") | {"type": "app_mention"}
        lost = slack.announce(asked, "Ev-lost")
        assert tried.wait(60)
        edited = {"type": "message", "subtype": "message_changed", "channel": "C1", "ts": slack.ts()}
        after = slack.announce(edited)
        slack.until(lambda: after in slack.acked)
        assert lost not in slack.acked
    again = slack.announce(asked, "Ev-lost", retry_attempt=1)
    slack.answered("C1", asked["ts"])
    assert again in slack.acked
    assert len(slack.replies("C1", asked["ts"])) == 1


def test_a_revoked_token_ends_the_app_and_what_waits_is_answered_after_the_next_start(alone, kit):
    server, home, running = alone
    with running(server, home) as desk:
        server.revoked = True
        asked = server.mention("C1", "loss is nan")
        assert desk.ended.wait(60)
        assert "token_revoked" in desk.why
        server.until(lambda: desk.inbox.counts() == {"waiting": 1})
    server.revoked = False
    with running(server, home) as desk:
        server.answered("C1", asked["ts"])
    assert len(server.replies("C1", asked["ts"])) == 1


def test_a_dropped_connection_is_made_again(alone):
    server, home, running = alone
    with running(server, home):
        server.send("disconnect", {"reason": "refresh_requested"})
        server.until(lambda: len(server.called("apps.connections.open")) == 2)
        asked = server.mention("C1", "loss is nan")
        server.answered("C1", asked["ts"])


@contextmanager
def process(command, environment):
    """A process that is killed at the end, whatever happens."""
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as app:
        try:
            yield
        finally:
            app.kill()


def test_a_process_killed_in_the_middle_of_an_answer_answers_once_after_its_restart(alone, kit):
    """Killed three times: after the event was kept, after the progress message, and before the last edit."""
    server, home, _ = alone
    environment = os.environ | {"TRIAGE_HOME": str(home), "SLACK_BOT_TOKEN": kit.token, "SLACK_APP_TOKEN": "xapp-1"}
    command = [TRIAGE, "slack", "--api", f"{server.url}/api/"]
    asked = None
    for held in ("chat.postMessage", "conversations.replies", "chat.update"):
        server.hold(held)
        with process(command, environment):
            asked = asked or server.mention("C1", "loss is nan", files=[server.file("train.log", kit.log)])
            server.until(lambda: server.waiting)
        server.release()
        server.until(lambda: not server.waiting)
    with process(command, environment):
        [answer] = server.answered("C1", asked["ts"])
    assert "train.log:347" in kit.whole(answer)
    assert len(server.replies("C1", asked["ts"])) == 1


def test_one_process_a_data_directory(tmp_path):
    with alone_in(tmp_path), pytest.raises(TriageError, match="another"), alone_in(tmp_path):
        pass


class TestCommand:
    def run(self, alone, kit, *arguments, **environment):
        server, home, _ = alone
        given = {k: v for k, v in os.environ.items() if not k.startswith("SLACK_")} | {"TRIAGE_HOME": str(home)}
        command = [TRIAGE, "slack", "--api", f"{server.url}/api/", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=100, env=given | environment)

    def test_a_missing_token_is_named(self, alone, kit):
        done = self.run(alone, kit, SLACK_BOT_TOKEN="x")
        assert (done.returncode, "SLACK_APP_TOKEN is not set" in done.stderr) == (2, True)

    def test_a_refused_token_is_one_line(self, alone, kit):
        alone[0].revoked = True
        done = self.run(alone, kit, SLACK_BOT_TOKEN=kit.token, SLACK_APP_TOKEN="xapp-1")
        assert (done.returncode, "token_revoked" in done.stderr, "Traceback" in done.stderr) == (2, True, False)


class TestHttp:
    """The same app behind `/slack/events`."""

    @pytest.fixture
    def address(self, workspace, slack):
        server, desk = workspace
        web = WebClient(desk._client.token, base_url=f"{server.url}/api/")
        with over_http("127.0.0.1", 0)(build(desk, web, "secret")) as address:
            yield address

    def post(self, address, body, secret="secret", age=0, form=False):
        text, at = json.dumps(body), str(int(time.time()) - age)
        text = urlencode({"payload": text}) if form else text
        kind = "application/x-www-form-urlencoded" if form else "application/json"
        signature = "v0=" + hmac.new(secret.encode(), f"v0:{at}:{text}".encode(), hashlib.sha256).hexdigest()
        headers = {"X-Slack-Signature": signature, "X-Slack-Request-Timestamp": at, "Content-Type": kind}
        return httpx2.post(address, content=text, headers=headers).status_code

    def event(self, slack):
        asked = slack.say("C1", "<@UBOT> loss is nan") | {"type": "app_mention"}
        return {"type": "event_callback", "team_id": "T1", "event_id": f"Ev{asked['ts']}", "event": asked}

    def test_a_signed_event_is_answered_and_its_retry_is_not(self, address, slack, start):
        desk = start()
        body = self.event(slack)
        assert [self.post(address, body) for _ in range(2)] == [200, 200]
        slack.answered("C1", body["event"]["ts"])
        settled(slack, desk)
        assert len(slack.replies("C1", body["event"]["ts"])) == 1

    def test_a_button_is_answered(self, address, slack, start, kit):
        start()
        asked = slack.mention("C1", "loss is nan")
        [answer] = slack.answered("C1", asked["ts"])
        button = next(e for b in answer["blocks"] if b["type"] == "actions" for e in b["elements"])
        body = {"type": "block_actions", "trigger_id": f"t{asked['ts']}", "user": {"id": "U2", "team_id": kit.team},
                "team": {"id": kit.team}, "channel": {"id": "C1"}, "message": answer,
                "actions": [{**button, "block_id": "b"}]}  # fmt: skip
        assert self.post(address, body, form=True) == 200
        assert "Check first" in kit.whole(slack.answered("C1", asked["ts"], 2)[1])

    def test_a_wrong_or_old_signature_is_refused(self, address, slack, start):
        desk = start()
        body = self.event(slack)
        assert self.post(address, body, secret="guessed") == 401
        assert self.post(address, body, age=600) == 401
        assert desk.inbox.add(Request(body["event_id"], "ask", "C1", "1", "", "U1"))
        desk.inbox.settle(body["event_id"], "done")

    def test_a_large_body_is_refused_unread(self, address):
        assert httpx2.post(address, content=b"x" * (2 << 20)).status_code == 413


class TestLongAnswers:
    LONG = "\n".join(f"### Part {i}\n" + "- evidence of something in the log & more\n" * 30 for i in range(12))

    def test_they_fit_slacks_limits_and_say_that_the_rest_is_attached(self):
        message = blocks.markdown(self.LONG, "en", ["note"])
        assert message.attachment == self.LONG
        assert "attached file" in json.dumps(message.blocks)
        assert all(len(b["text"]["text"]) <= 3000 for b in message.blocks if b["type"] == "section")

    def test_the_whole_is_attached_once_even_when_the_turn_is_repeated(self, slack, start):
        desk = start()
        asked = slack.say("C1", "x")
        request = Request(f"Ev{asked['ts']}", "ask", "C1", asked["ts"], asked["ts"], "U1", tries=1)
        for tries in (1, 2):
            again = Request(**{**request.__dict__, "tries": tries})
            reply = replies.Reply(desk._client, desk._quick, desk.inbox, again, "en")
            reply.finish(blocks.markdown(self.LONG, "en"))
        assert [u["content"] for u in slack.uploads.values()] == [self.LONG]
        assert len(slack.answers("C1", asked["ts"])) == 1

    def test_a_fence_is_closed_and_opened_again_at_a_cut(self):
        text = "```diff\n" + "+ a line of a very long patch\n" * 300 + "```\nafter"
        shown = [b["text"]["text"] for b in blocks.markdown(text, "en").blocks if b["type"] == "section"]
        assert len(shown) > 2
        assert all(s.count("```") % 2 == 0 for s in shown)


class TestInbox:
    def request(self, id, ts="1.0", **more):
        return Request(id, "ask", "C1", "1.0", ts, "U1", message=True, **more)

    def test_what_was_begun_waits_again_after_a_restart_and_knows_its_reply(self, tmp_path):
        box = Inbox(tmp_path)
        assert box.add(self.request("a"))
        assert not box.add(self.request("a"))
        assert not box.add(self.request("b"))  # the same message, announced as another event
        assert box.claim("C1:1.0").tries == 1
        box.replied("a", "9.9")
        box = Inbox(tmp_path)
        again = box.claim("C1:1.0")
        assert (again.id, again.tries, again.reply) == ("a", 2, "9.9")
        box.settle("a", "done")
        assert Inbox(tmp_path).claim("C1:1.0") is None

    def test_the_text_of_an_answered_request_is_forgotten(self, tmp_path):
        box = Inbox(tmp_path)
        box.add(self.request("a", text="our secret project"))
        box.settle("a", "done")
        assert b"secret project" not in b"".join(p.read_bytes() for p in tmp_path.iterdir())
