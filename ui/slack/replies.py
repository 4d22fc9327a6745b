"""One reply a request: posted once, edited while the tools work, found again after a crash.

Posting is the one call that may not simply be repeated, so a request that was begun before first looks for its mark in
the thread. Edits are idempotent. Progress is shown at most every `PACE` seconds, and not while Slack asks to wait.
"""

from __future__ import annotations

import time
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from ...agent.events import Event, FindingMade, Notice, ToolStarted
from . import blocks
from .inbox import Inbox, Request
from .words import WORDS

PACE = 1.5
"""Seconds between edits: Slack allows about 50 a minute for the whole app."""
DEAD = {"token_revoked", "token_expired", "invalid_auth", "account_inactive", "not_authed"}
"""Errors after which no call can succeed."""
PASSING = {"ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"}
"""Errors after which the same call may succeed."""


def is_passing(error: SlackApiError) -> bool:
    response: Any = error.response
    return response.get("error") in PASSING or getattr(response, "status_code", 200) >= 500


class Reply:
    """The message that answers one request.

    Args:
        client: waits as long as Slack asks when the rate limit is hit.
        quick: the same without waiting, for what may be left out.
    """

    def __init__(self, client: WebClient, quick: WebClient, inbox: Inbox, request: Request, lang: str):
        self._client, self._quick, self._inbox, self._request, self._lang = client, quick, inbox, request, lang
        self._ts = request.reply
        self._uploaded: set[str] = set()
        self._tools: list[str] = []
        self._findings = 0
        self.notices: list[str] = []
        """What the turn said about itself."""
        self._next_edit = 0.0
        if request.tries > 1:
            self._find()

    def _find(self) -> None:
        """What an earlier try left in the thread."""
        since = {"oldest": self._request.ts, "inclusive": True} if self._request.ts else {}
        r = self._request
        found: Any = self._client.conversations_replies(channel=r.channel, ts=r.thread, limit=200, **since)
        for message in found["messages"]:
            self._uploaded |= {f.get("name", "") for f in message.get("files", ())}
            if any(b.get("block_id") == blocks.mark(r) for b in message.get("blocks", ())):
                self._ts = message["ts"]

    def start(self) -> None:
        """Show that somebody is at work."""
        self._show(self._client, blocks.progress((), 0, self._lang))
        if self._request.direct:
            self._status()

    def _status(self) -> None:
        r = self._request
        try:
            self._quick.assistant_threads_setStatus(
                channel_id=r.channel, thread_ts=r.thread, status=WORDS["status"].say(self._lang)
            )
        except SlackApiError:
            return  # a plain direct message has no status line

    def listen(self, event: Event) -> None:
        """Follow a turn, by edits of the one message."""
        if isinstance(event, ToolStarted):
            self._tools.append(event.name)
        elif isinstance(event, FindingMade):
            self._findings += 1
        elif isinstance(event, Notice):
            self.notices.append(event.text)
        if not isinstance(event, (ToolStarted, FindingMade)) or time.monotonic() < self._next_edit:
            return
        self._next_edit = time.monotonic() + PACE
        try:
            self._show(self._quick, blocks.progress(self._tools, self._findings, self._lang))
        except SlackApiError as error:
            if not is_passing(error):
                raise
            headers = {k.lower(): v for k, v in dict(getattr(error.response, "headers", {})).items()}
            self._next_edit = time.monotonic() + float(headers.get("retry-after", 30))

    def finish(self, message: blocks.Message) -> None:
        """The last edit, with the whole text attached when it was cut."""
        r, name = self._request, f"answer-{self._request.id}.md"
        if message.attachment and name not in self._uploaded:
            self._client.files_upload_v2(
                channel=r.channel, thread_ts=r.thread, filename=name, title="triage", content=message.attachment
            )
        self._show(self._client, message)

    def _show(self, client: WebClient, message: blocks.Message) -> None:
        r = self._request
        body: dict[str, Any] = {"channel": r.channel, "text": message.text, "blocks": blocks.marked(message, r)}
        if self._ts:
            try:
                client.chat_update(ts=self._ts, **body)
                return
            except SlackApiError as error:
                if error.response.get("error") != "message_not_found":  # somebody deleted it
                    raise
        posted = client.chat_postMessage(thread_ts=r.thread, unfurl_links=False, unfurl_media=False, **body)
        self._ts = str(posted["ts"])
        self._inbox.replied(r.id, self._ts)
