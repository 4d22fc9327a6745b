"""Answers what the inbox holds: one request after another within a thread, several threads at a time.

A request ends in one of three ways: answered (an error that a person can mend is an answer), tried again later because
Slack or the network failed, or given up with a line on standard error. A revoked token stops the app; what waits is
answered after the next start.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import URLError

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_handlers import RateLimitErrorRetryHandler

from ...agent.answer import Answer
from ...agent.casebook import Casebook
from ...agent.conversation import Conversation
from ...agent.narrate.verdict import verdict_text
from ...agent.session import language
from ...knowledge.entry import RunbookError
from ...tools.findings import TriageError, clean
from ..roots import Roots
from . import blocks, replies, text
from .files import Attachments
from .inbox import Inbox, Request
from .permissions import Permissions
from .words import WORDS

WORKERS = 4
MOST_TRIES = 8
PAUSE = 2.0
"""Seconds before a second try; doubled for each further one, at most a minute."""
PAGES = 5
"""Of 200 messages each, read of a thread to find its attachments."""
TALKS = 4
"""Threads whose runs are kept in memory, so that a follow-up is answered at once."""
NETWORK = (URLError, ConnectionError, TimeoutError, HTTPException)
"""After which the same request may succeed."""


class Desk:
    """The workers behind the app.

    Args:
        web: the client to copy: token, API address.
        home: the data directory; cases, the inbox and attachments live there.
    """

    def __init__(self, web: WebClient, permissions: Permissions, home: Path, pause: float = PAUSE):
        self._quick = WebClient(token=web.token, base_url=web.base_url, retry_handlers=[])
        waits = [RateLimitErrorRetryHandler(max_retry_count=5)]
        self._client = WebClient(token=web.token, base_url=web.base_url, retry_handlers=waits)  # pyright: ignore[reportArgumentType]
        self.permissions, self._home, self._pause = permissions, home, pause
        me = self._client.auth_test()
        self.bot, self._team = str(me["user_id"]), str(me["team_id"])
        self.inbox = Inbox(home)
        self._files = Attachments(home / "slack", self.inbox, web.token or "", web.base_url)
        self._files.forget_old()
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="slack")
        self._lock = threading.Lock()
        self._busy: set[str] = set()
        self._talks: dict[str, Conversation] = {}
        self._resuming = threading.Lock()
        self.ended = threading.Event()
        self.why = ""
        """Why it ended by itself; empty while it runs."""

    def receive(self, request: Request) -> None:
        """Keep a request and see that it is answered; returns at once."""
        if self.inbox.add(request):
            self.wake(request.where)

    def resume(self) -> None:
        """Take up what an earlier process left."""
        for where in self.inbox.waiting():
            self.wake(where)

    def allows(self, request: Request) -> bool:
        return self.permissions.allows(request, self._team)

    def readable(self, request: Request, path: str) -> bool:
        """Whether a path may be read in answer to a request, and exists."""
        try:
            return self.permissions.folders(request).path(path).exists()
        except TriageError:
            return False

    def knows(self, where: str) -> bool:
        """Whether a thread has a case."""
        return bool(self.inbox.case(where)[0])

    def close(self) -> None:
        """Let the workers finish what they are at."""
        self.ended.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def wake(self, where: str) -> None:
        with self._lock:
            if where in self._busy or self.ended.is_set():
                return
            self._busy.add(where)
            self._pool.submit(self._work, where)

    def _work(self, where: str) -> None:
        """Everything that waits in a thread, in order."""
        while not self.ended.is_set():
            request = self.inbox.claim(where)
            if request is None:
                with self._lock:
                    if where not in self.inbox.waiting():
                        self._busy.discard(where)
                        return
            elif not self._settle(request):
                break
        with self._lock:
            self._busy.discard(where)

    def _settle(self, request: Request) -> bool:
        """Answer one request; False when its thread must wait."""
        try:
            self._answer(request)
        except SlackApiError as error:
            if error.response.get("error") in replies.DEAD:
                self._end(f"Slack refused the token ({error.response['error']}): install the app again and start anew")
            elif not replies.is_passing(error):
                return self._give_up(request, str(error.response.get("error")))
            return self._later(request, str(error.response.get("error")))
        except NETWORK as error:
            return self._later(request, type(error).__name__)
        except Exception as error:
            return self._give_up(request, f"internal error: {type(error).__name__}: {error}")
        self.inbox.settle(request.id, "done")
        return True

    def _later(self, request: Request, why: str) -> bool:
        if request.tries >= MOST_TRIES and not self.why:
            return self._give_up(request, why)
        self.inbox.settle(request.id, "waiting")
        if not self.why:
            timer = threading.Timer(min(60.0, self._pause * 2 ** (request.tries - 1)), self.wake, [request.where])
            timer.daemon = True
            timer.start()
        return False

    def _give_up(self, request: Request, why: str) -> bool:
        """Note a request that cannot be answered, and tell the person where that is still possible."""
        lang = _lang(request)
        try:
            if why in ("not_in_channel", "channel_not_found"):
                self._client.chat_postMessage(channel=request.user, text=WORDS["invite"].say(lang))
            else:
                self._reply(request, lang).finish(blocks.failure(why, lang))
        except (SlackApiError, *NETWORK) as error:
            why = f"{why}; {type(error).__name__}"
        print(f"triage: request {request.id} in {request.where} was not answered: {clean(why, 300)}", file=sys.stderr)
        self.inbox.settle(request.id, "failed")
        return True

    def _end(self, why: str) -> None:
        self.why = why
        self.ended.set()

    def _answer(self, request: Request) -> None:
        lang = _lang(request)
        if not self.allows(request):
            self._refuse(request, lang)
            return
        reply = self._reply(request, lang)
        try:
            message = ANSWERS[request.kind](self, request, reply, lang)
        except (TriageError, RunbookError) as error:
            shown = str(error).replace(str(self._files.folder(request).parent), "attachments")
            message = blocks.failure(shown, lang)
        except (SlackApiError, *NETWORK):
            raise
        except Exception as error:
            message = blocks.simple(WORDS["internal"].say(lang, error=type(error).__name__))
            print(f"triage: request {request.id}: {type(error).__name__}: {clean(str(error), 300)}", file=sys.stderr)
        reply.finish(message)

    def _reply(self, request: Request, lang: str) -> replies.Reply:
        return replies.Reply(self._client, self._quick, self.inbox, request, lang)

    def _refuse(self, request: Request, lang: str) -> None:
        said: dict[str, Any] = {"channel": request.channel, "text": WORDS["refused"].say(lang)}
        if request.direct:
            self._client.chat_postMessage(thread_ts=request.thread, **said)
        else:
            self._client.chat_postEphemeral(user=request.user, **said)

    def _ask(self, request: Request, reply: replies.Reply, lang: str) -> blocks.Message:
        said, named, notes = self._named(request, lang)
        if re.match(r"verify\b|验证", said, re.IGNORECASE):
            return self._verify(request, reply, lang)
        reply.start()
        notes += [WORDS["skipped"].say(lang, what=text.escape(s)) for s in self._fetch(request)]
        case, before = self._case(request)
        attached = [f for f in [self._files.folder(request)] if f.is_dir() and any(f.iterdir())]
        runs = tuple(dict.fromkeys((*before, *named, *attached)))
        question = said or (Casebook(self._home).get(case).question if case else runs and WORDS["what-wrong"].say(lang))
        if not question:
            return blocks.markdown(WORDS["help"].say(lang), lang, notes)
        talk = self._resumed(request.where, case, before)
        answer = talk.ask(str(question), runs, reply.listen)
        self._talks[request.where] = talk
        self.inbox.set_case(request.where, answer.case, runs)
        return blocks.answer(self._without_folder(request, answer), [*notes, *map(text.escape, reply.notices)])

    def _resumed(self, where: str, case: str, runs: tuple[Path, ...]) -> Conversation:
        """The thread's conversation with what it has read, if it is one of the last; a follow-up needs no new look."""
        with self._resuming:
            talk = self._talks.pop(where, None)
            for oldest in list(self._talks)[: max(len(self._talks) - TALKS + 1, 0)]:
                del self._talks[oldest]
        if talk is None or talk.case != case:
            talk = Conversation(self._home, case)
        talk.paths = runs
        return talk

    def _without_folder(self, request: Request, answer: Answer) -> Answer:
        """Where attachments lie on this machine is of no use to whoever reads the thread."""
        own = self._files.folder(request).parent
        ours = {k: "" for k in ("run", "candidate") if Path(getattr(answer, k)).is_relative_to(own)}
        return replace(answer, **ours)

    def _case(self, request: Request) -> tuple[str, tuple[Path, ...]]:
        """The thread's case and those of its runs that may still be read here."""
        case, runs = self.inbox.case(request.where)
        own, folders = self._files.folder(request).parent, self.permissions.folders(request).folders
        return case, tuple(r for r in runs if any(r.is_relative_to(f) for f in (own, *folders)))

    def _named(self, request: Request, lang: str) -> tuple[str, list[Path], list[str]]:
        """What was said, the runs named in it, and what was named and may not be read.

        Raises:
            TriageError: a path given with `--run` is outside the folders of this channel.
        """
        said, asked, bare = text.named_runs(text.plain(request.text))
        folders = self.permissions.folders(request)
        runs = [folders.path(path) for path in asked]
        runs += [folders.path(path) for path in bare if self.readable(request, path)]
        paths = (text.escape(clean(p, 200)) for p in bare if not self.readable(request, p))
        notes = [WORDS["skipped"].say(lang, what=WORDS["outside"].say(lang, path=p)) for p in paths]
        return said, *_called(said, folders, lang, runs, notes)

    def _fetch(self, request: Request) -> list[str]:
        """Download what was attached to the thread up to this message; returns what was not read."""
        files, cursor = list(request.files), ""
        for _ in range(PAGES):
            page: Any = self._client.conversations_replies(
                channel=request.channel, ts=request.thread, latest=request.ts or None, inclusive=True, limit=200,
                cursor=cursor or None,
            )  # fmt: skip
            files += [f for m in page["messages"] if m.get("user") != self.bot for f in m.get("files", ())]
            if not (cursor := (page.get("response_metadata") or {}).get("next_cursor", "")):
                break
        return self._files.fetch(request, {f["id"]: f for f in files}.values())

    def _talk(self, request: Request) -> Conversation:
        """The case of the thread.

        Raises:
            TriageError: it has none.
        """
        case, runs = self._case(request)
        if not case:
            raise TriageError("this thread has no case yet; ask a question in it first")
        talk = Conversation(self._home, case)
        talk.paths = runs
        return talk

    def _verify(self, request: Request, reply: replies.Reply, lang: str) -> blocks.Message:
        """The next run, named or attached, against the case's."""
        talk = self._talk(request)
        _, named, notes = self._named(request, lang)
        part = f"next-{request.ts or request.id}"
        reply.start()
        unread = self._files.fetch(request, request.files, part)
        notes += [WORDS["skipped"].say(lang, what=text.escape(s)) for s in unread]
        attached = self._files.folder(request, part)
        candidates = [*named, *([attached] if attached.is_dir() else [])]
        if not candidates:
            raise TriageError("no next run to verify: attach its log and config, or write `verify --run PATH`")
        verdict = talk.verify(candidates[0], listen=reply.listen)
        return blocks.markdown(verdict_text(verdict, lang), lang, notes)

    def _next(self, request: Request, reply: replies.Reply, lang: str) -> blocks.Message:
        check = self._talk(request).next_check()
        return blocks.simple(WORDS["check" if check else "no-check"].say(lang, text=text.escape(check)))

    def _evidence(self, request: Request, reply: replies.Reply, lang: str) -> blocks.Message:
        talk = self._talk(request)
        found = talk.last().get("findings", [])[: 2 * blocks.SHOWN_EXCERPTS]
        return blocks.evidence(found, {f["id"]: talk.excerpts(f["id"]) for f in found}, lang)

    def _note(self, said: str, status: str | None, request: Request, reply: replies.Reply, lang: str) -> blocks.Message:
        opinion = {"says": request.kind, "by": request.user}
        Casebook(self._home).record(self._talk(request).case, "feedback", opinion, status)
        return blocks.simple(WORDS[said].say(lang))


def _called(said: str, folders: Roots, lang: str, runs: list[Path], notes: list[str]) -> tuple[list[Path], list[str]]:
    """The runs and notes, with those of the runs that the words call by name; one name of several is told."""
    for name in () if runs else text.names(said):
        found = folders.called(name)
        shown = ", ".join(f"`{text.escape(clean(_below(p, folders), 100))}`" for p in found[:5])
        if len(found) == 1:
            runs, notes = [*runs, *found], [*notes, WORDS["read"].say(lang, runs=shown)]
        elif found:
            notes = [*notes, WORDS["several"].say(lang, name=text.escape(name), runs=shown)]
    return runs, notes


def _below(path: Path, folders: Roots) -> str:
    return next(str(path.relative_to(f)) for f in folders.folders if path.is_relative_to(f))


def _lang(request: Request) -> str:
    return request.lang or language(text.plain(request.text))


Answering = Callable[[Desk, Request, replies.Reply, str], blocks.Message]
ANSWERS: dict[str, Answering] = {
    "ask": Desk._ask,
    "verify": Desk._verify,
    "next": Desk._next,
    "evidence": Desk._evidence,
    "helpful": lambda desk, *rest: desk._note("thanks", None, *rest),
    "wrong": lambda desk, *rest: desk._note("noted", None, *rest),
    "resolved": lambda desk, *rest: desk._note("closed", "resolved", *rest),
}
