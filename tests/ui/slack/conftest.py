"""A local server that speaks the Slack Web API and Socket Mode as far as the app uses them, with Slack's limits."""

import itertools
import json
import socket
import threading
import time
from collections import defaultdict, deque
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
import uvicorn
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk import WebClient
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse
from starlette.routing import Route, WebSocketRoute

import triage.evals
from triage.ui.slack.app import build
from triage.ui.slack.desk import Desk
from triage.ui.slack.permissions import Permissions

EXAMPLES = Path(triage.evals.__path__[0]) / "example"
BOT, TEAM, TOKEN = "UBOT", "T1", "xoxb-" + "test"
PATIENCE = 100
"""Seconds after which a condition counts as never met."""


class FakeSlack:
    """Messages, files and what was asked of the API; `faults` script its next answers."""

    _ids = itertools.count(1)
    """Of all servers: the tests share one data directory, which must never meet an id twice."""

    def __init__(self):
        self.changed = threading.Condition()
        self.calls = []
        self.messages = {}
        """(channel, ts) -> message"""
        self.files = {}
        self.uploads = {}
        self.faults = defaultdict(deque)
        self.held = {}
        self.waiting = []
        """Methods of the calls that are held."""
        self.acked = {}
        self.revoked = False
        self.chaos = None
        """method -> fault, for calls that no script covers."""
        self._outgoing = deque()
        self._sockets = 0
        app = Starlette(
            routes=[
                Route("/api/{method}", self._api, methods=["POST", "GET"]),
                Route("/files/{name}", self._file),
                Route("/upload/{id}", self._upload, methods=["POST"]),
                WebSocketRoute("/link", self._link),
            ]
        )
        listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="websockets-sansio", lifespan="off"))
        self._thread = threading.Thread(target=self._server.run, args=([listener],), daemon=True)
        self._thread.start()

    def close(self):
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(10)

    def reset(self):
        with self.changed:
            for kept in (self.calls, self.messages, self.faults, self.held, self.uploads):
                kept.clear()
            self.revoked, self.chaos = False, None

    def hold(self, method):
        """Let calls of a method wait until `release`."""
        self.held[method] = threading.Event()

    def release(self):
        for gate in self.held.values():
            gate.set()
        self.held.clear()

    # What a test does

    def until(self, condition, what="the condition was never met"):
        """Wait for a condition, looked at again after each call and a few times a second; returns its value."""
        end = time.monotonic() + PATIENCE
        with self.changed:
            while not (value := condition()):
                assert time.monotonic() < end, what
                self.changed.wait(0.2)
        return value

    def ts(self):
        return f"{1_700_000_000 + next(self._ids)}.000100"

    def file(self, name, content, **more):
        """A file stored in Slack, as events describe it."""
        id = f"F{next(self._ids)}"
        self.files[f"{id}-{name}"] = content
        url = f"{self.url}/files/{id}-{name}"
        return {
            "id": id,
            "name": name,
            "size": len(content),
            "mimetype": "text/plain",
            "url_private_download": url,
        } | more

    def say(self, channel, text, thread=None, user="U1", files=(), ts=None):
        """A person writes a message; nothing is announced yet."""
        ts = ts or self.ts()
        message = {"type": "message", "channel": channel, "user": user, "text": text, "ts": ts, "team": TEAM}
        message |= {"files": list(files)} if files else {}
        message |= {"thread_ts": thread} if thread else {}
        with self.changed:
            self.messages[channel, ts] = message
        return message

    def announce(self, event, event_id=None, **envelope):
        """Send an event over Socket Mode; returns its envelope's id, which is acknowledged once it is kept."""
        payload = {
            "type": "event_callback",
            "team_id": TEAM,
            "event": event,
            "event_id": event_id or f"Ev{next(self._ids)}",
        }
        return self.send("events_api", payload, **envelope)

    def mention(self, channel, text, event_id=None, **more):
        """Somebody mentions the app."""
        event = self.say(channel, f"<@{BOT}> {text}", **more)
        self.announce(event | {"type": "app_mention"}, event_id)
        return event

    def send(self, type, payload, **envelope):
        id = f"env{next(self._ids)}"
        with self.changed:
            self._outgoing.append({"envelope_id": id, "type": type, "payload": payload} | envelope)
            self.changed.notify_all()
        return id

    def press(self, message, name, user="U2"):
        """Press a button of one of the app's messages."""
        element = next(e for b in message["blocks"] if b["type"] == "actions" for e in b["elements"]
                       if e["action_id"] == f"triage_{name}")  # fmt: skip
        body = {
            "type": "block_actions",
            "trigger_id": f"trigger.{next(self._ids)}",
            "user": {"id": user, "team_id": TEAM},
            "team": {"id": TEAM},
            "channel": {"id": message["channel"]},
            "message": message,
            "actions": [
                {"action_id": element["action_id"], "block_id": "b", "type": "button", "value": element["value"]}
            ],
        }
        return self.send("interactive", body)

    def replies(self, channel, thread=None):
        """The app's messages, in the order in which they were posted, without the files that belong to them."""
        with self.changed:
            spoken = ((c, m) for (c, _), m in self.messages.items() if m["user"] == BOT and not m.get("files"))
            mine = [m for c, m in spoken if c == channel]
            return [m for m in mine if thread in (None, m.get("thread_ts"))]

    def answers(self, channel, thread=None):
        """Replies in their final form: no progress, and no file that belongs to one."""
        return [m for m in self.replies(channel, thread) if m["blocks"] and not is_progress(m)]

    def answered(self, channel, thread=None, count=1):
        return self.until(lambda: len(found := self.answers(channel, thread)) >= count and found)

    def called(self, method):
        with self.changed:
            return [arguments for name, arguments in self.calls if name == method]

    # What the server does

    async def _api(self, request):
        return await run_in_threadpool(self._serve, request.path_params["method"], await request.body(), request)

    def _serve(self, method, body, request):
        if gate := self.held.get(method):
            with self.changed:
                self.waiting.append(method)
                self.changed.notify_all()
            gate.wait(PATIENCE)
            with self.changed:
                self.waiting.remove(method)
        arguments = _arguments(body, request)
        token = request.headers.get("authorization", "").removeprefix("Bearer ") or arguments.get("token")
        with self.changed:
            self.calls.append((method, arguments))
            fault = self.faults[method].popleft() if self.faults[method] else self.chaos and self.chaos(method)
            try:
                if self.revoked:
                    return JSONResponse({"ok": False, "error": "token_revoked"})
                assert token == ("xapp-1" if method == "apps.connections.open" else TOKEN)
                if fault == "lost":  # done, but the caller never hears of it
                    self._do(method, arguments)
                    return PlainTextResponse("oops", 503)
                if isinstance(fault, int):
                    return JSONResponse({"ok": False, "error": "ratelimited"}, 429, headers={"Retry-After": str(fault)})
                if fault:
                    return JSONResponse({"ok": False, "error": fault})
                return JSONResponse({"ok": True} | self._do(method, arguments))
            except ApiError as error:
                return JSONResponse({"ok": False, "error": str(error)})
            finally:
                self.changed.notify_all()

    def _do(self, method, arguments):
        return getattr(self, method.replace(".", "_"))(**arguments)

    def auth_test(self, **_):
        return {"user_id": BOT, "team_id": TEAM, "bot_id": "B1", "team": "t", "user": "triage", "url": "x"}

    def apps_connections_open(self, **_):
        return {"url": self.url.replace("http", "ws") + "/link"}

    def chat_postMessage(self, channel, text="", thread_ts=None, blocks=(), **more):
        assert not more.get("link_names")
        check_blocks(blocks)
        ts = self.ts()
        self.messages[channel, ts] = {"channel": channel, "user": BOT, "ts": ts, "thread_ts": thread_ts, "text": text,
                                      "blocks": blocks}  # fmt: skip
        return {"ts": ts, "channel": channel}

    def chat_update(self, channel, ts, text="", blocks=(), **_):
        check_blocks(blocks)
        if (channel, ts) not in self.messages:
            raise ApiError("message_not_found")
        self.messages[channel, ts] |= {"text": text, "blocks": blocks}
        return {"ts": ts}

    def chat_postEphemeral(self, channel, user, text="", **_):
        return {"message_ts": self.ts()}

    def conversations_replies(self, channel, ts, oldest="0", latest="9", limit=200, cursor="", **_):
        thread = [m for (c, at), m in self.messages.items()
                  if c == channel and ts in (at, m.get("thread_ts")) and float(oldest) <= float(at)
                  and (latest == "9" or float(at) <= float(latest))]  # fmt: skip
        at = int(cursor or 0)
        after = str(at + int(limit)) if at + int(limit) < len(thread) else ""
        return {"messages": thread[at : at + int(limit)], "response_metadata": {"next_cursor": after}}

    def files_getUploadURLExternal(self, filename, length, **_):
        id = f"FU{next(self._ids)}"
        self.uploads[id] = {"name": filename, "length": int(length)}
        return {"file_id": id, "upload_url": f"{self.url}/upload/{id}"}

    def files_completeUploadExternal(self, files, channel_id, thread_ts, **_):
        ts = self.ts()
        named = [{"id": f["id"], "name": self.uploads[f["id"]]["name"]} for f in files]
        self.messages[channel_id, ts] = {"channel": channel_id, "user": BOT, "ts": ts, "thread_ts": thread_ts,
                                         "text": "", "blocks": [], "files": named}  # fmt: skip
        return {"files": named}

    def views_open(self, trigger_id, view, **_):
        return {"view": {"id": f"V{next(self._ids)}"}}

    def assistant_threads_setStatus(self, **_):
        return {}

    def assistant_threads_setSuggestedPrompts(self, **_):
        return {}

    async def _file(self, request):
        name = request.path_params["name"]
        if name == "login":
            return PlainTextResponse("<html>sign in</html>", media_type="text/html")
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return RedirectResponse(f"{self.url}/files/login")
        return PlainTextResponse(self.files[name], media_type="text/plain")

    async def _upload(self, request):
        self.uploads[request.path_params["id"]]["content"] = (await request.body()).decode("utf-8", "replace")
        return PlainTextResponse("OK")

    async def _link(self, websocket):
        await websocket.accept()
        await websocket.send_json({"type": "hello", "num_connections": 1})
        with self.changed:
            self._sockets += 1
            mine = self._sockets
            self.changed.notify_all()
        receiver = threading.Event()

        def next_envelope():
            with self.changed:
                self.changed.wait_for(lambda: self._outgoing or self._sockets != mine or receiver.is_set(), 0.2)
                return self._outgoing.popleft() if self._outgoing and self._sockets == mine else None

        import asyncio

        async def acknowledge():
            try:
                while True:
                    ack = await websocket.receive_json()
                    with self.changed:
                        self.acked[ack["envelope_id"]] = ack.get("payload")
                        self.changed.notify_all()
            except Exception:
                receiver.set()

        reading = asyncio.create_task(acknowledge())
        while not receiver.is_set() and not self._server.should_exit:
            if envelope := await run_in_threadpool(next_envelope):
                await websocket.send_json(envelope)
                if envelope["type"] == "disconnect":
                    break
        reading.cancel()


class ApiError(Exception):
    """What Slack says instead of ok."""


def _arguments(body, request):
    if request.headers.get("content-type", "").startswith("application/json"):
        return json.loads(body or b"{}")
    found = dict(parse_qsl(body.decode(), keep_blank_values=True)) | dict(request.query_params)
    return {k: json.loads(v) if k in ("blocks", "files", "view", "prompts") else v for k, v in found.items()}


def check_blocks(blocks):
    """What Slack refuses."""
    assert len(blocks) <= 50
    for block in blocks:
        if block["type"] == "section":
            assert 0 < len(block["text"]["text"]) <= 3000
            assert block["text"]["verbatim"] is True
        if block["type"] == "context":
            assert 0 < len(block["elements"]) <= 10
        if block["type"] == "table":
            assert 0 < len(block["rows"]) <= 100
            assert {len(row) for row in block["rows"]} == {len(block["column_settings"])}
            assert all(cell["type"] == "raw_text" and cell["text"] for row in block["rows"] for cell in row)
        assert len(block.get("block_id", "")) <= 255
    assert sum(block["type"] == "table" for block in blocks) <= 1


def is_progress(message):
    text = message["text"]
    return text.startswith(("Looking at it", "Looked at:", "Now:", "正在", "已查看"))


def whole(message):
    """Everything that a message shows."""
    shown = [b["text"]["text"] for b in message["blocks"] if b["type"] == "section"]
    shown += [e["text"] for b in message["blocks"] if b["type"] == "context" for e in b["elements"]]
    shown += [c["text"] for b in message["blocks"] if b["type"] == "table" for row in b["rows"] for c in row]
    return "\n".join(shown)


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """One data directory for all: the runbook's index is made once."""
    from triage.agent.session import index

    folder = tmp_path_factory.mktemp("home")
    index(folder).search("warm")
    return folder


@contextmanager
def running(server, home):
    """The app over Socket Mode; its desk."""
    web = WebClient(TOKEN, base_url=f"{server.url}/api/")
    desk = Desk(web, Permissions.given((), (), ()), home, pause=0.05)
    handler = SocketModeHandler(build(desk, web), "xapp-1")
    handler.connect()
    desk.resume()
    try:
        yield desk
    finally:
        desk.close()
        handler.close()


@pytest.fixture(scope="session")
def workspace(home):
    """A server and the app connected to it: closing a connection takes seconds, so tests share one."""
    server = FakeSlack()
    with running(server, home) as desk:
        yield server, desk
    server.close()


@pytest.fixture
def slack(workspace):
    """The server; channels of a test are its own."""
    server, desk = workspace
    server.reset()
    desk.permissions = Permissions.given((), (), ())
    yield server
    server.release()
    server.until(lambda: not {"waiting", "working"} & desk.inbox.counts().keys(), "requests are left over")


@pytest.fixture
def start(workspace):
    """Set who may ask and which folders may be read: `start(channels=..., users=..., roots=...)`; returns the desk."""

    def allow(channels=(), users=(), roots=()):
        workspace[1].permissions = Permissions.given(channels, users, roots)
        return workspace[1]

    return allow


@pytest.fixture
def alone(home, tmp_path):
    """A server of the test's own, a data directory with the index in it, and how to run the app on both."""
    import shutil

    shutil.copytree(home / "cache", tmp_path / "home" / "cache")
    server = FakeSlack()
    yield server, tmp_path / "home", running
    server.release()
    server.close()


@pytest.fixture
def kit():
    """Helpers of this file that tests call."""
    import types

    log = (EXAMPLES / "run-1" / "train.log").read_bytes()
    return types.SimpleNamespace(whole=whole, examples=EXAMPLES, bot=BOT, team=TEAM, token=TOKEN, log=log)
