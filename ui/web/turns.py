"""What happens when somebody asks, verifies, opens a case or gives feedback; the page only shows the result.

`Talk` is one tab. The generators yield each time that there is something new to show; they raise nothing that a person
caused, but say it in the conversation.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...agent.acceptance.verify import Verdict
from ...agent.answer import Answer
from ...agent.conversation import Answered, Conversation
from ...agent.events import Event, Listen, Notice, Token, ToolStarted, stream
from ...agent.evidence import Look, look
from ...agent.propose import propose
from ...agent.session import language
from ...knowledge.entry import RunbookError
from ...tools.findings import Evidence, TriageError, clean
from ...tools.looking.lines import AROUND, Excerpt
from ...tools.run import PASTED, Run
from ...tools.settings import Settings
from .desk import Desk
from .messages import Message, escaped, judged, said, spoken
from .words import WORDS

FRAME = 0.1
"""Seconds between two pictures of an answer that is still arriving."""
MESSAGES_KEPT = 20
"""Most messages that a tab shows; every picture of an arriving answer sends them all. The case keeps everything."""
PLACES = 4
"""Most places shown of one finding."""
Shape = Callable[[str], list[Message]]
"""Makes messages of the words that have arrived so far."""


@dataclass
class Talk:
    """One tab: what was said, the last answer, and the files that the next question reads."""

    owner: str = ""
    lang: str = "en"
    messages: list[Message] = field(default_factory=list)
    conversation: Conversation | None = None
    waiting: list[Path] = field(default_factory=list)
    """Attached, and not yet asked about."""
    view: dict[str, Any] | None = None
    """The answer that the panels show, `triage.answer/1`."""
    verdict: Verdict | None = None
    problem: str = ""
    """Why the last verification could not be made."""
    tab: str = "evidence"
    """The tab that is looked at."""
    picked: str = ""
    """The finding whose lines are shown."""
    asked: Iterator[bool] | None = None
    """A turn that has begun."""
    seen: Callable[[], Look | None] = lambda: None
    """What the tools saw, as long as the server remembers it."""

    @property
    def case(self) -> str:
        return self.conversation.case if self.conversation else ""

    @property
    def paths(self) -> list[Path]:
        read = self.conversation.paths if self.conversation else ()
        return list(dict.fromkeys([*read, *self.waiting]))

    def look(self) -> Look | None:
        """What the tools saw of this case's run; read again if the server has forgotten.

        Raises:
            TriageError: the run can no longer be read.
        """
        paths = [p for p in self.paths if p not in self.waiting]
        return self.seen() or (look(paths) if paths else None)


def enter(talk: Talk, owner: str) -> None:
    """The tab is the owner's; nothing stays of whoever had it before."""
    if talk.owner != owner:
        talk.__dict__.update(Talk(owner).__dict__)


def fresh(talk: Talk) -> None:
    """Put everything of the last case away."""
    blank = Talk(talk.owner, talk.lang, tab=talk.tab)
    talk.__dict__.update(blank.__dict__)


def ask(desk: Desk, talk: Talk, text: str, paths: Sequence[Path] = ()) -> Iterator[bool]:
    """One question; yields True when the panels changed, False when only the conversation did.

    Raises:
        TriageError: nobody is known to ask.
    """
    desk.known(talk.owner)
    return _asked(desk, talk, text, paths)


def _asked(desk: Desk, talk: Talk, text: str, paths: Sequence[Path]) -> Iterator[bool]:
    paths = [*talk.waiting, *paths]
    if not text.strip():
        text = WORDS["what-wrong"].say(talk.lang)
    conversation = talk.conversation = talk.conversation or Conversation(desk.home)
    new, owner = not talk.case, talk.owner
    conversation.lang = "zh" if talk.lang == "zh" else language(text)
    talk.messages = [*talk.messages[-MESSAGES_KEPT:], {"role": "user", "content": spoken(text)}]
    steps = Steps(talk.lang, talk.messages)
    yield False
    try:
        yield from _watch(desk, talk, steps, lambda listen: conversation.ask(text, paths, listen), said)
    except (TriageError, RunbookError) as error:
        failed(talk, str(error), steps)
        yield False
        return
    except Exception as error:
        failed(talk, defect(error, talk.lang), steps)
        yield False
        return
    if new and conversation.case:
        with suppress(TriageError):  # whoever reads it next says that it is damaged
            desk.book.claim(conversation.case, owner)
    if talk.conversation is conversation:
        talk.waiting = []
        _answered(desk, talk)
    yield True


def _watch(desk: Desk, talk: Talk, steps: Steps, turn: Callable[[Listen], object], shape: Shape) -> Iterator[bool]:
    """The turn's events as they come, with a free worker; the tools as steps, then the words."""

    def work(listen: Listen) -> None:
        if not desk.workers.acquire(blocking=False):
            listen(Notice(WORDS["waiting"].say(talk.lang)))
            desk.workers.acquire()
        try:
            turn(listen)
        finally:
            desk.workers.release()

    messages, at = steps.messages, len(steps.messages)
    words, drawn = "", 0.0
    try:
        for event in stream(work):
            if isinstance(event, Token):
                words += event.text
                if time.monotonic() - drawn < FRAME:
                    continue
                messages[at:] = shape(words)
            elif isinstance(event, Answered):
                words = event.answer.text  # with the notices of a model's turn
                continue
            elif not steps.take(event):
                continue
            drawn = time.monotonic()
            yield False
        if words:
            messages[at:] = shape(words)
    finally:
        steps.end()


class Steps:
    """The tools of one turn as one message that unfolds, the last of `messages`: the tab may move on to others."""

    def __init__(self, lang: str, messages: list[Message]):
        self.lang, self.messages, self.start, self.done = lang, messages, time.monotonic(), list[str]()
        self.message: Message = {
            "role": "assistant", "content": "", "metadata": {"title": WORDS["working"].say(lang), "status": "pending"}
        }  # fmt: skip
        self._now: tuple[str, float] | None = None
        messages.append(self.message)

    def take(self, event: Event) -> bool:
        """Note the event; whether it shows."""
        if isinstance(event, ToolStarted):
            self._finish()
            self._now = (self._named(event.name), time.monotonic())
            self._say(f"{WORDS['working'].say(self.lang)}: {self._now[0]}")
        elif isinstance(event, Notice):
            self._say(escaped(event.text))
        else:
            return False
        return True

    def end(self) -> None:
        self._finish()
        self._say(WORDS["looked"].say(self.lang, n=len(self.done), s=time.monotonic() - self.start), "done")

    def _named(self, tool: str) -> str:
        return WORDS[key].say(self.lang) if (key := f"tool-{tool}") in WORDS else escaped(tool)

    def _finish(self) -> None:
        if self._now:
            self.done.append(f"- {self._now[0]}: {time.monotonic() - self._now[1]:.2f} s")
            self._now = None

    def _say(self, title: str, status: str = "pending") -> None:
        self.message["content"] = "\n".join(self.done)
        self.message["metadata"] = {"title": title, "status": status}


def _answered(desk: Desk, talk: Talk) -> None:
    conversation = talk.conversation
    answer = conversation.answer if conversation else None
    if conversation is None or answer is None:
        return
    talk.seen = desk.remember(answer.seen)
    conversation.answer = replace(answer, seen=None)  # one tab must not keep a run in memory
    talk.view, talk.verdict, talk.problem, talk.picked = viewed(answer, talk.lang), None, "", ""


def viewed(answer: Answer, lang: str) -> dict[str, Any]:
    """The answer's public form in the language of the interface."""
    if answer.lang != lang:
        settings, run = (answer.seen.settings, answer.seen.run) if answer.seen else (Settings(), Run(Path()))
        answer = replace(answer, lang=lang, proposal=propose(answer.diagnosis, settings, run, lang))
    return answer.as_json()


def speak(talk: Talk, lang: str) -> None:
    """Switch the language of the interface; what was said stays as it was said."""
    talk.lang = lang
    answer = talk.conversation.answer if talk.conversation else None
    seen = talk.seen()
    if answer and talk.view and (seen or (answer.seen is None and not talk.paths)):
        talk.view = viewed(replace(answer, seen=seen), lang)


def failed(talk: Talk, why: str, steps: Steps | None = None) -> None:
    """Say in the conversation why there is no answer."""
    if steps and steps.message not in talk.messages:
        return  # the tab has moved on
    if steps and not steps.done:
        talk.messages.remove(steps.message)
    text = WORDS["failed-turn"].say(talk.lang, why=escaped(why))
    talk.messages.append({"role": "assistant", "content": text})


def defect(error: Exception, lang: str) -> str:
    """Words for an error of our own; its details go to the server's log only."""
    traceback.print_exception(error)
    return WORDS["internal"].say(lang, kind=type(error).__name__)


def lines(talk: Talk, finding: str) -> list[Excerpt]:
    """The lines around the places that a finding of the shown answer names; picking it again closes them.

    Raises:
        TriageError: there is no such finding, or the files of the run are gone.
    """
    if finding == talk.picked:
        talk.picked = ""
        return []
    found = next((f for f in (talk.view or {}).get("findings", ()) if f["id"] == finding), None)
    if found is None or talk.view is None or talk.conversation is None:
        raise TriageError(f"no finding {clean(finding, 20)!r}")
    talk.picked = finding
    places = [Evidence(**e) for e in found["evidence"] if e["file"] and e["line"]]
    if not places:
        return []
    out = [e for p in places if p.file == PASTED for e in _pasted(talk.view["question"], p)]
    if talk.conversation.paths:
        out += talk.conversation.excerpts(finding)
    if not out:
        raise TriageError(WORDS["files-gone"].say(talk.lang))
    return _apart(out)[:PLACES]


def _pasted(question: str, place: Evidence) -> list[Excerpt]:
    """Lines of a log that was pasted into the question, if the question was kept whole."""
    rows, at = question.splitlines(), place.line or 1
    if "…" in rows or at > len(rows):
        return []
    span = range(max(1, at - AROUND), min(len(rows), at + AROUND) + 1)
    return [Excerpt(PASTED, at, tuple((n, clean(rows[n - 1], 300)) for n in span))]


def _apart(excerpts: Sequence[Excerpt]) -> list[Excerpt]:
    """Without those whose line another excerpt shows already."""
    kept: list[Excerpt] = []
    for one in excerpts:
        if not any(one.file == k.file and one.line in dict(k.lines) for k in kept):
            kept.append(one)
    return kept


def verify(desk: Desk, talk: Talk, candidate: Path | None) -> Iterator[bool]:
    """Judge the next run; yields and raises as `ask` does."""
    desk.known(talk.owner)
    return _verified(desk, talk, candidate)


def _verified(desk: Desk, talk: Talk, candidate: Path | None) -> Iterator[bool]:
    talk.verdict, talk.problem = None, ""
    conversation = talk.conversation
    if conversation is None or talk.view is None:
        talk.problem = WORDS["first-ask"].say(talk.lang)
    elif not conversation.paths:
        talk.problem = WORDS["files-gone" if talk.view["findings"] else "no-run-findings"].say(talk.lang)
    elif candidate is None:
        talk.problem = WORDS["no-candidate"].say(talk.lang)
    if talk.problem or conversation is None or candidate is None:
        yield True
        return
    against = WORDS["verified"].say(talk.lang, name=desk.shown(candidate))
    talk.messages.append({"role": "user", "content": escaped(against)})
    steps = Steps(talk.lang, talk.messages)
    yield False
    made = list[Verdict]()
    try:
        yield from _watch(
            desk, talk, steps, lambda listen: made.append(conversation.verify(candidate, listen=listen)), judged
        )
        why = ""
    except (TriageError, RunbookError) as error:
        why = str(error)
    except Exception as error:
        why = defect(error, talk.lang)
    if talk.conversation is conversation:
        talk.verdict, talk.problem = next(iter(made), None), why
    if why:
        failed(talk, why, steps)
    yield True


def open_case(desk: Desk, talk: Talk, id: str) -> bool:
    """Show a case again as it was left; False when it is not this owner's."""
    case = desk.case(talk.owner, id)
    if case is None:
        return False
    fresh(talk)
    talk.conversation = Conversation(desk.home, case.id)
    talk.conversation.paths = tuple(p for p in talk.conversation.paths if desk.allowed(talk.owner, p))
    for event in case.events:
        content = event["content"]
        if event["kind"] == "answer":
            talk.view = content
            talk.messages.append({"role": "user", "content": spoken(content["question"])})
            talk.messages += said(content["answer"])
        elif event["kind"] == "verdict":
            talk.messages += judged(content["answer"])
    return True


def feedback(desk: Desk, talk: Talk, says: str) -> str:
    """Note what a person thinks of the answer on the case; returns what to tell them."""
    if not talk.case or says not in ("helpful", "unhelpful", "resolved"):
        return WORDS["first-ask"].say(talk.lang)
    with suppress(TriageError):
        desk.book.record(talk.case, "feedback", {"says": says}, status="resolved" if says == "resolved" else None)
        return WORDS["thanks"].say(talk.lang)
    return WORDS["no-such-case"].say(talk.lang)
