"""The Bolt app: what Slack sends becomes a request in the inbox before it is acknowledged.

Listeners only write the request down; if that fails Slack gets no acknowledgement and sends the event again. Signatures
are checked by Bolt before any of this runs.
"""

from __future__ import annotations

import fcntl
import json
import logging
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from slack_bolt import App, Assistant
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from ...agent.casebook import private
from ...agent.session import ready
from ...tools.findings import TriageError
from ..stopping import Stopped
from . import blocks
from .desk import Desk
from .inbox import Request
from .permissions import Permissions
from .words import WORDS

BODY_LIMIT = 1 << 20
"""Largest request over HTTP, in bytes; Slack's are far smaller."""
PROMPTS = (
    ("My loss became NaN", "loss is nan, what went wrong?"),
    ("The run hangs", "the run hangs without any log"),
    ("GPU out of memory", "CUDA out of memory, what should I change?"),
    ("训练卡死了", "训练卡死了，没有任何日志"),
)


def build(desk: Desk, web: WebClient, signing_secret: str = "") -> App:
    """The app with its listeners.

    Args:
        desk: where requests go.
        web: the client whose token is checked now.
        signing_secret: for HTTP; Socket Mode needs none.

    Raises:
        SlackApiError, BoltError: the token is refused.
    """
    logger = logging.getLogger("triage.slack")
    logger.setLevel(logging.ERROR)
    app = App(client=web, signing_secret=signing_secret, logger=logger, process_before_response=True)

    @app.event("app_mention")
    def mentioned(body: dict[str, Any], event: dict[str, Any]) -> None:
        desk.receive(from_message(body, event))

    @app.event("message")
    def said(body: dict[str, Any], event: dict[str, Any]) -> None:
        request = from_message(body, event)
        if _speaks(event) and (
            request.direct
            or f"<@{desk.bot}>" in request.text
            or (request.files and event.get("thread_ts") and desk.knows(request.where))
        ):
            desk.receive(request)

    @app.shortcut("triage_message")
    def chosen(ack: Callable[..., Any], body: dict[str, Any]) -> None:
        desk.receive(from_shortcut(body))
        ack()

    @app.action(re.compile(f"^triage_({'|'.join(blocks.BUTTONS)})$"))
    def pressed(ack: Callable[..., Any], body: dict[str, Any], client: WebClient) -> None:
        request = from_button(body)
        if request.kind == "verify" and desk.allows(request):
            client.views_open(trigger_id=body["trigger_id"], view=blocks.form(request, request.lang))
        else:
            desk.receive(request)
        ack()

    @app.view("triage_verify")
    def submitted(ack: Callable[..., Any], body: dict[str, Any]) -> None:
        request, path = from_form(body)
        if desk.allows(request) and not desk.readable(request, path):
            ack(response_action="errors", errors={"path": WORDS["outside"].say(request.lang, path=path)})
            return
        desk.receive(request)
        ack()

    app.use(assistant(desk))
    return app


def assistant(desk: Desk) -> Assistant:
    """The pane beside a conversation."""
    pane = Assistant()

    @pane.thread_started
    def opened(set_suggested_prompts: Callable[..., Any]) -> None:
        set_suggested_prompts(prompts=[{"title": title, "message": message} for title, message in PROMPTS])

    @pane.thread_context_changed
    def moved() -> None:
        """What the person looks at elsewhere is not read."""

    @pane.user_message
    def asked(body: dict[str, Any], event: dict[str, Any]) -> None:
        if _speaks(event):
            desk.receive(from_message(body, event))

    return pane


def _speaks(event: dict[str, Any]) -> bool:
    """Whether it is a new message of a person: no edit, deletion, or other app."""
    return event.get("subtype") in (None, "file_share", "thread_broadcast") and not event.get("bot_id")


def from_message(body: dict[str, Any], event: dict[str, Any]) -> Request:
    return Request(
        id=body["event_id"],
        kind="ask",
        channel=event["channel"],
        thread=event.get("thread_ts") or event["ts"],
        ts=event["ts"],
        user=event.get("user", ""),
        text=event.get("text", ""),
        files=tuple(event.get("files", ())),
        direct=event.get("channel_type") == "im",
        message=True,
        team=event.get("user_team") or event.get("team") or "",
    )


def from_shortcut(body: dict[str, Any]) -> Request:
    """The shortcut asks about the message it was used on, in that message's thread."""
    message = body["message"]
    return Request(
        id=body["trigger_id"],
        kind="ask",
        channel=body["channel"]["id"],
        thread=message.get("thread_ts") or message["ts"],
        ts=message["ts"],
        user=body["user"]["id"],
        text=message.get("text", ""),
        files=tuple(message.get("files", ())),
        direct=body["channel"]["id"].startswith("D"),
        team=body["user"].get("team_id", ""),
    )


def from_button(body: dict[str, Any]) -> Request:
    """A press of one of the buttons under an answer."""
    pressed, message = body["actions"][0], body["message"]
    return Request(
        id=body["trigger_id"],
        kind=pressed["action_id"].removeprefix("triage_"),
        channel=body["channel"]["id"],
        thread=message.get("thread_ts") or message["ts"],
        ts="",
        user=body["user"]["id"],
        direct=body["channel"]["id"].startswith("D"),
        team=body["user"].get("team_id", ""),
        lang=json.loads(pressed["value"])["lang"],
    )


def from_form(body: dict[str, Any]) -> tuple[Request, str]:
    """The next run that was named in the form, and its path as typed."""
    view = body["view"]
    path = view["state"]["values"]["path"]["path"]["value"].strip()
    asked = json.loads(view["private_metadata"])
    request = Request(
        id=view["id"],
        kind="verify",
        channel=asked["channel"],
        thread=asked["thread"],
        ts="",
        user=body["user"]["id"],
        text=f'--run "{path}"',
        direct=asked["direct"],
        team=body["user"].get("team_id", ""),
        lang=asked["lang"],
    )
    return request, path


@contextmanager
def alone(home: Path) -> Iterator[None]:
    """Hold the data directory: a second process would take up what the first one is at.

    Raises:
        TriageError: another process holds it.
    """
    with private(home / "slack.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise TriageError(f"another `triage slack` uses {home}; stop it or pass --home DIR") from None
        yield


def serve(web: WebClient, permissions: Permissions, home: Path, connect: Callable[[App], Any], secret: str) -> None:
    """Run until a signal stops it.

    Args:
        connect: a context in which the app hears Slack: `over_socket(token)` or `over_http(host, port)`.
        secret: the signing secret, for HTTP.

    Raises:
        TriageError: a token is refused, now or later.
    """
    with alone(home):
        try:
            desk = Desk(web, permissions, home)
            app = build(desk, web, secret)
            ready(home)
            with connect(app):
                desk.resume()
                print("triage: answering in Slack; Ctrl-C ends", file=sys.stderr, flush=True)
                try:
                    with suppress(Stopped):
                        desk.ended.wait()
                finally:
                    desk.close()
        except SlackApiError as error:
            refused = error.response.get("error")
            raise TriageError(f"Slack refused ({refused}): check the tokens and scopes, see docs/slack.md") from None
        if desk.why:
            raise TriageError(desk.why)


def over_socket(token: str) -> Callable[[App], Any]:
    """Socket Mode: no address of ours is reachable from outside."""

    @contextmanager
    def connected(app: App) -> Iterator[None]:
        from slack_bolt.adapter.socket_mode import SocketModeHandler

        handler = SocketModeHandler(app, token)
        handler.connect()
        try:
            yield
        finally:
            handler.close()

    return connected


def over_http(host: str, port: int) -> Callable[[App], Any]:
    """`/slack/events`, behind a proxy with TLS; Bolt checks each signature.

    Raises:
        TriageError: the port is taken.
    """

    @contextmanager
    def listening(app: App) -> Iterator[str]:
        import socket
        import threading

        import uvicorn
        from slack_bolt.adapter.asgi import SlackRequestHandler

        try:
            listener = socket.create_server((host, port))
        except OSError as error:
            raise TriageError(f"{host}:{port}: {error.strerror or error}; choose another --http-port") from None
        server = uvicorn.Server(uvicorn.Config(bounded(SlackRequestHandler(app)), log_level="error"))
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        address = f"http://{host}:{listener.getsockname()[1]}/slack/events"
        print(f"triage: {address}", file=sys.stderr, flush=True)
        try:
            yield address
        finally:
            server.should_exit = True
            thread.join()

    return listening


def bounded(app: Any) -> Any:
    """The ASGI application without requests that are large or do not say their length."""

    async def check(scope: Any, receive: Any, send: Any) -> None:
        sizes = [value for name, value in scope.get("headers", ()) if name == b"content-length"]
        if scope["type"] == "http" and not (sizes and sizes[0].isdigit() and int(sizes[0]) <= BODY_LIMIT):
            await send({"type": "http.response.start", "status": 413, "headers": []})
            await send({"type": "http.response.body", "body": b""})
        else:
            await app(scope, receive, send)

    return check
